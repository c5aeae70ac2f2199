"""Whether a value is of the type that an annotation says, for what comes out of a file.

Annotations are those of the package's own classes: plain types, arrays of a type, lists,
dictionaries and tuples of types, alternatives.
"""

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAliasType, Union, get_args, get_origin

import numpy as np


def check_type(value: object, annotation: Any, place: str) -> None:
    """Stop if a value is of another type.

    Parameters
    ----------
    value : object
        The value.
    annotation : type, alias or union
        What it has to be. A whole number counts as a float, a truth value as neither.
    place : str
        What the value is, for the message.

    Raises
    ------
    TypeError
        If it is something else.

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
            what = f"{what} of other things than expected"
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
