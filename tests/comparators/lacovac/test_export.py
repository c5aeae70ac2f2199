"""Text and figures of trees, for the toy data of the paper."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from sklearn.exceptions import NotFittedError

from xdcc.comparators.lacovac import (
    LaCovaCClassifier,
    LaCovaCForestClassifier,
    export_graphviz,
    export_text,
    plot_tree,
)

EXPORTS = [export_text, export_graphviz, plot_tree]


@pytest.fixture
def toy_tree(toy_data):
    X = pd.DataFrame(toy_data[0], columns=["love", "dark"])
    Y = pd.DataFrame(toy_data[1], columns=["crime", "horror", "drama"])
    limits = {"min_samples_split": 3, "min_samples_leaf": 2}
    return LaCovaCClassifier(threshold_size="train", **limits, n_jobs=1).fit(X, Y)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def test_text(toy_tree):
    assert (
        export_text(toy_tree)
        == """\
|--- labels: crime, horror
|   |--- dark <= 0.50
|   |   |--- labels: crime
|   |   |   |--- {crime} 0.67; {} 0.33
|   |   |--- labels: horror
|   |   |   |--- {horror} 0.67; {} 0.33
|   |--- dark > 0.50
|   |   |--- love <= 0.50
|   |   |   |--- {horror} 0.50; {crime} 0.50
|   |   |--- love > 0.50
|   |   |   |--- {horror} 0.40; {crime} 0.40; {crime, horror} 0.20
|--- labels: drama
|   |--- love <= 0.50
|   |   |--- {} 1.00
|   |--- love > 0.50
|   |   |--- {drama} 1.00
"""
    )


def test_short_text(toy_tree):
    text = export_text(toy_tree, max_depth=3, max_labelsets=1, max_labels=1, decimals=1)
    assert (
        text
        == """\
|--- labels: crime, 1 more
|   |--- dark <= 0.5
|   |   |--- labels: crime
|   |   |   |--- {crime} 0.7; 1 more
|   |   |--- labels: horror
|   |   |   |--- {horror} 0.7; 1 more
|   |--- dark > 0.5
|   |   |--- love <= 0.5
|   |   |   |--- {horror} 0.5; 1 more
|   |   |--- love > 0.5
|   |   |   |--- {horror} 0.4; 2 more
|--- labels: drama
|   |--- love <= 0.5
|   |   |--- {} 1.0
|   |--- love > 0.5
|   |   |--- {drama} 1.0
"""
    )
    assert export_text(toy_tree, max_depth=1) == (
        "|--- labels: crime, horror\n|   |--- ...\n|--- labels: drama\n|   |--- ...\n"
    )


def test_leaf_only(toy_data):
    model = LaCovaCClassifier(n_jobs=1, min_samples_split=100).fit(*toy_data)
    assert export_text(model, max_labelsets=1) == "|--- {label_1, label_2} 0.25; 4 more\n"
    plot_tree(model)
    assert "->" not in export_graphviz(model)


def test_categories_by_name():
    kind = np.repeat([0, 1, 2], [10, 12, 10])
    X = pd.DataFrame({"kind": pd.Categorical.from_codes(kind, ["red", "green", "blue"])})
    model = LaCovaCClassifier(n_jobs=1).fit(X, (kind == 1).astype(int))
    lines = export_text(model).split("\n")[::2]
    assert lines[:3] == [
        "|--- kind = red",
        "|--- kind = green or other",
        "|--- kind = blue",
    ]


def test_names_without_a_dataframe(toy_data):
    model = LaCovaCClassifier(
        n_jobs=1, threshold_size="train", min_samples_leaf=2, min_samples_split=3
    )
    text = export_text(model.fit(*toy_data))
    assert "labels: label_0, label_1\n|   |--- feature_1 <= 0.50" in text


def test_graphviz(toy_tree):
    dot = export_graphviz(toy_tree)
    assert dot.startswith("digraph Tree {")
    assert '0 [label="labels\\nn = 12", shape=box' in dot
    assert '1 [label="dark\\nn = 12", shape=ellipse' in dot
    assert '0 -> 1 [label="crime, horror"];' in dot
    assert '"{horror} 0.40\\n{crime} 0.40\\n{crime, horror} 0.20\\nn = 5"' in dot
    assert dot.count("->") == toy_tree.tree_.n_nodes - 1
    assert "..." in export_graphviz(toy_tree, max_depth=1)


def test_graphviz_escapes_names(toy_data):
    Y = pd.DataFrame(toy_data[1], columns=['the "first"', "back\\slash", "c"])
    model = LaCovaCClassifier(n_jobs=1, min_samples_split=100).fit(toy_data[0], Y)
    assert '{the \\"first\\"' in export_graphviz(model)
    assert "back\\\\slash" in export_graphviz(model)


def test_graphviz_package_accepts_the_text(toy_tree):
    """Rendering would need the program dot."""
    graphviz = pytest.importorskip("graphviz")
    source = graphviz.Source(export_graphviz(toy_tree))
    try:
        drawing = source.pipe("svg").decode()
    except graphviz.ExecutableNotFound:
        pytest.skip("the program dot is not installed")
    assert "crime, horror" in drawing


def test_plot(toy_tree):
    with pyplot.rc_context({"figure.constrained_layout.use": True}):  # warns of axes without a grid
        ax = plot_tree(toy_tree)
    texts = {text.get_text(): text for text in ax.texts}
    assert len(ax.texts) == 2 * toy_tree.tree_.n_nodes - 1
    assert {"VS", "HS: dark", "HS: love", "crime, horror", "drama", "<= 0.50", "> 0.50"} <= set(
        texts
    )
    assert "{horror} 0.40\n{crime} 0.40\n{crime, horror} 0.20" in texts
    colours = {
        to_hex(texts[name].get_bbox_patch().get_facecolor())
        for name in ("VS", "HS: dark", "{drama} 1.00")
    }
    assert len(colours) == 3
    # The boxes of the nodes do not overlap.
    ax.figure.canvas.draw()
    nodes = [t for t in ax.texts if t.get_zorder() == 3]
    boxes = [t.get_bbox_patch().get_window_extent() for t in nodes]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    ax.figure.savefig(io.BytesIO(), format="png")


def test_plot_into_given_axes(toy_tree):
    _, ax = pyplot.subplots()
    assert plot_tree(toy_tree, ax=ax, max_depth=1, fontsize=7) is ax
    assert [t.get_text() for t in ax.texts if "..." in t.get_text()] == [
        "HS: dark\n...",
        "HS: love\n...",
    ]


@pytest.mark.parametrize("export", EXPORTS)
def test_tree_of_a_forest(toy_data, export):
    forest = LaCovaCForestClassifier(n_estimators=3, random_state=0, n_jobs=1).fit(*toy_data)
    drawn = [export(forest, tree=tree) for tree in range(3)]
    if export is export_text:
        assert len(set(drawn)) > 1
    with pytest.raises(ValueError, match=r"tree=3: .* at least 0 and at most 2"):
        export(forest, tree=3)


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize(
    "params", [{"max_depth": -1}, {"max_labelsets": 0}, {"max_labels": 0}, {"decimals": 1.5}]
)
def test_invalid_parameters(toy_tree, export, params):
    with pytest.raises(ValueError, match=f"{next(iter(params))}=.*whole number at least"):
        export(toy_tree, **params)


@pytest.mark.parametrize("export", EXPORTS)
def test_not_fitted(export):
    with pytest.raises(NotFittedError):
        export(LaCovaCClassifier())
