"""The benchmark of ``sketch_size="auto"``, as a script on a small data set."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_auto_sketch(run_script, tmp_path):
    candidates = ["auto", "exact", "stock per label"]
    run = ("experiments.benchmarks.auto_sketch", "flags", "--output", "auto.jsonl", "--candidates")
    done = run_script(*run, *candidates)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "auto.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["candidate"] for line in lines] == candidates
    assert all(0 < line["validation"] < 1 and line["rounds"] > 0 for line in lines)
    assert "| auto | exact | stock per label |" in done.stdout

    again = run_script(*run, *candidates)  # done already
    assert again.stdout in done.stdout
    assert (tmp_path / "auto.jsonl").read_text() == text


def test_race(run_script):
    run = ("experiments.benchmarks.auto_sketch", "flags", "independent-1500x40x8", "--race", 2)
    done = run_script(*run)
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    assert [name for name, _ in rows] == ["flags", "independent-1500x40x8"]
    gains = [[float(gain) for gain in cell.split()] for _, cell in rows]
    assert [len(each) for each in gains] == [2, 2]
    assert min(gains[1]) > 5
    assert run_script(*run[:-1], 0).returncode == 2  # without races, an output is needed


def test_losses_of_sizes(run_script):
    done = run_script("experiments.benchmarks.auto_sketch", "independent-300x8x4", "--sizes")
    assert done.returncode == 0, done.stderr
    name, cell = done.stdout.strip("| \n").split(" | ")
    losses = {int(size): float(loss) for size, loss in (x.split(": ") for x in cell.split(", "))}
    assert (name, list(losses)) == ("independent-300x8x4", [4, 2])
    assert all(0 < loss < np.log(2) for loss in losses.values())


def test_sketch_hessians(run_script):
    run = ("experiments.benchmarks.sketch_hessians", "flags", "--seeds", 2)
    done = run_script(*run, "--rules", "squared", "constant")
    assert done.returncode == 0, done.stderr
    header, _, row = done.stdout.splitlines()
    assert header == "| data | squared | constant |"
    losses = [float(cell.split(" ± ")[0]) for cell in row.strip("| ").split(" | ")[1:]]
    assert len(set(losses)) == 2
    assert all(0 < loss < 1 for loss in losses)
