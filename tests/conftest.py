"""What all tests need before anything else is imported.

- The installed package is tested: the clone's root, where `python -m pytest` begins the search
  path, has the sources without the compiled modules, and comes last.
- One thread unless a test asks for more, by the fixture `threads`: the data are small, and threads
  that wait for a shared machine's cores cost more than they bring.
- Tests do without a network: who asks for another machine fails.
- What needs the files of a benchmark is marked with the data sets' names, `data("emotions")`, and
  skipped where they are missing. They are taken from ``XDCC_DATA``, else from ``../shared/data`` if
  that is there.
"""

import os
import socket
import subprocess
import sys
from importlib import metadata
from ipaddress import ip_address
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_DATA = "without data"

sys.path[:] = [*(entry for entry in sys.path if Path(entry).resolve() != ROOT), str(ROOT)]

os.environ.setdefault("OMP_NUM_THREADS", "1")

_SHARED_DATA = ROOT.parent / "shared" / "data"
if _SHARED_DATA.is_dir():
    os.environ.setdefault("XDCC_DATA", str(_SHARED_DATA))


def pytest_configure():
    """Refuse to test sources."""
    try:
        metadata.version("xdcc")
    except metadata.PackageNotFoundError:
        raise pytest.UsageError(
            "xdcc is not installed here, and the tests are of the installed package: "
            "pip install ./third_party/xgboost '.[test]'"
        ) from None
    sys.addaudithook(_refuse_network)


def _refuse_network(event, args):
    if event == "socket.getaddrinfo":  # only a name has to be asked for
        host = None if _address(args[0]) else args[0]
    elif event == "socket.connect" and args[0].type == socket.SOCK_STREAM:
        # An address is a pair, or four values in IPv6; a path if it is no matter of the network.
        host = args[1][0] if isinstance(args[1], tuple) else None
    else:
        return
    address = _address(host)
    if not (
        address.is_loopback or address.is_unspecified
        if address
        else host in (None, "", "localhost", socket.gethostname())
    ):
        pytest.fail(f"a test wants to reach {host}, but tests do without a network")


def _address(host):
    try:
        return ip_address(host)
    except ValueError:
        return None


def pytest_runtest_setup(item):
    """Skip a test that wants the files of data sets which are not in `XDCC_DATA`."""
    wanted = [name for marker in item.iter_markers("data") for name in marker.args]
    folder = os.environ.get("XDCC_DATA")
    missing = [name for name in wanted if not (folder and Path(folder, name).is_dir())]
    if missing:
        item.user_properties.append((WITHOUT_DATA, missing))
        pytest.skip(f"the files of {', '.join(missing)} are missing")


def pytest_report_teststatus(report):
    """Count these tests by themselves: they are told of in one line, not in one each."""
    properties = getattr(report, "user_properties", ())  # a skipped module has none
    if report.skipped and WITHOUT_DATA in dict(properties):
        return WITHOUT_DATA, "s", "SKIPPED"
    return None


def pytest_terminal_summary(terminalreporter):
    """Say once what data are missing, and how to get them."""
    reports = terminalreporter.getreports(WITHOUT_DATA)
    if reports:
        names = {name for report in reports for name in dict(report.user_properties)[WITHOUT_DATA]}
        terminalreporter.write_line(
            f"{len(reports)} tests were skipped for want of the files of {', '.join(sorted(names))}"
            ": set XDCC_DATA to a folder that has them as <name>/<name>-train.arff, "
            "<name>-test.arff (or <name>.arff) and <name>.xml; ~/xdcc_data is one, where "
            "xdcc.data.load_dataset has downloaded them",
            yellow=True,
        )


@pytest.fixture
def threads(monkeypatch):
    """As many threads as a test asks for, in place of one.

    XGBoost takes no more than OpenMP offers, nor more than there are cores.
    """
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    with threadpool_limits(8, user_api="openmp"):
        yield


@pytest.fixture
def run_python(tmp_path):
    """Run Python in a process of its own, in an empty folder; return what it did."""

    def run(*args, seconds=300):
        return subprocess.run(
            [sys.executable, *args],
            cwd=tmp_path,
            env=os.environ | {"MPLCONFIGDIR": str(tmp_path / "matplotlib")},
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    return run
