"""Patches apply exactly or not at all: handwritten patches, and difflib as an oracle.

Also tests the check of the patch series: budget, reasons, and the real series if possible.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MODULE = "first\nsecond\nthird\nfourth\nfifth\n"
HEADER = "Reason: a test\n\ndiff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n"
GOOD = HEADER + "@@ -2,3 +2,3 @@ first\n second\n-third\n+drei\n fourth\n"
NEW = (
    "diff --git a/new/g.txt b/new/g.txt\nnew file mode 100644\nindex 0000000..1111111\n"
    "--- /dev/null\n+++ b/new/g.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
)


@pytest.fixture
def patching(project):
    return project.load("staging")


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    (root / "f.txt").write_text(MODULE)
    return root


@pytest.fixture
def apply(patching, tree, tmp_path):
    def apply(text):
        patch = tmp_path / "some.patch"
        patch.write_bytes(text.encode())
        patching.apply_patch(patch, tree)

    return apply


def test_changes_a_file_and_adds_one(apply, tree):
    apply(GOOD + NEW)
    assert (tree / "f.txt").read_text() == "first\nsecond\ndrei\nfourth\nfifth\n"
    assert (tree / "new" / "g.txt").read_text() == "one\ntwo\n"


def test_several_hunks_shift_the_later_ones(apply, tree):
    apply(HEADER + "@@ -1 +1,2 @@\n+zeroth\n first\n@@ -5 +6,2 @@\n fifth\n+sixth\n")
    assert (tree / "f.txt").read_text() == f"zeroth\n{MODULE}sixth\n"


def test_end_of_file_without_newline(apply, tree):
    marker = "\\ No newline at end of file\n"
    (tree / "f.txt").write_text("a\nb")
    apply(HEADER + f"@@ -1,2 +1,2 @@\n a\n-b\n{marker}+c\n")
    assert (tree / "f.txt").read_text() == "a\nc\n"
    apply(HEADER + f"@@ -1,2 +1,2 @@\n a\n-c\n+d\n{marker}")
    assert (tree / "f.txt").read_text() == "a\nd"


def test_signature_of_format_patch_is_ignored(apply, tree):
    apply(GOOD + "-- \n2.50.0\n")
    assert (tree / "f.txt").read_text() == MODULE.replace("third", "drei")


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "--- c\n", "\x0cd\r\n"]), min_size=1)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(old=LINES, new=LINES, context=st.integers(0, 3))
def test_undoes_difflib(apply, tree, old, new, context):
    (tree / "f.txt").write_bytes("".join(old).encode())
    diff = "".join(difflib.unified_diff(old, new, "a/f.txt", "b/f.txt", n=context))
    if diff:
        apply(diff)
    assert (tree / "f.txt").read_bytes() == "".join(new).encode()


REFUSED = {
    "wrong context": (GOOD.replace(" second", " zweite"), "expects 'zweite\\n' in line 2"),
    "context that differs in a blank": (GOOD.replace(" second", " second "), "expects 'second \\n"),
    "wrong removed line": (GOOD.replace("-third", "-Third"), "expects 'Third\\n' in line 3"),
    "wrong context in a hunk of one line": (
        HEADER + "@@ -2 +2,2 @@\n zweite\n+new\n",
        "expects 'zweite\\n' in line 2",
    ),
    "past the end": (
        HEADER + "@@ -5,2 +5,3 @@\n fifth\n sixth\n+seventh\n",
        "hunk @@ -5,2 +5,3 @@ expects 'sixth\\n' after the end of the file",
    ),
    "offset by one line": (
        GOOD.replace("-2,3 +2,3", "-3,3 +3,3"),
        "hunk @@ -3,3 +3,3 @@ expects 'second\\n' in line 3",
    ),
    "result elsewhere than announced": (
        GOOD.replace("+2,3", "+3,3"),
        "states that its result begins in line 3, but it begins in line 2",
    ),
    "hunks that overlap": (
        GOOD + "@@ -3,2 +3,3 @@\n third\n+new\n fourth\n",
        "hunk @@ -3,2 +3,3 @@ overlaps the previous hunk",
    ),
    "no such file": (GOOD.replace("f.txt", "h.txt"), "the file h.txt does not exist"),
    "new file that exists": (NEW.replace("new/g.txt", "f.txt"), "adds f.txt, which exists"),
    "path out of the tree": (
        NEW.replace("new/g.txt", "../../g.txt"),
        "../../g.txt is outside the source tree",
    ),
    "hunk too short": (GOOD.replace(" fourth\n", ""), "not a well-formed patch: Hunk is shorter"),
    "hunk too long": (GOOD + "+more\n", "line 11, '+more', is outside its hunk"),
    "no diff in it": ("Reason: none\n", "changes nothing"),
    "rename": (
        "diff --git a/f.txt b/h.txt\nsimilarity index 100%\nrename from f.txt\nrename to h.txt\n",
        "renames",
    ),
    "deletion": (
        "diff --git a/f.txt b/f.txt\ndeleted file mode 100644\n--- a/f.txt\n+++ /dev/null\n"
        "@@ -1,5 +0,0 @@\n-first\n-second\n-third\n-fourth\n-fifth\n",
        "deletes f.txt",
    ),
    "mode": (
        "diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\n"
        + GOOD[GOOD.index("--- a") :],
        "changes the mode of f.txt",
    ),
    "binary": (
        "diff --git a/f.txt b/f.txt\nindex 1..2 100644\nBinary files a/f.txt and b/f.txt differ\n",
        "changes the binary file f.txt",
    ),
    "no hunk": ("diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n", "has no hunk for f.txt"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rejected_patches(project, apply, tree, case):
    text, message = REFUSED[case]
    with pytest.raises(project.load("pin").BuildError, match=re.escape(message)) as refusal:
        apply(text)
    assert str(refusal.value).startswith("some.patch ")
    assert "\n" not in str(refusal.value)
    assert [file.name for file in tree.iterdir()] == ["f.txt"]
    assert (tree / "f.txt").read_text() == MODULE


def test_a_patch_that_applies_at_an_offset_is_rejected(project, apply, tree):
    (tree / "f.txt").write_text(f"inserted by upstream\n{MODULE}")
    with pytest.raises(project.load("pin").BuildError, match=r"^some\.patch does not"):
        apply(GOOD)


def test_counts_changed_lines_without_headers(patching, tmp_path):
    patch = tmp_path / "some.patch"
    patch.write_text("- a list\n+ in the reason\n\n" + GOOD + NEW)
    assert patching.changed_lines(patch) == 4


def test_series_keeps_its_order(project, patching):
    project.set_series(b=GOOD, a=NEW)
    assert [patch.name for patch in patching.read_series(project.patches)] == ["b.patch", "a.patch"]


def test_series_names_a_missing_file(project, patching):
    (project.patches / "series").write_text("# comment\n\nnone.patch  # gone\n")
    with pytest.raises(project.load("pin").BuildError, match=r"line 3, lists none\.patch, but"):
        patching.read_series(project.patches)


def test_series_is_missing(project, patching):
    (project.patches / "series").unlink()
    with pytest.raises(project.load("pin").BuildError, match="series is missing"):
        patching.read_series(project.patches)


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
    return project.load("pin").BuildError


def test_within_the_budget(project, check, capsys):
    project.set_series(**{f"p{i}": _patch(f"f{i}", 27) for i in range(5)})
    check()
    *patches, total = capsys.readouterr().out.splitlines()
    assert patches == [f"p{i}.patch: 27 changed lines" for i in range(5)]
    assert total.startswith("total: 5 of 5 patches, 135 of 135 changed lines; the series applies")


@pytest.mark.parametrize("sizes", [[27] * 4 + [28], [1] * 6])
def test_over_the_budget(project, check, refusal, sizes):
    project.set_series(**{f"p{i}": _patch(f"f{i}", size) for i, size in enumerate(sizes)})
    with pytest.raises(refusal, match="exceeds its budget"):
        check()


@pytest.mark.parametrize("heading", ["Reason", "Upstream", "Drop when"])
def test_patch_without_a_heading(project, check, refusal, heading):
    project.set_series(p=_patch("f", 1, REASONS.replace(f"{heading}:", f"Not {heading}:")))
    with pytest.raises(refusal, match=f"p.patch has no line that begins with '{heading}:'"):
        check()


def test_patch_outside_the_series(project, check, refusal):
    (project.patches / "stray.patch").write_text(_patch("f", 1))
    with pytest.raises(refusal, match=r"does not list stray\.patch"):
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
    if "cannot download" in done.stderr:
        pytest.skip("the sdist is neither in XDCC_XGBOOST_SDIST nor in the build cache")
    assert done.returncode == 0, done.stderr


def test_only_the_patch_that_compiles_the_plugin_includes_it():
    folder = Path(__file__).resolve().parents[2] / "third_party" / "xgboost" / "patches"
    names = {
        patch.name
        for patch in folder.glob("*.patch")
        if re.search(r"^\+.*(plugin/multilabel|multilabel::)", patch.read_text(), re.MULTILINE)
    }
    assert names == {"compile-plugin.patch"}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_plugin_can_be_patched_for_the_next_release():
    root = Path(__file__).resolve().parents[2]
    patch = root / "third_party" / "xgboost" / "next" / "plugin.patch"
    command = ["git", "apply", "--check", "--verbose", patch]  # lines may have other numbers
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"see docs/internals/upstream.md: {done.stderr}"
    assert "Skipped" not in done.stderr
