"""The experiments are scripts beside the package: a test runs them as a user does.

What they import from their own folder, tests can import as well.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xdcc.data import load_dataset

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
sys.path.append(str(EXPERIMENTS / "benchmarks"))


@pytest.fixture
def run_script(tmp_path):
    """Run a script of the folder `experiments` in an empty folder; return what it did."""

    def run(script, *args):
        return subprocess.run(
            [sys.executable, EXPERIMENTS / script, *map(str, args)],
            cwd=tmp_path,
            env=os.environ | {"MPLCONFIGDIR": str(tmp_path / "matplotlib")},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture
def flags_data():
    """Skip the test where the data set flags is not there."""
    try:
        load_dataset("flags", "train")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
