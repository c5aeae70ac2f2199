"""Plots: values, names and readability; errors without Matplotlib."""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from sklearn.exceptions import NotFittedError

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.explain import (
    RoundStatistics,
    ShapValues,
    label_dependencies,
    plot_dependencies,
    plot_importance,
    plot_order,
    plot_rounds,
    plot_shap,
    round_statistics,
    shap_values,
)
from xdcc.linear import LogisticLabels

LABELS = [f"label_{j}" for j in range(4)]


def _colour_bar_label(ax: Axes) -> str:
    return ax.images[0].colorbar.ax.get_ylabel()


def _tick_names(ticks: Any) -> list[str]:
    return [tick.get_text() for tick in ticks]


def _many(n_labels: int, n_rounds: int) -> RoundStatistics:
    counts = np.arange(n_rounds * n_labels).reshape(n_rounds, n_labels)
    return RoundStatistics(10_000, [f"name {j}" for j in range(n_labels)], counts, counts[::-1])


def test_rounds(data: Any, fit: Any) -> None:
    statistics = round_statistics(fit(), data[0])
    axes = plot_rounds(statistics)
    assert axes.shape == (2,)
    assert axes[0].figure is axes[1].figure
    for ax, counts in zip(axes, (statistics.positive, statistics.negative), strict=True):
        np.testing.assert_allclose(ax.images[0].get_array(), counts.T / 100)
        assert ax.get_xlabel() == "round"
        assert ax.get_ylabel() == "label"
        assert _colour_bar_label(ax) == "share of rows"
        assert _tick_names(ax.get_xticklabels()) == ["1", "2", "3", "4"]
    assert _tick_names(axes[0].get_yticklabels()) == LABELS
    per_row = [f"{counts.sum() / 100:.2f}" for counts in (statistics.positive, statistics.negative)]
    assert axes[0].get_title() == f"Decided as positive: {per_row[0]} labels per row"
    assert axes[1].get_title() == f"Decided as negative: {per_row[1]} labels per row"


def test_order(data: Any, fit: Any) -> None:
    chain = fit()
    ax = plot_order(chain, data[0])
    labels = chain.chain_order(data[0]).labels
    expected = [[(labels[:, r] == j).mean() for r in range(4)] for j in range(4)]
    np.testing.assert_allclose(ax.images[0].get_array(), expected)
    assert ax.get_title() == "Order of the labels"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "label")
    assert _colour_bar_label(ax) == "share of rows"


def test_dependencies(data: Any, fit: Any) -> None:
    table = label_dependencies(fit(), *data)
    ax = plot_dependencies(table)
    expected = np.zeros((4, 4))
    for _, row in table.iterrows():
        expected[LABELS.index(row["source"]), LABELS.index(row["target"])] += row["gain"]
    np.testing.assert_allclose(ax.images[0].get_array(), expected)
    assert ax.get_title() == "Label dependencies, all rounds"
    assert ax.get_xlabel() == "predicted label (target)"
    assert ax.get_ylabel() == "propagated label (source)"
    assert _colour_bar_label(ax) == "gain"
    assert _tick_names(ax.get_xticklabels()) == _tick_names(ax.get_yticklabels()) == LABELS


def test_dependencies_of_a_round() -> None:
    names = pd.Index(["a", "b"])
    table = pd.DataFrame(
        {
            "round": [2, 3, 3, 3],
            "source": pd.Categorical.from_codes([0, 0, 1, 1], names),
            "target": pd.Categorical.from_codes([1, 1, 0, 1], names),
            "gain": [9.0, 5.0, -2.0, 3.0],
            "share": [0.9, 0.5, np.nan, 0.25],
        }
    )
    ax = plot_dependencies(table, value="share", round_=3)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0, 0.5], [0, 0.25]])
    assert ax.get_title() == "Label dependencies, round 3"
    assert _colour_bar_label(ax) == "share of the round's gain for the target"
    # Negative values have the colour of 0.
    image = plot_dependencies(table, round_=3).images[0]
    np.testing.assert_array_equal(image.get_array(), [[0, 5], [-2, 3]])
    assert image.norm(-2.0) == image.norm(0.0) == 0


def test_no_dependencies(data: Any, fit: Any) -> None:
    image = plot_dependencies(label_dependencies(fit(chain_length=1), *data)).images[0]
    assert image.get_array().shape == (4, 4)
    assert image.norm.vmax == 1


def test_shap_by_hand() -> None:
    values = np.zeros((2, 2, 5), dtype=np.float32)  # features u, v; labels a, b; bias
    values[:, 1] = [[1, 0, -3, 0, 9], [-2, 0, -1, 0, 9]]
    values[:, 0, 0] = 1
    explained = ShapValues(values, ["u", "v"], ["a", "b"], round=2, propagated_names=["a", "b"])
    ax = plot_shap(explained, label="b")
    assert _tick_names(ax.get_yticklabels()) == ["a", "u"]
    assert len(ax.patches) == 2
    bars = {bar.get_y() + bar.get_height() / 2: bar for bar in ax.patches}
    assert [bars[place].get_width() for place in (0, 1)] == [2.0, 1.5]
    assert bars[0].get_facecolor() == to_rgba("C1")
    assert bars[1].get_facecolor() == to_rgba("C0")
    assert ax.yaxis_inverted()
    assert ax.get_title() == "SHAP values: label b\nround 2"
    assert ax.get_xlabel() == "mean |SHAP value| (log-odds)"
    assert ax.get_ylabel() == "feature or propagated label"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["feature", "propagated label"]

    ax = plot_shap(explained, n_bars=1)
    assert _tick_names(ax.get_yticklabels()) == ["u"]
    assert [bar.get_width() for bar in ax.patches] == [1.25]
    assert ax.get_title() == "SHAP values: all labels\nround 2"


def test_shap_of_a_chain(data: Any, fit: Any) -> None:
    ax = plot_shap(shap_values(fit(), data[0][:20]), n_bars=30)
    assert ax.get_title() == "SHAP values: all labels\nround that decided the label"
    assert set(_tick_names(ax.get_yticklabels())) <= {*LABELS, *(f"f{j}" for j in range(6))}
    assert len(ax.patches) > 6


def test_shap_that_is_zero_everywhere() -> None:
    explained = ShapValues(np.zeros((2, 1, 3), dtype=np.float32), ["u"], ["a"], None)
    assert not plot_shap(explained).patches


@pytest.mark.parametrize(("n_labels", "named", "step"), [(6, 6, 1), (50, 50, 1), (174, 58, 3)])
def test_only_some_names_are_shown_if_there_are_many(n_labels: int, named: int, step: int) -> None:
    ax = plot_rounds(_many(n_labels, n_labels))[0]
    names = _tick_names(ax.get_yticklabels())
    assert names == [f"name {j}" for j in range(0, n_labels, step)]
    assert len(names) == named
    rounds = _tick_names(ax.get_xticklabels())
    assert rounds[0] == "1"
    assert len(rounds) <= 26


@pytest.mark.parametrize("n_labels", [6, 50])
def test_names_do_not_overlap(n_labels: int) -> None:
    names = [f"a name of some length {j}" for j in range(n_labels)]
    every = pd.DataFrame(
        {
            "round": 2,
            "source": pd.Categorical(names, names),
            "target": pd.Categorical(names, names),
            "gain": 1.0,
        }
    )
    ax = plot_dependencies(every)
    ax.figure.canvas.draw()
    inside = ax.figure.bbox
    for axis, (low, high) in ((ax.xaxis, ("x0", "x1")), (ax.yaxis, ("y0", "y1"))):
        boxes = sorted(
            (label.get_window_extent() for label in axis.get_ticklabels()),
            key=lambda box: getattr(box, low),
        )
        for box, following in pairwise(boxes):
            assert getattr(box, high) <= getattr(following, low) + 1
        assert all(box.x0 >= inside.x0 and box.y0 >= inside.y0 for box in boxes)


def test_given_axes_are_used(data: Any, fit: Any) -> None:
    chain = fit()
    _, axes = pyplot.subplots(1, 2)
    assert list(plot_rounds(round_statistics(chain, data[0]), axes)) == list(axes)
    for draw in (
        lambda ax: plot_order(chain, data[0], ax=ax),
        lambda ax: plot_dependencies(label_dependencies(chain, *data), ax=ax),
        lambda ax: plot_shap(shap_values(chain, data[0], 1), ax=ax),
    ):
        _, ax = pyplot.subplots()
        before = pyplot.get_fignums()
        assert draw(ax) is ax
        assert pyplot.get_fignums() == before


def test_invalid_arguments(data: Any, fit: Any) -> None:
    table = label_dependencies(fit(), *data)
    explained = shap_values(fit(), data[0][:2], 1)
    _, ax = pyplot.subplots()
    with pytest.raises(ValueError, match="value='cover': it must be one of 'gain', 'share'"):
        plot_dependencies(table, value="cover")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="value='share' requires round_"):
        plot_dependencies(table, value="share")
    with pytest.raises(ValueError, match="label='z': it must be one of 'label_0', 'label_1'"):
        plot_shap(explained, label="z")
    with pytest.raises(ValueError, match="n_bars=0"):
        plot_shap(explained, n_bars=0)
    with pytest.raises(ValueError, match="axes has 1 entries; it must have two"):
        plot_rounds(_many(2, 2), [ax])


@pytest.mark.parametrize(
    ("user", "draw"),
    [
        ("plot_rounds", lambda chain, data: plot_rounds(_many(2, 2))),
        ("plot_order", lambda chain, data: plot_order(chain, data[0])),
        ("plot_dependencies", lambda chain, data: plot_dependencies(pd.DataFrame())),
        ("plot_shap", lambda chain, data: plot_shap(shap_values(chain, data[0], 1))),
    ],
)
def test_without_matplotlib(
    user: str,
    draw: Callable[[Any, Any], object],
    data: Any,
    fit: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=rf"{user} needs Matplotlib.*pip install matplotlib"):
        draw(fit(), data)


def test_import_does_not_load_matplotlib() -> None:
    code = "import sys, xdcc.explain; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


@pytest.mark.parametrize(
    "model", [MultiLabelXGBClassifier(n_estimators=5), LogisticLabels(C=1.0)], ids=repr
)
def test_importance_of_estimators(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("pqrs"))
    X["s"] = 0.0  # of no importance
    Y = pd.DataFrame({"a": X["p"] > 0, "b": X["q"] + 0.5 * X["r"] > 0}).astype(int)
    model.fit(X, Y)
    for label, sizes in ((None, model.feature_importances_), ("b", model.label_importances_[1])):
        ax = plot_importance(model, label=label)
        widths = [bar.get_width() for bar in ax.patches]
        assert widths == sorted(sizes[sizes > 0], reverse=True)
        assert _tick_names(ax.get_yticklabels())[0] == X.columns[np.argmax(sizes)]
    assert "s" not in _tick_names(ax.get_yticklabels())
    assert len(plot_importance(model, n_bars=1).patches) == 1
    assert plot_importance(model, ax=ax) is ax
    with pytest.raises(ValueError, match="label='c'"):
        plot_importance(model, label="c")
    with pytest.raises(ValueError, match="n_bars"):
        plot_importance(model, n_bars=0)


def test_importance_of_others(fit):
    with pytest.raises(TypeError, match=r"^DynamicChainClassifier has no feature_importances_"):
        plot_importance(fit())
    with pytest.raises(NotFittedError):
        plot_importance(LogisticLabels())
