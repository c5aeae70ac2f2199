"""Baselines with XGBoost, compared with XGBoost's estimators for each label."""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.multioutput import ClassifierChain as SklearnChain

from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain, chain_order_of

NAN = np.nan
N_LABELS = 4
X, Y = make_multilabel_classification(
    n_samples=150, n_features=6, n_classes=N_LABELS, n_labels=2, random_state=3
)
X, X_NEW, Y = X[:100].astype(np.float32), X[100:].astype(np.float32), Y[:100]
PARAMS: dict[str, Any] = {"n_estimators": 6, "n_jobs": 1}


def _with_holes(X: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, NAN, X).astype(np.float32)


def _plain_chain(
    X: NDArray[np.float32],
    Y: NDArray[np.floating],
    X_new: NDArray[np.float32],
    order: list[int],
) -> NDArray[np.floating]:
    """A minimal classifier chain: true labels in training, predicted labels in prediction."""
    proba = np.empty((len(X_new), Y.shape[1]))
    for label in order:
        known = ~np.isnan(Y[:, label])
        model = xgb.XGBClassifier(**PARAMS).fit(X[known], Y[known, label])
        proba[:, label] = model.predict_proba(X_new)[:, 1]
        X = np.column_stack((X, Y[:, label]))
        X_new = np.column_stack((X_new, proba[:, label] >= 0.5))
    return proba


@pytest.mark.parametrize("holes", [False, True])
def test_binary_relevance_equals_one_xgboost_per_label(holes: bool) -> None:
    train, new = (_with_holes(X), _with_holes(X_NEW)) if holes else (X, X_NEW)
    expected = [
        xgb.XGBClassifier(**PARAMS).fit(train, Y[:, j]).predict_proba(new)[:, 1]
        for j in range(N_LABELS)
    ]
    found = BinaryRelevance(**PARAMS).fit(train, Y).predict_proba(new)
    np.testing.assert_allclose(found, np.column_stack(expected), rtol=1e-5)


def test_defaults_are_those_of_xgboost() -> None:
    expected = xgb.XGBClassifier(n_jobs=1).fit(X, Y[:, 0]).predict_proba(X_NEW)[:, 1]
    found = BinaryRelevance(n_jobs=1).fit(X, Y[:, 0]).predict_proba(X_NEW)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_chain_equals_scikit_learn() -> None:
    order = [2, 0, 3, 1]
    expected = SklearnChain(xgb.XGBClassifier(**PARAMS), order=order).fit(X, Y)
    found = ClassifierChain(order=order, **PARAMS).fit(X, Y)
    np.testing.assert_allclose(found.predict_proba(X_NEW), expected.predict_proba(X_NEW), rtol=1e-5)
    np.testing.assert_array_equal(found.predict(X_NEW), expected.predict(X_NEW))
    np.testing.assert_array_equal(found.order_, order)


def test_chain_with_missing_values_and_unknown_labels() -> None:
    labels = Y.astype(float)
    labels[np.random.default_rng(0).random(Y.shape) < 0.3] = NAN
    train, new, order = _with_holes(X), _with_holes(X_NEW), [3, 1, 0, 2]
    found = ClassifierChain(order=order, **PARAMS).fit(train, labels).predict_proba(new)
    np.testing.assert_allclose(found, _plain_chain(train, labels, new, order), rtol=1e-5)


@pytest.mark.parametrize("model", [BinaryRelevance, ClassifierChain])
def test_rows_with_an_unknown_label_are_not_used_for_that_label(model: type) -> None:
    labels = np.column_stack((Y[:, 0], Y[:, 1])).astype(float)
    labels[60:, 0] = NAN
    given = {"order": [0, 1]} if model is ClassifierChain else {}
    found = model(**given, **PARAMS).fit(X, labels).predict_proba(X_NEW)[:, 0]
    expected = xgb.XGBClassifier(**PARAMS).fit(X[:60], Y[:60, 0]).predict_proba(X_NEW)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_sparse_chain_distinguishes_stored_zeros_from_missing_values() -> None:
    # The first feature is a stored zero in rows with the label 0, and not stored in the others.
    rows = np.flatnonzero(Y[:, 0] == 0)
    features = sparse.csr_matrix(
        (np.zeros(len(rows), dtype=np.float32), (rows, np.zeros(len(rows), dtype=int))),
        shape=(len(Y), 2),
    )
    chain = ClassifierChain(order=[0, 1], **PARAMS).fit(features, Y[:, :2])
    np.testing.assert_array_equal(chain.predict(features)[:, 0], Y[:, 0])


@pytest.mark.filterwarnings("ignore:Only positives are known")
@pytest.mark.parametrize(
    ("labels", "weight", "frequent", "rare"),
    [
        # Shares of ones: 1/2, 3/4, 1/4, 3/4.
        (
            [[1, 1, 0, 1], [1, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]],
            None,
            [1, 3, 0, 2],
            [2, 0, 1, 3],
        ),
        # Shares among known labels: 1, 1/2, 0.
        ([[1, 1, 0], [NAN, 0, 0], [NAN, 1, 0], [NAN, 0, 0]], None, [0, 1, 2], [2, 1, 0]),
        # Weighted shares: 1/4, 3/4.
        ([[1, 0], [0, 1], [1, 1], [1, 1]], [1, 3, 0, 0], [1, 0], [0, 1]),
    ],
)
def test_order_by_frequency(labels: Any, weight: Any, frequent: list, rare: list) -> None:
    features = np.arange(4.0)[:, np.newaxis]
    for name, order in (("frequent", frequent), ("rare", rare)):
        chain = ClassifierChain(order=name, **PARAMS).fit(features, np.array(labels), weight)
        np.testing.assert_array_equal(chain.order_, order)


def test_random_order_depends_on_the_seed() -> None:
    def order(seed: Any) -> list[int]:
        wide = np.tile(Y, 3)
        chain = ClassifierChain(random_state=seed, n_estimators=1, n_jobs=1).fit(X, wide)
        return chain.order_.tolist()

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(None) == order(0)
    assert order(np.random.RandomState(4)) == order(np.random.RandomState(4))
    assert sorted(order(1)) == list(range(12))


@pytest.mark.parametrize(
    "order", [[0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4], [[0, 1], [2, 3]], ["a", "b", "c", "d"], 3]
)
def test_invalid_order(order: Any) -> None:
    with pytest.raises(ValueError, match="a permutation of the label indices 0 to 3"):
        ClassifierChain(order=order, **PARAMS).fit(X, Y)


def test_unknown_name_of_an_order() -> None:
    with pytest.raises(ValueError, match="order='often': it must be one of 'random', 'frequent'"):
        ClassifierChain(order="often").fit(X, Y)


def test_order_of_a_dynamic_chain() -> None:
    class FakeOrder:
        def rounds(self, n_labels: int) -> NDArray[np.intp]:
            assert n_labels == 3
            return np.array([[3, 1, 2], [4, 2, 1], [4, 4, 1]])

    class FakeChain:
        n_labels_ = 3

        def chain_order(self, X: Any) -> FakeOrder:
            return FakeOrder()

    np.testing.assert_array_equal(chain_order_of(FakeChain(), None), [2, 1, 0])


def test_order_of_a_trained_dynamic_chain() -> None:
    dynamic = DynamicChainClassifier(n_estimators=3, n_jobs=1, chain_length=None).fit(X, Y)
    order = chain_order_of(dynamic, X)
    first = dynamic.chain_order(X).labels
    mean_round = [np.mean([list(row).index(j) for row in first]) for j in range(N_LABELS)]
    assert (np.diff(np.array(mean_round)[order]) >= 0).all()
    chain = ClassifierChain(order=order, **PARAMS).fit(X, Y)
    np.testing.assert_array_equal(chain.order_, order)


def test_order_of_an_unfitted_dynamic_chain() -> None:
    with pytest.raises(NotFittedError):
        chain_order_of(DynamicChainClassifier(), X)


@pytest.mark.parametrize("model", [BinaryRelevance, ClassifierChain])
def test_base_score_is_one_number(model: type) -> None:
    with pytest.raises(ValueError, match="base_score must be a number"):
        model(base_score=[0.5] * N_LABELS).fit(X, Y)


@pytest.mark.parametrize("model", [BinaryRelevance, ClassifierChain])
def test_weights_count_for_all_labels(model: type) -> None:
    weight = np.random.default_rng(0).random(len(X))
    found = model(**PARAMS).fit(X, Y[:, :1], weight).predict_proba(X_NEW)[:, 0]
    expected = xgb.XGBClassifier(**PARAMS).fit(X, Y[:, 0], sample_weight=weight)
    np.testing.assert_allclose(found, expected.predict_proba(X_NEW)[:, 1], rtol=1e-5)


def test_chain_passes_weights_to_later_labels() -> None:
    weight = np.random.default_rng(0).random(len(X))
    found = ClassifierChain(order=[0, 1], **PARAMS).fit(X, Y[:, :2], weight)
    second = xgb.XGBClassifier(**PARAMS).fit(
        np.column_stack((X, Y[:, 0])), Y[:, 1], sample_weight=weight
    )
    expected = second.predict_proba(np.column_stack((X_NEW, found.predict(X_NEW)[:, 0])))[:, 1]
    np.testing.assert_allclose(found.predict_proba(X_NEW)[:, 1], expected, rtol=1e-5)
