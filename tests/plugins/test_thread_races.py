"""ThreadSanitizer finds no data race in the worker threads, with several callers at once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THREADS = ROOT / "plugins" / "multilabel" / "threads"
COMPILER = os.environ.get("CXX") or shutil.which("c++") or "c++"


def compiled(folder: Path, *flags: str) -> Path:
    """Compile the stress test with the sources of the workers; skip without the compiler."""
    program = folder / "stress"
    names = ("workers", "caller_settings", "cpu_quota", "system_load")
    parts = (THREADS / f"{name}.cc" for name in names)
    sources = [ROOT / "tests" / "plugins" / "cpp" / "stress_workers.cc", *parts]
    command = [COMPILER, "-std=c++17", "-O1", "-g", f"-I{THREADS}", *flags, "-pthread"]
    result = subprocess.run([*command, *sources, "-o", program], capture_output=True, text=True)
    if result.returncode:
        pytest.skip(f"{COMPILER} cannot compile with {flags}: {result.stderr.splitlines()[-1]}")
    return program


@pytest.mark.slow
def test_no_data_race(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-fsanitize=thread")
    environ = os.environ | {"TSAN_OPTIONS": "halt_on_error=1"}
    for _ in range(3):
        # Old versions of ThreadSanitizer fail with address randomisation.
        result = subprocess.run(
            ["setarch", "--addr-no-randomize", program],
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_many_callers(tmp_path: Path) -> None:
    result = subprocess.run([compiled(tmp_path)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
