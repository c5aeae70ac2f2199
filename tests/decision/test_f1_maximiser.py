"""The F-measure maximiser against all labelsets, and by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from xdcc.decision.f1_maximiser import SizedMarginals
from xdcc.metrics import example_f1


def all_labelsets(n_labels):
    return np.array(list(product((0, 1), repeat=n_labels)))


def expected_f1(labelset, labelsets, probability):
    """Mean of the metric itself over the distribution."""
    predicted = np.tile(labelset, (len(labelsets), 1))
    return example_f1(labelsets, predicted, sample_weight=probability)


@st.composite
def distributions(draw):
    n_labels = draw(st.integers(1, 6))
    labelsets = all_labelsets(n_labels)
    weight = draw(
        st.lists(st.integers(0, 9), min_size=len(labelsets), max_size=len(labelsets)).filter(any)
    )
    return labelsets, np.array(weight) / sum(weight)


@given(distributions())
@settings(max_examples=60, deadline=None)
def test_no_labelset_is_better(distribution):
    labelsets, probability = distribution
    found = SizedMarginals.of_labelsets(labelsets, probability[None]).maximise()
    scores = [expected_f1(labelset, labelsets, probability) for labelset in labelsets]
    assert found.expected_f1[0] == pytest.approx(max(scores), abs=1e-12)
    assert expected_f1(found.labels[0], labelsets, probability) == pytest.approx(
        max(scores), abs=1e-12
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.sampled_from([1, 0.1]))
@settings(max_examples=60, deadline=None)
def test_no_labelset_has_a_better_f_beta(seed, beta, spread):
    random = np.random.default_rng(seed)
    n_labels, b = random.integers(1, 7), beta**2
    labelsets = all_labelsets(n_labels)
    probabilities = random.dirichlet(np.full(len(labelsets), spread), size=5)
    found = SizedMarginals.of_labelsets(labelsets, probabilities).maximise(beta)
    both, size = labelsets @ labelsets.T, labelsets.sum(axis=1)
    total = size[:, None] + b * size  # rows are predicted, columns are true
    empty = (size[:, None] == 0) & (size == 0)
    scores = np.where(empty, 1.0, (1 + b) * both / np.where(total > 0, total, 1)) @ probabilities.T
    assert_allclose(found.expected_f1, scores.max(axis=0), atol=1e-12)
    for row, labels in enumerate(found.labels):
        number = (labelsets == labels).all(axis=1).argmax()
        assert scores[number, row] == pytest.approx(scores[:, row].max(), abs=1e-12)


def test_no_labelset_of_eight_labels_is_better():
    random = np.random.default_rng(0)
    labelsets = all_labelsets(8)
    # sparse, so that small, middle and large labelsets win
    probabilities = random.dirichlet(np.full(256, 0.02), size=5)
    found = SizedMarginals.of_labelsets(labelsets, probabilities).maximise()
    for row, probability in enumerate(probabilities):
        both = labelsets @ labelsets.T
        size = labelsets.sum(axis=1)
        total = np.maximum(size[:, None] + size, 1)
        f1 = np.where(size[:, None] + size == 0, 1.0, 2 * both / total)
        assert found.expected_f1[row] == pytest.approx((f1 @ probability).max())
        chosen = (labelsets == found.labels[row]).all(axis=1).argmax()
        assert f1[chosen] @ probability == pytest.approx((f1 @ probability).max())


def test_by_hand():
    # {1} or {2}, equally: both together score 2/3 each time, one alone half of the time
    found = SizedMarginals.of_labelsets([[1, 0, 0], [0, 1, 0]], [[0.5, 0.5]]).maximise()
    assert_array_equal(found.labels, [[1, 1, 0]])
    assert found.expected_f1[0] == pytest.approx(2 / 3)
    # empty with .6
    found = SizedMarginals.of_labelsets([[0, 0], [1, 0]], [[0.6, 0.4], [0.4, 0.6]]).maximise()
    assert_array_equal(found.labels, [[0, 0], [1, 0]])
    assert_allclose(found.expected_f1, [0.6, 0.6])


def test_ties_go_to_the_smaller_labelset_and_the_first_label():
    found = SizedMarginals.of_labelsets([[0, 0], [1, 0]], [[0.5, 0.5]]).maximise()
    assert_array_equal(found.labels, [[0, 0]])
    found = SizedMarginals.of_labelsets([[0, 1], [1, 0]], [[0.5, 0.5]]).maximise()
    assert_array_equal(found.labels, [[1, 1]])
    joint = np.array([[[0.2], [0.2], [0.2]]])
    found = SizedMarginals(joint, np.array([3]), np.array([0.0])).maximise()
    assert_array_equal(found.labels, [[1, 1, 1]])


def test_sizes_come_in_any_order():
    random = np.random.default_rng(4)
    labelsets = all_labelsets(6)
    probabilities = random.dirichlet(np.full(len(labelsets), 0.1), size=21)
    marginals = SizedMarginals.of_labelsets(labelsets, probabilities)
    expected = marginals.maximise()
    order = random.permutation(len(marginals.sizes))
    found = SizedMarginals(
        marginals.joint[:, :, order], marginals.sizes[order], marginals.empty
    ).maximise()
    assert_array_equal(found.labels, expected.labels)
    assert_allclose(found.expected_f1, expected.expected_f1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_draws_are_labelsets_with_their_frequencies(seed):
    random = np.random.default_rng(seed)
    labelsets = all_labelsets(4)
    drawn = random.integers(len(labelsets), size=(3, 7))
    weights = random.dirichlet(np.ones(7), size=3)
    for weight in (None, weights):
        from_draws = SizedMarginals.of_samples(labelsets[drawn], weight)
        each = np.full(drawn.shape, 1 / 7) if weight is None else weight
        probabilities = np.zeros((3, len(labelsets)))
        for row in range(3):
            np.add.at(probabilities[row], drawn[row], each[row])
        whole = SizedMarginals.of_labelsets(labelsets, probabilities)
        kept = np.isin(whole.sizes, from_draws.sizes)
        assert_allclose(from_draws.joint, whole.joint[:, :, kept])
        assert_allclose(whole.joint[:, :, ~kept], 0)
        assert_allclose(from_draws.empty, whole.empty)
        assert_allclose(from_draws.maximise().expected_f1, whole.maximise().expected_f1)


def test_labels_that_are_left_out_make_no_difference():
    # Up to 40 labels, most of them improbable: against Algorithm 1 with all labels and sizes.
    random = np.random.default_rng(2)
    for n_labels in (3, 12, 40):
        labelsets = (random.random((300, n_labels)) < 2.5 / n_labels).astype(int)
        probabilities = random.dirichlet(np.full(300, 0.05), size=100)
        marginals = SizedMarginals.of_labelsets(labelsets, probabilities)
        found = marginals.maximise()
        k = np.arange(1, n_labels + 1)
        delta = marginals.joint @ (2 / (marginals.sizes[:, None] + k))
        delta[:] = -np.sort(-delta, axis=1)
        of_size = np.diagonal(delta.cumsum(axis=1), axis1=1, axis2=2)
        best = np.column_stack((marginals.empty, of_size))
        assert_allclose(found.expected_f1, best.max(axis=1), atol=1e-12)
        assert_array_equal(
            found.labels.sum(axis=1),
            (best > best.max(axis=1, keepdims=True) - 1e-12).argmax(axis=1),
        )


def test_many_rows_are_done_in_blocks():
    random = np.random.default_rng(1)
    labelsets = random.integers(0, 2, size=(50, 30))
    probabilities = random.dirichlet(np.full(50, 0.1), size=700)  # 700 * 30 * 30 > a block
    together = SizedMarginals.of_labelsets(labelsets, probabilities).maximise()
    for rows in (slice(0, 5), slice(690, 700)):
        part = SizedMarginals.of_labelsets(labelsets, probabilities[rows]).maximise()
        assert_array_equal(together.labels[rows], part.labels)
        assert_allclose(together.expected_f1[rows], part.expected_f1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SizedMarginals.of_labelsets([0, 1], [[1.0]]), "labelsets has the shape"),
        (lambda: SizedMarginals.of_labelsets([[0, 2]], [[1.0]]), "other values than 0 and 1"),
        (lambda: SizedMarginals.of_labelsets([[0, 1]], [[0.5, 0.5]]), "2 columns for 1 labelsets"),
        (lambda: SizedMarginals.of_labelsets([[0, 1]], [[0.5]]), "row 0 sum to 0.5, expected 1"),
        (
            lambda: SizedMarginals.of_labelsets([[0, 1], [1, 0]], [[1.5, -0.5]]),
            "negative or NaN",
        ),
        (lambda: SizedMarginals.of_labelsets([[0, 1]], [1.0]), "expected a matrix"),
        (lambda: SizedMarginals.of_samples(np.zeros((2, 0, 3))), "samples has the shape"),
        (
            lambda: SizedMarginals.of_samples(np.zeros((1, 2, 3)), [[1.0]]),
            r"weights has the shape \(1, 1\)",
        ),
        (
            lambda: SizedMarginals(np.zeros((1, 2, 2)), np.array([1]), np.zeros(1)).maximise(),
            "joint has the shape",
        ),
        (
            lambda: SizedMarginals(np.zeros((1, 2, 1)), np.array([3]), np.zeros(1)).maximise(),
            "sizes has 3; a size is between 1 and 2",
        ),
        (
            lambda: SizedMarginals(np.zeros((1, 2, 1)), np.array([1]), np.zeros(2)).maximise(),
            r"empty has the shape \(2,\)",
        ),
        (
            lambda: SizedMarginals(
                np.full((1, 2, 1), np.nan), np.array([1]), np.zeros(1)
            ).maximise(),
            "joint has a probability",
        ),
        (
            lambda: SizedMarginals(np.zeros((1, 2, 1)), np.array([1]), np.ones(1)).maximise(-1),
            "beta=-1: it must be a number at least 0",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
