"""The speed benchmark: what it measures, what it keeps, and what its report says of it."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import xgboost as xgb
from sklearn import metrics

from experiments import ROOT

SPEED = ROOT / "experiments" / "speed"


def part(name):
    return importlib.import_module(f"experiments.speed.{name}")


speed = part("__main__")
busy, candidates, data, limits = map(part, ("busy", "candidates", "data", "limits"))
quality, stock = map(part, ("quality", "stock"))
report, requirements, results = map(part, ("report", "requirements", "results"))
run, suites, tables, trainings = map(part, ("run", "suites", "tables", "trainings"))
Goal, Job, Results = quality.Goal, suites.Job, results.Results
Summary, Cell = results.Summary, results.Cell

TINY = "synthetic-60x5x3"
HEADER = {"machine": {"cores": 1}, "versions": {"library": "a"}, "settings": {"seed": 0}}
JOB = Job("dense", TINY, "ours", "end to end", "dense", 1, 2, 0)


@pytest.fixture
def arrays(tmp_path):
    """Write a data set's arrays; return the file."""

    def write(name=TINY, storage="dense"):
        data.write_arrays(name, storage, 0, tmp_path / "arrays.npz")
        return tmp_path / "arrays.npz"

    return write


def record(cell, repeat=0, outcome="measured", time_limit=900.0, **result):
    """A measurement as it stands in the file."""
    storage = suites.SUITES[cell.suite].storage
    job = asdict(Job(**cell._asdict(), storage=storage, rounds=2, seed=0))
    if outcome == "measured":
        cpu = result.setdefault("cpu_seconds", 1.0)
        result = {"wall_seconds": cpu, "peak_bytes": 1 << 20, "parameters": {}} | result
    return {
        "job": job,
        "repeat": repeat,
        "outcome": outcome,
        "time_limit": time_limit,
        "result": result,
    }


def dense(name, candidate, **result):
    return record(Cell("dense", "end to end", name, 1, candidate), **result)


def verdict(text, records):
    known = [r for name in report.REPORTS for r in requirements.read_requirements(name)]
    (requirement,) = [r for r in known if r.text.startswith(text)]
    return requirements.judge(requirement, Summary(records))


# the command line, as a user runs it


def test_run_goes_on_where_it_was_and_report_reads_it(run_script, tmp_path):
    args = ("run", "--suite", "dense", "--data", TINY, "--candidates", "ours,multi_output_tree")
    args += ("--threads", "1", "--rounds", "2", "--repeats", "1", "--output", str(tmp_path / "out"))
    done = run_script("speed.__main__", *args)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "out" / "results.json"
    first = json.loads(file.read_text())
    assert [m["job"]["candidate"] for m in first["measurements"]] == ["ours", "multi_output_tree"]
    for measurement in first["measurements"]:
        assert measurement["outcome"] == "measured"
        result = measurement["result"]
        assert result["cpu_seconds"] > 0
        assert result["wall_seconds"] > 0
        assert result["peak_bytes"] >= 0
        assert result["parameters"]["max_depth"] == 6
        assert result["parameters"]["nthread"] == 1
    assert first["machine"].keys() >= {"processor", "caches", "cores", "memory", "system"}
    assert first["versions"].keys() >= {"python", "xgboost", "plugin", "library", "numpy"}
    assert first["settings"] == {"rounds": 2, "seed": 0}

    del first["measurements"][1]  # as if the run had been interrupted there
    file.write_text(json.dumps(first))
    speed.main(args)
    second = json.loads(file.read_text())["measurements"]
    assert second[0] == first["measurements"][0]
    assert [m["job"]["candidate"] for m in second] == ["ours", "multi_output_tree"]

    speed.main(["report", str(tmp_path / "out"), "--to", str(tmp_path / "here")])
    text = (tmp_path / "here" / "RESULTS.md").read_text()
    assert f"| {TINY} |" in text
    assert not (tmp_path / "here" / "QUALITY.md").exists()


def test_a_mistake_ends_with_one_message(run_script, tmp_path):
    (tmp_path / "results.json").write_text('{"format": 1')
    done = run_script("speed.__main__", "report", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("experiments.speed: ")
    assert "results.json is not the output of a run (JSONDecodeError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (["--suite", "dense,fast"], ValueError, "unknown suite fast; choose from quality, like"),
        (["--data", "emotion"], ValueError, "unknown data set 'emotion'; expected one of digits"),
        (["--data", "synthetic-0x5x5"], ValueError, "unknown data set 'synthetic-0x5x5'"),
        (["--candidates", "ours,xgb"], ValueError, "unknown candidate xgb; choose from one"),
        (
            ["--suite", "csr", "--candidates", "catboost"],
            ValueError,
            "the suite csr has none of the candidates catboost; it has ours",
        ),
        (
            ["--suite", "scaling", "--data", "digits"],
            ValueError,
            "the suite scaling needs synthetic data, not digits",
        ),
    ],
)
def test_bad_choice(args, error, message, tmp_path):
    with pytest.raises(error, match=message):
        speed.main(["run", *args, "--output", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--repeats", "0"], "'0' is not a positive number"),
        (["--repeats", "one"], "'one' is not a positive number"),
        (["--threads", "1,x"], "'x' is not a positive number"),
        (["--rounds", "-1"], "'-1' is not a positive number"),
        (["--time-limit", "0"], "'0' is not a positive number"),
    ],
)
def test_bad_number(args, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        speed.main(["run", *args, "--output", str(tmp_path)])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("package", ["lightgbm", "catboost"])
def test_missing_package_names_the_extra(package, monkeypatch, tmp_path):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == package else find(n))
    with pytest.raises(ModuleNotFoundError, match=rf"{package} is not .*'\.\[bench\]'.*--candidat"):
        speed.main(["run", "--suite", "dense", "--candidates", package, "--output", str(tmp_path)])


def test_missing_plugin(monkeypatch, tmp_path):
    monkeypatch.setattr("xdcc.base.plugin.plugin_version", lambda: None)
    with pytest.raises(ImportError, match="The benchmark needs the XGBoost of this project"):
        speed.main(["run", "--suite", "csr", "--output", str(tmp_path)])


# plan and run


def test_the_plan_of_the_comparison_of_boosters():
    groups = suites.plan(["dense", "csr"], threads=[1, 2])
    rounds = {job.data: job.rounds for group in groups for job in group}
    assert rounds == {
        "emotions": 50,
        "scene": 50,
        "yeast": 50,
        "enron": 20,
        "medical": 20,
        "bibtex": 5,
        "tmc2007-500": 20,
    }
    turns = [(job.threads, job.candidate) for job in groups[0]]
    candidates = ("ours", "multi_output_tree", "one_output_per_tree", "lightgbm", "catboost")
    assert turns == [(threads, name) for threads in (1, 2) for name in candidates]
    assert {job.storage for job in groups[7]} == {"csr"}


def test_one_size_grows_at_a_time():
    assert suites.GROUPS["growing rows"][-1] == "synthetic-200000x100x100"
    assert suites.GROUPS["growing labels"][-1] == "synthetic-5000x100x1000"
    for axis in ("rows", "features", "labels"):
        shapes = np.array([data.synthetic_shape(name) for name in suites.GROUPS[f"growing {axis}"]])
        grows = (shapes != shapes[0]).any(axis=0)
        assert list(np.array(["rows", "features", "labels"])[grows]) == [axis]
        assert (5000, 100, 100) in map(tuple, shapes)


@pytest.fixture
def stub(monkeypatch):
    """Replace the measuring by a function of the job; return the list of what was measured."""
    measured = []

    def measure(job, file, goal):
        assert file.exists()
        measured.append((job.data, job.candidate))
        outcome = measure.outcomes.get((job.data, job.candidate), "measured")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome, {"library": measure.library}

    measure.outcomes, measure.library = {}, "a"
    monkeypatch.setattr(run, "measure_in_child", measure)
    return measured, measure


def test_candidates_take_turns(stub, tmp_path):
    measured, _ = stub
    groups = suites.plan(["csr"], data=[TINY, "synthetic-9x2x2"], threads=[1])
    run.run(groups, 2, 9.0, Results.open(tmp_path, HEADER))
    names = ("ours", "multi_output_tree", "one_output_per_tree")
    expected = [(d, name) for d in (TINY, "synthetic-9x2x2") for _ in range(2) for name in names]
    assert measured == expected


def test_a_failure_keeps_what_was_measured(stub, tmp_path):
    measured, measure = stub
    groups = suites.plan(["csr"], data=[TINY], threads=[1])
    measure.outcomes[TINY, "one_output_per_tree"] = RuntimeError("broken")
    with pytest.raises(RuntimeError, match="broken"):
        run.run(groups, 1, 9.0, Results.open(tmp_path, HEADER))
    measure.outcomes.clear()
    measured.clear()
    results = Results.open(tmp_path, HEADER)
    assert len(results.records) == 2
    run.run(groups, 1, 9.0, results)
    assert measured == [(TINY, "one_output_per_tree")]


def test_what_took_too_long_is_not_measured_again_but_with_more_time(stub, tmp_path):
    measured, measure = stub
    groups = suites.plan(["csr"], data=[TINY], candidates=["ours"], threads=[1])
    measure.outcomes[TINY, "ours"] = "longer than"
    results = Results.open(tmp_path, HEADER)
    for _ in range(2):
        run.run(groups, 2, 9.0, results)
    assert len(measured) == 1
    assert [r["outcome"] for r in results.records] == ["longer than", "skipped"]
    measure.outcomes.clear()
    run.run(groups, 2, 99.0, results)
    assert len(measured) == 3
    assert [r["outcome"] for r in results.records] == ["measured", "measured"]


def test_a_library_that_is_exchanged_meanwhile_ends_the_run(stub, tmp_path):
    _, measure = stub
    measure.library = "b"
    results = Results.open(tmp_path, HEADER)
    with pytest.raises(RuntimeError, match="XGBoost was a when the run began, and now it is b"):
        run.run(suites.plan(["csr"], data=[TINY]), 1, 9.0, results)
    assert results.records == []


def test_what_the_system_ended_is_measured_again(stub, tmp_path):
    measured, measure = stub
    groups = suites.plan(["csr"], data=[TINY], candidates=["ours"], threads=[1])
    measure.outcomes[TINY, "ours"] = "ended"
    results = Results.open(tmp_path, HEADER)
    for _ in range(2):
        run.run(groups, 1, 9.0, results)
    assert len(measured) == 2


def test_a_candidate_skips_what_is_larger_than_what_took_too_long(stub, tmp_path, monkeypatch):
    measured, measure = stub
    sizes = ["synthetic-9x2x2", "synthetic-20x2x2", "synthetic-8x3x2", "synthetic-30x2x2"]
    monkeypatch.setitem(suites.GROUPS, "end points", (sizes[3],))
    measure.outcomes["synthetic-9x2x2", "multi_output_tree"] = "longer than"
    results = Results.open(tmp_path, HEADER)
    groups = suites.plan(["scaling"], data=sizes, candidates=["ours", "multi_output_tree"])
    run.run(groups, 1, 9.0, results)
    assert [name for name, candidate in measured if candidate == "ours"] == sizes
    assert [name for name, candidate in measured if candidate != "ours"] == [
        "synthetic-9x2x2",
        "synthetic-8x3x2",
        "synthetic-30x2x2",  # an end point
    ]
    skipped = [r for r in results.records if r["outcome"] == "skipped"]
    assert [r["job"]["data"] for r in skipped] == ["synthetic-20x2x2"]
    assert skipped[0]["result"]["why"] == "synthetic-9x2x2 took longer than the time limit"


# the child process


def test_the_time_limit_ends_a_training(arrays):
    job = replace(JOB, rounds=10**6)
    assert run.measure_in_child(job, arrays(), Goal(0.2)) == ("longer than", {})


def test_a_child_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=rf"(?s)ours failed on {TINY} in .* dense:.*nothing.npz"):
        run.measure_in_child(JOB, tmp_path / "nothing.npz", Goal(9.0))


def test_the_stopwatch():
    code = """
import time
from experiments.speed.stopwatch import measure_cost
result, idle = measure_cost(lambda: time.sleep(0.3), 99)
def work():
    values = bytearray(b"x") * (1 << 26)
    while time.process_time() < end:
        pass
    return len(values)
end = time.process_time() + 0.3
result, busy = measure_cost(work, 99)
assert result == 1 << 26
assert idle.wall_seconds >= 0.3 and idle.cpu_seconds < 0.1 and idle.peak_bytes < 1 << 22, idle
assert busy.cpu_seconds >= 0.25 and busy.wall_seconds >= 0.25, busy
assert 0.95 * (1 << 26) < busy.peak_bytes < 1.2 * (1 << 26), busy
_, short = measure_cost(lambda: sum(range(9999)), 99)
assert 0 < short.cpu_seconds < 0.1, short
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr


# data and candidates


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


@pytest.mark.parametrize("phase", ["end to end", "rounds"])
@pytest.mark.parametrize("storage", ["dense", "csr"])
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


@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
@pytest.mark.parametrize("phase", ["end to end", "rounds"])
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


# the roofline


def brute_force(booster, X, n_labels, max_depth, max_bin):
    """Count by walking every row through every tree, node by node."""
    matrix = xgb.QuantileDMatrix(X, max_bin=max_bin)
    begins, cuts = matrix.get_quantile_cut()
    bins = np.full(X.shape, -1)
    for (i, f), value in np.ndenumerate(X):
        if not np.isnan(value):
            bins[i, f] = sum(cut <= value for cut in cuts[begins[f] : begins[f + 1]])
    counted = bins >= 0
    for f in range(X.shape[1]):
        if (bins[:, f] >= 0).all():
            values, counts = np.unique(bins[:, f], return_counts=True)
            counted[:, f] = bins[:, f] != values[counts.argmax()]
    total = {"additions": 0, "read_bytes": 0, "nodes": 0, "rows": 0, "entries": 0}

    def build(rows):
        entries = int(counted[rows].sum())
        total["nodes"] += 1
        total["rows"] += len(rows)
        total["entries"] += entries
        total["additions"] += entries * n_labels * 2
        total["read_bytes"] += len(rows) * n_labels * 2 * 4 + entries * 4

    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    for tree in model["trees"]:

        def grow(node, rows, depth, tree=tree):
            if tree["left_children"][node] < 0:
                return
            x = X[rows, tree["split_indices"][node]]
            missing = np.isnan(x)
            goes_left = x < np.float32(tree["split_conditions"][node])
            goes_left[missing] = tree["default_left"][node]
            left, right = rows[goes_left], rows[~goes_left]
            if depth + 1 < max_depth:
                build(left if len(left) <= len(right) else right)
            grow(tree["left_children"][node], left, depth + 1)
            grow(tree["right_children"][node], right, depth + 1)

        build(np.arange(len(X)))
        grow(0, np.arange(len(X)), 0)
    return total


@pytest.mark.parametrize(("rounds", "max_depth"), [(3, 3), (1, 1), (2, 6)])
def test_counted_additions_are_those_of_a_walk_through_the_trees(rounds, max_depth):
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 4)).astype(np.float32)
    X[random.random(80) < 0.7, 1] = 0
    X[random.random(80) < 0.2, 2] = np.nan
    Y = random.integers(0, 2, size=(80, 3))
    params = {"objective": "multilabel:sumGain", "max_depth": max_depth, "max_bin": 16}
    booster = xgb.train(params, xgb.DMatrix(X, Y), rounds)
    work = limits.histogram_work(booster, X, 3, max_depth, 16)
    assert asdict(work) == brute_force(booster, X, 3, max_depth, 16)
    assert work.nodes > rounds or max_depth == 1


def test_counted_additions_by_hand():
    X = np.array([[0], [0], [0], [1]], dtype=np.float32)
    params = {"objective": "multilabel:sumGain", "max_depth": 1}
    booster = xgb.train(params, xgb.DMatrix(X, np.array([[0, 1], [0, 1], [0, 1], [1, 0]])), 1)
    work = limits.histogram_work(booster, X, 2, 1, 256)
    # One histogram, the root's. The zeros are its most frequent bin: the 1 is the only entry.
    assert asdict(work) == {
        "additions": 1 * 2 * 2,
        "read_bytes": 4 * 2 * 8 + 1 * 4,
        "nodes": 1,
        "rows": 4,
        "entries": 1,
    }


@pytest.fixture
def compiler():
    try:
        return limits.find_compiler()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.mark.usefixtures("compiler")
def test_the_kernel_adds_and_reads(tmp_path):
    peak = limits.Kernel(tmp_path)
    random = np.random.default_rng(0)
    rows = random.integers(9, size=(5, 6)).astype(np.float32)
    row_of = random.integers(5, size=30, dtype=np.uint32)
    bin_of = random.integers(4, size=30, dtype=np.uint32)
    histogram, expected = np.ones((4, 6)), np.ones((4, 6))
    np.add.at(expected, bin_of, rows[row_of])
    peak.add_to_histogram(rows, row_of, bin_of, histogram)
    np.testing.assert_array_equal(histogram, expected)
    assert peak.read_all(np.arange(101, dtype=np.uint64)) == 5050


@pytest.mark.usefixtures("compiler")
def test_roofline(arrays, monkeypatch):
    monkeypatch.setattr(limits, "_SECONDS_PER_TRIAL", 0.005)
    job = Job("roofline", TINY, "ours", "rounds", "dense", 1, 2, 0)
    result = run.measure(job, arrays(), Goal(99.0))
    assert 1e8 < result["peak"]["additions_l2"] < 1e12
    assert 1e8 < result["peak"]["additions_l1"] < 1e12
    assert 1e8 < result["peak"]["read_bytes"] < 1e13
    assert result["work"]["additions"] == result["work"]["entries"] * 6 > 0
    summary = Summary([record(Cell("roofline", "rounds", TINY, 1, "ours"), **result)])
    shares = re.findall(r"\| ([\d.]+)%", tables.roofline_table(summary))
    assert len(shares) == 2
    assert all(0 <= float(share) < 100 for share in shares)


@pytest.mark.usefixtures("compiler")
def test_a_run_prints_the_shares_of_the_peak(monkeypatch, tmp_path, capsys):
    measured = {
        "cpu_seconds": 0.5,
        "peak": {"additions_l1": 8e9, "additions_l2": 10e9, "read_bytes": 20e9},
        "work": {"additions": 10**9, "read_bytes": 10**9},
        "library": results.library_digest(),
    }
    monkeypatch.setattr(run, "measure_in_child", lambda *_: ("measured", measured))
    args = ["--suite", "roofline", "--data", TINY, "--repeats", "1", "--output", str(tmp_path)]
    speed.main(["run", *args])
    assert f"| {TINY} | 1.000 | 1.000 | 0.500 | 2.00 | 20.0% | 10.0% |" in capsys.readouterr().out


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"there is no c\+\+ or g\+\+ or clang\+\+"):
        speed.main(["run", "--suite", "roofline", "--output", str(tmp_path / "out")])


def test_a_compiler_that_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", shutil.which("false"))
    with pytest.raises(RuntimeError, match=r"limits.cc .* failed"):
        limits.Kernel(tmp_path)


# time to quality

QUALITY = Job("quality", TINY, "sketched", "to quality", "in parts", 1, 2, 0)


@pytest.fixture
def in_parts(tmp_path):
    """Write a data set in parts; return the file."""

    def write(name="synthetic-200x5x3", storage="in parts"):
        data.write_parts(name, storage, 0, tmp_path / "data.npz")
        return tmp_path / "data.npz"

    return write


def test_parts_are_disjoint_and_without_labels_that_nobody_can_learn(in_parts, monkeypatch):
    X = np.arange(12.0)[:, None]
    Y = np.column_stack([np.arange(12) % 2, np.zeros(12)])
    monkeypatch.setattr(data, "load_training_rows", lambda *_: (X, Y))
    made = data.read_parts(in_parts("synthetic-6x1x2"))
    rows = [part_.X[:, 0].astype(int).tolist() for part_ in (made.fit, made.held_out, made.test)]
    assert list(map(len, rows)) == [6, 3, 3]
    assert sorted([*rows[0], *rows[1], *rows[2]]) == list(range(12))
    for part_ in (made.fit, made.held_out, made.test):
        np.testing.assert_array_equal(part_.Y[:, 0], part_.X[:, 0] % 2)
        assert part_.Y.shape[1] == 1
    assert not made.sparse
    with pytest.raises(ValueError, match="digits has no test part"):
        in_parts("digits", "published split")


@pytest.mark.data("medical")
def test_parts_of_a_published_split(in_parts):
    split = data.read_parts(in_parts("medical", "published split"))
    made = data.read_parts(in_parts("medical"))
    assert split.sparse
    assert [len(p.X) for p in (split.fit, split.held_out, split.test)] == [333, 645, 645]
    assert [len(p.X) for p in (made.fit, made.held_out, made.test)] == [222, 111, 645]
    np.testing.assert_array_equal(split.held_out.X, made.test.X)


def test_independent_labels_do_not_depend_on_each_other():
    X, Y = data.load_training_rows("independent-4000x12x4", 0)
    assert X.shape == (4000, 12)
    assert np.abs(np.corrcoef(Y.T) - np.eye(4)).max() < 0.3  # they may share features
    more, _ = data.load_training_rows("independent-4000x12x4", 0, 5000)
    assert len(more) == 5000


def test_the_grid():
    few, many = np.zeros((99, 2), np.float32), np.arange(99, dtype=np.float32)[:, None]
    settings = candidates.grid(many, sparse=False)
    assert settings[0] == candidates.LIKE_FOR_LIKE == candidates.Setting(0.1, 256, 1.0)
    assert len(set(settings)) == 8
    assert {s.max_bin for s in candidates.grid(few, sparse=False)} == {256}
    assert len(set(candidates.grid(few, sparse=True))) == 8
    assert [s.csr for s in candidates.grid(few, sparse=True)[:2]] == [False, True]


@pytest.mark.parametrize(
    "name", ["ours", "sketched", "grouped", "auto", "multi_output_tree", "lightgbm", "catboost"]
)
def test_steps_predict_what_a_whole_training_predicts(name, in_parts):
    if name in suites.GROUPS["peers"]:
        pytest.importorskip(name, reason=f"{name} comes with the extra `bench`")
    made = data.read_parts(in_parts())
    for columns in (1.0, 0.5) if name in ("ours", "lightgbm") else (1.0,):
        job = replace(QUALITY, candidate=name, rounds=20)
        candidate = candidates.make_candidate(job, candidates.Setting(0.1, 64, columns))
        matrix = candidate.build(made.fit.X, made.fit.Y)
        steps = candidate.steps(matrix, [made.held_out.X, made.test.X], iter((1, 3, 20, 21)), 99.0)
        found = [next(steps) for _ in range(3)]
        steps.close()
        assert [step.rounds for step in found] == [1, 3, 20]
        seconds = [step.cpu_seconds for step in found]
        assert 0 < seconds[0] < seconds[1] < seconds[2]
        if name in suites.GROUPS["peers"]:  # which keep nothing of a training in their matrix
            matrix = candidate.build(made.fit.X, made.fit.Y)
        model = candidate.train(matrix)
        for X, predicted in zip((made.held_out.X, made.test.X), found[2].predictions, strict=True):
            np.testing.assert_allclose(predicted, candidate.predict(model, X), rtol=1e-4, atol=1e-6)


def test_to_choose_is_part_of_a_training(monkeypatch, in_parts):
    def choose(params, data, on):
        assert params["sketch_size"] == "auto"
        assert on is matrix
        while time.process_time() < end:
            pass
        return {"sketch_size": 1, "labels_per_tree": 2}

    monkeypatch.setattr(candidates, "choose_sketch", choose)
    rows = data.read_parts(in_parts()).fit
    candidate = candidates.make_candidate(replace(QUALITY, candidate="auto"))
    matrix = candidate.build(rows.X, rows.Y)
    end = time.process_time() + 0.2
    assert next(candidate.steps(matrix, [rows.X], iter((1,)), 9.0)).cpu_seconds > 0.2
    assert candidate.parameters["labels_per_tree"] == 2


def test_a_quarter_of_the_labels_per_tree():
    candidate = candidates.make_candidate(replace(QUALITY, candidate="grouped"))
    for n_labels, size in ((3, 2), (14, 4), (16, 4)):
        candidate.build(np.zeros((4, 1), np.float32), np.zeros((4, n_labels), np.float32))
        assert candidate.parameters["labels_per_tree"] == size
        assert candidate.parameters["sketch_size"] == 1


class Falling:
    """A candidate whose held-out log-loss falls to a round and rises again; a second a round."""

    def __init__(self, job, least):
        self.rounds = job.rounds
        self.least = least

    def build(self, X, Y):
        return len(X)

    def train(self, matrix):
        return matrix * self.rounds

    def predict(self, model, X):
        return np.full((len(X), 1), 1 - 1 / model)

    def quantise(self, matrix):
        pass

    def steps(self, matrix, held, evaluated, limit):
        for rounds in evaluated:
            p = 0.5 - 0.3 / (1 + abs(rounds - self.least) / 10)
            yield candidates.Step(rounds, float(rounds), 2.0 * rounds, [np.full((2, 1), p)] * 2)


@pytest.fixture
def falling(monkeypatch):
    """Replace candidates: the least log-loss comes after so many rounds as a setting says."""
    rows = data.Rows(np.zeros((2, 1), np.float32), np.zeros((2, 1), np.float32))
    monkeypatch.setattr(quality, "warm_up", lambda job: None)

    def make(job, setting_):
        return Falling(job, round(1 / setting_.learning_rate * 4 * setting_.columns))

    monkeypatch.setattr(quality, "make_candidate", make)
    return data.Parts(rows, rows, rows, sparse=False)


def test_a_curve_goes_on_as_long_as_it_helps(falling):
    found = quality.train_curve(QUALITY, candidates.Setting(0.1), falling, None, 999.0)
    assert found.best().rounds == 40
    assert found.best().held_out == pytest.approx(-np.log(0.8))
    assert 40 + 12 < found.points[-1].rounds <= 40 + 12 + 3
    assert [p.rounds for p in found.points[:20]] == list(range(1, 21))
    cut = quality.train_curve(QUALITY, candidates.Setting(0.1), falling, None, 7.0)
    assert cut.points[-1].cpu_seconds == 7.0
    assert quality.from_json(json.loads(json.dumps(quality.as_json(found)))).points[
        -1
    ] == pytest.approx(found.points[-1], abs=1e-6)


def test_the_reference_sets_the_goal_and_the_fastest_setting_counts(falling):
    measure = quality.measure_time_to_quality
    reference = measure(replace(QUALITY, candidate="one_output_per_tree"), falling, Goal(999.0))
    assert reference["target"] == pytest.approx(-1.01 * np.log(0.8), rel=1e-3)
    assert reference["setting"] == {
        "learning_rate": 0.3,
        "max_bin": 256,
        "columns": 0.5,
        "csr": False,
    }
    assert reference["cpu_seconds"] == reference["rounds"] == 7
    result = measure(QUALITY, falling, Goal(50.0, reference["target"]))
    assert result["rounds"] == 7
    # Others are given up at the time of the fastest so far: 40, 20, 13 and then 7 rounds.
    assert [c["points"][-1][0] for c in result["curves"]] == [40, 20, 13, 7]
    never = measure(QUALITY, falling, Goal(3.0, reference["target"]))
    assert never["outcome"] == "longer than"
    assert "cpu_seconds" not in never
    like = measure(replace(QUALITY, suite="like_for_like"), falling, Goal(50.0, 0.3))
    assert [c["setting"]["learning_rate"] for c in like["curves"]] == [0.1]


def test_the_quality_at_the_end_is_of_a_training_on_all_rows_with_the_best_rounds(falling):
    result = quality.measure_end(replace(QUALITY, suite="end"), falling, Goal(999.0))
    assert (result["rounds"], result["wall_seconds"]) == (40, 80.0)
    # Two rows to fit and two held out, 40 rounds: labels of 0 have 1 - 1 / 160.
    assert result["test"] == pytest.approx(np.log(160))


def test_goals(tmp_path):
    results = Results.open(tmp_path, HEADER)
    reference = replace(QUALITY, candidate=suites.REFERENCE)
    find = quality.find_goal
    assert find(QUALITY, 0, results, 99.0) is None
    assert find(reference, 0, results, 99.0) == Goal(99.0)
    results.add(reference, 0, "measured", 99.0, {"target": 0.25, "cpu_seconds": 8.0})
    assert find(reference, 1, results, 99.0) == Goal(99.0, 0.25)
    assert find(QUALITY, 0, results, 99.0) == Goal(8.0, 0.25)
    assert find(QUALITY, 0, results, 7.0) == Goal(7.0, 0.25)
    cat = replace(QUALITY, candidate="catboost")
    assert find(cat, 0, results, 99.0) == Goal(8.0, 0.25)
    results.add(QUALITY, 0, "measured", 16.0, {"cpu_seconds": 0.5})
    assert find(cat, 0, results, 999.0) == Goal(100.0, 0.25)
    delicious = Job("many_labels", "delicious", "ours", "to quality", "published split", 1, 2, 0)
    assert find(delicious, 0, results, 99.0) == Goal(99.0, 0.0615)
    assert find(JOB, 0, results, 99.0) == Goal(99.0)


def test_without_the_reference_time_to_quality_is_skipped(stub, tmp_path):
    measured, _ = stub
    results = Results.open(tmp_path, HEADER)
    groups = suites.plan(["quality"], data=[TINY], candidates=["ours"])
    run.run(groups, 1, 9.0, results)
    assert measured == []
    assert results.records[0]["result"]["why"] == "one_output_per_tree has not set a goal"


def test_time_to_quality_as_a_user_runs_it(tmp_path):
    args = ["run", "--suite", "quality,end", "--data", "synthetic-200x5x3", "--repeats", "1"]
    args += ["--candidates", "one_output_per_tree,sketched", "--output", str(tmp_path)]
    speed.main(args)
    speed.main(["report", str(tmp_path), "--to", str(tmp_path)])
    text = (tmp_path / "QUALITY.md").read_text()
    assert not (tmp_path / "RESULTS.md").exists()
    assert "## Time to quality, each at its best setting" in text
    assert re.search(r"\| synthetic-200x5x3 \| [\d.]+ \(0.\d{4}; 0.[13] ", text)
    assert "## Quality at the end" in text
    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")


def test_what_other_pages_say_of_the_time_to_quality():
    text = (SPEED / "QUALITY.md").read_text()
    over_stock = r"To quality \({}\): geometric mean over stock.*?\| ([\d.]+)×"
    names = {"sketched": "one sketch dimension", "auto": "auto"}
    mean = {
        name: f"{float(re.search(over_stock.format(told), text)[1]):.0f}"
        for name, told in names.items()
    }
    table = text[text.index("How many times as long stock XGBoost") :].splitlines()[2:]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table[:9])
    assert len(rows) == len(suites.GROUPS["seven"])
    ratios = {name: [row[head.index(name)].split("×")[0] for row in rows] for name in names}
    least = {name: min(values, key=float) for name, values in ratios.items()}
    readme = " ".join((ROOT / "README.md").read_text().split())
    most = max(ratios["sketched"], key=float)
    assert f"[{mean['sketched']} times as long]" in readme
    assert f"({least['sketched']} to {most} times)" in readme
    results = " ".join((ROOT / "docs" / "results" / "index.md").read_text().split())
    assert f'are {mean["sketched"]} times as fast, `"auto"` {mean["auto"]} times' in results
    assert f"with {least['sketched']} and {least['auto']}" in results


def test_the_kept_report_is_made_from_the_kept_measurements(tmp_path):
    report.write_reports(Results.read(SPEED / "speed_results"), tmp_path)
    assert (tmp_path / "QUALITY.md").read_text() == (SPEED / "QUALITY.md").read_text()


def test_the_kept_report_on_busy_machines_is_made_from_the_kept_measurements(tmp_path):
    report.write_reports(Results.read(SPEED / "speed_results" / "drop_in"), tmp_path)
    assert (tmp_path / "DROP_IN.md").read_text() == (SPEED / "DROP_IN.md").read_text()


def test_what_the_report_says_of_time_to_quality():
    cell = Cell("quality", "to quality", "yeast", 1, "one_output_per_tree")
    best = {
        "setting": vars(candidates.Setting(0.3, 64, 0.5, True)),
        "test": 0.25,
        "setup_seconds": 1.0,
    }
    ours = cell._replace(candidate="sketched")
    given_up = cell._replace(candidate="ours")
    records = [
        record(cell, cpu_seconds=8.0, **best),
        record(ours, cpu_seconds=0.5, **best),
        record(given_up, 0, "longer than", 16.0),
    ]
    summary = Summary(records)
    table = tables.quality_table(summary, "quality")
    assert (
        "| yeast | 8.00 (0.2500; 0.3 64 half CSR) | 0.500 (0.2500; 0.3 64 half CSR) | > 16.0 |"
        in table
    )
    table = tables.ratio_table(summary, "quality", "one_output_per_tree")
    assert "| yeast | 16.0× (6.00×) | < 0.500× |" in table
    judged = verdict("To quality (one sketch dimension): every data set", records)
    assert (judged.measured, judged.found) == (16, 1)


def test_what_the_report_says_of_a_number_alone():
    cell = Cell("many_labels", "to quality", "delicious", 2, "deep")
    records = [record(cell, wall_seconds=5.5, rounds=300)]
    judged = verdict("Delicious to .0615", records)
    assert (judged.state, judged.measured) == ("reached", 5.5)
    assert "| ≤ 6 s | 5.50 s | reached | delicious: 5.50 s |" in tables.requirement_table([judged])
    table = tables.many_labels_table(Summary(records), "many_labels")
    assert "| deep | 2 | 300 | 1.00 (once) | 5.50 (once) |" in table
    cell = Cell("end", "to the end", "bibtex", 1, "auto")
    records = [record(cell, test=0.0421, rounds=30)]
    assert verdict("Log-loss at the end (auto)", records).state == "NOT reached"
    assert "| bibtex | 0.0421 (30) |" in tables.end_table(Summary(records), "end")


def test_log_loss_at_the_end_is_the_mean_over_the_seeds_that_both_have():
    cells = [Cell("end", "to the end", "yeast", 1, name) for name in ("auto", "ours")]
    records = []
    for cell, losses in zip(cells, ((0.4, 0.5, 0.9), (0.5, 0.7)), strict=True):
        for seed, loss in enumerate(losses):
            records.append(record(cell, test=loss, rounds=10 * (seed + 1)))
            records[-1]["job"]["seed"] = seed
    summary = Summary(records)
    assert summary.ratio(cells[1], cells[0], "test").value == pytest.approx(1.2 / 0.9)
    assert summary.ratio(cells[0], None, "test").value == pytest.approx(0.6)
    assert "| yeast | 0.6000 (± 0.2646, 20) | 0.6000 (± 0.1414, 15) |" in tables.end_table(
        summary, "end"
    )


def test_the_quality_at_the_end_is_measured_with_several_seeds():
    groups = suites.plan(["end"], data=["yeast"], candidates=["auto"], seed=3)
    assert [[job.seed for job in group] for group in groups] == [[3], [4], [5], [6], [7]]


# passes, workers, variants, memory


@pytest.mark.usefixtures("compiler")
def test_a_pass_adds_leaf_values_and_projects_gradients(tmp_path):
    random = np.random.default_rng(0)
    Y = random.integers(2, size=(7, 19)).astype(np.float32)
    one_pass = limits.OnePass(tmp_path, Y)
    margins = one_pass.margins.astype(float) + one_pass.leaf_values[one_pass.leaf_of]
    one_pass.run()
    gradients = 1 / (1 + np.exp(-margins)) - Y
    np.testing.assert_allclose(one_pass.margins, margins, rtol=1e-6)
    np.testing.assert_allclose(one_pass.gradients, gradients, atol=1e-5)
    np.testing.assert_allclose(one_pass.projected, gradients @ one_pass.direction, atol=1e-4)


@pytest.mark.usefixtures("compiler")
def test_rounds_in_passes(arrays):
    job = Job("pass", TINY, "sketched", "rounds", "dense", 1, 2, 0)
    result = run.measure(job, arrays(), Goal(99.0))
    assert result["passes"] == result["cpu_seconds"] / 2 / result["pass_seconds"]
    assert result["passes"] > 1
    summary = Summary([record(Cell("pass", "rounds", TINY, 1, "ours"), **result)])
    table = tables.pass_table(summary, "pass")
    assert f"| {TINY} | ours |" in table


def test_two_workers_grow_the_model_of_one(arrays):
    job = Job("workers", TINY, "ours", "rounds", "dense", 1, 2, 0)
    result = run.measure(job, arrays(), Goal(99.0))
    assert result["differs"] == 0
    assert result["cpu_seconds"] > 0


@pytest.mark.parametrize("name", suites.GROUPS["plain trainings"])
def test_plain_trainings_are_compared_with_another_library(name, arrays, monkeypatch):
    monkeypatch.setattr(stock, "official_wheel", lambda: Path(xgb.__file__).parents[1])  # itself
    monkeypatch.setattr(stock, "_TURNS", 1)
    job = Job("stock", "synthetic-300x5x4", name, "rounds", "dense", 1, 1, 0)
    result = run.measure(job, arrays(job.data), Goal(99.0))
    assert result["differs"] == 0
    assert result["ratio"] == result["cpu_seconds"] / result["official_cpu_seconds"] > 0


@pytest.mark.parametrize("name", ["sketched", "automatic"])
def test_threads_are_compared_on_a_busy_machine(name, arrays, monkeypatch):
    situations = (busy.Situation(), busy.Situation(1, "lower"), busy.Situation(limit="one core"))
    monkeypatch.setattr(busy, "SITUATIONS", situations)
    monkeypatch.setattr(os, "nice", lambda increment: 0)  # would stay for the tests that follow
    before = os.sched_getaffinity(0)
    job = Job("busy", "synthetic-60x4x2", name, "rounds", "dense", 2, 1, 0)
    result = run.measure(job, arrays(job.data), Goal(99.0))
    assert list(result["ratios"]) == ["alone", "1 lower", "one core"]
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


# results


def test_results_of_other_builds_are_not_mixed(tmp_path):
    Results.open(tmp_path, HEADER).add(JOB, 0, "measured", 9.0, {})
    assert Results.open(tmp_path, HEADER).find(JOB, 0)["outcome"] == "measured"
    with_more = HEADER | {"versions": {"library": "a", "catboost": "1"}}
    assert Results.open(tmp_path, with_more).header["versions"]["catboost"] == "1"
    other = HEADER | {"versions": {"library": "b"}}
    with pytest.raises(ValueError, match="versions library = 'a', and now it is 'b': name another"):
        Results.open(tmp_path, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "TypeError"),
        ('{"format": 0}', "its format is 0, expected 1"),
        ('{"format": 1, "machine": {}}', "KeyError: 'versions'"),
        (json.dumps({"format": 1, **HEADER, "measurements": [{"job": {"suit": 1}}]}), "suit"),
    ],
)
def test_broken_results(text, message, tmp_path):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(ValueError, match=f"is not the output of a run .*{message}.*move it away"):
        speed.main(["report", str(tmp_path)])


def test_no_results(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no results\.json"):
        speed.main(["report", str(tmp_path)])
    with pytest.raises(ValueError, match="has no measurements"):
        report.write_reports(Results.open(tmp_path, HEADER), tmp_path)


# what the report says


def test_the_best_of_the_repeats_and_ratios():
    ours, stock = (Cell("dense", "end to end", "yeast", 1, c) for c in ("ours", "lightgbm"))
    slow = ours._replace(candidate="catboost")
    summary = Summary(
        [
            record(ours, 0, cpu_seconds=0.5),
            record(ours, 1, cpu_seconds=0.25),
            record(stock, 0, cpu_seconds=3.0),
            record(slow, 0, "longer than", 60.0),
            record(slow, 1, "skipped", why="slow"),
        ]
    )
    best = summary.best(ours)
    assert (best.value, best.spread, best.repeats) == (0.25, 1.0, 2)
    assert summary.ratio(stock, ours).value == 12
    assert tables.ratio_text(summary.ratio(slow, ours)) == "> 240×"
    assert tables.ratio_text(summary.ratio(stock, slow)) == "< 0.050×"
    assert summary.ratio(slow, slow) is None
    assert summary.ratio(slow, ours, "wall_seconds") is None
    assert summary.ratio(stock, ours._replace(data="scene")) is None
    table = tables.cost_tables(summary, "dense", "ours")
    assert "| yeast | 0.250 (+100%) | 3.00 (once), 12.0× | > 60.0, > 240× |" in table
    assert "| geometric mean |  | 12.0× | > 240× |" in table
    assert "| geometric mean |  |  |  |" in tables.cost_tables(
        Summary([record(ours, 0, "longer than", 60.0), record(stock), record(slow)]),
        "dense",
        "ours",
    )


SEVEN_RATIOS = dict(zip(suites.GROUPS["seven"], (4, 16, 64, 16, 16, 16, 16), strict=True))
"""Their geometric mean is 16, and the least is 4."""


def seven(candidate, factor=1.0):
    for name, ratio in SEVEN_RATIOS.items():
        yield dense(name, "ours", cpu_seconds=0.5)
        yield dense(name, candidate, cpu_seconds=0.5 * ratio * factor)


def test_reached_and_not_reached():
    mean = "End to end, dense: geometric mean over stock `multi_output_tree`"
    reached = verdict(mean, seven("multi_output_tree"))
    assert reached.measured == pytest.approx(16)
    assert reached.state == "reached"
    below = verdict(mean, seven("multi_output_tree", 0.7))
    assert below.measured == pytest.approx(11.2)
    assert below.state == "NOT reached"
    assert below.worst[0].label == "emotions, multi_output_tree"
    assert below.worst[1].value == pytest.approx(2.8)

    every = "End to end, dense: every data set"
    assert verdict(every, seven("multi_output_tree")).state == "incomplete"
    both = [*seven("multi_output_tree", 2), *seven("one_output_per_tree")]
    assert verdict(every, both).state == "NOT reached"
    assert verdict(every, both).measured == 4
    both = [*seven("multi_output_tree", 2), *seven("one_output_per_tree", 1.25)]
    assert verdict(every, both).state == "reached"
    assert verdict("Rounds alone: geometric mean over stock `m", both).state == "not measured"

    text = tables.requirement_table([reached, below, verdict(every, seven("multi_output_tree"))])
    assert f"| {mean} | ≥ 12× | 16.0× | reached | emotions, multi_output_tree: 4.00× |" in text
    assert "| ≥ 12× | 11.2× | **NOT reached** | emotions, multi_output_tree: 2.80× |" in text
    assert "| incomplete (7 of 14) |" in text


def test_log_loss_has_to_be_near_on_both_sides():
    what = "Training log-loss"
    for factor, state in ((1.0009, "reached"), (1.0011, "NOT reached"), (0.9989, "NOT reached")):
        records = [
            dense(name, candidate, log_loss=0.5 * (factor if candidate == "ours" else 1))
            for name in suites.GROUPS["seven"]
            for candidate in ("ours", "multi_output_tree")
        ]
        judged = verdict(what, records)
        assert judged.state == state
        assert judged.measured == pytest.approx(100 * abs(factor - 1))


def test_methods_may_cost_half_more():
    def records(slowest):
        for name in suites.GROUPS["seven"]:
            for k, method in enumerate(suites.GROUPS["split methods"]):
                seconds = {0: 1.0, 5: slowest}.get(k, 1.2)
                yield record(Cell("methods", "rounds", name, 1, method), cpu_seconds=seconds)

    assert suites.GROUPS["split methods"][0] == "sumGain"
    assert verdict("Split methods over sumGain, rounds", records(1.5)).state == "reached"
    judged = verdict("Split methods over sumGain, rounds", records(1.6))
    assert (judged.state, judged.measured) == ("NOT reached", 1.6)
    assert judged.worst[0].label == "emotions, maxAbsG"


def test_two_threads_are_compared_in_wall_time():
    def records(*wall):
        for name in suites.SUITES["threads"].data:
            for threads, seconds in zip((1, 2), wall, strict=True):
                cell = Cell("threads", "rounds", name, threads, "ours")
                yield record(cell, cpu_seconds=9.0, wall_seconds=seconds)

    assert verdict("Two threads, wall time, rounds", records(1.7, 1.0)).state == "reached"
    assert verdict("Two threads, wall time, rounds", records(1.6, 1.0)).state == "NOT reached"


def test_chains_are_counted():
    def records(n_faster, limited=0):
        for k, name in enumerate(suites.GROUPS["table 2"]):
            cell = Cell("chain", "chain", name, 1, "classifier_chain")
            yield record(cell, cpu_seconds=2.0, chain_length=6)
            outcome = "longer than" if k >= 11 - limited else "measured"
            slow = {"cpu_seconds": 2.0, "chain_length": 1}
            yield record(cell._replace(candidate="binary_relevance"), **slow)
            for candidate in ("xdcc_short", "xdcc_full", "xdcc_sketched", "xdcc_auto"):
                faster = {"cpu_seconds": 1.0 if k < n_faster else 2.0, "chain_length": 6}
                result = faster if outcome == "measured" else {}
                yield record(cell._replace(candidate=candidate), 0, outcome, 9.0, **result)

    short, full, auto = "Chain of cardinality + 2", "Full chain:", "Out-of-fold chain, auto"
    assert verdict(short, records(11)).state == "reached"
    assert verdict(short, records(10)).state == "NOT reached"
    assert verdict(full, records(9, limited=2)).state == "reached"
    assert verdict(auto, records(9, limited=2)).state == "reached"
    assert verdict(auto, records(8)).state == "NOT reached"
    assert verdict("Full chain, one sketch dimension", records(9)).state == "reached"
    judged = verdict(full, records(8))
    assert (judged.state, judged.measured) == ("NOT reached", 8)
    assert judged.worst[0].label == "enron"


def test_a_bound_on_the_wrong_side_does_not_reach():
    records = list(seven("multi_output_tree", 10))
    records[0] = dense("emotions", "ours", outcome="longer than", time_limit=0.01)
    judged = verdict("End to end, dense: geometric mean over stock `multi", records)
    assert judged.measured > 12
    assert judged.state == "NOT reached"


def test_the_whole_report(tmp_path):
    records = [*seven("multi_output_tree"), *seven("lightgbm")]
    for record_ in records:
        record_["result"]["log_loss"] = 0.125
    for axis in ("rows", "features", "labels"):
        for k, name in enumerate(suites.GROUPS[f"growing {axis}"]):
            for candidate in ("ours", "multi_output_tree"):
                cell = Cell("scaling", "end to end", name, 1, candidate)
                bounded = {"max_cached_hist_node": 32} if k == 4 else {}
                records.append(record(cell, cpu_seconds=k + 1.0, parameters=bounded))
    slow = Cell("scaling", "end to end", "synthetic-5000x100x10", 1, "one_output_per_tree")
    records.append(record(slow, 0, "longer than", 60.0))
    larger = slow._replace(data="synthetic-5000x100x30")
    records.append(record(larger, 0, "skipped", why="it would take long"))
    for threads in (1, 2):
        cell = Cell("threads", "rounds", "bibtex", threads, "ours")
        records.append(record(cell, wall_seconds=3.5 / threads))
    for k, candidate in enumerate(suites.GROUPS["chains"]):
        cell = Cell("chain", "chain", "flags", 1, candidate)
        records.append(record(cell, cpu_seconds=k + 1.0, chain_length=6 + (k > 0)))
    peak = {"additions_l1": 10e9, "additions_l2": 8e9, "read_bytes": 20e9}
    work = {"additions": 2 * 10**9, "read_bytes": 10**9}
    cell = Cell("roofline", "rounds", "bibtex", 1, "ours")
    records.append(record(cell, cpu_seconds=0.5, peak=peak, work=work))

    results = Results(tmp_path / "results.json", HEADER, records)
    (file,) = report.write_reports(results, tmp_path / "out")
    text = file.read_text()
    assert "## Requirements that are not met\n\n**Time to quality** is in" in text
    assert "| machine | cores | 1 |" in text
    assert "| yeast | 0.500 (+0%) | 32.0 (once), 64.0× | 32.0 (once), 64.0× |" in text
    assert "| yeast | 0.125000 | 0.125000 | 0.125000 |" in text
    assert "| bibtex | rounds | ours | 3.50 (once) | 1.75 (once) | 2.00× |" in text
    costs = " | ".join(f"{6 + (k > 0)} | {k + 1}.00 (once)" for k in range(6))
    assert f"| flags | {costs} | 4.00× | 2.00× | 1.33× | 1.20× |" in text
    assert "| bibtex | 2.000 | 1.000 | 0.500 | 4.00 | 40.0% | 10.0% |" in text
    assert "- synthetic-5000x100x30, one_output_per_tree: skipped, it would take long" in text
    assert "- synthetic-5000x100x1000, multi_output_tree: `max_cached_hist_node=32`" in text
    assert "## Split methods" not in text  # not measured
    assert "{" not in text
    assert "\n\n\n" not in text


def test_every_suite_stands_in_one_report():
    templates = [(SPEED / f"{name}_template.md").read_text() for name in report.REPORTS]
    placed = [suite for template in templates for suite in report.suites_of(template)]
    assert sorted(placed) == sorted(suites.SUITES)
