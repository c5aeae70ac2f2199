"""The speed-up that the structure of recorded work allows on any number of threads."""

import json

import numpy as np
import pytest
import xgboost as xgb

from experiments.speed import cores, run, tables
from experiments.speed.schedule import Schedule, makespan, region_seconds, schedule
from experiments.speed.spans import Recording, Region, record, region_cost
from experiments.speed.suites import GROUPS, Job
from experiments.speed.summary import Cell, Summary
from tests.experiments.speed.cases import record as record_of
from tests.experiments.speed.cases import verdict

MS = 1e-3


def slow_makespan(tasks, n_threads):
    """Move time forward from one end of a task to the next."""
    waiting = list(tasks)
    running, now = [], 0.0
    while waiting or running:
        while waiting and len(running) < n_threads:
            running.append(now + waiting.pop(0))
        now = min(running)
        running.remove(now)
    return now


@pytest.mark.parametrize(
    ("tasks", "n_threads", "expected"),
    [
        ([], 4, 0),
        ([5], 4, 5),
        ([1, 1, 1, 1], 1, 4),
        ([1, 1, 1, 1], 2, 2),
        ([1, 1, 1, 1, 1], 4, 2),  # one is left over
        ([4, 1, 1, 1, 1], 2, 4),  # long first
        ([1, 1, 1, 1, 4], 2, 6),  # long last
        ([3, 1, 1, 4], 2, 6),  # the second thread takes 1, 1 and 4
    ],
)
def test_threads_claim_tasks_in_order(tasks, n_threads, expected):
    assert makespan(tasks, n_threads) == expected
    assert slow_makespan(tasks, n_threads) == expected


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8, 64])
def test_the_schedule_is_that_of_the_reference(n_threads):
    rng = np.random.default_rng(n_threads)
    for n_tasks in (1, 2, 7, 40):
        tasks = rng.integers(1, 9, n_tasks).tolist()
        assert makespan(tasks, n_threads) == slow_makespan(tasks, n_threads)


def test_a_region_costs_to_begin_unless_it_runs_on_one_thread():
    assert region_seconds([2 * MS, 2 * MS], 2, MS) == pytest.approx(3 * MS)
    assert region_seconds([2 * MS, 2 * MS], 1, MS) == pytest.approx(4 * MS)
    assert region_seconds([4 * MS], 2, MS) == pytest.approx(4 * MS)
    assert region_seconds([4e-6, 4e-6], 2, 1e-9) == pytest.approx(8e-6)  # too short to share
    assert region_seconds([MS, MS], 2, 5 * MS) == pytest.approx(2 * MS)  # not worth it
    assert region_seconds([4 * MS] * 3, 8, MS) == pytest.approx(6 * MS)  # three threads


def test_parts_are_named_by_what_they_lose():
    recording = Recording(
        total=35 * MS,
        regions=[
            Region("fill", 2 * MS, 18 * MS, [4 * MS] * 4),
            Region("decide", 19 * MS, 29 * MS, [9 * MS, MS]),
            Region("fill", 29 * MS, 33 * MS, [MS] * 4),
        ],
    )
    found = schedule(recording, 4, 0.1 * MS)
    seconds = {part.name: part.seconds / MS for part in found.parts}
    assert seconds == pytest.approx(
        {
            "begin → fill": 2,
            "fill → decide": 1,
            "decide → fill": 0,
            "fill → end": 2,
            "fill": 4.3 + 1.3,
            "decide": 9.1,
        }
    )
    assert found.seconds == pytest.approx(19.7 * MS)
    assert found.work == pytest.approx(35 * MS)
    kinds = {part.name: part.kind for part in found.parts}
    assert kinds["decide"] == "uneven"
    assert kinds["fill"] == "too short"
    assert kinds["begin → fill"] == "serial"
    lost = [found.lost(part) for part in found.parts]
    assert found.parts[0].name == "decide"
    assert lost == sorted(lost, reverse=True)
    assert lost[0] == pytest.approx((9.1 - 10 / 4) * MS)
    assert isinstance(schedule(Recording(MS, []), 4, MS), Schedule)


def rounds(n_threads, *, recorded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    Y = (X[:, :5] + rng.normal(size=(3000, 5)) > 0).astype(int)
    matrix = xgb.DMatrix(X, Y, nthread=1)
    parameters = {"objective": "multilabel:sumGain", "nthread": n_threads, "max_depth": 4}
    booster = xgb.Booster(parameters, [matrix])

    def update():
        for number in range(3):
            booster.update(matrix, number)

    recording = record(update, n_threads) if recorded else update()
    return recording, booster.save_raw("ubj")


def test_a_recorded_training_is_the_same_and_has_the_tasks_of_all_threads():
    _, expected = rounds(1, recorded=False)
    alone, model = rounds(1, recorded=True)
    assert model == expected
    assert all(len(region.tasks) == 1 for region in alone.regions)
    assert alone.total > 0
    recording, model = rounds(16, recorded=True)
    assert model == expected
    assert max(len(region.tasks) for region in recording.regions) >= 16
    names = {region.name for region in recording.regions}
    assert "LabelSearch::Evaluate" in names
    end = 0.0
    for region in recording.regions:
        assert end <= region.begin <= region.end
        assert sum(region.tasks) == pytest.approx(region.end - region.begin, abs=1e-6)
        end = region.end
    assert end <= recording.total
    assert schedule(recording, 16, 0.0).work == pytest.approx(recording.total)


def test_an_error_ends_the_recording():
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 / 0, 4)
    assert rounds(1, recorded=False)[0] is None
    assert record(lambda: None, 4).regions == []


@pytest.mark.parametrize("candidate", ["sketched", "ours", *GROUPS["stages"]])
def test_stages_are_measured(candidate, tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "THREADS", (2, 16))
    monkeypatch.setattr(cores, "TURNS", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    Y = (X[:, :3] > 0).astype(np.float32)
    job = Job("cores", "synthetic-500x6x3", candidate, "rounds", "dense", 1, 1, 0)
    measured = json.loads(json.dumps(cores.measure_cores(job, X, Y, 99)))
    assert set(measured["allowed"]) == set(measured["inflation"]) == {"2", "16"}
    assert 0 < measured["allowed_16"] <= 16
    assert measured["inflation_16"] > 0
    assert measured["cpu_seconds"] > 0
    assert measured["wall_seconds"] > 0
    assert measured["parts"]
    assert run._SPECIAL["cores"] is cores.measure_cores


def test_what_the_page_says_of_cores():
    part = {"name": "Search::Grow", "times": 2, "work": 0.016, "seconds": 0.004, "kind": "uneven"}
    result = {
        "cpu_seconds": 0.1,
        "allowed": {"2": 1.9, "16": 9.0},
        "inflation": {"2": 1.0, "16": 1.04},
        "real": {"2": 1.75},
        "parts": [part | {"lost": 0.3}, part | {"name": "small", "lost": 0.01}],
        "allowed_16": 9.0,
        "inflation_16": 1.04,
        "real_2": 1.75,
        "predicted_2": 1.9 / 1.75,
    }
    records = [
        record_of(Cell("cores", "rounds", data, 1, candidate), **result)
        for data in ("synthetic-200000x100x100", "bibtex")
        for candidate in ("sketched", "ours")
    ]
    summary = Summary(records)
    table = tables.cores_table(summary, "cores")
    assert "| bibtex | sketched | 100 | 1.9 | 9.0 | 1.75 | 1.04 |" in table
    parts = tables.parts_table(summary, "cores")
    assert "| bibtex | ours | Search::Grow | uneven | 2 | 16.0 | 4.00 | 30% |" in parts
    assert "small" not in parts
    assert verdict("200,000 × 100 × 100: speed-up", records).state == "NOT reached"
    assert verdict("CPU time of the tasks", records).measured == 1.04


def test_the_cost_of_a_region_is_small():
    assert 0 < region_cost() < 1e-3
