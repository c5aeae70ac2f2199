"""Targets and classes: model files, SHAP values, and what says that it serves labels only."""

import re

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from xdcc.base.output_form import ClassForm, TargetForm
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
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
)

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 5)), columns=list("abcde"))
X["f"] = pd.Categorical(RNG.choice(["red", "green", "blue"], 120))
Y = pd.DataFrame(X[["a", "b", "c"]].to_numpy() * [1e5, 1, 1e-4], columns=["x", "y", "z"])
CLASSES = np.array(["low", "mid", "high"])[np.digitize(X["a"], [-0.5, 0.5])]
FEW = {"n_estimators": 4, "n_jobs": 1}


def models():
    unknown = Y.mask(RNG.random(Y.shape) < 0.2)
    return {
        "regressor": MultiTargetXGBRegressor(**FEW).fit(X, unknown),
        "regressor of a log link": MultiTargetXGBRegressor(
            **FEW, objective="reg:gamma", sketch_size=0
        ).fit(X, np.exp(Y / [1e5, 1, 1e-4])),
        "one target": MultiTargetXGBRegressor(**FEW).fit(X, Y["y"]),
        "classes": MultiClassXGBClassifier(**FEW).fit(X, CLASSES),
        "weighted classes": MultiClassXGBClassifier(
            **FEW, class_weight={"low": 2.0, "mid": 1.0, "high": 1.0}, outputs_per_tree=2
        ).fit(X, CLASSES),
    }


MODELS = models()


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
    margins = model._predicted(model._check_X(X[:20]), "margin")
    assert values.shape == (20, margins.shape[1], 7)
    np.testing.assert_allclose(values.sum(axis=2), margins, rtol=1e-4, atol=1e-4)


def test_names_of_shap_values():
    assert shap_values(MODELS["regressor"], X[:2]).label_names == ["x", "y", "z"]
    assert shap_values(MODELS["classes"], X[:2]).label_names == ["high", "low", "mid"]


@pytest.mark.parametrize("name", ["regressor", "classes"])
@pytest.mark.parametrize(
    "serve",
    [
        CompiledModel,
        to_onnx,
        to_forest,
        lambda model: to_stock(model, "nowhere"),
    ],
    ids=["CompiledModel", "to_onnx", "to_forest", "to_stock"],
)
def test_what_serves_labels_only(name, serve):
    with pytest.raises(TypeError, match=re.escape(type(MODELS[name]).__name__)):
        serve(MODELS[name])


def test_boosters_for_stock_xgboost():
    target = Y.to_numpy() / [1e5, 1, 1e-4]
    model = MultiTargetXGBRegressor(**FEW).fit(X[list("abcde")], target)
    stock = stock_booster(model.booster_).predict(xgb.DMatrix(X[list("abcde")]))
    np.testing.assert_array_equal(stock, model.predict(X[list("abcde")]).astype(np.float32))
