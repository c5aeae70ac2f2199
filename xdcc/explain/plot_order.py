"""``plot_order``: which labels a chain decides first."""

from typing import TYPE_CHECKING, Any

from xdcc.base.pyplot import require_pyplot
from xdcc.explain.documentation import documented_explanation
from xdcc.explain.heat_map import draw_heat_map, new_axes
from xdcc.explain.round_statistics import round_statistics
from xdcc.explain.walks import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@documented_explanation
def plot_order(model: Model, X: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the order of a chain's labels as a heat map, labels by rounds.

    Parameters
    ----------
    {model}
    {rows}
    {ax}

    Returns
    -------
    Axes
        The heat map. The colours are the share of rows in which the round propagated the label.

    Raises
    ------
    {pyplot_errors}
    {model_errors}
    ValueError
        If X is not as described or has another number of features than in `fit`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> axes = plot_order(chain.fit(data.X, data.Y), data.X)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['label_0', 'label_1', 'label_2']
    """
    require_pyplot("plot_order")
    statistics = round_statistics(model, X)
    shares = (statistics.positive + statistics.negative).T / statistics.n_samples
    return draw_heat_map(
        new_axes(*shares.shape)[0] if ax is None else ax,
        shares,
        statistics.label_names,
        None,
        title="Order of the labels",
        x_label="round",
        y_label="label",
        bar_label="share of rows",
    )
