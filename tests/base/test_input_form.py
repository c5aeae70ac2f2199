"""The form of X that `fit` learns: rows as dicts, and the attributes that are parts of it."""

import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xdcc.base.features import learn_features
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.serving import CompiledModel, load_model, save_model

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=80),
        "colour": pd.Categorical(RNG.choice(["red", "green", "blue"], 80)),
        "floor": pd.Categorical(RNG.choice([1, 2, 30], 80)),
        "new": RNG.random(80) < 0.5,
    }
)
Y = np.stack((FRAME["colour"] == "red", FRAME["size"] > 0, FRAME["floor"] == 2), 1).astype(int)
BOOSTER = MultiLabelXGBClassifier(n_estimators=5, n_jobs=1)
KINDS = {
    "booster": BOOSTER,
    "tuned": TunedDecisionClassifierCV(BOOSTER, cv=2, random_state=0),
    "forest": SketchedExtraTreesClassifier(n_estimators=10, random_state=0, n_jobs=1),
    "rules": BoomerClassifier(n_rules=10, random_state=0, n_jobs=1),
}


@pytest.fixture(scope="module", params=[*KINDS, "compiled", "mapped"])
def model(request: Any, tmp_path_factory: Any) -> Any:
    if request.param in KINDS:
        return clone(KINDS[request.param]).fit(FRAME, Y)
    compiled = CompiledModel(clone(BOOSTER).fit(FRAME, Y))
    if request.param == "mapped":
        path = tmp_path_factory.mktemp("models") / "model"
        save_model(compiled, path)
        return load_model(path, compiled=True)
    return compiled


def _records(n_rows: int = 5) -> list[dict[str, Any]]:
    records = FRAME[:n_rows].to_dict("records")
    return [{str(key): value for key, value in record.items()} for record in records]


def test_rows_as_dicts_in_any_order_of_keys(model: Any) -> None:
    expected = model.predict_proba(FRAME[:5])
    turned = [dict(reversed(record.items())) for record in _records()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict_proba(_records()), expected)
        np.testing.assert_array_equal(model.predict_proba(turned), expected)
        np.testing.assert_array_equal(model.predict_proba(turned[0]), expected[:1])
        np.testing.assert_array_equal(model.predict(turned), model.predict(FRAME[:5]))


def test_missing_keys_are_missing_values_with_a_warning(model: Any) -> None:
    rows = _records(3)
    del rows[1]["colour"], rows[0]["size"]
    rows[2]["floor"] = rows[2]["size"] = None
    frame = FRAME[:3].copy()
    frame.loc[0, "size"] = frame.loc[2, "size"] = np.nan
    frame.loc[1, "colour"] = frame.loc[2, "floor"] = np.nan
    with pytest.warns(UserWarning, match="without a key") as found:
        proba = model.predict_proba(rows)
    assert [str(each.message) for each in found] == [
        "Features without a key in rows of X: 'size', 'colour'. They are taken as missing. Give a "
        "missing value as None."
    ]
    assert found[0].filename == __file__
    np.testing.assert_array_equal(proba, model.predict_proba(frame))
    with pytest.warns(UserWarning, match="of X: 'size', 'colour', 'floor', 'new'. They"):
        model.predict({})


def test_features_that_need_no_key() -> None:
    frame = FRAME.assign(row=pd.Categorical([f"row {k}" for k in range(80)]))
    with pytest.warns(UserWarning, match="'row'"):
        ignores = clone(BOOSTER).fit(frame, Y)
    columns = [f"word {k}" for k in range(30)]
    words = sparse.random(80, 30, 0.2, format="csr", random_state=0)
    sparse_frame = pd.DataFrame.sparse.from_spmatrix(words, columns=columns)
    lacks_zeros = clone(BOOSTER).fit(sparse_frame, Y)
    steps = make_column_transformer((StandardScaler(), ["size", "new"]))
    pipeline = make_pipeline(steps, clone(BOOSTER)).fit(FRAME, Y)
    ignores.predict(_records())
    lacks_zeros.predict({"word 3": 1.0})
    CompiledModel(pipeline).predict({"size": 1.0, "new": True})
    with pytest.warns(UserWarning, match="without a key in rows of X: 'new'. They"):
        CompiledModel(pipeline).predict({"size": 1.0})


def test_long_lists_are_cut() -> None:
    names = [f"f{k}" for k in range(30)]
    model = clone(BOOSTER).fit(pd.DataFrame(RNG.normal(size=(80, 30)), columns=names), Y)
    with pytest.warns(UserWarning, match=r"'f18', 'f19' and 10 more\. They"):
        model.predict({})


def test_unknown_keys_are_listed_once(model: Any) -> None:
    rows = [{**record, "weight": 1.5, 7: "x"} for record in _records()]
    rows[3]["height"] = None
    with pytest.warns(UserWarning, match="were not features") as found:
        proba = model.predict_proba(rows)
    assert [str(each.message) for each in found] == [
        "Keys in rows of X that were not features in fit: 'weight', 7, 'height'. They are left out."
    ]
    assert found[0].filename == __file__
    np.testing.assert_array_equal(proba, model.predict_proba(FRAME[:5]))


def test_unknown_categories_are_read_as_in_a_frame(model: Any) -> None:
    rows = _records()
    rows[1]["colour"], rows[2]["floor"] = "pink", 4
    frame = pd.DataFrame(rows)
    with pytest.warns(UserWarning, match="'pink'; in column 'floor' of X .1 row.: 4") as found:
        proba = model.predict_proba(rows)
    assert len(found) == 1
    with pytest.warns(UserWarning, match="'pink'; in column 'floor' of X .1 row.: 4"):
        np.testing.assert_array_equal(proba, model.predict_proba(frame))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("size", "1.5", "X[1]['size'] is '1.5', but in fit it was a number."),
        ("size", 1j, "X[1]['size'] is 1j, but in fit it was a number."),
        ("new", [True], "X[1]['new'] is [True], but in fit it was a number."),
        ("size", np.inf, "X[1]['size'] is inf: infinity, or too large for a float32."),
        ("size", 10**400, "infinity, or too large for a float32."),
        ("colour", 3.5, "X[1]['colour'] is 3.5, but in fit it was a category, such as 'blue'."),
        ("colour", ["red"], "X[1]['colour'] is ['red'], which is not a category."),
        ("floor", "2", "X[1]['floor'] is '2', but in fit it was a category, such as 1."),
    ],
)
def test_values_of_the_wrong_type(model: Any, key: str, value: Any, message: str) -> None:
    rows = _records()
    rows[1][key] = value
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict_proba(rows)


def test_dicts_need_names() -> None:
    fitted = clone(BOOSTER).fit(RNG.normal(size=(20, 3)), Y[:20])
    for model in (fitted, CompiledModel(fitted)):
        name = type(model).__name__
        with pytest.raises(ValueError, match=f"rows as dicts, but {name} was fitted without names"):
            model.predict([{"size": 1.5}])
    named = clone(BOOSTER).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"X has rows as dicts, but X\[1\] is a list\."):
        named.predict([_records()[0], [1.0]])


def test_attributes_are_parts_of_the_forms() -> None:
    model = clone(BOOSTER)
    for name in ("n_features_in_", "feature_names_in_", "categories_", "sparse_X_", "classes_"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(model, name)
    model.fit(FRAME, Y)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(FRAME)
    assert {at: values.tolist() for at, values in model.categories_.items()} == {
        1: ["blue", "green", "red"],
        2: [1, 2, 30],
    }
    assert not model.sparse_X_
    with pytest.raises(AttributeError, match="n_features_in_ is learned by fit and cannot"):
        model.n_features_in_ = 3
    again = pickle.loads(pickle.dumps(model))
    assert again.categories_[2].tolist() == [1, 2, 30]
    model.fit(sparse.csr_matrix(RNG.normal(size=(80, 2))), Y)
    assert model.sparse_X_
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "categories_")


def test_deciders_have_the_form_of_their_classifiers() -> None:
    model = clone(KINDS["tuned"]).fit(FRAME, Y)
    assert all(each._input_form is model._input_form for each in model.estimators_)
    foreign = TunedDecisionClassifierCV(LogisticRegression(), cv=2, random_state=0)
    foreign.fit(FRAME[["size", "new"]], Y[:, 0])
    assert foreign._input_form.is_open
    assert foreign.feature_names_in_.tolist() == ["size", "new"]
    assert foreign.n_features_in_ == 2


def test_rows_for_classifiers_without_a_flat_form() -> None:
    X = np.asfortranarray(RNG.normal(size=(80, 3)))
    model = TunedDecisionClassifierCV(KINDS["rules"], cv=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X.tolist()))
    X[7, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict(X)


def test_names_of_several_types() -> None:
    with pytest.raises(TypeError, match=r"input has \['int', 'str'\] as feature name"):
        learn_features(pd.DataFrame({"a": [1.0], 1: [2.0]}), "Model")


def test_names_that_differ() -> None:
    form, _ = learn_features(pd.DataFrame(np.eye(7), columns=list("abcdefg")), "Model")
    frame = pd.DataFrame(np.eye(7), columns=list("tuvwxyz"))
    listed = "- t\n- u\n- v\n- w\n- x\n- ...\n"
    with pytest.raises(ValueError, match=f"unseen at fit time:\n{listed}Feature names seen at fit"):
        form.check(frame, "Model")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Model was"):
        form.check(np.eye(7), "Model")
    unnamed, _ = learn_features(np.eye(7), "Model")
    with pytest.warns(UserWarning, match="X has feature names, but Model was fitted without"):
        unnamed.check(frame, "Model")
    with pytest.raises(ValueError, match="X has 6 features, but Model is expecting 7 features"):
        unnamed.check(np.eye(6), "Model")
