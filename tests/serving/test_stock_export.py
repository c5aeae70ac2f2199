"""`to_stock`, `stock_booster` and `to_treelite`: boosters that predict without the plugin.

Here the patched XGBoost stands in for the stock one, and the export is looked through for names
that only the patched one knows; the last tests load it in an environment of its own, with the stock
wheel from the package index. Of a booster that `stock_booster` rewrote the plugin's names are gone,
and margins stay, bit for bit; the same trees predict in Treelite.
"""

import builtins
import json
import os
import re
import subprocess
import sys
import venv

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.exceptions import NotFittedError

from tests.serving.mixed_models import OF_BOOSTERS, tuned
from xdcc.boosting import MultiClassXGBClassifier, MultiLabelXGBClassifier, MultiTargetXGBRegressor
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance
from xdcc.serving import stock_booster, to_forest, to_stock, to_treelite
from xdcc.serving.stock_export import IN_TREELITE


@pytest.mark.parametrize("name", ["exported.ubj", "exported.json", "exported"])
def test_a_single_booster(classifier, rows, tmp_path, name):
    path = tmp_path / name
    path.write_text("an older file")
    to_stock(classifier, path)
    assert os.listdir(tmp_path) == [name]
    assert b"multilabel:" not in path.read_bytes()
    assert (path.read_bytes()[:2] == b'{"') == name.endswith("json")
    booster = xgb.Booster(model_file=bytearray(path.read_bytes()))
    assert booster.num_boosted_rounds() == classifier.best_iteration_ + 1
    np.testing.assert_array_equal(
        booster.inplace_predict(rows.X_new, predict_type="margin"),
        classifier._margins(rows.X_new),
    )
    np.testing.assert_allclose(
        booster.inplace_predict(rows.X_new), classifier.predict_proba(rows.X_new), atol=2e-7
    )


@pytest.mark.parametrize("name", OF_BOOSTERS)
def test_a_model_of_boosters(mixed_models, tmp_path, name):
    model, X = mixed_models[name], mixed_models.X_new
    to_stock(model, tmp_path / "exported.ubj")
    found = xgb.Booster(model_file=tmp_path / "exported.ubj").inplace_predict(X)
    expected = model._proba(model._check_X(X))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-6)


def test_names_are_in_the_file(rows, tmp_path):
    X = pd.DataFrame(rows.X, columns=["age", "a_b", "größe", "", "e"])
    Y = pd.DataFrame(rows.Y, columns=["lief", "sank", "glühte", "日本"])
    to_stock(tuned(MultiLabelXGBClassifier(n_estimators=3)).fit(X, Y), tmp_path / "exported.ubj")
    booster = xgb.Booster(model_file=tmp_path / "exported.ubj")
    assert booster.feature_names == list(X.columns)
    assert json.loads(booster.attr("label_names")) == list(Y.columns)


def test_what_cannot_be_exported(fitted_chain, mixed_models, tmp_path):
    for model in (DynamicChainClassifier(), MultiLabelXGBClassifier()):
        with pytest.raises(NotFittedError):
            to_stock(model, tmp_path / "stock")
    with pytest.raises(TypeError, match=r"^DynamicChainClassifier is not a booster.*to_onnx"):
        to_stock(fitted_chain("paper"), tmp_path / "stock")
    relevance = BinaryRelevance(n_estimators=1).fit(mixed_models.X, [[0], [1]] * 60)
    with pytest.raises(TypeError, match=r"^BinaryRelevance is not a booster"):
        to_stock(relevance, tmp_path / "stock")
    with pytest.raises(TypeError, match=r"second level \(stacked_\)"):
        to_stock(mixed_models["two levels"], tmp_path / "stock")
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written(classifier, tmp_path):
    with pytest.raises(FileNotFoundError):
        to_stock(classifier, tmp_path / "missing" / "stock")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        to_stock(classifier, tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


PROBABILITIES = ["logistic", "sumGain", "maxGain", "maxWeight", "maxAbsG"]
OBJECTIVES = [*PROBABILITIES, "logitraw"]


def _train(rows, n_labels, **params):
    matrix = xgb.DMatrix(rows.X, rows.Y[:, :n_labels])
    return xgb.train({"max_depth": 3, "verbosity": 0, **params}, matrix, 8)


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("objective", PROBABILITIES)
def test_predictions(rows, objective, n_labels):
    booster = _train(rows, n_labels, objective=f"multilabel:{objective}", scale_pos_weight=2.0)
    stock = stock_booster(booster)
    X = xgb.DMatrix(rows.X_new)
    margins = booster.predict(X, output_margin=True, strict_shape=True)
    assert margins.shape == (len(rows.X_new), n_labels)
    np.testing.assert_array_equal(stock.predict(X, output_margin=True, strict_shape=True), margins)
    np.testing.assert_allclose(stock.predict(X), booster.predict(X), rtol=0, atol=2e-7)
    learner = json.loads(stock.save_raw("json"))["learner"]
    assert learner["objective"]["reg_loss_param"] == {"scale_pos_weight": "2"}


@pytest.mark.parametrize("n_labels", [1, 4])
def test_margins_as_predictions(rows, n_labels):
    booster = _train(rows, n_labels, objective="multilabel:logitraw")
    X = xgb.DMatrix(rows.X_new)
    margins = booster.predict(X)
    assert margins.min() < 0
    np.testing.assert_allclose(stock_booster(booster).predict(X), margins, rtol=0, atol=1e-6)


def test_margins_of_labels_without_negatives_or_positives(rows):
    Y = np.repeat([[1.0, 0.0]], len(rows.X), axis=0)
    params = {"objective": "multilabel:logitraw", "max_depth": 3}
    booster = xgb.train(params, xgb.DMatrix(rows.X, Y), 2)
    X = xgb.DMatrix(rows.X_new)
    margins = booster.predict(X)
    assert np.abs(margins).min() > 13
    np.testing.assert_allclose(stock_booster(booster).predict(X), margins, rtol=1e-6)


def test_treelite_has_no_weights_of_trees(rows):
    pytest.importorskip("treelite")
    booster = _train(rows, 4, objective="multilabel:logistic", rate_drop=0.5, seed=3)
    with pytest.raises(TypeError, match=r"trained with dropout \(rate_drop\).*stock_booster"):
        to_treelite(booster)


STOCK_OBJECTIVES = [
    *IN_TREELITE,
    *("multi:softmax", "reg:expectileerror", "reg:quantileerror"),
]
SEVERAL_OUTPUTS = {
    "multi": {"num_class": 3},
    "reg:expectileerror": {"expectile_alpha": [0.2, 0.8]},
    "reg:quantileerror": {"quantile_alpha": [0.2, 0.8]},
}


def _of_stock(rows, objective, n_targets, **params):
    """Train a small booster with an objective of XGBoost."""
    signal = np.nan_to_num(rows.X[:, :n_targets])
    y = np.exp(signal / np.abs(signal).max())
    kind = objective.split(":")[0]
    if kind in ("binary", "rank") or objective == "reg:logistic":
        y = (y > 1).astype(int)
    elif kind == "multi":
        y = np.digitize(y, [0.8, 1.2])
    data = xgb.DMatrix(rows.X, y)
    if kind == "rank":
        data.set_info(qid=np.arange(len(y)) // 10)
    if objective == "survival:aft":
        data = xgb.DMatrix(rows.X, label_lower_bound=y[:, 0], label_upper_bound=y[:, 0] + 0.1)
    several = SEVERAL_OUTPUTS.get(objective, SEVERAL_OUTPUTS.get(kind, {}))
    params = {"objective": objective, "max_depth": 3, "verbosity": 0, **several, **params}
    return xgb.train(params, data, 5)


def test_all_stock_objectives_are_known(rows):
    with pytest.raises(xgb.core.XGBoostError, match="Unknown objective") as raised:
        _of_stock(rows, "unknown:objective", 1)
    listed = re.findall(r"Objective candidate: (\S+)", str(raised.value))
    own = {name for name in listed if not name.startswith("multilabel")}
    assert own == {*STOCK_OBJECTIVES, "reg:linear"}  # whose models have reg:squarederror


@pytest.mark.parametrize("objective", STOCK_OBJECTIVES)
def test_a_stock_objective_predicts_the_same_in_treelite_or_is_refused(rows, objective):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = _of_stock(rows, objective, 1)
    if objective not in IN_TREELITE:
        message = rf"^Treelite does not predict .* '{objective}'\. Possible .* reg:squarederror"
        with pytest.raises(ValueError, match=message):
            to_treelite(booster)
        return
    expected = booster.predict(xgb.DMatrix(rows.X_new))
    found = treelite.gtil.predict(to_treelite(booster), rows.X_new)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("as_classes", [False, True])
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_trees_of_single_labels_in_treelite(rows, strategy, as_classes):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = _of_stock(rows, "binary:logistic", 3, multi_strategy=strategy)
    trees = to_treelite(booster, as_classes=as_classes)
    expected = booster.predict(xgb.DMatrix(rows.X_new))
    found = treelite.gtil.predict(trees, rows.X_new)
    assert found.shape == (len(expected), *((1, 3) if as_classes else (3, 1)))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_classes_in_treelite_have_probabilities(rows, n_labels):
    pytest.importorskip("treelite", reason="Treelite is not installed")
    with pytest.raises(ValueError, match=r"^The objective 'binary:hinge' predicts no prob"):
        to_treelite(_of_stock(rows, "binary:hinge", n_labels), as_classes=True)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_model_is_written_as_stock_writes_its_own(rows, objective):
    ours = stock_booster(_train(rows, 4, objective=f"multilabel:{objective}"))
    own = _train(
        rows,
        4,
        objective="binary:logitraw" if objective == "logitraw" else "binary:logistic",
        multi_strategy="multi_output_tree",
    )
    ours_model, own_model = (json.loads(booster.save_raw("json")) for booster in (ours, own))
    assert _names(ours_model) == _names(own_model)
    assert ours_model["learner"]["objective"] == own_model["learner"]["objective"]
    assert ours_model["version"] == own_model["version"]
    assert b"multilabel" not in ours.save_raw("ubj")
    assert "multilabel" not in ours.save_config()


def test_start_label_features_and_names_are_kept(rows):
    base_score = [0.1, 0.2, 0.3, 0.4]
    X = np.hstack([rows.X, np.full((len(rows.X), 4), np.nan, dtype=np.float32)])
    booster = xgb.train(
        {
            "objective": "multilabel:maxGain",
            "base_score": base_score,
            "label_feature_begin": rows.X.shape[1],
        },
        xgb.DMatrix(X, rows.Y, feature_names=list("abcdefghi")),
        3,
    )
    stock = stock_booster(booster)
    model = json.loads(stock.save_raw("json"))["learner"]
    stored = json.loads(model["learner_model_param"]["base_score"])
    np.testing.assert_allclose(stored, base_score, rtol=1e-6)
    assert stock.feature_names == list("abcdefghi")
    np.testing.assert_array_equal(
        stock.inplace_predict(X, predict_type="margin"),
        booster.inplace_predict(X, predict_type="margin"),
    )


def test_the_booster_is_not_changed(rows):
    booster = _train(rows, 4, objective="multilabel:maxGain")
    before = booster.save_raw("ubj")
    stock_booster(booster)
    assert booster.save_raw("ubj") == before


def test_a_stock_objective_is_kept(rows):
    booster = xgb.train({"objective": "reg:squarederror"}, xgb.DMatrix(rows.X, rows.Y[:, 0]), 2)
    assert stock_booster(booster).save_raw("ubj") == booster.save_raw("ubj")


def _names(model):
    """Collect the names of a JSON model's entries, trees by their first."""
    if isinstance(model, dict):
        return {name: _names(entry) for name, entry in model.items()}
    return [_names(model[0])] if isinstance(model, list) and model else None


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("objective", ["logistic", "maxGain", "logitraw"])
def test_predictions_in_treelite(rows, objective, n_labels):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = xgb.train(
        {"objective": f"multilabel:{objective}", "max_depth": 4},
        xgb.DMatrix(rows.X, rows.Y[:, :n_labels]),
        20,
    )
    predicted = treelite.gtil.predict(to_treelite(booster), rows.X_new)
    expected = booster.predict(xgb.DMatrix(rows.X_new), strict_shape=True)
    np.testing.assert_allclose(
        predicted.reshape(len(rows.X_new), n_labels), expected, rtol=0, atol=2e-6
    )


@pytest.mark.parametrize("as_classes", [False, True])
@pytest.mark.parametrize("name", OF_BOOSTERS)
def test_estimators_in_treelite(mixed_models, name, as_classes):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    model, X = mixed_models[name], mixed_models.X_new
    trees = to_treelite(model, as_classes=as_classes)
    predicted = treelite.gtil.predict(trees, X)
    n_labels = model.n_labels_
    assert predicted.shape == (len(X), *((1, n_labels) if as_classes else (n_labels, 1)))
    expected = model._proba(model._check_X(X))
    np.testing.assert_allclose(predicted.reshape(expected.shape), expected, rtol=0, atol=1e-6)


def test_a_stock_forest_in_treelite(mixed_models, tmp_path):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    forest = to_forest(mixed_models["mixture of boosters"])
    forest.save_model(tmp_path / "forest.ubj")
    trees = treelite.frontend.load_xgboost_model(tmp_path / "forest.ubj")
    X = mixed_models.X_new
    np.testing.assert_allclose(
        treelite.gtil.predict(trees, X)[:, :, 0], forest.inplace_predict(X), rtol=0, atol=1e-6
    )


def test_what_treelite_does_not_take(mixed_models):
    pytest.importorskip("treelite", reason="Treelite is not installed")
    with pytest.raises(TypeError, match=r"is not a booster.*use CompiledModel, to_onnx"):
        to_treelite(mixed_models["trees"])


def test_a_booster_of_a_chain(fitted_chain, rows):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = fitted_chain("paper").boosters_[-1][0]
    P = np.full((len(rows.X_new), 4), np.nan, dtype=np.float32)
    P[:, 1] = 0.75
    joined = np.hstack([rows.X_new, P])
    predicted = treelite.gtil.predict(to_treelite(booster), joined)
    np.testing.assert_allclose(
        predicted[:, :, 0], booster.inplace_predict(joined), rtol=0, atol=2e-6
    )


def test_without_treelite(fitted_chain, monkeypatch):
    import_ = builtins.__import__

    def without_treelite(name, *args):
        if name == "treelite":
            raise ImportError(name)
        return import_(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_treelite)
    with pytest.raises(ImportError, match="pip install treelite"):
        to_treelite(fitted_chain("paper").boosters_[0][0])


STOCK = "xgboost==3.4.1"

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import xgboost as xgb

assert xgb.__version__ == "3.4.1"
assert "XDCC_MULTILABEL" not in xgb.build_info()
folder = Path(sys.argv[1])
X = np.load(folder / "X.npy")
for path in sorted(folder.glob("booster_*.*")):
    booster = xgb.Booster(model_file=path)
    found = booster.inplace_predict(X, validate_features=False, strict_shape=True)
    np.save(path.with_suffix(".npy"), found)
try:
    xgb.Booster(model_file=folder / "plugin.ubj")
except xgb.core.XGBoostError as error:
    assert "multilabel:logistic" in str(error), error
else:
    raise AssertionError("The stock library read a model of the plugin.")
"""


@pytest.fixture(scope="module")
def stock_python(tmp_path_factory):
    """Return the Python of a new environment with the stock wheel."""
    directory = tmp_path_factory.mktemp("stock_wheel")
    venv.create(directory, with_pip=True)
    python = directory / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    # -I: without the PYTHONPATH that may lead to this project and its XGBoost.
    options = ["--quiet", "--retries", "1", "--only-binary", "xgboost"]
    install = [python, "-I", "-m", "pip", "install", *options, STOCK]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode != 0:
        # pip says the same of an index that it cannot reach and of a package that is not there.
        if "No matching distribution" in done.stderr:
            pytest.skip(f"The package index has no {STOCK} or cannot be reached.")
        pytest.fail(f"pip install {STOCK}: {done.stderr}")
    return python


@pytest.mark.slow
def test_the_stock_wheel_predicts_the_same(stock_python, classifier, mixed_models, rows, tmp_path):
    np.save(tmp_path / "X.npy", rows.X_new)
    target = np.nan_to_num(rows.X[:, :2])
    models = {
        **{name.replace(" ", "_"): mixed_models[name] for name in OF_BOOSTERS},
        "stopped_early": classifier,
        "targets": MultiTargetXGBRegressor(n_estimators=3).fit(rows.X, target),
        "classes": MultiClassXGBClassifier(n_estimators=3).fit(rows.X, np.sign(target[:, 0])),
    }
    for name, model in models.items():
        to_stock(model, tmp_path / f"booster_{name}.{'json' if 'fold' in name else 'ubj'}")
    classifier.booster_.save_model(tmp_path / "plugin.ubj")
    stock_booster(classifier.booster_).save_model(tmp_path / "booster_all.ubj")

    subprocess.run([stock_python, "-I", "-W", "error", "-c", PROGRAM, tmp_path], check=True)

    for name, model in models.items():
        found = np.load(tmp_path / f"booster_{name}.npy")
        X = model._check_X(rows.X_new)
        expected = model._labels(X) if name == "targets" else model._proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    expected = classifier.booster_.inplace_predict(rows.X_new)
    np.testing.assert_allclose(np.load(tmp_path / "booster_all.npy"), expected, atol=1e-6)
