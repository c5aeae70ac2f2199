"""Methods and data sets: what their small files define, and how they are found.

Every module in `experiments/methods` holds a `METHOD`, whose name is the module's, or a dictionary
`METHODS` of several that are alike, every module in `experiments/datasets` a dictionary
`DATASETS`. `methods()` and `datasets()` import them all. The error for an unknown name suggests
similar names.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.data import MultiLabelDataset


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests similar known names, or lists all if none is similar.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        The known names.
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    near += [other for other in names if name and name in other and other not in near]
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    return f"Choose from {', '.join(names)}."


type Params = dict[str, Any]
type Labels = NDArray[np.integer]


@dataclass(frozen=True)
class Split:
    """Input of a decision rule: the training part, and the features of the rows to predict."""

    train: MultiLabelDataset  # what the model was trained on
    X: Any  # the rows to predict


type DecisionRule = Callable[[Any, Split], Labels | Iterable[Labels]]
"""A decision rule: predicts labels `(n_samples, n_labels)` with a trained model, or an iterable of
the predictions after each stage (for example chain step), the final one last."""


def predicted_labels(model: Any, split: Split) -> Labels:
    """Return the labels of `predict`: the only decision rule of most methods."""
    return model.predict(split.X)


@dataclass(frozen=True)
class Method:
    """A method: how its estimator is built, tuned, trained and used to predict."""

    title: str  # a few words
    reference: str  # its paper or project
    # `build(train, seed, **params)` returns an estimator for this training part. It should use only
    # the dimensions and feature types of `train`, a `MultiLabelDataset`.
    build: Callable[..., Any]
    # Parameters that a configuration may replace.
    params: Params = field(default_factory=dict)
    # Values to tune: a configuration draws from their product, unless it has its own grid.
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    # The decision rules for one trained model; the first is the default.
    rules: Mapping[str, DecisionRule] = field(default_factory=lambda: {"labels": predicted_labels})
    # `fit(model, train)` trains and returns measurements (times) to keep; None calls `fit(X, Y)`.
    fit: Callable[[Any, MultiLabelDataset], dict[str, Any]] | None = None
    # Metrics of probabilities: `score(model, split, Y)` with the true labels, after all rules.
    # A score named `<measure>@<rule>` belongs to that rule only.
    scores: Mapping[str, Callable[[Any, Split, Any], float]] = field(default_factory=dict)
    # `details(model, X, Y)`: what a figure needs, as JSON; kept for final models only.
    details: Callable[[Any, Any, Any], dict[str, Any]] | None = None
    requires: tuple[str, ...] = ()  # modules without which the method is listed as not installed
    # Increase it when the method's file changes the results for the same parameters: its records
    # are then made again.
    revision: int = 1
    name: str = ""  # name of the file, or in its dictionary; set when it is found

    def missing(self) -> list[str]:
        """Return the required modules that are not installed."""
        return [module for module in self.requires if find_spec(module) is None]


@dataclass(frozen=True)
class DataSet:
    """A data set and how it is loaded."""

    # `load("train")`, `load("test")` and `load(None)`, the whole; returns a `MultiLabelDataset`.
    load: Callable[[Any], MultiLabelDataset]
    reference: str  # its source
    has_split: bool = True  # whether it has a published training and test part
    as_frame: bool = False  # whether methods get X as a DataFrame, with columns of type category

    def features(self, data: MultiLabelDataset) -> Any:
        """Return X of a part in the form that methods get.

        Examples
        --------
        >>> from experiments.datasets.category_tables import DATASETS
        >>> tiny = DATASETS["categories-tiny"]
        >>> tiny.features(tiny.load(None)[:3]).dtypes.astype(str).tolist()
        ['float64', 'float64', 'category', 'category']
        """
        if not self.as_frame:
            return data.X
        columns = zip(data.feature_names, data.X.T, data.categories, strict=True)
        return pd.DataFrame(
            {
                name: column if levels is None else _categorical(column, levels)
                for name, column, levels in columns
            }
        )


def _categorical(codes: NDArray[np.float64], levels: tuple[str, ...]) -> pd.Categorical:
    known = np.where(np.isnan(codes), -1, codes).astype(np.intp)
    return pd.Categorical.from_codes(known, categories=list(levels))


class UnknownNameError(ValueError):
    """A data set, method or configuration that does not exist."""


@cache
def methods() -> dict[str, Method]:
    """Return all methods by name.

    Raises
    ------
    TypeError
        If a file in `experiments/methods` has neither `METHOD` nor `METHODS`.
    """
    found = {}
    for module in _modules("experiments.methods"):
        alone = {module.__name__.rpartition(".")[2]: getattr(module, "METHOD", None)}
        for name, method in getattr(module, "METHODS", alone).items():
            if not isinstance(method, Method):
                raise TypeError(f"{module.__file__} has no METHOD, an instance of Method")
            found[name] = replace(method, name=name)
    return found


@cache
def datasets() -> dict[str, DataSet]:
    """Return all data sets by name.

    Raises
    ------
    TypeError
        If a file in `experiments/datasets` has no `DATASETS`.
    """
    found: dict[str, DataSet] = {}
    for module in _modules("experiments.datasets"):
        group = getattr(module, "DATASETS", None)
        if not isinstance(group, dict):
            raise TypeError(f"{module.__file__} has no DATASETS, a dictionary of DataSet")
        found |= group
    return found


def method(name: str) -> Method:
    """Return a method; `UnknownNameError` suggests similar names."""
    return lookup("method", name, methods())


def dataset(name: str) -> DataSet:
    """Return a data set; `UnknownNameError` suggests similar names."""
    return lookup("data set", name, datasets())


def lookup[T](kind: str, name: str, known: Mapping[str, T]) -> T:
    """Return what has a name; `UnknownNameError` names its kind and suggests similar names."""
    if name not in known:
        raise UnknownNameError(f"Unknown {kind} {name!r}. {suggestion(name, known)}")
    return known[name]


def _modules(package: str) -> list[ModuleType]:
    path = importlib.import_module(package).__path__
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    return [importlib.import_module(f"{package}.{name}") for name in names]
