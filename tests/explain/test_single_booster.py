"""A single booster is explained as a chain of one round without label features.

Expected values are XGBoost's own, of the same booster.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.explain import (
    feature_importance,
    label_dependencies,
    plot_order,
    plot_rounds,
    plot_shap,
    round_statistics,
    shap_values,
)

SMALL: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def booster(data: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(**SMALL).fit(*data)


@pytest.fixture(scope="module")
def stopped(data: Any) -> MultiLabelXGBClassifier:
    """A booster whose last trees have no part in predictions."""
    X, Y = data
    model = MultiLabelXGBClassifier(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[:60], Y[:60], eval_set=[(X[60:], Y[60:])])
    assert model.best_iteration_ + 1 < model.booster_.num_boosted_rounds()
    return model


@pytest.mark.parametrize(
    "importance_type", ["gain", "weight", "total_gain", "cover", "total_cover"]
)
def test_importance_is_xgboosts(importance_type: Any, booster: Any) -> None:
    expected = booster.booster_.get_score(importance_type=importance_type)
    table = feature_importance(booster, importance_type)
    assert set(table["round"]) == {1}
    assert set(table["kind"]) == {"feature"}
    assert table["name"].tolist() == sorted(expected)
    np.testing.assert_allclose(
        table["importance"], [expected[name] for name in table["name"]], rtol=1e-5
    )
    together = feature_importance(booster, importance_type, aggregate=True)
    pd.testing.assert_frame_equal(together, table.drop(columns="round"))


def test_importance_is_of_the_trees_that_predict(stopped: Any) -> None:
    counted = feature_importance(stopped, "weight")["importance"].sum()
    used = stopped.booster_[: stopped.best_iteration_ + 1]
    assert counted == sum(used.get_score(importance_type="weight").values())
    assert counted < sum(stopped.booster_.get_score(importance_type="weight").values())


def test_shap_values_are_xgboosts(booster: Any, data: Any) -> None:
    X = data[0]
    explained = shap_values(booster, X)
    expected = booster.booster_.predict(xgb.DMatrix(X), pred_contribs=True)
    np.testing.assert_allclose(explained.values, expected, atol=1e-6)
    assert explained.values.shape == (100, 4, 6 + 1)
    assert explained.of_labels.shape == (100, 4, 0)
    assert explained.label_names == [f"label_{j}" for j in range(4)]
    assert explained.propagated_names == []
    assert explained.feature_names == [f"f{j}" for j in range(6)]
    np.testing.assert_array_equal(shap_values(booster, X, 1).values, explained.values)
    with pytest.raises(ValueError, match="round_=2"):
        shap_values(booster, X, 2)


def test_shap_values_add_up_to_the_margins_that_predict(stopped: Any, data: Any) -> None:
    margins = stopped.booster_.inplace_predict(
        data[0], predict_type="margin", iteration_range=(0, stopped.best_iteration_ + 1)
    )
    explained = shap_values(stopped, data[0])
    np.testing.assert_allclose(explained.values.sum(axis=2), margins, atol=1e-4)


def test_sparse(data: Any) -> None:
    X = sparse.csr_matrix(np.where(data[0] > 3, data[0], 0))
    booster = MultiLabelXGBClassifier(**SMALL).fit(X, data[1])
    expected = booster.booster_.predict(xgb.DMatrix(X), pred_contribs=True)
    np.testing.assert_allclose(shap_values(booster, X).values, expected, atol=1e-6)


def test_every_label_is_decided_in_the_only_round(booster: Any, data: Any) -> None:
    X, Y = data
    statistics = round_statistics(booster, X, Y)
    predicted = booster.predict(X)
    np.testing.assert_array_equal(statistics.positive, [(predicted == 1).sum(axis=0)])
    np.testing.assert_array_equal(statistics.negative, [(predicted == 0).sum(axis=0)])
    right = (statistics.positive_right + statistics.negative_right).sum()
    assert right == (predicted == Y).sum()
    assert statistics.by_round()["round"].tolist() == [1]


def test_plots(booster: Any, data: Any) -> None:
    X, Y = data
    axes = plot_rounds(round_statistics(booster, X, Y))
    assert axes[0].images[0].get_array().shape == (4, 1)
    np.testing.assert_array_equal(plot_order(booster, X).images[0].get_array(), np.ones((4, 1)))
    ax = plot_shap(shap_values(booster, X))
    assert ax.get_title() == "SHAP values: all labels"
    assert ax.get_ylabel() == "feature"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["feature"]
    assert len(ax.patches) == 6


@pytest.mark.parametrize(
    "model",
    [MultiLabelXGBClassifier(**SMALL), DynamicChainClassifier(**SMALL, end_label=False)],
    ids=["booster", "chain"],
)
def test_a_target_of_one_dimension(model: Any, data: Any) -> None:
    X, Y = data
    y = pd.Series(np.array(["no", "yes"])[Y[:, 0]], name="ill")
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model.fit(frame, y)
    assert set(feature_importance(model)["name"]) <= set("uvwxyz")

    explained = shap_values(model, frame)
    assert explained.label_names == ["ill"]
    margin = explained.values.sum(axis=2)[:, 0]
    np.testing.assert_allclose(
        1 / (1 + np.exp(-margin)), model.predict_proba(frame)[:, 1], atol=1e-5
    )
    assert plot_shap(explained, label="ill").patches

    statistics = round_statistics(model, frame, y)
    right = statistics.positive_right.sum() + statistics.negative_right.sum()
    assert right == (model.predict(frame) == y).sum()
    assert statistics.to_frame()["label"].tolist() == ["ill"]
    with pytest.raises(ValueError, match="holds the class 'perhaps'"):
        round_statistics(model, frame, y.replace("no", "perhaps"))


def test_dependencies_of_a_chain_on_a_target_of_one_dimension(data: Any) -> None:
    X, Y = data
    y = np.array(["no", "yes"])[Y[:, 0]]
    assert label_dependencies(DynamicChainClassifier(**SMALL).fit(X, y), X, y).empty


def test_dependencies_need_a_chain(booster: Any, data: Any) -> None:
    message = "label_dependencies needs a chain: a MultiLabelXGBClassifier has no label features"
    with pytest.raises(TypeError, match=message):
        label_dependencies(booster, *data)


def test_other_models_are_refused(data: Any) -> None:
    X, Y = data
    model = LogisticRegression().fit(X, Y[:, 0])
    for explain in (
        lambda: feature_importance(model),
        lambda: shap_values(model, X),
        lambda: round_statistics(model, X),
        lambda: plot_order(model, X),
    ):
        with pytest.raises(TypeError, match="or a MultiLabelXGBClassifier, not a LogisticRegressi"):
            explain()


def test_before_fit(data: Any) -> None:
    model = MultiLabelXGBClassifier()
    for explain in (
        lambda: feature_importance(model),
        lambda: shap_values(model, data[0]),
        lambda: round_statistics(model, *data),
    ):
        with pytest.raises(NotFittedError):
            explain()
