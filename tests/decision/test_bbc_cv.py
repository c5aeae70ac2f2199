"""BBC-CV: by hand, against a plain loop, and without the bias of choosing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from xdcc.decision.bbc_cv import bbc_cv


def test_by_hand():
    # A draw of two rows that leaves one out is twice the other row: it chooses what is best
    # there, and finds the loss of that on the row left out.
    losses = [[0.1, 0.9], [0.8, 0.3]]
    choice = bbc_cv(losses, n_bootstraps=4000, random_state=0)
    assert choice.best == 0
    assert choice.naive == pytest.approx(0.45)
    # .8 or .9, equally often; five standard deviations of the mean of 4,000
    assert choice.estimate == pytest.approx(0.85, abs=0.004)
    assert choice.interval == (0.8, 0.9)
    judged = bbc_cv(losses, judged_by=[[5, 6], [7, 8]], n_bootstraps=4000, random_state=0)
    assert judged.best == 0
    assert judged.naive == pytest.approx(6)
    assert judged.interval == (6, 7)
    assert judged.estimate == pytest.approx(6.5, abs=0.04)


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_the_plain_loop(seed, n_rows, n_configurations):
    random = np.random.default_rng(seed)
    losses = random.random((n_rows, n_configurations))
    judging = random.random((n_rows, n_configurations))
    choice = bbc_cv(losses, judged_by=judging, n_bootstraps=300, random_state=seed)
    again = np.random.default_rng(seed + 1)
    estimates = []
    while len(estimates) < 2000:
        drawn = again.integers(n_rows, size=n_rows).tolist()
        left_out = [row for row in range(n_rows) if row not in drawn]
        if left_out:
            chosen = losses[drawn].sum(axis=0).argmin()
            estimates.append(judging[left_out, chosen].mean())
    # Six standard deviations of the difference of two means, for 40 examples.
    error = 6 * np.std(estimates) * np.sqrt(1 / 300 + 1 / 2000)
    assert choice.estimate == pytest.approx(np.mean(estimates), abs=error + 1e-9)
    assert choice.best == losses.mean(axis=0).argmin()


def test_one_configuration_is_cross_validation():
    losses = np.random.default_rng(0).random((200, 1))
    choice = bbc_cv(losses, random_state=0)
    assert choice.naive == pytest.approx(losses.mean())
    # Its standard deviation is that of the mean of about 74 left-out rows, over 1000 draws.
    assert choice.estimate == pytest.approx(losses.mean(), abs=0.006)
    assert choice.interval[0] < choice.estimate < choice.interval[1]


def test_choosing_among_equals_is_biased_and_the_correction_is_not():
    random = np.random.default_rng(0)
    choices = [
        bbc_cv(random.random((100, 60)) < 0.5, n_bootstraps=200, random_state=random)
        for _ in range(60)
    ]
    naive, estimate = np.mean([(c.naive, c.estimate) for c in choices], axis=0)
    # All configurations have the loss .5. The smallest of 60 means, each with the standard
    # deviation .05, is expected at .5 - 2.3 * .05. The tolerance of the estimate's mean is five
    # of its own standard deviations (about .03 / sqrt(60)).
    assert naive < 0.4
    assert estimate == pytest.approx(0.5, abs=0.02)


def test_a_clear_winner_is_found():
    random = np.random.default_rng(1)
    losses = random.random((300, 5)) < [0.5, 0.45, 0.2, 0.5, 0.5]
    choice = bbc_cv(losses, random_state=0)
    assert choice.best == 2
    assert_allclose(choice.estimate, choice.naive, atol=0.005)


def test_the_seed_decides():
    losses = np.random.default_rng(0).random((20, 3))
    assert bbc_cv(losses, random_state=1) == bbc_cv(losses, random_state=1)
    assert bbc_cv(losses, random_state=1) != bbc_cv(losses, random_state=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"losses": [0.1, 0.2]}, r"losses has the shape \(2,\)"),
        ({"losses": [[0.1, 0.2]]}, "at least two samples"),
        ({"losses": [[0.1], [np.nan]]}, r"losses\[1, 0\] is nan"),
        ({"losses": [[0.1], [0.2]], "judged_by": [[1, 2], [1, 2]]}, "judged_by has the shape"),
        ({"losses": [[0.1], [0.2]], "n_bootstraps": 0}, "n_bootstraps=0: it must be"),
        ({"losses": [[0.1], [0.2]], "confidence": 1}, "confidence=1: it must be"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        bbc_cv(**arguments)
