"""``plot_rounds``: in which rounds a chain decides which labels, positives beside negatives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from xdcc.base.pyplot import require_pyplot
from xdcc.explain.documentation import documented_explanation
from xdcc.explain.heat_map import draw_heat_map, new_axes
from xdcc.explain.round_statistics import RoundStatistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@documented_explanation
def plot_rounds(
    statistics: RoundStatistics, axes: "Sequence[Axes] | NDArray[np.object_] | None" = None
) -> "NDArray[np.object_]":
    """Draw two heat maps, labels by rounds: of positive and of negative decisions.

    After Figure 3 of the XDCC paper, but with a line for each label. The paper's own numbers,
    summed over the labels, are in :meth:`RoundStatistics.by_round`.

    Parameters
    ----------
    statistics : RoundStatistics
        What :func:`xdcc.explain.round_statistics` returned.
    axes : sequence of two Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    array of Axes of shape (2,)
        Positives, negatives. The colours are the share of all rows; each map has a scale of its
        own.

    Raises
    ------
    {pyplot_errors}
    ValueError
        If `axes` are not two.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> chain = chain.fit(data.X, data.Y)
    >>> positives, negatives = plot_rounds(xdcc.explain.round_statistics(chain, data.X))
    """
    require_pyplot("plot_rounds")
    n_rounds, n_labels = statistics.positive.shape
    if axes is None:
        axes = new_axes(n_labels, n_rounds, n_maps=2)
    if len(axes) != 2:
        raise ValueError(f"axes has {len(axes)} entries; it has to be two: positive, negative.")
    for ax, sign in zip(axes, ("positive", "negative"), strict=True):
        counts = getattr(statistics, sign)
        draw_heat_map(
            ax,
            counts.T / statistics.n_samples,
            statistics.label_names,
            None,
            title=f"Decided as {sign}: {counts.sum() / statistics.n_samples:.2f} labels per row",
            x_label="round",
            y_label="label",
            bar_label="share of rows",
        )
    return np.array(axes, dtype=object)
