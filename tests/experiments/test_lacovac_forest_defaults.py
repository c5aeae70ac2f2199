"""The script that chose the forest's defaults, on a small data set."""

import pytest


@pytest.mark.usefixtures("flags_data")
def test_prints_a_row_per_variant(run_script):
    done = run_script(
        "experiments.benchmarks.lacovac_forest_defaults", "--data", "flags", "--trees", 3
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["flags", "mean"]
    assert len(lines) == 8
    for line in lines[1:]:
        accuracy, mean = map(float, line.split()[-2:])
        assert 0 < accuracy == mean < 0.6
