"""The script for XGBoost's own tests, with a fake XGBoost and a fake suite."""

import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

MODULE = """
__version__ = "{version}"


_settings = {{"verbosity": 1}}


def build_info():
    return {info}


def get_config():
    return dict(_settings)


def set_config(**settings):
    _settings.update(settings)
"""
BASIC = """
import pytest


class TestBasic:
    def test_holds(self):
        pass

    @pytest.mark.parametrize("value", ["a.b", "c"])
    def test_differs(self, value):
        assert value == "c", "ours is different"


@pytest.mark.skip(reason="no GPU")
def test_gpu():
    pass
"""
DASK = """
from .conftest import ANSWER


def test_dask(client):
    assert ANSWER == client
"""
CONFTEST = """
import pytest

ANSWER = 42


@pytest.fixture
def client():
    yield 42
"""
DIFFERS = "tests/python/test_basic.py::TestBasic::test_differs[a.b]"
VERSION_FILE = "python-package/xgboost/VERSION"
DASK_FOLDER = "tests/test_distributed/test_with_dask"


class Suite:
    """A checkout, an installed wheel, and the list of expected failures."""

    def __init__(self, project, root, monkeypatch, capfd):
        self.project, self.capfd = project, capfd
        self.work = root / "work"
        self.root = root / "checkout"
        self.site = root / "site"
        self.script = project.load("upstream_suite")
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PYTHONPATH", str(self.site))
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts faster
        self.write(VERSION_FILE, project.version)
        self.write("tests/pytest.ini", "[pytest]\n")
        self.write("tests/python/test_basic.py", BASIC)
        self.write("tests/test_distributed/__init__.py", "")
        self.write(f"{DASK_FOLDER}/__init__.py", "")
        self.write(f"{DASK_FOLDER}/conftest.py", CONFTEST)
        self.write(f"{DASK_FOLDER}/test_dask.py", DASK)
        self.write("tests/python-gpu/test_gpu.py", "raise ImportError\n")
        self.install()
        self.expect(ours={DIFFERS: "it is ours"})

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def install(self, folder=None, *, version=None, plugin=True):
        """Write a package xgboost to a folder, by default that of the installed packages."""
        package = (folder or self.site) / "xgboost"
        metadata = package.with_name("xgboost-1.dist-info")
        for path in (package, metadata):
            path.mkdir(parents=True, exist_ok=True)
        version = version or self.project.version
        info = {"XDCC_MULTILABEL": "1"} if plugin else {}
        (package / "__init__.py").write_text(MODULE.format(version=version, info=info))
        (metadata / "METADATA").write_text(f"Name: xgboost\nVersion: {version}+of.test\n")

    def expect(self, *, ours=(), both=(), environment=()):
        tables = {"ours": ours, "both": both, "environment": environment}
        lines = []
        for name, table in tables.items():
            lines += [f"[{name}]", *(f"'{test}' = '{why}'" for test, why in dict(table).items())]
        self.script.FAILURES.write_text("\n".join(lines))

    def checkout(self, source):
        """Return the root of the unpacked sources."""
        return self.script.checkout(source, self.work, self.script.read_pin(self.script.PIN))

    def run(self, *arguments, source=None):
        """Return the exit status and the output."""
        status = self.script.main([str(source or self.root), *arguments])
        return status, self.capfd.readouterr().out


@pytest.fixture
def suite(project, tmp_path, monkeypatch, capfd):
    (tmp_path / "work").mkdir()
    return Suite(project, tmp_path, monkeypatch, capfd)


def test_outcomes_as_expected(suite):
    status, printed = suite.run()
    assert status == 0
    summary = printed.rpartition("\n\n")[2].splitlines()
    assert summary[:3] == ["expected failures:", f"  {DIFFERS}", "      it is ours"]
    version = suite.project.version
    assert summary[3] == (
        f"xgboost {version}+of.test from {suite.site / 'xgboost'}: "
        "3 passed, 1 failed, 1 skipped: as expected"
    )


def test_an_unexpected_failure(suite):
    """A failure, a fixture that fails after its test, and a module that cannot be imported."""
    suite.expect()
    suite.write(f"{DASK_FOLDER}/conftest.py", f"{CONFTEST}    raise OSError('it hangs')\n")
    suite.write("tests/python/test_broken.py", "import no_such_module\n")
    status, printed = suite.run()
    assert status == 1
    _, _, listed = printed.partition("\nunexpected failures:\n")
    assert f"  {DIFFERS}\n      AssertionError: ours is different" in listed
    assert f"  {DASK_FOLDER}/test_dask.py::test_dask\n" in listed
    assert "it hangs" in listed
    assert "  tests/python/test_broken.py\n" in listed
    assert "2 passed, 3 failed, 1 skipped: NOT as expected" in listed


@pytest.mark.parametrize("table", ["ours", "both"])
def test_an_expected_failure_that_passes(suite, table):
    passing = "tests/python/test_basic.py::TestBasic::test_holds"
    suite.expect(**{table: {DIFFERS: "it is ours", passing: "it was broken"}})
    status, printed = suite.run()
    assert status == 1
    passed = f"listed, but passed: remove from the list:\n  {passing}\n      it was broken\n"
    assert passed in printed


def test_environment_dependent_tests_may_pass_or_fail(suite):
    passing = "tests/python/test_basic.py::TestBasic::test_holds"
    suite.expect(environment={DIFFERS: "needs a network", passing: "needs a network"})
    assert suite.run()[0] == 0


def test_each_test_begins_with_default_settings(suite):
    suite.write(
        "tests/python/test_settings.py",
        "import xgboost\n\n\ndef test_changes():\n    xgboost.set_config(verbosity=0)\n\n\n"
        "def test_depends():\n    assert xgboost.get_config() == {'verbosity': 1}\n",
    )
    status, printed = suite.run()
    assert status == 0
    assert "5 passed, 1 failed, 1 skipped: as expected" in printed


def test_dask_has_no_time_limit_of_seconds(suite):
    suite.write("tests/python/distributed/__init__.py", "")
    suite.write("tests/python/distributed/utils_test.py", "def is_debugging():\n    return False\n")
    suite.write(
        "tests/python/test_limit.py",
        "from distributed.utils_test import __name__ as module\nimport sys\n\n\n"
        "def test_limit():\n    assert sys.modules[module].is_debugging()\n",
    )
    assert "4 passed, 1 failed" in suite.run()[1]


def test_expected_failures_of_the_official_wheel(suite):
    suite.install(plugin=False)
    assert suite.run("--stock")[0] == 1  # failures of our wheel are not expected
    suite.expect(both={DIFFERS: "a newer pandas"})
    assert suite.run("--stock")[0] == 0


def test_options_are_passed_to_pytest(suite):
    """Tests that they deselect are not an error."""
    gone = "tests/python/test_basic.py::test_gone"
    suite.expect(both={gone: "it is gone"}, ours={DIFFERS: "it is ours"})
    status, printed = suite.run("--", "-k", "dask")
    assert status == 0
    assert f"listed, but did not run:\n  {DIFFERS}\n      it is ours\n  {gone}\n" in printed
    assert "1 passed, 0 failed, 0 skipped" in printed


@pytest.mark.parametrize("options", [["-k", "nothing"], ["--no-such-option"]])
def test_a_run_without_tests_is_an_error(suite, options):
    with pytest.raises(
        suite.script.BuildError, match=r"pytest ran no test; its exit status is [45]$"
    ):
        suite.run("--", *options)


def test_a_run_that_does_not_finish_is_an_error(suite):
    suite.write("tests/python/test_basic.py", "def test_ends():\n    raise KeyboardInterrupt\n")
    with pytest.raises(suite.script.BuildError, match=r"pytest did not finish; .* status is 2$"):
        suite.run()


def test_sources_of_another_version(suite):
    suite.write(VERSION_FILE, "9.9.9\n")
    with pytest.raises(suite.script.BuildError, match=r"is XGBoost 9\.9\.9, but .* pins 9\.8\.7"):
        suite.run()


def test_another_version_is_installed(suite):
    suite.install(version="9.9.9")
    message = r"9\.9\.9 is installed, but 9\.8\.7 is pinned"
    with pytest.raises(suite.script.BuildError, match=message):
        suite.run()


def test_missing_sources(suite, tmp_path):
    error = suite.script.BuildError
    with pytest.raises(error, match="does not exist"):
        suite.run(source=tmp_path / "nowhere")
    (tmp_path / "file.tar.gz").write_text("text")
    with pytest.raises(error, match=r"cannot unpack .*file\.tar\.gz"):
        suite.run(source=tmp_path / "file.tar.gz")
    (tmp_path / "other" / "tests").mkdir(parents=True)
    with pytest.raises(error, match="is not a checkout of XGBoost"):
        suite.run(source=tmp_path / "other")


def test_the_checkout_must_not_shadow_the_wheel(suite, monkeypatch):
    package = suite.root / "python-package"
    suite.install(package)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), str(suite.site)]))
    with pytest.raises(suite.script.BuildError, match="instead of the installed wheel"):
        suite.run()


def test_unexpected_wheels(suite):
    error = suite.script.BuildError
    with pytest.raises(error, match="but the installed one has the plugin"):
        suite.run("--stock")
    suite.install(plugin=False)
    with pytest.raises(error, match="does not have the plugin"):
        suite.run()
    (suite.site / "xgboost" / "__init__.py").write_text("raise ImportError('no library')\n")
    with pytest.raises(error, match="cannot import XGBoost: ImportError: no library"):
        suite.run()


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_archives(suite, tmp_path, kind):
    """GitHub's archives have one root folder."""
    archive = tmp_path / f"xgboost.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as zipped:
            for file in filter(Path.is_file, suite.root.rglob("*")):
                zipped.write(file, Path("xgboost", file.relative_to(suite.root)))
    else:
        with tarfile.open(archive, "w:gz") as tarred:
            tarred.add(suite.root, "xgboost")
    unpacked = suite.checkout(archive)
    assert (unpacked / DASK_FOLDER / "test_dask.py").is_file()
    assert unpacked.name == "xgboost"


def test_an_archive_with_an_entry_outside_its_folder(suite, tmp_path):
    with tarfile.open(tmp_path / "evil.tar", "w") as tarred:
        tarred.add(suite.root / VERSION_FILE, "../../evil")
    with pytest.raises(suite.script.BuildError, match="cannot unpack"):
        suite.run(source=tmp_path / "evil.tar")


@pytest.mark.skipif(not shutil.which("git"), reason="Git not found")
def test_a_bare_git_directory(suite, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    version = suite.project.version
    author = ["-c", "user.name=x", "-c", "user.email=x"]
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        [*author, "commit", "-qm", "release"],
        ["clone", "-q", "--bare", ".", tmp_path / "bare"],
    ):
        subprocess.run(["git", *command], cwd=suite.root, check=True)
    with pytest.raises(suite.script.BuildError, match=rf"neither a .* with the tag v{version}"):
        suite.checkout(tmp_path / "bare")
    command = ["git", "--git-dir", tmp_path / "bare", "tag", f"v{version}"]
    subprocess.run(command, check=True)
    unpacked = suite.checkout(tmp_path / "bare")
    assert (unpacked / DASK_FOLDER / "test_dask.py").is_file()
