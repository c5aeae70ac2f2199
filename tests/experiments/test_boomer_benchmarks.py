"""The benchmarks of BOOMER, as scripts on small data."""

import json

import pandas as pd
import pytest

MEASURES = ("subset_zero_one_loss", "hamming_loss", "example_f1")
VARIANTS = ("l.w.-log single", "l.w.-log multi", "ex.w.-log single", "ex.w.-log multi")
AGAINST_PAPER = "experiments.benchmarks.boomer_against_paper"
SMALL = ("--splits", 2, "--folds", 3, "--validated", 2, "--rates", ".3", "--l2", "1,4")


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("flags_data")
def test_table_one_is_resumable_and_reported(run_script, tmp_path):
    run = (AGAINST_PAPER, "run", "--output", "table.jsonl", "--data", "flags", *SMALL)
    done = run_script(*run, "--variants", "ex.w.-log multi", "--rules", 60)
    assert done.returncode == 0, done.stderr
    table = tmp_path / "table.jsonl"
    text = table.read_text()
    table.write_text(text[: int(0.6 * len(text))])
    kept = table.read_text().splitlines()[:-1]
    done = run_script(*run, "--rules", 60)
    assert done.returncode == 0, done.stderr
    assert "cut off" in done.stdout
    assert table.read_text().splitlines()[: len(kept)] == kept
    records = pd.DataFrame(
        [json.loads(line) for line in table.read_text().splitlines() if line.endswith("}")]
    )
    tests = records[records.part == "test"]
    assert len(tests) == len(tests.drop_duplicates(["variant", "split"])) == 8
    # 2 splits, 2 folds, 2 L2 weights, 4 variants
    assert len(records) - len(tests) == 32
    assert tests.rules.isin([50, 60]).all()
    assert tests.l2.isin([1, 4]).all()
    assert tests.subset_zero_one_loss.between(0.5, 1).all()
    assert tests.hamming_loss.between(0.15, 0.4).all()

    pytest.importorskip("tabulate", reason="tabulate comes with the extra `bench`")
    published = pd.DataFrame(
        [
            {"measure": measure, "dataset": "flags", "method": variant, "value": 12.5}
            for measure in MEASURES
            for variant in VARIANTS
        ]
    )
    published.to_csv(tmp_path / "published.csv", index=False)
    done = run_script(
        *(AGAINST_PAPER, "report", "table.jsonl", "--published", "published.csv"),
        *("--to", "BOOMER.md"),
    )
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "BOOMER.md").read_text()
    mean = 100 * tests[tests.variant == "l.w.-log multi"].hamming_loss.mean()
    assert f"{mean:.2f} ± " in report
    assert "0 are within 4 points of the paper's, 0 are better by more and 4 are worse" in report
    # 12.5 % of a number of rows is whole for multiples of 8; a bootstrap sample leaves out 1 / e.
    assert "| flags | 194 | 65 | 56, 64, 72, 80," in " ".join(report.split())
    assert "| 71 ± 4 " in report


def test_synthetic_data(run_script, tmp_path):
    run = ("experiments.benchmarks.boomer_synthetic", "run", "--output", "synthetic.json")
    done = run_script(*run, "--samples", 300, "--rules", 20, "--l2", "1,4")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "synthetic.json").read_text())
    assert len(rows) == 12
    for row in rows:
        assert row["rules"][:5] == [1, 2, 3, 4, 5]
        assert row["rules"][-1] == 20
        assert row["l2"] in (1, 4)
        assert row["subset_loss"][-1] < row["subset_loss"][0]
    done = run_script(
        "experiments.benchmarks.boomer_synthetic",
        "figure",
        "synthetic.json",
        "--output",
        "figure.png",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("flags_data")
def test_speed(run_script, tmp_path):
    pytest.importorskip("mlrl.boosting", reason="mlrl-boomer comes with the extra `bench`")
    run = ("experiments.benchmarks.boomer_speed", "--output", "speed.jsonl", "--data", "flags")
    options = ("--rules", 20, "--threads", 1, "--repeats", 1)
    done = run_script(*run, *options)
    assert done.returncode == 0, done.stderr
    rows = pd.DataFrame(lines(tmp_path / "speed.jsonl"))
    assert sorted(rows.who) == ["mlrl-boomer"] * 2 + ["xdcc"] * 2
    assert rows.seconds.gt(0).all()
    assert rows.cpu_seconds.gt(0).all()
    done = run_script(*run, *options)  # done already
    assert done.returncode == 0, done.stderr
    assert len(lines(tmp_path / "speed.jsonl")) == 4
