"""`to_stock` and `StockChain`: the exported directory predicts as the estimator does.

Here the patched XGBoost stands in for the stock one, and the export is looked through for names
that only the patched one knows; the last tests load it in an environment of its own, with the stock
wheel from the package index. Of a booster that `stock_booster` rewrote the plugin's names are gone,
and margins stay, bit for bit; the same trees predict in Treelite.
"""

import builtins
import hashlib
import json
import os
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.serving.mixed_models import OF_BOOSTERS
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance
from xdcc.serving import StockChain, stock_booster, stock_chain, to_forest, to_stock, to_treelite
from xdcc.serving.stock_chain import ExportError, logistic


def test_every_chain_predicts_the_same(chain, rows, on_sparse, tmp_path):
    to_stock(chain, tmp_path / "stock")
    to_stock(on_sparse(chain), tmp_path / "sparse stock")
    halves = sparse.csr_array(np.nan_to_num(rows.X_new) / 2)
    twice = sparse.csr_array(
        (halves.data.repeat(2), halves.indices.repeat(2), 2 * halves.indptr), halves.shape
    )
    for X in (
        rows.X_new,
        rows.X_new.astype(np.float64),
        rows.X_new.tolist(),
        2 * halves,
        (2 * halves).tocoo(),
        twice,
    ):
        is_sparse = sparse.issparse(X)
        stock = StockChain(tmp_path / ("sparse stock" if is_sparse else "stock"))
        expected = on_sparse(chain) if is_sparse else chain
        np.testing.assert_array_equal(stock.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(stock.predict(X), expected.predict(X))
    for name in os.listdir(tmp_path / "stock"):
        assert b"multilabel:" not in (tmp_path / "stock" / name).read_bytes()


@pytest.mark.parametrize("prediction", ["cumulated", "standard"])
@pytest.mark.parametrize("cumulation", ["equation9", "authors"])
def test_predictions_and_cumulations(fitted_chain, rows, tmp_path, prediction, cumulation):
    chain = fitted_chain("short standard")
    before = chain.get_params()
    try:
        chain.set_params(prediction=prediction, cumulation=cumulation)
        to_stock(chain, tmp_path / "stock")
        expected = chain.predict_proba(rows.X_new)
    finally:
        chain.set_params(**before)
    stock = StockChain(tmp_path / "stock")
    np.testing.assert_array_equal(stock.predict_proba(rows.X_new), expected)


@pytest.mark.parametrize(("cumulation", "label"), [("equation9", 1), ("authors", 0)])
def test_exactly_one_half(rows, tmp_path, cumulation, label):
    # No split gains anything, so every prediction is the start.
    chain = DynamicChainClassifier(
        n_estimators=1, gamma=1e9, base_score=0.5, learning_rate=0, cumulation=cumulation
    ).fit(rows.X, rows.Y)
    to_stock(chain, tmp_path / "stock")
    stock = StockChain(tmp_path / "stock")
    assert (stock.predict_proba(rows.X_new) == 0.5).all()
    assert (stock.predict(rows.X_new) == label).all()
    assert (chain.predict(rows.X_new) == label).all()


def test_chains_that_end_do_end(fitted_chain, rows):
    """The variants above cover what they are there for."""
    order = fitted_chain("end label").chain_order(rows.X_new).labels
    assert (order == -1).any()
    assert (order >= 0).any()
    assert len(fitted_chain("folds averaged").boosters_[0]) == 3


def test_a_single_booster(classifier, rows, on_sparse, tmp_path):
    to_stock(classifier, tmp_path / "stock")
    to_stock(on_sparse(classifier), tmp_path / "sparse stock")
    for X, name, expected in (
        (rows.X_new, "stock", classifier),
        (sparse.csr_matrix(np.nan_to_num(rows.X_new)), "sparse stock", on_sparse(classifier)),
    ):
        stock = StockChain(tmp_path / name)
        np.testing.assert_array_equal(stock.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(stock.predict(X), expected.predict(X))
    booster = xgb.Booster(model_file=tmp_path / "stock" / "round_000_0.ubj")
    assert booster.num_boosted_rounds() == classifier.best_iteration_ + 1
    np.testing.assert_allclose(
        booster.inplace_predict(rows.X_new), classifier.predict_proba(rows.X_new), atol=2e-7
    )


def test_what_a_sparse_x_does_not_store(rows, tmp_path):
    zeros = np.where(np.isnan(rows.X), 0, rows.X)
    stored = sparse.csr_matrix(zeros)
    models = {
        name: MultiLabelXGBClassifier(n_estimators=3, sparse_zeros=meaning).fit(X, rows.Y)
        for name, X, meaning in (
            ("zero", stored, "zero"),
            ("dense", zeros, "missing"),
            ("sparse", stored, "missing"),
        )
    }
    stock = {}
    for name, model in models.items():
        to_stock(model, tmp_path / name)
        stock[name] = StockChain(tmp_path / name)
    for X in (zeros, stored):
        np.testing.assert_array_equal(
            stock["zero"].predict_proba(X), models["dense"].predict_proba(zeros)
        )
    with pytest.raises(ValueError, match="X is sparse, but the chain was trained on a dense X"):
        stock["dense"].predict(stored)
    with pytest.raises(ValueError, match="X is dense, but the chain was trained on a sparse X"):
        stock["sparse"].predict(zeros)


def test_one_label(rows, tmp_path):
    for model in (DynamicChainClassifier(n_estimators=3), MultiLabelXGBClassifier(n_estimators=3)):
        model.fit(rows.X, rows.Y[:, :1])
        directory = tmp_path / type(model).__name__
        to_stock(model, directory)
        np.testing.assert_array_equal(
            StockChain(directory).predict_proba(rows.X_new), model.predict_proba(rows.X_new)
        )


def test_a_frame(rows, tmp_path):
    names = ["age [years]", "a<b", "größe", "", "e"]
    X = pd.DataFrame(rows.X, columns=names).assign(e=rows.X[:, 4] > 0)
    Y = pd.DataFrame(rows.Y, columns=["lief", "sank", "glühte", "日本"])
    chain = DynamicChainClassifier(n_estimators=3, max_depth=2).fit(X, Y)
    to_stock(chain, tmp_path / "stock")
    stock = StockChain(tmp_path / "stock")
    assert stock.label_names == list(Y.columns)
    assert stock.feature_names == names
    nullable = X.convert_dtypes()
    assert isinstance(nullable.dtypes["e"], pd.BooleanDtype)
    for frame in (X, nullable):
        np.testing.assert_array_equal(stock.predict_proba(frame), chain.predict_proba(frame))
    with pytest.raises(ValueError, match=r"X has the columns .*, the chain was trained on"):
        stock.predict(X[names[::-1]])


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
def test_categories_are_recoded_by_value(rows, tmp_path):
    codes = rows.X.copy()
    codes[:, 1] = np.digitize(rows.X[:, 1], [-0.5, 0.5])
    codes[:, 3] = np.digitize(rows.X[:, 3], [0])
    codes[:5, 1] = np.nan
    chain = DynamicChainClassifier(n_estimators=5).fit(codes, rows.Y)
    expected = chain.predict_proba(codes)
    categories = {1: np.array(["low", "mid", "high"], object), 3: np.array([20, 10])}
    chain._input_form = replace(chain._input_form, categories=categories)
    frame = pd.DataFrame(codes).astype({0: "float32"})
    frame[1] = pd.Categorical.from_codes(
        np.nan_to_num(codes[:, 1], nan=-1).astype(int), ["low", "mid", "high"]
    ).reorder_categories(["high", "low", "mid"])
    frame[3] = pd.Categorical(np.array([20, 10])[codes[:, 3].astype(int)])
    to_stock(chain, tmp_path / "stock")
    stock = StockChain(tmp_path / "stock")
    np.testing.assert_array_equal(chain.predict_proba(frame), expected)
    np.testing.assert_array_equal(stock.predict_proba(frame), expected)
    np.testing.assert_array_equal(stock.predict_proba(frame.to_numpy(object)), expected)

    unseen, missing = frame.copy(), frame.copy()
    unseen[1] = pd.Categorical(["new"] * len(frame))
    missing[1] = pd.Categorical([None] * len(frame), ["low"])
    np.testing.assert_array_equal(stock.predict_proba(unseen), chain.predict_proba(unseen))
    np.testing.assert_array_equal(stock.predict_proba(unseen), stock.predict_proba(missing))
    with pytest.raises(ValueError, match="sparse, but the chain was trained on categories"):
        stock.predict(sparse.csr_matrix(np.nan_to_num(codes)))


def test_the_exported_directory_needs_no_xdcc(fitted_chain, rows, tmp_path):
    """Its stock_chain.py runs where xdcc cannot be imported."""
    to_stock(fitted_chain("end label"), tmp_path / "stock")
    np.save(tmp_path / "X.npy", rows.X_new)
    program = (
        "import sys; sys.modules['xdcc'] = sys.modules['pandas'] = sys.modules['sklearn'] = None\n"
        "import numpy as np\n"
        "from stock_chain import StockChain\n"
        "np.save('proba.npy', StockChain('stock').predict_proba(np.load('X.npy')))\n"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "stock")},
        check=True,
    )
    np.testing.assert_array_equal(
        np.load(tmp_path / "proba.npy"), fitted_chain("end label").predict_proba(rows.X_new)
    )
    assert sorted(os.listdir(tmp_path / "stock")) == [
        "chain.json",
        *(f"round_{round_:03}_0.ubj" for round_ in range(fitted_chain("end label").n_rounds_)),
        "stock_chain.py",
    ]


def test_logistic_is_the_plugins_bit_for_bit(rows):
    margins = np.concatenate(
        [np.linspace(-120, 120, 100_001), np.random.default_rng(0).normal(size=100_000)]
    ).astype(np.float32)
    booster = xgb.train(
        {"objective": "multilabel:logistic", "learning_rate": 0}, xgb.DMatrix(rows.X, rows.Y), 1
    )
    X = np.zeros((len(margins), rows.X.shape[1]), dtype=np.float32)
    base_margin = np.repeat(margins[:, np.newaxis], 4, axis=1)
    expected = booster.inplace_predict(X, base_margin=base_margin)[:, 0]
    np.testing.assert_array_equal(logistic(margins), expected)


# Bad input


def test_what_cannot_be_exported(fitted_chain, rows, tmp_path):
    with pytest.raises(NotFittedError):
        to_stock(DynamicChainClassifier(), tmp_path / "stock")
    with pytest.raises(TypeError, match=r"not xdcc\..*\.BinaryRelevance\..*use to_forest"):
        to_stock(BinaryRelevance(), tmp_path / "stock")
    model = MultiLabelXGBClassifier(n_estimators=1).fit(rows.X, rows.Y)
    for categories in (
        np.array(["2026-11-21"], dtype="datetime64[ns]"),
        np.array([1.5, np.inf]),
        np.array(["a", (1, 2)], dtype=object),
    ):
        model._input_form = replace(model._input_form, categories={3: categories})
        with pytest.raises(TypeError, match="categories of column 3 are"):
            to_stock(model, tmp_path / "stock")
    chain = DynamicChainClassifier(n_estimators=1, chain_length=1).fit(rows.X, rows.Y)
    with pytest.raises(ValueError, match="prediction"):
        to_stock(chain.set_params(prediction="best"), tmp_path / "stock")
    assert os.listdir(tmp_path) == []


def test_invalid_directories_are_refused(fitted_chain, tmp_path):
    chain = fitted_chain("paper")
    (tmp_path / "file").write_text("mine")
    for name in (".", "file"):
        with pytest.raises(FileExistsError, match="already exists"):
            to_stock(chain, tmp_path / name)
    with pytest.raises(FileNotFoundError):
        to_stock(chain, tmp_path / "missing" / "stock")
    assert (tmp_path / "file").read_text() == "mine"
    assert os.listdir(tmp_path) == ["file"]


def test_a_failed_export_leaves_nothing(fitted_chain, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("xdcc.serving.stock_export.write_synced", fail)
    with pytest.raises(OSError, match="No space left"):
        to_stock(fitted_chain("paper"), tmp_path / "stock")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def exported(fitted_chain, tmp_path):
    to_stock(fitted_chain("paper"), tmp_path / "stock")
    return tmp_path / "stock"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"xgboost": "99.1.0"}, r"needs xgboost 99\.1\.0 or newer"),
        ({"format_version": 99}, r"has format 99.*use the stock_chain\.py in that directory"),
    ],
)
def test_newer_exports_are_refused(exported, change, message):
    path = exported / "chain.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(RuntimeError, match=message):
        StockChain(exported)


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": [["../secret.ubj"]]},
        {"rounds": [["round_000_0.ubj"]]},
        {"rounds": [["0" * 64 + "\n"]]},
        {"rounds": [["0" * 63]]},
        {"rounds": [[]]},
        {"rounds": []},
        {"rounds": "0" * 64},
        {"rounds": ["0" * 64]},
        {"rounds": [[7]]},
        {"n_label_features": 10**10},
        {"n_label_features": 1},
        {"n_label_features": True},
        {"n_features": 0},
        {"n_features": 5.0},
        {"label_names": []},
        {"label_names": ["a", "b", "c", 4]},
        {"label_names": {"a": 1}},
        {"feature_names": ["one"]},
        {"categories": [[5, ["a"]]]},
        {"categories": [[0, [["a"]]]]},
        {"categories": [0]},
        {"categories": {}},
        {"classes": ["no", "yes"]},
        {"classes": {"dtype": "|O", "values": ["no", "yes"]}},
        {"candidates": ["open"]},
        {"order": "random"},
        {"labels_per_round": 0},
        {"labels_per_round": "1"},
        {"end_label": 1},
        {"sparse_zeros": "absent"},
        {"sparse_X": 0},
        {"prediction": None},
        {"cumulation": "none"},
        {"xgboost": "9" * 5000},
        {"xgboost": 3},
    ],
    ids=lambda change: json.dumps(change)[:60],
)
def test_malformed_settings_are_refused(exported, change):
    path = exported / "chain.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    [name] = change
    with pytest.raises(ExportError, match=f"has {name}=.*, which to_stock does not write"):
        StockChain(exported)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "has no format_version"),
        ("[]", "holds a list"),
        ("7", "holds a int"),
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("[" * 200_000, "is not valid JSON"),
        ("\udcff", "is not valid JSON"),
        ("1" * 5000, "is not valid JSON"),
        ('{"format_version": NaN}', "has no format_version"),
        (f'{{"format_version": {stock_chain.FORMAT_VERSION}}}', "has no xgboost"),
        (" " * (2**25 + 1), "bytes"),
    ],
    ids=lambda value: value[:30],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "chain.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ExportError, match=message):
        StockChain(tmp_path)


def test_every_missing_setting_is_named(exported):
    path = exported / "chain.json"
    settings = json.loads(path.read_text("utf-8"))
    for name in set(settings) - {"format_version"}:
        path.write_text(json.dumps({n: v for n, v in settings.items() if n != name}), "utf-8")
        with pytest.raises(ExportError, match=f"has no {name}"):
            StockChain(exported)


@pytest.fixture
def replace_first(exported):
    """Put another booster in the place of the first one, with the SHA-256 of the new one."""

    def replace(write):
        path, settings_path = exported / "round_000_0.ubj", exported / "chain.json"
        write(path)
        settings = json.loads(settings_path.read_text("utf-8"))
        settings["rounds"][0][0] = hashlib.sha256(path.read_bytes()).hexdigest()
        settings_path.write_text(json.dumps(settings), "utf-8")

    return replace


def test_other_boosters_are_refused(exported, replace_first, classifier):
    replace_first(stock_booster(classifier.booster_).save_model)
    with pytest.raises(ExportError, match=r"takes 5 features; chain\.json says 9"):
        StockChain(exported)
    replace_first(lambda path: path.write_bytes(b"no booster"))
    with pytest.raises(ExportError, match=r"round_000_0\.ubj cannot be read"):
        StockChain(exported)


def test_boosters_of_fewer_labels_are_refused(exported, replace_first, rows):
    X = rows.X.repeat(2, axis=1)[:, :9]
    booster = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, rows.Y[:, 0]), 1)
    replace_first(booster.save_model)
    with pytest.raises(ExportError, match=r"predicts 1 labels; chain\.json says 4"):
        StockChain(exported).predict(rows.X_new)


@pytest.mark.parametrize("change", ["a bit", "cut", "longer", "empty", "another"])
def test_damaged_boosters_are_refused(exported, change):
    path = exported / "round_000_0.ubj"
    data = bytearray(path.read_bytes())
    if change == "a bit":
        data[len(data) // 2] ^= 4
    elif change == "cut":
        del data[-1:]
    elif change == "longer":
        data.append(0)
    elif change == "empty":
        data.clear()
    else:
        data = (exported / "round_001_0.ubj").read_bytes()
    path.write_bytes(data)
    with pytest.raises(ExportError, match=r"round_000_0\.ubj is not the booster whose SHA-256"):
        StockChain(exported)


def test_missing_boosters_are_named(exported):
    (exported / "round_001_0.ubj").unlink()
    with pytest.raises(ExportError, match=r"has no round_001_0\.ubj"):
        StockChain(exported)


def test_rounds_without_files_are_refused(exported):
    path = exported / "chain.json"
    settings = json.loads(path.read_text("utf-8"))
    settings["rounds"] *= 10_000
    path.write_text(json.dumps(settings), "utf-8")
    with pytest.raises(ExportError, match=r"has no round_.*, which chain\.json lists"):
        StockChain(exported)


_TARGETS = {
    "text": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "numbers": np.array([-1, 3], dtype=np.int32),
    "whole floats": np.array([-1.0, 2.0]),
    "truth": np.array([False, True]),
    "one class": np.array(["always", "always"]),
}


@pytest.mark.parametrize("kind", [MultiLabelXGBClassifier, DynamicChainClassifier])
@pytest.mark.parametrize("target", _TARGETS)
def test_a_target_of_one_dimension(rows, tmp_path, kind, target):
    model = kind(n_estimators=3).fit(rows.X, _TARGETS[target][rows.Y[:, 0]])
    to_stock(model, tmp_path / "stock")
    stock = StockChain(tmp_path / "stock")
    expected = model.predict(rows.X_new)
    np.testing.assert_array_equal(stock.predict(rows.X_new), expected)
    assert stock.predict(rows.X_new).dtype == expected.dtype
    np.testing.assert_array_equal(stock.predict_proba(rows.X_new), model.predict_proba(rows.X_new))
    np.testing.assert_array_equal(stock.classes, model.classes_)


@pytest.mark.parametrize(
    "classes",
    [
        {"dtype": "<i8", "values": ["no", "yes"]},
        {"dtype": "<i8", "values": [10**400, 1]},
        {"dtype": "<i8", "values": [1.5, 2]},
        {"dtype": "<U1", "values": ["no", "yes"]},
        {"dtype": "<f8", "values": [float("nan"), 1]},
        {"dtype": "|b4", "values": [False, True]},
    ],
    ids=lambda classes: classes["dtype"],
)
def test_classes_of_another_type_than_stated(rows, tmp_path, classes):
    to_stock(MultiLabelXGBClassifier(n_estimators=1).fit(rows.X, rows.Y[:, 0]), tmp_path / "stock")
    path = tmp_path / "stock" / "chain.json"
    settings = json.loads(path.read_text("utf-8"))
    settings["classes"] = classes
    path.write_text(json.dumps(settings), "utf-8")
    with pytest.raises(ExportError, match=r"The classes in chain\.json are not of type"):
        StockChain(tmp_path / "stock")


def test_a_directory_without_a_chain(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"chain\.json"):
        StockChain(tmp_path)


@pytest.mark.parametrize("shape", [(3, 4), (3, 9), (5,), (0,)])
def test_other_columns_are_refused(exported, shape):
    with pytest.raises(ValueError, match=r"it must be \(n_samples, 5\)"):
        StockChain(exported).predict(np.zeros(shape))


def test_the_exported_copy_is_the_module(exported):
    source = Path(stock_chain.__file__).read_bytes()
    assert (exported / "stock_chain.py").read_bytes() == source


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
from scipy import sparse

assert xgb.__version__ == "3.4.1"
assert "XDCC_MULTILABEL" not in xgb.build_info()
folder = Path(sys.argv[1])
inputs = {"dense": np.load(folder / "dense.npy"), "sparse": sparse.load_npz(folder / "sparse.npz")}
for directory in sorted(folder.glob("export_*")):
    sys.path.insert(0, str(directory))
    from stock_chain import StockChain
    model = StockChain(directory)
    X = inputs["sparse" if directory.name.endswith("_sparse") else "dense"]
    np.save(directory / "proba.npy", model.predict_proba(X))
    np.save(directory / "labels.npy", model.predict(X))
    del sys.path[0], sys.modules["stock_chain"]
for path in sorted(folder.glob("booster_*.ubj")):
    booster = xgb.Booster(model_file=path)
    np.save(path.with_suffix(".npy"), booster.inplace_predict(inputs["dense"]))
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
def test_the_stock_wheel_predicts_the_same(
    stock_python, fitted_chain, every_chain, classifier, rows, on_sparse, tmp_path
):
    inputs = {"dense": rows.X_new, "sparse": sparse.csr_matrix(np.nan_to_num(rows.X_new))}
    np.save(tmp_path / "dense.npy", inputs["dense"])
    sparse.save_npz(tmp_path / "sparse.npz", inputs["sparse"])
    names = ["age [years]", "a<b", "größe", "", "e"]
    named = pd.DataFrame(rows.X, columns=names)
    models = {
        **{name.replace(" ", "_"): fitted_chain(name) for name in every_chain},
        "booster": classifier,
        "named": DynamicChainClassifier(n_estimators=3).fit(named, rows.Y),
        "one_label": DynamicChainClassifier(n_estimators=3).fit(rows.X, rows.Y[:, 0]),
    }
    models |= {f"{name}_sparse": on_sparse(m) for name, m in models.items() if name != "named"}
    for name, model in models.items():
        to_stock(model, tmp_path / f"export_{name}")
    booster = classifier.booster_
    booster.save_model(tmp_path / "plugin.ubj")
    stock_booster(booster).save_model(tmp_path / "booster_all.ubj")

    subprocess.run([stock_python, "-I", "-W", "error", "-c", PROGRAM, tmp_path], check=True)

    for name, model in models.items():
        directory = tmp_path / f"export_{name}"
        X = inputs["sparse" if name.endswith("_sparse") else "dense"]
        X = pd.DataFrame(X, columns=names) if name == "named" else X
        Y_proba, Y_pred = (np.load(directory / f"{what}.npy") for what in ("proba", "labels"))
        np.testing.assert_allclose(Y_proba, model.predict_proba(X), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(Y_pred, model.predict(X))
    np.testing.assert_allclose(
        np.load(tmp_path / "booster_all.npy"), booster.inplace_predict(rows.X_new), atol=1e-6
    )
