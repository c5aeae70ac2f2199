"""Plots of the rounds and the order of a chain, label dependencies, and SHAP values.

:func:`plot_shap` and :func:`plot_importance` draw bars, the other functions heat maps with a row
for each label. If there are too many rows or columns to name all, every second or third one (and so
on) is named. The colour scale is the square root of the values, so a few large values do not hide
the others. Matplotlib is imported on use.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.domains import Choice, Number, check_domain
from xdcc.base.pyplot import require_pyplot
from xdcc.explain.importance import ShapValues
from xdcc.explain.round_statistics import RoundStatistics, round_statistics
from xdcc.explain.walks import Model, documented_explanation, feature_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@documented_explanation
def plot_rounds(
    statistics: RoundStatistics, axes: "Sequence[Axes] | NDArray[np.object_] | None" = None
) -> "NDArray[np.object_]":
    """Draw two heat maps, labels by rounds, of positive and negative decisions.

    This is Figure 3 of the XDCC paper with a row for each label. :meth:`RoundStatistics.by_round`
    has the numbers of the paper, summed over the labels.

    Parameters
    ----------
    statistics : RoundStatistics
        Output of :func:`xdcc.explain.round_statistics`.
    axes : sequence of two Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    array of Axes of shape (2,)
        The axes of positives and negatives. Colours are shares of all rows, with a scale for each
        heat map.

    Raises
    ------
    {pyplot_errors}
    ValueError
        If `axes` does not contain two axes.

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
        axes = _new_axes(n_labels, n_rounds, n_maps=2)
    if len(axes) != 2:
        raise ValueError(f"axes has {len(axes)} entries; it must have two: positive, negative.")
    for ax, sign in zip(axes, ("positive", "negative"), strict=True):
        counts = getattr(statistics, sign)
        _draw_heat_map(
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


@documented_explanation
def plot_order(model: Model, X: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the order of a chain's labels as a heat map, labels by rounds.

    Colours are shares of the rows in which the round propagated the label.

    Parameters
    ----------
    {model}
    {rows}
    {ax_returned}

    Raises
    ------
    {pyplot_errors}
    {model_errors}
    ValueError
        If X is not as described or has a different number of features than in `fit`.

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
    return _draw_heat_map(
        _new_axes(*shares.shape)[0] if ax is None else ax,
        shares,
        statistics.label_names,
        None,
        title="Order of the labels",
        x_label="round",
        y_label="label",
        bar_label="share of rows",
    )


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
        Output of :func:`xdcc.explain.label_dependencies`.
    value : {"gain", "share"}, default="gain"
        The value to draw; shares require a round.
    round_ : int, optional
        The round to draw, from 1. Default: the sum of the gains over all rounds.
    {ax_returned}

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
        raise ValueError("value='share' requires round_: shares of rounds cannot be summed.")
    if round_ is not None:
        dependencies = dependencies[dependencies["round"] == round_]
    names = [str(name) for name in dependencies["source"].cat.categories]
    matrix = np.zeros((len(names), len(names)))
    entries = (dependencies["source"].cat.codes, dependencies["target"].cat.codes)
    np.add.at(matrix, entries, np.nan_to_num(dependencies[value].to_numpy()))
    when = "all rounds" if round_ is None else f"round {round_}"
    return _draw_heat_map(
        _new_axes(len(names), len(names), turned=True)[0] if ax is None else ax,
        matrix,
        names,
        names,
        title=f"Label dependencies, {when}",
        x_label="predicted label (target)",
        y_label="propagated label (source)",
        bar_label=_BAR_LABELS[value],
    )


_COLOURS = {"feature": "C0", "propagated label": "C1"}


@documented_explanation
def plot_shap(
    values: ShapValues,
    *,
    label: str | None = None,
    n_bars: int = 20,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the mean absolute SHAP values in descending order, with colours for features and labels.

    Parameters
    ----------
    values : ShapValues
        Output of :func:`xdcc.explain.shap_values`.
    label : str, optional
        Name of the predicted label to explain. Default: the mean over all labels.
    n_bars : int, default=20
        Maximum number of bars. Values that are always 0 have no bar.
    {ax_returned}

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


@documented_explanation
def plot_importance(
    model: Any, *, label: str | None = None, n_bars: int = 20, ax: "Axes | None" = None
) -> "Axes":
    """Draw the importances of the features in descending order.

    Parameters
    ----------
    model : estimator
        A fitted estimator with `feature_importances_`, such as a booster, extra trees, a linear
        model or a MultiLabelClassifier.
    label : str, optional
        Name of a label, for its row of `label_importances_`. Default: `feature_importances_`.
    n_bars : int, default=20
        Maximum number of bars. Features without importance have no bar.
    {ax_returned}

    Raises
    ------
    {pyplot_errors}
    TypeError
        If the estimator has no such attribute.
    NotFittedError
        Before `fit`.
    ValueError
        If there is no such label, or `n_bars` is below 1.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> plot_importance(model, label="label_0", n_bars=5).get_title()
    'Importances: label label_0'
    """
    pyplot = require_pyplot("plot_importance")
    check_domain("n_bars", n_bars, Number(low=1, whole=True))
    attribute = "feature_importances_" if label is None else "label_importances_"
    if not hasattr(type(model), attribute):
        raise TypeError(
            f"{type(model).__name__} has no {attribute}: plot_importance takes boosters, extra "
            "trees, linear models and mixtures. For chains, draw feature_importance."
        )
    sizes, of_what = getattr(model, attribute), "all labels"
    if label is not None:
        names = model.label_names_.tolist()
        check_domain("label", label, Choice(tuple(names)))
        sizes, of_what = sizes[names.index(label)], f"label {label}"
    largest = np.argsort(-sizes, kind="stable")[:n_bars]
    shown = largest[sizes[largest] > 0]
    features = feature_names(model)
    if ax is None:
        height = max(1.6 + 0.22 * len(shown), 2.6)
        _, ax = pyplot.subplots(figsize=(6.5, height), layout="constrained")
    ax.barh([features[i] for i in shown], sizes[shown])
    ax.invert_yaxis()
    ax.set_title(f"Importances: {of_what}", fontsize=10)
    ax.set(xlabel="importance", ylabel="feature")
    return ax


_MOST_ROW_NAMES = 60
_MOST_COLUMN_NAMES = 60
_MOST_COLUMN_NUMBERS = 26


def _new_axes(
    n_rows: int, n_columns: int, *, n_maps: int = 1, turned: bool = False
) -> "NDArray[np.object_]":
    """Create a figure for heat maps side by side; `turned` makes room for vertical column names."""
    from matplotlib import pyplot

    width = min(max(2.8 + 0.18 * n_columns, 4.6), 11) * n_maps
    height = min(max(1.6 + 0.18 * n_rows + turned, 3), 11)
    _, axes = pyplot.subplots(
        1, n_maps, figsize=(width, height), sharey=True, squeeze=False, layout="constrained"
    )
    return axes[0]


def _draw_heat_map(
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
    """Draw a heat map with a colour bar from 0; without `columns`, number them from 1."""
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
