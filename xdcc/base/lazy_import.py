"""Imports packages of xdcc on first use."""

from importlib import import_module
from types import ModuleType

_ROOT = "xdcc"


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
        from pathlib import Path

        folder = Path(__file__).parents[1]
        if (error.name or "").startswith(_ROOT) and any(folder.rglob("*.pyx")):
            raise ImportError(
                f"{folder} contains the sources of xdcc, not the installed package. Start Python "
                "in another folder or with -P, or compile the sources with: pip install -e ."
            ) from error
        raise
