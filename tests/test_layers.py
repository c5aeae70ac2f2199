"""Kernels and stubs, which import-linter does not read (its contracts are in pyproject.toml)."""

import re
from pathlib import Path

import pytest

XDCC = Path(__file__).parents[1] / "xdcc"
SUFFIXES = {".pyi", ".pyx", ".pxd", ".pxi"}


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(XDCC.rglob("*")) if path.suffix in SUFFIXES],
    ids=lambda path: path.relative_to(XDCC).as_posix(),
)
def test_kernels_import_only_base_kernels_and_their_own_package(path):
    code = path.read_text("utf-8")
    package = ".".join(path.relative_to(XDCC).parts[:-1])
    allowed = {package} | ({"base", "kernels"} if package != "kernels" else set())
    assert not re.search(r"^\s*(from\s+(xdcc|\.\S*)|c?import\s+.*\bxdcc)\s", code, re.MULTILINE)
    imported = re.findall(r"^\s*(?:from|c?import)\s+xdcc\.([\w.]+)", code, re.MULTILINE)
    prefixes = tuple(f"{name}." for name in allowed)
    assert [name for name in imported if not f"{name}.".startswith(prefixes)] == []
