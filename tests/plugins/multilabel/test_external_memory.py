"""Matrices in external memory, page by page, grow the trees of a matrix in memory, bit for bit.

Features have few values, so that all matrices have the same cuts.
"""

import json

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xdcc.boosting import SPLIT_METHODS

PARAMS = {"objective": "multilabel:logistic", "max_depth": 5, "nthread": 1, "max_bin": 64}


def make_data(kind, n_rows=600, n_features=8, n_labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, size=(n_rows, n_features)).astype(np.float32)
    score = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels))
    Y = (score > np.quantile(score, 0.7, axis=0)).astype(float)
    match kind:
        case "missing":
            X[rng.random(X.shape) < 0.3] = np.nan
        case "zeros":
            X[rng.random(X.shape) < 0.7] = 0
        case "one page differs":  # the zeros of two pages, not of the third
            X[: n_rows // 3 * 2] *= rng.random((n_rows // 3 * 2, n_features)) < 0.3
            X[-50:, 0] = np.nan
        case "unknown":
            Y[rng.random(Y.shape) < 0.5] = np.nan
            Y[: n_rows // 2] = np.nan
    return X, Y


KINDS = ["dense", "missing", "zeros", "one page differs", "unknown"]


def trees_of(matrix, n_rounds=3, **params):
    booster = xgb.train(PARAMS | params, matrix, n_rounds)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    assert sum(len(tree["left_children"]) > 3 for tree in trees) > 0, "there is nothing to compare"
    return trees


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("threads")
def test_pages_grow_the_same_trees(kind, n_threads, in_batches):
    X, Y = make_data(kind)
    whole = trees_of(xgb.QuantileDMatrix(X, Y, max_bin=64))
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)
    assert trees_of(pages, nthread=n_threads) == whole


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(KINDS),
    method=st.sampled_from(SPLIT_METHODS),
    params=st.fixed_dictionaries(
        {},
        optional={
            "min_child_weight": st.sampled_from([1e-30, 3.0]),
            "min_child_weight_scope": st.sampled_from(["any", "all", "mean"]),
            "reg_alpha": st.sampled_from([0.5]),
            "max_delta_step": st.sampled_from([0.3]),
            "reg_lambda": st.sampled_from([0.01, 5.0]),
            "gamma": st.sampled_from([1.0]),
            "subsample": st.sampled_from([0.6]),
            "colsample_bynode": st.sampled_from([0.5]),
            "max_depth": st.sampled_from([1, 9]),
            "interaction_constraints": st.sampled_from(["[[0, 1, 2], [3, 4]]"]),
            "monotone_constraints": st.sampled_from(["(1,-1,0,1)"]),
        },
    ),
    lossguide=st.booleans(),
)
def test_any_parameters(kind, method, params, lossguide, in_batches):
    X, Y = make_data(kind, n_rows=300, seed=1)
    params = params | {"split_method": method, "seed": 4}
    if lossguide:
        params |= {"grow_policy": "lossguide", "max_leaves": 12}
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)

    def grow(matrix):
        return xgb.train(PARAMS | params, matrix, 2).get_dump(with_stats=True)

    assert grow(pages) == grow(xgb.QuantileDMatrix(X, Y, max_bin=64))


def test_histograms_that_do_not_fit_are_filled_in_several_passes(in_batches):
    X, Y = make_data("missing", n_features=60, n_labels=60)  # 40 * 60 bins of 512 bytes: 1.2 MiB
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)
    roomy = trees_of(pages)
    assert trees_of(pages, max_histogram_mib=1) == roomy
    assert trees_of(xgb.QuantileDMatrix(X, Y, max_bin=64)) == roomy


def test_too_little_memory(in_batches):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 1)), rng.integers(0, 2, size=(300, 1200))
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=256)
    message = r"max_histogram_mib=1 is too little: a block of features with 256 bins and 1200"
    with pytest.raises(xgb.core.XGBoostError, match=message):
        trees_of(pages, 1, max_bin=256, max_histogram_mib=1)
