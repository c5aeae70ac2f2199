"""What `conftest.py` promises: the installed package is tested, without a network or data."""

import importlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import xdcc
from xdcc.data import load_dataset

ROOT = Path(__file__).resolve().parents[1]
THIS_TEST = f"{Path(__file__).name}::test_compiled_modules_are_imported"


def pytest_in_clone(*options, test=THIS_TEST, **environ):
    """Run a test as a user does; `options` are those of Python."""
    return subprocess.run(
        [
            sys.executable,
            *options,
            "-m",
            "pytest",
            "-n0",
            "-p",
            "no:cacheprovider",
            f"tests/{test}",
        ],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | environ,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "name",
    [".".join(f.relative_to(ROOT).with_suffix("").parts) for f in ROOT.glob("xdcc/**/*.pyx")],
)
def test_compiled_modules_are_imported(name):
    # The environment may lie in the clone.
    for module in (importlib.import_module(name), xdcc):
        assert not Path(module.__file__).is_relative_to(ROOT / "xdcc")


# `python -P -m pytest` searches where the command `pytest` does.
@pytest.mark.parametrize("options", [[], ["-P"]], ids=["python -m pytest", "pytest"])
def test_the_installed_package_is_tested(options):
    done = pytest_in_clone(*options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_an_installed_package(tmp_path):
    for entry in Path(pytest.__file__).parents[1].iterdir():
        if not entry.name.startswith("xdcc"):
            (tmp_path / entry.name).symlink_to(entry)
    done = pytest_in_clone("-S", PYTHONPATH=str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr == (
        "ERROR: xdcc is not installed here, and the tests are of the installed package: "
        "pip install ./third_party/xgboost '.[test]'\n\n"
    )


def test_another_machine_is_refused():
    with pytest.raises(
        pytest.fail.Exception, match=r"wants to reach example\.org, but tests do without"
    ):
        urlopen("http://example.org")
    with (
        socket.socket() as connection,
        pytest.raises(pytest.fail.Exception, match=r"wants to reach 192\.0\.2\.1"),
    ):
        connection.connect(("192.0.2.1", 80))


def test_this_machine_is_not_refused():
    with socket.create_server(("localhost", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_a_download_fails_the_test_that_wants_it(monkeypatch, tmp_path):
    monkeypatch.delenv("XDCC_DATA", raising=False)
    monkeypatch.setenv("XDCC_DATA_HOME", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="tests do without a network"):
        load_dataset("emotions")


def test_missing_data_are_told_of_once(tmp_path):
    (tmp_path / "birds").mkdir()
    test = "data/test_published.py::test_names_and_types_of_features_and_labels"
    done = pytest_in_clone("-P", test=test, XDCC_DATA=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r".*flags.*", done.stdout) == [
        "1 tests were skipped for want of the files of flags: set XDCC_DATA to a folder that has "
        "them as <name>/<name>-train.arff, <name>-test.arff (or <name>.arff) and <name>.xml; "
        "~/xdcc_data is one, where xdcc.data.load_dataset has downloaded them"
    ]
    assert "1 without data in" in done.stdout


def test_a_module_that_is_skipped_is_no_matter_of_data(pytestconfig):
    report = pytest.CollectReport("test_peer.py", "skipped", ("test_peer.py", 1, "Skipped"), [])
    status = pytestconfig.hook.pytest_report_teststatus(report=report, config=pytestconfig)
    assert status[0] == "skipped"
