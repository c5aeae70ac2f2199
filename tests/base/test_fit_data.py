"""Input that every multi-label estimator has to refuse, or make sense of, in the same way."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from xdcc.base.features import learn_features
from xdcc.base.labels import check_labels
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain

NAN = np.nan

ESTIMATORS = [
    MultiLabelXGBClassifier(n_estimators=3, n_jobs=1),
    DynamicChainClassifier(n_estimators=3, n_jobs=1),
    BinaryRelevance(n_estimators=3, n_jobs=1),
    ClassifierChain(n_estimators=3, n_jobs=1),
]

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(30, 3))
Y = np.stack((X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 0), axis=1).astype(int)


@pytest.fixture(params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def estimator(request: pytest.FixtureRequest) -> BaseEstimator:
    return clone(request.param)


def _with(matrix: np.ndarray, row: int, column: int, value: Any, dtype: Any = float) -> np.ndarray:
    changed = matrix.astype(dtype)
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("bad_Y", "message"),
    [
        (_with(Y, 4, 1, 2), r"Y holds 2\.0 in row 4 for label 'label_1'.*0, 1 or NaN"),
        (_with(Y, 0, 2, -1), r"Y holds -1\.0 in row 0 for label 'label_2'"),
        (_with(Y, 7, 0, 0.5), r"Y holds 0\.5 in row 7 for label 'label_0'"),
        (_with(Y, 7, 0, 1 + 1e-12), r"row 7 for label 'label_0'"),
        (_with(Y, 3, 1, np.inf), r"Y holds inf in row 3 for label 'label_1'"),
        (_with(Y, 3, 1, "maybe", object), r"Y holds 'maybe' in row 3 for label 'label_1'"),
        (_with(Y, 3, 1, "1.0", object), r"Y holds '1\.0' in row 3 for label 'label_1'"),
        (Y + 0j, r"Unknown label type"),
        (pd.DataFrame(_with(Y, 2, 0, 3), columns=list("abc")), r"3\.0 in row 2 for label 'a'"),
        (sparse.csr_matrix(2 * Y), r"Y holds 2 in row"),
        (Y[:-1], r"inconsistent numbers of samples: \[30, 29\]"),
        (Y[:, :0], r"Y has shape \(30, 0\)"),
        (Y[:, :, np.newaxis], r"Y has shape \(30, 3, 1\)"),
        ([[0, 1], [1]], r"Y cannot be read as a matrix"),
        (None, r"requires y to be passed"),
        (np.full(Y.shape, NAN), r"Y has no known label"),
    ],
)
def test_bad_labels(estimator: BaseEstimator, bad_Y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, bad_Y)


@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (_with(X, 3, 1, np.inf), r"X contains infinity"),
        (_with(X, 3, 1, 1e300), r"X contains infinity or a value too large"),
        (sparse.csr_matrix(_with(X, 3, 1, -np.inf)), r"contains infinity"),
        (X[:0], r"0 sample\(s\)"),
        (X[:, :0], r"0 feature\(s\)"),
        (X[:, 0], r"Expected 2D array"),
        (pd.Series(X[:, 0]), r"Expected a 2-dimensional container"),
        (_with(X, 0, 0, "red", object), r"could not convert string to float: 'red'"),
        (
            pd.DataFrame(X, columns=list("abc")).assign(colour=["red"] * 30),
            r"Column 'colour' of X \(position 3\) has the type (str|object)",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_bad_features(estimator: BaseEstimator, bad_X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(bad_X, Y[: len(Y) if sparse.issparse(bad_X) else len(bad_X)])


def test_no_samples(estimator: BaseEstimator) -> None:
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        estimator.fit(np.empty((0, 3)), np.empty((0, 2)))


@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (X[:, :2], r"X has 2 features, but \w+ is expecting 3 features"),
        (_with(X, 0, 0, np.inf), r"X contains infinity"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_bad_features_at_prediction(
    estimator: BaseEstimator, bad_X: Any, message: str, method: str
) -> None:
    estimator.fit(X, Y)
    with pytest.raises(ValueError, match=message):
        getattr(estimator, method)(bad_X)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_prediction_before_fit(estimator: BaseEstimator, method: str) -> None:
    with pytest.raises(NotFittedError, match=type(estimator).__name__):
        getattr(estimator, method)(X)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(29), r"sample_weight has shape \(29,\); it must be \(30,\)"),
        (
            np.ones((30, 4)),
            r"sample_weight has shape \(30, 4\); .*\(30, 3\), one per row and label",
        ),
        (np.zeros(30), r"sample_weight is zero in every row"),
        (np.r_[np.ones(4), -1, np.ones(25)], r"sample_weight is -1\.0 in row 4"),
        (np.r_[np.ones(29), NAN], r"sample_weight is nan in row 29"),
    ],
)
def test_bad_weights(estimator: BaseEstimator, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y, weight)


@pytest.mark.parametrize("n_estimators", [0, -1, 2.5, True, None, "many"])
def test_bad_number_of_iterations(estimator: BaseEstimator, n_estimators: Any) -> None:
    estimator.set_params(n_estimators=n_estimators)
    with pytest.raises(ValueError, match=r"n_estimators=.* a whole number at least 1"):
        estimator.fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_depth", -1, r"max_depth=-1: it must be a whole number at least 0"),
        ("max_depth", 2.5, r"max_depth=2\.5"),
        ("learning_rate", -0.1, r"learning_rate=-0\.1: it must be a number at least 0"),
        ("learning_rate", NAN, r"learning_rate=nan"),
        ("subsample", 0, r"subsample=0: .* above 0 and at most 1"),
        ("random_state", "seven", r"random_state='seven'"),
        ("random_state", -7, r"random_state=-7"),
        ("n_jobs", 1.5, r"n_jobs=1\.5: it must be a whole number"),
        ("grow_policy", "sideways", r"grow_policy='sideways': .* 'depthwise', 'lossguide'"),
        ("lambda", -1, r"lambda=-1: it must be a number at least 0"),
        ("base_score", 1.0, r"base_score=1\.0: .* above 0 and below 1"),
        ("base_score", [0.5, 0.5], r"base_score (has 2 entries|must be a number)"),
    ],
)
def test_bad_booster_parameter(
    estimator: BaseEstimator, name: str, value: Any, message: str
) -> None:
    estimator.set_params(**{name: value})
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


def test_unknown_booster_parameter(estimator: BaseEstimator) -> None:
    misspelled = type(estimator)(learning_rat=0.1)
    message = r"'learning_rat'\. Did you mean 'learning_rate'"
    with pytest.raises(ValueError, match=message) as caught:
        misspelled.fit(X, Y)
    assert "max_leaves" in str(caught.value)


def test_unknown_parameter_cannot_be_set(estimator: BaseEstimator) -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'learning_rat'"):
        estimator.set_params(learning_rat=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reg_alpha": 1, "alpha": 1}, r"reg_alpha and alpha are the same parameter"),
        ({"learning_rate": 0.1, "eta": 0.2}, r"learning_rate and eta are the same parameter"),
        ({"random_state": 3, "seed": 4}, r"random_state and seed are the same parameter"),
    ],
)
def test_parameter_given_twice(
    estimator: BaseEstimator, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        type(estimator)(**given).fit(X, Y)


def test_native_names_do_the_same(estimator: BaseEstimator) -> None:
    named = {"learning_rate": 0.1, "reg_alpha": 0.5, "random_state": 3, "subsample": 0.5}
    native = {"eta": 0.1, "alpha": 0.5, "seed": 3, "subsample": 0.5}
    first = clone(estimator).set_params(**named).fit(X, Y).predict_proba(X)
    second = clone(estimator).set_params(**native).fit(X, Y).predict_proba(X)
    plain = clone(estimator).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(first, second)
    assert (first != plain).any()


def test_booster_parameters_are_parameters(estimator: BaseEstimator) -> None:
    built = type(estimator)(eta=0.1, max_leaves=4)
    assert built.get_params()["eta"] == 0.1
    copy = clone(built)
    assert copy.get_params() == built.get_params()
    copy.set_params(max_leaves=5, gamma=1.0)
    assert copy.get_params()["max_leaves"] == 5
    assert copy.get_params()["gamma"] == 1.0
    assert built.get_params()["max_leaves"] == 4
    assert "gamma" not in built.get_params()
    assert "max_leaves=4" in repr(built)


def test_fit_changes_no_parameter(estimator: BaseEstimator) -> None:
    estimator.set_params(eta=0.1)
    before = dict(estimator.get_params())
    estimator.fit(X, Y)
    assert estimator.get_params() == before


@pytest.mark.usefixtures("threads")
def test_same_seed_same_model(estimator: BaseEstimator) -> None:
    def fitted(**params: Any) -> np.ndarray:
        params = {"subsample": 0.5, "colsample_bytree": 0.6, **params}
        return clone(estimator).set_params(**params).fit(X, Y).predict_proba(X)

    np.testing.assert_array_equal(fitted(random_state=1), fitted(random_state=1))
    np.testing.assert_array_equal(fitted(random_state=1, n_jobs=2), fitted(random_state=1))
    np.testing.assert_array_equal(fitted(), fitted())
    assert (fitted(random_state=1) != fitted(random_state=2)).any()
    np.testing.assert_array_equal(
        fitted(random_state=np.random.RandomState(5)), fitted(random_state=np.random.RandomState(5))
    )


def test_constant_labels_are_predicted(estimator: BaseEstimator) -> None:
    constant = np.column_stack((np.zeros(30), np.ones(30), Y[:, 0]))
    predicted = estimator.fit(X, constant).predict(X)
    np.testing.assert_array_equal(predicted[:, :2], constant[:, :2])


def test_unknown_labels_in_a_frame_of_floats(estimator: BaseEstimator) -> None:
    labels = np.column_stack((np.where(np.arange(30) % 3 == 0, NAN, Y[:, 0]), Y[:, 1]))
    of_frame = clone(estimator).fit(X, pd.DataFrame(labels)).predict_proba(X)
    np.testing.assert_array_equal(of_frame, estimator.fit(X, labels).predict_proba(X))


def test_constant_among_the_known_rows(estimator: BaseEstimator) -> None:
    labels = np.column_stack((np.where(np.arange(30) % 2, NAN, 1), Y[:, 0]))
    with pytest.warns(UserWarning, match="Only positives are known.*'label_0'.* will be 1"):
        estimator.fit(X, labels)
    np.testing.assert_array_equal(estimator.predict(X)[:, 0], 1)


def test_label_that_is_unknown_everywhere_is_absent(estimator: BaseEstimator) -> None:
    labels = pd.DataFrame({"known": Y[:, 0], "beach": NAN, "sunset": NAN})
    message = r"label 'beach', 'sunset'\. It is taken as absent"
    with pytest.warns(UserWarning, match=message) as caught:
        estimator.fit(X, labels)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(estimator.predict(X)[:, 1:], 0)


def test_label_that_is_unknown_in_all_rows_that_count_is_absent(estimator: BaseEstimator) -> None:
    labels = np.column_stack((Y[:, 0], np.where(np.arange(30) < 20, NAN, 1)))
    with pytest.warns(UserWarning, match="label 'label_1'"):
        estimator.fit(X, labels, np.r_[np.ones(20), np.zeros(10)])
    np.testing.assert_array_equal(estimator.predict(X)[:, 1], 0)


@pytest.mark.parametrize("constant", [0, 1])
def test_label_that_is_constant_in_all_rows_that_count(
    estimator: BaseEstimator, constant: int
) -> None:
    labels = np.column_stack((Y[:, 0], np.where(np.arange(30) < 20, constant, 1 - constant)))
    proba = estimator.fit(X, labels, np.r_[np.ones(20), np.zeros(10)]).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], constant, atol=1e-4)


def test_some_unknown_labels_are_filled_in(estimator: BaseEstimator) -> None:
    labels = Y.astype(float)
    labels[::5, 1] = NAN
    estimator.set_params(n_estimators=20).fit(X, labels)
    assert (estimator.predict(X) == Y).mean() > 0.9


@pytest.mark.parametrize("single", [Y[:, 0], Y[:, :1], pd.Series(Y[:, 0], name="first")])
def test_single_label(estimator: BaseEstimator, single: Any) -> None:
    estimator.fit(X, single)
    assert estimator.n_labels_ == 1
    assert estimator.predict(X).shape == np.shape(single)
    assert estimator.predict_proba(X).shape == (30, 3 - np.ndim(single))
    assert (estimator.predict(X).ravel() == Y[:, 0]).mean() > 0.9
    assert list(estimator.label_names_) == ["first" if isinstance(single, pd.Series) else "label_0"]


def test_forms_of_X_and_Y_give_the_same_model(estimator: BaseEstimator) -> None:
    expected = clone(estimator).fit(X, Y).predict_proba(X)
    for other_X, other_Y in (
        (X.tolist(), Y.tolist()),
        (np.asfortranarray(X), Y.astype(bool)),
        (X.astype(object), Y.astype(object)),
        (pd.DataFrame(X), pd.DataFrame(Y)),
        (X, sparse.csr_matrix(Y)),
        (X, pd.DataFrame(Y).astype("Int64")),
        (X, pd.DataFrame(Y).astype(float)),
        (X, pd.DataFrame(Y).astype("category")),
    ):
        found = clone(estimator).fit(other_X, other_Y).predict_proba(other_X)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_X_is_dense_X_with_missing_values(estimator: BaseEstimator, form: Any) -> None:
    holes = np.where(np.arange(X.size).reshape(X.shape) % 3 == 0, 0, X)
    holes_as_nan = np.where(holes == 0, NAN, holes)
    predicted = clone(estimator).fit(form(holes), Y).predict_proba(form(holes))
    expected = clone(estimator).fit(holes_as_nan, Y).predict_proba(holes_as_nan)
    np.testing.assert_allclose(predicted, expected, rtol=1e-6)


def test_duplicates_in_sparse_X_are_added_up(estimator: BaseEstimator) -> None:
    # scikit-learn adds them up only when it has to change the type.
    once = sparse.csr_matrix(X.astype(np.float32))
    twice = sparse.csr_matrix(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), once.indptr * 2), shape=X.shape
    )
    expected = clone(estimator).fit(once, Y).predict_proba(once)
    fitted = clone(estimator).fit(twice, Y)
    for form in (once, twice):
        np.testing.assert_allclose(fitted.predict_proba(form), expected, rtol=1e-5)
    assert twice.nnz == 2 * once.nnz


def test_names_are_kept(estimator: BaseEstimator) -> None:
    frame = pd.DataFrame(X, columns=["age", "height [m]", "a < b"])
    labels = pd.DataFrame(Y, columns=["beach", "sun[set]", 7])
    estimator.fit(frame, labels)
    assert list(estimator.feature_names_in_) == ["age", "height [m]", "a < b"]
    assert list(estimator.label_names_) == ["beach", "sun[set]", "7"]
    assert estimator.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict(frame.rename(columns={"age": "years"}))


def test_missing_values_may_appear_at_prediction(estimator: BaseEstimator) -> None:
    estimator.fit(X, Y)
    assert np.isfinite(estimator.predict_proba(np.full((2, 3), NAN))).all()


def test_input_is_not_changed(estimator: BaseEstimator) -> None:
    features, labels = X.astype(np.float32), Y.astype(np.float32)
    features[0, 0] = labels[0, 0] = NAN
    features_before, labels_before = features.copy(), labels.copy()
    estimator.fit(features, labels).predict(features)
    np.testing.assert_array_equal(features, features_before)
    np.testing.assert_array_equal(labels, labels_before)


def test_weight_zero_is_as_if_absent(estimator: BaseEstimator) -> None:
    weight = np.r_[np.ones(20), np.zeros(10)]
    labels = Y.copy()
    labels[20:] = 1 - labels[20:]
    weighted = clone(estimator).fit(X, labels, weight).predict_proba(X)
    without = clone(estimator).fit(X[:20], labels[:20]).predict_proba(X)
    np.testing.assert_allclose(weighted, without, rtol=1e-5)


def test_score_is_subset_accuracy(estimator: BaseEstimator) -> None:
    estimator.fit(X, Y)
    matches = (estimator.predict(X) == Y).all(axis=1).mean()
    assert estimator.score(X, Y) == pytest.approx(matches)


def test_good_input_gives_no_warning(estimator: BaseEstimator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(X, Y).predict(X)


def test_labels_come_back_as_a_copy() -> None:
    labels = Y.astype(np.float32)
    checked = check_labels(labels).Y
    assert not np.shares_memory(checked, labels)


def test_none_and_NA_are_unknown() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype="Int64"), "b": [None, 1, 0]})
    found = check_labels(frame)
    checked, names = found.Y, found.output_form.names
    np.testing.assert_array_equal(checked, [[1, NAN], [NAN, 1], [0, 0]])
    assert list(names) == ["a", "b"]


def test_features_are_float32_and_row_major() -> None:
    _, checked = learn_features(np.asfortranarray(X), "Model")
    assert checked.dtype == np.float32
    assert checked.flags.c_contiguous
