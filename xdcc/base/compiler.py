"""Compiling a model, for the layers below `xdcc.serving`.

`xdcc.serving` imports every method, so no method can import it. The package `xdcc` registers the
compiler here.
"""

from collections.abc import Callable
from typing import Any

compile_model: Callable[[Any, int | None], Any]
"""Compile a fitted model for a number of threads; :class:`xdcc.serving.CompiledModel`."""
