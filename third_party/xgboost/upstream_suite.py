"""Runs XGBoost's own tests with the installed wheel: ``python upstream_suite.py CHECKOUT``.

CHECKOUT is a Git checkout of the pinned release, a bare Git directory that has its tag, or an
archive of it (``.tar.gz``, ``.zip``). A checkout is tested in place, everything else in a temporary
folder. The suite is ``tests/python`` and the Dask tests, without GPU tests. Each test begins with
XGBoost's default settings (``pytest_plugin/independent_tests.py``), so that their order does not
matter. The outcome is compared with ``upstream_failures.toml``. The exit status is 1 if a test
fails that is not listed there, or if a listed one passes.

``--stock`` expects the official wheel and its failures. Options after ``--`` are passed to pytest::

    python upstream_suite.py xgboost-3.4.1.tar.gz -- -n 2 --dist loadfile

In addition to XGBoost, the tests need pytest, hypothesis, scikit-learn, pandas, pyarrow, polars,
dask[dataframe], distributed, matplotlib, graphviz, loky and shap; ``-n`` needs pytest-xdist. Tests
that need cupy, modin, dask_ml or PySpark are skipped without them. The time limits in the tests, 30
or 60 seconds, are disabled, because the official wheel exceeds them on a busy machine. A test that
takes 20 minutes prints a traceback.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pin import BuildError, Pin, read_pin

HERE = Path(__file__).resolve().parent
PIN = HERE / "upstream.toml"
FAILURES = HERE / "upstream_failures.toml"
TESTS = ("tests/python", "tests/test_distributed/test_with_dask")
VERSION = Path("python-package", "xgboost", "VERSION")
PLUGIN = HERE / "pytest_plugin"

# Prints the installed XGBoost as a test would import it.
INSTALLED = """
import importlib.metadata, json, xgboost
print(json.dumps({
    "file": xgboost.__file__,
    "version": xgboost.__version__,
    "wheel": importlib.metadata.version("xgboost"),
    "plugin": "XDCC_MULTILABEL" in xgboost.build_info(),
}))
"""


def checkout(source: Path, folder: Path, pin: Pin) -> Path:
    """Return the root of the sources, unpacking them if necessary.

    Parameters
    ----------
    source : Path
        A checkout, a bare Git directory, or an archive.
    folder : Path
        Folder to unpack to.
    pin : Pin
        The required release.

    Raises
    ------
    BuildError
        If the sources do not exist or have another version.
    """
    if not source.exists():
        raise BuildError(f"{source} does not exist; give a checkout or an archive of XGBoost")
    if source.is_dir() and not (source / "tests").is_dir():
        source = _archive(source, folder / "archive.tar", f"v{pin.version}")
    if source.is_file():
        source = _unpack(source, folder / "checkout")
    version = source / VERSION
    if not version.is_file():
        raise BuildError(f"{source} is not a checkout of XGBoost: the file {VERSION} is missing")
    if (found := version.read_text(encoding="utf-8").strip()) != pin.version:
        raise BuildError(f"{source} is XGBoost {found}, but upstream.toml pins {pin.version}")
    return source.resolve()


def _archive(repository: Path, file: Path, tag: str) -> Path:
    command = ["git", "--git-dir", str(repository), "archive", "--output", str(file), tag]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise BuildError(
            f"{repository} is neither a checkout of XGBoost nor a Git directory with the tag "
            f"{tag}: {result.stderr.strip()}"
        )
    return file


def _unpack(file: Path, folder: Path) -> Path:
    """Unpack an archive into `folder`, rejecting entries outside it, and return its root."""
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as zipped:
                zipped.extractall(folder)
        else:
            with tarfile.open(file) as tarred:
                tarred.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise BuildError(f"cannot unpack {file}: {error}") from error
    entries = list(folder.iterdir())
    return entries[0] if len(entries) == 1 else folder  # GitHub's archives have one root folder


def check_installed(root: Path, pin: Pin, *, stock: bool, environ: dict[str, str]) -> str:
    """Return a description of the XGBoost that the tests will import.

    Raises
    ------
    BuildError
        If it is not the expected wheel.
    """
    command = [sys.executable, "-P", "-c", INSTALLED]
    result = subprocess.run(
        command, cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise BuildError(f"cannot import XGBoost: {result.stderr.strip().splitlines()[-1]}")
    found = json.loads(result.stdout.splitlines()[-1])
    if Path(found["file"]).resolve().is_relative_to(root):
        raise BuildError(
            f"the tests would import {found['file']} instead of the installed wheel; remove the "
            "checkout from PYTHONPATH and uninstall it"
        )
    if found["version"] != pin.version:
        raise BuildError(f"XGBoost {found['version']} is installed, but {pin.version} is pinned")
    if found["plugin"] and stock:
        raise BuildError("--stock expects the official wheel, but the installed one has the plugin")
    if not found["plugin"] and not stock:
        raise BuildError("the installed XGBoost does not have the plugin; pass --stock to test it")
    return f"xgboost {found['wheel']} from {Path(found['file']).parent}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: ``passed``, ``failed`` or ``skipped``, and why."""

    state: str
    message: str = ""


def run_tests(
    root: Path, results: Path, options: list[str], environ: dict[str, str]
) -> dict[str, Outcome]:
    """Run the tests in the folder `root` and return the outcome of each test ID.

    Raises
    ------
    BuildError
        If pytest did not run any test or did not finish.
    """
    tests = [path for path in TESTS if (root / path).is_dir()]
    # -P: no folder precedes the installed packages.
    command = [sys.executable, "-P", "-m", "pytest", *tests, *options, f"--rootdir={root}"]
    folders = [str(PLUGIN), *filter(None, [environ.get("PYTHONPATH")])]
    environ = environ | {"PYTHONPATH": os.pathsep.join(folders)}
    command += ["-p", "independent_tests"]
    command += ["--continue-on-collection-errors", "-p", "no:cacheprovider"]
    command += ["-p", "no:timeout", "-o", "faulthandler_timeout=1200"]
    command += [f"--junit-xml={results}", "-o", "junit_family=xunit1"]  # with file names
    status = subprocess.run(command, cwd=root, env=environ, check=False).returncode
    outcomes = read_results(results) if results.is_file() else {}
    if not outcomes:
        raise BuildError(f"pytest ran no test; its exit status is {status}")
    if status not in (0, 1):
        raise BuildError(f"pytest did not finish; its exit status is {status}")
    return outcomes


def read_results(file: Path) -> dict[str, Outcome]:
    """Read a JUnit file; a test fails if its setup or teardown fails."""
    outcomes: dict[str, Outcome] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        outcome = Outcome("passed")
        for part in case:
            if part.tag in ("failure", "error"):
                outcome = Outcome("failed", part.get("message", ""))
            elif part.tag == "skipped" and outcome.state == "passed":
                outcome = Outcome("skipped", part.get("message", ""))
        name = _test_id(case)
        if name not in outcomes or outcome.state == "failed":
            outcomes[name] = outcome
    return outcomes


def _test_id(case: ElementTree.Element) -> str:
    file, classname = case.get("file", ""), case.get("classname")
    if not classname:  # a module that cannot be imported
        return file
    module = file.removesuffix(".py").replace("/", ".")
    classes = classname.removeprefix(module).strip(".")
    return "::".join([file, *filter(None, classes.split(".")), case.get("name", "")])


@dataclass(frozen=True)
class Expected:
    """The tests that must fail, and those that may: ID → reason."""

    fail: dict[str, str]
    may_fail: dict[str, str]


def read_failures(file: Path, *, stock: bool) -> Expected:
    """Read the expected failures of the official wheel or of ours."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    ours = {} if stock else tables["ours"]
    return Expected(tables["both"] | ours, tables["environment"])


def compare(outcomes: dict[str, Outcome], expected: Expected) -> tuple[list[str], bool]:
    """Return the lines of the report and whether all outcomes are as expected."""
    failed = [name for name, outcome in outcomes.items() if outcome.state == "failed"]
    reasons = expected.may_fail | expected.fail
    unexpected = [name for name in failed if name not in reasons]
    fixed = [
        name for name in expected.fail if name in outcomes and outcomes[name].state == "passed"
    ]
    absent = [name for name in expected.fail if name not in outcomes]
    lines: list[str] = []
    sections = (
        ("expected failures", [(name, reasons[name]) for name in failed if name in reasons]),
        ("listed, but did not run", [(name, reasons[name]) for name in absent]),
        ("listed, but passed: remove from the list", [(name, reasons[name]) for name in fixed]),
        ("unexpected failures", [(name, _first_line(outcomes[name])) for name in unexpected]),
    )
    for title, entries in sections:
        if entries:
            lines.append(f"{title}:")
            lines += [f"  {name}\n      {text}" for name, text in sorted(entries)]
    return lines, not unexpected and not fixed


def _first_line(outcome: Outcome) -> str:
    return next(iter(outcome.message.splitlines()), "")[:200]


def main(arguments: list[str]) -> int:
    """Run the tests, print a summary and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="upstream_suite.py",
        description=__doc__.splitlines()[0],
        epilog="Options after -- are passed to pytest.",
    )
    parser.add_argument("checkout", type=Path, help="checkout, bare Git directory or archive")
    parser.add_argument("--stock", action="store_true", help="expect the official wheel")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    chosen, options = parser.parse_args(arguments[:split]), arguments[split + 1 :]
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    environ = os.environ | {"PATH": os.pathsep.join(folders)}  # demo tests run `python`
    pin = read_pin(PIN)
    with tempfile.TemporaryDirectory(prefix="xdcc-") as work:
        root = checkout(chosen.checkout, Path(work), pin)
        wheel = check_installed(root, pin, stock=chosen.stock, environ=environ)
        print(f"{wheel}: tests in {root}", flush=True)
        expected = read_failures(FAILURES, stock=chosen.stock)
        outcomes = run_tests(root, Path(work, "results.xml"), options, environ)
    lines, agrees = compare(outcomes, expected)
    states = [outcome.state for outcome in outcomes.values()]
    counts = ", ".join(f"{states.count(s)} {s}" for s in ("passed", "failed", "skipped"))
    verdict = "as expected" if agrees else "NOT as expected"
    print("\n".join(["", *lines, f"{wheel}: {counts}: {verdict}"]))
    return 0 if agrees else 1


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except BuildError as error:
        raise SystemExit(f"xdcc: {error}") from None
