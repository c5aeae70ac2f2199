"""The benchmarks of BOOMER, as scripts on small data."""

import json
import re

import pandas as pd
import pytest


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("flags_data")
def test_bbc_cv_is_resumable(run_script, tmp_path):
    run = ("papers.boomer-2020.boomer_bbc_cv", "table.jsonl", "--data", "flags")
    small = ("--folds", 3, "--validated", 2, "--rates", ".3", "--l2", "1,4", "--rules", 60)
    done = run_script(*run, *small, "--variants", "ex.w.-log multi")
    assert done.returncode == 0, done.stderr
    table = tmp_path / "table.jsonl"
    text = table.read_text()
    table.write_text(text[: int(0.6 * len(text))])
    kept = table.read_text().splitlines()[:-1]
    done = run_script(*run, *small)
    assert done.returncode == 0, done.stderr
    assert "cut off" in done.stdout
    assert table.read_text().splitlines()[: len(kept)] == kept
    # 2 folds, 2 L2 weights, 4 variants
    assert sum(line.endswith("}") for line in table.read_text().splitlines()) == 16
    for variant in ("l.w.-log single", "l.w.-log multi", "ex.w.-log single", "ex.w.-log multi"):
        cell = r"[\d.]+, [\d.]+ to [\d.]+"
        row = rf"\| flags \| {variant} \| {cell} \| {cell} \| 0.3, [14].0, [56]0 \|"
        assert re.search(row, done.stdout)


@pytest.mark.usefixtures("flags_data")
def test_speed(run_script, tmp_path):
    pytest.importorskip("mlrl.boosting", reason="mlrl-boomer comes with the extra `bench`")
    run = ("papers.boomer-2020.boomer_speed", "--output", "speed.jsonl", "--data", "flags")
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
