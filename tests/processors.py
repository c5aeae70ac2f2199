"""Idle processors for tests of threads, whatever the machine has and runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from xgboost.core import _LIB

from xdcc.kernels.threads import pretend_processors


@contextmanager
def idle_processors(n: int) -> Iterator[None]:
    """Let XGBoost and the kernels use `n` threads, and help each region with all of them."""
    pretend = (_LIB.XDCCPretendProcessors, pretend_processors)
    for begin in pretend:
        begin(n)
    try:
        yield
    finally:
        for end in pretend:
            end(0)
