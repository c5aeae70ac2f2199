"""The benchmarks of random decision trees, as scripts on a small data set."""

import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


def test_speed(run_script):
    done = run_script("papers.rdt-2018.rdt_speed", "--data", "flags", "--trees", 5, "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert "trees walked again" in done.stdout
