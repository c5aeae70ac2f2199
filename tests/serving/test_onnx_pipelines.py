"""`to_onnx` of pipelines: features and predictions as scikit-learn's, from numbers and codes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from tests.serving.mixed_models import booster, tuned
from tests.serving.onnx_runs import coded, properties_of, run_onnxruntime
from tests.serving.test_compiled_steps import (
    ENCODERS,
    IMPUTERS,
    SCALERS,
    labels_of,
    mixed,
    table,
)
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.linear import LogisticLabels
from xdcc.serving import to_onnx
from xdcc.serving.compiling_steps import compile_steps
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_steps import StepsGraph

pytest.importorskip("onnx")


def rows_with_unknown_values():
    frame = table(1)
    frame["colour"] = frame["colour"].where(frame.index % 4 > 0, "pink")
    return frame


def assert_same(run, pipeline, X):
    proto = to_onnx(pipeline)
    labels, proba, _ = run(proto, {"X": coded(X, proto)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown categories
        expected, expected_labels = pipeline.predict_proba(X), pipeline.predict(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(labels, expected_labels)


@pytest.mark.parametrize("imputer", IMPUTERS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_features_are_equal_bit_for_bit(run, scaler, imputer):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5)) * 10
    X[random.random(X.shape) < 0.2] = np.nan
    X[:40, 2] = np.nan
    pipeline = make_pipeline(clone(IMPUTERS[imputer]), clone(SCALERS[scaler]), "passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a feature without values
        expected = pipeline.fit(X[:40]).transform(X).astype(np.float32)
    graph, steps = Graph(), compile_steps(pipeline)
    features = StepsGraph(graph, steps).add(graph.input("X", np.float64, 5))
    graph.output("features", features, np.float32, steps.steps[-1].n_out)
    (found,) = run(graph.model("steps", "1", {}), {"X": X})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("last", [booster(), tuned(LogisticLabels(C=1.0))])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_tables_with_categories(run, encoder, last):
    frame = table(0)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = mixed(numbers, ENCODERS[encoder], remainder="passthrough")
    pipeline = make_pipeline(columns, last).fit(frame, labels_of(frame))
    assert_same(run, pipeline, rows_with_unknown_values())


@pytest.mark.parametrize(
    ("threshold", "after"),
    [(0.0, "max-abs"), (0.0, "standard"), (1.0, "max-abs"), (1.0, "robust, uncentred")],
)
@pytest.mark.parametrize("encoder", ["ordinal, rare", "single", "dense"])
def test_scalers_of_codes_in_single_precision(encoder, after, threshold):
    frame = table(0)
    columns = make_column_transformer(
        (ENCODERS[encoder], ["colour", "shape"]), sparse_threshold=threshold
    )
    pipeline = Pipeline([("columns", columns), ("after", SCALERS[after]), ("last", booster())])
    pipeline.fit(frame, labels_of(frame))
    assert_same(run_onnxruntime, pipeline, rows_with_unknown_values())


@pytest.mark.parametrize("missing", ["?", None])
def test_text_is_imputed(run, missing):
    X = np.array([["a", "x"], ["b", missing], [missing, "y"], ["a", "x"]] * 9, dtype=object)
    pipeline = make_pipeline(
        SimpleImputer(missing_values=missing, strategy="most_frequent"), OneHotEncoder(), booster()
    )
    frame = pd.DataFrame(X, columns=["u", "v"], dtype=object)
    assert_same(run, pipeline.fit(frame, (X == "x").astype(int)), frame)


def test_numbers_with_a_marker(run):
    X = np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float)
    X[::5, 0] = -1
    imputer = SimpleImputer(missing_values=-1, strategy="most_frequent", add_indicator=True)
    columns = make_column_transformer((OrdinalEncoder(), [0, 1]), remainder="passthrough")
    for steps in ([imputer], [imputer, columns]):
        pipeline = make_pipeline(*map(clone, steps), booster())
        assert_same(run, pipeline.fit(X, (X[:, :2] > 4).astype(int)), pd.DataFrame(X))


def test_none_is_a_category_where_it_was_one(run):
    frame = pd.DataFrame({"c": pd.Series(["a", None, "b"] * 9, dtype=object)})
    pipeline = make_pipeline(OrdinalEncoder(), booster())
    assert_same(run, pipeline.fit(frame, frame[["c"]].isna().astype(int).to_numpy()), frame)


def test_columns_without_names(run):
    frame, new = table(0).to_numpy(object), rows_with_unknown_values().to_numpy(object)
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), slice(0, 3, 2)),
            ("text", OneHotEncoder(handle_unknown="ignore"), [1]),
        ]
    )
    pipeline = make_pipeline(columns, booster()).fit(frame, labels_of(table(0)))
    proto = to_onnx(pipeline)
    assert list(properties_of(proto)["categories"]) == ["1", "3", "4"]
    _, proba, _ = run(proto, {"X": coded(pd.DataFrame(new), proto)})
    np.testing.assert_allclose(proba, pipeline.predict_proba(new), atol=1e-6)


def test_an_encoder_without_columns(run):
    frame = table(0).assign(same="a")
    columns = make_column_transformer(
        (OneHotEncoder(drop="first"), ["same"]), (SimpleImputer(), ["size"])
    )
    pipeline = make_pipeline(columns, booster()).fit(frame, labels_of(frame))
    assert_same(run, pipeline, frame)


def test_targets_and_classes(run):
    frame = table(0)
    columns = make_column_transformer((SimpleImputer(), ["size"]), ("passthrough", ["height"]))
    target = np.nan_to_num(frame[["size", "height"]])
    regressor = make_pipeline(columns, None, MultiTargetXGBRegressor(n_estimators=3))
    proto = to_onnx(regressor.fit(frame, target))
    (found,) = run(proto, {"X": coded(frame, proto)})
    np.testing.assert_allclose(found, regressor.predict(frame), rtol=1e-6)
    classes = make_pipeline(columns, MultiClassXGBClassifier(n_estimators=3))
    proto = to_onnx(classes.fit(frame, frame["kind"]))
    _, proba = run(proto, {"X": coded(frame, proto)})
    np.testing.assert_allclose(proba, classes.predict_proba(frame), atol=1e-6)


def test_a_pipeline_without_other_steps(run, rows):
    pipeline = make_pipeline("passthrough", booster()).fit(rows.X, rows.Y)
    _, proba, _ = run(to_onnx(pipeline), {"X": rows.X_new})
    np.testing.assert_allclose(proba, pipeline.predict_proba(rows.X_new), atol=1e-6)


def test_values_that_an_encoder_rejects(run):
    frame = table(0)
    columns = mixed(SimpleImputer(), OneHotEncoder())
    pipeline = make_pipeline(columns, booster()).fit(frame, labels_of(frame))
    proto = to_onnx(pipeline)
    found = properties_of(proto)
    assert found["feature_names"] == frame.columns.tolist()
    assert found["categories"] == {
        "colour": {
            "values": ["blue", "green", "grey", "red"],
            "codes": [0, 1, 2, 3],
            "unknown": "error",
        },
        "shape": {"values": ["flat", "round"], "codes": [0, 1], "unknown": "error"},
        "kind": {"values": [], "codes": [], "unknown": None},
    }
    assert_same(run, pipeline, frame)
    X = coded(frame, proto)
    for code in (4, -1):
        X[3, 1] = code
        with pytest.raises(Exception, match="out of"):
            run(proto, {"X": X})


REFUSED = {
    r"^The step 'knnimputer' \(KNNImputer\) .* cannot be compiled": [KNNImputer()],
    r"^The column 'kind' is both a number and a category": [
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["kind"]))
    ],
    r"^A column that another step computes is both": [
        make_column_transformer((SimpleImputer(add_indicator=True), ["size"])),
        OrdinalEncoder(),
    ],
    "leave columns of pandas' dtype category unchanged": [
        make_column_transformer(("passthrough", ["of"]), (SimpleImputer(), ["size"])).set_output(
            transform="pandas"
        )
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_exported_is_named(message):
    frame = table(0)
    frame["of"] = frame["colour"].astype("category")
    steps = REFUSED[message]
    if not isinstance(steps[0], ColumnTransformer):
        frame = frame[["size", "height"]]
    pipeline = make_pipeline(*steps, booster()).fit(frame, labels_of(table(0)))
    with pytest.raises(TypeError, match=message):
        to_onnx(pipeline)


def test_an_estimator_of_another_package_is_named():
    with pytest.raises(TypeError, match=r"^StandardScaler has no form.*not an estimator of xdcc"):
        to_onnx(make_pipeline(SimpleImputer(), StandardScaler()))
