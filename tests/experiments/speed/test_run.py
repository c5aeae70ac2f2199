"""The command line, the plan, the turns and the process of a measurement, and the records."""

import importlib.util
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from experiments import ROOT
from experiments.engine.records import RecordStore, make_record, record_name
from experiments.speed import __main__ as speed
from experiments.speed import data, prediction, report, run, suites
from experiments.speed.quality import Goal
from experiments.speed.result_table import Measurements
from experiments.speed.results import Results
from experiments.speed.suites import Job
from tests.experiments.speed.cases import HEADER, JOB, TINY


def test_run_goes_on_where_it_was_and_report_reads_it(run_script, tmp_path):
    args = ("run", "--suite", "dense", "--data", TINY, "--candidates", "ours,multi_output_tree")
    args += ("--threads", "1", "--rounds", "2", "--repeats", "1", "--output", str(tmp_path / "out"))
    done = run_script("speed.__main__", *args)
    assert done.returncode == 0, done.stderr
    first = Results.open(tmp_path / "out")
    jobs = [Job(**record["job"]) for record in first.records]
    assert [job.candidate for job in jobs] == ["ours", "multi_output_tree"]
    for record in first.records:
        assert record["outcome"] == "measured"
        result = record["result"]
        assert result["cpu_seconds"] > 0
        assert result["wall_seconds"] > 0
        assert result["peak_bytes"] >= 0
        assert result["parameters"]["max_depth"] == 6
        assert result["parameters"]["nthread"] == 1
    assert first.header["machine"].keys() >= {"processor", "caches", "cores", "memory", "system"}
    assert first.header["versions"].keys() >= {"python", "xgboost", "plugin", "library", "numpy"}
    assert first.header["settings"] == {"rounds": 2, "seed": 0}

    (last,) = (tmp_path / "out" / TINY).glob("multi_output_tree-*.json")
    last.unlink()  # as if the run had been interrupted there
    speed.main(args)
    second = Results.open(tmp_path / "out").records
    assert second[0] == first.records[0]
    assert [Job(**record["job"]) for record in second] == jobs

    speed.main(["pack", str(tmp_path / "out")])
    speed.main(["report", str(tmp_path / "out.csv"), "--to", str(tmp_path / "here")])
    text = (tmp_path / "here" / "RESULTS.md").read_text()
    assert f"| {TINY} |" in text
    assert not (tmp_path / "here" / "QUALITY.md").exists()


@pytest.mark.parametrize("candidate", suites.GROUPS["predictors"])
def test_prediction_is_measured(candidate, arrays, monkeypatch):
    pytest.importorskip("treelite")
    monkeypatch.setattr(prediction, "SECONDS", 0.01)
    monkeypatch.setattr(prediction, "BATCHES", (1, 20))
    job = replace(JOB, suite="predict", candidate=candidate, phase="predict", rounds=2)
    result = run.measure(job, arrays(), Goal(60.0))
    assert result["microseconds_1"] > 0
    assert result["microseconds_20"] > 0
    assert result["cpu_seconds"] >= 0.02


def test_a_mistake_ends_with_one_message(run_script, tmp_path):
    (tmp_path / "table.csv").write_text("# 1 jobs\n")
    done = run_script("speed.__main__", "report", tmp_path / "table.csv")
    assert done.returncode == 1
    assert done.stderr.startswith("experiments.speed: ")
    assert "table.csv, line 1: the column suite is missing. `python -m experiments" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (["--suite", "dense,fast"], ValueError, "Unknown suite 'fast'. Choose from busy, chain"),
        (["--data", "emotion"], ValueError, "unknown data set 'emotion'; expected one of digits"),
        (["--data", "synthetic-0x5x5"], ValueError, "unknown data set 'synthetic-0x5x5'"),
        (["--candidates", "ours,xgb"], ValueError, "Unknown candidate 'xgb'. Choose from D"),
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


def test_a_candidate_skips_data_larger_than_those_that_took_too_long(stub, tmp_path, monkeypatch):
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


def test_results_of_other_builds_are_not_mixed(tmp_path):
    Results.open(tmp_path, HEADER).add(JOB, 0, "measured", 9.0, {})
    assert Results.open(tmp_path, HEADER).find(JOB, 0)["outcome"] == "measured"
    with_more = HEADER | {"versions": {"library": "a", "catboost": "1"}}
    assert Results.open(tmp_path, with_more).header["versions"]["catboost"] == "1"
    other = HEADER | {"versions": {"library": "b"}}
    with pytest.raises(ValueError, match="versions library = 'a', and now it is 'b': name another"):
        Results.open(tmp_path, other)


def test_no_results(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no measurements: it is not the output folder"):
        speed.main(["pack", str(tmp_path)])
    with pytest.raises(ValueError, match="there are no measurements"):
        report.write_reports(Measurements(HEADER, []), tmp_path)


def test_records_of_other_experiments_are_no_measurements(tmp_path):
    key = {"format": 1, "dataset": "digits", "method": "br"}
    RecordStore(tmp_path).write(record_name(key), make_record(key, {}, None, {}))
    with pytest.raises(ValueError, match="has records of other experiments: name another folder"):
        Results.open(tmp_path, HEADER)


def test_measurements_are_in_the_order_of_a_plan(tmp_path):
    results = Results.open(tmp_path, HEADER)
    jobs = [job for group in suites.plan(["dense", "end"], data=["yeast", TINY]) for job in group]
    for job in reversed(jobs):
        for repeat in (1, 0):
            results.add(job, repeat, "measured", 9.0, {})
    (tmp_path / "yeast" / "damaged.json").write_text("{")
    again = Results.open(tmp_path).records
    in_order = sorted(jobs, key=suites.place_of)
    assert [job for job in in_order if job.suite == "dense"] == [
        job for job in jobs if job.suite == "dense"
    ]
    found = [(Job(**record["job"]), record["repeat"]) for record in again]
    assert found == [(job, repeat) for job in in_order for repeat in (0, 1)]
