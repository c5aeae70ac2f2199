"""The benchmarks of trees of labels, as scripts on a small data set."""

import pytest

pytestmark = pytest.mark.usefixtures("flags_data")


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
