"""``to_onnx``: a model as operators of ONNX, from X to labels.

Each booster is an operator of its own, with its trees as they are, in their order. Their sum is in
single precision, as in XGBoost; everything after it is in double precision, as in the model. So a
runtime that adds up trees one after the other finds the margins of the model. A second level, which
compares them with thresholds, needs that.
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from math import ceil, log2
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.mixture import Member
from xdcc.base.margins import LIMITS
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.boosting.output_predictors import TargetPredictor
from xdcc.boosting.single_booster import SingleBooster
from xdcc.decision import ThresholdClassifier
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.deciders import RuleClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.prediction.builder import LayoutBuilder
from xdcc.prediction.layout import Layout
from xdcc.serving.margin_sum import MarginSum, has_second_level, margin_sum
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_rules import add_rule, add_thresholds
from xdcc.serving.onnx_trees import Nodes, add_trees, known_shares, tree_nodes

_MEMBERS = (MultiLabelXGBClassifier, SketchedExtraTreesClassifier, LogisticLabels)


def to_onnx(model: Any) -> Any:
    """Convert a model to ONNX.

    Parameters
    ----------
    model : estimator
        A fitted MultiLabelXGBClassifier, SketchedExtraTreesClassifier or LogisticLabels; a
        TunedDecisionClassifierCV or ThresholdClassifier around one of these; a
        MultiLabelClassifier or a DistilledClassifier; a MultiTargetXGBRegressor or a
        MultiClassXGBClassifier. It is not changed.

    Returns
    -------
    onnx.ModelProto
        The model, in opset 18 and version 3 of ai.onnx.ml. Its input "X" is float32, `(n_samples,
        n_features)`. Its outputs have a column for each label: "labels", int64, zeros and ones;
        "probabilities", float32; and "margins", float32, log-odds after calibration. If Y had one
        dimension, 1 is the second of `classes_`. Names of labels and features are in
        `metadata_props`, as JSON.

        A regressor has the output "targets", float32, `(n_samples, n_targets)`; a classifier of
        many classes "labels", int64, the position of the class in `classes_`, `(n_samples, 1)`, and
        "probabilities" of the classes, float32.

    Raises
    ------
    TypeError
        If the graph cannot hold the model; the message names what: a chain, a category, the rule
        "joint_labelset", another estimator.
    NotFittedError
        Before `fit`.
    ImportError
        If ONNX is not installed.

    Notes
    -----
    NaN in X is a missing value. If the model was trained on a sparse X, X is dense here, with 0 for
    entries that a sparse X does not store; stored zeros cannot be distinguished from them.

    Margins differ from those of the model by single precision, less than 1e-5: trees are added up
    in another order if a runtime uses several threads for them. A label differs only where its
    probability, or the best labelset, is as close to a tie.

    The second level of a MultiLabelClassifier compares margins of members with thresholds. A margin
    that is rounded in another way may be on the other side, and the row then gets another leaf of a
    tree. A runtime that adds up trees one after the other, in their order, as onnxruntime does with
    ``intra_op_num_threads=1``, rounds as XGBoost does. With several threads few rows are off by a
    leaf.

    Examples
    --------
    >>> import onnxruntime
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> booster = xdcc.MultiLabelXGBClassifier(n_estimators=20)
    >>> model = xdcc.decision.TunedDecisionClassifierCV(booster).fit(data.X, data.Y)
    >>> service = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> labels, proba, margins = service.run(None, {"X": data.X.astype(np.float32)})
    >>> (labels == model.predict(data.X)).all()
    np.True_
    """
    graph = Graph()
    if type(model) in (MultiTargetXGBRegressor, MultiClassXGBClassifier):
        return _of_outputs(graph, model)
    inner = model
    if type(model) is ThresholdClassifier:
        check_is_fitted(model, "thresholds_")
        inner = model.estimator_
    total = margin_sum(inner, _why_not)
    n_labels = inner.n_labels_
    X = graph.input("X", np.float32, inner.n_features_in_)
    margins = _add_margins(graph, X, total)
    proba = _add_proba(graph, X, inner, margins)
    if inner is not model:
        labels = add_thresholds(graph, proba, model.thresholds_)
    elif isinstance(model, RuleClassifier):
        labels = add_rule(graph, model.rule_, margins, n_labels)
        labels = _with_constants(graph, labels, model.calibration_.constant.value, np.int64)
    else:
        labels = add_thresholds(graph, proba, 0.5)
    graph.output("labels", labels, np.int64, n_labels)
    graph.output("probabilities", proba, np.float32, n_labels)
    graph.output("margins", margins, np.float32, n_labels)
    return _named(graph, model, inner, inner.label_names_)


def _of_outputs(graph: Graph, model: MultiTargetXGBRegressor | MultiClassXGBClassifier) -> Any:
    """Convert a model of targets or of classes."""
    check_is_fitted(model)
    reason = _why_no_numbers(model)
    if reason is not None:
        raise TypeError(f"{reason}.")
    margins = _add_booster(graph, graph.input("X", np.float32, model.n_features_in_), model)
    predictor: Any = model._predictor()
    if isinstance(predictor, TargetPredictor):
        targets, links = margins, np.array(predictor.links)
        for link, inverse in {"log": "Exp", "logit": "Sigmoid"}.items():
            if (links == link).any():
                mask = graph.constant(links == link)
                targets = graph.add("Where", mask, graph.add(inverse, margins), targets)
        graph.output("targets", targets, np.float32, model._n_outputs)
    else:
        best = graph.add("ArgMax", margins, axis=1, keepdims=1)
        graph.output("labels", best, np.int64, 1)
        proba = graph.add("Softmax", margins, axis=1)
        graph.output("probabilities", proba, np.float32, model._n_outputs)
    return _named(graph, model, model, model._output_names)


def _named(graph: Graph, model: Any, inner: Any, label_names: Any) -> Any:
    """Make the model of a graph, with the names of labels and features."""
    names = {"label_names": label_names}
    if hasattr(inner, "feature_names_in_"):
        names["feature_names"] = inner.feature_names_in_
    properties = {key: json.dumps([str(name) for name in found]) for key, found in names.items()}
    return graph.model(type(model).__name__, version("xdcc"), properties)


def _why_not(member: Any) -> str | None:
    """Say why ONNX cannot hold a member of a model; None if it can."""
    if has_second_level(member):
        return next(filter(None, map(_why_not, member.estimators_)), None)
    if type(member) not in _MEMBERS:
        can = "boosters, extra trees, linear models, their mixtures and decision rules"
        return f"{type(member).__name__} has no form as a graph of ONNX; to_onnx takes {can}"
    return _why_no_numbers(member)


def _why_no_numbers(member: Any) -> str | None:
    """Say that a column of X is categorical; None if none is."""
    categories = getattr(member, "categories_", {})
    if categories:
        column = next(iter(categories))
        names = getattr(member, "feature_names_in_", None)
        named = f"Column {column}" if names is None else f"The column {str(names[column])!r}"
        return f"{named} of X is categorical: trees of ONNX test numbers only"
    if type(member) is SketchedExtraTreesClassifier:
        discrete = np.flatnonzero(np.diff(member.forest_.category_start))
        if len(discrete):
            return f"Column {discrete[0]} of X has categories: trees of ONNX test numbers only"
    return None


def _add_proba(graph: Graph, X: str, model: Any, margins: str) -> str:
    """Add probabilities, float64: those of extra trees are not the logistic function of margins."""
    if type(model) is SketchedExtraTreesClassifier:
        return _add_frequencies(graph, X, _forest_layout(model))
    proba = graph.add("Sigmoid", margins)
    if isinstance(model, RuleClassifier):
        return _with_constants(graph, proba, model.calibration_.constant.proba, np.float64)
    return proba


def _with_constants(graph: Graph, values: str, constant: Floats, dtype: type) -> str:
    """Replace the columns of labels that are constant, which are not NaN in `constant`."""
    varied = np.isnan(constant)
    if varied.all():
        return values
    replacement = graph.constant(np.where(varied, 0, constant).astype(dtype))
    return graph.add("Where", graph.constant(varied), graph.cast(values, dtype), replacement)


def _add_margins(graph: Graph, X: str, total: MarginSum) -> str:
    """Add the margins of a model, float64 of shape (n_samples, n_labels)."""
    n_rows = graph.add("Slice", graph.add("Shape", X), *(graph.constant([i]) for i in (0, 1)))
    n_labels = graph.constant([len(total.intercept)])
    shape = graph.add("Concat", n_rows, n_labels, axis=0)
    terms = [graph.add("Expand", graph.constant(total.intercept, np.float64), shape)]
    for model, scale in total.parts:
        if scale.any():
            own = _add_margins_of(graph, X, model)
            terms.append(graph.add("Mul", own, graph.constant(scale, np.float64)))
    return graph.add("Sum", *terms)


def _add_margins_of(graph: Graph, X: str, model: Any) -> str:
    """Add the margins of one estimator, float64."""
    if type(model) is MultiLabelXGBClassifier:
        return _add_booster(graph, X, model)
    if type(model) is SketchedExtraTreesClassifier:
        return _add_forest(graph, X, model)
    if type(model) is LogisticLabels:
        return _add_linear(graph, X, model)
    return _add_two_levels(graph, X, model)


def _add_booster(graph: Graph, X: str, model: SingleBooster) -> str:
    """Add the sum over a start and trees, in their order, float64."""
    if getattr(model, "sparse_X_", False):
        zero, missing = graph.constant(0, np.float32), graph.constant(np.nan, np.float32)
        X = graph.add("Where", graph.add("Equal", X, zero), missing, X)
    layout = model._layout()
    [part] = layout.trees
    values = np.vstack((layout.leaf_value.reshape(-1, layout.width), part.start))
    # The start is a tree of a single leaf, before all others.
    nodes = tree_nodes(layout, np.append(~(len(values) - 1), layout.root))
    return graph.cast(add_trees(graph, X, nodes, values[:, : layout.n_labels]), np.float64)


def _add_two_levels(graph: Graph, X: str, model: MultiLabelClassifier) -> str:
    """Add the margins of a mixture with a second level, see `MixtureMargins`."""
    of_members = [_add_member(graph, X, member) for member in model.members_]
    mixed = _weighted(graph, [member.share for member in model.members_], of_members)
    features = graph.cast(graph.add("Concat", *of_members, axis=1), np.float32)
    for level in model.stacked_:
        own = _add_member(graph, features, level)
        mixed = _weighted(graph, [1 - level.share, level.share], [mixed, own])
    return _calibrated(graph, model.calibration_, mixed)


def _add_member(graph: Graph, X: str, member: Member) -> str:
    """Add calibrated margins of a member, in the same order of operations as the model."""
    summed = graph.add(
        "Sum", *(_add_margins_of(graph, X, estimator) for estimator in member.estimators)
    )
    number = graph.constant(len(member.estimators), np.float64)
    return _calibrated(graph, member.calibration, graph.add("Div", summed, number))


def _weighted(graph: Graph, shares: Sequence[float], margins: Sequence[str]) -> str:
    """Add a weighted sum."""
    terms = (
        graph.add("Mul", each, graph.constant(share, np.float64))
        for share, each in zip(shares, margins, strict=True)
    )
    return graph.add("Sum", *terms)


def _calibrated(graph: Graph, calibration: LabelCalibration, margins: str) -> str:
    """Add the operators of `LabelCalibration.margins`."""
    scaled = graph.add("Mul", margins, graph.constant(calibration.slope, np.float64))
    shifted = graph.add("Add", scaled, graph.constant(calibration.intercept, np.float64))
    constant = calibration.constant
    return _with_constants(graph, shifted, logit(constant.proba), np.float64)


def _add_forest(graph: Graph, X: str, model: SketchedExtraTreesClassifier) -> str:
    """Add smoothed log-odds, see `SketchedExtraTreesClassifier._margins`."""
    layout = _forest_layout(model)
    n_trees = len(layout.root)
    share = graph.constant(n_trees / (n_trees + 1), np.float64)
    of_mean = graph.constant(layout.trees[0].mean / (n_trees + 1), np.float64)
    frequencies = _add_frequencies(graph, X, layout)
    proba = graph.add("Add", graph.add("Mul", frequencies, share), of_mean)
    limits = (graph.constant(limit, np.float64) for limit in LIMITS)
    proba = graph.add("Clip", proba, *limits)
    absent = graph.add("Sub", graph.constant(1, np.float64), proba)
    return graph.add("Log", graph.add("Div", proba, absent))


def _forest_layout(model: SketchedExtraTreesClassifier) -> Layout:
    """Flatten a forest."""
    builder = LayoutBuilder(model.n_features_in_, model.n_labels_)
    model._add_to(builder)
    return builder.build(None)


def _add_frequencies(graph: Graph, X: str, layout: Layout) -> str:
    """Add mean frequencies of the labels in the leaves of a forest, float64, see `mean_proba`."""
    nodes, n_trees = tree_nodes(layout, layout.root), len(layout.root)
    shape = len(layout.leaf_start) - 1, 2 * layout.n_labels
    shares = sparse.csr_array((layout.leaf_share, layout.leaf_label, layout.leaf_start), shape)
    of_positive = shares[:, : layout.n_labels]
    of_known = known_shares(shares[:, layout.n_labels :])
    one = graph.constant(1, np.float64)
    if of_known is None:
        summed = _add_shares(graph, X, nodes, of_positive, n_trees)
        mean = graph.add("Div", summed, graph.constant(n_trees, np.float64))
        return graph.add("Min", mean, one)
    both = sparse.csr_array(sparse.hstack((of_positive, of_known)))
    summed = _add_shares(graph, X, nodes, both, n_trees)
    positive, known = graph.add("Split", summed, axis=1, num_outputs=2, n_outputs=2)
    is_known = graph.add("Greater", known, graph.constant(0, np.float64))
    weight = graph.add("Where", is_known, known, one)
    mean = graph.add("Min", graph.add("Div", positive, weight), one)
    return graph.add("Where", is_known, mean, graph.constant(layout.trees[0].mean, np.float64))


def _add_shares(graph: Graph, X: str, nodes: Nodes, shares: sparse.csr_array, n_trees: int) -> str:
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
        return graph.cast(add_trees(graph, X, nodes, multiple), np.float64)
    both = sparse.csr_array(sparse.hstack((multiple, rest)))
    summed = graph.cast(add_trees(graph, X, nodes, both), np.float64)
    return graph.add("Add", *graph.add("Split", summed, axis=1, num_outputs=2, n_outputs=2))


def _add_linear(graph: Graph, X: str, model: LogisticLabels) -> str:
    """Add log-odds of a linear model, float64, see `LogisticLabels` and its `Columns`."""
    columns = model._columns
    missing = graph.add("IsNaN", X)
    fill = graph.constant(columns.fill, np.float64)
    complete = graph.add("Where", missing, fill, graph.cast(X, np.float64))
    if columns.has_indicator.any():
        marked = graph.constant(np.flatnonzero(columns.has_indicator), np.int64)
        marks = graph.add("Gather", graph.cast(missing, np.float64), marked, axis=1)
        complete = graph.add("Concat", complete, marks, axis=1)
    margins = graph.add("MatMul", complete, graph.constant(model.coef_.T, np.float64))
    if columns.text_like:
        squares = graph.add("Mul", complete, complete)
        weight = graph.constant(columns.scale[:, np.newaxis] ** 2, np.float64)
        length = graph.add("Sqrt", graph.add("MatMul", squares, weight))
        zero, one = graph.constant(0, np.float64), graph.constant(1, np.float64)
        length = graph.add("Where", graph.add("Greater", length, zero), length, one)
        margins = graph.add("Div", margins, length)
    return graph.add("Add", margins, graph.constant(model.intercept_, np.float64))
