"""Decision rules as ONNX operators, from log-odds in double precision to labels.

Ties are decided as the rules decide them: ``ArgMax`` takes the first of equal entries, ``TopK`` the
one of the lower index.
"""

import numpy as np
from numpy.typing import ArrayLike

from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.decision.known_labelset_rules import F1Maximiser, FittedLabelset, MostProbableLabelset
from xdcc.decision.labelsets import KnownLabelsets, LabelsetPosterior
from xdcc.decision.rule import Rule
from xdcc.decision.threshold_rules import ThresholdRule
from xdcc.serving.onnx_graph import Graph


def add_rule(graph: Graph, rule: Rule, margins: str, n_labels: int) -> str:
    """Add a decision rule to a graph.

    Parameters
    ----------
    graph : Graph
        Where.
    rule : Rule
        A threshold, thresholds, or a rule on known labelsets; or these with constraints.
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
    if isinstance(rule, ConstrainedRule):
        labels = graph.cast(add_rule(graph, rule.rule, margins, n_labels), np.int64)
        thresholds, is_constrained = np.ones(n_labels), np.zeros(n_labels, dtype=bool)
        thresholds[rule.labels], is_constrained[rule.labels] = rule.thresholds, True
        own = add_thresholds(graph, graph.add("Sigmoid", margins), thresholds)
        own = graph.cast(own, np.int64)
        return str(graph.add("Where", graph.constant(is_constrained), own, labels))
    if isinstance(rule, ThresholdRule):
        return add_thresholds(graph, graph.add("Sigmoid", margins), rule._thresholds())
    if isinstance(rule, MostProbableLabelset):
        return _most_probable(graph, rule.known, rule.prior, margins)
    if isinstance(rule, FittedLabelset):
        return _most_probable(graph, rule.known, 1.0, margins)
    if isinstance(rule, F1Maximiser):
        return _f1_maximiser(graph, rule, margins, n_labels)
    raise TypeError(
        f"The decision rule {rule.name!r} is not a fixed sequence of operators: it searches a "
        "labelset with an order-free chain. Use TunedDecisionClassifierCV with other rules."
    )


def add_thresholds(graph: Graph, proba: str, thresholds: ArrayLike) -> str:
    """Add the comparison of probabilities, float64, with a threshold for all labels or for each."""
    return graph.add("GreaterOrEqual", proba, graph.constant(thresholds, np.float64))


def _most_probable(graph: Graph, known: KnownLabelsets, prior: float, margins: str) -> str:
    posterior = LabelsetPosterior(known.labelsets, known.counts)
    labelsets = graph.constant(posterior.labelsets, np.int8)
    log_odds = graph.add(
        "MatMul", margins, graph.cast(graph.constant(posterior.labelsets.T), np.float64)
    )
    score = graph.add("Add", log_odds, graph.constant(prior * posterior.log_counts, np.float64))
    return graph.add("Gather", labelsets, graph.add("ArgMax", score, axis=1, keepdims=0), axis=0)


def _f1_maximiser(graph: Graph, rule: F1Maximiser, margins: str, n_labels: int) -> str:
    """Add the F1 maximiser: the equations are in :mod:`xdcc.decision.f1_maximiser`."""
    posterior = LabelsetPosterior(rule.known.labelsets, rule.known.counts)
    labelsets, log_counts = posterior.labelsets, posterior.log_counts
    transposed = graph.cast(graph.constant(labelsets.T), np.float64)
    log_odds = graph.add("MatMul", margins, transposed)
    tempered = graph.add("Mul", log_odds, graph.constant(rule.temperature, np.float64))
    prior = graph.constant(rule.prior * log_counts, np.float64)
    probability = graph.add("Softmax", graph.add("Add", tempered, prior), axis=1)

    size_of_set = labelsets.sum(axis=1, dtype=np.int64)
    sizes = np.unique(size_of_set[size_of_set > 0])
    if not len(sizes):  # no label ever occurred
        return graph.add(
            "Gather",
            graph.constant(labelsets),
            graph.add("ArgMax", probability, axis=1, keepdims=0),
            axis=0,
        )
    last = graph.constant([1], np.int64)
    joint = []
    for size in sizes:
        of_size = np.flatnonzero(size_of_set == size)
        share = graph.add("Gather", probability, graph.constant(of_size, np.int64), axis=1)
        members = graph.cast(graph.constant(labelsets[of_size]), np.float64)
        joint.append(graph.add("Unsqueeze", graph.add("MatMul", share, members), last))
    by_size = graph.add("Concat", *joint, axis=1)  # (n_samples, n_sizes, n_labels)

    b = rule.beta**2
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
