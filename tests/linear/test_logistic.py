"""The batched solver: solutions of scikit-learn, and objectives that never increase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tests.reference.ctbn import logistic_objective
from xdcc.linear.design import Design
from xdcc.linear.logistic import Penalty, Problems, linear_predictor, solve


def batch(seed=0, n_rows=150, n_features=6, n_models=5):
    """Shared features, and problems with different weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    extra = (rng.random((n_rows, n_models)) < 0.4).astype(float)
    z = X @ rng.normal(size=(n_features, n_models)) + 2 * extra - 1
    targets = (z + rng.logistic(size=z.shape) > 0).astype(float)
    return X, Problems(targets, rng.random(z.shape) + 0.1, extra)


def scikit_learn(X, problems, C, model):
    """Coefficients of one model; the last but one is that of the additional feature."""
    features = np.column_stack((X, problems.extra[:, model]))
    oracle = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
    oracle.fit(features, problems.targets[:, model], problems.weights[:, model])
    return np.append(oracle.coef_[0], oracle.intercept_[0])


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_agrees_with_scikit_learn(C, make):
    X, problems = batch()
    start = np.zeros((X.shape[1] + 2, 5))
    found = solve(make(X), problems, Penalty(1 / C, l2_intercept=0, tol=1e-13), start)
    assert found.converged.all()
    for model in range(5):
        assert found.coef[:, model] == pytest.approx(
            scikit_learn(X, problems, C, model), abs=1e-4, rel=1e-4
        )


@pytest.mark.parametrize(("n_rows", "n_features"), [(150, 6), (20, 40)])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_agrees_with_scikit_learn_in_rotated_features(n_rows, n_features, C):
    X, problems = batch(n_rows=n_rows, n_features=n_features)
    X += 5  # far from centred
    design = Design(X)
    rotated = design.transform(X)
    start = np.zeros((rotated.shape[1] + 2, 5))
    penalty = Penalty(1 / C, l2_intercept=0, tol=1e-15)
    coef = design.original(solve(rotated, problems, penalty, start).coef)
    for model in range(5):
        assert coef[:, model] == pytest.approx(
            scikit_learn(X, problems, C, model), abs=1e-4, rel=1e-4
        )


def test_intercept_penalty_is_a_constant_feature():
    X, problems = batch()
    penalty = Penalty(l2=2.0, l2_intercept=0.5, tol=1e-13)
    found = solve(X, problems, penalty, np.zeros((8, 5)))
    for model in range(5):
        # A constant feature c with l2 c² = l2_intercept is the penalised intercept.
        constant = np.sqrt(penalty.l2 / penalty.l2_intercept)
        features = np.column_stack((X, problems.extra[:, model], np.full(len(X), constant)))
        oracle = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
        oracle.fit(features, problems.targets[:, model], problems.weights[:, model])
        assert found.coef[-1, model] == pytest.approx(oracle.coef_[0, -1] * constant, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 12),
    n_features=st.integers(0, 5),
    l2=st.floats(1e-3, 1e3),
    iterations=st.integers(0, 6),
)
def test_objective_equals_the_reference_and_never_increases(
    seed, n_rows, n_features, l2, iterations
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    shape = (n_rows, 3)
    problems = Problems(rng.random(shape), rng.random(shape), rng.integers(0, 2, shape) * 1.0)
    start = rng.normal(size=(n_features + 2, 3))
    penalty = Penalty(l2, max_iter=iterations)

    def expected(coef, model):
        columns = (
            array[:, model] for array in (problems.targets, problems.weights, problems.extra)
        )
        return logistic_objective(X, coef[:, model], *columns, l2, penalty.l2_intercept)

    found = solve(X, problems, penalty, start)
    for model in range(3):
        assert found.objective[model] == pytest.approx(
            expected(found.coef, model), rel=1e-9, abs=1e-9
        )
        assert found.objective[model] <= expected(start, model) + 1e-9


def test_shares_of_targets_are_weights():
    X, problems = batch()
    share = np.random.default_rng(1).random(problems.targets.shape)
    whole = Problems(share, problems.weights, problems.extra)
    ones, zeros = np.ones_like(share), np.zeros_like(share)
    split = Problems(
        np.vstack((ones, zeros)),
        np.vstack((problems.weights * share, problems.weights * (1 - share))),
        np.vstack((problems.extra, problems.extra)),
    )
    start, penalty = np.zeros((8, 5)), Penalty(1.0, tol=1e-13)
    one = solve(X, whole, penalty, start).coef
    two = solve(np.vstack((X, X)), split, penalty, start).coef
    assert one == pytest.approx(two, abs=1e-5)


def test_models_do_not_depend_on_each_other():
    X, problems = batch(n_models=70)
    start, penalty = np.zeros((8, 70)), Penalty(0.1)
    together = solve(X, problems, penalty, start)
    alone = solve(X, problems.take([69]), penalty, start[:, [69]])
    assert together.coef[:, [69]] == pytest.approx(alone.coef, abs=1e-7)
    assert together.n_iter[69] == pytest.approx(alone.n_iter[0], abs=2)


def test_separable_labels_have_finite_coefficients():
    X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    targets = np.array([[0.0], [0], [1], [1]])
    problems = Problems(targets, np.ones((4, 1)), np.zeros((4, 1)))
    found = solve(X, problems, Penalty(1e-4), np.zeros((3, 1)))
    assert found.converged.all()
    assert 1 < found.coef[0, 0] < 50


def test_constant_targets_and_no_weights():
    X, _ = batch()
    targets = np.tile([1.0, 0.0, 0.0], (len(X), 1))
    weights = np.tile([1.0, 1.0, 0.0], (len(X), 1))
    problems = Problems(targets, weights, np.zeros_like(targets))
    found = solve(X, problems, Penalty(1.0), np.ones((8, 3)))
    z = linear_predictor(X, found.coef, problems.extra)
    assert found.converged.all()
    assert np.isfinite(z).all()
    assert found.coef[:, 2] == pytest.approx(np.zeros(8), abs=1e-5)


def test_iteration_limit():
    X, problems = batch()
    found = solve(X, problems, Penalty(1e-3, max_iter=2), np.zeros((8, 5)))
    assert not found.converged.any()
    assert (found.n_iter == 2).all()


def test_start_at_the_solution_needs_no_iteration():
    X, problems = batch()
    penalty = Penalty(1.0)
    found = solve(X, problems, penalty, np.zeros((8, 5)))
    again = solve(X, problems, penalty, found.coef)
    assert (again.n_iter <= 1).all()
    assert found.n_iter.min() > 2
