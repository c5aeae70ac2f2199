"""Structures: the best of all trees, and edge weights from separate models."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tests.reference.ctbn import best_tree
from xdcc.comparators.ctbn.learner import LogisticLearner
from xdcc.comparators.ctbn.structure import (
    Search,
    candidate_parents,
    edge_weights,
    maximum_branching,
)
from xdcc.comparators.ctbn.tree_inference import top_down
from xdcc.linear.logistic import Penalty


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_maximum_branching_is_the_best_tree(seed, n_labels, ties):
    rng = np.random.default_rng(seed)
    edges, roots = rng.normal(size=(n_labels, n_labels)), rng.normal(size=n_labels)
    if ties:
        edges, roots = edges.round(), roots.round()
    tree = maximum_branching(edges, roots)
    top_down(tree)  # no cycle
    weight = sum(edges[j, i] if j >= 0 else roots[i] for i, j in enumerate(tree))
    assert weight == pytest.approx(best_tree(edges, roots)[1])


def test_cycle_is_broken_at_the_lowest_cost():
    edges = np.array([[0, 5.0, 0], [5, 0, 0], [0, 0, 0]])
    assert maximum_branching(edges, np.array([0.0, 1, 9])).tolist() == [1, -1, -1]


def test_roots_if_all_edges_are_worse():
    assert maximum_branching(np.full((3, 3), -2.0), np.full(3, -1.0)).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("parent_effect", ["feature", "separate"])
def test_edge_weights(parent_effect):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = (X + rng.normal(size=X.shape) > 0).astype(float)
    Y[:, 2] = Y[:, 0]
    weight = rng.random(90)
    learner = LogisticLearner(Penalty(1.0, l2_intercept=0, tol=1e-12), parent_effect)
    train, held_out = slice(60), slice(60, 90)
    edges, roots = edge_weights(
        learner,
        (X[train], Y[train], weight[train]),
        (X[held_out], Y[held_out], weight[held_out]),
        Search(),
    )
    for i in range(3):
        alone = LogisticRegression(tol=1e-8).fit(X[train], Y[train, i], weight[train])
        p = alone.predict_proba(X[held_out])[np.arange(30), Y[held_out, i].astype(int)]
        assert roots[i] == pytest.approx(weight[held_out] @ np.log(p), abs=1e-4)
        for j in {0, 1, 2} - {i}:
            if parent_effect == "feature":
                with_j = np.column_stack((X, Y[:, j]))
                model = LogisticRegression(tol=1e-8)
                model.fit(with_j[train], Y[train, i], weight[train])
                proba = model.predict_proba(with_j[held_out])[:, 1]
            elif {i, j} == {0, 2}:
                continue  # a copy: the models are constants
            else:
                proba = np.empty(30)
                for value in (0, 1):
                    rows = Y[train, j] == value
                    model = LogisticRegression(tol=1e-8)
                    model.fit(X[train][rows], Y[train, i][rows], weight[train][rows])
                    mine = Y[held_out, j] == value
                    proba[mine] = model.predict_proba(X[held_out][mine])[:, 1]
            p = np.where(Y[held_out, i] == 1, proba, 1 - proba)
            assert edges[j, i] == pytest.approx(weight[held_out] @ np.log(p), abs=1e-4)
    # A copy of a label determines it.
    assert maximum_branching(edges, roots)[2] == 0 or maximum_branching(edges, roots)[0] == 2


def test_unknown_labels_do_not_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = (X + rng.normal(size=X.shape) > 0).astype(float)
    learner = LogisticLearner(Penalty(1.0), "feature")

    def weights(Y, rows, held_out):
        ones = np.ones(80)
        parts = [(X[r], Y[r], ones[r]) for r in (rows, held_out)]
        return edge_weights(learner, *parts, Search())

    some = Y.copy()
    some[:10, 0] = np.nan
    some[50:60, 0] = np.nan
    edges, roots = weights(some, slice(0, 50), slice(50, 80))
    known_edges, known_roots = weights(Y, slice(10, 50), slice(60, 80))
    _, all_roots = weights(Y, slice(0, 50), slice(50, 80))
    assert roots[0] == pytest.approx(known_roots[0])
    assert roots[1] == pytest.approx(all_roots[1])
    assert edges[1, 0] == pytest.approx(known_edges[1, 0])
    # If the parent is unknown, the model without a parent predicts.
    alone = learner.fit(X[:50], Y[:50], np.ones((50, 2)), np.zeros((50, 2)), None)
    z = alone.log_odds(X[50:60])[1, 0]
    missing = -np.logaddexp(0, np.where(Y[50:60, 1] == 1, -z, z)).sum()
    assert edges[0, 1] == pytest.approx(known_edges[0, 1] + missing, abs=1e-4)


def test_candidates_are_those_with_the_highest_mutual_information():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 6)) < 0.4).astype(float)
    Y[:, 3] = np.where(rng.random(200) < 0.8, Y[:, 1], Y[:, 3])
    Y[:20, 2] = np.nan
    weight = rng.random(200)
    tried = candidate_parents(Y, weight, 2)
    assert tried.sum(axis=0).tolist() == [2] * 6
    assert tried[1, 3]
    assert tried[3, 1]
    for i in range(6):
        information = np.full(6, -np.inf)
        for j in set(range(6)) - {i}:
            known = ~np.isnan(Y[:, i] + Y[:, j])
            information[j] = mutual_information(Y[known, i], Y[known, j], weight[known])
        assert set(np.flatnonzero(tried[:, i])) == set(np.argsort(-information)[:2])


def mutual_information(a, b, weight):
    total = 0
    for u in (0, 1):
        for v in (0, 1):
            p, q, r = (
                weight[rows].sum() / weight.sum() for rows in ((a == u) & (b == v), a == u, b == v)
            )
            total += p * np.log(p / (q * r))
    return total


@pytest.mark.parametrize("n_candidates", [None, 5, 9])
def test_enough_candidates_means_all(n_candidates):
    Y = np.eye(6)
    assert np.array_equal(candidate_parents(Y, np.ones(6), n_candidates), ~np.eye(6, dtype=bool))


def test_only_candidates_become_parents():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = (rng.random((60, 4)) < 0.5).astype(float)
    learner = LogisticLearner(Penalty(1.0), "feature")
    part = (X, Y, np.ones(60))
    all_edges, roots = edge_weights(learner, part, part, Search())
    edges, same_roots = edge_weights(learner, part, part, Search(n_candidates=1))
    tried = candidate_parents(Y, np.ones(60), 1)
    np.testing.assert_allclose(edges[tried], all_edges[tried], rtol=1e-4)
    assert np.isneginf(edges[~tried]).all()
    assert np.array_equal(roots, same_roots)
    for label, parent in enumerate(maximum_branching(edges, roots)):
        assert parent == -1 or tried[parent, label]


def test_progress_counts_pairs(capsys):
    learner = LogisticLearner(Penalty(1.0), "feature")
    part = (np.eye(4), np.eye(4)[:, :3], np.ones(4))
    edge_weights(learner, part, part, Search(verbose=True))
    assert "6/6" in capsys.readouterr().err
