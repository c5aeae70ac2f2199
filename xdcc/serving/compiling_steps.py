"""From the steps of a fitted scikit-learn pipeline to those of a compiled model."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from xdcc.base.input_form import InputForm
from xdcc.serving.compiled_pipeline import Steps
from xdcc.serving.compiled_steps import Codes, Imputer, OneHot, Scaler, SideBySide

_INSTEAD = "Use its last step, pipeline[-1], and give it what the others make of X."


def compile_steps(pipeline: Pipeline) -> Steps | None:
    """Compile the steps before the last one; None if they leave X unchanged.

    Raises a TypeError that names a step that cannot be compiled, and its class; and if columns
    with categories reach the last step.
    """
    steps, _ = _compiled_pipeline(pipeline.steps[:-1], "", False)
    if not steps:
        return None
    if hasattr(pipeline.steps[-1][1], "categories_"):
        raise TypeError(
            "The steps of the pipeline cannot be compiled: they leave columns of pandas' dtype "
            f"category unchanged. {_INSTEAD}"
        )
    names = getattr(pipeline, "feature_names_in_", None)
    form = InputForm(pipeline.n_features_in_, None if names is None else names.astype(object))
    return Steps(form, steps)


def _compiled_pipeline(
    named: Sequence[tuple[str, Any]], prefix: str, is_sparse: bool
) -> tuple[list[Any], bool]:
    """Compile steps whose names have a prefix; tell whether what the last returns is sparse."""
    compiled = []
    for name, step in named:
        made, is_sparse = _compiled(step, prefix + name, is_sparse)
        compiled += made
    return compiled, is_sparse


def _compiled(step: Any, name: str, is_sparse: bool) -> tuple[list[Any], bool]:
    """Compile a step, whose X is sparse or not, and tell whether what it returns is."""
    if step is None or step == "passthrough" or _is_identity(step):
        return [], is_sparse
    if type(step) is Pipeline:
        return _compiled_pipeline(step.steps, f"{name}__", is_sparse)
    kind = type(step)
    if kind not in (*_SCALERS, *_OTHERS):
        raise _refused(name, step, f"it takes {', '.join(each.__name__ for each in _TAKEN)}")
    check_is_fitted(step)
    if kind in _SCALERS:
        return [_SCALERS[kind](step, is_sparse)], is_sparse
    if is_sparse:
        raise _refused(name, step, "its X is sparse, which only scalers can take")
    if isinstance(step, ColumnTransformer):
        return [_columns(step, name)], step.sparse_output_
    made = _OTHERS[kind](step, name)
    return [made], isinstance(step, OneHotEncoder) and step.sparse_output


def _is_identity(step: Any) -> bool:
    """Tell whether a step is what ColumnTransformer makes of "passthrough"."""
    return type(step) is FunctionTransformer and step.func is None


def _refused(name: str, step: Any, reason: str) -> TypeError:
    return TypeError(
        f"The step {name!r} ({type(step).__name__}) of the pipeline cannot be compiled: {reason}. "
        f"{_INSTEAD}"
    )


def _scaler(
    step: Any, is_sparse: bool, *operations: tuple[str, Any], rounds: bool = False
) -> Scaler:
    """Make a scaler of operations and their constants; None has none."""
    n_in, made = step.n_features_in_, []
    for name, constants in operations:
        if constants is not None:
            if is_sparse and name == "divide":  # as scikit-learn scales sparse matrices
                name, constants = "multiply", 1 / constants
            made.append((name, np.full(n_in, constants, np.float64)))
    return Scaler(n_in, made, rounds and not is_sparse)  # type: ignore[arg-type]


def _standard(step: StandardScaler, is_sparse: bool) -> Scaler:
    mean = step.mean_ if step.with_mean else None
    scale = step.scale_ if step.with_std else None
    return _scaler(step, is_sparse, ("subtract", mean), ("divide", scale), rounds=True)


def _robust(step: RobustScaler, is_sparse: bool) -> Scaler:
    center = step.center_ if step.with_centering else None
    scale = step.scale_ if step.with_scaling else None
    return _scaler(step, is_sparse, ("subtract", center), ("divide", scale))


def _min_max(step: MinMaxScaler, is_sparse: bool) -> Scaler:
    low, high = step.feature_range if step.clip else (None, None)
    scale, shift = ("multiply", step.scale_), ("add", step.min_)
    return _scaler(step, is_sparse, scale, shift, ("at least", low), ("at most", high))


def _max_abs(step: MaxAbsScaler, is_sparse: bool) -> Scaler:
    low, high = (-1.0, 1.0) if getattr(step, "clip", False) else (None, None)  # since 1.9
    return _scaler(step, is_sparse, ("divide", step.scale_), ("at least", low), ("at most", high))


def _imputer(step: SimpleImputer, name: str) -> Imputer:
    marker, n_in = step.missing_values, step.n_features_in_
    marker = marker.item() if isinstance(marker, np.generic) else marker
    if not (marker is None or isinstance(marker, str | float | int)):
        raise _refused(name, step, f"missing_values={marker!r} is neither a number nor text")
    values = step.statistics_.tolist()
    takes_numbers = isinstance(marker, float | int) and all(isinstance(v, Real) for v in values)
    kept = np.array([v == v or step.keep_empty_features for v in values])
    indicated = step.indicator_.features_ if step.add_indicator else np.empty(0)
    absent = np.full((1, n_in), marker, np.float64 if takes_numbers else object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about features without names, or values
        fill = np.asarray(step.transform(absent), absent.dtype)[0, : kept.sum()]
    return Imputer(
        marker, takes_numbers, n_in, np.flatnonzero(kept), fill, indicated.astype(np.int64)
    )


def _ordinal(step: OrdinalEncoder, name: str) -> Codes:
    codes = []
    for categories, is_rare in _categories_of(step, name):
        is_nan = np.array([value != value for value in categories.tolist()], bool)
        places = _grouped(is_rare & ~is_nan)
        codes.append(np.where(is_nan, step.encoded_missing_value, places))
    is_error = step.handle_unknown == "error"
    unknown = [None if is_error else float(step.unknown_value)] * len(codes)
    return _codes(step, codes, unknown, warns=False)


def _one_hot(step: OneHotEncoder, name: str) -> OneHot:
    codes, unknown, n_out = [], [], 0
    groups_unknown = step.handle_unknown in ("infrequent_if_exist", "warn")
    for column, (_, is_rare) in enumerate(_categories_of(step, name)):
        places = _grouped(is_rare)
        dropped = None if step.drop_idx_ is None else step.drop_idx_[column]
        if dropped is not None:
            of_dropped = places[dropped]
            places = np.where(places == of_dropped, -1, places - (places > of_dropped))
        n_columns = int(places.max()) + 1
        places = np.where(places < 0, -1, places + n_out)
        n_out += n_columns
        rare = places[is_rare]
        of_unknown = float(rare[0]) if groups_unknown and len(rare) else -1.0
        unknown.append(None if step.handle_unknown == "error" else of_unknown)
        codes.append(places)
    warns = step.handle_unknown == "warn" or step.drop is not None
    return OneHot(_codes(step, codes, unknown, warns=warns), n_out)


def _grouped(is_rare: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Give each category a number, those that are rare the same, the last."""
    return np.where(is_rare, (~is_rare).sum(), np.cumsum(~is_rare) - 1)


def _categories_of(step: Any, name: str) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return the categories of each column, and which of them were rare in fit."""
    rare = getattr(step, "infrequent_categories_", [None] * len(step.categories_))
    found = []
    for categories, of_column in zip(step.categories_, rare, strict=True):
        values = categories.tolist()
        if not all(value is None or isinstance(value, str | Real) for value in values):
            raise _refused(name, step, "its categories are neither text nor numbers")
        # NaN is equal to itself as text only.
        as_text = set() if of_column is None else set(map(repr, of_column.tolist()))
        found.append((categories, np.array([repr(value) in as_text for value in values], bool)))
    return found


def _codes(step: Any, codes: Sequence[Any], unknown: list[float | None], *, warns: bool) -> Codes:
    names = getattr(step, "feature_names_in_", range(step.n_features_in_))
    dtype = np.float32 if np.dtype(step.dtype) == np.float32 else np.float64
    as_numbers = [of.astype(dtype) for of in codes]
    categories = [of.copy() for of in step.categories_]
    return Codes(list(map(repr, names)), categories, as_numbers, unknown, warns)


def _columns(step: ColumnTransformer, name: str) -> SideBySide:
    if step.transformer_weights:
        raise _refused(name, step, "it has transformer_weights")
    n_in = step.n_features_in_
    table = pd.DataFrame([np.arange(n_in)], columns=getattr(step, "feature_names_in_", None))
    parts = []
    for of_part, transformer, columns in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        bounds = (columns.start, columns.stop) if isinstance(columns, slice) else columns
        has_names = any(isinstance(entry, str) for entry in np.ravel(bounds).tolist())
        chosen = table.loc[:, columns] if has_names else table.iloc[:, columns]
        positions = np.ravel(chosen.to_numpy())
        if not len(positions):
            continue
        part = f"{name}__{of_part}"
        if isinstance(transformer, ColumnTransformer):
            raise _refused(part, transformer, f"it is a step of another, {name!r}")
        steps, _ = _compiled(transformer, part, False)
        if any(isinstance(each, SideBySide) for each in steps):  # in a pipeline
            raise _refused(part, transformer, "it contains a ColumnTransformer")
        parts.append((positions, steps))
    return SideBySide(n_in, parts)


_SCALERS: Mapping[type, Callable[[Any, bool], Scaler]] = MappingProxyType(
    {
        StandardScaler: _standard,
        RobustScaler: _robust,
        MinMaxScaler: _min_max,
        MaxAbsScaler: _max_abs,
    }
)
_OTHERS: Mapping[type, Callable[[Any, str], Any]] = MappingProxyType(
    {
        SimpleImputer: _imputer,
        OrdinalEncoder: _ordinal,
        OneHotEncoder: _one_hot,
        ColumnTransformer: _columns,
    }
)
_TAKEN = (*_SCALERS, *_OTHERS, Pipeline)
