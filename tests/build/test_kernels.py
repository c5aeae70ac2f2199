"""Without a compiler for xdcc's kernels, one sentence explains what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("mesonbuild", reason="meson builds xdcc")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the compilers are shell scripts")


def last_error(tmp_path, compiler):
    """Return the last line of `meson setup` with a shell script as the compiler."""
    script = tmp_path / "compiler"
    script.write_text(f"#!/bin/sh\n{compiler}\n")
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "mesonbuild.mesonmain", "setup", tmp_path / "build", ROOT],
        capture_output=True,
        text=True,
        env=os.environ | {"CXX": str(script), "CC": str(script)},
    )
    assert done.returncode != 0
    (error,) = (line for line in done.stdout.splitlines() if "ERROR" in line)
    return error


def test_no_compiler(tmp_path):
    assert "there is no C++ compiler: install one with C++17 (" in last_error(tmp_path, "exit 1")
