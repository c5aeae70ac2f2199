"""The classes whose objects a model file can hold: each registers itself by :func:`stored`.

A file stores an object as the name of its class and its attributes. A class declares these, with
their types and what their values have to satisfy (``stored_types.py``), by annotations:

- a dataclass or named tuple by its fields;
- an estimator by what `fit` sets, annotations without a value (with :func:`learned` in a class
  whose fields are parameters); its parameters are stored, too, whatever they are;
- any other class by its annotations.

A method ``_check_state`` checks what no declaration can say. Only objects of registered classes are
made from a file, with declared state; a subclass has to register itself, too.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_origin, get_type_hints

from xdcc.base.state_checks import require
from xdcc.base.stored_types import check_type, constraints_of, is_optional, with_article

_PACKAGE = "xdcc"

_CLASSES: dict[str, type] = {}
_NAMES: dict[type, str] = {}
_DECLARED_APART: dict[type, tuple[list[str], Mapping[str, Any]]] = {}
"""Parameters and annotations of classes of other libraries."""

_REQUIRED = inspect.Parameter.empty

_LEFT_OUT = frozenset({"_metadata_request", "_sklearn_output_config"})
"""Requests about arguments of `fit`, which no longer matter, and what `set_output` has set."""


def stored[T](cls: type[T]) -> type[T]:
    """Let model files hold objects of a class, as a decorator.

    Classes outside of xdcc can use it, too. A file names them with their module, which has to be
    imported before :func:`xdcc.serving.load_model`: no file can have a module imported.

    Parameters
    ----------
    cls : type
        A class that declares its state by annotations.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If another class has this name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from xdcc.base.stored_types import Within
    >>> @stored
    ... @dataclass(frozen=True)
    ... class Temperature:
    ...     kelvin: Annotated[float, Within(0)]
    >>> stored_class(Temperature).make({"kelvin": 300.0})
    Temperature(kelvin=300.0)
    >>> stored_class(Temperature).make({"kelvin": -1.0})
    Traceback (most recent call last):
    ValueError: kelvin does not fit the rest of the model
    """
    is_own = cls.__module__.startswith(f"{_PACKAGE}.")
    _register(cls, cls.__name__ if is_own else f"{cls.__module__}.{cls.__qualname__}")
    return cls


def store_other(cls: type, name: str, params: Iterable[str], declared: Mapping[str, Any]) -> None:
    """Let model files hold estimators of another library.

    Parameters
    ----------
    cls : type
        The class.
    name : str
        Its name in files.
    params : iterable of str
        Names of its parameters, which are stored whatever their type.
    declared : mapping of str to type
        Annotations of its fitted attributes.

    Examples
    --------
    >>> class OfAnotherLibrary:
    ...     def __init__(self, strategy):
    ...         self.strategy = strategy
    >>> store_other(OfAnotherLibrary, "example.Other", ["strategy"], {"n_classes_": int})
    >>> stored_class(OfAnotherLibrary).fitted
    {'n_classes_': <class 'int'>}
    """
    _DECLARED_APART[cls] = list(params), declared
    _register(cls, name)


def _register(cls: type, name: str) -> None:
    before = _CLASSES.get(name, cls)
    # A class can be defined again, in a notebook.
    if (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"model files already know {name!r}: {before.__module__}.")
    _NAMES.pop(before, None)
    _CLASSES[name], _NAMES[cls] = cls, name


def stored_name(cls: type) -> str | None:
    """Return the name of a class in files; None if they cannot hold it.

    Examples
    --------
    >>> stored_name(dict) is None
    True
    """
    return _NAMES.get(cls)


def stored_classes() -> Mapping[str, type]:
    """Return the classes that are registered, by their names in files.

    Examples
    --------
    >>> from xdcc.decision.rules import LabelWise
    >>> stored_classes()["LabelWise"] is LabelWise
    True
    """
    return MappingProxyType(_CLASSES)


def learned(*, init: Literal[False] = False) -> Any:
    """Declare what `fit` sets, in a class whose other fields are parameters.

    Examples
    --------
    >>> from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
    >>> @declares_parameters
    ... class Constant(MultiLabelEstimator):
    ...     alpha: float = 1.0
    ...     frequencies_: list[float] = learned()
    >>> Constant(), hasattr(Constant(), "frequencies_")
    (Constant(), False)
    """
    return field(init=init)


@dataclass(frozen=True)
class StoredClass:
    """A class whose objects a file can hold.

    Attributes
    ----------
    cls : type
        The class.
    params : mapping of str to type
        Attributes that every object has.
    fitted : mapping of str to type
        Attributes that every fitted estimator has.
    optional : mapping of str to type
        Attributes that an object may have.
    constructed : bool
        Whether objects are made by calling the class with their attributes. Otherwise all
        attributes of an object are stored, and set as they were.
    defaults : mapping of str to object
        Defaults of parameters that a file of an earlier version lacks.

    Examples
    --------
    >>> from xdcc.linear.logistic import Penalty
    >>> known = stored_class(Penalty)
    >>> known.attributes_of(Penalty(2.0))
    {'l2': 2.0, 'l2_intercept': 0.04, 'tol': 1e-11, 'max_iter': 500}
    >>> known.make({"l2": "2"})
    Traceback (most recent call last):
    TypeError: l2 of a Penalty is a str
    """

    cls: type
    params: Mapping[str, Any] = field(default_factory=dict)
    fitted: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    constructed: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, Any]:
        """All attributes."""
        return {**self.params, **self.fitted, **self.optional}

    def attributes_of(self, value: Any) -> dict[str, Any]:
        """Return the attributes of an object; raise a TypeError if one is not declared."""
        types, found = self.types, getattr(value, "__dict__", {})
        derived = {each.name for each in fields(self.cls)} if is_dataclass(self.cls) else ()
        for name in found:
            is_derived = self.constructed and (name.startswith("_") or name in derived)
            if name not in types and name not in _LEFT_OUT and not is_derived:
                raise TypeError(
                    f"This {self.cls.__name__} has an attribute {name!r} that the class does not "
                    "declare. A model file cannot store it: delete the attribute first."
                )
        if self.constructed:
            return {name: getattr(value, name) for name in types}
        return {name: entry for name, entry in found.items() if name not in _LEFT_OUT}

    def make(self, attributes: Mapping[str, Any]) -> Any:
        """Make an object from its attributes.

        Raises a TypeError or ValueError if an attribute is unknown, missing, of another type, or
        inconsistent with the others.
        """
        types, kind = self.types, with_article(self.cls.__name__)
        for name, entry in attributes.items():
            if name not in types:
                raise ValueError(f"{kind} has no attribute {name!r}")
            check_type(entry, types[name], f"{name} of {kind}")
        later = {name: self.defaults[name] for name in self.defaults if name not in attributes}
        attributes = {**attributes, **later}
        is_fitted = any(name in attributes for name in self.fitted)
        for name in (*self.params, *(self.fitted if is_fitted else ())):
            if name not in attributes:
                raise ValueError(f"{kind} lacks its {name}")
        value: Any = self.cls(**attributes) if self.constructed else object.__new__(self.cls)
        if not self.constructed:
            for name, entry in attributes.items():
                object.__setattr__(value, name, entry)
        if is_fitted or not self.fitted:
            check_state(value)
        return value


def stored_class(cls: type) -> StoredClass:
    """Return what a class declares.

    Examples
    --------
    >>> from xdcc.linear.logistic import Penalty
    >>> list(stored_class(Penalty).params), list(stored_class(Penalty).optional)
    (['l2'], ['l2_intercept', 'tol', 'max_iter'])
    """
    return _described(cls)


@cache
def _described(cls: Any) -> StoredClass:
    """Read what a class declares, once."""
    if cls in _DECLARED_APART:
        names, declared = _DECLARED_APART[cls]
        return StoredClass(cls, dict.fromkeys(names, Any), *_split(declared))
    declared = {
        name: annotation
        for name, annotation in get_type_hints(cls, include_extras=True).items()
        if get_origin(annotation) is not ClassVar
    }
    of_init = inspect.signature(cls).parameters
    if hasattr(cls, "_get_param_names"):  # as scikit-learn's estimators have
        names = cls._get_param_names()
        later = [name for name in names if is_optional(declared.get(name))]
        state = {
            name: annotation
            for name, annotation in declared.items()
            if name not in names and (is_optional(annotation) or not hasattr(cls, name))
        }
        defaults = {name: of_init[name].default for name in later}
        return StoredClass(cls, dict.fromkeys(names, Any), *_split(state), defaults=defaults)
    if is_dataclass(cls) or issubclass(cls, tuple):
        declared = {name: declared[name] for name in of_init}
    if declared.keys() != of_init.keys():
        required, optional = _split(declared)
        return StoredClass(cls, required, optional=optional)
    fields_ = {n: one for n, one in declared.items() if of_init[n].default is _REQUIRED}
    others = {n: one for n, one in declared.items() if n not in fields_}
    return StoredClass(cls, fields_, optional=others, constructed=True)


def _split(declared: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part attributes into those that every object has, and those that it may lack."""
    required = {name: one for name, one in declared.items() if not is_optional(one)}
    return required, {name: one for name, one in declared.items() if name not in required}


def check_state(value: Any) -> None:
    """Raise a ValueError if the attributes of an object do not fit together.

    Parts of an estimator whose size depends on others are checked with the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from xdcc.decision.calibration import ConstantLabels
    >>> check_state(ConstantLabels(np.zeros(2), np.zeros(3)))
    Traceback (most recent call last):
    ValueError: proba does not fit the rest of the model
    """
    for name, annotation in stored_class(type(value)).types.items():
        entry = getattr(value, name, None)
        for constraint in constraints_of(annotation) if entry is not None else ():
            require(constraint.holds(entry, value), name)
    check = getattr(value, "_check_state", None)
    if check is not None:
        check()
