"""The lines that say how far a build is."""

import time

import pytest

PLAN = """\
rule CXX_COMPILER__objxgboost_unscanned_Release
build a/one.cc.o: CXX_COMPILER__objxgboost_unscanned_Release a/one.cc || order
build a/two.cc.o: CXX_COMPILER__objxgboost_unscanned_Release a/two.cc || order
build lib/libxgboost.so: CXX_SHARED_LIBRARY_LINKER__xgboost_Release a/one.cc.o a/two.cc.o
"""
LOG = """\
# ninja log v7
0\t90\t17\ta/one.cc.o\tabc
0\t90\t17\ta/one.cc.o\tabc
"""


@pytest.fixture
def progress(project):
    return project.load("progress")


def test_state(progress, tmp_path):
    assert progress.state(tmp_path) == "at work"
    (tmp_path / "build" / "tag").mkdir(parents=True)
    (tmp_path / "build" / "tag" / "build.ninja").write_text(PLAN)
    assert progress.state(tmp_path) == "compiled 0 of 2 files"
    (tmp_path / "build" / "tag" / ".ninja_log").write_text(LOG)
    assert progress.state(tmp_path) == "compiled 1 of 2 files"


def test_lines_are_printed_until_the_build_ends(progress, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    with progress.shown(tmp_path):
        time.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    assert lines
    assert set(lines) == {"xdcc: at work after 0 seconds"}
    time.sleep(0.05)
    assert capfd.readouterr().err == ""


def test_a_line_comes_at_least_every_30_seconds(progress):
    assert progress.INTERVAL <= 30
