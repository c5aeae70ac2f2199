"""The tree that incremental builds compile: kept from build to build, and right each time."""

import os
import subprocess

import pytest


def test_only_what_changed_is_touched(project):
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


def test_another_pin_makes_the_tree_anew(project):
    develop = project.load("develop")
    folder = project.folder.parent / "tree"
    source = develop.update(folder, os.environ)
    (source / "objects.txt").write_text("old")
    pin = project.folder / "upstream.toml"
    pin.write_text(pin.read_text() + "# refreshed\n")
    assert develop.update(folder, os.environ) == source
    assert not (source / "objects.txt").exists()


def test_a_tree_that_is_half_made_is_made_anew(project, monkeypatch):
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
    """What `develop.py` has pip do, and in which environment; nothing is done."""
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


def test_a_failed_installation_ends_with_its_exit_status(project, monkeypatch):
    develop = project.load("develop")
    monkeypatch.setattr(
        develop.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 3)
    )
    with pytest.raises(SystemExit, match="3"):
        develop.main([str(project.folder.parent / "tree")])
