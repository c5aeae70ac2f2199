"""Targets and classes: predictions, model files, SHAP values, compiled models and exports."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.exceptions import NotFittedError

from xdcc.base.output_form import ClassForm, TargetForm
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.boosting.regressor import OBJECTIVES
from xdcc.explain import shap_values
from xdcc.serving import (
    CompiledModel,
    ModelFileError,
    load_model,
    save_model,
    stock_booster,
    to_forest,
    to_onnx,
    to_stock,
    to_treelite,
)

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 5)), columns=list("abcde"))
X["f"] = pd.Categorical(RNG.choice(["red", "green", "blue"], 120))
Y = pd.DataFrame(X[["a", "b", "c"]].to_numpy() * [1e5, 1, 1e-4], columns=["x", "y", "z"])
CLASSES = np.array(["low", "mid", "high"])[np.digitize(X["a"], [-0.5, 0.5])]
FEW = {"n_estimators": 4, "n_jobs": 1}


OWN_OBJECTIVES = {"x": "reg:squarederror", "y": "binary:logistic", "z": "reg:absoluteerror"}

NUMBERS = RNG.normal(size=(120, 4)).astype(np.float32)
NUMBERS[::7, 1] = np.nan


def models():
    unknown = Y.mask(RNG.random(Y.shape) < 0.2)
    return {
        "regressor": MultiTargetXGBRegressor(**FEW).fit(X, unknown),
        "regressor of a log link": MultiTargetXGBRegressor(
            **FEW, objective="reg:gamma", sketch_size=0
        ).fit(X, np.exp(Y / [1e5, 1, 1e-4])),
        "one target": MultiTargetXGBRegressor(**FEW).fit(X, Y["y"]),
        "own objectives": MultiTargetXGBRegressor(**FEW, objective=OWN_OBJECTIVES).fit(
            X, unknown.assign(y=(unknown["y"] > 0).astype(float))
        ),
        "classes": MultiClassXGBClassifier(**FEW).fit(X, CLASSES),
        "weighted classes": MultiClassXGBClassifier(
            **FEW, class_weight={"low": 2.0, "mid": 1.0, "high": 1.0}, outputs_per_tree=2
        ).fit(X, CLASSES),
    }


MODELS = models()


def stock(model, rows, **arguments):
    """Predict by XGBoost, (n_samples, n_outputs)."""
    matrix = xgb.DMatrix(model._check_X(rows), feature_types=model._input_form.feature_types)
    end = model.best_iteration_ + 1
    found = model.booster_.predict(
        matrix, iteration_range=(0, end), validate_features=False, strict_shape=True, **arguments
    )
    if getattr(model, "objective", None) == OWN_OBJECTIVES and not arguments:
        found[:, 1] = 1 / (1 + np.exp(-found[:, 1]))  # it predicts margins
    return found


@pytest.mark.parametrize("name", MODELS)
def test_model_files(name, tmp_path):
    model = MODELS[name]
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    else:
        assert loaded.target_names_.tolist() == model.target_names_.tolist()


@pytest.mark.parametrize(
    ("name", "attribute", "value", "message"),
    [
        (
            "regressor",
            "_output_form",
            TargetForm(np.array(["x"], object), is_named=True, is_single=False),
            "number of outputs",
        ),
        ("regressor", "best_iteration_", 4, "best_iteration_"),
        (
            "regressor",
            "_output_form",
            TargetForm(np.array(["x", "y", "z"], object), is_named=True, is_single=True),
            "is_single",
        ),
        ("classes", "_output_form", ClassForm(np.array(["a", "b"])), "number of outputs"),
        ("classes", "booster_", MODELS["regressor"].booster_, "number of outputs"),
        ("regressor", "booster_", MODELS["classes"].booster_, "number of outputs"),
    ],
)
def test_files_whose_parts_do_not_fit(name, attribute, value, message, tmp_path):
    model = models()[name]
    setattr(model, attribute, value)
    with pytest.raises((ValueError, ModelFileError), match=message):
        save_model(model, tmp_path / "model")


@pytest.mark.parametrize("name", MODELS)
def test_shap_values_add_up_to_margins(name):
    model = MODELS[name]
    values = shap_values(model, X[:20]).values
    margins = stock(model, X[:20], output_margin=True)
    assert values.shape == (20, margins.shape[1], 7)
    np.testing.assert_allclose(values.sum(axis=2), margins, rtol=1e-4, atol=1e-4)


def test_names_of_shap_values():
    assert shap_values(MODELS["regressor"], X[:2]).label_names == ["x", "y", "z"]
    assert shap_values(MODELS["classes"], X[:2]).label_names == ["high", "low", "mid"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_rows", [1, 90])
def test_predictions_are_those_of_the_booster(name, n_rows):
    model, rows = MODELS[name], X[:n_rows]
    expected = stock(model, rows)
    if isinstance(model, MultiClassXGBClassifier):
        np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=0, atol=1e-6)
        labels = model.classes_[stock(model, rows, output_margin=True).argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(rows), labels)
    else:
        found = model.predict(rows).reshape(n_rows, -1)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    margins = stock(model, rows, output_margin=True)
    np.testing.assert_array_equal(model._margins(model._read_X(rows)), margins)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_has_its_link(objective):
    model = MultiTargetXGBRegressor(**FEW, objective=objective, sketch_size=0)
    model.fit(NUMBERS, 1 / (1 + np.exp(-NUMBERS[:, :2])))
    found, expected = model.predict(NUMBERS), model.booster_.inplace_predict(NUMBERS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    model.set_params(objective="count:poisson")  # the booster was trained before
    np.testing.assert_array_equal(model.predict(NUMBERS), found)


@pytest.mark.parametrize("name", MODELS)
def test_compiled_models_and_their_files(name, tmp_path):
    model = MODELS[name]
    save_model(CompiledModel(model, n_jobs=1), tmp_path / "compiled")
    for compiled in (CompiledModel(model), load_model(tmp_path / "compiled", compiled=True)):
        found = compiled.predict(X)
        np.testing.assert_array_equal(found, model.predict(X))
        assert found.dtype == model.predict(X).dtype
        margins = stock(model, X, output_margin=True)
        np.testing.assert_array_equal(compiled.decision_function(X), margins)
        if isinstance(model, MultiClassXGBClassifier):
            np.testing.assert_array_equal(compiled.predict_proba(X), model.predict_proba(X))
        else:
            with pytest.raises(TypeError, match="predicts numbers, not probabilities"):
                compiled.predict_proba(X)


def test_compiled_parts_that_do_not_fit(tmp_path):
    regressor = CompiledModel(MODELS["regressor"])
    classes = CompiledModel(MODELS["classes"])
    regressor._parts = dataclasses.replace(regressor._parts, output_form=classes._parts.output_form)
    save_model(regressor, tmp_path / "compiled")
    with pytest.raises(ModelFileError, match="the form of Y does not fit"):
        load_model(tmp_path / "compiled", compiled=True)


def test_links_that_do_not_fit(tmp_path):
    model = models()["own objectives"]
    compiled = CompiledModel(model)
    short = dataclasses.replace(compiled._parts.predictor, links=["logit", "identity"])
    compiled._parts = dataclasses.replace(compiled._parts, predictor=short)
    save_model(compiled, tmp_path / "compiled")
    with pytest.raises(ModelFileError, match="links does not fit"):
        load_model(tmp_path / "compiled", compiled=True)
    model.booster_.set_attr(target_objectives="binary:logistic,reg:squarederror")
    with pytest.raises((ValueError, ModelFileError), match="the objectives of the booster"):
        save_model(model, tmp_path / "model")


def test_compiled_models_check_rows_themselves(tmp_path):
    compiled = CompiledModel(MODELS["regressor"])
    form = dataclasses.replace(compiled._parts.input_form, is_open=True)
    compiled._parts = dataclasses.replace(compiled._parts, input_form=form)
    save_model(compiled, tmp_path / "compiled")
    with pytest.raises(ModelFileError, match="the form of X does not fit"):
        load_model(tmp_path / "compiled", compiled=True)


def of_numbers():
    target = np.where(np.isnan(NUMBERS), 0, NUMBERS)
    classes = np.array(["low", "mid", "high"])[np.digitize(target[:, 0], [-0.5, 0.5])]
    return {
        "targets": MultiTargetXGBRegressor(**FEW).fit(NUMBERS, target[:, :2] * [1e3, 1]),
        "log link": MultiTargetXGBRegressor(**FEW, objective="reg:gamma").fit(
            NUMBERS, np.exp(target[:, :3])
        ),
        "logit link": MultiTargetXGBRegressor(**FEW, objective="reg:logistic").fit(
            NUMBERS, 1 / (1 + np.exp(-target[:, :3]))
        ),
        "one target": MultiTargetXGBRegressor(**FEW).fit(NUMBERS, target[:, 0]),
        "own objectives": MultiTargetXGBRegressor(**FEW, objective=OWN_OBJECTIVES).fit(
            NUMBERS, pd.DataFrame({"x": target[:, 0], "y": target[:, 1] > 0, "z": target[:, 2]})
        ),
        "stopped early": MultiTargetXGBRegressor(**FEW, early_stopping_rounds=1).fit(
            NUMBERS[:60], target[:60, :2], eval_set=[(NUMBERS[60:], -target[60:, :2])]
        ),
        "classes": MultiClassXGBClassifier(**FEW).fit(NUMBERS, classes),
    }


OF_NUMBERS = of_numbers()


def expected_of(model):
    if isinstance(model, MultiClassXGBClassifier):
        return model.predict_proba(NUMBERS)
    return model.predict(NUMBERS).reshape(len(NUMBERS), -1)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_onnx(name):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = OF_NUMBERS[name]
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    outputs = [output.name for output in session.get_outputs()]
    found = dict(zip(outputs, session.run(None, {"X": NUMBERS}), strict=True))
    names = json.loads(session.get_modelmeta().custom_metadata_map["label_names"])
    assert names == list(model._output_names)
    if isinstance(model, MultiClassXGBClassifier):
        assert outputs == ["labels", "probabilities"]
        np.testing.assert_array_equal(model.classes_[found["labels"][:, 0]], model.predict(NUMBERS))
        np.testing.assert_allclose(found["probabilities"], expected_of(model), atol=1e-6)
    else:
        assert outputs == ["targets"]
        np.testing.assert_allclose(found["targets"], expected_of(model), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in OF_NUMBERS if name != "own objectives"])
def test_treelite_and_stock_xgboost(name):
    treelite = pytest.importorskip("treelite")
    model = OF_NUMBERS[name]
    expected = expected_of(model)
    found = treelite.gtil.predict(to_treelite(model), NUMBERS)
    assert found.size == expected.size
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
    forest = to_forest(model).predict(xgb.DMatrix(NUMBERS), strict_shape=True)
    np.testing.assert_allclose(forest, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "export", [to_forest, to_treelite, lambda model: to_stock(model, "not written")]
)
def test_boosters_that_predict_margins(export):
    pytest.importorskip("treelite")
    model = OF_NUMBERS["own objectives"]
    with pytest.raises(TypeError, match="objective of its own, so the booster alone predicts marg"):
        export(model)
    margins = stock_booster(model.booster_).predict(xgb.DMatrix(NUMBERS))
    margins[:, 1] = 1 / (1 + np.exp(-margins[:, 1]))
    np.testing.assert_allclose(margins, model.predict(NUMBERS), rtol=1e-6)


def test_treelite_describes_labels_only_as_classes():
    treelite = pytest.importorskip("treelite")
    with pytest.raises(TypeError, match="predicts numbers: use as_classes=False"):
        to_treelite(OF_NUMBERS["targets"], as_classes=True)
    model = OF_NUMBERS["classes"]
    found = treelite.gtil.predict(to_treelite(model, as_classes=True), NUMBERS)
    np.testing.assert_allclose(found[:, 0], expected_of(model), atol=1e-6)


EXPORTED = {name: (model, X) for name, model in MODELS.items()}
EXPORTED |= {f"{name} of numbers": (model, NUMBERS) for name, model in OF_NUMBERS.items()}


@pytest.mark.parametrize(
    ("model", "rows"),
    [pytest.param(*case, id=name) for name, case in EXPORTED.items() if "own" not in name],
)
def test_exports_to_stock(model, rows, tmp_path):
    to_stock(model, tmp_path / "exported.ubj")
    exported = xgb.Booster(model_file=tmp_path / "exported.ubj")
    names = json.loads(exported.attr("label_names"))
    assert names == [str(name) for name in model._output_names]
    codes = model._check_X(rows)
    found = exported.inplace_predict(codes, validate_features=False, strict_shape=True)
    if isinstance(model, MultiClassXGBClassifier):
        np.testing.assert_allclose(found, model.predict_proba(rows), rtol=0, atol=1e-6)
    else:
        np.testing.assert_allclose(found, model.predict(rows).reshape(found.shape), rtol=1e-6)


@pytest.mark.parametrize("export", [to_onnx, to_forest, CompiledModel])
@pytest.mark.parametrize("kind", [MultiTargetXGBRegressor, MultiClassXGBClassifier])
def test_exports_before_fit(export, kind):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        export(kind())


def test_boosters_for_stock_xgboost():
    target = Y.to_numpy() / [1e5, 1, 1e-4]
    model = MultiTargetXGBRegressor(**FEW).fit(X[list("abcde")], target)
    stock = stock_booster(model.booster_).predict(xgb.DMatrix(X[list("abcde")]))
    np.testing.assert_array_equal(stock, model.predict(X[list("abcde")]).astype(np.float32))
