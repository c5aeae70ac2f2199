"""Published methods to compare with, one package each; a package is imported on first use.

Their estimators can also be imported from `xdcc`.
"""

from typing import TYPE_CHECKING, Any

from xdcc.base.lazy_import import import_package as _module

if TYPE_CHECKING:
    from xdcc.comparators import baselines as baselines
    from xdcc.comparators import boomer as boomer
    from xdcc.comparators import ctbn as ctbn
    from xdcc.comparators import lacovac as lacovac
    from xdcc.comparators import rdt as rdt

__all__ = ["baselines", "boomer", "ctbn", "lacovac", "rdt"]


def _import(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _module(f"comparators.{name}")


if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute
    __getattr__ = _import
