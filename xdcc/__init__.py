"""Multi-label classification with boosted trees and dynamic chains.

All estimators can be imported from here; subpackages are attributes. They are imported on first
use, so ``import xdcc`` itself is fast. ``__init__.pyi`` lists the names.

Examples
--------
>>> import xdcc
>>> digits = xdcc.data.load_digits_properties()
>>> classifier = xdcc.BinaryRelevance(n_estimators=5, max_depth=3).fit(digits.X, digits.Y)
>>> classifier.predict(digits.X[:2])
array([[1, 0, 0, 1, 1, 1, 0],
       [0, 0, 0, 0, 1, 0, 1]])
"""

from pathlib import Path as _Path
from typing import Any

if _Path(__path__[0], "from_clone.py").exists():
    from xdcc.from_clone import use_installed_package

    use_installed_package()

from xdcc.base.lazy_import import PUBLIC as _PUBLIC
from xdcc.base.lazy_import import SUBPACKAGES as _SUBPACKAGES
from xdcc.base.lazy_import import import_package as _package

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _PUBLIC:
        value = getattr(_package(_PUBLIC[name]), name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    elif name in _SUBPACKAGES:
        value = _package(name)
    else:
        raise AttributeError(_unknown_name_message(name))
    globals()[name] = value  # later accesses do not call this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})


def _unknown_name_message(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [*__all__, *_SUBPACKAGES], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"module {__name__!r} has no attribute {name!r}.{hint}"
