"""The chain on two Dask workers equals the local chain, or fails cleanly.

scikit-learn's estimator checks bring NumPy arrays to `fit`, which this estimator refuses.
"""

import asyncio
import importlib
import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from xgboost import collective
from xgboost.collective import Config
from xgboost.core import XGBoostError

from xdcc import chain
from xdcc.base.plugin import PluginMissingError

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from xgboost import dask as xgboost_dask  # noqa: E402

from xdcc.dask import DaskDynamicChainClassifier, WorkerLostError  # noqa: E402
from xdcc.dask.communicator import Place, run_together  # noqa: E402

N_SAMPLES, N_FEATURES, N_LABELS = 240, 5, 4
SMALL: dict[str, Any] = {
    "n_estimators": 3,
    "max_depth": 3,
    "propagate": "in_sample",
    "chain_length": None,
}
"""The paper's chain, small; `test_local_model.py` has the others."""
OUT_OF_FOLD: dict[str, Any] = {"propagate": "auto", "chain_length": "auto", "cv": 2}

# Few values per feature: the merged quantiles of two workers are then those of one.
RNG = np.random.default_rng(0)
X = RNG.integers(0, 20, size=(N_SAMPLES, N_FEATURES)).astype(np.float32)
Y = (X[:, :N_LABELS] + X[:, 1:] + RNG.normal(scale=6, size=(N_SAMPLES, N_LABELS)) > 20).astype(
    float
)
X[RNG.random(X.shape) < 0.1] = np.nan
WEIGHT = RNG.uniform(0.2, 3, N_SAMPLES)
CHUNKS = (70, 90, 50, 30)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def on(client: Any, **params: Any) -> DaskDynamicChainClassifier:
    """Make an estimator that uses a client."""
    estimator = DaskDynamicChainClassifier(**{**SMALL, **params})
    estimator.client = client
    return estimator


def rows(array: np.ndarray, chunks: Any = CHUNKS) -> Any:
    """Cut an array into chunks of rows."""
    return da.from_array(array, chunks=(chunks, *array.shape[1:]))


def frame(array: np.ndarray, prefix: str, n_partitions: int = 3) -> Any:
    names = [f"{prefix}{j}" for j in range(array.shape[1])]
    return dd.from_pandas(pd.DataFrame(array, columns=names), npartitions=n_partitions)


def sparse_rows(array: np.ndarray) -> Any:
    """Make chunks that are CSR matrices without the missing values."""

    def to_csr(block: np.ndarray) -> sparse.csr_matrix:
        row, column = np.nonzero(~np.isnan(block))
        return sparse.csr_matrix((block[row, column], (row, column)), shape=block.shape)

    return rows(array).map_blocks(to_csr, dtype=array.dtype, meta=sparse.csr_matrix((0, 0)))


def local_chain(X: Any, Y: Any, weight: Any = None, **params: Any) -> chain.DynamicChainClassifier:
    return chain.DynamicChainClassifier(**{**SMALL, **params}).fit(X, Y, weight)


def assert_same_chain(
    found: DaskDynamicChainClassifier, expected: chain.DynamicChainClassifier
) -> None:
    np.testing.assert_array_equal(found.chain_order(X).labels, expected.chain_order(X).labels)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["lazy", "persisted", "sparse"])
def test_arrays_give_the_local_chain(client: Any, kind: str) -> None:
    features = sparse_rows(X) if kind == "sparse" else rows(X)
    if kind == "persisted":
        features = client.persist(features)
    found = on(client).fit(features, rows(Y))
    expected = local_chain(X, Y)
    found._input_form = expected._input_form  # the trees are the same; the local X stores no zeros
    assert_same_chain(found, expected)
    assert len(found.boosters_) == found.n_rounds_ == found.n_labels_ == N_LABELS
    assert found.n_features_in_ == N_FEATURES
    assert not hasattr(found, "feature_names_in_")
    assert found.label_names_.tolist() == expected.label_names_.tolist()
    np.testing.assert_array_equal(found.classes_, expected.classes_)


def test_data_frames_give_the_local_chain(client: Any) -> None:
    features, labels = frame(X, "f<"), frame(Y, "label ")
    found = on(client).fit(features, labels)
    expected = local_chain(features.compute(), labels.compute())
    np.testing.assert_allclose(
        found.predict_proba(features).compute(),
        expected.predict_proba(features.compute()),
        rtol=0,
        atol=1e-5,
    )
    assert found.feature_names_in_.tolist() == [f"f<{j}" for j in range(N_FEATURES)]
    assert found.label_names_.tolist() == [f"label {j}" for j in range(N_LABELS)]
    assert [b.feature_names for (b,) in found.boosters_] == [
        b.feature_names for (b,) in expected.boosters_
    ]
    found.fit(rows(X), rows(Y))
    assert not hasattr(found, "feature_names_in_")
    assert found.boosters_[0][0].feature_names is None


@pytest.mark.parametrize(
    "params",
    [
        {"separate_and_conquer": False, "split_method": "sumGain"},
        {"candidates": "all", "chain_length": 2},
        {"eta": 0.5, "base_score": 0.3, "grow_policy": "lossguide", "max_leaves": 5},
    ],
    ids=lambda params: next(iter(params)),
)
def test_parameters(client: Any, params: dict[str, Any]) -> None:
    labels = np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)
    found = on(client, **params).fit(rows(X), rows(labels), rows(WEIGHT))
    assert_same_chain(found, local_chain(X, labels, WEIGHT, **params))
    assert found.get_params() == chain.DynamicChainClassifier(**{**SMALL, **params}).get_params()


def test_groups_are_those_of_the_local_chain(client: Any) -> None:
    groups, local = np.arange(N_SAMPLES) // 9, {**SMALL, **OUT_OF_FOLD}
    expected = chain.DynamicChainClassifier(**local).fit(X, Y, groups=groups)
    found = on(client, **OUT_OF_FOLD).fit(rows(X), rows(Y), groups=rows(groups))
    assert_same_chain(found, expected)
    by_labels = local_chain(X, Y, **OUT_OF_FOLD)
    assert abs(by_labels.predict_proba(X) - found.predict_proba(X)).max() > 0.01
    with pytest.raises(ValueError, match="2 folds need as many groups, but groups has a single"):
        on(client, **OUT_OF_FOLD).fit(rows(X), rows(Y), groups=rows(0 * groups))


def test_one_label_in_one_dimension(client: Any) -> None:
    found = on(client).fit(rows(X), rows(Y[:, 0]))
    assert found.predict(X).shape == (N_SAMPLES, 1)
    assert_same_chain(found, local_chain(X, Y[:, :1]))


@pytest.mark.parametrize("chunks", [N_SAMPLES, (239, 1), (0, 100, 0, 140), (0, 240)], ids=str)
def test_any_chunks_of_rows(client: Any, chunks: Any) -> None:
    assert_same_chain(on(client).fit(rows(X, chunks), rows(Y, chunks)), local_chain(X, Y))


def test_empty_partitions_of_data_frames(client: Any) -> None:
    features, labels = (
        dd.from_delayed(
            [dask.delayed(part) for part in (whole[:0], whole[:90], whole[90:90], whole[90:])],
            meta=whole[:0],
        )
        for whole in (frame(X, "f").compute(), frame(Y, "label").compute())
    )
    found = on(client).fit(features, labels)
    expected = local_chain(features.compute(), labels.compute())
    proba = found.predict_proba(features).compute()
    np.testing.assert_allclose(proba, expected.predict_proba(features.compute()), rtol=0, atol=1e-5)


def test_what_only_one_worker_knows(client: Any) -> None:
    labels, weight = Y.copy(), WEIGHT.copy()
    labels[:160, 0] = np.nan
    labels[100:, 1] = np.nan
    weight[:70] = 0
    found = on(client).fit(rows(X), rows(labels), rows(weight))
    assert_same_chain(found, local_chain(X, labels, weight))


def test_weights_of_entries(client: Any) -> None:
    """This holds if one worker's rows have equal weights, and a label counts nowhere."""
    weight = WEIGHT[:, np.newaxis] * np.linspace(0, 3, Y.shape[1])
    weight[:100, 1:] = 1
    weight[:, 0] = 0
    with pytest.warns(UserWarning, match="It is taken as absent"):
        found = on(client).fit(rows(X), rows(Y), rows(weight))
    with pytest.warns(UserWarning, match="It is taken as absent"):
        expected = local_chain(X, Y, weight)
    assert_same_chain(found, expected)


def test_label_that_is_unknown_everywhere(client: Any) -> None:
    labels = Y.copy()
    labels[:200, 2] = np.nan
    weight = np.where(np.arange(N_SAMPLES) < 200, 1.0, 0.0)
    message = "Unknown .NaN. in every row that counts: label 'label_2'. It is taken as absent."
    with pytest.warns(UserWarning, match=message):
        found = on(client).fit(rows(X), rows(labels), rows(weight))
    assert (found.predict(X)[:, 2] == 0).all()


def test_chain_longer_than_the_labels_is_cut(client: Any) -> None:
    with pytest.warns(UserWarning, match="chain_length=9 is more than 4 labels need: 4 rounds"):
        found = on(client, chain_length=9).fit(rows(X), rows(Y))
    assert found.n_rounds_ == N_LABELS


def test_dask_predictions_are_lazy_and_the_local_ones(client: Any) -> None:
    for make in (rows, sparse_rows):
        features = make(X)
        alone = features.compute()
        fitted = on(client, chain_length=2).fit(features, rows(Y))
        proba = fitted.predict_proba(features)
        assert isinstance(proba, da.Array)
        assert proba.chunks == (CHUNKS, (N_LABELS,))
        assert proba.dtype == np.float32
        np.testing.assert_array_equal(proba.compute(), fitted.predict_proba(alone))
        np.testing.assert_array_equal(fitted.predict(features).compute(), fitted.predict(alone))

        stages = dask.compute(*fitted.staged_predict_proba(features))
        assert len(stages) == 2
        for stage, expected in zip(stages, fitted.staged_predict_proba(alone), strict=True):
            np.testing.assert_array_equal(stage, expected)
        *_, last = fitted.staged_predict(features)
        np.testing.assert_array_equal(last.compute(), fitted.predict(alone))

        lazy = fitted.chain_order(features)
        assert isinstance(lazy.labels, da.Array)
        (order,) = dask.compute(lazy)
        expected_order = fitted.chain_order(alone)
        assert order.labels.dtype == expected_order.labels.dtype
        np.testing.assert_array_equal(order.labels, expected_order.labels)
        np.testing.assert_array_equal(order.values, expected_order.values)
    # On the cluster too, and as the parameters are now.
    fitted.set_params(prediction="standard")
    computed = client.compute(fitted.predict_proba(features)).result()
    np.testing.assert_array_equal(computed, fitted.predict_proba(alone))
    assert (computed != proba.compute()).any()


def test_bad_features_in_prediction(client: Any) -> None:
    fitted = on(client, chain_length=1).fit(frame(X, "f"), frame(Y, "label"))
    for method in ("predict", "predict_proba", "staged_predict_proba", "chain_order"):
        with pytest.raises(ValueError, match="X has 2 features, but 5 are expected"):
            getattr(fitted, method)(rows(X[:, :2]))
        with pytest.raises(ValueError, match="X is cut into 5 chunks of columns"):
            getattr(fitted, method)(da.from_array(X, chunks=(70, 1)))
        with pytest.raises(NotFittedError):
            getattr(DaskDynamicChainClassifier(), method)(rows(X))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict_proba(frame(X, "g")).compute()
    with pytest.raises(ValueError, match="prediction='both'"):
        fitted.set_params(prediction="both").predict_proba(rows(X))


def test_local_copy_needs_no_dask(client: Any) -> None:
    fitted = on(client, prediction="standard").fit(rows(X), rows(Y))
    stored = pickle.dumps(fitted.to_local())
    assert b"dask" not in stored
    served = pickle.loads(stored)
    assert type(served) is chain.DynamicChainClassifier
    assert served.get_params() == fitted.get_params()
    assert served.score(X, Y) == fitted.score(X, Y) > 0
    np.testing.assert_array_equal(served.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        DaskDynamicChainClassifier().to_local()


def test_client_is_not_copied(client: Any) -> None:
    fitted = on(client).fit(rows(X), rows(Y))
    for copy in (pickle.loads(pickle.dumps(fitted)), clone(fitted)):
        with pytest.raises(ValueError, match="There is no Dask client: create one"):
            _ = copy.client
        with client.as_current():
            assert copy.client is client
    assert fitted.client is client
    with pytest.raises(TypeError, match=r"client is a str, not a distributed\.Client"):
        fitted.client = "tcp://127.0.0.1:8786"


@pytest.mark.parametrize(
    ("n_jobs", "cpus", "in_training", "later"),
    [(None, 8, 3, 0), (-1, 8, 3, 0), (2, 8, 2, 2), (None, 2, 2, 0), (-1, 2, 2, 0), (-2, 8, 2, 1)],
)
def test_threads(
    n_jobs: int | None, cpus: int, in_training: int, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    monkeypatch.setattr("xdcc.dask.estimator.available_cpus", lambda: cpus)

    def train(data: Any, params: Any, plan: Any, **arguments: Any) -> Any:
        used.append(params["nthread"])
        return chain.training.train_chain(data, params, plan, **arguments)

    monkeypatch.setattr("xdcc.dask.classifier.train_chain", train)
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=3,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = on(client, chain_length=1, n_jobs=n_jobs).fit(rows(X), rows(Y))
    assert used == [in_training]
    config = json.loads(found.boosters_[0][0].save_config())
    assert config["learner"]["generic_param"]["nthread"] == str(later)


@pytest.mark.parametrize(
    ("pair", "error", "message"),
    [
        ((X, Y), TypeError, r"eval_set\[1\]: X is a ndarray, but must be a Dask array"),
        ((rows(X), rows(Y, 120)), ValueError, r"eval_set\[1\]: X has 4 chunks of rows, Y has 2"),
        ((rows(X[:0], (0,)), rows(Y[:0], (0,))), ValueError, r"eval_set\[1\]: X has no rows"),
        (
            (rows(X), rows(Y[:, :2])),
            ValueError,
            r"eval_set\[1\]: Chunk 0 of the rows: Y has 2 labels, but in fit there were 4",
        ),
        ((rows(X[:, :2]), rows(Y)), ValueError, "Chunk 0 of the rows: X has 2 features, but"),
        ((sparse_rows(X), rows(Y)), ValueError, "Chunk 0 of the rows: X is sparse, but in fit"),
        (
            (frame(X, "f", 4), frame(Y[:200], "label", 4)),
            ValueError,
            r"Chunk 0 of the rows: .*inconsistent numbers of samples: \[60, 50\]",
        ),
        ((rows(X), rows(np.nan * Y)), ValueError, "nothing to measure early stopping on: every"),
        (rows(X), ValueError, r"eval_set must be a sequence of pairs .* entry 1 is not a pair"),
    ],
    ids=lambda case: "" if isinstance(case, tuple) else None,
)
def test_bad_eval_set(client: Any, pair: Any, error: type[Exception], message: str) -> None:
    estimator = on(client, early_stopping_rounds=1)
    with pytest.raises(error, match=message):
        estimator.fit(rows(X), rows(Y), eval_set=[(rows(X), rows(Y)), pair])


def test_callback_is_called_once_per_step(client: Any, tmp_path: Path) -> None:
    heard = tmp_path / "rounds"

    def note(round_: int, n_rounds: int, seconds: float) -> None:
        with heard.open("a") as file:
            file.write(f"{round_} of {n_rounds}, {seconds > 0}\n")

    on(client, chain_length=2).fit(rows(X), rows(Y), callback=note)
    assert heard.read_text().splitlines() == ["1 of 2, True", "2 of 2, True"]


def _changed(array: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    changed = array.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"X": X}, TypeError, "X is a ndarray, but must be a Dask array or DataFrame"),
        ({"Y": Y}, TypeError, "Y is a ndarray"),
        ({"weight": WEIGHT}, TypeError, "sample_weight is a ndarray"),
        ({"X": rows(X[:, 0])}, ValueError, "X has 1 dimensions; it must have 2"),
        (
            {"weight": rows(WEIGHT[:, None] * [1, 2])},
            ValueError,
            r"Chunk 0 of the rows: sample_weight has shape .* one per row and label",
        ),
        (
            {"X": da.from_array(X, chunks=(CHUNKS, 2))},
            ValueError,
            r"X is cut into 3 chunks of columns.*use X.rechunk\(\{1: -1\}\)",
        ),
        ({"Y": da.from_array(Y, chunks=(CHUNKS, 1))}, ValueError, "Y is cut into 4 chunks"),
        ({"Y": rows(Y, 120)}, ValueError, "X has 4 chunks of rows, Y has 2"),
        (
            {"Y": rows(Y, CHUNKS[::-1])},
            ValueError,
            "Chunk 0 has 70 rows of X and 30 of Y: rechunk",
        ),
        ({"weight": rows(WEIGHT, 120)}, ValueError, "X has 4 chunks of rows, sample_weight has 2"),
        (
            {"X": frame(X, "f", 4), "Y": frame(Y[:200], "label", 4)},
            ValueError,
            r"Chunk 0 of the rows: .*inconsistent numbers of samples: \[60, 50\]",
        ),
        ({"X": rows(X[:0], (0,)), "Y": rows(Y[:0], (0,))}, ValueError, "X has no rows"),
        (
            {"Y": rows(_changed(Y, 163, 1, 2.0))},
            ValueError,
            r"Chunk 2 of the rows: .*Y holds 2\.0 in row 3 for label 'label_1'",
        ),
        (
            {"Y": rows(_changed(Y, 163, 1, 0.25))},
            ValueError,
            r"Chunk 2 of the rows: .*Y holds 0\.25 in row 3 .* LogisticLabels take probabilities",
        ),
        (
            {"X": rows(_changed(X, 71, 0, np.inf))},
            ValueError,
            "Chunk 1 of the rows: Input X contains infinity",
        ),
        (
            {"weight": rows(_changed(WEIGHT[:, None], 239, 0, -1)[:, 0])},
            ValueError,
            r"Chunk 3 of the rows: sample_weight is -1\.0 in row 29",
        ),
        ({"weight": rows(0 * WEIGHT)}, ValueError, "sample_weight is zero in every row"),
        ({"Y": rows(np.nan * Y)}, ValueError, "Y has no known label"),
    ],
    ids=lambda case: "" if isinstance(case, dict) else None,
)
def test_bad_data(client: Any, bad: dict[str, Any], error: type[Exception], message: str) -> None:
    data = {"X": rows(X), "Y": rows(Y), "weight": None, **bad}
    with pytest.raises(error, match=message):
        on(client).fit(data["X"], data["Y"], data["weight"])


def _two_chunks(first: Any, second: Any, n_columns: int) -> Any:
    chunks = [
        da.from_delayed(dask.delayed(chunk), shape=(120, n_columns), dtype=float)
        for chunk in (first, second)
    ]
    return da.concatenate(chunks)


@pytest.mark.parametrize(
    ("first", "second", "of_labels", "message"),
    [
        (X[:120], X[120:, :4], False, "chunk 0 has 5 features, chunk 1 has 4 features"),
        (
            X[:120],
            sparse.csr_matrix(np.nan_to_num(X[120:])),
            False,
            "chunk 0 has a dense X, chunk 1 has a sparse X",
        ),
        (
            pd.DataFrame(X[:120], columns=list("abcde")),
            pd.DataFrame(X[120:], columns=list("abcdf")),
            False,
            r"chunk 0 has the features \('a', .*'e'\), chunk 1 has the features \('a', .*'f'\)",
        ),
        (Y[:120], Y[120:, :3], True, "chunk 0 has 4 labels, chunk 1 has 3 labels"),
        (
            pd.DataFrame(Y[:120], columns=list("abcd")),
            pd.DataFrame(Y[120:], columns=list("abce")),
            True,
            "chunk 0 has the labels .* chunk 1 has the labels",
        ),
    ],
)
@pytest.mark.parametrize("on_one_worker", [True, False])
def test_chunks_that_differ(
    client: Any, first: Any, second: Any, of_labels: bool, message: str, on_one_worker: bool
) -> None:
    n_columns = first.shape[1]
    data = [rows(X, (120, 120)), rows(Y, (120, 120))]
    data[of_labels] = _two_chunks(first, second, n_columns)
    if on_one_worker:  # four chunks, two each
        data = [da.concatenate((part, part)) for part in data]
    with pytest.raises(ValueError, match=f"The chunks differ: {message}"):
        on(client).fit(*data)


def test_bad_arguments(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for params, message in (
        ({"chain_length": 0}, "chain_length=0: it must be a whole number"),
        ({"candidates": "some"}, "candidates='some'"),
        ({"max_dept": 3}, "Unknown booster parameter 'max_dept'. Did you mean 'max_depth'?"),
        ({"soft_labels": True}, "Unknown booster parameter 'soft_labels'"),
        ({"base_score": [0.5]}, "base_score has 1 entries for 4 labels"),
        ({"early_stopping_rounds": 2}, "early_stopping_rounds needs something to measure on"),
        ({"propagate": "auto", "cv": 241}, "241 folds need as many rows, but n_samples=240"),
    ):
        with pytest.raises(ValueError, match=message):
            on(client, **params).fit(rows(X), rows(Y))
    monkeypatch.setattr("xdcc.base.plugin.plugin_version", lambda: None)
    with pytest.raises(PluginMissingError, match="DaskDynamicChainClassifier needs the XGBoost"):
        on(client).fit(rows(X), rows(Y))


def test_connection_settings(client: Any) -> None:
    settings = Config(tracker_host_ip="127.0.0.1", timeout=60, retry=1)
    found = on(client).fit(rows(X), rows(Y), coll_cfg=settings)
    assert_same_chain(found, local_chain(X, Y))
    nowhere = Config(tracker_host_ip="203.0.113.1")  # an address for documentation: nobody's
    with pytest.raises(RuntimeError, match=r"tracker cannot listen on '203\.0\.113\.1'"):
        on(client).fit(rows(X), rows(Y), coll_cfg=nowhere)


def test_cluster_without_workers() -> None:
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, protocol="tcp", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(RuntimeError, match="The Dask cluster has no worker"),
    ):
        on(client).fit(rows(X), rows(Y))


def test_asynchronous_client(client: Any) -> None:
    async def fit(address: str) -> None:
        async with distributed.Client(
            address, asynchronous=True, set_as_default=False
        ) as asynchronous:
            with pytest.raises(ValueError, match="The client is asynchronous"):
                on(asynchronous).fit(rows(X), rows(Y))

    asyncio.run(fit(client.scheduler_info()["address"]))


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("xdcc.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ImportError, match=r"distributed is not installed: pip install 'xdcc\[dask\]'"
    ):
        importlib.import_module("xdcc.dask")


def test_error_on_one_worker_reaches_the_caller(client: Any) -> None:
    def fail(round_: int, n_rounds: int, seconds: float) -> None:
        raise KeyError("from a callback")

    with pytest.raises(KeyError, match="from a callback"):
        on(client).fit(rows(X), rows(Y), callback=fail)


def test_worker_that_ends_before_the_training(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {**client.nthreads(), "tcp://127.0.0.1:1": 1}
    monkeypatch.setattr(client, "nthreads", lambda: workers)
    assert_same_chain(on(client).fit(rows(X), rows(Y)), local_chain(X, Y))


def test_xgboost_on_dask_refuses_unknown_labels(client: Any) -> None:
    labels = np.where(RNG.random(N_SAMPLES) < 0.5, np.nan, Y[:, 0])  # some on every worker
    refused = pytest.raises(XGBoostError, match="`binary:logistic` does not support unknown")
    with client.as_current(), refused:
        matrix = xgboost_dask.DaskDMatrix(client, rows(X), rows(labels))
        xgboost_dask.train(client, {"objective": "binary:logistic"}, matrix, 1)


def test_worker_that_is_gone_before_all_are_connected(client: Any) -> None:
    here, gone = (
        client.submit(Place.here, workers=[address], pure=False).result()
        for address in client.nthreads()
    )
    argument = client.scatter(1)
    began = time.monotonic()
    with pytest.raises(WorkerLostError, match=f"Of the 2 workers .* disappeared: {gone.address}"):
        run_together(
            client, lambda x: x, {here: argument, Place(gone.address, "an earlier one"): argument}
        )
    assert time.monotonic() - began < 30
    for address in client.nthreads():  # nobody is left waiting
        assert client.submit(os.getpid, workers=[address], pure=False).result(timeout=10)


def test_argument_that_another_worker_computes(client: Any) -> None:
    """It is computed before the only thread of that worker waits for the others."""
    first, second = (
        client.submit(Place.here, workers=[address], pure=False).result()
        for address in client.nthreads()
    )
    later = client.submit(time.sleep, 0.5, workers=[second.address], pure=False)
    computed = client.submit(lambda _: 2, later, workers=[first.address], pure=False)

    def add_up(x: int) -> int:
        return int(collective.allreduce(np.array([x]), collective.Op.SUM)[0])

    assert run_together(client, add_up, {first: 1, second: computed}, Config(timeout=10)) == 3


def _slow(place: str) -> Any:
    return pytest.param(place, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "place",
    [
        _slow("client_rows.join_chunks"),
        _slow("client_rows.join_measured_chunks"),
        _slow("estimator._positive_bits"),
        _slow("estimator.deal_folds"),
        _slow("classifier._take"),
        "classifier._choose",
    ],
)
def test_worker_that_is_killed_before_the_training(
    client: Any, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A worker dies while it places rows, divides folds or chooses sketches."""
    module, _, name = place.rpartition(".")
    work = getattr(importlib.import_module(f"xdcc.dask.{module}"), name)
    killed = tmp_path / "killed"

    def die_once(*args: Any, **arguments: Any) -> Any:
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*args, **arguments)

    params = OUT_OF_FOLD | {"split_method": "sumGain", "sketch_size": "auto", "random_state": 0}
    fitted = on(client, **params).fit(rows(X), rows(Y))
    before = fitted.predict_proba(X)
    monkeypatch.setattr(f"xdcc.dask.{place}", die_once)
    began = time.monotonic()
    try:
        fitted.fit(rows(X[::-1]), rows(Y[::-1]), eval_set=[(rows(X), rows(Y))])
    except WorkerLostError:
        np.testing.assert_array_equal(fitted.predict_proba(X), before)
    else:
        expected = chain.DynamicChainClassifier(**{**SMALL, **params})
        expected.fit(X[::-1], Y[::-1], eval_set=[(X, Y)])
        assert_same_chain(fitted, expected)
    assert time.monotonic() - began < 60
    assert killed.exists()
    client.wait_for_workers(2, timeout=60)


def test_worker_that_is_killed_while_training(client: Any) -> None:
    fitted = on(client, **OUT_OF_FOLD).fit(rows(X), rows(Y))
    before = fitted.predict_proba(X)

    def die(round_: int, n_rounds: int, seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    began = time.monotonic()
    with pytest.raises(WorkerLostError, match=r"Of the 2 workers .* disappeared: tcp://127\.0"):
        fitted.set_params(max_depth=1).fit(
            rows(X), rows(Y), eval_set=[(rows(X), rows(Y))], callback=die
        )
    assert time.monotonic() - began < 30
    np.testing.assert_array_equal(fitted.predict_proba(X), before)

    client.wait_for_workers(2, timeout=60)
    again = on(client, **OUT_OF_FOLD).fit(rows(X), rows(Y))
    np.testing.assert_allclose(again.predict_proba(X), before, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_worker_that_freezes_while_training(
    client: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frozen = tmp_path / "frozen"

    def freeze(round_: int, n_rounds: int, seconds: float) -> None:
        frozen.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)

    monkeypatch.setattr("xdcc.dask.communicator._GRACE_SECONDS", 1.0)
    try:
        with pytest.raises(WorkerLostError, match=r"Of the 2 workers .* do not answer: tcp://"):
            on(client, **OUT_OF_FOLD).fit(
                rows(X), rows(Y), callback=freeze, coll_cfg=Config(timeout=4)
            )
    finally:
        if frozen.exists():
            os.kill(int(frozen.read_text()), signal.SIGCONT)
