"""Reading a booster from a file, for the layers below `xdcc.serving`.

`xdcc.serving` checks files before XGBoost reads them. It imports every method, so no method can
import it. The package `xdcc` registers the reader here.
"""

from collections.abc import Callable
from typing import Any

read_booster: Callable[[Any], Any]
"""Check the file of a booster and read it; :func:`xdcc.serving.read_booster`."""
