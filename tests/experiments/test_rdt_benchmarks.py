"""The benchmarks of random decision trees, as scripts on a small data set."""

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_against_paper(run_script, tmp_path):
    run = (
        "experiments.benchmarks.rdt_against_paper",
        "run",
        "--output",
        "rdt.json",
        "--data",
        "flags",
    )
    done = run_script(*run, "--trees", 5)
    assert done.returncode == 0, done.stderr
    rows = pd.DataFrame(json.loads((tmp_path / "rdt.json").read_text()))
    assert len(rows) == len(rows.drop_duplicates(["method", "tree_weight"])) == 18
    assert rows.subset_accuracy.between(0, 1).all()
    assert rows.micro_f1.between(0.5, 0.9).all()
    done = run_script(*run, "--trees", 7)  # done already
    assert done.returncode == 0, done.stderr
    assert {row["n_trees"] for row in json.loads((tmp_path / "rdt.json").read_text())} == {5}

    pytest.importorskip("tabulate", reason="tabulate comes with the extra `bench`")
    published = [
        {"table": 4, "measure": measure, "dataset": "flags", "method": method, "value": 0.125}
        for measure in ("subset_accuracy", "micro_f1")
        for method in rows.method.unique()
    ]
    pd.DataFrame(published).to_csv(tmp_path / "published.csv", index=False)
    done = run_script(
        "experiments.benchmarks.rdt_against_paper",
        *("report", "rdt.json", "--published", "published.csv", "--to", "RDT.md"),
    )
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "RDT.md").read_text()
    ours = rows[(rows.method == "DCC PM") & (rows.tree_weight == "gini")].micro_f1.item()
    assert f"{ours:.3f} (0.125)" in report


def test_speed(run_script):
    done = run_script(
        "experiments.benchmarks.rdt_speed", "--data", "flags", "--trees", 5, "--threads", 1
    )
    assert done.returncode == 0, done.stderr
    assert "trees walked again" in done.stdout
