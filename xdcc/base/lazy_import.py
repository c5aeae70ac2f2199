"""Imports on first use, of packages of xdcc and of large libraries (``libraries.py``).

The stub of xdcc, which type checkers read, is the only list of its public names.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

_ROOT = "xdcc"
_FOLDER = Path(__file__).parents[1]

_IMPORTED = {
    alias.name: statement.module
    for statement in ast.parse((_FOLDER / "__init__.pyi").read_text("utf-8")).body
    if isinstance(statement, ast.ImportFrom) and statement.module
    for alias in statement.names
}
"""The module from which the stub imports each name."""

PUBLIC = MappingProxyType(
    {
        name: module.removeprefix(f"{_ROOT}.")
        for name, module in _IMPORTED.items()
        if module != _ROOT
    }
)
"""The package of each estimator, and of the function that makes one of another."""

SUBPACKAGES = tuple(name for name, module in _IMPORTED.items() if module == _ROOT)
"""The packages and modules in `xdcc`."""


def import_package(name: str) -> ModuleType:
    """Return a package of xdcc, named as in `chain` or `comparators.rdt`.

    Examples
    --------
    >>> import_package("comparators.rdt").__name__
    'xdcc.comparators.rdt'
    """
    return import_module(f"{_ROOT}.{name}")


def on_first_use(package: str, **modules: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package that imports some of its names on first use.

    Parameters
    ----------
    package : str
        Name of the package.
    **modules : str
        For each name the module of the package that defines it, or the full name of another.

    Returns
    -------
    callable

    Examples
    --------
    >>> on_first_use("xdcc.base", Learned="learned")("Learned").__module__
    'xdcc.base.learned'
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        return getattr(import_module(module if "." in module else f"{package}.{module}"), name)

    return find


class LazyModule:
    """A module that is imported on its first use.

    Write annotations that name it as text.

    Parameters
    ----------
    name : str
        Name of the module.

    Examples
    --------
    >>> LazyModule("json").dumps([1])
    '[1]'
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:  # `sys.modules` may have one that is not imported completely
            self._module = import_module(self._name)
        return getattr(self._module, name)
