"""Labels: sparse and wide matrices, frequencies, and the scores that classifiers give.

Sparse and wide label matrices are read as dense ones are, without a dense copy of another type.
Frequencies are those by hand. Scores come from every form in which scikit-learn's classifiers give
them.
"""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import collective

from xdcc import metrics
from xdcc.base import label_rows
from xdcc.base.checks import check_fit_data
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import check_labels, label_frequency, label_scores
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain

NAN = np.nan
LABELS = np.array([[0, 1, 0], [NAN, 0, 0], [1, 0, NAN], [0, 0, 0], [1, 1, 1.0]])
KNOWN = np.nan_to_num(LABELS)
NAMES = ["beach", "sunset", "7"]

SPARSE_FORMS = [
    sparse.csr_matrix,
    sparse.csr_array,
    sparse.csc_array,
    sparse.coo_matrix,
    sparse.coo_array,
    sparse.lil_array,
    sparse.dok_array,
    sparse.dia_array,
    sparse.bsr_array,
]

N_SAMPLES, N_LABELS = 20_000, 1_000
LABEL_MATRIX_BYTES = 4 * N_SAMPLES * N_LABELS
SMALL_BYTES = LABEL_MATRIX_BYTES // 8
"""Room for blocks and sparse matrices: half of a byte for each label."""


@pytest.fixture(params=[3, 4, 2**18])
def entries_of_a_block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row, and all rows in one block."""
    monkeypatch.setattr(label_rows, "_BLOCK_ENTRIES", request.param)


def _wide(seed: int, dtype: Any = np.float32) -> sparse.csr_array:
    """20,000 x 1,000 labels, 0.2 % of them positive."""
    n_positive = N_SAMPLES * N_LABELS // 500
    drawn = np.random.default_rng(seed).choice(N_SAMPLES * N_LABELS, n_positive, replace=False)
    rows, columns = np.divmod(drawn, N_LABELS)
    positive = np.ones(n_positive, dtype=dtype)
    return sparse.csr_array((positive, (rows, columns)), shape=(N_SAMPLES, N_LABELS))


def _peak(call: Callable[[], object]) -> int:
    """Most bytes that a call allocated at once, its result included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [((5, 2), [2, 2, 1]), ((4, 2), [2, 2]), ((2, 9), [1, 1]), ((0, 3), []), ((4, 0), [4])],
)
def test_row_blocks(
    shape: tuple[int, int], lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_rows, "_BLOCK_ENTRIES", 5)
    blocks = [list(range(shape[0]))[rows] for rows in row_blocks(shape)]
    assert [len(block) for block in blocks] == lengths
    assert [row for block in blocks for row in block] == list(range(shape[0]))


@pytest.mark.usefixtures("entries_of_a_block")
@pytest.mark.parametrize("form", SPARSE_FORMS)
def test_sparse_forms_are_read_like_dense_labels(form: Any) -> None:
    found = check_labels(form(LABELS))
    checked, names = found.Y, found.output_form.names
    np.testing.assert_array_equal(checked, LABELS)
    assert checked.dtype == np.float32
    assert list(names) == ["label_0", "label_1", "label_2"]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_types_of_labels(dtype: Any, form: Any) -> None:
    checked = check_labels(form(KNOWN.astype(dtype))).Y
    np.testing.assert_array_equal(checked, KNOWN)
    assert checked.dtype == np.float32


def test_one_dimension_of_a_sparse_array() -> None:
    checked = check_labels(sparse.coo_array(KNOWN[:, 0])).Y
    np.testing.assert_array_equal(checked, KNOWN[:, :1])


def test_sparse_labels_are_not_changed() -> None:
    labels = sparse.csr_array(LABELS)
    before = labels.copy()
    BinaryRelevance(n_estimators=1).fit(np.eye(5), labels)
    np.testing.assert_array_equal(labels.data, before.data)
    np.testing.assert_array_equal(labels.indices, before.indices)


@pytest.mark.usefixtures("entries_of_a_block")
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(LABELS), columns=NAMES),
        pd.DataFrame(LABELS, columns=NAMES).astype(pd.SparseDtype(np.float32, 0)),
        # Entries that these columns do not store are unknown.
        pd.DataFrame(LABELS, columns=NAMES).astype(pd.SparseDtype(float, NAN)),
        # No sparse matrix has both.
        pd.DataFrame(LABELS, columns=NAMES).astype({"sunset": pd.SparseDtype(bool, False)}),
        pd.DataFrame(LABELS, columns=NAMES).astype({"sunset": pd.SparseDtype(int, 0)}),
        pd.DataFrame(LABELS, columns=NAMES).astype({"sunset": bool, "7": "Int8"}),
        pd.DataFrame(LABELS, columns=NAMES).astype({"sunset": object, "7": "category"}),
    ],
    ids=["spmatrix", "fill_zero", "fill_nan", "sparse_bool", "sparse_int", "nullable", "objects"],
)
def test_frames(frame: pd.DataFrame) -> None:
    found = check_labels(frame)
    checked, names = found.Y, found.output_form.names
    np.testing.assert_array_equal(checked, LABELS)
    assert list(names) == NAMES


@pytest.mark.usefixtures("entries_of_a_block")
@pytest.mark.parametrize(
    ("bad_Y", "message"),
    [
        (sparse.coo_array(([2.0], ([4], [1])), shape=(5, 3)), r"Y holds 2\.0 in row 4 .*'label_1'"),
        (sparse.csc_array(np.array([[0, 1], [0, -1]])), r"Y holds -1 in row 1 .*'label_1'"),
        # Entries of the same place are added up.
        (sparse.coo_array(([1, 1], ([3, 3], [2, 2])), shape=(5, 3)), r"Y holds 2 in row 3"),
        (sparse.csr_array(np.array([[1j, 0]])), r"Unknown label type: Y holds 1j"),
        (sparse.csr_array((5, 0)), r"Y has shape \(5, 0\)"),
        (sparse.coo_array(np.zeros((2, 2, 2))), r"Y has shape \(2, 2, 2\)"),
        (
            pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(3 * KNOWN), columns=NAMES),
            r"Y holds 3\.0 in row 0 for label 'sunset'",
        ),
        (
            pd.DataFrame({"a": [0, 1], "b": ["ill", None]}),
            r"Y holds 'ill' in row 0 for label 'b', but a label is 0, 1 or NaN \(unknown\), or one "
            r"of the words yes/no, .*\. The column has the values 'ill'; column == value is a la",
        ),
        (
            pd.DataFrame({"a": pd.Categorical(["low", "high", None, "mid"])}),
            "Y holds 'low' in row 0 for label 'a', .* has the classes 'low', 'high', 'mid'. "
            "MultiClassXGBClassifier predicts one of several classes; pandas.get_dummies makes",
        ),
        (np.array([list("abcdefg")]).T, "classes 'a', 'b', 'c', 'd', 'e' and others. MultiClass"),
        (sparse.csr_array([[0], [2], [1]]), "has the classes 0, 2, 1. MultiClassXGBClassifier"),
        (np.array([[1.0], [2.5]]), "Y holds 2.5 in row 1 .* MultiTargetXGBRegressor predicts num"),
        (
            pd.DataFrame(np.eye(4), columns=["b", 7, "b", "7"]),
            "Y has several columns named 'b', '7'. Each label needs a name of its own: rename or",
        ),
        (["a", "b", "c"], "multiclass: y has the classes 'a', 'b', 'c'. MultiClassXGBClassifier"),
        (pd.Series([0, 1, 2], name="grade"), "Only binary .* 'grade' has the classes 0, 1, 2. Mul"),
        (pd.DataFrame({"a": pd.array([0, 5], dtype="Int64")}), r"Y holds 5 in row 1"),
    ],
)
def test_bad_labels(bad_Y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_labels(bad_Y)


WORDS = [["yes", "F"], [None, "n"], ["T", "0"], ["no", "FALSE"], ["True", "1"]]
OF_WORDS = [[1, 0], [NAN, 0], [1, 0], [0, 0], [1, 1]]


@pytest.mark.usefixtures("entries_of_a_block")
@pytest.mark.parametrize(
    "form",
    [
        np.array,
        pd.DataFrame,
        lambda Y: pd.DataFrame(Y).astype("string"),
        lambda Y: pd.DataFrame(Y).astype("category"),
        lambda Y: pd.DataFrame({"numbers": [1, NAN, 1, 0, 1], "words": [row[1] for row in Y]}),
    ],
)
def test_words_are_labels(form: Any) -> None:
    np.testing.assert_array_equal(check_labels(form(WORDS)).Y, OF_WORDS)


def test_words_in_fit_score_and_metrics() -> None:
    words = np.where(SCORED_Y, "Yes", "No")
    model = MultiLabelXGBClassifier(n_estimators=2, n_jobs=1).fit(SCORED_X, words)
    found = model.predict(SCORED_X)
    np.testing.assert_array_equal(found, clone(model).fit(SCORED_X, SCORED_Y).predict(SCORED_X))
    assert model.score(SCORED_X, words) == model.score(SCORED_X, SCORED_Y)
    assert metrics.hamming_loss(words, found) == metrics.hamming_loss(SCORED_Y, found)
    assert metrics.hamming_loss(SCORED_Y, words) == 0
    with pytest.raises(ValueError, match="Y_score must be a matrix of finite numbers, but"):
        metrics.coverage_error(SCORED_Y, words)


def test_lists_of_words_are_a_matrix_if_one_is_repeated() -> None:
    found = check_labels([["yes", "no", "no"], ["no", "yes", "no"]])
    np.testing.assert_array_equal(found.Y, [[1, 0, 0], [0, 1, 0]])
    assert list(found.output_form.names) == ["label_0", "label_1", "label_2"]
    assert list(check_labels([["1", "0"], ["0"]]).output_form.names) == ["0", "1"]


@pytest.mark.usefixtures("entries_of_a_block")
def test_labels_known_in_one_block_only() -> None:
    labels = np.array([[NAN, NAN, 1], [NAN, 0, NAN], [1, NAN, NAN]])
    with pytest.warns(UserWarning, match="row that counts: label 'label_0'"):
        check_fit_data(BinaryRelevance(), np.eye(3), sparse.csr_array(labels), [1, 1, 0])
    data = check_fit_data(BinaryRelevance(), np.eye(3), sparse.csr_array(labels))
    np.testing.assert_array_equal(data.Y, labels)


@pytest.mark.usefixtures("entries_of_a_block")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_measures_of_blocks(form: Any) -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice([0, 1, NAN], size=(20, 3))
    truth[7] = NAN
    predicted = rng.choice([0, 1], size=(20, 3))
    weight = rng.integers(0, 3, 20)
    found = metrics.evaluate(form(truth), form(predicted), sample_weight=weight)
    # In one block, without rows that do not count and with as many of each as it counts.
    repeated = np.repeat(np.arange(20), weight)
    assert found == pytest.approx(metrics.evaluate(truth[repeated], predicted[repeated]))


@pytest.mark.usefixtures("entries_of_a_block")
def test_measures_of_perfect_predictions_are_exact() -> None:
    rng = np.random.default_rng(0)
    truth, weight = rng.integers(0, 2, (300, 3)), rng.random(300)
    found = metrics.evaluate(sparse.csr_array(truth), truth, sample_weight=weight)
    assert found == {name: float("loss" not in name) for name in found}


@pytest.mark.usefixtures("entries_of_a_block")
def test_bad_values_of_measures_in_a_later_block() -> None:
    with pytest.raises(ValueError, match=r"Y_true\[4, 1\] is 2, must be 0, 1 or NaN"):
        metrics.hamming_loss(sparse.csr_array(([2], ([4], [1])), shape=(5, 3)), KNOWN)
    with pytest.raises(ValueError, match=r"Y_pred\[1, 0\] is nan, must be 0 or 1"):
        metrics.hamming_loss(KNOWN, sparse.csr_array(LABELS))
    with pytest.raises(ValueError, match=r"matrix of the numbers 0 and 1, but Y_pred\[4, 2\] is"):
        metrics.hamming_loss(KNOWN, np.where(np.arange(15).reshape(5, 3) < 14, 0, None))
    with pytest.raises(ValueError, match="no known label in a sample of positive weight"):
        metrics.hamming_loss(LABELS, KNOWN, sample_weight=np.zeros(5))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32, np.float64])
def test_memory_of_sparse_labels(form: Any, dtype: Any) -> None:
    labels = form(_wide(0, dtype))
    peak = _peak(lambda: check_fit_data(BinaryRelevance(), np.zeros((N_SAMPLES, 1)), labels))
    assert peak < LABEL_MATRIX_BYTES + SMALL_BYTES


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_memory_of_dense_labels(dtype: Any) -> None:
    labels = _wide(0).toarray().astype(dtype)
    peak = _peak(lambda: check_labels(labels))
    assert peak < LABEL_MATRIX_BYTES + SMALL_BYTES


def test_memory_of_fit() -> None:
    labels = _wide(0)[:5_000]
    model = MultiLabelXGBClassifier(n_estimators=1, max_depth=1, n_jobs=1)
    peak = _peak(lambda: model.fit(np.arange(5_000)[:, np.newaxis], labels))
    assert peak < 1.5 * LABEL_MATRIX_BYTES / 4


def test_memory_of_measures() -> None:
    truth, predicted = _wide(0), _wide(1)
    assert _peak(lambda: metrics.example_f1(truth, predicted)) < SMALL_BYTES
    assert _peak(lambda: metrics.macro_f1(truth, predicted)) < SMALL_BYTES


WIDE = [
    MultiLabelXGBClassifier(n_estimators=2, max_depth=2, n_jobs=1),
    DynamicChainClassifier(chain_length=3, n_estimators=2, max_depth=2, n_jobs=1),
]
ONE_MODEL_PER_LABEL = [
    BinaryRelevance(n_estimators=1, max_depth=1, n_jobs=1),
    ClassifierChain(n_estimators=1, max_depth=1, n_jobs=1, order="frequent"),
]


def _name(estimator: BaseEstimator) -> str:
    return type(estimator).__name__


def _groups(n_labels: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """500 rows of four groups; a tenth of the labels say which group, the others are rare."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 500)
    X = np.eye(4, dtype=np.float32)[group] + rng.normal(scale=0.1, size=(500, 4)).astype(np.float32)
    Y = (rng.random((500, n_labels)) < 0.002).astype(np.float32)
    telling = np.arange(0, n_labels, 10)
    Y[:, telling] = group[:, np.newaxis] == telling // 10 % 4
    return X, Y


@pytest.mark.parametrize("estimator", WIDE, ids=_name)
def test_thousand_labels(estimator: BaseEstimator) -> None:
    X, Y = _groups(1_000)
    of_dense = clone(estimator).fit(X, Y)
    of_sparse = clone(estimator).fit(X, sparse.csr_array(Y))
    assert of_sparse.n_labels_ == 1_000
    np.testing.assert_array_equal(of_sparse.predict_proba(X), of_dense.predict_proba(X))
    predicted = sparse.csr_array(of_sparse.predict(X))
    assert predicted.shape == Y.shape
    assert metrics.micro_f1(sparse.csr_array(Y), predicted) > 0.9


@pytest.mark.parametrize("estimator", [*WIDE, *ONE_MODEL_PER_LABEL], ids=_name)
@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csc_array, pd.DataFrame.sparse.from_spmatrix]
)
def test_unknown_entries_of_sparse_labels(estimator: BaseEstimator, form: Any) -> None:
    X, Y = _groups(20)
    Y[::3, ::10] = NAN
    found = clone(estimator).fit(X, form(sparse.csr_matrix(Y))).predict_proba(X)
    np.testing.assert_array_equal(found, clone(estimator).fit(X, Y).predict_proba(X))
    assert (found != clone(estimator).fit(X, np.nan_to_num(Y)).predict_proba(X)).any()


FEW = np.array([[1, 0, NAN], [1, NAN, NAN], [0, 1, NAN], [0, 0, NAN]])


def test_unknown_entries_do_not_count() -> None:
    np.testing.assert_allclose(label_frequency(FEW, empty=0.5), [1 / 2, 1 / 3, 0.5])


def test_weights() -> None:
    weight = np.array([3.0, 1.0, 0.0, 4.0])
    np.testing.assert_allclose(label_frequency(FEW, weight, empty=0), [4 / 8, 0, 0])


def test_only_some_entries_count() -> None:
    where = np.array([[True, False, True], [False, True, True], [True, True, True], [False] * 3])
    np.testing.assert_allclose(label_frequency(FEW, where=where, empty=0.25), [1 / 2, 1, 0.25])


def test_workers_that_train_together_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.array([3.0, 1.0, 0.5, 4.0])
    sent = []
    monkeypatch.setattr(collective, "is_distributed", lambda: True)
    monkeypatch.setattr(collective, "allreduce", lambda sums, op: sent.append(sums) or sums)
    label_frequency(FEW[:1], weight[:1], empty=0)
    monkeypatch.setattr(collective, "allreduce", lambda sums, op: sums + sent[0])
    together = label_frequency(FEW[1:], weight[1:], empty=0.25)
    monkeypatch.undo()
    np.testing.assert_allclose(together, label_frequency(FEW, weight, empty=0.25))
    np.testing.assert_allclose(together, [4 / 8.5, 0.5 / 7.5, 0.25])


_RANDOM = np.random.default_rng(0)
SCORED_X = _RANDOM.normal(size=(60, 3))
SCORED_Y = (SCORED_X + 0.3 * _RANDOM.normal(size=SCORED_X.shape) > 0).astype(int)
LOGISTIC = LogisticRegression()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        MultiOutputClassifier(LOGISTIC),
        make_pipeline(
            StandardScaler(with_mean=False, with_std=False), OneVsRestClassifier(LOGISTIC)
        ),
    ],
    ids=["list of arrays", "one array"],
)
def test_binary_relevance_is_one_logistic_regression_per_label(estimator, n_labels):
    fitted = estimator.fit(SCORED_X, SCORED_Y[:, :n_labels])
    expected = [
        LOGISTIC.fit(SCORED_X, SCORED_Y[:, j]).predict_proba(SCORED_X)[:, 1]
        for j in range(n_labels)
    ]
    np.testing.assert_allclose(label_scores(fitted, SCORED_X, n_labels), np.transpose(expected))


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=3),
        ScikitChain(LOGISTIC),
        MLPClassifier((2,), max_iter=500, tol=0.1, random_state=0),
    ],
)
def test_a_score_of_half_divides_what_is_predicted(estimator):
    fitted = estimator.fit(SCORED_X, SCORED_Y)
    scores = label_scores(fitted, SCORED_X, 3)
    assert scores.shape == SCORED_Y.shape
    clear = scores != 0.5
    np.testing.assert_array_equal((scores > 0.5)[clear], (fitted.predict(SCORED_X) == 1)[clear])


@pytest.mark.parametrize("estimator", [OneVsRestClassifier(LinearSVC()), RidgeClassifier()])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_decision_function(estimator, n_labels):
    labels = SCORED_Y[:, 0] if n_labels == 1 else SCORED_Y
    fitted = estimator.fit(SCORED_X, labels)
    scores = label_scores(fitted, SCORED_X, n_labels)
    assert scores.shape == (60, n_labels)
    np.testing.assert_array_equal(scores > 0, fitted.predict(SCORED_X).reshape(scores.shape))


@pytest.mark.parametrize(("labels", "of_one"), [([0, 0, 1], 1 / 3), ([0, 0, 0], 0), ([1, 1, 1], 1)])
def test_a_single_label_with_one_class_or_two(labels, of_one):
    fitted = DummyClassifier(strategy="prior").fit(SCORED_X[:3], labels)
    np.testing.assert_allclose(label_scores(fitted, SCORED_X, 1), np.full((60, 1), of_one))
    both = DummyClassifier(strategy="prior").fit(SCORED_X[:3], np.column_stack([labels, [0, 1, 0]]))
    np.testing.assert_allclose(label_scores(both, SCORED_X, 2), [[of_one, 1 / 3]] * 60)


def test_a_classifier_without_scores_is_refused():
    class Stubborn:
        def predict(self, X):
            return np.zeros((len(X), 3))

    with pytest.raises(AttributeError, match="Stubborn has neither predict_proba nor decision"):
        label_scores(Stubborn(), SCORED_X, 3)


def test_another_number_of_labels_is_refused():
    fitted = DecisionTreeClassifier().fit(SCORED_X, SCORED_Y)
    with pytest.raises(ValueError, match=r"shape \(60, 3\); expected \(n_samples, 4\)"):
        label_scores(fitted, SCORED_X, 4)
