"""Sparse features: arrays that do not fit together, and what an entry means that is not stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import xdcc
from xdcc.base.sparse_structure import check_sparse_structure
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain
from xdcc.comparators.rdt import RandomDecisionTreeClassifier


def _set(name: str, at: int, value: int) -> Callable[[Any], None]:
    return lambda matrix: getattr(matrix, name).__setitem__(at, value)


def _replace(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, name, change(getattr(matrix, name)))


DAMAGES = {
    "csr, beyond the last column": (
        "csr",
        _set("indices", 0, 10**6),
        r"entry 0 has the column 1000000, outside 0 to 2\.",
    ),
    "csr, before the first": ("csr", _set("indices", 1, -5), "entry 1 has the column -5, outside"),
    "csc": ("csc", _set("indices", 2, 9), r"entry 2 has the row 9, outside 0 to 2\."),
    "coo, row": ("coo", _set("row", 0, 3), "entry 0 has the row 3, outside 0 to 2"),
    "coo, column": ("coo", _set("col", 1, -1), "entry 1 has the column -1, outside 0 to 2"),
    "too few pointers": (
        "csr",
        _replace("indptr", lambda indptr: indptr[:-1]),
        r"indptr has 3 entries for 3 rows\.",
    ),
    "pointers descend": (
        "csr",
        _set("indptr", 1, 10**6),
        "indptr goes from 1000000 to 2 in row 1; it must begin with 0 and not descend",
    ),
    "pointers begin late": ("csc", _set("indptr", 0, 1), "indptr goes from 1 to 1 in column 0"),
    "pointers end late": ("csr", _set("indptr", 3, 8), "row 2 ends at entry 8, but there are 3"),
    "too few values": (
        "csr",
        _replace("data", lambda data: data[:2]),
        r"row 2 ends at entry 3, but there are 2\.",
    ),
}


@pytest.mark.parametrize(("kind", "damage", "message"), DAMAGES.values(), ids=DAMAGES.keys())
def test_the_message_names_the_entry(kind: str, damage: Any, message: str) -> None:
    matrix = sparse.eye(3, format=kind)
    check_sparse_structure("X", matrix)
    damage(matrix)
    with pytest.raises(ValueError, match=f"X is a broken sparse matrix: {message}"):
        check_sparse_structure("X", matrix)


@pytest.mark.parametrize(
    "name",
    [
        "MultiLabelXGBClassifier",
        "DynamicChainClassifier",
        "BinaryRelevance",
        "RandomDecisionTreeClassifier",
        "SketchedExtraTreesClassifier",
        "LaCovaCClassifier",
        "BoomerClassifier",
        "CTBNClassifier",
    ],
)
def test_estimators_refuse_it(name: str) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(40, 3, 0.5, format="csr", random_state=0)
    Y = (rng.random((40, 2)) < 0.4).astype(float)
    broken = X.copy()
    broken.indices[0] = 10**6
    broken_Y = sparse.csr_matrix(Y)
    broken_Y.indices[0] = 10**6
    estimator = getattr(xdcc, name)()
    for data in ((broken, Y), (X, broken_Y)):
        with pytest.raises(ValueError, match="is a broken sparse matrix: entry 0 has the column"):
            estimator.fit(*data)
    estimator.fit(X, Y)
    with pytest.raises(ValueError, match="X is a broken sparse matrix: entry 0 has the column"):
        estimator.predict(broken)


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
    with pytest.raises(ValueError, match="sparse_zeros='nan': it must be one of 'missing', 'ze"):
        estimator(**SMALL, sparse_zeros="nan").fit(STORED, Y)
