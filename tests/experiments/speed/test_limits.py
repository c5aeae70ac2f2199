"""The limits of the machine: the roofline, and a pass over all rows and labels."""

import json
import re
import shutil
from dataclasses import asdict

import numpy as np
import pytest
import xgboost as xgb

from experiments.speed import __main__ as speed
from experiments.speed import limits, machine, run, tables
from experiments.speed.quality import Goal
from experiments.speed.suites import Job
from experiments.speed.summary import Cell, Summary
from tests.experiments.speed.cases import TINY, record


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
        "library": machine.library_digest(),
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
