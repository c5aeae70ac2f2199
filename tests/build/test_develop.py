"""Incremental builds keep their source tree and update it correctly."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BACKEND = Path(__file__).parents[2] / "third_party" / "xgboost"


def test_only_changed_files_are_written(project):
    develop = project.load("develop")
    folder = project.folder.parent / "tree"
    (project.plugin / "tree").mkdir()
    (project.plugin / "tree" / "gone.h").write_text("// soon gone\n")
    source = develop.update(folder, os.environ)
    plugin = source / "cpp_src" / "plugin" / "multilabel"
    assert (plugin / "tree" / "gone.h").is_file()
    for file in plugin.rglob("*.h"):
        os.utime(file, (0, 0))

    (project.plugin / "tree" / "gone.h").unlink()
    (project.plugin / "tree" / "grower.h").write_text("// new\n")
    assert develop.update(folder, os.environ) == source
    assert not (plugin / "tree" / "gone.h").exists()
    assert (plugin / "tree" / "grower.h").read_text() == "// new\n"
    assert (plugin / "param.h").stat().st_mtime == 0  # as it was: not compiled again
    (project.plugin / "param.h").write_text("// changed\n")
    develop.update(folder, os.environ)
    assert (plugin / "param.h").read_text() == "// changed\n"


def test_another_pin_stages_a_new_tree(project):
    develop = project.load("develop")
    folder = project.folder.parent / "tree"
    source = develop.update(folder, os.environ)
    (source / "objects.txt").write_text("old")
    pin = project.folder / "upstream.toml"
    pin.write_text(pin.read_text() + "# refreshed\n")
    assert develop.update(folder, os.environ) == source
    assert not (source / "objects.txt").exists()


def test_an_incomplete_tree_is_staged_again(project, monkeypatch):
    develop = project.load("develop")
    folder = project.folder.parent / "tree"

    def interrupted(folder, environ):
        (folder / "half").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(develop, "stage", interrupted)
        with pytest.raises(KeyboardInterrupt):
            develop.update(folder, os.environ)
    assert (develop.update(folder, os.environ) / "pyproject.toml").is_file()
    assert not (folder / "half").exists()


@pytest.fixture
def commands(project, monkeypatch):
    """Record the pip commands of `develop.py` and their environments instead of running them."""
    commands = []

    def run(command, env, check):
        commands.append((list(map(str, command)), env))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(project.load("develop").subprocess, "run", run)
    return commands


def test_tests_of_the_plugin_are_built_only_on_request(project, commands):
    develop = project.load("develop")
    develop.main([str(project.folder.parent / "tree"), "--test"])
    develop.main([str(project.folder.parent / "tree")])
    (tests, _), (without, _) = commands
    assert f"cmake.define.XDCC_TESTS={develop.TESTS}" in tests
    assert "--verbose" in tests
    assert "cmake.define.XDCC_TESTS=" in without  # what CMake remembers is overwritten


def test_sanitizers_are_compiled_into_the_plugin_and_the_kernels(project, commands):
    develop = project.load("develop")
    develop.main(["--sanitize", "address,undefined", str(project.folder.parent / "tree")])
    (xgboost, of_xgboost), (xdcc, of_xdcc) = commands
    assert "cmake.define.XDCC_SANITIZE=address,undefined" in xgboost
    assert xdcc[-1] == str(develop.ROOT)
    assert "-fsanitize=address,undefined" in of_xgboost["LDFLAGS"]
    assert "-fsanitize" not in of_xgboost.get("CXXFLAGS", "")  # upstream's sources are not checked
    assert "-fsanitize=address,undefined" in of_xdcc["CXXFLAGS"]


def test_counters_are_compiled_into_the_plugin(project, monkeypatch):
    develop = project.load("develop")
    commands = []

    def run(command, env, check):
        commands.append((list(map(str, command)), env))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(develop.subprocess, "run", run)
    develop.main(["--coverage", str(project.folder.parent / "tree")])
    ((xgboost, of_xgboost),) = commands
    assert "cmake.define.XDCC_COVERAGE=ON" in xgboost
    assert "--coverage" in of_xgboost["LDFLAGS"]


@pytest.mark.skipif(not shutil.which("g++") or not shutil.which("gcov"), reason="there is no GCC")
def test_line_coverage(tmp_path):
    """Counts of a header are summed over all files that include it; XGBoost's are ignored."""
    plugin = tmp_path / "plugin" / "multilabel"
    plugin.mkdir(parents=True)
    (plugin / "half.h").write_text(
        "inline int Half(int x) {\n  if (x % 2) {\n    return -1;\n  }\n  return x / 2;\n}\n"
    )
    (plugin / "even.cc").write_text('#include "half.h"\nint Even() {\n  return Half(4);\n}\n')
    (plugin / "odd.cc").write_text('#include "half.h"\nint Odd() {\n  return Half(3);\n}\n')
    (tmp_path / "main.cc").write_text("int Even();\nint main() {\n  return Even() - 2;\n}\n")
    for file in ("plugin/multilabel/even", "plugin/multilabel/odd", "main"):
        command = ["g++", "--coverage", "-c", f"{file}.cc", "-o", f"{file}.o"]
        subprocess.run(command, cwd=tmp_path, check=True)
    objects = [str(path) for path in tmp_path.rglob("*.o")]
    subprocess.run(["g++", "--coverage", *objects, "-o", "program"], cwd=tmp_path, check=True)
    subprocess.run(["./program"], cwd=tmp_path, check=True)
    command = [sys.executable, BACKEND / "covered.py", tmp_path]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [
        "    2 of    2  even.cc",
        "    3 of    4  half.h  3",
        "    0 of    2  odd.cc  2, 3",
        "5 of 8 lines covered: 62.5 %",
    ]


def test_a_failed_installation_ends_with_its_exit_status(project, monkeypatch):
    develop = project.load("develop")
    monkeypatch.setattr(
        develop.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 3)
    )
    with pytest.raises(SystemExit, match="3"):
        develop.main([str(project.folder.parent / "tree")])
