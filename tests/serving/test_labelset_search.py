"""The compiled search of labelsets, against that of the estimators."""

import pickle

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import LabelsetScore, LabelStates, probable_labelsets
from xdcc.decision import KnownLabelsets
from xdcc.prediction._kernel import LabelsetSearch
from xdcc.prediction.builder import LayoutBuilder


def order_free(n_labels, n_trees, random):
    """Return a booster for [margins | revealed labels], whatever it has learned, and its form."""
    joined = random.normal(size=(400, 2 * n_labels)).astype(np.float32)
    revealed = joined[:, n_labels:]
    revealed[:] = np.where(random.random(revealed.shape) < 0.5, revealed > 0, np.nan)
    target = random.random((400, n_labels)) < 1 / (1 + np.exp(-2 * joined[:, :n_labels]))
    flipped = np.nan_to_num(revealed).sum(axis=1, keepdims=True) % 2 == 1
    data = xgb.DMatrix(joined, (target ^ flipped).astype(float))
    booster = xgb.train(
        {"objective": "multilabel:logistic", "max_depth": 3, "base_score": 0.5}, data, n_trees
    )
    return booster, CompiledBooster.of(booster, n_labels)


@given(
    st.integers(2, 9),
    st.sampled_from([1, 3, 70]),
    st.sampled_from([1, 3, 8]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.0, 0.5]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_the_same_labelsets(n_labels, n_rows, n_beams, joint, prior, seed):
    random = np.random.default_rng(seed)
    booster, compiled = order_free(n_labels, int(random.integers(1, 20)), random)
    margins = 2 * random.normal(size=(n_rows, n_labels)).astype(np.float32)
    known = KnownLabelsets.of(random.integers(0, 2, size=(random.integers(1, 40), n_labels)))
    score = LabelsetScore(joint, prior, known)
    expected = score.best(LabelStates.begin(booster, margins), n_beams)
    assert_array_equal(compiled.search(n_beams, score).decide(margins), expected)
    mode = probable_labelsets(LabelStates.begin(booster, margins), n_beams).first()
    assert_array_equal(compiled.search(n_beams, None).decide(margins), mode)


def test_many_labels_are_searched_in_small_blocks():
    random = np.random.default_rng(0)
    booster, compiled = order_free(90, 5, random)
    margins = 3 * random.normal(size=(70, 90)).astype(np.float32)
    known = KnownLabelsets.of(random.integers(0, 2, size=(30, 90)))
    score = LabelsetScore(0.5, 0.25, known)
    expected = score.best(LabelStates.begin(booster, margins), 8)
    assert_array_equal(compiled.search(8, score).decide(margins), expected)


def test_the_likeliest_known_labelset_wins_against_the_chain():
    random = np.random.default_rng(1)
    _, compiled = order_free(3, 3, random)
    known = KnownLabelsets.of([[1, 0, 1], [1, 0, 1], [0, 1, 0]])
    margins = np.array([[0.1, 0.2, 0.1]], dtype=np.float32)
    found = compiled.search(8, LabelsetScore(0.5, 20.0, known)).decide(margins)
    assert_array_equal(found, [[1, 0, 1]])


def test_pickles():
    random = np.random.default_rng(2)
    _, compiled = order_free(4, 3, random)
    known = KnownLabelsets.of(random.integers(0, 2, size=(9, 4)))
    margins = random.normal(size=(60, 4)).astype(np.float32)
    for score in (None, LabelsetScore(0.4, 0.5, known)):
        search = compiled.search(3, score)
        again = pickle.loads(pickle.dumps(search))
        assert_array_equal(again.decide(margins), search.decide(margins))


def test_bad_input():
    _, compiled = order_free(3, 2, np.random.default_rng(0))
    search = compiled.search(8, None)
    with pytest.raises(ValueError, match=r"^The model predicts margins that are not finite"):
        search.decide([[np.inf, 0, 0]])
    with pytest.raises(ValueError, match=r"^margins has 2 columns for 3 labels"):
        search.decide([[0, 0]])
    with pytest.raises(ValueError, match=r"^The known labelsets do not fit the booster"):
        compiled.search(8, LabelsetScore(0.5, 0.5, KnownLabelsets.of([[1, 0]])))
    builder = LayoutBuilder(4, 3)
    builder.add_boosters([xgb.train({"objective": "multilabel:logistic"}, data_of(4, 3), 1)])
    other = CompiledBooster([builder.build(None)])
    with pytest.raises(ValueError, match=r"^The booster is not one of an order-free chain"):
        other.search(8, None)
    assert len(search.decide(np.empty((0, 3)))) == 0
    assert isinstance(search, LabelsetSearch)


def data_of(n_features, n_labels):
    random = np.random.default_rng(0)
    X = random.normal(size=(20, n_features))
    return xgb.DMatrix(X, random.integers(0, 2, size=(20, n_labels)))
