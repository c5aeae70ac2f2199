"""Booster files, checked before XGBoost reads them.

XGBoost trusts a model file: it follows indices of a tree that lead outside it, allocates the
lengths it finds, and recurses at every bracket. So a file of a few bytes ends the process, or fills
its memory. :func:`check_booster` reads the file first. ``_booster_scan.pyx`` checks the form, and
every index of every tree; this module compares what the parts of a model say about each other. A
file that passes can be loaded and predicted with safely.
"""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from xdcc.base.libraries import xgb
from xdcc.boosting._booster_scan import Trees, scan

_DEEPEST = 32
"""Limit on nested brackets; models of XGBoost have ten."""

_MOST_FEATURES = 2**24
"""Limit on the number of features, or one for each byte if the file is larger.

Explanations take memory for every feature, also for those in no tree.
"""

_CATEGORY_TYPES = {9: "i1", 10: "u1", 11: "i2", 12: "u2", 13: "i4", 14: "u4", 15: "i8", 16: "u8"}
"""Types of categories that are numbers, as XGBoost numbers them."""

_FEATURE_TYPES = {"int", "float", "i", "q", "c"}

_NUMBERS = re.compile(r"\[?-?[0-9.]+(E-?[0-9]+)?(,-?[0-9.]+(E-?[0-9]+)?)*\]?", re.ASCII)


class ModelFileError(ValueError):
    """A file does not hold a model that can be read; the message says which file, and why."""


def check_booster(file: str | os.PathLike[str] | bytes | bytearray) -> None:
    """Check the file of a booster before XGBoost reads it.

    Parameters
    ----------
    file : path-like or bytes
        The output of ``xgboost.Booster.save_model`` or ``save_raw``, as JSON or UBJSON, written
        with or without the multi-label plugin.

    Raises
    ------
    ModelFileError
        If XGBoost would not write this: a bracket, length or number is wrong, a number of a tree
        is not finite (a threshold may be -inf), a list of nodes is not a tree, a child, feature,
        leaf or category does not exist, leaves differ in size, or a tree has more than 1,024
        levels.
    OSError
        If the file cannot be read.

    Notes
    -----
    Models of XGBoost before 2.0, and models with vectors in their leaves of XGBoost before 3.2, are
    refused, since they lack lists that are needed: load them with XGBoost and save them again.

    A model of more than 2**24 features is refused unless its file has a byte for each.

    :func:`~xdcc.serving.load_model` and `xgb_model` of
    :class:`~xdcc.boosting.MultiLabelXGBClassifier` check the files that they read.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> content = model.booster_.save_raw("json")
    >>> check_booster(content)
    >>> damaged = content.replace(b'"num_target":"3"', b'"num_target":"4"')
    >>> check_booster(damaged)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xdcc.boosting.booster_file.ModelFileError: not a booster: base_score has 3 numbers, ...
    """
    _check(file if isinstance(file, bytes | bytearray) else Path(file).read_bytes())


def read_booster(
    file: str | os.PathLike[str] | bytes | bytearray, params: Mapping[str, Any] | None = None
) -> "xgb.Booster":
    """Check a booster file and read it.

    Parameters
    ----------
    file : path-like or bytes
        As for :func:`check_booster`.
    params : mapping, optional
        Parameters of the booster that a file does not store, such as `nthread`.

    Returns
    -------
    xgboost.Booster
        The booster.

    Raises
    ------
    ModelFileError
        If the check or XGBoost refuses it.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> data = xgb.DMatrix([[0.0], [1.0]], [0, 1])
    >>> content = xgb.train({"objective": "binary:logistic"}, data, 2).save_raw()
    >>> read_booster(content).num_boosted_rounds()
    2
    """
    # Read once, so that XGBoost gets the bytes that have been checked.
    content = file if isinstance(file, bytes | bytearray) else Path(file).read_bytes()
    _check(content)
    booster = xgb.Booster(dict(params or {}))
    try:
        booster.load_model(bytearray(content))
        booster.num_features()  # raises what XGBoost otherwise raises at the first prediction
    except ValueError as error:
        what = (str(error).splitlines() or [""])[0]  # without the stack
        raise ModelFileError(f"not a booster: {what}") from error
    return booster


def _check(content: bytes | bytearray) -> None:
    try:
        _check_model(_mapping(scan(content, deepest=_DEEPEST), "the model"), len(content))
    except ValueError as error:
        raise ModelFileError(f"not a booster: {error}") from error


def _check_model(model: dict[str, Any], n_bytes: int) -> None:
    version = _list(model, "version")
    _require(len(version) == 3 and all(_is_whole(n, 0, 2**31 - 1) for n in version), "version")
    learner = _mapping(model.get("learner"), "learner")
    param = _strings(learner, "learner_model_param")
    n_features = _number(param, "num_feature", 1, max(_MOST_FEATURES, min(n_bytes, 2**31 - 1)))
    # An output takes a byte at least, so that few bytes do not ask for much memory.
    n_classes = _number(param, "num_class", 0, n_bytes)
    n_targets = _number(param, "num_target", 1, n_bytes)
    n_outputs = max(n_classes, n_targets)
    _number(param, "boost_from_average", 0, 1)
    _check_base_score(param.get("base_score", ""), n_outputs)
    for name in ("feature_names", "feature_types"):
        _check_names(learner, name, n_features)
    types = learner.get("feature_types", [])
    _require(_FEATURE_TYPES.issuperset(types), "feature_types")
    _strings(learner, "attributes")
    _check_objective(_mapping(learner.get("objective"), "objective"))
    _check_gradient_booster(
        _mapping(learner.get("gradient_booster"), "gradient_booster"), n_features, n_outputs
    )


def _check_base_score(text: str, n_outputs: int) -> None:
    if not _NUMBERS.fullmatch(text) or text.startswith("[") != text.endswith("]"):
        raise ValueError(f"base_score is {text!r:.60}")
    values = [float(number) for number in text.strip("[]").split(",")]
    if len(values) not in (1, n_outputs):
        raise ValueError(f"base_score has {len(values)} numbers, for {n_outputs} outputs")
    _require(all(abs(value) < 1e38 for value in values), "base_score")


def _check_names(learner: dict[str, Any], name: str, n_features: int) -> None:
    names = _list(learner, name)
    _require(all(isinstance(entry, str) for entry in names), name)
    if len(names) not in (0, n_features):
        raise ValueError(f"{name} has {len(names)} entries, for {n_features} features")


def _check_objective(objective: dict[str, Any]) -> None:
    _require(isinstance(objective.get("name"), str), "objective")
    for name, value in objective.items():
        if name.endswith("_param"):
            for text in _strings(objective, name).values():
                # XGBoost reads some of them as JSON: lists of numbers.
                _require(text != "" and "[" not in text[1:] and "{" not in text, name)
        elif isinstance(value, list | np.ndarray):
            _finite(value, name)
        else:
            _require(isinstance(value, str), "objective")


def _check_gradient_booster(booster: dict[str, Any], n_features: int, n_outputs: int) -> None:
    name = booster.get("name")
    if name == "gblinear":
        linear = _mapping(booster.get("model"), "model")
        n_rounds = linear.get("boosted_rounds")
        _require(_is_whole(n_rounds, 0, 2**31 - 1), "boosted_rounds")
        weights = _finite(linear.get("weights"), "weights")
        if len(weights) != (n_features + 1) * n_outputs and (weights or n_rounds):
            raise ValueError(
                f"it has {len(weights)} weights, for {n_features} features and {n_outputs} outputs"
            )
        return
    if name not in ("gbtree", "dart"):
        raise ValueError(f"{name!r:.60} is not a gradient booster")
    # Before XGBoost 3.4, dart had trees inside and weights beside them.
    holder = _mapping(booster.get("gbtree"), "gbtree") if name == "dart" else booster
    model = _mapping(holder.get("model"), "model")
    trees = model.get("trees")
    if not isinstance(trees, Trees):
        raise ValueError("it has no trees")
    _check_forest(model, trees, n_features, n_outputs)
    for place in (model, booster):
        if "weight_drop" in place:
            weights = _finite(place["weight_drop"], "weight_drop")
            _require(len(weights) == trees.n_trees, "weight_drop")
    if "cats" in model:
        _check_categories(_mapping(model["cats"], "cats"), n_features)


def _check_forest(model: dict[str, Any], trees: Trees, n_features: int, n_outputs: int) -> None:
    n_trees = trees.n_trees
    param = _strings(model, "gbtree_model_param")
    if _number(param, "num_trees", 0, 2**31 - 1) != n_trees:
        raise ValueError(f"num_trees is {param['num_trees']}, of {n_trees} trees")
    _number(param, "num_parallel_tree", 1, n_trees or 2**31 - 1)
    if trees.largest_feature >= n_features:
        raise ValueError(f"a tree splits on feature {trees.largest_feature}, of {n_features}")
    width = trees.largest_width
    if n_trees and (trees.smallest_width != width or width not in (1, n_outputs)):
        raise ValueError(
            f"leaves have {trees.smallest_width} to {width} values, for {n_outputs} outputs"
        )
    groups = _integers(_list(model, "tree_info"), "tree_info")
    if len(groups) != n_trees:
        raise ValueError(f"tree_info has {len(groups)} entries, for {n_trees} trees")
    n_groups = n_outputs if width == 1 else 1
    _require(((groups >= 0) & (groups < n_groups)).all(), "tree_info")
    starts = _integers(_list(model, "iteration_indptr"), "iteration_indptr")
    _require(len(starts) > 0 and starts[0] == 0 and starts[-1] == n_trees, "iteration_indptr")
    _require((np.diff(starts) > 0).all(), "iteration_indptr")


def _check_categories(cats: dict[str, Any], n_features: int) -> None:
    columns = _list(cats, "enc")
    counts = [_n_categories(_mapping(column, "enc")) for column in columns]
    _require(len(counts) in (0, n_features), "enc")
    starts = _integers(cats.get("feature_segments"), "feature_segments")
    order = _integers(cats.get("sorted_idx"), "sorted_idx")
    _require(np.array_equal(starts, np.cumsum([0, *counts]) if counts else []), "feature_segments")
    _require(len(order) == sum(counts), "sorted_idx")
    # The order of each column's categories, one column after the other.
    limits = np.repeat(counts, counts) if counts else np.zeros(0)
    _require(((order >= 0) & (order < limits)).all(), "sorted_idx")


def _n_categories(column: dict[str, Any]) -> int:
    values = _integers(column.get("values"), "values")
    if "offsets" not in column:
        kind = column.get("type")
        dtype = _CATEGORY_TYPES.get(kind) if type(kind) is int else None
        if dtype is None:
            raise ValueError(f"type of categories is {kind!r:.60}")
        _require(_are_of_type(values, np.dtype(dtype)), "values")
        return len(values)
    _require(((values >= -128) & (values < 256)).all(), "values")
    offsets = _integers(column["offsets"], "offsets")
    if len(offsets) == 0:
        _require(len(values) == 0, "values")
        return 0
    _require(offsets[0] == 0 and offsets[-1] == len(values), "offsets")
    _require((np.diff(offsets) >= 0).all(), "offsets")
    return len(offsets) - 1


def _are_of_type(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    # UBJSON has no unsigned numbers but bytes: larger ones are written as if they had a sign.
    low = np.iinfo(f"i{dtype.itemsize}").min if dtype.itemsize > 1 else np.iinfo(dtype).min
    return bool(((values >= low) & (values <= np.iinfo(dtype).max)).all())


def _require(fits: bool | np.bool_, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} is not what XGBoost writes")


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is missing or not a mapping")
    return value


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is missing or not a list")
    return value


def _strings(holder: dict[str, Any], name: str) -> dict[str, str]:
    found = _mapping(holder.get(name), name)
    _require(all(isinstance(text, str) for text in found.values()), name)
    return found


def _number(holder: Mapping[str, str], name: str, low: int, high: int) -> int:
    """Read a whole number that XGBoost writes as a string."""
    text = holder.get(name, "")
    if not re.fullmatch("[0-9]{1,10}", text, re.ASCII) or not low <= int(text) <= high:
        raise ValueError(f"{name} is {text!r:.60}")
    return int(text)


def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _integers(value: Any, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(value, np.ndarray):
        _require(value.dtype.kind in "iu", name)
        return value.astype(np.int64)
    _require(isinstance(value, list) and all(type(entry) is int for entry in value), name)
    return np.array(value, dtype=np.int64)


def _finite(value: Any, name: str) -> list[float]:
    values = value.tolist() if isinstance(value, np.ndarray) else value
    _require(isinstance(values, list), name)
    _require(all(type(v) is float and math.isfinite(v) and abs(v) < 1e38 for v in values), name)
    return values
