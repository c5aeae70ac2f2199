"""The experiments stand beside the package: scripts, which a test runs as a user does, and the
package `experiments`, which is imported from the repository's root. The root comes last in the
search path, so that the installed `xdcc` wins over its sources.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from xdcc.data import load_dataset

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
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


@pytest.fixture
def write_config(tmp_path):
    """Write a configuration like `tiny`, with some keys replaced; return its file."""

    def write(name="small", **keys):
        content = yaml.safe_load((EXPERIMENTS / "configs" / "tiny.yaml").read_text())
        for key, value in keys.items():
            if value is None:
                del content[key]
            else:
                content[key] = value
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        return file

    return write


@pytest.fixture
def root():
    """Folder from which `python -m experiments` is run."""
    return ROOT
