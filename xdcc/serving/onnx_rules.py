"""Decision rules as ONNX operators, from log-odds in double precision to labels.

Ties are decided as the rules decide them: ``ArgMax`` takes the first of equal entries, ``TopK`` the
one of the lower index.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.decision.known_labelset_rules import KnownLabelsetRule
from xdcc.decision.labelsets import LabelsetPosterior
from xdcc.decision.rule import CheckedRule
from xdcc.decision.threshold_rules import ThresholdRule
from xdcc.serving.onnx_graph import Graph


@singledispatch
def add_rule(rule: Any, graph: Graph, margins: str, n_labels: int) -> str:
    """Add a decision rule to a graph.

    Parameters
    ----------
    rule : Decides
        Thresholds, or a rule on known labelsets; or these with constraints. A function that is
        registered here adds rules of another class.
    graph : Graph
        Where.
    margins : str
        Calibrated log-odds, float64 of shape (n_samples, n_labels).
    n_labels : int
        Number of labels.

    Returns
    -------
    str
        Labels, of shape (n_samples, n_labels).

    Raises
    ------
    TypeError
        For another rule; the message names it.
    """
    raise TypeError(
        f"The decision rule {rule.name!r} is not a fixed sequence of operators, as thresholds and "
        "rules on known labelsets are. Use TunedDecisionClassifierCV with such rules."
    )


@add_rule.register
def _(rule: CheckedRule, graph: Graph, margins: str, n_labels: int) -> str:
    return add_rule(rule.rule, graph, margins, n_labels)


@add_rule.register
def _(rule: ConstrainedRule, graph: Graph, margins: str, n_labels: int) -> str:
    labels = graph.cast(add_rule(rule.rule, graph, margins, n_labels), np.int64)
    thresholds, is_constrained = np.ones(n_labels), np.zeros(n_labels, dtype=bool)
    thresholds[rule.labels], is_constrained[rule.labels] = rule.thresholds, True
    own = add_thresholds(graph, graph.add("Sigmoid", margins), thresholds)
    own = graph.cast(own, np.int64)
    return str(graph.add("Where", graph.constant(is_constrained), own, labels))


@add_rule.register
def _(rule: ThresholdRule, graph: Graph, margins: str, n_labels: int) -> str:
    return add_thresholds(graph, graph.add("Sigmoid", margins), rule._thresholds())


@add_rule.register
def _(rule: KnownLabelsetRule, graph: Graph, margins: str, n_labels: int) -> str:
    maximises_f1, temperature, prior, beta = rule.for_posterior()
    posterior = LabelsetPosterior(rule.known.labelsets, rule.known.counts)
    transposed = graph.cast(graph.constant(posterior.labelsets.T), np.float64)
    tempered = graph.constant(temperature, np.float64)
    log_odds = graph.add("Mul", graph.add("MatMul", margins, transposed), tempered)
    log_counts = graph.constant(prior * posterior.log_counts, np.float64)
    score = graph.add("Add", log_odds, log_counts)
    if maximises_f1 and posterior.labelsets.any():
        probability = graph.add("Softmax", score, axis=1)
        return _f1_maximiser(graph, posterior.labelsets, probability, beta)
    best = graph.add("ArgMax", score, axis=1, keepdims=0)
    return str(graph.add("Gather", graph.constant(posterior.labelsets), best, axis=0))


def add_thresholds(graph: Graph, proba: str, thresholds: ArrayLike) -> str:
    """Add the comparison of probabilities, float64, with a threshold for all labels or for each."""
    return graph.add("GreaterOrEqual", proba, graph.constant(thresholds, np.float64))


def _f1_maximiser(graph: Graph, labelsets: NDArray[np.int8], probability: str, beta: float) -> str:
    """Add the F1 maximiser: the equations are in :mod:`xdcc.decision.f1_maximiser`."""
    size_of_set, n_labels = labelsets.sum(axis=1, dtype=np.int64), labelsets.shape[1]
    sizes = np.unique(size_of_set[size_of_set > 0])
    last = graph.constant([1], np.int64)
    joint = []
    for size in sizes:
        of_size = np.flatnonzero(size_of_set == size)
        share = graph.add("Gather", probability, graph.constant(of_size, np.int64), axis=1)
        members = graph.cast(graph.constant(labelsets[of_size]), np.float64)
        joint.append(graph.add("Unsqueeze", graph.add("MatMul", share, members), last))
    by_size = graph.add("Concat", *joint, axis=1)  # (n_samples, n_sizes, n_labels)

    b = beta**2
    k = np.arange(1, n_labels + 1)
    gain = (1 + b) / (b * sizes + k[:, np.newaxis])  # (n_labels, n_sizes)
    delta = graph.add("MatMul", graph.constant(gain, np.float64), by_size)
    # The labels of each row and size of the predicted labelset, the best first.
    number = graph.constant([n_labels], np.int64)
    best, order = graph.add("TopK", delta, number, axis=2, n_outputs=2)
    is_taken = graph.constant(np.arange(n_labels) < k[:, np.newaxis], np.float64)
    taken = graph.add("Mul", best, is_taken)
    expected = graph.add("ReduceSum", taken, graph.constant([2]), keepdims=0)
    empty_sets = graph.constant(np.flatnonzero(size_of_set == 0), np.int64)
    empty = graph.add("Gather", probability, empty_sets, axis=1)
    empty = graph.add("ReduceSum", empty, last, keepdims=1)
    size = graph.add("ArgMax", graph.add("Concat", empty, expected, axis=1), axis=1, keepdims=1)

    row = graph.add("Max", graph.add("Sub", size, last), graph.constant([0], np.int64))
    chosen = graph.add("GatherND", order, row, batch_dims=1)  # (n_samples, n_labels)
    is_chosen = graph.cast(graph.add("Less", graph.constant(np.arange(n_labels)), size), np.int64)
    nothing = graph.add("Mul", chosen, graph.constant([0], np.int64))
    return graph.add("ScatterElements", nothing, chosen, is_chosen, axis=1)
