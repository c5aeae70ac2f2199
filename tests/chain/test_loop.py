"""The loop of a trained chain, against a plain one that makes new matrices, and its matrix [X | P].

In that matrix values are in place, and each known value is there once. Cumulated and standard
predictions are worked out by hand for a chain of two rounds.
"""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.chain.loop import (
    ChainRun,
    LabelFeatures,
    accumulate,
    cumulated_proba,
    labels_from_proba,
    run_chain,
    standard_proba,
)
from xdcc.chain.propagation import NO_LABEL, propagate
from xdcc.chain.training import ChainPlan, open_base_score, train_chain
from xdcc.prediction.propagation_rule import Candidates, PropagationRule

NAN = np.nan
N_ROUNDS = 4


def _data(kind: str) -> FitData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)).astype(np.float32)
    Y = (X[:, :5] + rng.normal(size=(120, 5)) > 0.3).astype(np.float32)
    Y[rng.random(Y.shape) < 0.1] = NAN
    if kind == "missing":
        X[rng.random(X.shape) < 0.3] = NAN
    features = sparse.csr_matrix(np.where(X > 0.5, X, 0)) if kind == "csr" else X
    return FitData(features, Y, rng.random(120).astype(np.float32) if kind == "missing" else None)


def _new_matrix(X: Features, P: NDArray[np.float32], **info: Any) -> xgb.DMatrix:
    if not sparse.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), **info)
    known = ~np.isnan(P)
    stored = sparse.csr_matrix((P[known], known.nonzero()), shape=P.shape)
    return xgb.DMatrix(sparse.hstack((X, stored), format="csr"), **info)


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("candidates", ["open", "all"])
@pytest.mark.parametrize("kind", ["dense", "missing", "csr"])
def test_agrees_with_new_matrices_in_every_round(
    kind: str, candidates: Candidates, separate: bool
) -> None:
    data = _data(kind)
    params = {"objective": "multilabel:maxGain", "subsample": 0.8, "seed": 3, "max_bin": 16}
    rule = PropagationRule(candidates)
    plan = ChainPlan(N_ROUNDS, 3, rule=rule, separate_and_conquer=separate)
    rounds = train_chain(data, params, plan)
    states = run_chain(ChainRun(data.X, data.Y.shape[1], N_ROUNDS, rule, False), rounds)

    P = np.full(data.Y.shape, NAN, dtype=np.float32)
    P_new = P.copy()
    for round_, ((booster,), state) in enumerate(zip(rounds, states, strict=True)):
        start = {
            "label_feature_begin": 6,
            "base_score": open_base_score(data.Y, data.sample_weight, P),
        }
        matrix = _new_matrix(data.X, P, label=data.Y, weight=data.sample_weight)
        expected = xgb.train(
            {**params, **(start if separate else {}), "seed": 3 + round_}, matrix, 3
        )
        assert booster.save_raw("ubj") == expected.save_raw("ubj")
        propagate(P, expected.predict(matrix), rule)
        label = propagate(P_new, expected.predict(_new_matrix(data.X, P_new)), rule)
        np.testing.assert_array_equal(state.labels, label)
        np.testing.assert_array_equal(state.P, P_new)
    assert round_ == N_ROUNDS - 1


def test_base_score_is_the_mean_of_what_is_known_and_open() -> None:
    Y = np.array([[0, 1, 1, 1], [0, 1, 1, NAN], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=np.float32)
    P = np.full(Y.shape, NAN, dtype=np.float32)
    P[:, 2] = 0.5
    P[2, 3] = 0.1
    found = open_base_score(Y, None, P)
    assert found == pytest.approx([1e-6, 1 - 1e-6, 0.5, 1 / 2], rel=1e-12)
    assert all(type(score) is float for score in found)
    weighted = open_base_score(Y, np.array([1, 1, 1, 3], dtype=np.float32), P)
    assert weighted[3] == pytest.approx(1 / 4)


OPEN, ALL = PropagationRule("open"), PropagationRule("all")
X = np.array([[1, 0, 2], [0, 0, 3], [NAN, 0, 0]], dtype=np.float32)


def _entries(matrix: sparse.csr_matrix) -> dict[tuple[int, int], float]:
    """Entries that are not NaN; none of them may be stored twice."""
    coo = matrix.tocoo(copy=True)
    known = ~np.isnan(coo.data)
    places = list(zip(coo.row[known].tolist(), coo.col[known].tolist(), strict=True))
    assert len(places) == len(set(places))
    return dict(zip(places, coo.data[known].tolist(), strict=True))


def _propagate(
    features: LabelFeatures, Y_proba: list[list[float]] | NDArray[np.float32], rule: PropagationRule
) -> NDArray[np.intp]:
    labels = propagate(features.P, np.asarray(Y_proba, dtype=np.float32), rule)
    features.take_in(labels)
    return labels


def test_dense_ends_in_P() -> None:
    features = LabelFeatures(X, 2, n_slots=1)
    joined = features.joined
    np.testing.assert_array_equal(joined, np.hstack((X, np.full((3, 2), NAN))))
    labels = _propagate(features, [[0.9, 0.1], [0.2, 0.25], [0.3, 0.0]], OPEN)
    np.testing.assert_array_equal(labels, [[0], [0], [1]])
    expected = np.array([[0.9, NAN], [0.2, NAN], [NAN, 0]], dtype=np.float32)
    np.testing.assert_array_equal(features.P, expected)
    np.testing.assert_array_equal(joined[:, 3:], expected)
    assert features.joined is joined
    assert joined.flags.c_contiguous


def test_dense_leaves_X_alone() -> None:
    before = X.copy()
    _propagate(LabelFeatures(X, 2, n_slots=1), np.ones((3, 2)), OPEN)
    np.testing.assert_array_equal(X, before)


def test_sparse_fills_a_slot_per_round() -> None:
    stored = sparse.csr_matrix(X)
    features = LabelFeatures(stored, 2, n_slots=2)
    joined, of_X = features.joined, _entries(stored)
    assert joined.shape == (3, 5)
    assert joined.dtype == features.P.dtype == np.float32
    assert joined.nnz == stored.nnz + 3 * 2
    assert _entries(joined) == of_X

    _propagate(features, [[0.75, 0.125], [0.25, 0.5], [0.25, 0.0]], OPEN)
    first = {(0, 3): 0.75, (1, 4): 0.5, (2, 4): 0.0}  # a zero is a value
    assert _entries(joined) == of_X | first
    _propagate(features, np.full((3, 2), 0.625), OPEN)
    assert _entries(joined) == of_X | first | {(0, 4): 0.625, (1, 3): 0.625, (2, 3): 0.625}
    assert features.joined is joined
    assert _entries(stored) == of_X


def test_sparse_keeps_stored_zeros_of_X() -> None:
    with_zero = sparse.csr_matrix(
        (np.zeros(1, dtype=np.float32), np.array([1]), np.array([0, 1])), shape=(1, 2)
    )
    features = LabelFeatures(with_zero, 1, n_slots=1)
    _propagate(features, [[0.5]], OPEN)
    assert _entries(features.joined) == {(0, 1): 0.0, (0, 2): 0.5}


def test_sparse_leaves_out_what_X_has_allocated_beyond_its_entries() -> None:
    stored = sparse.csr_matrix(X)
    stored.indices = np.append(stored.indices, np.zeros(2, dtype=stored.indices.dtype))
    stored.data = np.append(stored.data, np.ones(2, dtype=np.float32))
    features = LabelFeatures(stored, 2, n_slots=1)
    assert _entries(features.joined) == _entries(sparse.csr_matrix(X))


def test_sparse_changes_a_label_that_is_propagated_again() -> None:
    features = LabelFeatures(sparse.csr_matrix((2, 1), dtype=np.float32), 2, n_slots=3)
    rounds = [[[0.75, 0.5], [0.25, 0.5]], [[0.875, 0.5], [0.0, 0.25]], [[0.5, 0.625], [0.5, 0.25]]]
    labels = [_propagate(features, Y_proba, ALL).tolist() for Y_proba in rounds]
    assert labels == [[[0], [1]], [[NO_LABEL], [0]], [[1], [NO_LABEL]]]
    assert _entries(features.joined) == {(0, 1): 0.875, (0, 2): 0.625, (1, 2): 0.5, (1, 1): 0.0}


def _random_rounds(n_rounds: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return [rng.random((50, 4)).astype(np.float32).round(1) for _ in range(n_rounds)]


@pytest.mark.parametrize("rule", [OPEN, ALL, PropagationRule(labels_per_round=3)])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_sparse_holds_what_P_holds(rule: PropagationRule, density: float) -> None:
    stored = sparse.random(50, 6, density=density, format="csr", dtype=np.float32, rng=1)
    features = LabelFeatures(stored, 4, n_slots=4)
    P = np.full((50, 4), NAN, dtype=np.float32)
    for Y_proba in _random_rounds(2 if rule.labels_per_round == 3 else 4):
        labels = propagate(P, Y_proba, rule)
        np.testing.assert_array_equal(_propagate(features, Y_proba, rule), labels)
        np.testing.assert_array_equal(features.P, P)
        known = {(i, 6 + j): float(P[i, j]) for i, j in np.argwhere(~np.isnan(P)).tolist()}
        assert _entries(features.joined) == _entries(stored) | known


def test_boosters_read_free_slots_as_missing() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((50, 6)).astype(np.float32)
    P = np.where(rng.random((50, 4)) < 0.5, rng.random((50, 4)), NAN)
    matrix = xgb.DMatrix(np.hstack((dense, P)), label=np.nan_to_num(P[:, 0]) > 0.3)
    booster = xgb.train({"max_depth": 4, "base_score": 0.5}, matrix, 5)
    assert "f6" in booster.get_score()
    features = LabelFeatures(sparse.csr_matrix(dense), 4, n_slots=4)
    from_dense = LabelFeatures(dense, 4, n_slots=4)
    for Y_proba in _random_rounds(4):
        for each in (features, from_dense):
            _propagate(each, Y_proba, ALL)
        np.testing.assert_array_equal(
            booster.inplace_predict(features.joined), booster.inplace_predict(from_dense.joined)
        )


# Round 1 propagates label 0 (0.9) of the first row and label 2 (0.1) of the second; round 2
# propagates label 1 (0.2) of the first row, which had 0.6 before, and label 1 (0.5) of the second.
ROUND_1 = np.array([[0.9, 0.6, 0.3], [0.4, 0.3, 0.1]])
ROUND_2 = np.array([[0.95, 0.2, 0.25], [0.45, 0.5, 0.7]])


def _after_two_rounds() -> tuple[np.ndarray, np.ndarray]:
    P, running = np.full((2, 3), NAN), np.zeros((2, 3))
    for Y_proba in (ROUND_1, ROUND_2):
        accumulate(running, Y_proba, np.isnan(P))
        propagate(P, Y_proba, PropagationRule())
    return P, running


def test_two_rounds_propagate_as_described() -> None:
    P, _ = _after_two_rounds()
    np.testing.assert_array_equal(P, [[0.9, 0.2, NAN], [NAN, 0.5, 0.1]])


def test_standard_is_zero_where_nothing_was_propagated() -> None:
    P, _ = _after_two_rounds()
    np.testing.assert_array_equal(standard_proba(P), [[0.9, 0.2, 0], [0, 0.5, 0.1]])


def test_equation_9() -> None:
    P, running = _after_two_rounds()
    np.testing.assert_array_equal(
        cumulated_proba(running, P, "equation9"), [[0.9, 0.2, 0.3], [0.45, 0.5, 0.1]]
    )


def test_authors_keep_an_early_maximum_of_a_label_propagated_as_negative() -> None:
    P, running = _after_two_rounds()
    np.testing.assert_array_equal(
        cumulated_proba(running, P, "authors"), [[0.9, 0.6, 0.3], [0.45, 0.5, 0.1]]
    )


def test_result_is_a_copy() -> None:
    P, running = _after_two_rounds()
    for result in (
        standard_proba(P),
        cumulated_proba(running, P, "equation9"),
        cumulated_proba(running, P, "authors"),
    ):
        assert not np.shares_memory(result, P)
        assert not np.shares_memory(result, running)


@pytest.mark.parametrize(
    ("prediction", "cumulation", "half"),
    [
        ("cumulated", "equation9", 1),
        ("cumulated", "authors", 0),
        ("standard", "equation9", 1),
        ("standard", "authors", 1),
    ],
)
def test_side_of_one_half(prediction: str, cumulation: str, half: int) -> None:
    labels = labels_from_proba(np.array([[0.4, 0.5, 0.6]]), prediction, cumulation)
    np.testing.assert_array_equal(labels, [[0, half, 1]])
    assert labels.dtype == np.int64
