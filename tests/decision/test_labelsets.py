"""Known labelsets against hand-computed numbers and a search over all of them."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import sparse

from xdcc.decision.labelsets import KnownLabelsets

Y = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]])


def test_collects_labelsets() -> None:
    for labels in (Y, sparse.csr_matrix(Y), np.vstack((Y, [[1, np.nan, 1]]))):
        known = KnownLabelsets.of(labels)
        np.testing.assert_array_equal(known.labelsets, [[0, 0, 1], [0, 1, 1], [1, 0, 0]])
        np.testing.assert_array_equal(known.counts, [1, 1, 2])


def test_by_hand() -> None:
    known = KnownLabelsets.of(Y)
    # .6 .6 .3 -> 001: .4*.4*.3 = .048, 011: .4*.6*.3 = .072, 100: .6*.4*.7 = .168
    # .2 .6 .9 -> 001: .288, 011: .432, 100: .008; twice as probable with prior 1: still 011
    Y_proba = [[0.6, 0.6, 0.3], [0.2, 0.6, 0.9]]
    np.testing.assert_array_equal(known.most_probable(Y_proba), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(known.most_probable(Y_proba, prior=1), [[1, 0, 0], [0, 1, 1]])
    # .45 .5 .6 -> 011: .55*.5*.6 = .165, 100: .45*.5*.4 = .09, twice that is .18
    Y_proba = [[0.45, 0.5, 0.6]]
    np.testing.assert_array_equal(known.most_probable(Y_proba), [[0, 0, 1]])  # tie with 011
    np.testing.assert_array_equal(known.most_probable(Y_proba, prior=1), [[1, 0, 0]])


def test_certain_labels_rule_nothing_out() -> None:
    np.testing.assert_array_equal(
        KnownLabelsets.of([[1, 0], [0, 1]]).most_probable([[1.0, 1.0]], prior=0), [[0, 1]]
    )


@given(
    Y_proba=arrays(np.float64, (7, 4), elements=st.floats(0.01, 0.99)),
    labels=arrays(np.int8, (12, 4), elements=st.sampled_from([0, 1])),
    prior=st.sampled_from([0.0, 0.5, 2.0]),
)
@settings(max_examples=100, deadline=None)
def test_no_known_labelset_is_more_probable(
    Y_proba: NDArray[np.float64], labels: NDArray[np.int8], prior: float
) -> None:
    found = KnownLabelsets.of(labels).most_probable(Y_proba, prior=prior)
    rows = [tuple(row) for row in labels.tolist()]

    def score(p: NDArray[np.float64], labelset: tuple[int, ...]) -> float:
        product = np.prod([q if y else 1 - q for q, y in zip(p, labelset, strict=True)])
        return float(product * rows.count(labelset) ** prior)

    for p, one in zip(Y_proba, found.tolist(), strict=True):
        assert tuple(one) in rows
        best = max(score(p, y) for y in itertools.product((0, 1), repeat=4) if y in rows)
        assert score(p, tuple(one)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KnownLabelsets.of([[np.nan, 1]]), "Every row of Y has an unknown label"),
        (lambda: KnownLabelsets.of([[2, 1]]), "Unknown label type: Y holds 2"),
        (lambda: KnownLabelsets.of(Y).most_probable([[0.5, 0.5]]), "Y_proba has 2 labels, the"),
        (
            lambda: KnownLabelsets.of(Y).most_probable([[0.5, 2, 1]]),
            r"Y_proba\[0, 1\] is 2; a probability is between 0 and 1",
        ),
        (
            lambda: KnownLabelsets.of(Y).most_probable([[0.5, 0, 1]], prior=-1),
            "prior=-1: it has to",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
