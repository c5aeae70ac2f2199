"""The benchmark of ``sketch_size="auto"``, as a script on a small data set."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_auto_sketch(run_script, tmp_path):
    candidates = ["auto", "exact", "stock per label"]
    run = ("benchmarks/auto_sketch.py", "flags", "--output", "auto.jsonl", "--candidates")
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
