"""Imports packages of xdcc on first use, and knows where its public names are.

The names stand once, in the stub of the package, which type checkers read, too.
"""

import ast
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType

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

    Raises an ImportError that says what to do if the kernels are not compiled.

    Examples
    --------
    >>> import_package("comparators.rdt").__name__
    'xdcc.comparators.rdt'
    """
    try:
        return import_module(f"{_ROOT}.{name}")
    except ImportError as error:
        if (error.name or "").startswith(_ROOT) and any(_FOLDER.rglob("*.pyx")):
            raise ImportError(
                f"{_FOLDER} contains the sources of xdcc, not the installed package. Start Python "
                "in another folder or with -P, or compile the sources with: pip install -e ."
            ) from error
        raise
