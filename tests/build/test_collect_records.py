"""The records that a version pins are found in the history, or in a release."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "collect_records.py"

GH = """#!/bin/sh
case "$1 $2" in
"release list") echo v2; echo v1 ;;
"release download") [ "$3 $5" = "v1 new.jsonl.gz" ] && printf released ;;
esac
"""


@pytest.fixture
def repository(tmp_path):
    """A repository that had records of `old`, with a release v1 that has some of `new`."""
    packed = tmp_path / "experiments" / "papers" / "old" / "records.jsonl.gz"
    packed.parent.mkdir(parents=True)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]

    def git(*args):
        subprocess.run(["git", "-C", tmp_path, *identity, *args], check=True, capture_output=True)

    git("init")
    for content in (b"first", b"second"):
        packed.write_bytes(content)
        git("add", ".")
        git("commit", "-m", "x")
    git("rm", packed)
    git("commit", "-m", "x")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    return tmp_path


def collect(repository, pins):
    lines = [f"{name},{hashlib.sha256(content).hexdigest()},1,2.0" for name, content in pins]
    file = repository / "experiments" / "records.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(["file,sha256,tasks,cpu_seconds", *lines, ""]))
    path = f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, SCRIPT, "found"], cwd=repository, env=os.environ | {"PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_records_are_found_in_the_history_and_in_a_release(repository):
    pins = [("old.jsonl.gz", b"first"), ("new.jsonl.gz", b"released")]
    done = collect(repository, pins)
    assert done.returncode == 0, done.stderr
    for name, content in pins:
        assert (repository / "found" / name).read_bytes() == content


def test_records_that_are_nowhere_are_named(repository):
    done = collect(repository, [("new.jsonl.gz", b"other")])
    assert done.returncode == 1
    assert f"new.jsonl.gz with the SHA-256 {hashlib.sha256(b'other').hexdigest()}" in done.stderr
    assert "upload it with `gh release upload`" in done.stderr
