"""What an entry means that a sparse X does not store."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from xdcc.baselines import BinaryRelevance, ClassifierChain
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.rdt import RandomDecisionTreeClassifier

X, Y = make_multilabel_classification(
    n_samples=100, n_features=6, n_classes=3, n_labels=2, random_state=0
)
X = np.where(X > 4, X, 0.0)
STORED = sparse.csr_matrix(X)
MISSING = np.where(X == 0, np.nan, X)
SMALL: dict[str, Any] = {"n_estimators": 3, "n_jobs": 1}

estimators = pytest.mark.parametrize(
    "estimator",
    [MultiLabelXGBClassifier, DynamicChainClassifier, BinaryRelevance, ClassifierChain],
)


@estimators
def test_zero_is_the_dense_x(estimator: Any) -> None:
    expected = estimator(**SMALL).fit(X, Y).predict_proba(X)
    for features in (X, STORED, sparse.coo_array(X)):
        model = estimator(**SMALL, sparse_zeros="zero").fit(features, Y)
        assert not model.sparse_X_
        for new in (X, STORED, sparse.csc_matrix(X)):
            np.testing.assert_array_equal(model.predict_proba(new), expected)


@estimators
def test_missing_is_nan(estimator: Any) -> None:
    model = estimator(**SMALL).fit(STORED, Y)
    assert model.sparse_X_
    expected = estimator(**SMALL).fit(MISSING, Y).predict_proba(MISSING)
    np.testing.assert_allclose(model.predict_proba(STORED), expected, atol=1e-6)
    assert (model.predict_proba(STORED) != estimator(**SMALL).fit(X, Y).predict_proba(X)).any()


@estimators
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_missing_is_not_mixed(estimator: Any, method: str) -> None:
    rest = (Y,) if method == "score" else ()
    dense, stored = (estimator(**SMALL).fit(features, Y) for features in (X, STORED))
    with pytest.raises(ValueError, match=r"X is sparse, but in fit it was dense\. .*='zero'"):
        getattr(dense, method)(STORED, *rest)
    with pytest.raises(ValueError, match=r"X is dense, but in fit it was sparse\. .*='zero'"):
        getattr(stored, method)(X, *rest)


def test_validation_data_too() -> None:
    with pytest.raises(ValueError, match="X is sparse, but in fit it was dense"):
        MultiLabelXGBClassifier(**SMALL).fit(X, Y, eval_set=[(STORED, Y)])
    model = MultiLabelXGBClassifier(**SMALL, sparse_zeros="zero")
    model.fit(X, Y, eval_set=[(STORED, Y), (X, Y)])
    assert model.evals_result_["validation_0"] == model.evals_result_["validation_1"]


def test_with_another_base_learner_zeros_are_its_own_affair() -> None:
    model = BinaryRelevance(estimator=LogisticRegression()).fit(X, Y)
    assert not hasattr(model, "sparse_X_")
    np.testing.assert_allclose(model.predict_proba(STORED), model.predict_proba(X))
    with pytest.raises(ValueError, match="sparse_zeros='zero' is a parameter of XGBoost"):
        BinaryRelevance(estimator=LogisticRegression(), sparse_zeros="zero").fit(X, Y)


def test_methods_of_the_package_take_zeros() -> None:
    model = RandomDecisionTreeClassifier(n_estimators=5, random_state=0, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(STORED), model.predict_proba(X))


@estimators
def test_unknown_meaning(estimator: Any) -> None:
    with pytest.raises(ValueError, match="sparse_zeros='nan': it has to be one of 'missing', 'ze"):
        estimator(**SMALL, sparse_zeros="nan").fit(STORED, Y)
