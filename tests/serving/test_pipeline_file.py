"""Pipelines that end in an estimator of ours: skops stores the other steps."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from tests.serving.mixed_models import booster, tuned
from xdcc.linear import LogisticLabels
from xdcc.serving import ModelFileError, load_model, save_model


def twice(X):
    return 2 * X


@pytest.fixture
def saved(rows, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), tuned(booster()))
    path = tmp_path / "pipeline.xdcc"
    save_model(pipeline.fit(rows.X, rows.Y), path)
    return pipeline, path


def assert_same(loaded, pipeline, X):
    assert type(loaded) is Pipeline
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipeline.steps]
    for method in ("predict", "predict_proba"):
        expected = getattr(pipeline, method)(X)
        np.testing.assert_array_equal(getattr(loaded, method)(X), expected)


def test_numbers(saved, rows):
    pipeline, path = saved
    assert_same(load_model(path, trusted=[]), pipeline, rows.X_new)


def test_columns_with_names(rows, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    colours = np.array(["red", "green", "blue"])[np.arange(120) % 3]
    table = pd.DataFrame({"size": rows.X[:, 0], "colour": colours})
    columns = make_column_transformer(
        (SimpleImputer(), ["size"]), (OneHotEncoder(), ["colour"]), sparse_threshold=0
    )
    pipeline = make_pipeline(columns, "passthrough", booster()).fit(table, rows.Y)
    save_model(pipeline, tmp_path / "model")
    loaded = load_model(tmp_path / "model", trusted=[])
    assert_same(loaded, pipeline, table[::-1])
    assert loaded.feature_names_in_.tolist() == ["size", "colour"]


def test_texts(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    texts = ["a storm at sea", "the calm sea", "a storm on land", "calm"] * 10
    Y = np.array([["storm" in text, "sea" in text] for text in texts]).astype(int)
    pipeline = Pipeline([("words", TfidfVectorizer()), ("labels", LogisticLabels(C=1.0))])
    save_model(pipeline.fit(texts, Y), tmp_path / "model")
    loaded = load_model(tmp_path / "model", trusted=[])
    assert_same(loaded, pipeline, texts[:7])


def test_functions_have_to_be_trusted(rows, tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    pipeline = make_pipeline(FunctionTransformer(twice), booster()).fit(rows.X, rows.Y)
    save_model(pipeline, tmp_path / "model")
    name = f"{__name__}.twice"
    with pytest.raises(ModelFileError, match=rf"not trusted: {name}\..*trusted=\['{name}'\]"):
        load_model(tmp_path / "model", trusted=[])
    assert_same(load_model(tmp_path / "model", trusted=[name]), pipeline, rows.X_new)


def test_a_pipeline_is_refused_unless_it_is_trusted(saved):
    with pytest.raises(ModelFileError, match=r"holds a pipeline.* give trusted=\[\]"):
        load_model(saved[1])


def test_sizes_are_compared(saved):
    size = saved[1].stat().st_size
    with pytest.raises(ModelFileError, match="more than max_bytes"):
        load_model(saved[1], trusted=[], max_bytes=size + 1)


def test_last_steps_of_others(rows, tmp_path):
    other = make_pipeline(SimpleImputer(), LinearSVC()).fit(rows.X, rows.Y[:, 0])
    with pytest.raises(TypeError, match=r"not sklearn.*LinearSVC.*last step of a pipeline"):
        save_model(other, tmp_path / "model")


def test_without_skops(rows, saved, tmp_path, monkeypatch):
    pipeline, path = saved
    monkeypatch.setitem(sys.modules, "skops", None)
    for use in (lambda: save_model(pipeline, path), lambda: load_model(path, trusted=[])):
        with pytest.raises(ImportError, match="pip install skops"):
            use()
