"""How a class declares its state: types of attributes, and what their values have to satisfy.

An attribute is declared by its annotation. Beside the type, `Annotated` says what the values are::

    kind: Annotated[NDArray[np.int8], Shape(None), In(KINDS.values())]
    feature: Annotated[NDArray[np.int32], Shape("kind"), Below("n_features")]
    share: Annotated[NDArray[np.float32], Shape("label"), Within(0, 1)]

Text stands for a size: an attribute or property of the object, a number or something that has a
length, such as ``"n_labels"``, ``"kind"`` or ``"labels.n_rows"``. :func:`check_type` compares a
value with the type alone, :func:`constraints_of` finds what else is declared.
"""

import types
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeAliasType, Union, get_args, get_origin

import numpy as np

OPTIONAL = "optional"
"""Marks an attribute that an object may lack: ``Annotated[bool, OPTIONAL]``.

A parameter with it gets its default, for files of versions that did not have it.
"""

type Size = int | str | None
"""A number, the name of one, or None for any."""


class Constraint(ABC):
    """A condition on the value of an attribute, besides its type.

    Examples
    --------
    >>> class Even(Constraint):
    ...     def holds(self, value, owner):
    ...         return value % 2 == 0
    >>> constraints_of(Annotated[int, Even()])[0].holds(3, None)
    False
    """

    @abstractmethod
    def holds(self, value: Any, owner: Any) -> bool:
        """Whether it does; `owner` is the object that has the attribute."""


class Shape(Constraint):
    """The lengths of an array, or of a list.

    Examples
    --------
    >>> owner = types.SimpleNamespace(n_labels=2, kind=[0, 0, 1])
    >>> Shape("kind", "n_labels").holds(np.zeros((3, 2)), owner)
    True
    >>> Shape("n_labels").holds([1.0], owner)
    False
    """

    def __init__(self, *lengths: Size) -> None:
        self.lengths = lengths

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether they are the lengths."""
        shape = value.shape if isinstance(value, np.ndarray) else (len(value),)
        return len(shape) == len(self.lengths) and all(
            length is None or size_of(owner, length) == found
            for length, found in zip(self.lengths, shape, strict=True)
        )


@dataclass(frozen=True)
class Below(Constraint):
    """A whole number, or all in an array: an index, at least 0 and below a size.

    Examples
    --------
    >>> Below("labels").holds(np.array([0, 1, -1]), types.SimpleNamespace(labels=["a", "b"]))
    False
    """

    size: int | str

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether it is such an index."""
        indices = np.asarray(value)
        return bool(np.all((indices >= 0) & (indices < size_of(owner, self.size))))


@dataclass(frozen=True)
class Within(Constraint):
    """A number, or all in an array, between two, `low` excluded if it is open; not NaN.

    Examples
    --------
    >>> Within(0, 1).holds(np.array([0.0, np.nan]), None), Within(0, low_open=True).holds(1, None)
    (False, True)
    """

    low: float = -np.inf
    high: float = np.inf
    low_open: bool = False

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether all are between them."""
        values = np.asarray(value)
        above = values > self.low if self.low_open else values >= self.low
        return bool(np.all(above & (values <= self.high)))


class Finite(Constraint):
    """A number, or all in a list or array, neither infinite nor NaN.

    Examples
    --------
    >>> Finite().holds([1.0, np.inf], None)
    False
    """

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether all are finite."""
        return bool(np.isfinite(value).all())


class In(Constraint):
    """All numbers in an array are among some.

    Examples
    --------
    >>> In((0, 1)).holds(np.array([0, 2]), None)
    False
    """

    def __init__(self, values: Iterable[int]) -> None:
        self.values = list(values)

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether they are."""
        return bool(np.isin(value, self.values).all())


@dataclass(frozen=True)
class Starts(Constraint):
    """Where the pieces of another array begin, and its end: ascending, from 0 to its length.

    `pieces` is their number; None for any, at least one.

    Examples
    --------
    >>> owner = types.SimpleNamespace(label=np.array([3, 1, 2]))
    >>> Starts("label", 2).holds(np.array([0, 1, 3]), owner)
    True
    >>> Starts("label", 2).holds(np.array([0, 4, 3]), owner)
    False
    """

    of: str
    pieces: Size = None

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether they are such starts."""
        n_pieces = value.size - 1 if self.pieces is None else size_of(owner, self.pieces)
        return bool(
            value.shape == (n_pieces + 1,)
            and n_pieces >= 0
            and value[0] == 0
            and value[-1] == size_of(owner, self.of)
            and (value[1:] >= value[:-1]).all()
        )


@dataclass(frozen=True)
class Permutation(Constraint):
    """All whole numbers below a size, in any order.

    Examples
    --------
    >>> Permutation(3).holds(np.array([2, 0, 1]), None), Permutation(2).holds(np.zeros(2), None)
    (True, False)
    """

    size: int | str

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether it is one."""
        return np.array_equal(np.sort(value), np.arange(size_of(owner, self.size)))


@dataclass(frozen=True)
class Names(Constraint):
    """An array of this many strings.

    Examples
    --------
    >>> Names(2).holds(np.array(["a", 1], dtype=object), None)
    False
    """

    size: int | str

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether they are."""
        return value.shape == (size_of(owner, self.size),) and all(
            isinstance(name, str) for name in value
        )


class Of(Constraint):
    """A part, or each in a list, has sizes of the object: ``Of(n_labels="n_labels_")``.

    Examples
    --------
    >>> owner = types.SimpleNamespace(n_labels_=3)
    >>> Of(n_labels="n_labels_").holds([types.SimpleNamespace(n_labels=2)], owner)
    False
    """

    def __init__(self, **sizes: int | str) -> None:
        self.sizes = sizes

    def holds(self, value: Any, owner: Any) -> bool:
        """Whether they have."""
        return all(
            size_of(part, name) == size_of(owner, size)
            for part in (value if isinstance(value, list) else [value])
            for name, size in self.sizes.items()
        )


def size_of(owner: Any, size: int | str) -> int:
    """Return a size that is a number, or that of an object by its name.

    Examples
    --------
    >>> size_of(types.SimpleNamespace(labels=["a", "b"]), "labels")
    2
    """
    found = attrgetter(size)(owner) if isinstance(size, str) else size
    return int(found) if isinstance(found, int | np.integer) else len(found)


def constraints_of(annotation: Any) -> list[Constraint]:
    """Collect what an annotation says beside the type.

    Examples
    --------
    >>> constraints_of(Annotated[int, Below(3), OPTIONAL])
    [Below(size=3)]
    """
    annotation = _without_alias(annotation)
    if get_origin(annotation) is not Annotated:
        return []
    return [entry for entry in annotation.__metadata__ if isinstance(entry, Constraint)]


def is_optional(annotation: Any) -> bool:
    """Whether an object may lack an attribute with this annotation.

    Examples
    --------
    >>> is_optional(Annotated[int, OPTIONAL]), is_optional(int)
    (True, False)
    """
    return get_origin(annotation) is Annotated and OPTIONAL in annotation.__metadata__


def check_type(value: object, annotation: Any, place: str) -> None:
    """Raise a TypeError, which says what `place` is, unless a value has a type.

    A whole number counts as a float, a truth value as neither. For a protocol, the value's class
    has to name it as a base.

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
        raise TypeError(f"{place} is {with_article(what)}")


def with_article(noun: str) -> str:
    """Put "a" or "an" before a noun or the name of a class.

    Examples
    --------
    >>> with_article("InputForm"), with_article("str")
    ('an InputForm', 'a str')
    """
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def _fits(value: Any, annotation: Any) -> bool:
    annotation = _without_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return True
    if annotation is None:
        return value is None
    if origin is Annotated:
        return _fits(value, arguments[0])
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
        kinds = list if origin is list else list | tuple
        return isinstance(value, kinds) and all(_fits(entry, arguments[0]) for entry in value)
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
    if getattr(annotation, "_is_protocol", False):
        return annotation in type(value).__mro__
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
