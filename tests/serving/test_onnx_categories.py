"""`to_onnx` of models of tables with categories: codes in X, sets of them in trees."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tests.serving.mixed_models import booster, mixed, trees, tuned, two_levels, with_constant
from tests.serving.onnx_runs import coded, properties_of, run_onnxruntime
from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.chain import DynamicChainClassifier
from xdcc.decision import ThresholdClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import to_onnx

pytest.importorskip("onnx")

SIZES = {"small": 2, "colour": 7, "town": 90}
"""Numbers of categories: those of towns need several words of a set."""


class Table:
    """Rows with numbers and categories, and rows with categories that are not among them."""

    def __init__(self):
        rng = np.random.default_rng(0)
        n_rows = 400
        codes = {name: rng.integers(0, size, n_rows) for name, size in SIZES.items()}
        effects = [rng.normal(size=(size, 4))[codes[name]] for name, size in SIZES.items()]
        number = rng.normal(size=n_rows)
        scores = sum(effects) + number[:, np.newaxis] * [1, 0, -1, 0]
        frame = pd.DataFrame({"number": number})
        for name, of in codes.items():
            frame[name] = pd.Series([f"{name} {code}" for code in of], dtype=object)
        frame = frame.mask(rng.random(frame.shape) < 0.1)
        self.X = frame[:250].astype(dict.fromkeys(SIZES, "category"))
        self.Y = (scores[:250] > 0.3).astype(int)
        self.X_new = frame[250:].reset_index(drop=True)
        self.X_new.loc[::6, ["colour", "town"]] = "elsewhere"
        self.targets = scores[:250]


@pytest.fixture(scope="module")
def table():
    return Table()


def assert_same(run, model, X, names=("labels", "probabilities", "margins")):
    """Compare predictions for a table whose categories `model` may not know."""
    proto = to_onnx(model)
    found = run(proto, {"X": coded(X, proto).astype(np.float32)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about these categories
        checked = model._check_X(X)
    assert_outputs(found, model, checked, names)


def assert_outputs(found, model, codes, names=("labels", "probabilities", "margins")):
    methods = {"labels": "_labels", "probabilities": "_proba", "margins": "_margins"}
    for name, values in zip(names, found, strict=True):
        expected = np.asarray(getattr(model, methods[name])(codes))
        if name == "labels" and not hasattr(model, "rule_"):
            near = np.abs(model._proba(codes) - 0.5) < 1e-6
            expected, values = np.where(near, -1, expected), np.where(near, -1, values)
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


MODELS = {
    "booster": lambda: booster(),
    "booster of single categories": lambda: booster(max_cat_to_onehot=100),
    "booster of groups": lambda: booster(labels_per_tree=2),
    "trees": lambda: trees(),
    "linear": lambda: LogisticLabels(C=1.0, n_jobs=1),
    "linear for text": lambda: LogisticLabels(C=1.0, text_like=True, n_jobs=1),
    "folds": lambda: tuned(booster()),
    "chain": lambda: DynamicChainClassifier(n_estimators=4, chain_length=3, n_jobs=1),
    "chain with an end": lambda: DynamicChainClassifier(
        n_estimators=4, propagate="cross_val", end_label=True, cv=3, n_jobs=1
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_missing_and_unknown_categories(run, table, name):
    model = MODELS[name]()
    model.fit(table.X, table.Y)
    assert_same(run, model, table.X_new)


@pytest.mark.parametrize("name", ["booster", "folds", "trees", "linear", "chain"])
def test_codes_outside_all_sets(run, table, name):
    """The kernel for single forests and linear models takes codes of categories only."""
    model = MODELS[name]()
    model = tuned(model) if name in ("trees", "linear") else model
    model.fit(table.X, table.Y)
    codes = model._check_X(table.X[:40])
    codes[::4, 1:] = [-1, 7, 90]
    codes[1::4, 1:] = [2, 50, 10_000]
    assert_outputs(run(to_onnx(model), {"X": codes}), model, codes)


def test_members_of_a_mixture(run, table, mixed_models):
    Y = with_constant(table.Y)
    kinds = booster(), trees(), LogisticLabels(C=1.0, n_jobs=1)
    mixture = mixed(mixed_models["mixture"], *(tuned(kind).fit(table.X, Y) for kind in kinds))
    assert_same(run, mixture, table.X_new)
    with_second_level = two_levels(mixture, mixture._check_X(table.X), Y)
    assert_same(run, with_second_level, table.X_new)


def test_a_fitted_mixture(table):
    model = MultiLabelClassifier(cv=2, n_jobs=1, random_state=0).fit(table.X, table.Y)
    assert_same(run_onnxruntime, model, table.X_new)


def test_targets_classes_and_tuned_thresholds(run, table):
    regressor = MultiTargetXGBRegressor(n_estimators=5, n_jobs=1).fit(table.X, table.targets)
    proto = to_onnx(regressor)
    (targets,) = run(proto, {"X": coded(table.X_new, proto).astype(np.float32)})
    with pytest.warns(UserWarning, match="did not occur in fit"):
        np.testing.assert_allclose(targets, regressor.predict(table.X_new), rtol=1e-5, atol=1e-6)
    classes = MultiClassXGBClassifier(n_estimators=5, n_jobs=1)
    classes.fit(table.X, table.Y.sum(axis=1))
    proto = to_onnx(classes)
    labels, proba = run(proto, {"X": coded(table.X_new, proto).astype(np.float32)})
    with pytest.warns(UserWarning, match="did not occur in fit"):
        np.testing.assert_allclose(proba, classes.predict_proba(table.X_new), atol=1e-6)
    with pytest.warns(UserWarning, match="did not occur in fit"):
        expected = classes.predict(table.X_new)
    np.testing.assert_array_equal(classes.classes_[labels[:, 0]], expected)
    thresholds = ThresholdClassifier(booster(), method="per_label", random_state=0)
    thresholds.fit(table.X, table.Y)
    proto = to_onnx(thresholds)
    labels, _, _ = run(proto, {"X": coded(table.X_new, proto).astype(np.float32)})
    with pytest.warns(UserWarning, match="did not occur in fit"):
        np.testing.assert_array_equal(labels, thresholds.predict(table.X_new))


def test_many_sets_of_many_categories():
    """Sets fill several blocks of a table, whose rows are shared by categories."""
    rng = np.random.default_rng(1)
    code = rng.integers(0, 500, 3000)
    X = pd.DataFrame({"of": pd.Categorical([f"{each}" for each in code]), "number": 0.0})
    Y = (rng.normal(size=(500, 3))[code] > 0).astype(int)
    for model in (booster(max_cat_threshold=500), trees(min_samples_leaf=1)):
        model.fit(X, Y)
        assert_same(run_onnxruntime, model, X[:300])
        [tree] = [node for node in to_onnx(model).graph.node if node.domain == "ai.onnx.ml"]
        found = {each.name: each for each in tree.attribute}
        tests = zip(found["nodes_featureids"].ints, found["nodes_values"].floats, strict=True)
        tests = {(feature, cut) for feature, cut in tests if feature >= X.shape[1]}
        n_features = len({feature for feature, _ in tests})
        assert len(tests) > 6 * n_features  # most have three sets, with 1 + 2 + 4 cuts


def test_codes_are_described(table):
    X = table.X.assign(year=pd.Categorical(np.resize([2001, 1999], len(table.X))))
    X["id"] = pd.Categorical([f"row {i}" for i in range(len(X))])
    with pytest.warns(UserWarning, match="It is ignored"):
        model = booster().fit(X, table.Y)
    found = properties_of(to_onnx(model))
    assert found["feature_names"] == ["number", *SIZES, "year", "id"]
    assert list(found["categories"]) == [*SIZES, "year", "id"]
    years = found["categories"]["year"]
    assert (years["values"], years["codes"]) == ([1999, 2001], [0, 1])
    towns = found["categories"]["town"]
    assert towns["unknown"] == model.unknown_codes_[3]
    assert towns["codes"] == model.category_codes_[3].tolist()
    assert len(set(towns["codes"])) < len(towns["values"]) == len(model.categories_[3])  # some rare
    assert found["categories"]["id"] == {"values": [], "codes": [], "unknown": None}
    assert_same(run_onnxruntime, model, X[:50].assign(id="another"))


@pytest.mark.parametrize(("unknown", "code"), [("missing", None), ("error", "error")])
def test_other_meanings_of_unknown_categories(table, unknown, code):
    model = booster(unknown_categories=unknown).fit(table.X, table.Y)
    columns = properties_of(to_onnx(model))["categories"]
    assert {column["unknown"] for column in columns.values()} == {code}
    assert_same(run_onnxruntime, model, table.X_new if unknown == "missing" else table.X)


def test_what_cannot_be_exported_is_named(table):
    X = table.X.assign(span=pd.cut(table.X["number"], 3))
    model = booster().fit(X, table.Y)
    with pytest.raises(TypeError, match=r"^The column 'span' of X has the category Interval\("):
        to_onnx(model)
    X = np.column_stack((table.X["number"], np.arange(250) % 3))
    Y = np.column_stack((table.Y, X[:, 1] == 1))
    with pytest.raises(TypeError, match=r"^SketchedExtraTreesClassifier has no form.*categorical_"):
        to_onnx(trees(categorical_features=[1]).fit(X, Y))
