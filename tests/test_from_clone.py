"""Python that starts in the root of a clone, whose folder `xdcc` is not compiled."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import xdcc

ROOT = Path(__file__).parents[1]
VERSION = metadata.version("xdcc")
CODE = f"""
import sys, xdcc
from xdcc.kernels import threads
assert xdcc is sys.modules["xdcc"] and xdcc.data is sys.modules["xdcc.data"]
assert xdcc.__file__ == xdcc.__spec__.origin == {xdcc.__file__!r}
def test_example(): pass
"""


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "xdcc", folder / "xdcc", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "meson.build", folder / "meson.build")
    (folder / "test_example.py").write_text(CODE)
    return folder


def python(clone, *arguments, path, text=""):
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "arguments",
    [["-"], ["-P", "-"], ["test_example.py"], ["-m", "test_example"], ["-m", "pytest"]],
    ids=" ".join,
)
def test_the_installed_package_is_used(clone, arguments):
    done = python(clone, *arguments, path=ROOT, text=CODE)  # ROOT is another clone
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_notebook_uses_the_installed_package(clone):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    NotebookClient(notebook, resources={"metadata": {"path": str(clone)}}).execute()


def last_line(clone, *arguments, path=""):
    done = python(clone, *arguments, "-c", "import xdcc", path=path)
    return done.stderr.splitlines()[-1]


def test_message_if_xdcc_is_not_installed(clone, tmp_path):
    (tmp_path / "other" / "xdcc").mkdir(parents=True)  # is not a package
    message = (
        f"ImportError: {clone} has the sources of xdcc {VERSION}, but no version is installed in "
        rf"\S+. Run in {clone}: pip install ./third_party/xgboost ."
    )
    assert re.fullmatch(message, last_line(clone, "-S", path=tmp_path / "other"))


def test_message_if_another_version_is_installed(clone):
    file = clone / "meson.build"
    file.write_text(file.read_text().replace(f"'{VERSION}'", "'99.1.0'"))
    assert last_line(clone).startswith(
        f"ImportError: {clone} has the sources of xdcc 99.1.0, but version {VERSION} is installed "
    )
