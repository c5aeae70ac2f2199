"""Matrices of other kinds train the same boosters as a matrix in memory, bit for bit.

Joined features are those of a new matrix of [X | P]; matrices in external memory are read page by
page. Their features have few values, so that all matrices have the same cuts.
"""

import ctypes
import json
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xgboost import collective
from xgboost.core import _LIB, XGBoostError, _check_call
from xgboost.tracker import RabitTracker

from xdcc.boosting import SPLIT_METHODS

N, N_FEATURES, N_LABELS = 400, 7, 4
CHAIN = {"objective": "multilabel:maxGain", "label_feature_begin": N_FEATURES, "base_score": 0.4}
STOCK = {"objective": "binary:logistic", "multi_strategy": "multi_output_tree"}
KINDS = ["dense", "missing", "csr", "one_value_missing"]


def quantise(matrix, **config):
    handle = ctypes.c_void_p()
    config = json.dumps(config).encode()
    _check_call(_LIB.XDCCQuantiseFeatures(matrix.handle, config, ctypes.byref(handle)))
    return xgb.DMatrix(handle)


def join(features, P):
    handle = ctypes.c_void_p()
    interface = json.dumps(P.__array_interface__).encode()
    _check_call(_LIB.XDCCJoinFeatures(features.handle, interface, ctypes.byref(handle)))
    return xgb.DMatrix(handle)


def make_data(kind, seed=0, n=N):
    """Features, labels that depend on them, and probabilities that tell more of the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, 2] = X[:, 2].round()
    Y = (X[:, :N_LABELS] + rng.normal(size=(n, N_LABELS)) > 0).astype(np.float32)
    P_full = (0.6 * Y + 0.4 * rng.random(Y.shape)).astype(np.float32)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
        X[rng.random(n) < 0.95, 5] = np.nan  # few enough values for a sparse column
    elif kind == "one_value_missing":
        X[3, 1] = np.nan
    elif kind == "csr":
        X = sp.csr_matrix(np.where(rng.random(X.shape) < 0.7, 0, X))
    return X, Y, P_full


def hide(P_full, share, seed=0):
    known = np.random.default_rng(seed).random(P_full.shape) < share
    return np.where(known, P_full, np.float32(np.nan))


def fresh(X, P, **info):
    if not sp.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), **info)
    rows, columns = np.nonzero(~np.isnan(P))
    stored = sp.csr_matrix((P[rows, columns], (rows, columns)), shape=P.shape)
    return xgb.DMatrix(sp.hstack((X, stored), format="csr"), **info)


def assert_same(joined, expected, params):
    assert (joined.num_row(), joined.num_col()) == (expected.num_row(), expected.num_col())
    assert joined.num_nonmissing() == expected.num_nonmissing()
    found, wanted = (xgb.train(params, matrix, 4) for matrix in (joined, expected))
    assert found.save_raw("ubj") == wanted.save_raw("ubj")
    assert sum(tree.count("leaf") for tree in found.get_dump()) > 8
    predicted = found.predict(joined)
    np.testing.assert_array_equal(predicted, wanted.predict(expected))
    # A booster that was not trained on the matrix has nothing at hand and reads the bins.
    reloaded = xgb.Booster(model_file=found.save_raw("ubj"))
    np.testing.assert_allclose(reloaded.predict(joined), predicted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("params", [CHAIN, STOCK], ids=["chain", "stock"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_same_booster_as_from_a_new_matrix(kind, share, params):
    X, Y, P_full = make_data(kind)
    if share == 1.0:  # all labels are known: with a mask nothing is left to learn
        params = {**params, "label_feature_begin": -1} if params is CHAIN else params
    P = hide(P_full, share)
    joined = join(quantise(xgb.DMatrix(X, Y)), P)
    assert_same(joined, fresh(X, P, label=Y), params)


def test_trees_use_features_from_both_sides():
    X, Y, P_full = make_data("dense")
    params = {**CHAIN, "label_feature_begin": -1}
    booster = xgb.train(params, join(quantise(xgb.DMatrix(X, Y)), hide(P_full, 0.5)), 4)
    used = {int(name[1:]) for name in booster.get_score()}
    assert used & set(range(N_FEATURES))
    assert used & set(range(N_FEATURES, N_FEATURES + N_LABELS))


@pytest.mark.parametrize("max_bin", [2, 16, 1000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_numbers_of_bins(kind, max_bin, share):
    X, Y, P_full = make_data(kind, n=1500)
    P = hide(P_full, share)
    joined = join(quantise(xgb.DMatrix(X, Y), max_bin=max_bin), P)
    assert_same(
        joined, fresh(X, P, label=Y), {"objective": "multilabel:sumGain", "max_bin": max_bin}
    )


@pytest.mark.parametrize("kind", KINDS)
def test_weights_unknown_labels_and_margins(kind):
    X, Y, P_full = make_data(kind)
    rng = np.random.default_rng(1)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    info = {
        "label": Y,
        "weight": rng.exponential(size=N) * (rng.random(N) < 0.8),
        "base_margin": rng.normal(size=Y.shape),
    }
    P = hide(P_full, 0.5)
    joined = join(quantise(xgb.DMatrix(X, **info), max_bin=8), P)
    np.testing.assert_array_equal(joined.get_label(), Y)
    np.testing.assert_array_equal(joined.get_weight(), info["weight"].astype(np.float32))
    assert_same(joined, fresh(X, P, **info), {**CHAIN, "max_bin": 8})


@pytest.mark.parametrize("params", [CHAIN, STOCK], ids=["chain", "stock"])
@pytest.mark.parametrize("n_categories", [5, 700])  # 700 take wider bins than 16 numbers
@pytest.mark.parametrize("kind", KINDS)
def test_feature_types(kind, n_categories, params):
    X, Y, P_full = make_data(kind)
    codes = np.random.default_rng(3).integers(0, n_categories, N).astype(np.float32)
    if sp.issparse(X):
        X = X.tolil()
        X[:, 4] = codes  # code 0 is not stored
        X = X.tocsr()
    else:
        X[~np.isnan(X[:, 4]), 4] = codes[~np.isnan(X[:, 4])]
    types = ["q", "int", "float", "q", "c", "q", "q"]
    P = hide(P_full, 0.4)
    info = {"label": Y, "enable_categorical": True}
    joined = join(quantise(xgb.DMatrix(X, feature_types=types, **info), max_bin=16), P)
    assert joined.feature_types == [*types, *["float"] * N_LABELS]
    expected = fresh(X, P, feature_types=joined.feature_types, **info)
    assert_same(joined, expected, {**params, "max_bin": 16})
    booster = xgb.train({**params, "max_bin": 16}, joined, 4)
    assert ":{" in "".join(booster.get_dump())


@pytest.mark.usefixtures("threads")
def test_threads_make_no_difference():
    X, Y, P_full = make_data("missing")
    P = hide(P_full, 0.5)
    joined = join(quantise(xgb.DMatrix(X, Y, nthread=3)), P)
    assert_same(joined, fresh(X, P, label=Y), CHAIN)


@pytest.mark.parametrize("keep", [False, True], ids=["memory_used_again", "matrices_kept"])
@pytest.mark.parametrize("kind", KINDS)
def test_joined_again_and_again(kind, keep):
    X, Y, P_full = make_data(kind)
    params = {**CHAIN, "label_feature_begin": -1}
    features = quantise(xgb.DMatrix(X, Y))
    P = np.full(Y.shape, np.nan, dtype=np.float32)
    kept = []
    changes = [
        (slice(None), slice(0)),  # nothing known
        (slice(0, 200), 1),
        (slice(0), 0),  # nothing new
        (slice(None), slice(0, 3)),
        (slice(100, 300), 3),
        (slice(None), slice(None)),  # nothing missing
    ]
    for rows, columns in changes:
        P[rows, columns] = P_full[rows, columns]
        kept.append((join(features, P), P.copy()))
        if not keep:
            assert_same(kept.pop()[0], fresh(X, P, label=Y), params)
    P[::2, 0] = np.nan
    P[:, 1] = np.nan
    P[:50, 2] = 0.5
    assert_same(join(features, P), fresh(X, P, label=Y), params)
    for matrix, P_then in kept:
        assert_same(matrix, fresh(X, P_then, label=Y), params)


def test_another_number_of_columns():
    X, Y, P_full = make_data("dense")
    features = quantise(xgb.DMatrix(X, Y))
    for n_columns in (1, N_LABELS, 3):
        P = np.ascontiguousarray(hide(P_full, 0.5)[:, :n_columns])
        assert_same(join(features, P), fresh(X, P, label=Y), STOCK)


def test_matrix_outlives_its_features():
    X, Y, P_full = make_data("dense")
    P = hide(P_full, 0.5)
    matrix = xgb.DMatrix(X, Y)
    features = quantise(matrix)
    joined = join(features, P)
    del matrix, features
    assert_same(joined, fresh(X, P, label=Y), CHAIN)


def test_features_alone_are_a_matrix():
    X, Y, _ = make_data("csr")
    assert_same(quantise(xgb.DMatrix(X, Y)), xgb.DMatrix(X, Y), STOCK)


def _models_of_two_workers(params, first_rows):
    """Train on both kinds of matrix with the first rows on one worker; the models by kind."""
    X, Y, P_full = make_data("missing")
    P = hide(P_full, 0.4)
    P[: N // 2, 1] = np.nan  # a label that only one worker knows of
    P_later = P.copy()
    P_later[: N // 4, 1] = P_full[: N // 4, 1]  # changes on the other one only
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()
    models = {}

    def work(rows):
        with collective.CommunicatorContext(**tracker.worker_args()):
            features = quantise(xgb.DMatrix(X[rows], Y[rows], nthread=1))
            join(features, P[rows])
            for name, matrix in (
                ("joined", join(features, P_later[rows])),
                ("fresh", fresh(X[rows], P_later[rows], label=Y[rows], nthread=1)),
            ):
                model = xgb.train({**params, "nthread": 1}, matrix, 3).save_raw("ubj")
                models.setdefault(name, set()).add(bytes(model))

    parts = (slice(0, first_rows), slice(first_rows, N))
    workers = [threading.Thread(target=work, args=(rows,), daemon=True) for rows in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert not any(worker.is_alive() for worker in workers)
    tracker.wait_for(timeout=60)
    return models


@pytest.mark.parametrize("first_rows", [N // 2, N], ids=["halves", "nothing_on_one"])
def test_two_workers(first_rows):
    models = _models_of_two_workers(STOCK, first_rows)
    assert len(models["joined"]) == 1
    assert models["joined"] == models["fresh"]


def _with_names(X, Y):
    return xgb.DMatrix(X, Y, feature_names=[f"name {j}" for j in range(N_FEATURES)])


def _with_weights(X, Y):
    return xgb.DMatrix(X, Y, feature_weights=np.ones(N_FEATURES))


def _with_names_of_categories(X, Y):
    frame = pd.DataFrame(X)
    frame[2] = pd.Categorical(["a", "b"] * (N // 2))
    matrix = xgb.DMatrix(frame, Y, enable_categorical=True)
    matrix.feature_names = None
    return matrix


@pytest.mark.parametrize("make", [_with_names, _with_weights, _with_names_of_categories])
def test_features_that_cannot_be_joined(make):
    X, Y, _ = make_data("dense")
    with pytest.raises(XGBoostError, match="with names, weights or names of categories cannot be"):
        quantise(make(X, Y))


def test_external_memory_cannot_be_joined(in_batches):
    X, Y, _ = make_data("dense")
    with pytest.raises(XGBoostError, match="Features in external memory cannot be joined"):
        quantise(xgb.ExtMemQuantileDMatrix(in_batches(X, Y)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda P: P[1:], "have 399 rows, the features 400"),
        (lambda P: P.astype(float), "contiguous array of 32-bit floats in row-major order"),
        (lambda P: np.asfortranarray(P), "contiguous array of 32-bit floats in row-major order"),
        (lambda P: P[:, :0], "There are no columns to join"),
        (lambda P: np.where(np.isnan(P), np.float32(np.inf), P), "contains `inf`"),
    ],
)
def test_columns_that_cannot_be_joined(spoil, message):
    X, Y, P_full = make_data("dense")
    P = hide(P_full, 0.5)
    features = quantise(xgb.DMatrix(X, Y))
    join(features, P)
    with pytest.raises(XGBoostError, match=message):
        join(features, spoil(P))
    assert_same(join(features, P), fresh(X, P, label=Y), CHAIN)


def test_only_quantised_features_can_be_joined():
    X, Y, P_full = make_data("dense")
    with pytest.raises(XGBoostError, match="Only features from `XDCCQuantiseFeatures`"):
        join(xgb.DMatrix(X, Y), P_full)


@pytest.mark.parametrize(
    ("config", "message"),
    [({"max_bin": 1}, "must be equal to or greater than 2"), ({"max_bin": "many"}, "`max_bin`")],
)
def test_bad_number_of_bins(config, message):
    X, Y, _ = make_data("dense")
    with pytest.raises(XGBoostError, match=message):
        quantise(xgb.DMatrix(X, Y), **config)


def test_booster_with_another_number_of_bins():
    X, Y, P_full = make_data("dense")
    joined = join(quantise(xgb.DMatrix(X, Y), max_bin=16), P_full)
    with pytest.raises(XGBoostError, match="Inconsistent `max_bin`"):
        xgb.train(STOCK, joined, 1)


def test_values_cannot_be_read_back():
    X, Y, P_full = make_data("dense")
    joined = join(quantise(xgb.DMatrix(X, Y)), P_full)
    with pytest.raises(XGBoostError, match="hold bins, not the values"):
        joined.get_data()


PARAMS = {"objective": "multilabel:logistic", "max_depth": 5, "nthread": 1, "max_bin": 64}


def make_data_external_memory(kind, n_rows=600, n_features=8, n_labels=5, seed=0):
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


KINDS_EXTERNAL_MEMORY = ["dense", "missing", "zeros", "one page differs", "unknown"]


def trees_of(matrix, n_rounds=3, **params):
    booster = xgb.train(PARAMS | params, matrix, n_rounds)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    assert sum(len(tree["left_children"]) > 3 for tree in trees) > 0, "there is nothing to compare"
    return trees


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", KINDS_EXTERNAL_MEMORY)
@pytest.mark.usefixtures("threads")
def test_pages_grow_the_same_trees(kind, n_threads, in_batches):
    X, Y = make_data_external_memory(kind)
    whole = trees_of(xgb.QuantileDMatrix(X, Y, max_bin=64))
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)
    assert trees_of(pages, nthread=n_threads) == whole


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(KINDS_EXTERNAL_MEMORY),
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
    X, Y = make_data_external_memory(kind, n_rows=300, seed=1)
    params = params | {"split_method": method, "seed": 4}
    if lossguide:
        params |= {"grow_policy": "lossguide", "max_leaves": 12}
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)

    def grow(matrix):
        return xgb.train(PARAMS | params, matrix, 2).get_dump(with_stats=True)

    assert grow(pages) == grow(xgb.QuantileDMatrix(X, Y, max_bin=64))


def test_histograms_that_do_not_fit_are_filled_in_several_passes(in_batches):
    X, Y = make_data_external_memory(
        "missing", n_features=60, n_labels=60
    )  # 40 * 60 bins of 512 bytes: 1.2 MiB
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)
    roomy = trees_of(pages)
    assert trees_of(pages, max_histogram_mib=1) == roomy
    assert trees_of(xgb.QuantileDMatrix(X, Y, max_bin=64)) == roomy


def test_too_little_memory(in_batches):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 1)), rng.integers(0, 2, size=(300, 1200))
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=256)
    message = r"max_histogram_mib=1 is too small: a block of features with 256 bins and 1200"
    with pytest.raises(xgb.core.XGBoostError, match=message):
        trees_of(pages, 1, max_bin=256, max_histogram_mib=1)
