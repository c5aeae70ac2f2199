"""Label dependencies: gains stored in the model, a plain implementation, a known dependency.

What is read from a booster's JSON for them predicts and adds up as the booster itself says.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray

from tests.reference.boosting import gradients, label_weights_and_gains
from tests.reference.tree_comparison import read_trees
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.explain import feature_importance, label_dependencies
from xdcc.explain.label_dependencies import read_model
from xdcc.explain.walks import round_matrix, walk_of

SMALL = {
    "n_estimators": 3,
    "max_depth": 3,
    "n_jobs": 1,
    "split_method": "sumGain",
    "propagate": "in_sample",
    "chain_length": None,
}


def _plain(
    chain: DynamicChainClassifier,
    X: NDArray[np.float32],
    Y: NDArray[np.floating],
    number: int,
    weight: NDArray[np.floating] | None = None,
    **penalties: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gains (n_columns, n_labels) of a round, and the sum of the stored gains of its splits.

    `chain_order` says which labels were propagated.
    """
    order = chain.chain_order(X)
    P = np.full(Y.shape, np.nan, dtype=np.float32)
    for row in range(len(X)):
        for label, value in zip(
            order.labels[row, : number - 1], order.values[row, : number - 1], strict=True
        ):
            if label >= 0:
                P[row, label] = value
    joined = np.hstack((X, P))
    masked = ~np.isnan(P) if chain.separate_and_conquer else None
    total = np.zeros((joined.shape[1], Y.shape[1])), np.zeros(joined.shape[1])
    for booster in chain.boosters_[number - 1]:
        start = booster.inplace_predict(
            joined, predict_type="margin", iteration_range=(0, 1), strict_shape=True
        )
        start = start - read_trees(booster)[0].predict(joined)
        found = plain_gains(booster, joined, Y, start, masked, weight, **penalties)
        total = total[0] + found[0], total[1] + found[1]
    return total


def plain_gains(
    booster: xgb.Booster,
    joined: NDArray[np.float32],
    Y: NDArray[np.floating],
    margin: NDArray[np.floating],
    masked: NDArray[np.bool_] | None,
    weight: NDArray[np.floating] | None = None,
    **penalties: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Computed and stored gains of a booster.

    Sends rows through trees by their thresholds, adds up each node anew, and scores with the
    reference.
    """
    gains = np.zeros((joined.shape[1], Y.shape[1]))
    recorded = np.zeros(joined.shape[1])
    for tree in read_trees(booster):
        grad, hess = gradients(Y, margin, weight, masked)

        def score(
            rows: NDArray[np.intp], grad: Any = grad, hess: Any = hess
        ) -> NDArray[np.floating]:
            G, H = grad[rows].sum(axis=0), hess[rows].sum(axis=0)
            return label_weights_and_gains(G, H, **penalties)[1]  # type: ignore[arg-type]

        pending = [(0, np.arange(len(joined)))]
        while pending:
            node, rows = pending.pop()
            if tree.is_leaf(node):
                continue
            left = tree.goes_left(node, joined[rows])
            at = tree.feature[node]
            gains[at] += score(rows[left]) + score(rows[~left]) - score(rows)
            recorded[at] += tree.gain[node]
            pending += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        margin = margin + tree.predict(joined)
    return gains, recorded


def _matrix(table: pd.DataFrame, number: int, column: str = "gain") -> NDArray[np.float64]:
    of_round = table[table["round"] == number]
    matrix = np.zeros((4, 4))
    for source, target, value in zip(
        of_round["source"].cat.codes, of_round["target"].cat.codes, of_round[column], strict=True
    ):
        assert matrix[source, target] == 0
        matrix[source, target] = value
    return matrix


def _shares(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.zeros((4, 4))
    for source in range(4):
        for target in range(4):
            if gains[6 + source, target] != 0:
                total = gains[:, target].sum()
                shares[source, target] = gains[6 + source, target] / total if total > 0 else np.nan
    return shares


@pytest.mark.parametrize(
    ("params", "penalties"),
    [
        ({}, {}),
        ({"separate_and_conquer": False}, {}),
        ({"reg_lambda": 0.3, "reg_alpha": 0.7}, {"reg_lambda": 0.3, "alpha": 0.7}),
        ({"alpha": 0.7, "lambda": 2.5}, {"reg_lambda": 2.5, "alpha": 0.7}),
        ({"reg_lambda": None}, {"reg_lambda": 1.0}),
        ({"split_method": "maxWeight"}, {}),
        ({"propagate": "cross_val", "cv": 2, "ensemble": True}, {}),
    ],
)
def test_equals_the_plain_implementation(params: Any, penalties: Any, data: Any) -> None:
    X, Y = data[0], data[1].astype(float)
    Y[::7, 2] = np.nan
    weight = np.where(np.arange(100) % 3 == 0, 2.0, 0.5)
    chain = DynamicChainClassifier(**{**SMALL, **params}).fit(X, Y, weight)
    table = label_dependencies(chain, X, Y, weight)
    assert list(table.columns) == ["round", "source", "target", "gain", "share"]
    for number in range(1, 5):
        gains, _ = _plain(chain, X, Y, number, weight, **penalties)
        np.testing.assert_allclose(_matrix(table, number), gains[6:], rtol=1e-3, atol=1e-4)
        shares = _matrix(table, number, "share")
        np.testing.assert_allclose(shares, _shares(gains), rtol=1e-3, atol=1e-4)
    assert (table["round"] == 1).sum() == 0
    assert (table["gain"] > 1).any()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"num_parallel_tree": 2},
        {"scale_pos_weight": 3.0},
        {"reg_alpha": 0.5, "reg_lambda": 2.0},
        {"labels_per_round": 2},
        {"base_score": 0.3, "separate_and_conquer": False},
        {"candidates": "all"},
    ],
)
def test_sums_to_the_gains_of_the_model(params: Any, data: Any, fit: Any) -> None:
    chain = fit(**params)
    table = label_dependencies(chain, *data)
    summed = table.groupby(["round", "source"], observed=True)["gain"].sum()
    importance = feature_importance(chain, "total_gain")
    of_labels = importance[importance["kind"] == "label"]
    assert len(of_labels) == len(summed) >= 2
    for _, row in of_labels.iterrows():
        assert summed[row["round"], row["name"]] == pytest.approx(row["importance"], rel=1e-3)


def test_plain_implementation_finds_the_stored_gains(data: Any, fit: Any) -> None:
    gains, recorded = _plain(fit(), *data, 3)
    np.testing.assert_allclose(gains.sum(axis=1), recorded, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("separate_and_conquer", [True, False])
def test_end_label_and_ended_rows_do_not_count(
    separate_and_conquer: bool, data: Any, fit: Any
) -> None:
    X, Y = data
    chain = fit(end_label=True, separate_and_conquer=separate_and_conquer)
    table = label_dependencies(chain, X, Y)
    assert list(table["target"].cat.categories) == [f"label_{j}" for j in range(4)]
    last = chain.n_rounds_
    ended = (chain.chain_order(X).labels >= 0).sum(axis=1) < last - 1
    assert 0 < ended.sum() < len(X)
    without = label_dependencies(chain, X[~ended], Y[~ended])
    assert _matrix(table, last).any()
    np.testing.assert_allclose(_matrix(table, last), _matrix(without, last), rtol=1e-9)
    assert not np.allclose(_matrix(table, 2), _matrix(without, 2))


def test_finds_a_known_dependency() -> None:
    """Labels a and b are equal and need many stumps; c is one feature."""
    X = np.random.default_rng(0).normal(size=(600, 6))
    a = X[:, :5].sum(axis=1) > 0
    Y = pd.DataFrame({"a": a, "b": a, "c": X[:, 5] > 0.5}).astype(int)
    chain = DynamicChainClassifier(
        n_estimators=5, max_depth=1, split_method="sumGain", chain_length=3, n_jobs=1
    ).fit(X, Y)
    table = label_dependencies(chain, X, Y)
    gain = table.groupby(["source", "target"], observed=False)["gain"].sum().unstack()
    assert gain.loc["a", "b"] > 10 * abs(gain.loc["a", "c"])
    assert gain.loc["a", "b"] > 10 * abs(gain.loc["c", "b"])


def _tickets(seed: int) -> tuple[NDArray[np.float64], pd.DataFrame]:
    """Make five labels with noise, and one that holds if two of the first three do."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(1500, 6))
    names = ["urgent", "angry", "vip", "senior", "fraud"]
    Y = pd.DataFrame((X[:, :5] + random.normal(size=(1500, 5)) > 0.3).astype(int), columns=names)
    return X, Y.assign(escalate=(Y[names[:3]].sum(axis=1) >= 2).astype(int))


def _sources_of_escalate(chain: Any, X: Any, Y: Any) -> pd.Series:
    table = label_dependencies(chain, X, Y).query("target == 'escalate'")
    return table.groupby("source", observed=True)["gain"].sum().sort_values(ascending=False)


@pytest.mark.parametrize("seed", range(3))
def test_an_order_free_chain_names_the_labels_that_matter(seed: int) -> None:
    """It learns from true labels, so other labels have next to no gain, on new rows too."""
    X, Y = _tickets(seed)
    chain = OrderFreeChainClassifier(n_estimators=40, cv=2, random_state=seed, n_jobs=1)
    gains = _sources_of_escalate(chain.fit(X[:1000], Y[:1000]), X[1000:], Y[1000:])
    assert set(gains.index[:3]) == {"urgent", "angry", "vip"}
    assert gains.iloc[2] > 3 * gains.iloc[3]


@pytest.mark.parametrize("seed", range(3))
def test_a_dynamic_chain_names_them_in_sample_only(seed: int) -> None:
    """Otherwise its label features are its own predictions, which know no more than X does."""
    X, Y = _tickets(seed)
    settings = {"n_estimators": 30, "max_depth": 4, "random_state": seed, "n_jobs": 1}
    in_sample = DynamicChainClassifier(propagate="in_sample", **settings).fit(X[:1000], Y[:1000])
    gains = _sources_of_escalate(in_sample, X[:1000], Y[:1000])
    assert set(gains.index[:3]) == {"urgent", "angry", "vip"}
    assert gains["fraud"] > 0.2 * gains.iloc[0]
    out_of_fold = DynamicChainClassifier(**settings).fit(X[:1000], Y[:1000])
    on_new_rows = _sources_of_escalate(out_of_fold, X[1000:], Y[1000:])
    assert on_new_rows.max() < 0.5 * gains.iloc[2]


def test_without_a_positive_gain_there_is_no_share(data: Any, fit: Any) -> None:
    X, Y = data[0][:30], np.zeros((30, 4))
    chain = fit(reg_lambda=20.0)
    table = label_dependencies(chain, X, Y)
    missing = 0
    for number in range(2, 5):
        gains, _ = _plain(chain, X, Y, number, reg_lambda=20.0)
        shares = _shares(gains)
        np.testing.assert_allclose(_matrix(table, number, "share"), shares, rtol=1e-3, atol=1e-4)
        missing += np.isnan(shares).sum()
    assert missing > 0


def test_unknown_label_is_not_a_target(data: Any, fit: Any) -> None:
    Y = data[1].astype(float)
    Y[:, 1] = np.nan
    assert "label_1" not in set(label_dependencies(fit(), data[0], Y)["target"])


def test_single_label_depends_on_none(data: Any) -> None:
    chain = DynamicChainClassifier(**SMALL).fit(data[0], data[1][:, 0])
    assert label_dependencies(chain, data[0], data[1][:, 0]).empty


def test_invalid_input(data: Any, fit: Any) -> None:
    X, Y = data
    with pytest.raises(ValueError, match="Y has 2 labels, but in fit there were 4"):
        label_dependencies(fit(), X, Y[:, :2])
    with pytest.raises(ValueError, match="sample_weight has shape"):
        label_dependencies(fit(), X, Y, np.ones(3))
    chain = DynamicChainClassifier(**{**SMALL, "chain_length": 1}).fit(X, Y)
    names = np.array(["a", "b", "a", "c"], dtype=object)  # as a file of an earlier version may have
    chain._output_form = replace(chain._output_form, names=names)
    with pytest.raises(ValueError, match="2 labels have the name 'a': the table requires unique"):
        label_dependencies(chain, X, Y)


def test_gains_have_the_weights_of_the_labels(data: Any) -> None:
    X, Y = data
    chain = DynamicChainClassifier(
        **SMALL, label_weight=[1, 4, 0.5, 2], scale_pos_weight=[3, 1, 2, 1]
    ).fit(X, Y)
    gains = label_dependencies(chain, X, Y).groupby("round", observed=True)["gain"].sum()
    recorded = feature_importance(chain, "total_gain")
    recorded = recorded[recorded["kind"] == "label"].groupby("round")["importance"].sum()
    assert len(recorded) > 0
    np.testing.assert_allclose(gains[recorded.index], recorded, rtol=1e-3)


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("num_parallel_tree", [1, 2])
def test_leaves_and_start_add_up_to_the_margin(
    num_parallel_tree: int, n_labels: int, data: Any
) -> None:
    X, Y = data
    chain = DynamicChainClassifier(
        n_estimators=3, max_depth=3, num_parallel_tree=num_parallel_tree, n_jobs=1
    ).fit(X, Y[:, :n_labels])
    for round_ in walk_of(chain).rounds(X):
        [booster] = round_.boosters
        matrix = round_matrix(round_, 1)
        model = read_model(booster)
        assert [len(trees) for trees in model.iterations] == [num_parallel_tree] * 3
        leaves = booster.predict(matrix, pred_leaf=True).astype(int)
        trees = [tree for trees in model.iterations for tree in trees]
        margin = model.base_margin + sum(
            tree.leaf_value[leaf] for tree, leaf in zip(trees, leaves.T, strict=True)
        )
        expected = booster.predict(matrix, output_margin=True, strict_shape=True)
        np.testing.assert_allclose(margin, expected, atol=1e-5)


def test_gains_and_covers(fit: Any) -> None:
    [booster] = fit().boosters_[1]
    trees = [tree for trees in read_model(booster).iterations for tree in trees]
    for tree in trees:
        at = tree.splits
        assert (tree.gain[at] > 0).all()
        np.testing.assert_allclose(
            tree.cover[at], tree.cover[tree.left[at]] + tree.cover[tree.right[at]], rtol=1e-5
        )
        is_leaf = tree.left < 0
        np.testing.assert_array_equal(tree.feature[is_leaf], -1)
        np.testing.assert_array_equal(tree.leaf_value[~is_leaf], 0)


def test_settings_of_the_objective(fit: Any) -> None:
    model = read_model(fit(scale_pos_weight=2.5, chain_length=1).boosters_[0][0])
    np.testing.assert_array_equal(model.scale_pos_weight, [2.5] * 4)
    np.testing.assert_array_equal(model.label_weight, [1] * 4)
    assert model.masks_labels
    assert not read_model(fit(separate_and_conquer=False).boosters_[0][0]).masks_labels
