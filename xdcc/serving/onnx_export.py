"""``to_onnx``: a model as operators of ONNX, from X to labels.

What is converted is the flat form of a model: the predictor of an estimator, or the arrays of one
without. ``onnx_layout.py`` and ``onnx_chain.py`` have the operators for arrays,
``onnx_categories.py`` those for categories, ``onnx_rules.py`` those for decision rules.
``onnx_input.py`` has the input, ``onnx_steps.py`` the steps of a pipeline before the model.
"""

import json
from collections.abc import Sequence
from functools import singledispatch
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from xdcc.base.estimator import CheckedEstimator
from xdcc.boosting.output_predictors import ClassPredictor, TargetPredictor
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor
from xdcc.decision import ThresholdClassifier
from xdcc.decision.cuts import Floats
from xdcc.decision.decision_predictor import DecisionPredictor, EstimatorMargins
from xdcc.prediction.builder import LayoutBuilder, NotFlat
from xdcc.prediction.layout import Layout
from xdcc.prediction.predictors import BoosterPredictor, MixtureMargins
from xdcc.serving.compiling_steps import compile_steps
from xdcc.serving.onnx_categories import add_codes
from xdcc.serving.onnx_chain import add_chain, add_labels
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_input import add_input
from xdcc.serving.onnx_layout import (
    Features,
    add_affine,
    add_booster,
    add_frequencies,
    add_layout,
    add_log_odds,
    add_logit,
    with_set_tests,
)
from xdcc.serving.onnx_rules import add_rule, add_thresholds

_TYPES = {
    "labels": np.int64,
    "probabilities": np.float32,
    "margins": np.float32,
    "targets": np.float32,
}

type Outputs = dict[str, tuple[str, int]]
"""Names and numbers of columns of what a model predicts."""


def to_onnx(model: Any) -> Any:
    """Convert a model to ONNX.

    Parameters
    ----------
    model : estimator
        A fitted MultiLabelXGBClassifier, SketchedExtraTreesClassifier, LogisticLabels or
        DynamicChainClassifier; a TunedDecisionClassifierCV or ThresholdClassifier around one of
        these; a MultiLabelClassifier or a DistilledClassifier; a MultiTargetXGBRegressor or a
        MultiClassXGBClassifier. Or a scikit-learn `Pipeline` of one of these, with the steps that
        :class:`CompiledModel` takes. It is not changed.

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

        Categories are codes in X. The property "categories" has for each such column, by its name
        or else its position, "values", their "codes", and the code of any "unknown" value: null is
        NaN, as for a missing value, and "error" means that the model rejects it. A column without
        values is NaN. Of a pipeline, X is float64, and all columns that an encoder reads have
        codes.

    Raises
    ------
    TypeError
        If the graph cannot hold the model; the message names what: an order-free chain, the rule
        "joint_labelset", another estimator, a step of a pipeline, a column that steps read both as
        a number and as a category.
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
    leaf. A chain compares probabilities of a round with each other: with one thread it predicts
    the same as the model, bit for bit; with several, few rows may take another order of labels.

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
    estimator = model.steps[-1][1] if type(model) is Pipeline else model
    if not isinstance(estimator, CheckedEstimator):
        raise _no_form(estimator, "it is not an estimator of xdcc")
    check_is_fitted(estimator)
    steps = compile_steps(model) if type(model) is Pipeline else None
    graph = Graph()
    values, of_input = add_input(graph, estimator._input_form, steps)
    found = _all_outputs(estimator, graph, values)
    for name, (value, n_columns) in found.items():
        graph.output(name, value, _TYPES[name], n_columns)
    n_outputs = max(n_columns for _, n_columns in found.values())
    label_names = estimator._output_form.column_names(2, n_outputs)
    properties = {"label_names": json.dumps([str(name) for name in label_names])} | of_input
    return graph.model(type(estimator).__name__, version("xdcc"), properties)


def _all_outputs(model: Any, graph: Graph, values: str) -> Outputs:
    """Add the predictions of a model for features, float32."""
    of_boosters, codes = values, None
    if model._input_form.is_sparse:
        zero, missing = graph.constant(0, np.float32), graph.constant(np.nan, np.float32)
        of_boosters = graph.add("Where", graph.add("Equal", values, zero), missing, values)
    if model._input_form.categories:
        sizes = {column: len(of) for column, of in model._input_form.categories.items()}
        columns = graph.constant(list(sizes), np.int64)
        codes = add_codes(graph, graph.add("Gather", values, columns, axis=1), sizes)
    X = Features(values, of_boosters, codes)
    if not isinstance(model, ThresholdClassifier):
        return _outputs_of(model, graph, X)
    found = _outputs_of(model.estimator_, graph, X)
    proba, n_labels = found["probabilities"]
    return found | {"labels": (add_thresholds(graph, proba, model.thresholds_), n_labels)}


def _no_form(model: Any, reason: object) -> TypeError:
    return TypeError(
        f"{type(model).__name__} has no form as a graph of ONNX ({reason}); to_onnx takes "
        "boosters, extra trees, linear models, dynamic chains, their mixtures and decision rules."
    )


def _outputs_of(model: Any, graph: Graph, X: Features) -> Outputs:
    """Add the predictions of a fitted estimator."""
    try:
        if hasattr(model, "_predictor"):
            return add_outputs(model._predictor(), graph, X)
        if hasattr(model, "_add_to"):
            builder = LayoutBuilder(model.n_features_in_, model.n_labels_)
            nothing = np.zeros(model.n_labels_)
            builder.add_member([model], 1.0, nothing + 1, nothing)
            return add_outputs(builder.build((nothing + 1, nothing)), graph, X)
    except NotFlat as reason:
        raise _no_form(model, reason) from reason
    raise _no_form(model, "it has no flat form")


@singledispatch
def add_outputs(flat: Any, graph: Graph, X: Features) -> Outputs:
    """Add what a predictor predicts, or the flat model of an estimator without one."""
    raise NotFlat("its search for labelsets is not a fixed sequence of operators")


@add_outputs.register
def _(layout: Layout, graph: Graph, X: Features) -> Outputs:
    if not layout.trees:
        return _of_margins(graph, layout.n_outputs, add_layout(graph, X, layout))
    X, layout = with_set_tests(graph, X, layout)
    [forest] = layout.trees  # its probabilities are not the logistic function of its log-odds
    proba = add_frequencies(graph, X, layout, forest)
    margins = add_log_odds(graph, proba, layout, forest)
    return _of_labels(layout.n_outputs, add_thresholds(graph, proba, 0.5), proba, margins)


@add_outputs.register
def _(predictor: BoosterPredictor, graph: Graph, X: Features) -> Outputs:
    return _of_margins(graph, predictor.n_outputs, _add_only_booster(graph, X, predictor))


@add_outputs.register
def _(predictor: TargetPredictor, graph: Graph, X: Features) -> Outputs:
    targets = margins = _add_only_booster(graph, X, predictor)
    links = np.array(predictor.links)
    for link, inverse in {"log": "Exp", "logit": "Sigmoid"}.items():
        if (links == link).any():
            mask = graph.constant(links == link)
            targets = graph.add("Where", mask, graph.add(inverse, margins), targets)
    return {"targets": (targets, predictor.n_outputs)}


@add_outputs.register
def _(predictor: ClassPredictor, graph: Graph, X: Features) -> Outputs:
    margins = _add_only_booster(graph, X, predictor)
    best = graph.add("ArgMax", margins, axis=1, keepdims=1)
    proba = graph.add("Softmax", margins, axis=1)
    return {"labels": (best, 1), "probabilities": (proba, predictor.n_outputs)}


@add_outputs.register
def _(predictor: ChainPredictor, graph: Graph, X: Features) -> Outputs:
    [layout] = predictor.layouts
    assert layout.chain is not None
    proba = add_chain(graph, X, layout)
    labels = add_labels(graph, proba, layout.chain)
    proba = graph.cast(proba, np.float64)
    return _of_labels(predictor.n_outputs, labels, proba, add_logit(graph, proba))


@add_outputs.register
def _(predictor: DecisionPredictor, graph: Graph, X: Features) -> Outputs:
    n_labels, constant = predictor.n_outputs, predictor.constant
    margins = add_margins(predictor.source, graph, X)
    proba = _with_constants(graph, graph.add("Sigmoid", margins), constant.proba, np.float64)
    labels = add_rule(predictor.rule, graph, margins, n_labels)
    labels = _with_constants(graph, labels, constant.value, np.int64)
    return _of_labels(n_labels, labels, proba, margins)


def _of_margins(graph: Graph, n_labels: int, margins: str) -> Outputs:
    """Add probabilities and labels that follow from margins alone."""
    proba = graph.add("Sigmoid", margins)
    return _of_labels(n_labels, add_thresholds(graph, proba, 0.5), proba, margins)


def _of_labels(n_labels: int, labels: str, proba: str, margins: str) -> Outputs:
    found = {"labels": labels, "probabilities": proba, "margins": margins}
    return {name: (value, n_labels) for name, value in found.items()}


def _add_only_booster(graph: Graph, X: Features, predictor: BoosterPredictor) -> str:
    """Add the margins of a single booster, float64."""
    X, layout = with_set_tests(graph, X, predictor.layouts[0])
    return graph.cast(add_booster(graph, X, layout, layout.trees[0]), np.float64)


def _with_constants(graph: Graph, values: str, constant: Floats, dtype: type) -> str:
    """Replace the columns of labels that are constant, which are not NaN in `constant`."""
    varied = np.isnan(constant)
    if varied.all():
        return values
    replacement = graph.constant(np.where(varied, 0, constant).astype(dtype))
    return str(graph.add("Where", graph.constant(varied), graph.cast(values, dtype), replacement))


@singledispatch
def add_margins(source: Any, graph: Graph, X: Features) -> str:
    """Add calibrated margins, float64 of shape (n_samples, n_labels)."""
    raise NotFlat(source.not_flat)


@add_margins.register
def _(source: MixtureMargins, graph: Graph, X: Features) -> str:
    *members, last = source.layouts
    if not members:
        return add_layout(graph, X, last)
    of_members = [add_layout(graph, X, layout) for layout in members]
    features = graph.cast(graph.add("Concat", *of_members, axis=1), np.float32)
    own = add_layout(graph, Features(features, features), last)
    mixed = _weighted(graph, source.shares, of_members)
    return _weighted(graph, [1 - source.second_share, source.second_share], [mixed, own])


@add_margins.register
def _(source: ChainMargins, graph: Graph, X: Features) -> str:
    probas = [graph.cast(add_chain(graph, X, layout), np.float64) for layout in source.layouts]
    return _calibrated(graph, source, [add_logit(graph, proba) for proba in probas])


@add_margins.register
def _(source: EstimatorMargins, graph: Graph, X: Features) -> str:
    found = [_outputs_of(estimator, graph, X)["margins"] for estimator in source.estimators]
    return _calibrated(graph, source, [margins for margins, _ in found])


def _calibrated(
    graph: Graph, source: ChainMargins | EstimatorMargins, margins: Sequence[str]
) -> str:
    """Add the calibrated mean of margins."""
    number = graph.constant(len(margins), np.float64)
    mean = graph.add("Div", graph.add("Sum", *margins), number)
    return add_affine(graph, mean, *source.calibration.affine())


def _weighted(graph: Graph, shares: Sequence[float], margins: Sequence[str]) -> str:
    """Add a weighted sum."""
    terms = (
        graph.add("Mul", each, graph.constant(share, np.float64))
        for share, each in zip(shares, margins, strict=True)
    )
    return str(graph.add("Sum", *terms))
