"""``plot_shap``: bars for the features and propagated labels that move predictions most."""

from typing import TYPE_CHECKING

import numpy as np

from xdcc.base.domains import Choice, Number, check_domain
from xdcc.base.pyplot import require_pyplot
from xdcc.explain.documentation import documented_explanation
from xdcc.explain.shap_values import ShapValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"feature": "C0", "propagated label": "C1"}


@documented_explanation
def plot_shap(
    values: ShapValues,
    *,
    label: str | None = None,
    n_bars: int = 20,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the mean absolute SHAP values, largest first, features and labels in two colours.

    Parameters
    ----------
    values : ShapValues
        What :func:`xdcc.explain.shap_values` returned.
    label : str, optional
        Name of the predicted label to explain; the mean over all labels by default.
    n_bars : int, default=20
        Number of bars at most. What is 0 everywhere gets none.
    {ax}

    Returns
    -------
    Axes
        The bar chart.

    Raises
    ------
    {pyplot_errors}
    ValueError
        If there is no such label, or `n_bars` is below 1.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> values = xdcc.explain.shap_values(chain.fit(data.X, data.Y), data.X)
    >>> axes = plot_shap(values, label="label_0", n_bars=5)
    >>> axes.get_xlabel()
    'mean |SHAP value| (log-odds)'
    """
    pyplot = require_pyplot("plot_shap")
    check_domain("n_bars", n_bars, Number(low=1, whole=True))
    size = np.abs(values.values[:, :, :-1]).mean(axis=0)
    if label is None:
        mean, of_what = size.mean(axis=0), "all labels"
    else:
        check_domain("label", label, Choice(tuple(values.label_names)))
        mean, of_what = size[values.label_names.index(label)], f"label {label}"
    names = [*values.feature_names, *values.propagated_names]
    n_features = len(values.feature_names)
    largest = np.argsort(-mean, kind="stable")[:n_bars]
    shown = largest[mean[largest] > 0]
    if ax is None:
        height = max(1.6 + 0.22 * len(shown), 2.6)
        _, ax = pyplot.subplots(figsize=(6.5, height), layout="constrained")
    kinds = {"feature": shown < n_features}
    if values.propagated_names:
        kinds["propagated label"] = shown >= n_features
    for kind, of_kind in kinds.items():
        ax.barh(np.flatnonzero(of_kind), mean[shown[of_kind]], color=_COLOURS[kind], label=kind)
    ax.set_yticks(range(len(shown)), [names[i] for i in shown], fontsize=8)
    ax.invert_yaxis()
    title = f"SHAP values: {of_what}"
    if values.propagated_names:
        decided = "round that decided the label"
        title += f"\n{decided if values.round is None else f'round {values.round}'}"
    ax.set_title(title, fontsize=10)
    ax.set_xlim(0, 1.35 * mean.max() or 1)  # room for the legend
    ax.set(xlabel="mean |SHAP value| (log-odds)", ylabel=" or ".join(kinds))
    ax.legend(loc="lower right")
    return ax
