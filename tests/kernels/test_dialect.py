"""The kernels' sources keep to one dialect."""

from pathlib import Path

import pytest

import xdcc

SOURCES = Path(__file__).parents[2] / "xdcc"

KERNELS = sorted([*SOURCES.rglob("*.pyx"), *SOURCES.rglob("*.pxd")])


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCES)))
def test_source(path):
    """The first line says what the file is; compiler directives stand in meson.build."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith('"""')
    assert [line for line in lines if line.startswith("include ")] == []


def test_sources_that_nobody_can_cimport_are_not_installed():
    assert list(Path(xdcc.__file__).parent.rglob("*.pyx")) == []
