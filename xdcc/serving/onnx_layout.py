"""Flat models as ONNX operators: the operations of ``walk.h``, in their order.

Each booster is an operator of its own, with its trees as they are, in their order. Their sum is in
single precision, as in XGBoost; everything after it is in double precision, as in the kernel. So a
runtime that adds up trees one after the other finds the margins of the model.
"""

from math import ceil, log2
from typing import NamedTuple

import numpy as np
from scipy import sparse

from xdcc.base.margins import LIMITS
from xdcc.prediction.layout import Floats, Ints, Layout, LinearPart, TreePart
from xdcc.serving.onnx_categories import CodeRows, add_set_tests
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_trees import Nodes, add_trees, known_shares, read_trees


class Features(NamedTuple):
    """Values of X, float32 of shape (n_samples, n_features).

    Attributes
    ----------
    values : str
        What forests and linear models take.
    of_boosters : str
        What boosters take: if they were trained on a sparse X, zeros are missing values.
    codes : CodeRows or None
        Columns with categories, if there are any.
    """

    values: str
    of_boosters: str
    codes: CodeRows | None = None


def add_layout(graph: Graph, X: Features, layout: Layout) -> str:
    """Add the margins of a mixture, float64 of shape (n_samples, n_labels)."""
    of_trees, layout = with_set_tests(graph, X, layout)
    terms = []
    for member in layout.members:
        parts = [
            add_log_odds(graph, add_frequencies(graph, of_trees, layout, part), layout, part)
            if part.is_forest
            else graph.cast(add_booster(graph, of_trees, layout, part), np.float64)
            for part in layout.trees[slice(*member.trees)]
        ]
        parts += [_add_linear(graph, X, part) for part in layout.linear[slice(*member.linear)]]
        number = graph.constant(member.n_estimators, np.float64)
        mean = graph.add("Div", graph.add("Sum", *parts), number)
        own = add_affine(graph, mean, member.slope, member.intercept)
        terms.append(graph.add("Mul", own, graph.constant(member.share, np.float64)))
    return add_affine(graph, graph.add("Sum", *terms), layout.slope, layout.intercept)


def with_set_tests(graph: Graph, X: Features, layout: Layout) -> tuple[Features, Layout]:
    """Replace the sets of a flat model by features, see `add_set_tests`."""
    sets, numeric = add_set_tests(graph, X.codes, layout)
    if not sets:
        return X, layout
    joined = graph.add("Concat", X.values, *sets, axis=1)
    return Features(joined, joined), numeric  # categories are in a dense X only


def add_affine(graph: Graph, margins: str, slope: Floats, intercept: Floats) -> str:
    """Multiply margins, float64, by slopes, and add intercepts."""
    scaled = graph.add("Mul", margins, graph.constant(slope, np.float64))
    return str(graph.add("Add", scaled, graph.constant(intercept, np.float64)))


def add_logit(graph: Graph, proba: str) -> str:
    """Add log-odds of probabilities, float64, which are clipped as in `margins_of`."""
    clipped = graph.add("Clip", proba, *(graph.constant(limit, np.float64) for limit in LIMITS))
    absent = graph.add("Sub", graph.constant(1, np.float64), clipped)
    return str(graph.add("Log", graph.add("Div", clipped, absent)))


def add_booster(graph: Graph, X: Features, layout: Layout, part: TreePart) -> str:
    """Add the sum over a start and trees, in their order, float32."""
    return add_trees(graph, X.of_boosters, *read_trees(layout, part))


def add_log_odds(graph: Graph, frequencies: str, layout: Layout, part: TreePart) -> str:
    """Add log-odds of frequencies, as if one more tree had those of the training rows."""
    n_trees = part.end - part.begin
    share = graph.constant(n_trees / (n_trees + 1), np.float64)
    of_mean = graph.constant(part.mean / (n_trees + 1), np.float64)
    return add_logit(graph, graph.add("Add", graph.add("Mul", frequencies, share), of_mean))


def add_frequencies(graph: Graph, X: Features, layout: Layout, part: TreePart) -> str:
    """Add mean frequencies of the labels in the leaves of a forest, float64."""
    (nodes, shares), n_trees = read_trees(layout, part), part.end - part.begin
    of_positive = shares[:, : layout.n_labels]
    of_known = known_shares(shares[:, layout.n_labels :])
    one = graph.constant(1, np.float64)
    if of_known is None:
        summed = _add_shares(graph, X, nodes, of_positive, n_trees)
        mean = graph.add("Div", summed, graph.constant(n_trees, np.float64))
        return str(graph.add("Min", mean, one))
    both = sparse.csr_array(sparse.hstack((of_positive, of_known)))
    summed = _add_shares(graph, X, nodes, both, n_trees)
    positive, known = graph.add("Split", summed, axis=1, num_outputs=2, n_outputs=2)
    is_known = graph.add("Greater", known, graph.constant(0, np.float64))
    weight = graph.add("Where", is_known, known, one)
    mean = graph.add("Min", graph.add("Div", positive, weight), one)
    return str(graph.add("Where", is_known, mean, graph.constant(part.mean, np.float64)))


def _add_shares(
    graph: Graph, X: Features, nodes: Nodes, shares: sparse.csr_array, n_trees: int
) -> str:
    """Add sums over trees of numbers from 0 to 1, float64.

    The operator adds in single precision. So each number is a multiple of `step`, sums of which are
    not rounded, and a small rest.
    """
    step = 2.0 ** (ceil(log2(n_trees)) - 23)
    multiple = shares.copy()
    multiple.data = np.round(shares.data / step) * step
    rest = shares - multiple
    rest.eliminate_zeros()
    if not rest.nnz:
        return graph.cast(add_trees(graph, X.values, nodes, multiple), np.float64)
    both = sparse.csr_array(sparse.hstack((multiple, rest)))
    summed = graph.cast(add_trees(graph, X.values, nodes, both), np.float64)
    parts = graph.add("Split", summed, axis=1, num_outputs=2, n_outputs=2)
    return str(graph.add("Add", *parts))


def _add_linear(graph: Graph, X: Features, part: LinearPart) -> str:
    """Add log-odds of a linear part, float64."""
    missing = graph.add("IsNaN", X.values)
    fill = graph.constant(part.fill, np.float64)
    complete = graph.add("Where", missing, fill, graph.cast(X.values, np.float64))
    marked = np.flatnonzero(part.indicator >= 0)
    columns = np.append(part.column, part.indicator[marked])
    if len(marked):
        which = graph.constant(marked, np.int64)
        marks = graph.add("Gather", graph.cast(missing, np.float64), which, axis=1)
        complete = graph.add("Concat", complete, marks, axis=1)
    weight = part.weight.reshape(-1, len(part.intercept))
    margins = _add_columns(graph, X, part, complete, columns, weight)
    if part.text_like:
        squares = graph.add("Mul", complete, complete)
        length = _add_columns(graph, X, part, squares, columns, part.square[:, np.newaxis])
        length = graph.add("Sqrt", length)
        zero, one = graph.constant(0, np.float64), graph.constant(1, np.float64)
        length = graph.add("Where", graph.add("Greater", length, zero), length, one)
        margins = graph.add("Div", margins, length)
    return str(graph.add("Add", margins, graph.constant(part.intercept, np.float64)))


def _add_columns(
    graph: Graph, X: Features, part: LinearPart, complete: str, columns: Ints, weight: Floats
) -> str:
    """Add a weighted sum of columns, those of categories included."""
    of_numbers = weight[columns]
    of_numbers[: len(part.n_values)][part.n_values > 0] = 0
    total = graph.add("MatMul", complete, graph.constant(of_numbers, np.float64))
    if not part.n_values.any():
        return str(total)
    assert X.codes is not None
    of_codes = np.zeros((X.codes.n_rows, weight.shape[1]))
    for feature in np.flatnonzero(part.n_values).tolist():
        first, nothing = part.column[feature], np.zeros(weight.shape[1])
        of_values = list(weight[first : first + part.n_values[feature]])
        rows = X.codes.table(feature, missing=nothing, categories=of_values, other=nothing)
        of_codes[X.codes.of_column[feature]] = rows
    found = graph.add("Gather", graph.constant(of_codes, np.float64), X.codes.rows)
    of_categories = graph.add("ReduceSum", found, graph.constant([1], np.int64), keepdims=0)
    return str(graph.add("Add", total, of_categories))
