"""Progress bars that do not flood a notebook or a log."""

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

_SECONDS = 10
"""Seconds between two lines of output where the bar cannot be redrawn in place."""


def progress_bar(steps: Iterable[Any] | None = None, **options: Any) -> Any:
    """Make a bar of tqdm; outside a terminal it is written every ten seconds.

    A notebook keeps everything that is written, and so does a log file. A terminal overwrites.

    Parameters
    ----------
    steps : iterable, optional
        As for `tqdm.tqdm`.
    **options
        As for `tqdm.tqdm`.

    Returns
    -------
    tqdm.tqdm

    Examples
    --------
    >>> sum(progress_bar(range(4), disable=True))
    6
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return tqdm(steps, mininterval=0.1 if is_terminal else _SECONDS, **options)
