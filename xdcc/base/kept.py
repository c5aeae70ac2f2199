"""``kept``: things that are made of a fitted object when they are first needed.

They are not attributes of the object: it is printed, compared, copied, pickled and stored without
them, and they are freed with it.
"""

from collections.abc import Callable
from operator import is_
from typing import Any
from weakref import ref

_KEPT: dict[int, tuple[Any, dict[str, tuple[tuple[Any, ...], Any]]]] = {}
"""By the `id` of the owner, with a reference to it that does not keep it alive."""

_PLAIN = frozenset({int, float, str, bool})


def kept[T](owner: Any, name: str, made_from: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return the thing made earlier for an object, or make it anew if its source has changed.

    Parameters
    ----------
    owner : object
        The object. What is made must not refer to it.
    name : str
        Tells things of one object apart.
    made_from : tuple
        What it is made from. Numbers and text are compared by value, other objects by identity.
    make : callable
        Called without arguments.

    Returns
    -------
    object
        What `make` returned.

    Examples
    --------
    >>> class Model:
    ...     trees = [1, 2]
    >>> model = Model()
    >>> kept(model, "sum", (model.trees, 2), lambda: sum(model.trees))
    3
    >>> kept(model, "sum", (model.trees, 2), lambda: 1 / 0)
    3
    """
    entry = _KEPT.get(id(owner))
    if entry is None or entry[0]() is not owner:
        number = id(owner)
        entry = _KEPT[number] = ref(owner, lambda gone: _free(number, gone)), {}
    found = entry[1].get(name)
    if found is None or not _are_same(found[0], made_from):
        found = entry[1][name] = (made_from, make())
    return found[1]


def forget(owner: Any, name: str) -> None:
    """Free the thing that was made for an object, if there is one.

    Examples
    --------
    >>> class Model:
    ...     pass
    >>> model = Model()
    >>> forget(model, kept(model, "sum", (), lambda: "sum"))
    >>> kept(model, "sum", (), lambda: "another sum")
    'another sum'
    """
    entry = _KEPT.get(id(owner))
    if entry is not None and entry[0]() is owner:
        entry[1].pop(name, None)


def _free(number: int, gone: Any) -> None:
    """Free what was made for an owner, unless its number has a new owner already."""
    entry = _KEPT.get(number)
    if entry is not None and entry[0] is gone:
        del _KEPT[number]


def _are_same(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    if len(before) != len(now):
        return False
    if all(map(is_, before, now)):
        return True
    for one, other in zip(before, now, strict=True):
        if one is not other and not (
            type(one) in _PLAIN and type(other) in _PLAIN and one == other
        ):
            return False
    return True
