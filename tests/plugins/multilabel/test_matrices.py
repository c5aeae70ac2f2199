"""Joined features train the boosters that a new matrix of [X | P] trains, to the last byte."""

import ctypes
import json
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from xgboost import collective
from xgboost.core import _LIB, XGBoostError, _check_call
from xgboost.tracker import RabitTracker

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
        (lambda P: P.astype(float), "array of 32-bit floats, row by row without gaps"),
        (lambda P: np.asfortranarray(P), "array of 32-bit floats, row by row without gaps"),
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
