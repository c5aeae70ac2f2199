"""Weights of labelsets against a plain reference, by hand, and in a choice that needs them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.reference import labelset_weights as reference
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import sample_rows
from xdcc.decision import labelset_weights
from xdcc.decision.known_labelset_rules import FittedLabelset, MostProbableLabelset
from xdcc.decision.labelset_weights import fitted_weights
from xdcc.decision.labelsets import KnownLabelsets


def drawn(seed=0, n_rows=60, n_labels=3):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n_rows, 1))
    Y = (cause + 0.7 * rng.normal(size=(n_rows, n_labels)) > 0.3).astype(np.float32)
    margins = 1.5 * (Y - 0.5) + cause + rng.normal(size=Y.shape)
    return margins, Y, rng.integers(1, 4, size=n_rows).astype(np.float32)


def weights_of(margins, Y, weight=None):
    data = FitData(margins, Y, weight)
    return fitted_weights(KnownLabelsets.of_data(data), data)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_agree_with_the_reference(seed, weighted):
    margins, Y, weight = drawn(seed)
    found = weights_of(margins, Y, weight if weighted else None)
    known = KnownLabelsets.of(Y, weight if weighted else None)
    assert_array_equal(found.labelsets, known.labelsets)
    of_rows = weight.astype(float) if weighted else np.ones(len(Y))
    expected = reference.weights(
        known.labelsets, known.counts, margins, Y.astype(int), of_rows, labelset_weights._L2
    )
    assert_allclose(np.log(found.counts), np.log(expected), atol=2e-3)


def test_rows_that_do_not_count():
    margins, Y, _ = drawn()
    expected = weights_of(margins, Y).counts
    more = np.vstack((Y, [[1, np.nan, 0]], 1 - Y[:5])).astype(np.float32)
    weight = np.r_[np.ones(len(Y) + 1), np.zeros(5)].astype(np.float32)
    found = weights_of(np.vstack((margins, margins[:6])), more, weight)
    assert_allclose(found.counts, expected, rtol=1e-9)


def test_no_labelset_of_two_rows():
    """Without a likelihood, equal frequencies decide nothing."""
    Y = np.eye(4, dtype=np.float32)
    assert_allclose(weights_of(np.random.default_rng(0).normal(size=Y.shape), Y).counts, 1)


def test_margins_that_say_nothing_leave_frequencies():
    """With margins of 0 the likelihood alone counts: the more frequent labelset weighs more."""
    Y = np.repeat([[1, 0], [0, 1], [1, 1]], [30, 10, 2], axis=0).astype(np.float32)
    weight = weights_of(np.zeros(Y.shape), Y).counts  # [0, 1], [1, 0], [1, 1]
    assert weight[1] == 1 > weight[0] > weight[2] > 0


def test_a_row_does_not_speak_against_its_own_labelset():
    """Each row sees two of its own labelset and two or three of the other, so only biases count.

    Their difference d has the loss 3 log(1 + exp(-d)) + 2 log(1 + exp(d)) + 5 (d / 2)^2 * 2, whose
    derivative is 0 at d = 0.08.
    """
    Y = np.repeat([[1, 0], [0, 1]], [3, 2], axis=0).astype(np.float32)
    weight = weights_of(np.zeros(Y.shape), Y).counts  # [0, 1], [1, 0]
    assert_allclose(weight, [np.exp(-0.08), 1], rtol=1e-4)


def test_labels_that_repeat_each_other():
    """Three equal labels, whose margins are too low by 1.5; known frequencies do not help."""
    rng = np.random.default_rng(1)
    Y = np.repeat(rng.random((600, 1)) < 0.5, 3, axis=1).astype(np.float32)
    margins = 2 * Y - 1 - 1.5 + 0.7 * rng.normal(size=(600, 1))
    data = FitData(margins, Y, None)
    known = KnownLabelsets.of_data(data)
    fitted = FittedLabelset(fitted_weights(known, data)).decide(margins)
    plain = MostProbableLabelset(known, 0.5).decide(margins)
    assert (fitted == Y).all(axis=1).mean() > (plain == Y).all(axis=1).mean() + 0.2


def test_a_sample_of_many_rows():
    margins, Y, _ = drawn(n_rows=700)
    data = FitData(margins, Y, None)
    known = KnownLabelsets.of_data(data)
    found = fitted_weights(known, data, most_pairs=600 * len(known.labelsets)).counts
    sample = data.take(sample_rows((700, 1), entries=600))
    assert len(sample.Y) == 600
    assert_array_equal(found, fitted_weights(known, sample).counts)
    assert not np.allclose(found, fitted_weights(known, data).counts, rtol=1e-6)


def test_extreme_margins():
    margins, Y, _ = drawn()
    weight = weights_of(1e4 * margins, Y).counts
    assert np.isfinite(weight).all()
    assert (weight > 0).all()
