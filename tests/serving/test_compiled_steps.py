"""Compiled pipelines predict as scikit-learn's, which this module compares them with."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from tests.serving.mixed_models import booster, tuned
from xdcc.base.input_form import InputForm
from xdcc.base.stored import check_state
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, load_model, save_model
from xdcc.serving.compiled_pipeline import Steps
from xdcc.serving.compiled_steps import Codes, Imputer, OneHot, Scaler, SideBySide
from xdcc.serving.compiling_steps import compile_steps

NAN = np.nan
SCALERS = {
    "standard": StandardScaler(),
    "uncentred": StandardScaler(with_mean=False),
    "unscaled": StandardScaler(with_std=False),
    "neither": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler((-0.3, 0.9)),
    "clipped": MinMaxScaler(clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, uncentred": RobustScaler(with_centering=False),
    "robust, unscaled": RobustScaler(with_scaling=False),
}
IMPUTERS = {
    "mean": SimpleImputer(),
    "median": SimpleImputer(strategy="median", add_indicator=True),
    "most frequent": SimpleImputer(strategy="most_frequent", keep_empty_features=True),
    "constant": SimpleImputer(strategy="constant", fill_value=-2, add_indicator=True),
}
ENCODERS = {
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-3),
    "ordinal, missing": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=NAN, encoded_missing_value=-7
    ),
    "ordinal, rare": OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=NAN, max_categories=3, dtype=np.float32
    ),
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "single": OneHotEncoder(handle_unknown="ignore", dtype=np.float32),
    "dense": OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32),
    "first dropped": OneHotEncoder(handle_unknown="ignore", drop="first", min_frequency=20),
    "binary dropped": OneHotEncoder(drop="if_binary", handle_unknown="warn", max_categories=2),
    "chosen dropped": OneHotEncoder(
        drop=["red", "flat"], handle_unknown="infrequent_if_exist", min_frequency=9
    ),
    "rare": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20),
}


def table(seed, n_rows=150):
    """Rows with numbers, text and whole numbers that are categories, some missing."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(random.random(n_rows) < 0.2, NAN, random.normal(5, 2, n_rows)),
            "colour": random.choice(
                ["red", "green", "blue", "grey"], n_rows, p=[0.5, 0.3, 0.15, 0.05]
            ),
            "height": random.normal(size=n_rows),
            "shape": random.choice(["round", "flat"], n_rows).astype(object),
            "kind": random.integers(0, 4, n_rows),
        }
    )
    frame.loc[random.random(n_rows) < 0.1, "shape"] = NAN
    frame.loc[random.random(n_rows) < 0.05, "height"] = NAN
    return frame


def labels_of(frame):
    return np.column_stack(
        (frame["size"] > 5, frame["colour"] == "red", frame["shape"] == "round", frame["kind"] > 1)
    ).astype(int)


def assert_same(pipeline, compiled, X, like=None):
    """Compare the predictions of both, those of a pipeline for another X, if given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("predict_proba", "predict"):
            expected = getattr(pipeline, method)(X if like is None else like)
            found = getattr(compiled, method)(X)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def dicts(frame):
    return [
        {name: value for name, value in row.items() if value == value}
        for row in frame.to_dict("records")
    ]


def mixed(numbers, encoder, **arguments):
    return make_column_transformer(
        (numbers, ["height", "size"]), (encoder, ["colour", "shape"]), **arguments
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_features_are_equal_bit_for_bit(scaler, imputer, dtype):
    random = np.random.default_rng(0)
    X = (random.normal(size=(80, 5)) * 10).astype(dtype)
    if dtype is not np.int64:
        X[random.random(X.shape) < 0.2] = NAN
        X[:40, 2] = NAN
    pipeline = make_pipeline(clone(IMPUTERS[imputer]), clone(SCALERS[scaler]), "passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a feature without values
        expected = pipeline.fit(X[:40]).transform(X)
    found = compile_steps(pipeline).rows(X, "Model")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("last", [booster(), tuned(LogisticLabels(C=1.0))])
def test_tables_with_categories(encoder, last):
    frame, new = table(0), table(1)
    new["colour"] = new["colour"].where(new.index % 4 > 0, "pink")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), RobustScaler())
    pipeline = make_pipeline(mixed(numbers, ENCODERS[encoder]), last).fit(frame, labels_of(frame))
    compiled = CompiledModel(pipeline, n_jobs=1)
    assert_same(pipeline, compiled, new)
    assert_same(pipeline, compiled, new[:1])
    assert_same(pipeline, compiled, dicts(new), new)
    assert_same(pipeline, compiled, new.assign(more=1)[["more", *new.columns[::-1]]], new)
    assert_same(pipeline, compiled, new.drop(columns="kind"))
    assert compiled.feature_names_in_.tolist() == list(frame.columns)
    assert compiled.n_features_in_ == 5


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    scaler=st.sampled_from([*SCALERS, None]),
    encoder=st.sampled_from(list(ENCODERS)),
    after=st.sampled_from([None, "max-abs", "uncentred", "robust, uncentred"]),
    threshold=st.sampled_from([0.0, 1.0]),
    remainder=st.sampled_from(["drop", "passthrough", OneHotEncoder(handle_unknown="ignore")]),
    forest=st.booleans(),
)
def test_random_pipelines(seed, scaler, encoder, after, threshold, remainder, forest):
    frame, new = table(seed), table(seed + 1)
    new["colour"] = new["colour"].where(new.index % 5 > 0, "pink")
    columns = mixed(
        SCALERS[scaler] if scaler else "passthrough",
        ENCODERS[encoder],
        sparse_threshold=threshold,
        remainder=remainder,
    )
    last = SketchedExtraTreesClassifier(n_estimators=5, random_state=0)
    pipeline = Pipeline(
        [
            ("columns", columns),
            ("after", SCALERS.get(after)),
            ("last", tuned(last) if forest else booster()),
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(frame, labels_of(frame))
    compiled = CompiledModel(pipeline, n_jobs=1)
    assert_same(pipeline, compiled, new)
    assert_same(pipeline, compiled, dicts(new[:9]), new[:9])


def test_arrays_of_objects_and_lists():
    frame, new = table(0).to_numpy(object), table(1).to_numpy(object)
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), slice(0, 3, 2)),
            ("text", OneHotEncoder(handle_unknown="ignore"), [1, -2]),
            ("kinds", OrdinalEncoder(), np.arange(5) == 4),
        ]
    )
    pipeline = make_pipeline(columns, booster()).fit(frame, labels_of(table(0)))
    compiled = CompiledModel(pipeline)
    assert_same(pipeline, compiled, new)
    assert_same(pipeline, compiled, new.tolist(), new)
    with pytest.raises(ValueError, match="fitted without names of features"):
        compiled.predict({"size": 1})


def test_large_whole_numbers_and_single_precision():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": 2**60 + np.arange(60) % 3, "size": random.normal(size=60)})
    frame["wide"] = random.normal(size=60).astype(np.float32)
    columns = make_column_transformer(
        (OrdinalEncoder(), ["id"]), (MinMaxScaler((0.1, 0.9)), ["size"]), (MaxAbsScaler(), ["wide"])
    )
    pipeline = make_pipeline(columns, booster())
    pipeline.fit(frame, (frame[["id", "wide"]] > [2**60, 0]).astype(int).to_numpy())
    steps = CompiledModel(pipeline)._parts.steps
    for rows in (frame, frame[1:2], frame[1:2].assign(wide=np.float64(0.3))):
        np.testing.assert_array_equal(steps.rows(rows, "Model"), columns.transform(rows))


@pytest.mark.parametrize("missing", ["?", None])
def test_text_is_imputed(missing):
    X = np.array([["a", "x"], ["b", missing], [missing, "y"], ["a", "x"]] * 9, dtype=object)
    pipeline = make_pipeline(
        SimpleImputer(missing_values=missing, strategy="most_frequent"), OneHotEncoder(), booster()
    )
    frame = pd.DataFrame(X, columns=["u", "v"], dtype=object)
    pipeline.fit(frame, (X == "x").astype(int))
    compiled = CompiledModel(pipeline)
    assert_same(pipeline, compiled, frame)
    assert_same(
        pipeline,
        compiled,
        [{"v": "x"}, {"u": None, "v": "y"}],
        frame[2:4].assign(v=["x", "y"], u=missing),
    )


def test_numbers_with_a_marker():
    X = np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float)
    X[::5, 0] = -1
    pipeline = make_pipeline(SimpleImputer(missing_values=-1), booster())
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline.fit(frame, (X[:, :2] > 4).astype(int))
    compiled = CompiledModel(pipeline)
    assert_same(pipeline, compiled, frame)
    assert_same(pipeline, compiled, {"c": 3, "b": 2.0}, pd.DataFrame({"a": [-1.0], "b": 2, "c": 3}))
    with pytest.raises(ValueError, match="NaN where -1 is the missing value"):
        compiled.predict(np.full((1, 3), NAN))


def test_none_is_a_category_where_it_was_one():
    frame = pd.DataFrame({"c": pd.Series(["a", None, "b"] * 9, dtype=object)})
    pipeline = make_pipeline(OrdinalEncoder(), booster())
    pipeline.fit(frame, frame[["c"]].isna().astype(int).to_numpy())
    compiled = CompiledModel(pipeline)
    assert_same(pipeline, compiled, frame)
    assert_same(pipeline, compiled, [{}, {"c": None}, {"c": NAN}], frame.iloc[[1, 1, 1]])
    with pytest.raises(ValueError, match="has nan in row 0 of column 'c'"):
        compiled.predict(np.array([[NAN]], object))


def test_targets_classes_and_nested_pipelines():
    frame = table(0)
    columns = make_column_transformer(
        (make_pipeline("passthrough", make_pipeline(SimpleImputer())), ["size", "height"]),
        ("passthrough", make_column_selector("kind")),
        ("drop", ["shape"]),
        (OneHotEncoder(), []),
    ).set_output(transform="pandas")
    target = np.nan_to_num(frame[["size", "height"]])
    regressor = make_pipeline(columns, None, MultiTargetXGBRegressor(n_estimators=3))
    regressor.fit(frame, target)
    found = CompiledModel(regressor).predict(frame)
    np.testing.assert_array_equal(found, regressor.predict(frame))
    classes = make_pipeline(columns, MultiClassXGBClassifier(n_estimators=3))
    classes.fit(frame, frame["kind"])
    assert_same(classes, CompiledModel(classes), frame)


def test_a_pipeline_without_other_steps(rows):
    pipeline = make_pipeline("passthrough", booster()).fit(rows.X, rows.Y)
    assert CompiledModel(pipeline)._parts.steps is None
    assert_same(pipeline, CompiledModel(pipeline), rows.X_new)


@pytest.fixture(scope="module")
def fitted():
    frame = table(0)
    columns = mixed(make_pipeline(SimpleImputer(), StandardScaler()), OneHotEncoder())
    return make_pipeline(columns, booster()).fit(frame, labels_of(frame))


def test_files_and_pickles(fitted, tmp_path):
    compiled, new = CompiledModel(fitted, n_jobs=1), table(1)
    save_model(compiled, tmp_path / "model")
    for other in (
        load_model(tmp_path / "model", compiled=True),
        pickle.loads(pickle.dumps(compiled)),
    ):
        assert_same(fitted, other, new)
        assert_same(fitted, other, dicts(new), new)
        np.testing.assert_array_equal(other.feature_names_in_, new.columns)


def test_later_changes_have_no_effect():
    frame = table(0)
    pipeline = make_pipeline(mixed(RobustScaler(), OrdinalEncoder()), booster())
    compiled = CompiledModel(pipeline.fit(frame, labels_of(frame)))
    expected = compiled.predict_proba(frame)
    columns = pipeline[0].named_transformers_
    columns["robustscaler"].scale_ *= 2
    columns["ordinalencoder"].categories_[0][:] = "none"
    np.testing.assert_array_equal(compiled.predict_proba(frame), expected)
    compiled = CompiledModel(pipeline)
    with pytest.raises(ValueError, match="did not occur in fit"):
        compiled.predict(frame)


def test_the_file_of_a_pipeline_is_compiled(fitted, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    save_model(fitted, tmp_path / "model")
    assert_same(fitted, load_model(tmp_path / "model", compiled=True, trusted=[]), table(1))


def test_bad_input(fitted):
    compiled, frame = CompiledModel(fitted), table(1)
    row = dicts(frame[:1])[0] | {"size": 1.0, "shape": "flat"}
    for X, message in (
        (frame.assign(colour="pink"), "'pink' in row 0 of column 'colour'"),
        (row | {"colour": "pink"}, "'pink' in row 0 of column 'colour'"),
        (row | {"size": "big"}, r"X\[0\]\['size'\] is 'big', but in fit it was a num"),
        (row | {"size": 10**400}, r"X\[0\]\['size'\] is 10+: infinity, or too large"),
        (row | {"colour": ["red"]}, r"\['colour'\] is \['red'\], which is neither"),
        (frame.drop(columns="size"), r"lacks columns .*: \['size'\]"),
        (frame.assign(size=np.inf), "infinite entries"),
        (frame.assign(size="big"), "could not convert"),
        (frame.to_numpy()[:, 1:], r"shape \(150, 4\), but CompiledModel is expecting"),
        (np.zeros((2, 5), complex), "X has the type complex128"),
        (frame[:0], r"shape \(0, 5\)"),
        (frame["size"], r"shape \(150,\)"),
        (sparse.csr_matrix((3, 5)), "X is a sparse matrix"),
    ):
        with pytest.raises(ValueError, match=message):
            compiled.predict(X)
    with pytest.warns(UserWarning, match=r"not features in fit: 'weight'"):
        compiled.predict(row | {"weight": 3})


def test_unknown_categories_warn_as_in_the_pipeline():
    frame = table(0)
    encoder = OneHotEncoder(handle_unknown="warn", sparse_output=False)
    pipeline = make_pipeline(mixed(SimpleImputer(), encoder), booster())
    compiled = CompiledModel(pipeline.fit(frame, labels_of(frame)))
    with pytest.warns(UserWarning, match="did not occur in fit, in column 'colour' of X"):
        compiled.predict(frame[:2].assign(colour="pink"))


REFUSED = {
    r"'knnimputer' \(KNNImputer\).*it takes StandardScaler,": [KNNImputer()],
    r"'columns__a__knn' \(KNNImputer\)": [
        ColumnTransformer([("a", Pipeline([("knn", KNNImputer())]), ["size"])])
    ],
    r"'functiontransformer' \(FunctionTransformer\)": [FunctionTransformer(abs)],
    r"'simpleimputer' .*its X is sparse": [
        make_column_transformer((OneHotEncoder(), ["colour", "kind"]), sparse_threshold=1),
        SimpleImputer(),
    ],
    r"'columns' .*transformer_weights": [
        ColumnTransformer([("a", SimpleImputer(), ["size"])], transformer_weights={"a": 2})
    ],
    r"'columns__a' \(ColumnTransformer\).*a step of another": [
        ColumnTransformer(
            [("a", make_column_transformer((SimpleImputer(), ["size"])), ["size", "kind"])]
        )
    ],
    r"'columns__a' \(Pipeline\).*contains a ColumnTransformer": [
        ColumnTransformer(
            [
                (
                    "a",
                    make_pipeline(make_column_transformer((SimpleImputer(), ["size"]))),
                    ["size", "kind"],
                )
            ]
        )
    ],
    r"'columns__a' .*neither text nor numbers": [
        ColumnTransformer([("a", OrdinalEncoder(), ["date"])])
    ],
    "columns of pandas' dtype category": [
        make_column_transformer(("passthrough", ["of"]), (SimpleImputer(), ["size"])).set_output(
            transform="pandas"
        )
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_compiled_is_named(message):
    frame = table(0).assign(date=pd.Timestamp("2020-01-01"))
    frame["of"] = frame["colour"].astype("category")
    steps = REFUSED[message]
    if not isinstance(steps[0], ColumnTransformer):
        frame = frame[["size", "height"]]
    pipeline = make_pipeline(*steps, booster())
    pipeline.steps[0] = (pipeline.steps[0][0].replace("columntransformer", "columns"), steps[0])
    pipeline.fit(frame, labels_of(table(0)))
    with pytest.raises(TypeError, match=rf"(?s)^The steps? .*{message}"):
        CompiledModel(pipeline)


def codes(unknown=None, numbers=(0.0, 1.0), categories=("a", "b")):
    return Codes(["'c'"], [np.array(categories)], [np.array(numbers)], [unknown], warns=False)


INCONSISTENT = {
    "operations": lambda: Scaler(2, [("add", np.zeros(3))], rounds=False),
    "kept": lambda: Imputer(NAN, True, 1, np.array([1]), np.zeros(1), np.zeros(0, np.int64)),
    "fill": lambda: Imputer(NAN, True, 1, np.array([0]), np.zeros(2), np.zeros(0, np.int64)),
    "indicated": lambda: Imputer(NAN, True, 1, np.array([0]), np.zeros(1), np.array([-1])),
    "marker": lambda: Imputer("?", True, 1, np.array([0]), np.zeros(1), np.zeros(0, np.int64)),
    "codes": lambda: codes(numbers=[[0.0], [1.0]]),
    "categories": lambda: codes(categories=("a", "a")),
    "places": lambda: OneHot(codes(numbers=[0.0, 2.0]), 2),
    "n_out": lambda: OneHot(codes(), 10**12),
    "positions": lambda: SideBySide(2, [(np.array([2]), [])]),
    "n_in": lambda: SideBySide(2, [(np.array([0, 1]), [codes()])]),
    "input_form": lambda: Steps(InputForm(1, categories={0: np.array(["a"])}), [codes()]),
}


@pytest.mark.parametrize("name", INCONSISTENT)
def test_steps_of_a_file_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} does not fit"):
        check_state(INCONSISTENT[name]())
    assert Steps(InputForm(10**12), [Scaler(10**12, [], rounds=False)]).n_out == 10**12
    for place in (0.5, NAN, 5.0):
        with pytest.raises(ValueError, match="places does not fit"):
            check_state(OneHot(codes(unknown=place), 2))
