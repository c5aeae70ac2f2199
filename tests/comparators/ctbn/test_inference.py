"""Inference in a tree and in mixtures, compared with sums and maxima over all labelsets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.ctbn import all_labelsets, log_prob, mixture_probabilities
from xdcc.comparators.ctbn.annealing import anneal, exact_map
from xdcc.comparators.ctbn.tree_inference import (
    draw,
    labelset_log_prob,
    log_cpd_of,
    max_sum,
    sum_product,
    top_down,
)


def random_tree(rng, n_labels):
    """A forest: each label is a root, or its parent precedes it in a random order."""
    parents = np.full(n_labels, -1)
    order = rng.permutation(n_labels)
    for position, label in enumerate(order):
        if position and rng.random() < 0.8:
            parents[label] = order[rng.integers(position)]
    return parents


def random_cpd(rng, parents, n_samples=3, scale=2.0):
    log_odds = rng.normal(scale=scale, size=(len(parents), 2, n_samples))
    log_odds[parents < 0, 1] = log_odds[parents < 0, 0]
    return log_cpd_of(log_odds)


trees = st.builds(
    lambda seed, n_labels: (np.random.default_rng(seed), n_labels),
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_labelsets_probabilities_sum_to_1(drawn):
    rng, n_labels = drawn
    parents = random_tree(rng, n_labels)
    log_cpd = random_cpd(rng, parents)
    for row in range(3):
        p = mixture_probabilities([log_cpd], [parents], np.ones(1), row)
        assert p.sum() == pytest.approx(1, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_log_prob_equals_the_reference(drawn):
    rng, n_labels = drawn
    parents = random_tree(rng, n_labels)
    log_cpd = random_cpd(rng, parents)
    Y = rng.integers(0, 2, (3, n_labels))
    found = labelset_log_prob(log_cpd, parents, Y)
    expected = [log_prob(log_cpd, parents, y, row) for row, y in enumerate(Y)]
    assert found == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_sum_product_with_some_labels_known(drawn):
    rng, n_labels = drawn
    parents = random_tree(rng, n_labels)
    log_cpd = random_cpd(rng, parents)
    known = np.where(rng.random((3, n_labels)) < 0.4, rng.integers(0, 2, (3, n_labels)), np.nan)
    found = sum_product(log_cpd, parents, known)
    labelsets = all_labelsets(n_labels)
    for row in range(3):
        p = mixture_probabilities([log_cpd], [parents], np.ones(1), row)
        p = p * (np.isnan(known[row]) | (labelsets == known[row])).all(axis=1)
        assert found.log_evidence[row] == pytest.approx(np.log(p.sum()))
        p /= p.sum()
        assert found.marginals()[row] == pytest.approx(p @ labelsets)
        for label, parent in enumerate(parents):
            above = labelsets[:, parent] if parent >= 0 else 0 * labelsets[:, label]
            for v in (0, 1):
                for y in (0, 1):
                    share = p[(above == v) & (labelsets[:, label] == y)].sum()
                    assert found.pairs[label, v, y, row] == pytest.approx(share, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_max_sum(drawn):
    rng, n_labels = drawn
    parents = random_tree(rng, n_labels)
    log_cpd = random_cpd(rng, parents)
    found = max_sum(log_cpd, parents)
    for row in range(3):
        p = mixture_probabilities([log_cpd], [parents], np.ones(1), row)
        assert np.exp(log_prob(log_cpd, parents, found[row], row)) == pytest.approx(p.max())


def test_by_hand():
    # P(Y0 = 1) = .2; P(Y1 = 1) = .9 given Y0 = 1 and .3 otherwise.
    p = np.array([[[0.2], [0.2]], [[0.3], [0.9]]])
    log_cpd = log_cpd_of(np.log(p / (1 - p)))
    parents = np.array([-1, 0])
    assert sum_product(log_cpd, parents).marginals() == pytest.approx(
        np.array([[0.2, 0.2 * 0.9 + 0.8 * 0.3]])
    )
    assert np.exp(labelset_log_prob(log_cpd, parents, np.array([[1, 1]]))) == pytest.approx(0.18)
    assert max_sum(log_cpd, parents).tolist() == [[0, 0]]
    seen = sum_product(log_cpd, parents, np.array([[np.nan, 1.0]]))
    assert seen.marginals() == pytest.approx(np.array([[0.18 / 0.42, 1.0]]))


def test_certain_labels_stay_finite():
    log_cpd = log_cpd_of(np.full((2, 2, 1), 800.0))
    found = sum_product(log_cpd, np.array([-1, 0]), np.array([[0.0, 0.0]]))
    assert found.log_evidence == pytest.approx([-1600])
    assert np.isfinite(found.pairs).all()


def test_draws_follow_the_probabilities():
    rng = np.random.default_rng(0)
    parents = np.array([1, -1, 1, 2])
    log_cpd = random_cpd(rng, parents, n_samples=1)
    n_draws = 20_000
    drawn = draw(log_cpd, parents, np.zeros(n_draws, dtype=int), rng.random((n_draws, 4)))
    codes = drawn @ [8, 4, 2, 1]
    p = mixture_probabilities([log_cpd], [parents], np.ones(1), 0)
    share = np.bincount(codes, minlength=16) / n_draws
    # Five standard errors in 16 cells: fails by chance once in 100,000 seeds.
    assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n_draws)).all()


def test_top_down():
    assert top_down(np.array([1, -1, 0, 1])) == [1, 0, 3, 2]
    with pytest.raises(ValueError, match=r"parents=\[1, 0\] contains a cycle"):
        top_down(np.array([1, 0]))


def random_mixture(rng, n_labels, n_components, n_samples=3):
    trees = [random_tree(rng, n_labels) for _ in range(n_components)]
    log_cpds = [random_cpd(rng, tree, n_samples) for tree in trees]
    return log_cpds, trees, rng.dirichlet(np.ones(n_components))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_exact_map_equals_the_reference(seed, n_labels, n_components):
    mixture = random_mixture(np.random.default_rng(seed), n_labels, n_components)
    found = exact_map(*mixture)
    for row in range(3):
        p = mixture_probabilities(*mixture, row)
        position = (all_labelsets(n_labels) == found[row]).all(axis=1).argmax()
        assert p[position] == pytest.approx(p.max())


@pytest.mark.parametrize(("n_labels", "n_components"), [(1, 2), (4, 3), (10, 5)])
def test_annealing_finds_the_exact_map(n_labels, n_components):
    rng = np.random.default_rng(0)
    mixture = random_mixture(rng, n_labels, n_components, n_samples=200)
    found = anneal(*mixture, 150, np.random.RandomState(0))
    assert (found == exact_map(*mixture)).all(axis=1).mean() >= 0.99


def test_annealing_only_improves():
    mixture = random_mixture(np.random.default_rng(0), 8, 6, n_samples=300)
    exact = exact_map(*mixture)
    right = [
        (anneal(*mixture, n, np.random.RandomState(0)) == exact).all(axis=1).mean()
        for n in (0, 2, 150)
    ]
    assert right[0] < right[1] <= right[2]


def test_rows_do_not_depend_on_each_other():
    log_cpds, trees, weights = random_mixture(np.random.default_rng(1), 8, 6, n_samples=50)
    whole = anneal(log_cpds, trees, weights, 3, np.random.RandomState(0))
    part = [log_cpd[..., 20:30] for log_cpd in log_cpds]
    alone = anneal(part, trees, weights, 3, np.random.RandomState(0))
    np.testing.assert_array_equal(whole[20:30], alone)


def test_too_many_labels_for_all_labelsets():
    mixture = random_mixture(np.random.default_rng(0), 16, 1)
    with pytest.raises(
        ValueError, match=r"at most 15 labels, but there are 16; use inference='ann"
    ):
        exact_map(*mixture)
