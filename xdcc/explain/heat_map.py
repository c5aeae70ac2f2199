"""A heat map of a table with labels down its side, readable with few labels and with many.

:func:`new_axes` makes a figure large enough for the table, up to a limit; :func:`draw_heat_map`
draws; both are called after :func:`xdcc.base.pyplot.require_pyplot`. Where there are more rows
or columns than names can be read, every second, third and so on is named. Colours run with the
square root of the value: a few large values would otherwise hide all others.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROW_NAMES = 60
_MOST_COLUMN_NAMES = 60
_MOST_COLUMN_NUMBERS = 26


def new_axes(
    n_rows: int, n_columns: int, *, n_maps: int = 1, turned: bool = False
) -> "NDArray[np.object_]":
    """Make a figure for heat maps side by side.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the table.
    n_maps : int, default=1
        Number of heat maps.
    turned : bool, default=False
        Whether names stand upright below the columns and need room.

    Returns
    -------
    array of Axes of shape (n_maps,)
        They share the names of their rows.
    """
    from matplotlib import pyplot

    width = min(max(2.8 + 0.18 * n_columns, 4.6), 11) * n_maps
    height = min(max(1.6 + 0.18 * n_rows + turned, 3), 11)
    _, axes = pyplot.subplots(
        1, n_maps, figsize=(width, height), sharey=True, squeeze=False, layout="constrained"
    )
    return axes[0]


def draw_heat_map(
    ax: "Axes",
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str] | None,
    *,
    title: str,
    x_label: str,
    y_label: str,
    bar_label: str,
) -> "Axes":
    """Draw a heat map with a colour bar that begins at 0; 0 is pale.

    Parameters
    ----------
    ax : Axes
        Where to.
    values : float array of shape (n_rows, n_columns)
        What is drawn; values below 0 get the colour of 0.
    rows : sequence of str
        Names of the rows.
    columns : sequence of str or None
        Names of the columns; None numbers them from 1.
    title, x_label, y_label, bar_label : str
        What stands above the map, below it, beside it, and beside the colour bar.

    Returns
    -------
    Axes
        `ax`.
    """
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    largest = float(values.max(initial=0)) or 1.0
    scale = PowerNorm(0.5, vmin=0, vmax=largest, clip=True)
    image = ax.imshow(values, aspect="auto", interpolation="nearest", cmap="YlGnBu", norm=scale)
    ticks = np.asarray(MaxNLocator(5).tick_values(0, largest))
    ax.figure.colorbar(image, ax=ax, label=bar_label, ticks=ticks[ticks <= largest])
    at = _named(len(rows), _MOST_ROW_NAMES)
    ax.set_yticks(at, [rows[i] for i in at], fontsize=_font_size(len(at)))
    if columns is None:
        at = _named(values.shape[1], _MOST_COLUMN_NUMBERS)
        ax.set_xticks(at, [str(i + 1) for i in at], fontsize=8)
    else:
        at = _named(len(columns), _MOST_COLUMN_NAMES)
        names = [columns[i] for i in at]
        ax.set_xticks(at, names, fontsize=_font_size(len(at)), rotation=90)
    ax.set(xlabel=x_label, ylabel=y_label)
    ax.set_title(title, fontsize=10)
    return ax


def _named(n: int, most: int) -> list[int]:
    return list(range(0, n, -(-n // most)))


def _font_size(n_names: int) -> int:
    return 8 if n_names <= 30 else 7
