"""The time to quality: parts of the data, settings, curves, goals and a whole run."""

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from experiments.speed import __main__ as speed
from experiments.speed import candidates, data, quality, run, suites
from experiments.speed.quality import Goal
from experiments.speed.results import Results
from experiments.speed.suites import Job
from tests.experiments.speed.cases import HEADER, JOB, QUALITY, TINY


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
    """Replace candidates by one whose log-loss is least after a setting's number of rounds."""
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


def test_time_to_quality_as_a_user_runs_it(tmp_path, monkeypatch):
    """Measurements share this process; `test_run.py` has one for each."""

    def measure(job, file, goal):
        result = run.measure(job, file, goal)
        return result.pop("outcome", "measured"), result

    monkeypatch.setattr(run, "measure_in_child", measure)
    monkeypatch.setitem(suites.SUITES, "end", suites.SUITES["end"].model_copy(update={"seeds": 1}))
    args = ["run", "--suite", "quality,end", "--data", "synthetic-200x5x3", "--repeats", "1"]
    args += ["--candidates", "one_output_per_tree,sketched", "--output", str(tmp_path)]
    speed.main(args)
    table = tmp_path / "table.csv"
    speed.main(["pack", str(tmp_path), "--to", str(table)])
    speed.main(["report", str(table), "--to", str(tmp_path)])
    text = (tmp_path / "QUALITY.md").read_text()
    assert not (tmp_path / "RESULTS.md").exists()
    assert "## Time to quality, each at its best setting" in text
    assert re.search(r"\| synthetic-200x5x3 \| [\d.]+ \(0.\d{4}; 0.[13] ", text)
    assert "## Quality at the end" in text
    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")


def test_the_quality_at_the_end_is_measured_with_several_seeds():
    groups = suites.plan(["end"], data=["yeast"], candidates=["auto"], seed=3)
    assert [[job.seed for job in group] for group in groups] == [[3], [4], [5], [6], [7]]
