"""Rows of DataFrames that compiled models read themselves, as the check of X would read them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from xdcc.base import features
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.serving import CompiledModel


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    n = 60
    colour = random.choice(["red", "green", "blue", None], n)
    return pd.DataFrame(
        {
            "size": random.normal(size=n),
            "colour": pd.Categorical(colour),
            "count": random.integers(0, 9, n),
            "wide": random.normal(size=n).astype(np.float32),
            "shape": pd.Categorical(random.choice(["round", "flat"], n)),
            "new": random.random(n) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    Y = np.random.default_rng(1).integers(0, 2, (len(frame), 3))
    return MultiLabelXGBClassifier(n_estimators=5, n_jobs=1).fit(frame, Y)


def changed(frame, **columns):
    """The first rows with other columns."""
    rows = frame[:3].copy()
    for name, values in columns.items():
        rows[name] = values
    return rows


def from_json(frame):
    return pd.DataFrame([frame.iloc[0].to_dict(), frame.iloc[5].to_dict() | {"colour": None}])


READ = {
    "one row": lambda frame: frame[4:5],
    "few rows": lambda frame: frame[:7],
    "rows as from JSON": from_json,
    "text for categories": lambda frame: changed(frame, colour=["red", "blue", "red"]),
    "other order of categories": lambda frame: changed(
        frame, colour=pd.Categorical(["blue", None, "red"], categories=["red", "blue"])
    ),
    "missing": lambda frame: changed(frame, size=np.nan, colour=np.nan),
    "null": lambda frame: changed(frame, size=pd.Series([None, 1.5, 2], dtype=object)),
    "large": lambda frame: changed(frame, count=2**60 + 1),
}
CHECKED = {
    "many rows": lambda frame: frame,
    "other order": lambda frame: frame[frame.columns[::-1]],
    "unknown category": lambda frame: changed(frame, colour="pink"),
    "number for a category": lambda frame: changed(frame, colour=3.0),
    "text for a number": lambda frame: changed(frame, size="1.5"),
    "category for a number": lambda frame: changed(frame, count=pd.Categorical([1, 2, 3])),
    "nullable": lambda frame: changed(frame, count=pd.array([1, None, 3], dtype="Int64")),
    "date": lambda frame: changed(frame, count=pd.Timestamp("2020-01-01")),
    "complex": lambda frame: changed(frame, size=1j),
    "no row": lambda frame: frame[:0],
}


def read(model, X):
    return model._input_form.read(X, "Model")


@pytest.mark.parametrize("kind", READ)
def test_reads_what_the_check_reads(kind, frame, model):
    X = READ[kind](frame)
    np.testing.assert_array_equal(read(model, X).astype(np.float32), model._check_X(X))


@pytest.mark.parametrize("kind", CHECKED)
def test_leaves_the_rest_to_the_check(kind, frame, model):
    assert read(model, CHECKED[kind](frame)) is None


@pytest.mark.parametrize("kind", [*READ, *CHECKED, "infinite", "too large"])
def test_predictions_errors_and_warnings_are_those_of_the_model(kind, frame, model, monkeypatch):
    special = {
        "infinite": lambda frame: changed(frame, size=np.inf),
        "too large": lambda frame: changed(frame, count=1e300),
    }
    X = (READ | CHECKED | special)[kind](frame)

    def outcome(predict):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = predict(X)
            except ValueError as error:
                found = str(error)
        return found, [str(warning.message) for warning in caught]

    (ours, our_warnings), (expected, its_warnings) = map(
        outcome, (CompiledModel(model, n_jobs=1).predict_proba, model.predict_proba)
    )
    if isinstance(expected, str):
        expected = expected.replace(type(model).__name__, "CompiledModel")
    assert type(ours) is type(expected)
    np.testing.assert_array_equal(ours, expected)
    assert our_warnings == its_warnings


def test_a_row_is_not_checked(frame, model, monkeypatch):
    fast = CompiledModel(model, n_jobs=1)
    monkeypatch.setattr(features, "check_features", None)
    np.testing.assert_array_equal(fast.predict_proba(frame[3:4]), model.predict_proba(frame[3:4]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, bool])
def test_numbers_alone_in_any_number_of_rows(dtype):
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (80, 4)), columns=list("abcd"))
    X = X.astype(dtype)
    model = MultiLabelXGBClassifier(n_estimators=3, n_jobs=1).fit(X, X[["a", "b"]] > 3)
    np.testing.assert_array_equal(read(model, X), X)
    assert read(model, X.astype("category")) is None
    np.testing.assert_array_equal(CompiledModel(model).predict(X), model.predict(X))


def test_without_names_there_is_no_reader():
    X = np.arange(12.0).reshape(6, 2)
    model = MultiLabelXGBClassifier(n_estimators=2, n_jobs=1).fit(X, X > 5)
    assert read(model, pd.DataFrame(X)) is None
    with pytest.warns(UserWarning, match="feature names"):
        CompiledModel(model).predict(pd.DataFrame(X, columns=["a", "b"]))
