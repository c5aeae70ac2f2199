"""``plot_dependencies``: a matrix of which propagated label helps to predict which label."""

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from xdcc.base.domains import Choice, check_domain
from xdcc.base.pyplot import require_pyplot
from xdcc.explain.documentation import documented_explanation
from xdcc.explain.heat_map import draw_heat_map, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR_LABELS = {"gain": "gain", "share": "share of the round's gain for the target"}


@documented_explanation
def plot_dependencies(
    dependencies: pd.DataFrame,
    *,
    value: Literal["gain", "share"] = "gain",
    round_: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the dependencies between labels as a heat map, sources by targets.

    Parameters
    ----------
    dependencies : DataFrame
        What :func:`xdcc.explain.label_dependencies` returned.
    value : {"gain", "share"}, default="gain"
        What the colours show; shares need a round.
    round_ : int, optional
        The round to draw, from 1. By default gains are summed over all rounds.
    {ax}

    Returns
    -------
    Axes
        The heat map.

    Raises
    ------
    {pyplot_errors}
    ValueError
        If `value` is unknown, or is ``"share"`` without a round.

    Examples
    --------
    >>> dependencies = pd.DataFrame(
    ...     {
    ...         "round": [2],
    ...         "source": pd.Categorical(["even"], ["even", "prime"]),
    ...         "target": pd.Categorical(["prime"], ["even", "prime"]),
    ...         "gain": [3.5],
    ...         "share": [0.2],
    ...     }
    ... )
    >>> axes = plot_dependencies(dependencies)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['even', 'prime']
    """
    require_pyplot("plot_dependencies")
    check_domain("value", value, Choice(tuple(_BAR_LABELS)))
    if value == "share" and round_ is None:
        raise ValueError("value='share' needs a round: shares of different rounds have no sum.")
    if round_ is not None:
        dependencies = dependencies[dependencies["round"] == round_]
    names = [str(name) for name in dependencies["source"].cat.categories]
    matrix = np.zeros((len(names), len(names)))
    places = (dependencies["source"].cat.codes, dependencies["target"].cat.codes)
    np.add.at(matrix, places, np.nan_to_num(dependencies[value].to_numpy()))
    when = "all rounds" if round_ is None else f"round {round_}"
    return draw_heat_map(
        new_axes(len(names), len(names), turned=True)[0] if ax is None else ax,
        matrix,
        names,
        names,
        title=f"Label dependencies, {when}",
        x_label="predicted label (target)",
        y_label="propagated label (source)",
        bar_label=_BAR_LABELS[value],
    )
