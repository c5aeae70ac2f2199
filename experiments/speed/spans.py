"""Records the parallel regions of XGBoost and the plugin, task by task, on one thread.

The plugin runs the regions as if there were more threads than the machine has processors, one task
after the other, and measures each task without the time of other processes (see
`plugins/multilabel/threads/span_recorder.h`).
"""

import ctypes
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xgboost.core import _LIB

_ASSUMED_COST = 0.5e-6
_NAMESPACES = re.compile(r"^xgboost::|multilabel::|\{anonymous\}::")


@dataclass(frozen=True)
class Region:
    """A parallel region: the function that its tasks call, and seconds since the beginning."""

    name: str
    begin: float
    end: float
    tasks: list[float]  # seconds of each, in the order in which they are claimed


@dataclass(frozen=True)
class Recording:
    """The regions of a call, in their order, and its seconds."""

    total: float
    regions: list[Region]


def record(call: Callable[[], Any], n_threads: int) -> Recording:
    """Record the regions of a call, whose XGBoost has to be given that number of threads, too.

    Examples
    --------
    >>> record(lambda: None, 16).regions
    []
    """
    _LIB.XDCCBeginSpans(ctypes.c_int(n_threads))
    try:
        call()
    finally:
        _LIB.XDCCEndSpans.restype = ctypes.c_char_p
        text = _LIB.XDCCEndSpans()
    recorded = json.loads(text)
    names = [_NAMESPACES.sub("", name) for name in recorded["names"]]
    regions = [
        Region(names[name], begin * 1e-9, end * 1e-9, [task * 1e-9 for task in tasks])
        for name, begin, end, tasks in recorded["regions"]
    ]
    return Recording(recorded["total"] * 1e-9, regions)


def region_cost() -> float:
    """Return the seconds that it costs to begin a region on two real threads.

    It is measured in regions that a second thread joined; if none did, half a microsecond is
    assumed.
    """
    _LIB.XDCCRegionCost.restype = ctypes.c_double
    nanoseconds = float(_LIB.XDCCRegionCost(ctypes.c_int(2)))
    return nanoseconds * 1e-9 if nanoseconds > 0 else _ASSUMED_COST
