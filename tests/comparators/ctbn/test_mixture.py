"""Mixtures: probabilities, EM and growth."""

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.reference.ctbn import all_labelsets
from xdcc.comparators.ctbn.growth import Grower, held_out_rows
from xdcc.comparators.ctbn.learner import LogisticLearner
from xdcc.comparators.ctbn.mixture import (
    Component,
    EMLimits,
    Mixture,
    component_log_prob,
    expectation_maximisation,
    fit_component,
    without_collapsed,
)
from xdcc.linear.logistic import Penalty

TREES = [np.array([-1, 0, 1, 1]), np.array([3, 3, -1, 2])]


def two_kinds(seed=0, n_rows=200):
    """Rows of two kinds, independent of X: labels equal their neighbours or differ from them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    Y = (X[:, [0, 1, 2, 2]] + rng.normal(size=(n_rows, 4)) > 0).astype(float)
    differ = rng.random(n_rows) < 0.5
    Y[:, 1] = np.where(differ, 1 - Y[:, 0], Y[:, 0])
    Y[:, 3] = np.where(differ, 1 - Y[:, 2], Y[:, 2])
    return X, Y


def learner(effect="feature", tol=1e-9):
    return LogisticLearner(Penalty(1.0, tol=tol), effect)


def begun(X, Y, effect="feature"):
    rng = np.random.default_rng(0)
    components = [fit_component(learner(effect), X, Y, t, rng.random(len(X))) for t in TREES]
    return Mixture(components, np.array([0.3, 0.7]))


def unknown_here_and_there(Y, share=0.2):
    rng = np.random.default_rng(5)
    return np.where(rng.random(Y.shape) < share, np.nan, Y)


def summed_out(mixture, X, y):
    """Log-probability of the known labels of a row: the sum over all matching labelsets."""
    fitting = [s for s in all_labelsets(len(y)) if (np.isnan(y) | (s == y)).all()]
    rows = np.repeat(X, len(fitting), axis=0)
    return logsumexp(mixture.log_prob(rows, np.array(fitting, dtype=float)))


@pytest.mark.parametrize("effect", ["feature", "separate"])
def test_probabilities_sum_to_1(effect):
    X, Y = two_kinds()
    mixture = begun(X, Y, effect)
    total = [summed_out(mixture, X[[row]], np.full(4, np.nan)) for row in range(20)]
    assert np.exp(total) == pytest.approx(np.ones(20), abs=1e-9)


def test_unknown_labels_are_summed_out():
    X, Y = two_kinds()
    mixture = begun(X, Y)
    some = unknown_here_and_there(Y[:20], share=0.5)
    expected = [summed_out(mixture, X[[row]], some[row]) for row in range(20)]
    assert mixture.log_prob(X[:20], some) == pytest.approx(expected)


@pytest.mark.parametrize("effect", ["feature", "separate"])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_objective_never_decreases(effect, unknown):
    X, Y = two_kinds()
    start = begun(X, Y, effect)
    some = unknown_here_and_there(Y, unknown)
    _, curve = expectation_maximisation(learner(effect), start, X, some, EMLimits(40, -1))
    assert len(curve) == 41
    assert np.diff(curve).min() >= -1e-8
    assert curve[-1] - curve[0] > 1


def test_objective_never_decreases_with_rough_models():
    X, Y = two_kinds()
    rough = learner(tol=1e-4)
    _, curve = expectation_maximisation(rough, begun(X, Y), X, Y, EMLimits(40, -1))
    assert np.diff(curve).min() >= -1e-8


def test_objective_is_the_penalised_likelihood():
    X, Y = two_kinds()
    start = begun(X, Y)
    _, curve = expectation_maximisation(learner(), start, X, Y, EMLimits(1, -1))
    parts = [
        np.log(weight)
        + component_log_prob(component.log_cpd(X), component.parents, Y)
        - component.models.penalty() / len(X)
        for component, weight in zip(start.components, start.weights, strict=True)
    ]
    assert curve[0] == pytest.approx(logsumexp(parts, axis=0).sum())
    alone = Mixture(start.components[:1], np.ones(1))
    _, curve = expectation_maximisation(learner(), alone, X, Y, EMLimits(1, -1))
    penalty = alone.components[0].models.penalty()
    assert curve[0] == pytest.approx(alone.log_prob(X, Y).sum() - penalty)


def test_penalty_by_hand():
    X, Y = two_kinds()
    models = learner().fit(X, Y, np.ones_like(Y), np.zeros_like(Y), None)
    coef = models.off.coef
    expected = (coef[:-1] ** 2).sum() / 2 + 0.04 * (coef[-1] ** 2).sum() / 2
    assert models.penalty() == pytest.approx(expected)
    two = learner("separate").fit(X, Y, np.ones_like(Y), Y[:, [1, 2, 3, 0]], None)
    assert two.penalty() > models.penalty()


def test_em_of_one_tree_is_its_logistic_regressions():
    X, Y = two_kinds()
    start = Mixture([begun(X, Y).components[0]], np.ones(1))
    mixture, curve = expectation_maximisation(learner(), start, X, Y, EMLimits())
    expected = fit_component(learner(), X, Y, TREES[0], np.ones(len(X)))
    found, right = mixture.components[0].log_cpd(X), expected.log_cpd(X)
    assert found == pytest.approx(right, abs=1e-3)
    assert len(curve) == 2


def test_two_trees_separate_two_kinds():
    X, Y = two_kinds(n_rows=400)
    start = Mixture([begun(X, Y).components[0]], np.ones(1))
    one, _ = expectation_maximisation(learner(), start, X, Y, EMLimits())
    tree = np.array([-1, 0, -1, 2])
    rng = np.random.default_rng(1)
    halves = [fit_component(learner(), X, Y, tree, rng.random(400)) for _ in range(2)]
    two, _ = expectation_maximisation(
        learner(), Mixture(halves, np.full(2, 0.5)), X, Y, EMLimits(200, 1e-6)
    )
    new_X, new_Y = two_kinds(seed=1, n_rows=400)
    assert two.log_prob(new_X, new_Y).sum() > one.log_prob(new_X, new_Y).sum()


def test_missing_information_is_filled_in():
    # Label 1 copies label 0, which is unknown in half of the rows, so label 1 tells its value.
    X, Y = two_kinds(n_rows=600)
    Y[:, 1] = Y[:, 0]
    tree = np.array([-1, 0, -1, -1])
    some = Y.copy()
    some[::2, 0] = np.nan

    def learned(rows):
        start = fit_component(learner(), X[rows], some[rows], tree, np.ones(len(X[rows])))
        limits = EMLimits(200, 1e-9)
        mixture = Mixture([start], np.ones(1))
        return expectation_maximisation(learner(), mixture, X[rows], some[rows], limits)[0]

    whole = fit_component(learner(), X, Y, tree, np.ones(600)).log_cpd(X)[0, 0, 1]
    filled = learned(slice(None)).components[0].log_cpd(X)[0, 0, 1]
    left_out = learned(slice(1, None, 2)).components[0].log_cpd(X)[0, 0, 1]
    assert np.abs(filled - whole).mean() < 0.5 * np.abs(left_out - whole).mean()


def test_collapsed_components_are_dropped():
    X, Y = two_kinds()
    start = begun(X, Y)
    tiny = Mixture(start.components, np.array([1 - 1e-9, 1e-9]))
    mixture, _ = expectation_maximisation(learner(), tiny, X, Y, EMLimits(1))
    assert without_collapsed(start, len(Y)) is start
    with pytest.warns(UserWarning, match=r"Component 1 of the mixture has collapsed"):
        mixture = without_collapsed(mixture, len(Y))
    assert mixture.weights.tolist() == [1.0]
    assert mixture.components[0].parents.tolist() == TREES[0].tolist()


def grower(seed=0):
    return Grower(learner(tol=1e-6), learner(), EMLimits(), np.random.RandomState(seed))


def test_growth_stops_when_the_validation_set_gets_worse():
    X, Y = two_kinds(n_rows=400)
    mixture, growth = grower().grow(X, Y, 40)
    n_components = len(mixture.components)
    assert 1 < n_components < 40
    assert len(growth.validation) == len(growth.curves) == n_components + 1
    assert (np.diff(growth.validation)[:-1] > 0).all()
    assert growth.validation[-1] <= growth.validation[-2]
    assert mixture.weights.sum() == pytest.approx(1)


def test_growth_to_the_limit():
    X, Y = two_kinds(n_rows=400)
    mixture, growth = grower().grow(X, Y, 2)
    assert len(mixture.components) == len(growth.validation) == 2


def test_one_component_uses_all_rows():
    X, Y = two_kinds()
    mixture, growth = grower().grow(X, Y, 1)
    assert growth.validation == []
    expected = fit_component(learner(), X, Y, mixture.components[0].parents, np.ones(len(X)))
    assert mixture.log_prob(X, Y) == pytest.approx(
        Mixture([expected], np.ones(1)).log_prob(X, Y), abs=1e-3
    )


@pytest.mark.parametrize("n_rows", [2, 3, 7, 40])
def test_held_out_rows(n_rows):
    Y = np.random.default_rng(0).integers(0, 2, (n_rows, 3)).astype(float)
    held_out = held_out_rows(Y, 5, np.random.RandomState(0))
    assert 0 < held_out.sum() <= max(1, n_rows / 2)


def test_root_ignores_its_parent_effect():
    X, Y = two_kinds()
    component = fit_component(learner(), X, Y, TREES[0], np.ones(len(X)))
    models = component.models.take([0, 1, 2, 3])
    models.off.coef[-2] = 3
    log_cpd = Component(TREES[0], models).log_cpd(X)
    np.testing.assert_array_equal(log_cpd[0, 0], log_cpd[0, 1])
    assert (log_cpd[1, 0] != log_cpd[1, 1]).all()


def test_objective_never_decreases_with_roots_and_constant_labels():
    X, Y = two_kinds()
    Y[:, 2] = 0
    Y[:3, 0] = 1
    trees = [np.array([-1, -1, 0, 2]), np.array([3, -1, -1, 2])]
    rng = np.random.default_rng(0)
    for effect in ("feature", "separate"):
        rough = learner(effect, tol=1e-5)
        components = [fit_component(rough, X, Y, t, rng.random(len(X))) for t in trees]
        start = Mixture(components, np.array([0.5, 0.5]))
        _, curve = expectation_maximisation(rough, start, X, Y, EMLimits(20, -1))
        assert np.diff(curve).min() >= -1e-8
