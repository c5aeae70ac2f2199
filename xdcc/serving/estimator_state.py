"""An estimator as plain JSON, with its arrays and boosters apart.

:func:`take_apart` turns an object of a registered class (:mod:`xdcc.base.stored`) into what a JSON
file can store, and :func:`put_together` turns it back. Objects are numbered, and each refers only
to earlier ones. So an object that occurs twice is stored once, and is one object again. Numbers,
strings, truth values, None and lists are stored as they are. Anything else is a JSON object with
one key, its kind:

=============  ====================================================================
kind           content
=============  ====================================================================
``"float"``    ``"nan"``, ``"inf"`` or ``"-inf"``, which JSON does not have
``"tuple"``    its entries
``"dict"``     pairs of key and value, since keys need not be strings
``"array"``    the number of a NumPy array of numbers or text
``"values"``   shape and entries of a NumPy array of objects
``"booster"``  the number of a booster
``"object"``   the number of an object of a registered class
=============  ====================================================================
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.lazy_import import PUBLIC, import_package
from xdcc.base.libraries import sklearn, xgb
from xdcc.base.stored import stored_class, stored_classes, stored_name
from xdcc.base.stored_types import with_article
from xdcc.serving.archive import KINDS

type Upgrade = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]

_OF_COMPILED_MODELS = "xdcc.serving.compiled_classes"
_OF_ESTIMATORS = "xdcc.serving.all_classes"
"""Modules that register classes."""

_FOR_FIT = {"members": None, "rules": "auto"}
"""Parameters that only `fit` needs, and values that a file can hold."""


@dataclass
class State:
    """An object, taken apart.

    Attributes
    ----------
    objects : list
        Class and attributes of every object of a registered class, as JSON; the last one is the
        whole.
    arrays : sequence of arrays
        Their arrays.
    boosters : sequence of xgboost.Booster
        Their boosters.
    """

    objects: list[Any] = field(default_factory=list)
    arrays: Sequence[NDArray[Any]] = ()
    boosters: "Sequence[xgb.Booster]" = ()


def take_apart(value: Any) -> State:
    """Turn an object of a registered class into JSON, arrays and boosters.

    NumPy scalars become Python's own; a generator of random numbers, a splitter and callbacks
    become None.
    Raises a TypeError, which says what and where, if something cannot be stored.
    """
    import_module(_OF_ESTIMATORS)  # parts of one may be of any class
    apart = _TakenApart()
    apart.reference(value, type(value).__name__)
    return State(apart.objects, apart.arrays, apart.boosters)


def put_together(state: State, upgrade: Upgrade = lambda _, attributes: attributes) -> Any:
    """Turn the result of :func:`take_apart` back into an object: the last one.

    `upgrade` makes the attributes of today of those that an earlier version stored, by the name of
    the class. The objects of `state` are not trusted. Raises a TypeError or ValueError if a class,
    attribute or kind of value is unknown, or something does not fit.
    """
    if not isinstance(state.objects, list) or not state.objects:
        raise ValueError("there are no objects")
    described = [_fields(entry, "class", "attributes") for entry in state.objects]
    _import_classes(name for name, _ in described)
    made: list[Any] = []
    for name, attributes in described:
        if not isinstance(attributes, dict):
            raise ValueError(f"the attributes of {with_article(name)} are not a mapping")
        values = {key: _value(of_key, state, made) for key, of_key in attributes.items()}
        made.append(stored_class(stored_classes()[name]).make(upgrade(name, values)))
    return made[-1]


def _import_classes(names: Iterable[Any]) -> None:
    """Import what registers the classes named in a file, and stop if one is unknown.

    Most files name an estimator of the package, or a compiled model. If parts are still missing,
    all estimators are imported. A file never says what else to import: other classes have to be
    registered before it is read.
    """
    wanted = dict.fromkeys(name if isinstance(name, str) else repr(name) for name in names)
    for name in wanted.keys() & PUBLIC.keys():
        getattr(import_package(PUBLIC[name]), name)
    for modules in (_OF_COMPILED_MODELS, _OF_ESTIMATORS):
        if not wanted.keys() <= stored_classes().keys():
            import_module(modules)
    for name in wanted:
        if name not in stored_classes():
            hint = ": import the module that registers it" if "." in name else ""
            raise ValueError(f"{name!r} is not a known class{hint}")


class _TakenApart:
    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.arrays: list[NDArray[Any]] = []
        self.boosters: list[xgb.Booster] = []
        self._numbers: dict[int, int] = {}

    def reference(self, value: Any, place: str) -> Any:
        if id(value) not in self._numbers:
            attributes = {
                key: self.plain(entry, f"{place}.{key}")
                for key, entry in stored_class(type(value)).attributes_of(value).items()
            }
            self._numbers[id(value)] = len(self.objects)
            name = stored_name(type(value))
            self.objects.append({"class": name, "attributes": attributes})
        return {"object": self._numbers[id(value)]}

    def plain(self, value: Any, place: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.random.RandomState) or _are_callbacks(value):
            return None
        if stored_name(type(value)) is not None:
            return self.reference(value, place)
        if isinstance(value, list):
            return [self.plain(entry, place) for entry in value]
        if isinstance(value, tuple):
            return {"tuple": [self.plain(entry, place) for entry in value]}
        if isinstance(value, dict):
            pairs = [
                [self.plain(key, place), self.plain(entry, place)] for key, entry in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            entries = [self.plain(entry, place) for entry in value.ravel().tolist()]
            return {"values": {"shape": list(value.shape), "entries": entries}}
        if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
            return {"array": self._number(value, self.arrays)}
        if isinstance(value, xgb.Booster):
            return {"booster": self._number(value, self.boosters)}
        if hasattr(value, "get_n_splits"):  # a splitter, which makes folds in `fit` only
            return None
        raise TypeError(_cannot_be_stored(value, place))

    def _number(self, value: Any, kept: list[Any]) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(kept)
            kept.append(value)
        return self._numbers[id(value)]


def _are_callbacks(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(entry, xgb.callback.TrainingCallback) for entry in value
    )


def _cannot_be_stored(value: Any, place: str) -> str:
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    if isinstance(value, type):
        kind = f"the class {value.__name__}"
    path = place.split(".")[1:]
    for name, default in _FOR_FIT.items():
        if name in path:
            param = "__".join(path[: path.index(name) + 1])
            return (
                f"{place} holds {kind}, which a model file cannot store. Only `fit` needs {name}: "
                f"set_params({param}={default!r}) before saving."
            )
    if isinstance(value, sklearn.base.BaseEstimator):
        library = type(value).__module__.partition(".")[0]
        return (
            f"{place} is {with_article(kind)} of {library}. What it has learned can only be "
            "pickled, and reading a pickle runs code, so a model file cannot store it. Use joblib "
            "for such a model, or build it on an estimator of xdcc or on xgboost.XGBClassifier."
        )
    return (
        f"{place} holds {kind}, which a model file cannot store. It can store numbers, strings, "
        "None, boosters, and lists, tuples, dictionaries and NumPy arrays of them."
    )


def _value(value: Any, state: State, made: Sequence[Any]) -> Any:
    if isinstance(value, list):
        return [_value(entry, state, made) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError("a value does not have exactly one kind")
    [(kind, content)] = value.items()
    match kind:
        case "float" if content in ("nan", "inf", "-inf"):
            return float(content)
        case "tuple" if isinstance(content, list):
            return tuple(_value(entry, state, made) for entry in content)
        case "dict" if isinstance(content, list):
            return dict(_pair(pair, state, made) for pair in content)
        case "array":
            return _numbered(state.arrays, content)
        case "values":
            return _array_of_objects(content, state, made)
        case "booster":
            return _numbered(state.boosters, content)
        case "object":
            return _numbered(made, content)
    raise ValueError(f"{kind!r} is not a kind of value, or its content is invalid")


def _pair(pair: Any, state: State, made: Sequence[Any]) -> tuple[Any, Any]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError("an entry of a dictionary is not a pair")
    key, entry = pair
    return _value(key, state, made), _value(entry, state, made)


def _array_of_objects(content: Any, state: State, made: Sequence[Any]) -> NDArray[np.object_]:
    shape, entries = _fields(content, "shape", "entries")
    if not (isinstance(shape, list) and isinstance(entries, list)):
        raise ValueError("the shape or the entries of an array are not a list")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"an array has the shape {shape}")
    if len(shape) > 64 or math.prod(shape) != len(entries):
        raise ValueError(f"an array of shape {shape} has {len(entries)} entries")
    array = np.empty(len(entries), dtype=object)
    array[:] = [_value(entry, state, made) for entry in entries]
    return array.reshape(shape)


def _fields(value: Any, *names: str) -> list[Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"{' and '.join(names)} were expected")
    return [value[name] for name in names]


def _numbered(values: Sequence[Any], number: Any) -> Any:
    if type(number) is not int or not 0 <= number < len(values):
        raise ValueError(f"the number {number!r} was found, of {len(values)}")
    return values[number]
