"""The benchmarks of chain variants and of ending chains early, as scripts on a small data set."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_chain_variants(run_script, tmp_path):
    pytest.importorskip("tabulate", reason="tabulate comes with the extra `bench`")
    run = ("experiments.benchmarks.chain_variants", "run", "--output", "out", "--data", "flags")
    done = run_script(*run, "--families", "ml-xgb,out-of-fold", "--n_jobs", 1, apart=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "flags.out-of-fold.json").read_text())
    assert len(result["tried"]) == 8
    for chosen in result["chosen"]:
        if chosen["method"] != "out-of-fold":  # no reading of a configuration is better
            best = max(
                score[chosen["measure"]] for t in result["tried"] for score in t["scores"].values()
            )
            (tried,) = (t for t in result["tried"] if t["params"] == chosen["params"])
            assert tried["scores"][chosen["reading"]][chosen["measure"]] == best
    before = (tmp_path / "out" / "flags.ml-xgb.json").stat().st_mtime_ns
    done = run_script(*run, "--families", "ml-xgb", "--n_jobs", 1)  # done already
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "flags.ml-xgb.json").stat().st_mtime_ns == before

    done = run_script("experiments.benchmarks.chain_variants", "report", "out", "--to", ".")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "CHAIN_VARIANTS.md").read_text()
    assert "| out-of-fold, reading tuned |" in report
    assert "p (Wilcoxon)" in report


def test_report_without_results(run_script, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run_script("experiments.benchmarks.chain_variants", "report", "empty", "--to", ".")
    assert done.returncode == 1
    assert "There is no result in empty; run first." in done.stderr


def test_chain_stopping(run_script, tmp_path):
    pytest.importorskip("tabulate", reason="tabulate comes with the extra `bench`")
    done = run_script(
        "experiments.benchmarks.chain_stopping", "run", "--output", "stop.json", "--data", "flags"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "stop.json").read_text())
    assert [row["variant"] for row in rows] == ["full", "end label", "auto"]
    assert rows[0]["rounds"] == rows[0]["rounds of a row"] == 7
    assert all(row["rounds of a row"] <= row["rounds"] for row in rows)
    done = run_script("experiments.benchmarks.chain_stopping", "report", "stop.json", "--to", ".")
    assert done.returncode == 0, done.stderr
    assert "| end label |" in (tmp_path / "CHAIN_STOPPING.md").read_text()
