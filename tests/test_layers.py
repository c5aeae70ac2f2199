"""Kernels and stubs, which import-linter does not read (its contracts are in pyproject.toml)."""

import re
from pathlib import Path

XDCC = Path(__file__).parents[1] / "xdcc"
SUFFIXES = {".pyi", ".pyx", ".pxd", ".pxi"}


def test_kernels_import_only_base_kernels_and_their_own_package():
    paths = [path for path in sorted(XDCC.glob("*/**/*")) if path.suffix in SUFFIXES]
    assert len(paths) > 50
    for path in paths:
        code = path.read_text("utf-8")
        package = ".".join(path.relative_to(XDCC).parts[:-1])
        allowed = {package} | ({"base", "kernels"} if package != "kernels" else set())
        other = r"^\s*(from\s+(xdcc|\.\S*)|c?import\s+.*\bxdcc)\s"
        assert not re.search(other, code, re.MULTILINE), path
        imported = re.findall(r"^\s*(?:from|c?import)\s+xdcc\.([\w.]+)", code, re.MULTILINE)
        prefixes = tuple(f"{name}." for name in allowed)
        assert [name for name in imported if not f"{name}.".startswith(prefixes)] == [], path
