"""``DaskMultiLabelClassifier``: the model of a local search among boosters, or a clean failure.

As in ``test_local_model.py``, there are few values per feature. With 300 rows or more a booster
draws rows. The workers are threads of this process, but for a test in which one of them dies.
``test_members.py`` has the other members.
"""

import importlib
import os
import pickle
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import xdcc
from xdcc.automatic import Candidate, boosters
from xdcc.automatic.families import usual_candidates
from xdcc.base.plugin import PluginMissingError
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import LabelCosts, Recall
from xdcc.serving import load_model, save_model

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from xgboost import collective  # noqa: E402
from xgboost.collective import Config  # noqa: E402

from xdcc.dask import DaskMultiLabelClassifier, WorkerLostError  # noqa: E402

N_SAMPLES, N_FEATURES, N_LABELS = 320, 4, 3
RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, size=(N_SAMPLES, N_FEATURES)).astype(np.float32)
Y = (X[:, :N_LABELS] + X[:, 1:] + RNG.normal(scale=4, size=(N_SAMPLES, N_LABELS)) > 9).astype(float)
UNKNOWN = np.where(RNG.random(Y.shape) < 0.2, np.nan, Y)
X[RNG.random(X.shape) < 0.1] = np.nan
WEIGHT = RNG.uniform(0.2, 3, N_SAMPLES)
CHUNKS = (60, 130, 80, 50)
ONE_SIDED = np.column_stack([np.arange(N_SAMPLES) < 190, np.zeros(N_SAMPLES)])  # on each worker


def cluster(n_workers: int, processes: bool = False) -> Any:
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp",
        dashboard_address=":0",
    )


@pytest.fixture(scope="module")
def two() -> Iterator[Any]:
    with cluster(2) as of_test, distributed.Client(of_test, set_as_default=False) as it:
        yield it


@pytest.fixture(scope="module")
def three() -> Iterator[Any]:
    with cluster(3) as of_test, distributed.Client(of_test, set_as_default=False) as it:
        yield it


def _slow(case: str) -> Any:
    return pytest.param(case, marks=pytest.mark.slow)


def rows(array: Any, chunks: Any = CHUNKS) -> Any:
    """Cut an array or CSR matrix into chunks of rows."""
    ends = np.cumsum(chunks)
    meta = sparse.csr_matrix((0, 0)) if sparse.issparse(array) else None
    parts = [array[end - n : end] for n, end in zip(chunks, ends, strict=True)]
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(part), shape=part.shape, dtype=part.dtype, meta=meta)
            for part in parts
        ]
    )


def csr(array: np.ndarray) -> sparse.csr_matrix:
    """Make a matrix that does not store missing values."""
    row, column = np.nonzero(~np.isnan(array))
    return sparse.csr_matrix((array[row, column], (row, column)), shape=array.shape)


def on(client: Any, measure: Any = "example_f1", **params: Any) -> DaskMultiLabelClassifier:
    estimator = DaskMultiLabelClassifier(measure, **{"cv": 2, **params})
    estimator.client = client
    return estimator


@pytest.fixture(autouse=True)
def fast_boosters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let boosters learn fast: each of their rounds costs time on the network."""
    monkeypatch.setattr("xdcc.automatic.boosters._RATES", ((0.3, np.inf),))


@pytest.fixture
def only_boosters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out forests, linear models and the second level, here and on the workers."""

    def only(*arguments: Any) -> list[Candidate]:
        return [c for c in usual_candidates(*arguments) if c.kind is MultiLabelXGBClassifier]

    monkeypatch.setattr("xdcc.automatic.search.usual_candidates", only)
    monkeypatch.setattr("xdcc.automatic.search.Search._stack", lambda *_: [])


def locally(
    X: Any, Y: Any, weight: Any = None, measure: Any = "example_f1", **params: Any
) -> xdcc.MultiLabelClassifier:
    return xdcc.MultiLabelClassifier(measure, **{"cv": 2, **params}).fit(X, Y, weight)


def assert_same_model(found: DaskMultiLabelClassifier, expected: Any, X: Any) -> None:
    for column in ("candidate", "rounds", "share", "seeds"):
        assert found.summary_[column] == expected.summary_[column]
    np.testing.assert_allclose(
        found.summary_["best_log_loss"], expected.summary_["best_log_loss"], rtol=1e-4
    )
    spreads = [model.summary_["best_log_loss_std"] for model in (found, expected)]
    np.testing.assert_allclose(*spreads, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-4)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_array_equal(found.folds_, expected.folds_)
    np.testing.assert_allclose(found.oof_proba_, expected.oof_proba_, rtol=0, atol=1e-4)
    assert found.rule_.name == expected.rule_.name
    assert found.best_score_ == pytest.approx(expected.best_score_, abs=1e-3)


CASES: dict[str, tuple[Any, np.ndarray, Any, dict[str, Any]]] = {
    "dense": (np.asarray, Y, None, {}),
    "sparse": (csr, UNKNOWN, WEIGHT, {"measure": "micro_f1", "random_state": 3}),
    "labelsets": (np.asarray, Y, None, {"measure": "subset_accuracy"}),
    "probabilities": (np.asarray, ONE_SIDED, None, {"measure": "macro_roc_auc"}),
    "one label": (np.asarray, Y[:, :1], WEIGHT, {"measure": LabelCosts(1, [2])}),
    "constraints": (np.asarray, Y, None, {"constraints": {"label_0": Recall(0.8), "label_2": 0.3}}),
}


def assert_is_the_local_model(client: Any, case: str) -> None:
    form, labels, weight, params = CASES[case]
    found = on(client, **params).fit(
        rows(form(X)),
        rows(labels),
        None if weight is None else rows(weight),
        coll_cfg=Config(timeout=120),  # a hang is an error
    )
    assert_same_model(found, locally(form(X), labels, weight, **params), form(X))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("only_boosters")
def test_is_the_local_model(two: Any, case: str) -> None:
    assert_is_the_local_model(two, case)


@pytest.mark.parametrize("case", ["sparse", *map(_slow, sorted(CASES.keys() - {"sparse"}))])
@pytest.mark.usefixtures("only_boosters")
def test_is_the_local_model_with_three_workers(three: Any, case: str) -> None:
    assert_is_the_local_model(three, case)


@pytest.mark.usefixtures("only_boosters")
def test_refit(two: Any) -> None:
    """A booster draws the same rows for its trees, on whichever worker they are."""
    found = on(two, refit=True).fit(rows(X), rows(Y))
    assert_same_model(found, locally(X, Y, refit=True), X)
    assert len(found.estimators_) == len(found.members_)
    assert any(each.get_params()["subsample"] < 1 for each in found.estimators_)


@pytest.mark.usefixtures("only_boosters")
def test_what_only_one_worker_knows(two: Any) -> None:
    """Constant labels, an unknown one, one that one worker does not know, rows without weight."""
    labels = np.column_stack((Y, np.ones(N_SAMPLES), np.full(N_SAMPLES, np.nan)))
    weight = WEIGHT.copy()
    labels[:190, 0] = np.nan
    weight[:190] = 0
    warning = "label 'label_4'. It is taken as absent"
    with pytest.warns(UserWarning, match=warning):
        found = on(two).fit(rows(X), rows(labels), rows(weight))
    with pytest.warns(UserWarning, match=warning):
        expected = locally(X, labels, weight)
    assert_same_model(found, expected, X)
    assert found.calibration_.constant.value[3:].tolist() == [1, 0]


@pytest.mark.usefixtures("only_boosters")
def test_a_sample_for_calibration_and_rules(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xdcc.base.label_rows._LEAST_SAMPLE", 50)
    monkeypatch.setattr("xdcc.automatic.time_budget.SAMPLE_ENTRIES", 360)
    found, expected = on(two).fit(rows(X), rows(Y)), locally(X, Y)
    assert found.oof_proba_.shape == (120, N_LABELS)
    assert found.folds_.shape == (120,)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-4)


@pytest.mark.usefixtures("only_boosters")
def test_frames_with_categories(two: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical(RNG.choice(["red", "blue", "green"], N_SAMPLES))
    labels = pd.DataFrame(Y, columns=list("rst"))
    there = [dd.from_pandas(part, npartitions=3) for part in (frame, labels)]
    found = on(two).fit(*there)
    assert_same_model(found, locally(frame, labels), frame)
    assert found.label_names_.tolist() == list("rst")
    assert found.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(found.predict(there[0]).compute(), found.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=2)).compute()


def test_predictions_and_the_local_copy(two: Any, tmp_path: Path) -> None:
    fitted = on(two, "subset_accuracy", n_jobs=1).fit(rows(X), rows(Y))
    proba = fitted.predict_proba(rows(X))
    assert isinstance(proba, da.Array)
    assert proba.chunks == (CHUNKS, (N_LABELS,))
    np.testing.assert_array_equal(proba.compute(), fitted.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict(rows(X)).compute(), fitted.predict(X))
    local = fitted.to_local()
    assert type(local) is xdcc.MultiLabelClassifier
    assert b"dask" not in pickle.dumps(local)
    assert local.get_params() == fitted.get_params()
    save_model(local, tmp_path / "model")
    for model in (local, load_model(tmp_path / "model")):
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="X has 2 features, but 4 are expected"):
        fitted.predict(rows(X[:, :2]))
    copy = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="There is no Dask client: create one"):
        clone(copy).fit(rows(X), rows(Y))
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(DaskMultiLabelClassifier(), method)(rows(X))
    with pytest.raises(NotFittedError):
        DaskMultiLabelClassifier().to_local()


def test_threads(two: Any) -> None:
    found = on(two, n_jobs=2).fit(rows(X), rows(Y))
    assert {model.n_jobs for model in found.estimators_} == {2}


def test_time_budget(two: Any) -> None:
    """Other seeds and other boosters follow the usual ones; all workers end together."""
    began = time.perf_counter()
    found = on(two, time_budget=5).fit(rows(X), rows(Y), coll_cfg=Config(timeout=60))
    assert time.perf_counter() - began < 40
    assert len(found.summary_["candidate"]) > 3
    assert found.predict(X).shape == Y.shape
    with pytest.warns(UserWarning, match="time_budget is too short for any model"):
        found = on(two, time_budget=1e-3).fit(rows(X), rows(Y))
    assert found.summary_["rounds"] == [1]


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"X": X}, TypeError, "X is a ndarray, but must be a Dask array or DataFrame"),
        ({"Y": Y}, TypeError, "Y is a ndarray"),
        ({"weight": WEIGHT}, TypeError, "sample_weight is a ndarray"),
        ({"X": da.from_array(X, chunks=(50, 2))}, ValueError, "X is cut into 2 chunks of columns"),
        ({"Y": da.from_array(Y, chunks=(160, 3))}, ValueError, "X has 4 chunks of rows, Y has 2"),
        ({"Y": rows(Y, CHUNKS[::-1])}, ValueError, "Chunk 0 has 60 rows of X and 50 of Y"),
        (
            {"Y": rows(Y + 1)},
            ValueError,
            r"Chunk 0 of the rows: .*Y holds 2\.0",
        ),
        (
            {"Y": rows(0.75 * Y)},
            ValueError,
            r"Chunk 0 of the rows: .*Y holds 0\.75 .* LogisticLabels take probabilities",
        ),
        ({"weight": rows(0 * WEIGHT)}, ValueError, "sample_weight is zero in every row"),
        ({"Y": rows(np.nan * Y)}, ValueError, "Y has no known label"),
        ({"params": {"cv": 321}}, ValueError, "321 folds need as many rows, but n_samples=320"),
        ({"params": {"cv": KFold(2)}}, ValueError, "cv=KFold"),
        ({"params": {"distil": True}}, ValueError, "give `to_local\\(\\)` to xdcc.distil"),
        ({"params": {"measure": "f1"}}, ValueError, "measure='f1'"),
        (
            {"params": {"members": ["linear", DummyClassifier()]}},
            ValueError,
            "it must be a sequence of 'boosters', 'extra trees', 'linear' or None",
        ),
        ({"params": {"measure": LabelCosts(1, [1, 2])}}, ValueError, "2"),
        ({"params": {"constraints": {"fraud": 0.3}}}, ValueError, "there is no label 'fraud'"),
        ({"params": {"measure": "precision_at_4"}}, ValueError, "'precision_at_4' has no value"),
        (
            {"Y": rows(0 * Y), "params": {"measure": "macro_roc_auc"}},
            ValueError,
            "'macro_roc_auc' has no value: no label has known entries of both values",
        ),
    ],
    ids=lambda case: "" if isinstance(case, dict) else None,
)
def test_bad_input(
    two: Any,
    monkeypatch: pytest.MonkeyPatch,
    bad: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    """An error comes before anything is trained."""
    monkeypatch.setattr("xdcc.dask.automatic.Search.run", lambda search: pytest.fail("trains"))
    data = {"X": rows(X), "Y": rows(Y), "weight": None, "params": {}, **bad}
    estimator = on(two, **data["params"])
    with pytest.raises(error, match=message):
        estimator.fit(data["X"], data["Y"], data["weight"])
    assert not hasattr(estimator, "rule_")


def test_families_by_name(two: Any) -> None:
    found = on(two, members=["linear"]).fit(rows(X), rows(Y))
    expected = locally(X, Y, members=["linear"])
    assert found.summary_["candidate"][0] == "linear"
    assert_same_model(found, expected, X)


@pytest.mark.usefixtures("only_boosters")
def test_unknown_chunk_sizes(two: Any) -> None:
    """The workers compare their lengths."""
    features, labels = (
        dd.from_pandas(pd.DataFrame(part), npartitions=4).to_dask_array() for part in (X, Y)
    )
    assert_same_model(on(two).fit(features, labels), locally(X, Y), X)
    fewer = dd.from_pandas(pd.DataFrame(Y[:280]), npartitions=4).to_dask_array()
    with pytest.raises(ValueError, match=r"Chunk 0 .*inconsistent numbers of samples: \[80, 70\]"):
        on(two).fit(features, fewer)


def test_without_the_plugin(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xdcc.base.plugin.plugin_version", lambda: None)
    with pytest.raises(PluginMissingError, match="DaskMultiLabelClassifier needs the XGBoost"):
        on(two).fit(rows(X), rows(Y))


@pytest.mark.parametrize(
    ("member", "module", "of", "function", "n_calls"),
    [
        ("extra trees", "xdcc.forest.classifier", "", "grow_forest", 2),
        pytest.param(
            *("boosters", "xdcc.automatic.time_budget", "TimeBudget", "has", 10),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["extra trees", "boosters"],
)
def test_worker_that_is_killed_while_training(
    member: str,
    module: str,
    of: str,
    function: str,
    n_calls: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    automatic = importlib.import_module("xdcc.dask.automatic")
    search, rates = automatic._search, boosters._RATES

    def learn_fast(parts: Any, **arguments: Any) -> Any:
        importlib.import_module("xdcc.automatic.boosters")._RATES = rates  # on a worker
        return search(parts, **arguments)

    def die(parts: Any, **arguments: Any) -> Any:
        if collective.get_rank() == 1:
            holder: Any = importlib.import_module(module)
            holder = getattr(holder, of) if of else holder
            original, calls = getattr(holder, function), []

            def until(*given: Any, **named: Any) -> Any:
                calls.append(1)
                if len(calls) == n_calls:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*given, **named)

            setattr(holder, function, until)
        return learn_fast(parts, **arguments)

    with (
        cluster(2, processes=True) as of_test,
        distributed.Client(of_test, set_as_default=False) as client,
    ):
        monkeypatch.setattr("xdcc.dask.automatic._search", learn_fast)
        fitted = on(client, members=[member]).fit(rows(X), rows(Y))
        before = fitted.predict_proba(X)
        fitted.set_params(measure="micro_f1")
        monkeypatch.setattr("xdcc.dask.automatic._search", die)
        began = time.monotonic()
        with pytest.raises(WorkerLostError, match=r"the 2 workers .* disappeared: tcp://127\.0"):
            fitted.fit(rows(X[::-1]), rows(Y[::-1]))
        assert time.monotonic() - began < 60
        np.testing.assert_array_equal(fitted.predict_proba(X), before)
        client.wait_for_workers(2, timeout=60)
        monkeypatch.setattr("xdcc.dask.automatic._search", learn_fast)
        again = on(client, members=[member]).fit(rows(X), rows(Y))
        np.testing.assert_allclose(again.predict_proba(X), before, rtol=0, atol=1e-4)
