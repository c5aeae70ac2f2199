"""Importances against the trees as they stand in the booster's JSON."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from xgboost import XGBClassifier

from tests.reference.tree_comparison import read_trees
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.boosting.importance import IMPORTANCE_TYPES, column_importance

X, Y = make_multilabel_classification(
    n_samples=120, n_features=8, n_classes=4, n_labels=2, random_state=0
)


def _classifier(**params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(**{"n_estimators": 6, "max_depth": 3, "n_jobs": 1, **params})


@pytest.fixture(scope="module")
def model() -> MultiLabelXGBClassifier:
    return _classifier().fit(X, Y)


def test_weights_and_gains_are_those_of_the_splits(model: MultiLabelXGBClassifier) -> None:
    n_splits, gain = np.zeros(8), np.zeros(8)
    for tree in read_trees(model.booster_):
        splits = np.flatnonzero(tree.feature >= 0)
        np.add.at(n_splits, tree.feature[splits], 1)
        np.add.at(gain, tree.feature[splits], tree.gain[splits])
    gain[n_splits == 0] = n_splits[n_splits == 0] = np.nan

    def found(importance_type: Any) -> Any:
        return column_importance([model.booster_], 8, importance_type)

    np.testing.assert_array_equal(found("weight"), n_splits)
    np.testing.assert_allclose(found("total_gain"), gain, rtol=1e-5)
    np.testing.assert_allclose(found("gain"), gain / n_splits, rtol=1e-5)
    np.testing.assert_allclose(found("cover") * n_splits, found("total_cover"), rtol=1e-5)


@pytest.mark.parametrize("importance_type", IMPORTANCE_TYPES)
def test_as_the_estimator_of_xgboost_has_it(importance_type: str) -> None:
    ours = _classifier(importance_type=importance_type).fit(X, Y)
    stock = XGBClassifier(
        n_estimators=6,
        max_depth=3,
        n_jobs=1,
        min_child_weight=0,
        multi_strategy="multi_output_tree",
        importance_type=importance_type,
    ).fit(X, Y)
    assert ours.feature_importances_.shape == (8,)
    assert ours.feature_importances_.sum() == pytest.approx(1)
    np.testing.assert_allclose(ours.feature_importances_, stock.feature_importances_, rtol=1e-3)


def test_boosters_together(model: MultiLabelXGBClassifier) -> None:
    booster = model.booster_
    for importance_type, factor in (("weight", 2), ("total_gain", 2), ("gain", 1), ("cover", 1)):
        np.testing.assert_allclose(
            column_importance([booster, booster], 8, importance_type),  # type: ignore[arg-type]
            factor * column_importance([booster], 8, importance_type),  # type: ignore[arg-type]
        )


def test_names_do_not_matter(model: MultiLabelXGBClassifier) -> None:
    frame = pd.DataFrame(X, columns=["f7", "f6", "[5]", "<", "f3", "f2", "f1", "f0"])
    named = _classifier().fit(frame, Y)
    np.testing.assert_array_equal(named.feature_importances_, model.feature_importances_)
    assert named.booster_.feature_names == list(frame.columns)


def test_only_the_iterations_that_predict() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, size=Y.shape)
    stopped = _classifier(
        n_estimators=60, early_stopping_rounds=3, learning_rate=1.0, importance_type="weight"
    ).fit(X[:80], noise[:80], eval_set=[(X[80:], noise[80:])])
    kept = stopped.booster_[: stopped.best_iteration_ + 1]
    splits = np.nan_to_num(column_importance([kept], 8, "weight"))
    np.testing.assert_allclose(stopped.feature_importances_, splits / splits.sum())


def test_without_any_split() -> None:
    np.testing.assert_array_equal(
        _classifier(gamma=1e9).fit(X, Y).feature_importances_, np.zeros(8)
    )


def test_type_can_be_changed_after_fit(model: MultiLabelXGBClassifier) -> None:
    before = model.feature_importances_
    model.set_params(importance_type="weight")
    try:
        assert (model.feature_importances_ != before).any()
        model.set_params(importance_type="shap")
        with pytest.raises(ValueError, match="importance_type='shap': it must be one of 'gain'"):
            _ = model.feature_importances_
    finally:
        model.set_params(importance_type="gain")


def test_selecting_features() -> None:
    selector = SelectFromModel(_classifier(), max_features=3, threshold=-np.inf).fit(X, Y)
    assert selector.transform(X).shape == (120, 3)


def test_before_fit() -> None:
    assert not hasattr(_classifier(), "feature_importances_")
    with pytest.raises(NotFittedError):
        _ = _classifier().feature_importances_
