"""The benchmarks of trees of labels, as scripts on a small data set."""

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_against_paper(run_script, tmp_path):
    script = "experiments.benchmarks.ctbn_against_paper"
    run = (script, "run", "--output", "lines", "--data", "flags")
    done = run_script(*run, "--methods", "BR,CC,SC,MC", "--folds", "0,1")
    assert done.returncode == 0, done.stderr
    lines = {file.stem: file.read_text() for file in (tmp_path / "lines").iterdir()}
    assert set(lines) == {f"flags {method}" for method in ("BR", "CC", "SC", "MC")}
    rows = pd.DataFrame([json.loads(row) for text in lines.values() for row in text.splitlines()])
    assert len(rows) == 8
    assert rows.subset_accuracy.between(0, 1).all()
    assert (rows.cll_loss > 0).all()
    assert rows.smallest_rise.dropna().min() >= -1e-8
    done = run_script(*run, "--methods", "BR", "--folds", "0,1")  # done already
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lines" / "flags BR.jsonl").read_text() == lines["flags BR"]

    pytest.importorskip("tabulate", reason="tabulate comes with the extra `bench`")
    published = [
        {"table": 2, "measure": measure, "dataset": "flags", "method": method, "value": 0.125}
        for measure in ("subset_accuracy", "cll_loss", "micro_f1", "macro_f1")
        for method in ("BR", "CC", "SC", "MC")
    ]
    pd.DataFrame(published).to_csv(tmp_path / "published.csv", index=False)
    done = run_script(script, "report", "lines", "--published", "published.csv", "--to", "CTBN.md")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "CTBN.md").read_text()
    ours = rows[rows.method == "MC"].subset_accuracy.mean()
    assert f"{ours:.3f} (0.125) [2 folds]" in report


def test_components(run_script, tmp_path):
    done = run_script(
        "experiments.benchmarks.ctbn_against_paper",
        *("components", "--output", "lines", "--data", "flags", "--most", 2, "--folds", 1),
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "lines" / "components flags.jsonl").read_text().splitlines()
    assert [json.loads(line)["n_components"] for line in lines] == [1, 2]


def test_speed(run_script):
    done = run_script(
        *(
            "experiments.benchmarks.ctbn_speed",
            "--data",
            "flags",
            "--alone",
            2,
            "--mixture",
            "flags",
        )
    )
    assert done.returncode == 0, done.stderr
    assert "flags: 42 models in a batch" in done.stdout
    assert "one by one with newton-cholesky" in done.stdout
    assert "flags: mixture of" in done.stdout
