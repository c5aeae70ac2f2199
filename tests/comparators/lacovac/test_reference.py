"""The kernels against their reference implementation: trees, splits, ties and predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import lacovac as reference
from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.comparators.lacovac._growing import KINDS
from xdcc.comparators.lacovac.tree import GrowthRules

SETTINGS = [
    (criterion, clustering)
    for criterion in ("covariance", "variance", "gain_ratio")
    for clustering in ("single_linkage", "all_or_none", None)
]
CATEGORICAL = np.array([False] * 5 + [True] * 2)


def mixed_data(seed, n_rows=40):
    """Numbers of both signs, many zeros, categories, missing values; dependent labels."""
    rng = np.random.default_rng(seed)
    X = np.hstack(
        (
            rng.normal(size=(n_rows, 2)).round(1),
            (rng.random((n_rows, 3)) < 0.4) * rng.integers(-2, 3, (n_rows, 3)),
            rng.integers(0, 4, (n_rows, 1)),
            rng.integers(0, 2, (n_rows, 1)),
        )
    ).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    hidden = rng.random((n_rows, 3)) < [0.5, 0.3, 0.2]
    Y = hidden[:, [0, 0, 1, 1, 2]] ^ (rng.random((n_rows, 5)) < 0.15)
    Y[:, 4] |= np.nan_to_num(X[:, 0]) > 0.5
    return X, Y.astype(np.float32)


def described_reference(node):
    below = [described_reference(child) for child in node.children]
    test = (node.kind, node.feature, np.float32(node.threshold), node.default_child)
    return node.labels, len(node.rows), test, node.values, below


def described(tree, node=0):
    kind = {number: name for name, number in KINDS.items()}[tree.kind[node]]
    children = tree.children(node)
    values = [tree.value[child] for child in children] if kind == "nominal" else []
    test = (kind, tree.feature[node], tree.threshold[node], tree.default_child[node])
    below = [described(tree, child) for child in children]
    return tree.labels(node).tolist(), tree.n_samples[node], test, values, below


@pytest.mark.parametrize(("criterion", "clustering"), SETTINGS)
@given(
    seed=st.integers(0, 10_000),
    threshold_size=st.sampled_from(["node", "train"]),
    min_samples_leaf=st.integers(1, 5),
    min_samples_split=st.integers(2, 8),
    max_depth=st.sampled_from([None, 0, 2]),
    as_sparse=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_same_tree(criterion, clustering, seed, as_sparse, **limits):
    X, Y = mixed_data(seed)
    params = {"criterion": criterion, "clustering": clustering, **limits}
    model = LaCovaCClassifier(**params, categorical_features=CATEGORICAL, n_jobs=1)
    model.fit(sparse.csr_array(X) if as_sparse else X, Y)
    rules = GrowthRules(**params, ccp_alpha=0.0, max_leaf_nodes=None, max_features=0)
    expected = reference.grow(X, Y, CATEGORICAL, rules)
    assert described(model.tree_) == described_reference(expected)

    new = mixed_data(seed + 1, 8)[0]
    predicted, proba = np.full((8, 5), -1), np.full((8, 5), np.nan)
    for row, x in enumerate(new):
        for leaf in reference.reached_leaves(expected, x):
            predicted[row, leaf.labels] = reference.predicted_labelset(leaf, Y)
            proba[row, leaf.labels] = Y[np.ix_(leaf.rows, leaf.labels)].mean(axis=0)
    np.testing.assert_array_equal(model.predict(new), predicted)
    np.testing.assert_allclose(model.predict_proba(new), proba, rtol=1e-6)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), n_labels=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_score_is_the_smaller_sum_of_sample_estimates(seed, n, n_labels):
    """Compare with NumPy's covariance matrix."""
    y = (np.random.default_rng(seed).random((n, n_labels)) < 0.4).astype(np.int64)
    covariance = np.cov(y.T)
    pairs = np.triu_indices(n_labels, 1)
    expected = n * min(np.trace(covariance), np.abs(covariance[pairs]).sum())
    rules = GrowthRules("covariance", None, "node", None, 2, 1, 0.0, None, 0)
    np.testing.assert_allclose(reference.score(y, rules), expected, atol=1e-9)
