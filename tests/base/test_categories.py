"""Categorical columns against stock XGBoost, which encodes a frame's categories by itself."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.base import BaseEstimator

from xdcc.base.categories import categorical_mask, category_values
from xdcc.base.checks import check_fit_data
from xdcc.base.features import learn_features
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.boosting import classifier as boosting_classifier
from xdcc.chain import DynamicChainClassifier, training
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain

NAN = np.nan
N_ROWS = 200
PARAMS: dict[str, Any] = {"n_estimators": 5, "n_jobs": 1, "max_depth": 3}
STOCK: dict[str, Any] = {**PARAMS, "tree_method": "hist", "enable_categorical": True}

_RNG = np.random.default_rng(1)
_COLOUR = _RNG.choice(["blue", "green", "red", "white", "yellow"], N_ROWS)
_SIZE = _RNG.choice([1, 2, 5], N_ROWS)
_HEIGHT = _RNG.normal(size=N_ROWS)
Y = np.stack(
    (
        np.isin(_COLOUR, ["green", "yellow"]),
        (_SIZE == 2) ^ (_HEIGHT > 0),
        (_HEIGHT > 0.5) | (_COLOUR == "red"),
    ),
    axis=1,
).astype(int)
TYPES = ["c", "q", "c", "q", "q"]


def _frame() -> pd.DataFrame:
    """Two categorical columns (one with numbers for values), and numbers of several types."""
    rows = np.arange(N_ROWS)
    return pd.DataFrame(
        {
            "colour": pd.Categorical(np.where(rows % 11 == 0, None, _COLOUR)),
            "height": np.where(rows % 7 == 0, NAN, _HEIGHT),
            "size": pd.Categorical(_SIZE),
            "tall": _HEIGHT > 1,
            "count": pd.array(np.where(rows % 5 == 0, None, rows % 4), dtype="Int64"),
        }
    )


FRAME = _frame()
TRAIN, NEW, Y_TRAIN = FRAME[:150], FRAME[150:], Y[:150]


class _NumbersOnly(BinaryRelevance):
    _takes_categories = False


def test_codes_by_hand() -> None:
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(["y", None, "x", "y"], categories=["unused", "y", "x"]),
            "b": [0.5, NAN, 1.0, 2.0],
            "c": pd.Categorical([20, 10, 10, 20]),
        }
    )
    form, codes = learn_features(frame, "Model", takes_categories=True)
    np.testing.assert_array_equal(
        codes, np.float32([[0, 0.5, 1], [NAN, NAN, 0], [1, 1, 0], [0, 2, 1]])
    )
    assert codes.dtype == np.float32
    assert form.categories is not None
    assert {p: list(values) for p, values in form.categories.items()} == {
        0: ["y", "x"],
        2: [10, 20],
    }
    assert form.feature_types == ["c", "q", "c"]
    assert isinstance(frame["a"].dtype, pd.CategoricalDtype)


def test_codes_at_prediction_by_hand() -> None:
    form = _form_of(a=pd.Categorical(["x", "y", "z"]))
    other = pd.DataFrame(
        {"a": pd.Categorical(["z", "new", None, "x"], categories=["z", "new", "x"])}
    )
    with pytest.warns(UserWarning, match="not occur in fit, in column 'a' of X"):
        codes = form.check(other, "Model")
    np.testing.assert_array_equal(codes[:, 0], [2, NAN, NAN, 0])


def _form_of(**columns: Any) -> InputForm:
    return learn_features(pd.DataFrame(columns), "Model", takes_categories=True)[0]


def test_a_row_as_it_comes_from_json() -> None:
    form = _form_of(
        city=pd.Categorical(["Bonn", "Ulm", None]),
        size=pd.Categorical([20, 10, 10]),
        open=pd.Categorical([True, False, True]),
        height=[0.5, 1.0, 2.0],
        tall=[True, False, True],
    )
    rows = [
        '{"city": "Ulm", "size": 20, "open": true, "height": 2, "tall": true}',
        '{"city": "Bonn", "size": null, "open": false, "height": null, "tall": null}',
        '{"city": null, "size": 10, "open": null, "height": 1.5, "tall": false}',
    ]
    expected = np.float32([[1, 1, 1, 2, 1], [0, NAN, 0, NAN, NAN], [NAN, 0, NAN, 1.5, 0]])
    for text, codes in zip(rows, expected, strict=True):
        row = pd.DataFrame([json.loads(text)])
        np.testing.assert_array_equal(form.check(row, "Model"), [codes])
    together = pd.DataFrame([json.loads(text) for text in rows])
    np.testing.assert_array_equal(form.check(together, "Model"), expected)


def test_text_is_read_as_the_category_of_that_name(estimator: BaseEstimator) -> None:
    estimator.fit(TRAIN, Y_TRAIN)
    text = NEW.assign(colour=NEW["colour"].astype(object), size=NEW["size"].astype(int))
    np.testing.assert_array_equal(estimator.predict_proba(text), estimator.predict_proba(NEW))


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_few_rows_are_read_as_many(kind: Any) -> None:
    form = _form_of(a=pd.Categorical(["x", "y", 3, None]))
    values = ["y", None, "x", "new", "y", "3"]
    if kind != "string":
        values += [3, 3.0]
    frame = pd.DataFrame({"a": pd.Series(values * 10, dtype=kind)})
    of_many = form.check(frame, "Model")[: len(values), 0]
    for row, code in enumerate(of_many):
        np.testing.assert_array_equal(form.check(frame[row : row + 1], "Model")[:, 0], code)


def test_unknown_values_make_one_warning_where_the_user_calls() -> None:
    form = _form_of(a=pd.Categorical(["x", "y"]), b=pd.Categorical([1, 2]), c=[1.0, 2.0])
    frame = pd.DataFrame({"a": ["x", "new"], "b": [1, 7], "c": [0.5, 0.5]})
    with pytest.warns(UserWarning, match="not occur in fit") as found:
        codes = form.check(frame, "Model")
    assert [str(each.message) for each in found] == [
        "Values that did not occur in fit, in column 'a' of X (1 row): 'new'; in column 'b' of X "
        "(1 row): 7. They are taken as missing. Where missing values have a meaning, fit with "
        "unknown_categories='separate'."
    ]
    assert found[0].filename == __file__
    np.testing.assert_array_equal(codes, np.float32([[0, 0, 0.5], [NAN, NAN, 0.5]]))


@pytest.mark.parametrize(
    "values",
    [
        [False, True],
        [0.5, 2.0],
        ["a", 7],
        [("a", 1), ("b", 2)],
        pd.to_datetime(["2020-01-01", "2020-01-02"]),
        pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("Europe/Berlin"),
        pd.interval_range(0, 2),
        pd.array(["a", "b"], dtype="string"),
        pd.array([1, 2], dtype="Int64"),
    ],
)
def test_categories_of_any_type(values: Any) -> None:
    column = pd.Series(pd.Categorical(values, categories=values))
    frame = pd.DataFrame({"a": column})
    form, codes = learn_features(frame, "Model", takes_categories=True)
    np.testing.assert_array_equal(codes, [[0], [1]])
    turned = pd.DataFrame({"a": column[::-1].cat.reorder_categories(values[::-1])})
    np.testing.assert_array_equal(form.check(turned, "Model"), [[1], [0]])


def test_numbers_are_no_names() -> None:
    form = _form_of(a=pd.Categorical([1, 2]))
    names, floats = pd.Categorical(["1", "2"]), pd.Categorical([2.0, 1.0])
    with pytest.warns(UserWarning, match="not occur in fit"):
        np.testing.assert_array_equal(form.check(pd.DataFrame({"a": names}), "Model"), NAN)
    np.testing.assert_array_equal(form.check(pd.DataFrame({"a": floats}), "Model"), [[1], [0]])


def test_binary_relevance_is_one_stock_model_per_label() -> None:
    fitted = BinaryRelevance(**PARAMS).fit(TRAIN, Y_TRAIN)
    for label in range(Y.shape[1]):
        stock = xgb.XGBClassifier(**STOCK).fit(TRAIN, Y_TRAIN[:, label])
        if label == 0:
            assert stock.get_booster().trees_to_dataframe()["Category"].notna().any()
        expected = stock.predict_proba(NEW)[:, 1]
        np.testing.assert_allclose(fitted.predict_proba(NEW)[:, label], expected, rtol=1e-6)


def test_classifier_chain_is_a_chain_of_stock_models() -> None:
    order = [2, 0, 1]
    found = ClassifierChain(order=order, **PARAMS).fit(TRAIN, Y_TRAIN).predict_proba(NEW)
    train, new = TRAIN.copy(), NEW.copy()
    for label in order:
        stock = xgb.XGBClassifier(**STOCK).fit(train, Y_TRAIN[:, label])
        expected = stock.predict_proba(new)[:, 1]
        np.testing.assert_allclose(found[:, label], expected, rtol=1e-6)
        train[f"label {label}"] = Y_TRAIN[:, label]
        new[f"label {label}"] = (expected >= 0.5).astype(int)


def test_multi_label_booster_is_given_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stock objective in place of ours it is XGBoost's own estimator."""
    stock_params = {
        "objective": "binary:logistic",
        "multi_strategy": "multi_output_tree",
        "max_depth": PARAMS["max_depth"],
        "nthread": 1,
    }
    types = []
    train = xgb.train

    def stock_train(_: Any, matrix: xgb.DMatrix, **arguments: Any) -> xgb.Booster:
        types.append(matrix.feature_types)
        types.extend(eval_matrix.feature_types for eval_matrix, _ in arguments["evals"])
        return train(stock_params, matrix, **arguments)

    monkeypatch.setattr(boosting_classifier.xgb, "train", stock_train)
    found = MultiLabelXGBClassifier(**PARAMS).fit(TRAIN, Y_TRAIN, eval_set=[(NEW, Y[150:])])
    stock = xgb.XGBClassifier(**STOCK, multi_strategy="multi_output_tree").fit(TRAIN, Y_TRAIN)
    np.testing.assert_allclose(found.predict_proba(NEW), stock.predict_proba(NEW), rtol=1e-6)
    assert types == [TYPES, TYPES]
    assert found.get_booster().feature_types == TYPES


def test_quantised_features_are_given_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(Exception):
        pass

    def see(*_: Any, feature_types: list[str], **__: Any) -> None:
        raise Seen(feature_types)

    data = check_fit_data(BinaryRelevance(), TRAIN, Y_TRAIN)
    monkeypatch.setattr(training.xgb, "DMatrix", see)
    with pytest.raises(Seen, match=str(TYPES).replace("[", r"\[")):
        training.QuantisedFeatures(data, max_bin=None, n_threads=1)


def test_no_types_without_categories() -> None:
    data = check_fit_data(BinaryRelevance(), FRAME[["height", "tall", "count"]], Y)
    assert data.feature_types is None
    assert FitData(data.X, data.Y, None).feature_types is None


@pytest.fixture(
    params=[MultiLabelXGBClassifier, DynamicChainClassifier, BinaryRelevance, ClassifierChain]
)
def estimator(request: pytest.FixtureRequest) -> BaseEstimator:
    return request.param(**PARAMS)


def test_other_orders_of_the_categories(estimator: BaseEstimator) -> None:
    estimator.fit(TRAIN, Y_TRAIN)
    other = NEW.copy()
    other["colour"] = other["colour"].cat.set_categories(
        ["yellow", "black", "red", "blue", "white", "green"]
    )
    other["size"] = other["size"].cat.reorder_categories([5, 1, 2])
    np.testing.assert_array_equal(estimator.predict_proba(other), estimator.predict_proba(NEW))


def test_category_that_did_not_occur_is_missing(estimator: BaseEstimator) -> None:
    # The type has the category from the start; what counts is that no row has it.
    colour = TRAIN["colour"].cat.add_categories("black")
    estimator.set_params(unknown_categories="missing").fit(TRAIN.assign(colour=colour), Y_TRAIN)
    black = NEW.assign(colour=pd.Categorical(["black"] * len(NEW)))
    missing = NEW.assign(colour=pd.Categorical([None] * len(NEW), categories=["red"]))
    with pytest.warns(UserWarning, match="not occur in fit, in column 'colour'"):
        of_black = estimator.predict_proba(black)
    np.testing.assert_array_equal(of_black, estimator.predict_proba(missing))
    red = NEW.assign(colour=pd.Categorical(["red"] * len(NEW)))
    assert (of_black != estimator.predict_proba(red)).any()


def test_column_without_a_value(estimator: BaseEstimator) -> None:
    empty = FRAME.assign(colour=pd.Categorical([None] * N_ROWS))
    without = FRAME.drop(columns="colour")
    found = estimator.fit(empty, Y).predict_proba(empty)
    np.testing.assert_allclose(found, estimator.fit(without, Y).predict_proba(without), rtol=1e-6)


def test_categories_of_an_earlier_fit_are_forgotten(estimator: BaseEstimator) -> None:
    estimator.fit(FRAME, Y)
    assert list(estimator.categories_) == [0, 2]
    estimator.fit(FRAME[["height"]], Y)
    assert not hasattr(estimator, "categories_")
    assert estimator._input_form.feature_types is None


@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (
            NEW.assign(colour=1.0),
            r"Column 'colour' of X \(position 0\) has the type float64, but .* a category, such as "
            r"'blue'",
        ),
        (
            NEW.assign(size="1"),
            r"Column 'size' of X \(position 2\) has the type (str|object), but .* such as 1",
        ),
        (
            NEW.assign(height=pd.Categorical(["low"] * len(NEW))),
            r"Column 'height' of X \(position 1\) has the type category, but in fit it was numeric",
        ),
        (
            NEW.assign(colour=[["red"]] * len(NEW)),
            r"Column 'colour' of X \(position 0\) has the type object; its values cannot be cat",
        ),
        (
            NEW.assign(height="low"),
            r"Column 'height' of X \(position 1\) has the type (str|object), but .* was numeric",
        ),
        (np.zeros((2, 5)), r"X is a ndarray, but must be a DataFrame .* position 0, 2 were"),
        (NEW[["colour", "height"]], r"feature names should match"),
    ],
)
def test_other_columns_at_prediction(estimator: BaseEstimator, bad_X: Any, message: str) -> None:
    estimator.fit(TRAIN, Y_TRAIN)
    with pytest.raises(ValueError, match=message):
        estimator.predict(bad_X)


def test_columns_in_another_order_at_prediction(estimator: BaseEstimator) -> None:
    estimator.fit(TRAIN, Y_TRAIN)
    other = NEW[["size", "height", "colour", "tall", "count"]]
    np.testing.assert_array_equal(estimator.predict(other), estimator.predict(NEW))
    with pytest.raises(ValueError, match="at fit time, yet now missing:\n- height"):
        estimator.predict(NEW.set_axis(["colour", "colour", *NEW.columns[2:]], axis=1))


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        (["red", "blue"], "(str|object)"),
        (pd.array(["red", None], dtype="string"), "string"),
        (np.array(["red", 1], dtype=object), "object"),
        (np.array([1.0, 2.0], dtype=object), "object"),
        (np.array([1j, 2]), "complex128"),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories(
    estimator: BaseEstimator, values: Any, type_name: str
) -> None:
    frame = pd.DataFrame({"height": [1.0, 2.0], "colour": values})
    message = rf"Column 'colour' of X \(position 1\) has the type {type_name}.*make it a category"
    with pytest.raises(ValueError, match=message):
        estimator.fit(frame, [[0], [1]])


def test_estimator_for_numbers_only() -> None:
    message = r"Column 'colour' of X \(position 0\) has the type category; .* Encode categories"
    with pytest.raises(ValueError, match=message):
        _NumbersOnly(**PARAMS).fit(FRAME, Y)
    _NumbersOnly(**PARAMS).fit(FRAME[["height", "tall", "count"]], Y)


@pytest.mark.parametrize("given", [[2], np.array([2]), [False, False, True]])
def test_mask_of_given_feature_types(given: Any) -> None:
    assert categorical_mask(3, ["c", "q", "q"], given).tolist() == [True, False, True]


def test_mask_without_anything_given() -> None:
    assert categorical_mask(2, None, None).tolist() == [False, False]
    assert categorical_mask(2, ["q", "c"], []).tolist() == [False, True]


@pytest.mark.parametrize("given", [[3], [-1], [0.5], [True], [[0]], "a"])
def test_mask_of_something_else(given: Any) -> None:
    with pytest.raises(ValueError, match=r"categorical_features=.*mask of shape \(3,\) or pos"):
        categorical_mask(3, None, given)


DISCRETE = np.array([[3, 0, 1], [0, 0, 2], [3, np.nan, 1]], dtype=np.float32)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_matrix])
def test_values_of_categories(convert):
    """Absent entries of a sparse X are 0, and NaN is not a value."""
    values, start = category_values(convert(DISCRETE), np.array([True, True, False]))
    assert values.dtype == np.float32
    assert start.dtype == np.int32
    assert values.tolist() == [0, 3, 0]
    assert start.tolist() == [0, 2, 3, 3]


def test_no_categories():
    values, start = category_values(DISCRETE, np.zeros(3, dtype=bool))
    assert values.shape == (0,)
    assert start.tolist() == [0, 0, 0, 0]
