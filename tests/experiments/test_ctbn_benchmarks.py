"""The benchmarks of trees of labels, as scripts on a small data set."""

import json

import pandas as pd
import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_against_paper(run_script, tmp_path):
    script = "papers.mc-2014.against_paper"
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
    done = run_script(script, "report", "lines", "--figures", ".")
    assert done.returncode == 0, done.stderr
    ours = rows[rows.method == "MC"].subset_accuracy.mean()
    assert f"{ours:.3f} [2 folds]" in done.stdout


def test_components(run_script, tmp_path):
    done = run_script(
        "papers.mc-2014.against_paper",
        *("components", "--output", "lines", "--data", "flags", "--most", 2, "--folds", 1),
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "lines" / "components flags.jsonl").read_text().splitlines()
    assert [json.loads(line)["n_components"] for line in lines] == [1, 2]


def test_speed(run_script):
    done = run_script(
        *(
            "papers.mc-2014.ctbn_speed",
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
