"""Checks of objects from a model file that need NumPy alone, those of compiled models among them.

:func:`check_type` compares a value with an annotation of the package's own classes: plain types,
arrays of a type, lists, dictionaries and tuples of types, unions. Every other check raises a
ValueError that says what does not fit.
"""

import types
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from xdcc.automatic.compiled_joint_labelset import CompiledJointLabelset
from xdcc.base.domains import check_domain
from xdcc.base.input_form import InputForm
from xdcc.base.output_form import ClassForm, LabelForm, TargetForm
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_prediction import PARAM_DOMAINS, OrderFreePredictor
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rules import (
    ConstrainedRule,
    F1Maximiser,
    FittedLabelset,
    LeastCost,
    MostProbableLabelset,
    ThresholdPerLabel,
)
from xdcc.prediction.layout import Layout, LinearPart
from xdcc.prediction.predictors import BoosterPredictor, MixtureMargins
from xdcc.prediction.propagation_rule import PropagationRule
from xdcc.serving.compiled_estimator import EstimatorPredictor
from xdcc.serving.compiled_parts import CompiledParts


def check_type(value: object, annotation: Any, place: str) -> None:
    """Raise a TypeError, which says what `place` is, unless a value has a type.

    A whole number counts as a float, a truth value as neither.

    Examples
    --------
    >>> check_type([1, 2.5], list[float], "x")
    >>> check_type(np.arange(3.0), np.ndarray[Any, np.dtype[np.int64]], "x")
    Traceback (most recent call last):
    TypeError: x is an array of float64
    """
    if not _fits(value, annotation):
        what = type(value).__name__
        if isinstance(value, np.ndarray):
            what = f"array of {value.dtype}"
        elif isinstance(value, list | tuple | dict):
            what = f"{what} with entries of another type"
        raise TypeError(f"{place} is {'an' if what[0] in 'aeiou' else 'a'} {what}")


def _fits(value: Any, annotation: Any) -> bool:
    annotation = _without_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if annotation is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return isinstance(value, np.ndarray) and (
            scalar is Any or issubclass(value.dtype.type, scalar)
        )
    if origin in (list, Sequence):
        return isinstance(value, list) and all(_fits(entry, arguments[0]) for entry in value)
    if origin is tuple:
        return _is_tuple(value, arguments)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            _fits(key, arguments[0]) and _fits(entry, arguments[1]) for key, entry in value.items()
        )
    if annotation is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, annotation)


def _without_alias(annotation: Any) -> Any:
    if isinstance(annotation, TypeAliasType):
        return _without_alias(annotation.__value__)
    origin = get_origin(annotation)
    if isinstance(origin, TypeAliasType):
        return _without_alias(origin.__value__[get_args(annotation)])
    return annotation


def _is_tuple(value: Any, arguments: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple):
        return False
    if arguments[-1] is Ellipsis:
        return all(_fits(entry, arguments[0]) for entry in value)
    return len(value) == len(arguments) and all(map(_fits, value, arguments))


def require(fits: bool | np.bool_, what: str) -> None:
    """Raise a ValueError about `what` unless it fits."""
    if not fits:
        raise ValueError(f"{what} does not fit the rest of the model")


def check_layout(layout: Layout) -> None:
    """Check the arrays of a compiled model: `walk.h` follows all indices in them."""
    n_features, n_slots, n_labels = (
        len(layout.slot_start) - 1,
        len(layout.slot_feature),
        layout.n_labels,
    )
    require(n_labels > 0 and layout.width == -(-n_labels // 4) * 4, "width")
    check_indices(layout.slot_feature, n_features, "slot_feature")
    check_starts(layout.slot_start, n_features, n_slots, "slot_start")
    features = np.repeat(np.arange(n_features), np.diff(layout.slot_start))
    require(np.array_equal(layout.slot_feature, features), "slot_feature")
    require(layout.slot_missing.shape == layout.slot_absent.shape == (n_slots,), "slot_missing")
    require(layout.slope.shape == layout.intercept.shape == (n_labels,), "slope")
    require(
        layout.leaf_value.ndim == 1 and len(layout.leaf_value) % layout.width == 0, "leaf_value"
    )
    check_starts(
        layout.leaf_start, len(layout.leaf_start) - 1, len(layout.leaf_label), "leaf_start"
    )
    check_indices(layout.leaf_label, 2 * n_labels, "leaf_label")
    require(layout.leaf_share.shape == layout.leaf_label.shape, "leaf_share")
    _check_tree_parts(layout)
    _check_nodes(layout)
    for part in layout.linear:
        _check_linear_part(part, n_features, n_labels)
    for member in layout.members:
        for (begin, end), n in (
            (member.trees, len(layout.trees)),
            (member.linear, len(layout.linear)),
        ):
            require(0 <= begin <= end <= n, "members")
        require(0 < member.n_estimators < 2**31 and np.isfinite(member.share), "members")
        require(member.slope.shape == member.intercept.shape == (n_labels,), "members")
    of_boosters = all(part.start.size > 0 for part in layout.trees)
    if layout.is_single:
        require(len(layout.trees) == 1 and of_boosters, "is_single")
    if layout.starts_from_features:
        require(layout.is_single and n_features == 2 * n_labels, "starts_from_features")
    if layout.chain is not None:
        require(of_boosters and not layout.is_single, "chain")
        require(layout.n_given > 0 and layout.n_outputs > 0, "chain")
        require(0 < layout.chain.rule.labels_per_round <= n_labels, "chain")


def _check_tree_parts(layout: Layout) -> None:
    """Check that boosters and forests have all trees, one after the other."""
    end = 0
    for part in layout.trees:
        require(part.begin == end and part.begin <= part.end, "trees")
        end = part.end
        is_forest = part.start.size == 0
        require(part.start.shape == (0 if is_forest else layout.width,), "start")
        require(part.mean.shape == (layout.n_labels if is_forest else 0,), "mean")
    require(layout.root.shape == (end,), "root")


_BLOCK = 2**14
"""Nodes that are checked at a time."""


def _check_nodes(layout: Layout) -> None:
    """Check that tests of a tree are together, each before those below it, and its leaves exist."""
    nodes, root, sets = layout.nodes, layout.root, layout.sets
    require(nodes.ndim == 2 and nodes.shape[1] == 4 and sets.ndim == 1, "nodes")
    is_forest = np.repeat(
        [part.start.size == 0 for part in layout.trees],
        [part.end - part.begin for part in layout.trees],
    ).astype(bool)
    n_leaves = np.where(
        is_forest, len(layout.leaf_start) - 1, len(layout.leaf_value) // layout.width
    )
    require(max(len(nodes), n_leaves.max(initial=0)) < 2**31, "nodes")
    require((root >= -n_leaves).all(), "root")
    tested = np.flatnonzero(root >= 0)
    begin = np.append(root[tested], len(nodes))
    require(begin[0] == 0 and (np.diff(begin) > 0).all(), "root")
    size = np.diff(begin)
    least = np.repeat(-n_leaves[tested].astype(np.int32), size)
    end = np.repeat(begin[1:].astype(np.int32), size)
    for first in range(0, len(nodes), _BLOCK):  # which stays in the cache
        part = slice(first, first + _BLOCK)
        threshold, slot, *children = np.ascontiguousarray(nodes[part].T)
        own = np.arange(first, first + len(slot), dtype=np.int32)
        for child in children:
            require(((child > own) | (child < 0)).all(), "nodes")
            require(((child >= least[part]) & (child < end[part])).all(), "nodes")
        check_indices(np.where(slot < 0, ~slot, slot), len(layout.slot_feature), "nodes")
        require(not (np.isnan(threshold.view(np.float32)) & (slot >= 0)).any(), "nodes")
    of_set = np.flatnonzero(nodes[:, 1] < 0)
    place = nodes[of_set, 0].astype(np.int64)
    check_indices(place, len(sets), "sets")
    n_values = sets[place].astype(np.int64)
    require((n_values >= 0).all() and (place - n_values // -32 < len(sets)).all(), "sets")


def _check_linear_part(part: LinearPart, n_features: int, n_labels: int) -> None:
    """Check the columns of linear models."""
    n_columns = len(part.square)
    for name in ("column", "n_values", "indicator", "fill"):
        require(getattr(part, name).shape == (n_features,), name)
    require(part.weight.shape == (n_columns * n_labels,), "weight")
    require(part.square.ndim == 1 and part.intercept.shape == (n_labels,), "intercept")
    check_indices(part.n_values, n_columns + 1, "n_values")
    check_indices(
        part.column.astype(np.int64), n_columns + 1 - np.maximum(part.n_values, 1), "column"
    )
    check_indices(part.indicator.astype(np.int64) + 1, n_columns + 1, "indicator")


def check_categories(categories: NDArray[Any], what: str) -> None:
    """Check that categories are unique."""
    require(categories.ndim == 1 and len(set(categories.tolist())) == len(categories), what)


def check_permutation(order: NDArray[np.integer], n: int, what: str) -> None:
    """Check that an order is a permutation of the numbers below n."""
    require(np.array_equal(np.sort(order), np.arange(n)), what)


def check_starts(start: NDArray[np.integer], n: int, end: int, what: str) -> None:
    """Check the starts of the n pieces of an array."""
    require(start.shape == (n + 1,), what)
    require(start[0] == 0 and start[-1] == end and (np.diff(start) >= 0).all(), what)


def check_indices(
    indices: NDArray[np.integer], limit: int | NDArray[np.integer], what: str
) -> None:
    """Check that all indices are at least 0 and below a limit, or each below its own."""
    require(indices.ndim == 1, what)
    require(((indices >= 0) & (indices < limit)).all(), what)


@singledispatch
def check_part(value: Any) -> None:
    """Raise a ValueError if the attributes of an object do not fit together."""


@check_part.register
def _check_label_form(form: LabelForm) -> None:
    n_labels = form.n_labels
    check_names(form.names, n_labels, "label_names_")
    if form.classes.ndim == 2:
        require(np.array_equal(form.classes, np.tile([0, 1], (n_labels, 1))), "classes_")
    else:
        require(n_labels == 1 and form.classes.shape in ((1,), (2,)), "classes_")


@check_part.register
def _check_target_form(form: TargetForm) -> None:
    check_names(form.names, form.n_targets, "target_names_")
    require(form.n_targets == 1 or not form.is_single, "is_single")


@check_part.register
def _check_class_form(form: ClassForm) -> None:
    require(form.classes.ndim == 1 and len(form.classes) > 1, "classes_")


@check_part.register
def _check_input_form(form: InputForm) -> None:
    require(form.n_features > 0, "n_features_in_")
    check_names(form.names, form.n_features, "feature_names_in_")
    require(form.categories is None or len(form.categories) > 0, "categories_")
    for position, categories in (form.categories or {}).items():
        require(0 <= position < form.n_features, "categories_")
        check_categories(categories, "categories_")
    require((form.sparse_zeros is None) == (form.is_sparse is None), "sparse_X_")
    require(not (form.is_sparse and form.sparse_zeros == "zero"), "sparse_X_")


def check_names(names: NDArray[np.object_] | None, n: int, what: str) -> None:
    """Check that there are so many names, or none."""
    if names is not None:
        require(names.shape == (n,) and all(isinstance(name, str) for name in names), what)


def check_calibration(calibration: LabelCalibration, n_labels: int) -> None:
    """Check the number of labels of a calibration."""
    parts = (calibration.slope, calibration.intercept, *calibration.constant)
    require(all(part.shape == (n_labels,) for part in parts), "calibration")


def check_known(known: KnownLabelsets, n_labels: int, what: str) -> None:
    """Check the shape of known labelsets."""
    require(known.labelsets.shape == (len(known.counts), n_labels), what)


def check_rule(rule: Any, n_labels: int) -> None:
    """Check the number of labels of a rule."""
    if isinstance(rule, ConstrainedRule):
        labels = rule.labels
        require(labels.shape == rule.thresholds.shape == (len(labels),), "rule_")
        require(bool(((labels >= 0) & (labels < n_labels)).all()), "rule_")
        rule = rule.rule
    if isinstance(rule, LeastCost | ThresholdPerLabel):
        require(rule.thresholds.shape == (n_labels,), "rule_")
    if isinstance(rule, MostProbableLabelset | FittedLabelset | F1Maximiser):
        check_known(rule.known, n_labels, "rule_")


@check_part.register
def _check_layout(layout: Layout) -> None:
    check_layout(layout)


@check_part.register
def _check_mixture_margins(source: MixtureMargins) -> None:
    layouts, n_members = source.layouts, len(source.shares)
    require(len(layouts) == (n_members + 1 if n_members else 1), "layouts")
    require(np.isfinite([source.second_share, *source.shares]).all(), "shares")
    _check_layouts(layouts[: max(n_members, 1)], "mixture")
    if n_members:
        _check_layouts(layouts[n_members:], "mixture")
        n_labels = layouts[0].n_labels
        require(layouts[-1].n_features == n_members * n_labels, "layouts")
        require(layouts[-1].n_labels == n_labels, "layouts")


@check_part.register
def _check_chain_margins(source: ChainMargins) -> None:
    _check_layouts(source.layouts, "chain")
    check_calibration(source.calibration, source.layouts[0].n_outputs)


@check_part.register
def _check_one_layout(predictor: BoosterPredictor | ChainPredictor | CompiledBooster) -> None:
    require(len(predictor.layouts) == 1, "layouts")
    kind = {BoosterPredictor: "single", ChainPredictor: "chain", CompiledBooster: "from features"}
    _check_layouts(predictor.layouts, kind[type(predictor)])


def _check_layouts(layouts: list[Layout], kind: str) -> None:
    """Check that layouts are of a kind, and have the same features and labels."""
    first, *_ = layouts
    for layout in layouts:
        require(layout.kind == kind, "layouts")
        require(layout.n_features == first.n_features, "n_features")
        require(layout.n_outputs == first.n_outputs, "n_labels")


def _first_layout(source: Any) -> Layout:
    """Return a layout of what computes margins; that of a file always has one."""
    layout: Layout = source.layouts[0]
    return layout


@check_part.register
def _check_decision_predictor(predictor: DecisionPredictor) -> None:
    n_labels, rule = _first_layout(predictor.source).n_outputs, predictor.rule
    require(all(part.shape == (n_labels,) for part in predictor.constant), "constant")
    if isinstance(rule, CompiledJointLabelset):
        require(all(part.shape == (n_labels,) for part in rule.constant), "rule")
        n_varied = int(rule.constant.varied.sum())
        require(rule.booster.layouts[0].n_labels == n_varied, "rule")
        check_known(rule.known, n_varied, "rule")
        float(rule.prior)
    else:
        check_rule(rule, n_labels)


@check_part.register
def _check_order_free_predictor(predictor: OrderFreePredictor) -> None:
    calibration, params = predictor.calibration, predictor.params
    n_labels = _first_layout(predictor.source).n_labels
    check_calibration(calibration, n_labels)
    n_varied = int(calibration.constant.varied.sum())
    if predictor.booster is not None:
        require(predictor.booster.layouts[0].n_labels == n_varied, "booster")
    require(params.keys() == PARAM_DOMAINS.keys(), "params")
    for name, domain in PARAM_DOMAINS.items():
        check_domain(name, params[name], domain)
    require(max(params["n_beams"], params["n_draws"]) <= 2**20, "params")
    np.random.default_rng(predictor.seed)
    if predictor.score is not None:
        check_known(predictor.score.known, n_varied, "score")
    require(predictor.score is not None or params["prediction"] != "subset_accuracy", "score")


@check_part.register
def _check_compiled_parts(parts: CompiledParts) -> None:
    n_features, n_labels = parts.input_form.n_features, parts.output_form.n_labels
    predictor = parts.predictor
    if isinstance(predictor, EstimatorPredictor):
        require(predictor.model.n_labels_ == n_labels, "n_labels")
        require(predictor.model.n_features_in_ == n_features, "n_features_in_")
        return
    if isinstance(predictor, DecisionPredictor | OrderFreePredictor):
        layout = _first_layout(predictor.source)
    else:
        layout = predictor.layouts[0]
    require(layout.n_outputs == n_labels, "n_labels")
    require(layout.n_given == n_features, "n_features_in_")


@check_part.register
def _check_propagation_rule(rule: PropagationRule) -> None:
    rule.__post_init__()
