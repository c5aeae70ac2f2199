"""A dynamic chain as ONNX operators: all rounds, one after the other, as in ``walk.h``.

Which label a round propagates can depend on the last bit of a probability. So operators compute in
single precision, the logistic function step by step as ``plugins/multilabel`` does.
"""

import numpy as np

from xdcc.prediction.layout import ChainPart, Layout
from xdcc.serving.onnx_categories import add_set_tests
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_layout import Features, add_booster

_EXPONENTS = np.arange(-126, 128)
"""Powers of two that single precision has."""


def add_chain(graph: Graph, X: Features, layout: Layout) -> str:
    """Add a chain to a graph.

    Parameters
    ----------
    graph : Graph
        Where.
    X : Features
        Features of X, without those of the labels.
    layout : Layout
        A chain.

    Returns
    -------
    str
        Probabilities, float32 of shape (n_samples, n_labels).
    """
    sets, layout = add_set_tests(graph, X.codes, layout)
    chain, n_labels = layout.chain, layout.n_outputs
    assert chain is not None
    half = graph.constant(0.5, np.float32)
    nothing, zero = (graph.full(X.values, np.full(n_labels, v, np.float32)) for v in (np.nan, 0))
    known, running = nothing, zero
    is_going = graph.full(X.values, np.array([True]))
    for round_ in layout.members:
        columns = [X.of_boosters, known]
        if chain.end_label:  # whose feature is always missing
            columns.append(graph.full(X.values, np.array([np.nan], np.float32)))
        joined = graph.add("Concat", *columns, *sets, axis=1)
        of_each = [
            add_logistic(graph, add_booster(graph, Features(joined, joined), layout, part))
            for part in layout.trees[slice(*round_.trees)]
        ]
        total = of_each[0]
        for proba in of_each[1:]:
            total = graph.add("Add", total, proba)
        proba = graph.add("Div", total, graph.constant(len(of_each), np.float32))
        end = None
        if chain.end_label:
            sizes = graph.constant([n_labels, 1], np.int64)
            proba, end = graph.add("Split", proba, sizes, axis=1, n_outputs=2)
        is_open = graph.add("And", graph.add("IsNaN", known), is_going)
        running = graph.add("Where", is_open, graph.add("Max", running, proba), running)
        if end is not None:
            columns = graph.add("Where", is_open, proba, zero)
            largest = graph.add("ReduceMax", columns, graph.constant([1]), keepdims=1)
            ends = (graph.add("GreaterOrEqual", end, least) for least in (half, largest))
            is_going = graph.add("And", is_going, graph.add("Not", graph.add("And", *ends)))
        for _ in range(chain.rule.labels_per_round):
            known = _propagate(graph, chain, known, proba, is_going, n_labels)
    is_open = graph.add("IsNaN", known)
    if chain.prediction == "standard":
        return str(graph.add("Where", is_open, zero, known))
    if chain.cumulation == "authors":
        return running
    return str(graph.add("Where", is_open, running, known))


def add_labels(graph: Graph, proba: str, chain: ChainPart) -> str:
    """Add the labels of a chain, see `labels_from_proba`."""
    rounds_half = (chain.prediction, chain.cumulation) == ("cumulated", "authors")
    operator = "Greater" if rounds_half else "GreaterOrEqual"
    return str(graph.add(operator, proba, graph.constant(0.5, np.float32)))


def _propagate(
    graph: Graph, chain: ChainPart, known: str, proba: str, is_going: str, n_labels: int
) -> str:
    """Propagate a label in each row that goes on, see `PropagationRule`."""
    half = graph.constant(0.5, np.float32)
    is_open = graph.add("IsNaN", known)
    if chain.rule.candidates == "all":
        label, is_positive = _likeliest_or_least(graph, proba, proba, last=1)
        was_positive = graph.add("GreaterOrEqual", known, half)
        was_negative = graph.add("Less", known, half)
        is_larger, is_smaller = (graph.add(name, proba, known) for name in ("Greater", "Less"))
        raised = graph.add("And", graph.add("And", is_positive, was_positive), is_larger)
        lowered = graph.add("And", was_negative, is_smaller)
        lowered = graph.add("And", graph.add("Not", is_positive), lowered)
        changes = graph.add("Or", is_open, graph.add("Or", raised, lowered))
    else:
        changes = is_open
        low, high = (graph.constant(value, np.float32) for value in (-1, 2))
        if chain.rule.order == "certainty":
            certainty = graph.add("Abs", graph.add("Sub", proba, half))
            certainty = graph.add("Where", is_open, certainty, low)
            label = graph.add("ArgMax", certainty, axis=1, keepdims=1)
        else:
            largest, least = (graph.add("Where", is_open, proba, each) for each in (low, high))
            label, _ = _likeliest_or_least(graph, largest, least, last=0)
    is_label = graph.add("Equal", graph.constant(np.arange(n_labels), np.int64), label)
    changes = graph.add("And", graph.add("And", is_label, changes), is_going)
    return str(graph.add("Where", changes, proba, known))


def _likeliest_or_least(graph: Graph, high: str, low: str, last: int) -> tuple[str, str]:
    """Add the label of the largest of `high` if that is at least 0.5, else of the least of `low`.

    Of equal ones the last is the largest if `last` is 1, else the first. Returns whether it is at
    least 0.5, too.
    """
    largest = graph.add("ReduceMax", high, graph.constant([1]), keepdims=1)
    is_positive = graph.add("GreaterOrEqual", largest, graph.constant(0.5, np.float32))
    likeliest = graph.add("ArgMax", high, axis=1, keepdims=1, select_last_index=last)
    least = graph.add("ArgMin", low, axis=1, keepdims=1)
    return graph.add("Where", is_positive, likeliest, least), is_positive


def add_logistic(graph: Graph, margins: str) -> str:
    """Add 1 / (1 + e^-margin), float32, rounded as in ``logistic.h``."""

    def number(value: float) -> str:
        return graph.constant(value, np.float32)

    def fused(x: str, factor: str, term: str) -> str:
        return str(graph.add("Add", graph.add("Mul", x, factor), term))

    x = graph.add("Clip", graph.add("Neg", margins), number(-87), number(88))
    n = graph.add("Round", graph.add("Mul", x, number(1.44269504)))
    r = graph.add("Sub", x, graph.add("Mul", n, number(0.693359375)))
    r = fused(n, number(2.12194440e-4), r)
    one = number(1)
    p = graph.constant(np.float32(1) / np.float32(5040))
    for divisor in (720, 120, 24, 6, 2):
        p = fused(p, r, graph.constant(np.float32(1) / np.float32(divisor)))
    p = graph.add("Add", fused(graph.add("Mul", p, r), r, r), one)
    place = graph.add("Sub", graph.cast(n, np.int64), graph.constant(_EXPONENTS[0], np.int64))
    powers = graph.constant(np.exp2(_EXPONENTS), np.float32)
    scale = graph.add("Gather", powers, place)
    return str(graph.add("Div", one, fused(p, scale, one)))
