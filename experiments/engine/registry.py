"""The kinds of small file: what a method and a data set are, and how they are found.

Every module in `experiments/methods` holds a `METHOD`, whose name is the module's, or a dictionary
`METHODS` of several that are alike, every module in `experiments/datasets` a dictionary
`DATASETS`. `methods()` and `datasets()` import them all. Who asks for a name that is not known is
told the nearest ones.
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
from numpy.typing import NDArray

from xdcc.data import MultiLabelDataset


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of the known names, or all if none is near.

    Parameters
    ----------
    name : str
        What was asked for.
    known : iterable of str
        What there is.
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    near += [other for other in names if name and name in other and other not in near]
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    return f"There are: {', '.join(names)}."


type Params = dict[str, Any]
type Labels = NDArray[np.integer]


@dataclass(frozen=True)
class Split:
    """What a reading may see: the training part, and the features of the rows to predict."""

    train: MultiLabelDataset  # what the model was trained on
    X: Any  # the rows to predict


type Reading = Callable[[Any, Split], Labels | Iterable[Labels]]
"""Predicts labels `(n_samples, n_labels)` with a trained model, or an iterable of them: what it
predicts after each of its stages (rounds of a chain, for instance), the final prediction last."""


def predicted_labels(model: Any, split: Split) -> Labels:
    """Return what `predict` does: the reading of a method that has only one."""
    return model.predict(split.X)


@dataclass(frozen=True)
class Method:
    """A method: how its estimator is built, tuned, trained and read."""

    title: str  # what it is, in a few words
    reference: str  # the paper or project that it comes from
    # `build(train, seed, **params)` returns an estimator for this training part; `train` is a
    # `MultiLabelDataset`, of which only dimensions and feature types should be used.
    build: Callable[..., Any]
    # Parameters that hold unless a configuration says otherwise.
    params: Params = field(default_factory=dict)
    # Values to tune: a configuration draws from their product, unless it has a grid of its own.
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    # The ways to predict with one trained model; the first is the default.
    readings: Mapping[str, Reading] = field(default_factory=lambda: {"labels": predicted_labels})
    # `fit(model, train)` trains and returns measurements (times) to keep; None calls `fit(X, Y)`.
    fit: Callable[[Any, MultiLabelDataset], dict[str, Any]] | None = None
    # Measures of probabilities: `score(model, split, Y)` with the true labels, after all readings;
    # one that is named `<measure>@<reading>` is of that reading alone.
    scores: Mapping[str, Callable[[Any, Split, Any], float]] = field(default_factory=dict)
    # `details(model, X, Y)`: what a figure needs, as JSON; kept for final models only.
    details: Callable[[Any, Any, Any], dict[str, Any]] | None = None
    requires: tuple[str, ...] = ()  # modules without which the method is listed as not installed
    # To be raised when the method's file changes what comes out for the same parameters: its
    # records are made again.
    revision: int = 1
    name: str = ""  # name of the file, or in its dictionary; set when it is found

    def missing(self) -> list[str]:
        """Return the required modules that are not installed."""
        return [module for module in self.requires if find_spec(module) is None]


@dataclass(frozen=True)
class DataSet:
    """A data set: how it is loaded."""

    # `load("train")`, `load("test")` and `load(None)`, the whole; returns a `MultiLabelDataset`.
    load: Callable[[Any], MultiLabelDataset]
    reference: str  # where it comes from
    has_split: bool = True  # whether it is published with a training and a test part


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
    """Return a method; `UnknownNameError` names the nearest ones."""
    return _lookup("method", name, methods())


def dataset(name: str) -> DataSet:
    """Return a data set; `UnknownNameError` names the nearest ones."""
    return _lookup("data set", name, datasets())


def _lookup[T](kind: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownNameError(f"Unknown {kind} {name!r}. {suggestion(name, known)}")
    return known[name]


def _modules(package: str) -> list[ModuleType]:
    path = importlib.import_module(package).__path__
    names = sorted(info.name for info in pkgutil.iter_modules(path))
    return [importlib.import_module(f"{package}.{name}") for name in names]
