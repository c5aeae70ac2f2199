"""The set-up of all tests.

- The tests import the installed package. The clone's root, which `python -m pytest` puts first on
  the search path, has the sources without the compiled modules, so it is moved to the end.
- There is one thread unless a test asks for more by the fixture `threads`: the data are small, and
  more threads are slower on a shared machine.
- There is no network: a test that connects to another machine fails.
- A test that needs the files of a benchmark is marked with the data sets' names, as in
  `data("emotions")`, and is skipped if they are missing. The files are taken from ``XDCC_DATA``, or
  from ``../shared/data`` if that exists.
- A property test has no deadline: the machines are shared.
- `--list-skipped FILE` writes the skipped tests to a file, for `pytest @FILE`. With
  `--may-skip FILE`, a test that is skipped fails unless a line of the file is in the reason.
"""

import gc
import os
import signal
import socket
import subprocess
import sys
from importlib import metadata
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
WITHOUT_DATA = "without data"

sys.path[:] = [*(entry for entry in sys.path if Path(entry).resolve() != ROOT), str(ROOT)]

os.environ["OMP_NUM_THREADS"] = "1"

settings.register_profile("shared machine", settings(deadline=None))
settings.load_profile("shared machine")

_SHARED_DATA = ROOT.parent / "shared" / "data"
if _SHARED_DATA.is_dir():
    os.environ.setdefault("XDCC_DATA", str(_SHARED_DATA))


def pytest_addoption(parser):
    """Add the options of `.ci/run`."""
    parser.addoption("--list-skipped", metavar="FILE")
    parser.addoption("--may-skip", metavar="FILE")


def pytest_configure():
    """Check that xdcc is installed, and refuse the network."""
    try:
        metadata.version("xdcc")
    except metadata.PackageNotFoundError:
        raise pytest.UsageError(
            "The tests need the installed package: pip install ./third_party/xgboost '.[test]'"
        ) from None
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts a background job with this; tests of Ctrl-C and their processes need it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(_refuse_network)


def pytest_collection_finish():
    """Exempt what imports and collected tests have made from garbage collection."""
    gc.collect()
    gc.freeze()


def _refuse_network(event, args):
    if event == "socket.getaddrinfo":  # looks up a name; an address needs no look-up
        host = None if _address(args[0]) else args[0]
    elif event == "socket.connect" and args[0].type == socket.SOCK_STREAM:
        # A pair, or four values in IPv6; a path for a local socket
        host = args[1][0] if isinstance(args[1], tuple) else None
    else:
        return
    address = _address(host)
    if not (
        address.is_loopback or address.is_unspecified
        if address
        else host in (None, "", "localhost", socket.gethostname())
    ):
        pytest.fail(f"the test tried to connect to {host}; tests must not use the network")


def _address(host):
    try:
        return ip_address(host)
    except ValueError:
        return None


def pytest_runtest_setup(item):
    """Skip a test that needs the files of data sets which are not in `XDCC_DATA`."""
    wanted = [name for marker in item.iter_markers("data") for name in marker.args]
    folder = os.environ.get("XDCC_DATA")
    missing = [name for name in wanted if not (folder and Path(folder, name).is_dir())]
    if missing:
        item.user_properties.append((WITHOUT_DATA, missing))
        pytest.skip(f"the files of {', '.join(missing)} are missing")


def pytest_report_teststatus(report):
    """Count the tests without data separately: the summary has one line for all of them."""
    properties = getattr(report, "user_properties", ())  # a skipped module has none
    if report.skipped and WITHOUT_DATA in dict(properties):
        return WITHOUT_DATA, "s", "SKIPPED"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped for a reason that is not on the list of `--may-skip`."""
    report = yield
    return _without_skip(report, item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Do so for a module, too."""
    report = yield
    return _without_skip(report, collector.config)


def _without_skip(report, config):
    may_skip = config.getoption("--may-skip")
    is_expected_failure = hasattr(report, "wasxfail")
    without_data = WITHOUT_DATA in dict(getattr(report, "user_properties", ()))
    if may_skip is None or not report.skipped or is_expected_failure or without_data:
        return report
    _, _, reason = report.longrepr
    lines = Path(may_skip).read_text(encoding="utf-8").splitlines()
    reasons = [line for line in lines if line and not line.startswith("#")]
    if not any(known.casefold() in reason.casefold() for known in reasons):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason}; {may_skip} does not list this reason."
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Write the list of skipped tests. Say which data are missing, and how to get them."""
    if file := config.getoption("--list-skipped"):
        skipped = terminalreporter.getreports("skipped")
        names = sorted({report.nodeid for report in skipped})
        Path(file).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    reports = terminalreporter.getreports(WITHOUT_DATA)
    if reports:
        names = {name for report in reports for name in dict(report.user_properties)[WITHOUT_DATA]}
        terminalreporter.write_line(
            f"{len(reports)} tests were skipped: data for {', '.join(sorted(names))} are missing. "
            "Set XDCC_DATA to a folder that has them as <name>/<name>-train.arff, "
            "<name>-test.arff (or <name>.arff) and <name>.xml, such as ~/xdcc_data, where "
            "xdcc.data.load_dataset downloads them.",
            yellow=True,
        )


@pytest.fixture
def threads(monkeypatch):
    """Allow up to 8 threads instead of one.

    XGBoost uses no more than OpenMP allows, and no more than there are cores.
    """
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    with threadpool_limits(8, user_api="openmp"):
        yield


@pytest.fixture
def run_python(tmp_path):
    """Run Python in a new process, in an empty folder; return the completed process."""

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
