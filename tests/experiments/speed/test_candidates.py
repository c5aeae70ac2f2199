"""Data and candidates, and what the suites measure of them, but for the time to quality."""

import io
import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import xgboost as xgb
from sklearn import metrics

from experiments.speed import busy, candidates, data, run, stock, suites, trainings
from experiments.speed.quality import Goal
from experiments.speed.suites import Job
from tests.experiments.speed.cases import JOB, TINY


def test_arrays_come_back_as_they_were(arrays):
    X, Y = data.read_arrays(arrays())
    expected = data.make_multilabel(60, 5, 3, random_state=0)
    assert X.dtype == Y.dtype == np.float32
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, expected.X.astype(np.float32))
    np.testing.assert_array_equal(Y, expected.Y)


def test_absent_entries_of_csr_input_are_missing(arrays):
    dense_X, _ = data.read_arrays(arrays("digits"))
    X, _ = data.read_arrays(arrays("digits", "csr"))
    assert sp.issparse(X)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), dense_X)
    assert xgb.DMatrix(X).num_nonmissing() == np.count_nonzero(dense_X)
    published, _ = data.read_arrays(arrays("digits", "as published"))
    np.testing.assert_array_equal(published, dense_X)


@pytest.mark.parametrize(("phase", "storage"), [("end to end", "csr"), ("rounds", "dense")])
def test_ours_fits_as_well_as_stock(phase, storage, arrays):
    file = arrays("digits", storage)
    results = {
        name: run.measure(
            replace(JOB, data="digits", candidate=name, phase=phase, storage=storage),
            file,
            Goal(99.0),
        )
        for name in ("ours", "multi_output_tree", "one_output_per_tree")
    }
    loss = {name: result["log_loss"] for name, result in results.items()}
    assert loss["ours"] == pytest.approx(loss["multi_output_tree"], rel=1e-3)
    assert loss["one_output_per_tree"] < loss["ours"]
    assert results["ours"]["parameters"]["objective"] == "multilabel:sumGain"
    assert results["multi_output_tree"]["parameters"]["multi_strategy"] == "multi_output_tree"


@pytest.mark.parametrize(("name", "phase"), [("lightgbm", "end to end"), ("catboost", "rounds")])
def test_other_libraries(name, phase, arrays):
    pytest.importorskip(name, reason=f"{name} comes with the extra `bench`")
    file = arrays("digits")
    X, Y = data.read_arrays(file)
    Y[:, 1] = 0  # a label without a positive
    job = replace(JOB, data="digits", candidate=name, phase=phase, rounds=20)
    result = trainings.measure_boosting(job, X, Y, 99.0)
    ours = trainings.measure_boosting(replace(job, candidate="ours"), X, Y, 99.0)
    assert result["log_loss"] == pytest.approx(ours["log_loss"], abs=0.1)
    assert result["cpu_seconds"] > 0


def test_split_methods_are_candidates(arrays):
    losses = {
        method: run.measure(replace(JOB, candidate=method), arrays(), Goal(9.0))
        for method in ("sumGain", "maxGain")
    }
    assert losses["sumGain"]["log_loss"] != losses["maxGain"]["log_loss"]
    assert losses["maxGain"]["parameters"]["objective"] == "multilabel:maxGain"


def test_stock_histograms_are_bounded_where_memory_would_not_do():
    make = candidates.make_candidate
    huge = replace(JOB, data="synthetic-9x1000x1000000")
    bounded = make(replace(huge, candidate="multi_output_tree")).parameters
    assert bounded["max_cached_hist_node"] == 32
    for job in (huge, replace(huge, candidate="one_output_per_tree"), JOB):
        assert "max_cached_hist_node" not in make(job).parameters


def test_log_loss():
    Y, P = np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.25], [1e-3, 0.9]])
    assert trainings.log_loss(Y, P) == pytest.approx(metrics.log_loss(Y.ravel(), P.ravel()))
    certain = trainings.log_loss(np.array([[1.0]]), np.array([[0.0]], dtype=np.float32))
    assert certain == pytest.approx(-np.log(np.finfo(np.float32).eps))


def test_chains(arrays):
    for name in (
        "xdcc_short",
        "xdcc_sketched",
        "classifier_chain",
        "xdcc_auto",
        "binary_relevance",
    ):
        job = Job("chain", TINY, name, "chain", "as published", 1, 2, 0)
        result = run.measure(job, arrays(), Goal(99.0))
        expected = {"xdcc_auto": [1, 2, 3], "binary_relevance": [1]}
        assert result["chain_length"] in expected.get(name, [3])
        assert result["cpu_seconds"] > 0
        assert "2" in (
            result["parameters"].get("n_estimators"),
            result["parameters"].get("estimator__n_estimators"),
        )


def test_chain_lengths():
    length = trainings.chain_length
    Y = np.zeros((10, 8))
    Y[:, 0] = Y[0, 1] = 1  # cardinality 1.1
    assert length("xdcc_short", Y) == 4
    assert length("xdcc_short", Y[:, :3]) == 3
    assert length("xdcc_full", Y) == length("classifier_chain", Y) == 8
    assert length("binary_relevance", Y) == 1


def test_two_workers_grow_the_model_of_one(arrays):
    job = Job("workers", TINY, "ours", "rounds", "dense", 1, 2, 0)
    result = run.measure(job, arrays(), Goal(99.0))
    assert result["differs"] == 0
    assert result["cpu_seconds"] > 0


def train_in_this_process(path, arguments):
    """Like `stock._train`, without the start of an interpreter."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", ["-c", *arguments])
        exec(stock._CODE, {})
    return json.loads(printed.getvalue())


@pytest.mark.parametrize("name", suites.GROUPS["plain trainings"])
def test_plain_trainings_are_compared_with_another_library(name, arrays, monkeypatch):
    monkeypatch.setattr(stock, "official_wheel", lambda: Path(xgb.__file__).parents[1])  # itself
    monkeypatch.setattr(stock, "_TURNS", 1)
    if name != "stock binary":
        monkeypatch.setattr(stock, "_train", train_in_this_process)
    job = Job("stock", "synthetic-300x5x4", name, "rounds", "dense", 1, 1, 0)
    result = run.measure(job, arrays(job.data), Goal(99.0))
    assert result["differs"] == 0
    assert result["ratio"] == result["cpu_seconds"] / result["official_cpu_seconds"] > 0


@pytest.mark.parametrize(
    ("name", "situations"),
    [
        pytest.param(
            "sketched",
            [busy.Situation(), busy.Situation(1, "lower"), busy.Situation(limit="one core")],
            marks=pytest.mark.slow,
        ),
        ("automatic", [busy.Situation()]),
    ],
)
def test_threads_are_compared_on_a_busy_machine(name, situations, arrays, monkeypatch):
    monkeypatch.setattr(busy, "SITUATIONS", situations)
    monkeypatch.setattr(os, "nice", lambda increment: 0)  # would stay for the tests that follow
    before = os.sched_getaffinity(0)
    job = Job("busy", "synthetic-60x4x2", name, "rounds", "dense", 2, 1, 0)
    result = run.measure(job, arrays(job.data), Goal(99.0))
    assert list(result["ratios"]) == ["alone", "1 lower", "one core"][: len(situations)]
    assert result["worst"] == max(result["ratios"].values()) > 0
    assert os.sched_getaffinity(0) == before


def test_a_quota_is_an_option_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(busy, "_GROUPS", ((str(tmp_path / "missing"), "cpu.max"),))
    with busy._limited("half a core") as possible:
        assert not possible


def test_memory_is_counted_beyond_what_has_to_be_there(arrays, monkeypatch):
    monkeypatch.setattr(trainings, "measure_boosting", lambda *_: {"peak_bytes": 2**30 + 4 * 28})
    X, Y = np.zeros((2, 5), np.float32), np.zeros((2, 3), np.float32)
    assert trainings.measure_memory(JOB, X, Y, 9.0)["beyond_gib"] == 1


@pytest.mark.parametrize("name", suites.GROUPS["variants"])
def test_variants(name, arrays):
    job = Job("variants", TINY, name, "rounds", "dense", 1, 2, 0)
    result = run.measure(job, arrays("synthetic-300x5x3"), Goal(99.0))
    assert 0 < result["log_loss"] < np.log(2)


def test_levels():
    X = np.array([[0.0, -1], [0.5, 0], [1, 3]], np.float32)
    np.testing.assert_array_equal(candidates.levels(X), [[0, 0], [16, 8], [31, 31]])


TARGETS, CLASSES = "targets-80x5x4", "classes-80x5x3"


def test_kinds_of_data(arrays):
    kinds = [data.kind_of(name) for name in (TINY, "emotions", TARGETS, "wq", CLASSES)]
    assert kinds == ["labels", "labels", "targets", "targets", "classes"]
    _, Y = data.read_arrays(arrays(TARGETS))
    assert Y.shape == (80, 4)
    assert np.unique(Y).size == Y.size
    _, Y = data.read_arrays(arrays(CLASSES))
    assert Y.shape == (80, 1)
    np.testing.assert_array_equal(np.unique(Y), [0, 1, 2])


@pytest.mark.parametrize("name", [TARGETS, CLASSES])
def test_outputs_fit_as_well_as_stock(name, arrays):
    file = arrays(name)
    loss = {
        candidate: run.measure(
            replace(JOB, suite="outputs", data=name, candidate=candidate), file, Goal(99.0)
        )["log_loss"]
        for candidate in ("ours", "sketched", "auto", "multi_output_tree", "one_output_per_tree")
    }
    assert loss["ours"] == pytest.approx(loss["multi_output_tree"], rel=1e-3)
    assert max(loss.values()) < {TARGETS: 1.0, CLASSES: np.log(3)}[name]


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
@pytest.mark.parametrize("name", [TARGETS, CLASSES])
def test_peers_continue_the_training_of_outputs(name, library, arrays):
    """Trained round by round, they predict what they predict when trained at once."""
    pytest.importorskip(library)
    X, Y = data.read_arrays(arrays(name))
    candidate = candidates.make_candidate(replace(JOB, data=name, candidate=library))
    matrix = candidate.build(X, Y)
    steps = candidate.steps(matrix, [X], iter([1, 2, 50]), 99.0)
    (_, second) = (next(steps) for _ in range(2))
    expected = candidate.predict(candidate.train(candidate.build(X, Y)), X)
    np.testing.assert_allclose(second.predictions[0], expected, rtol=1e-5, atol=1e-6)


def test_losses_of_outputs():
    Y = np.array([[0.0, 5.0], [2.0, 9.0]], np.float32)
    assert trainings.unexplained(Y, np.array([[1.0, 7.0], [1.0, 7.0]])) == pytest.approx(1.0)
    assert trainings.unexplained(Y, Y) == 0
    loss = trainings.log_loss_of_classes(
        np.array([[1.0], [0.0]]), np.array([[0.5, 0.5], [0.25, 0.75]])
    )
    assert loss == pytest.approx((np.log(2) + np.log(4)) / 2)
