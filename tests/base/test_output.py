"""Predictions as DataFrames: the library, names, index and values."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xdcc import TunedDecisionClassifierCV, metrics
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.serving import load_model, save_model

X = pd.DataFrame(
    np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"), index=range(100, 140)
)
Y = pd.DataFrame({"red": X["a"] > 0, "blue": X["b"] > X["c"]}).astype(int)
MODEL = MultiLabelXGBClassifier(n_estimators=3).fit(X, Y)
LIBRARIES = ("pandas", "polars", "pyarrow")


def _as(library: str) -> Any:
    module = pytest.importorskip(library)
    if library == "pandas":
        return X
    columns = {name: X[name].to_numpy() for name in X}
    return module.DataFrame(columns) if library == "polars" else module.table(columns)


def _pandas(frame: Any, library: str) -> pd.DataFrame:
    """Read a frame, after checking its library."""
    assert type(frame).__module__.startswith(library)
    if library == "pandas":
        return frame
    columns = frame.to_dict(as_series=False) if library == "polars" else frame.to_pydict()
    return pd.DataFrame(columns)


@pytest.mark.parametrize("of_X", LIBRARIES)
@pytest.mark.parametrize("output", ["input", *LIBRARIES])
def test_frames_of_every_library(of_X: str, output: str) -> None:
    library = of_X if output == "input" else output
    pytest.importorskip(library)
    model = clone(MODEL).fit(X, Y).set_output(predict=output)
    for method in ("predict", "predict_proba"):
        found = _pandas(getattr(model, method)(_as(of_X)), library)
        assert list(found) == ["red", "blue"]
        np.testing.assert_allclose(found, getattr(MODEL, method)(X), rtol=1e-6)
        has_index = of_X == library == "pandas"
        assert list(found.index) == list(X.index if has_index else range(40))


def test_arrays_stay_arrays() -> None:
    model = MultiLabelXGBClassifier(n_estimators=2).fit(X.to_numpy(), Y)
    assert isinstance(model.set_output(predict="input").predict(X.to_numpy()), np.ndarray)
    named = model.set_output(predict="pandas").predict(X.to_numpy())
    assert list(named) == ["red", "blue"]
    assert isinstance(model.set_output().predict(X.to_numpy()), pd.DataFrame)
    assert isinstance(model.set_output(predict="default").predict(X.to_numpy()), np.ndarray)


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_dimension(library: str) -> None:
    frame = _as(library)
    target = pd.Series(np.where(Y["red"], "yes", "no"), name="answer")
    model = MultiLabelXGBClassifier(n_estimators=2).fit(frame, target).set_output(predict="input")
    found = model.predict(frame)
    assert type(found).__module__.startswith(library)
    assert set(found.to_pylist() if library == "pyarrow" else found.to_list()) == {"no", "yes"}
    proba = _pandas(model.predict_proba(frame), library)
    assert list(proba) == ["no", "yes"]
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


def test_clones_pickles_and_other_estimators_keep_it() -> None:
    model = clone(MODEL).fit(X, Y).set_output(predict="input")
    for again in (clone(model).fit(X, Y), pickle.loads(pickle.dumps(model))):
        assert isinstance(again.predict(X), pd.DataFrame)
    assert isinstance(model.score(X, Y), float)
    assert metrics.subset_accuracy(Y, model.predict(X)) == model.score(X, Y)
    tuned = TunedDecisionClassifierCV(model, cv=2).fit(X, Y).set_output(predict="input")
    assert list(tuned.predict(X)) == ["red", "blue"]
    pipeline = make_pipeline(StandardScaler(), clone(MODEL).set_output(predict="pandas"))
    pipeline.set_output(transform="pandas")
    assert list(pipeline.fit(X, Y).predict(X)) == ["red", "blue"]


def test_model_files_do_not_keep_it(tmp_path: Path) -> None:
    model = clone(MODEL).fit(X, Y).set_output(predict="pandas")
    save_model(model, tmp_path / "model.xdcc")
    assert isinstance(load_model(tmp_path / "model.xdcc").predict(X), np.ndarray)


def test_no_such_form() -> None:
    with pytest.raises(ValueError, match="predict='numpy'"):
        clone(MODEL).set_output(predict="numpy")  # type: ignore[arg-type]
