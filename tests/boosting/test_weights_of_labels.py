"""`label_weight` and `scale_pos_weight` per label, through the estimators."""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn.datasets import make_multilabel_classification

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance

X, Y = make_multilabel_classification(
    n_samples=120, n_features=6, n_classes=3, n_labels=2, random_state=0
)
SMALL: dict[str, Any] = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}


def _proba(model: Any, labels: Any = Y, **params: Any) -> Any:
    return model(**SMALL, **params).fit(X, labels).predict_proba(X)


def test_same_as_xgboost_train() -> None:
    booster = xgb.train(
        {
            "objective": "multilabel:logistic",
            "max_depth": 3,
            "nthread": 1,
            "label_weight": [1, 2, 0.5],
            "scale_pos_weight_per_label": [3, 1, 2],
        },
        xgb.DMatrix(X, label=Y),
        num_boost_round=5,
    )
    found = _proba(MultiLabelXGBClassifier, label_weight=[1, 2, 0.5], scale_pos_weight=[3, 1, 2])
    np.testing.assert_array_equal(found, booster.inplace_predict(X))


def test_one_number_is_for_all_labels() -> None:
    np.testing.assert_array_equal(
        _proba(MultiLabelXGBClassifier, scale_pos_weight=2.0),
        _proba(MultiLabelXGBClassifier, scale_pos_weight=np.array([2.0, 2.0, 2.0])),
    )
    np.testing.assert_array_equal(
        _proba(MultiLabelXGBClassifier, label_weight=2.0),
        _proba(MultiLabelXGBClassifier, label_weight=(2, 2, 2)),
    )


def test_unknown_labels_have_no_weight() -> None:
    labels = Y.astype(float)
    labels[:40, 1] = np.nan
    weights = {"label_weight": [1, 3, 1], "scale_pos_weight": [2, 2, 2], "learning_rate": 0.0}
    start = _proba(MultiLabelXGBClassifier, labels, **weights)[0, 1]
    positive = 2 * Y[40:, 1].sum()
    assert start == pytest.approx(positive / (positive + (1 - Y[40:, 1]).sum()), rel=1e-5)


def test_more_weight_of_positives_finds_more_of_them() -> None:
    plain = _proba(MultiLabelXGBClassifier)
    weighted = _proba(MultiLabelXGBClassifier, scale_pos_weight=[1, 1, 20])
    assert (weighted[:, 2] > 0.5).sum() > (plain[:, 2] > 0.5).sum()
    assert weighted[:, 2].mean() > plain[:, 2].mean() + 0.1


@pytest.mark.parametrize("end_label", [False, True])
def test_chain(end_label: bool) -> None:
    chain = {"chain_length": None, "end_label": end_label, "propagate": "in_sample"}
    plain = _proba(DynamicChainClassifier, **chain)
    for params in ({"label_weight": [1, 9, 1]}, {"scale_pos_weight": [1, 1, 9]}):
        assert (_proba(DynamicChainClassifier, **chain, **params) != plain).any()
    ones = {"label_weight": [1, 1, 1], "scale_pos_weight": [1, 1, 1]}
    np.testing.assert_array_equal(_proba(DynamicChainClassifier, **chain, **ones), plain)


@pytest.mark.parametrize("model", [MultiLabelXGBClassifier, DynamicChainClassifier])
@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "has 2 entries for 3 labels; pass one number, or one per label"),
        ([1, -1, 1], "it must be a number at least 0, or a sequence of one per label"),
        ("high", "it must be a number at least 0, or a sequence"),
    ],
)
def test_bad_weights(model: Any, name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}.*{message}"):
        model(**SMALL, **{name: value}).fit(X, Y)


def test_models_of_one_label() -> None:
    with pytest.raises(ValueError, match="scale_pos_weight must be a number"):
        BinaryRelevance(**SMALL, scale_pos_weight=[1, 2, 3]).fit(X, Y)
    with pytest.raises(ValueError, match="Unknown booster parameter 'label_weight'"):
        BinaryRelevance(**SMALL, label_weight=[1, 2, 3]).fit(X, Y)
