"""Fixtures for the tests of the build backend: a miniature of the repository.

`project` copies the modules of the backend to a temporary clone with its own tiny "XGBoost": an
sdist of four files whose "library" is a text file. scikit-build-core makes a real wheel of it
without CMake. The modules use the pin, patches and plugin of the clone.
"""

import hashlib
import importlib
import io
import os
import shutil
import stat
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

BACKEND = Path(__file__).resolve().parents[2] / "third_party" / "xgboost"
VERSION = "9.8.7"
PYPROJECT = f"""\
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"

[project]
name = "xgboost"
version = "{VERSION}"
license = "Apache-2.0"
license-files = ["LICENSE"]

[tool.scikit-build]
wheel.cmake = false
wheel.py-api = "py3"
wheel.packages = ["xgboost"]
"""
MODULE = "version = 1\n"


class Project:
    """The miniature clone and its environment."""

    version = VERSION
    pyproject = PYPROJECT

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.folder = root / "clone" / "third_party" / "xgboost"
        self.plugin = root / "clone" / "plugins" / "multilabel"
        self.cache = root / "user-cache"
        self.programs = root / "programs"
        self.sdist = root / f"xgboost-{VERSION}.tar.gz"
        self.patches = self.folder / "patches"
        for folder in (self.patches, self.plugin, self.programs):
            folder.mkdir(parents=True)
        for file in [*BACKEND.glob("*.py"), BACKEND / "NOTICE"]:
            shutil.copy(file, self.folder)
        shutil.copytree(BACKEND / "pytest_plugin", self.folder / "pytest_plugin")
        (self.plugin / "param.h").write_text("// plugin\n")
        self.set_series()
        self.set_sdist()

    def load(self, name: str) -> ModuleType:
        """Import a module of the backend from the clone."""
        return importlib.import_module(name)

    def set_sdist(self, *, pyproject: str = PYPROJECT, library: str = "libxgboost.so") -> None:
        """Write the source distribution, pin it and pass it to the build."""
        files = {
            "pyproject.toml": pyproject,
            "LICENSE": "licence text\n",
            "xgboost/__init__.py": MODULE,
            f"xgboost/lib/{library}": "machine code\n",
        }
        with tarfile.open(self.sdist, "w:gz") as archive:
            for name, text in files.items():
                entry = tarfile.TarInfo(f"xgboost-{VERSION}/{name}")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        self.set_pin(sha256=hashlib.sha256(self.sdist.read_bytes()).hexdigest())
        self.monkeypatch.setenv("XDCC_XGBOOST_SDIST", str(self.sdist))

    def set_pin(self, *, sha256: str) -> None:
        """Write upstream.toml."""
        (self.folder / "upstream.toml").write_text(
            f'name = "xgboost"\nversion = "{VERSION}"\nsha256 = "{sha256}"\nlocal = "xdcc.3"\n'
        )

    def set_series(self, **patches: str) -> None:
        """Write the patches and a series that lists them in this order."""
        for name, text in patches.items():
            (self.patches / f"{name}.patch").write_text(text)
        names = "".join(f"{name}.patch\n" for name in patches)
        (self.patches / "series").write_text(f"# comment\n\n{names}")

    def set_program(self, name: str, script: str) -> Path:
        """Put a shell script on the PATH, which contains nothing else."""
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program


@pytest.fixture
def project(tmp_path, monkeypatch):
    platformdirs = pytest.importorskip("platformdirs", reason="the backend needs platformdirs")
    pytest.importorskip("unidiff", reason="the backend needs unidiff")
    for name in list(os.environ):
        if name.startswith(("XDCC_", "CMAKE_", "SKBUILD_", "CUDA")) or name == "PIP_INDEX_URL":
            monkeypatch.delenv(name)
    for name in ("CC", "CXX", "CMAKE_GENERATOR"):  # which the backend sets: note the old value
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    clone = Project(tmp_path, monkeypatch)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: str(clone.cache))
    monkeypatch.setenv("PATH", str(clone.programs))
    modules = {file.stem for file in BACKEND.glob("*.py")}
    assert modules.isdisjoint(sys.modules), "a loaded module is named like one of the backend"
    monkeypatch.syspath_prepend(clone.folder)
    yield clone
    for name in modules:
        sys.modules.pop(name, None)
