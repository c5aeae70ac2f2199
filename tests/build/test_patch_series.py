"""The check of the patch series: its budget, its reasons, and the real series where possible."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REASONS = "Reason: a test\nUpstream: not offered\nDrop when: the test is gone\n\n"


def _patch(name, lines, preamble=REASONS):
    added = "+line\n" * lines
    return (
        f"{preamble}diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n"
        f"+++ b/{name}\n@@ -0,0 +1,{lines} @@\n{added}"
    )


@pytest.fixture
def check(project):
    return lambda: project.load("check").check_series(os.environ)


@pytest.fixture
def refusal(project):
    return project.load("errors").BuildError


def test_within_the_budget(project, check, capsys):
    project.set_series(**{f"p{i}": _patch(f"f{i}", 30) for i in range(5)})
    check()
    *patches, total = capsys.readouterr().out.splitlines()
    assert patches == [f"p{i}.patch: 30 changed lines" for i in range(5)]
    assert total.startswith("in all 5 of 5 patches, 150 of 150 changed lines; the series applies")


@pytest.mark.parametrize("sizes", [[30] * 4 + [31], [1] * 6])
def test_over_the_budget(project, check, refusal, sizes):
    project.set_series(**{f"p{i}": _patch(f"f{i}", size) for i, size in enumerate(sizes)})
    with pytest.raises(refusal, match="over its budget"):
        check()


@pytest.mark.parametrize("heading", ["Reason", "Upstream", "Drop when"])
def test_patch_that_does_not_say_why(project, check, refusal, heading):
    project.set_series(p=_patch("f", 1, REASONS.replace(f"{heading}:", f"Not {heading}:")))
    with pytest.raises(refusal, match=f"p.patch has no line that begins with '{heading}:'"):
        check()


def test_patch_outside_the_series(project, check, refusal):
    (project.patches / "stray.patch").write_text(_patch("f", 1))
    with pytest.raises(refusal, match=r"does not name stray\.patch"):
        check()


def test_command_fails_with_one_line(project):
    project.set_series(p=_patch("LICENSE", 1))
    done = subprocess.run(
        [sys.executable, str(project.folder / "check.py")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "xdcc: p.patch does not apply: it adds LICENSE, which exists\n"


def test_the_real_series():
    for package in ("unidiff", "platformdirs", "pypi_simple"):
        pytest.importorskip(package, reason=f"the backend needs {package}")
    folder = Path(__file__).resolve().parents[2] / "third_party" / "xgboost"
    no_network = os.environ | {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    done = subprocess.run(
        [sys.executable, str(folder / "check.py")], capture_output=True, text=True, env=no_network
    )
    if "cannot fetch" in done.stderr:
        pytest.skip("the sdist is neither in XDCC_XGBOOST_SDIST nor in the build cache")
    assert done.returncode == 0, done.stderr
