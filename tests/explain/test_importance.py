"""Importance and SHAP values of features and propagated labels equal XGBoost's."""

import copy
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from scipy.special import logit

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.explain import feature_importance, shap_values

KINDS = [
    {},
    {"separate_and_conquer": False, "split_method": "maxGain"},
    {"propagate": "cross_val", "cv": 2, "ensemble": True},
    {"end_label": True},
]


def _joined(chain: DynamicChainClassifier, X: Any, number: int) -> Any:
    """The input of the boosters of a round, with label features from `chain_order`."""
    order = chain.chain_order(X)
    n_columns = chain.boosters_[0][0].num_features()
    joined = np.full((len(X), n_columns), np.nan, dtype=np.float32)
    joined[:, : X.shape[1]] = X
    for row in range(len(X)):
        for label, value in zip(
            order.labels[row, : number - 1], order.values[row, : number - 1], strict=True
        ):
            if label >= 0:
                joined[row, X.shape[1] + label] = value
    return joined


def _margins(chain: DynamicChainClassifier, X: Any, number: int) -> Any:
    """Mean margin of the boosters of a round."""
    joined = _joined(chain, X, number)
    margins = [
        booster.inplace_predict(joined, predict_type="margin", strict_shape=True)
        for booster in chain.boosters_[number - 1]
    ]
    return np.mean(margins, axis=0)[:, : chain.n_labels_]


@pytest.mark.parametrize("params", KINDS)
@pytest.mark.parametrize("number", [1, 3])
def test_sum_is_the_margin(number: int, params: Any, data: Any, fit: Any) -> None:
    X = data[0]
    chain = fit(**params)
    explained = shap_values(chain, X, number)
    assert explained.round == number
    assert explained.values.shape == (100, 4, 6 + 4 + 1)
    np.testing.assert_allclose(explained.values.sum(axis=2), _margins(chain, X, number), atol=1e-4)


def test_parts(data: Any, fit: Any) -> None:
    explained = shap_values(fit(), data[0], 2)
    assert explained.feature_names == [f"f{j}" for j in range(6)]
    assert explained.label_names == [f"label_{j}" for j in range(4)]
    parts = (explained.of_features, explained.of_labels, explained.bias[:, :, np.newaxis])
    assert [part.shape[2] for part in parts] == [6, 4, 1]
    np.testing.assert_array_equal(np.concatenate(parts, axis=2), explained.values)
    assert np.ptp(explained.bias, axis=0).max() < 1e-5


def test_by_default_each_label_is_explained_by_the_round_that_decided_it(
    data: Any, fit: Any
) -> None:
    X = data[0]
    chain = fit()
    explained = shap_values(chain, X)
    assert explained.round is None
    rounds = [shap_values(chain, X, number).values for number in (1, 2, 3, 4)]
    order = chain.chain_order(X)
    for row in range(len(X)):
        for round_, label in enumerate(order.labels[row]):
            np.testing.assert_array_equal(explained.values[row, label], rounds[round_][row, label])
    propagated = np.empty((100, 4))
    np.put_along_axis(propagated, order.labels, order.values, axis=1)
    np.testing.assert_allclose(explained.values.sum(axis=2), logit(propagated), atol=1e-4)


def test_undecided_labels_are_explained_by_the_last_round_of_the_row(data: Any, fit: Any) -> None:
    X = data[0]
    chain = fit(end_label=True)
    explained = shap_values(chain, X).values
    rounds = [shap_values(chain, X, n).values for n in range(1, chain.n_rounds_ + 1)]
    order = chain.chain_order(X)
    ended_early = 0
    for row in range(len(X)):
        decided = (order.labels[row] >= 0).sum()
        if decided < chain.n_rounds_:
            # The round after the last decision ended the row.
            never = np.setdiff1d(np.arange(4), order.labels[row])
            np.testing.assert_array_equal(explained[row, never], rounds[decided][row, never])
            ended_early += 1
    assert ended_early > 10


@pytest.mark.parametrize("params", KINDS)
def test_columns_are_in_the_order_of_the_boosters(params: Any, data: Any, fit: Any) -> None:
    """All columns equal XGBoost's, without the end label."""
    chain = fit(**params)
    matrix = xgb.DMatrix(_joined(chain, data[0], 3))
    expected = np.mean([b.predict(matrix, pred_contribs=True) for b in chain.boosters_[2]], axis=0)
    if chain.end_label_:
        np.testing.assert_array_equal(expected[:, :, 10], 0)
        expected = np.delete(expected[:, :4], 10, axis=2)
    explained = shap_values(chain, data[0], 3)
    np.testing.assert_allclose(explained.values, expected, atol=1e-6)
    assert np.abs(explained.of_labels).max() > 0.05


def test_first_round_has_nothing_from_labels(data: Any, fit: Any) -> None:
    explained = shap_values(fit(), data[0], 1)
    np.testing.assert_array_equal(explained.of_labels, 0)
    assert (np.abs(explained.of_features).max(axis=(0, 1)) > 0).any()


def test_a_label_by_its_name(data: Any, fit: Any) -> None:
    chain, X = fit(), data[0]
    booster = MultiLabelXGBClassifier(n_estimators=2, n_jobs=1).fit(X, data[1])
    for model, round_ in ((chain, 2), (chain, None), (booster, None)):
        whole, one = shap_values(model, X, round_), shap_values(model, X, round_, label="label_2")
        np.testing.assert_array_equal(one.values, whole.values[:, [2]])
        assert one.label_names == ["label_2"]
        assert one.propagated_names == whole.propagated_names
        assert one.of_labels.shape == (100, 1, 4 if model is chain else 0)
        with pytest.raises(ValueError, match="label='label_9': it must be one of 'label_0', "):
            shap_values(model, X, round_, label="label_9")


def test_sparse(data: Any, fit: Any) -> None:
    X = np.where(data[0] > 3, data[0], np.nan)
    stored = ~np.isnan(X)
    csr = sparse.csr_matrix((X[stored], np.nonzero(stored)), shape=X.shape)
    on_sparse = copy.copy(fit())
    on_sparse._input_form = replace(on_sparse._input_form, is_sparse=True)
    np.testing.assert_array_equal(shap_values(on_sparse, csr).values, shap_values(fit(), X).values)


def test_one_label(data: Any) -> None:
    chain = DynamicChainClassifier(n_estimators=3, n_jobs=1).fit(data[0], data[1][:, 0])
    explained = shap_values(chain, data[0])
    assert explained.values.shape == (100, 1, 6 + 1 + 1)
    np.testing.assert_allclose(explained.values.sum(axis=2), _margins(chain, data[0], 1), atol=1e-4)


@pytest.mark.parametrize("round_", [0, 5, -1, 1.5, True])
def test_invalid_round(round_: Any, data: Any, fit: Any) -> None:
    with pytest.raises(ValueError, match=f"round_={round_}: .* at least 1 and at most 4"):
        shap_values(fit(), data[0], round_)


TYPES = ["gain", "weight", "total_gain", "cover", "total_cover"]


def _scores(boosters: list[Any], importance_type: str) -> dict[tuple[str, str], float]:
    """Importance in several boosters, from `get_score`; features f0 to f5, four labels."""
    total: dict[str, float] = {}
    weight: dict[str, float] = {}
    summed = f"total_{importance_type}" if importance_type in ("gain", "cover") else importance_type
    for booster in boosters:
        for scores, kind in ((total, summed), (weight, "weight")):
            for name, value in booster.get_score(importance_type=kind).items():
                scores[name] = scores.get(name, 0) + value
    if summed != importance_type:
        total = {name: value / weight[name] for name, value in total.items()}
    places = {name: int(name[1:]) for name in sorted(total, key=lambda name: int(name[1:]))}
    return {
        ("feature", name) if place < 6 else ("label", f"label_{place - 6}"): total[name]
        for name, place in places.items()
    }


def _read(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    return dict(
        zip(zip(table["kind"], table["name"], strict=True), table["importance"], strict=True)
    )


@pytest.mark.parametrize("importance_type", TYPES)
@pytest.mark.parametrize(
    "params",
    [{}, {"split_method": "maxGain"}, {"propagate": "cross_val", "cv": 2, "ensemble": True}],
)
def test_agrees_with_get_score(params: Any, importance_type: Any, fit: Any) -> None:
    chain = fit(**params)
    table = feature_importance(chain, importance_type)
    assert list(table.columns) == ["round", "kind", "name", "importance"]
    for number, boosters in enumerate(chain.boosters_, start=1):
        found = _read(table[table["round"] == number])
        expected = _scores(boosters, importance_type)
        assert list(found) == list(expected)
        np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5)
    assert "label" not in set(table.loc[table["round"] == 1, "kind"])
    assert "label" in set(table["kind"])


@pytest.mark.parametrize("importance_type", TYPES)
def test_all_rounds_together(importance_type: Any, fit: Any) -> None:
    chain = fit()
    table = feature_importance(chain, importance_type, aggregate=True)
    assert list(table.columns) == ["kind", "name", "importance"]
    expected = _scores([b for boosters in chain.boosters_ for b in boosters], importance_type)
    found = _read(table)
    assert list(found) == list(expected)
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5)


def test_feature_and_label_with_the_same_name(data: Any) -> None:
    X, Y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e[0]", "propagated a"])
    labels = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    chain = DynamicChainClassifier(
        n_estimators=4, max_depth=3, n_jobs=1, propagate="in_sample", chain_length=None
    ).fit(frame, labels)
    table = feature_importance(chain, aggregate=True)
    kinds = table.groupby("name")["kind"].agg(set)
    assert kinds["a"] == {"feature", "label"}
    assert kinds["propagated a"] == {"feature"}
    assert not table.duplicated(["kind", "name"]).any()


def test_chain_without_any_split(data: Any) -> None:
    chain = DynamicChainClassifier(n_estimators=1, chain_length=2, gamma=1e9).fit(*data)
    for aggregate in (False, True):
        assert feature_importance(chain, aggregate=aggregate).empty


def test_unknown_type(fit: Any) -> None:
    with pytest.raises(ValueError, match="importance_type='shap': it must be one of 'gain', 'w"):
        feature_importance(fit(), "shap")  # type: ignore[arg-type]


class _FakeShap:
    """Stands for the package shap."""

    class Explanation:
        def __init__(self, **parts: Any) -> None:
            vars(self).update(parts)


@pytest.mark.parametrize("shap", ["fake", "installed"])
def test_as_an_explanation_of_shap(
    shap: str, data: Any, fit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shap == "fake":
        monkeypatch.setitem(sys.modules, "shap", _FakeShap)  # type: ignore[arg-type]
    else:
        pytest.importorskip("shap")
    X = data[0]
    found = shap_values(fit(), X)
    for given in X, sparse.csr_matrix(X), pd.DataFrame(X):
        explanation = found.explanation(given)
        assert explanation.values.shape == (100, 6 + 4, 4)
        assert list(explanation.output_names) == found.label_names
        assert list(explanation.feature_names) == found.feature_names + found.label_names
        margins = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(margins, found.values.sum(axis=2), atol=1e-5)
        np.testing.assert_array_equal(explanation.values[:, :6, 2], found.of_features[:, 2])
        np.testing.assert_array_equal(explanation.data[:, :6], X)
        assert np.isnan(explanation.data[:, 6:]).all()
    assert found.explanation().data is None
    with pytest.raises(ValueError, match=r"X has the shape \(99, 6\), expected \(100, 6\)"):
        found.explanation(X[:99])


def test_an_explanation_needs_shap(data: Any, fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)  # as if it were not installed
    with pytest.raises(ImportError, match="pip install shap"):
        shap_values(fit(), data[0]).explanation()
