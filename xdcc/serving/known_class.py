"""``KnownClass``: what a model file can hold of a class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, get_origin, get_type_hints

from xdcc.serving.part_checks import check_part, check_type

_LEFT_OUT = frozenset({"_metadata_request", "_sklearn_output_config", "_nodes"})
"""Requests about arguments of `fit`, which no longer matter, what `set_output` has set, and nodes
of random trees as the kernel reads them.
"""


@dataclass(frozen=True)
class KnownClass:
    """A class whose objects a file can hold.

    Attributes
    ----------
    cls : type
        The class.
    attributes : mapping of str to type
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
    check : callable
        Raises a ValueError if the attributes of an object do not fit together.
    """

    cls: type
    attributes: Mapping[str, Any]
    fitted: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    constructed: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Any], None] = check_part

    def attributes_of(self, value: Any) -> dict[str, Any]:
        """Return the attributes of an object; raise a TypeError if one is unknown."""
        if self.constructed:
            return {name: getattr(value, name) for name in self.attributes}
        found = {name: entry for name, entry in vars(value).items() if name not in _LEFT_OUT}
        for name in found:
            if name not in {*self.attributes, *self.fitted, *self.optional}:
                raise TypeError(
                    f"This {self.cls.__name__} has an attribute {name!r} that the class does not "
                    "define. A model file cannot store it: delete the attribute first."
                )
        return found

    def make(self, attributes: Mapping[str, Any]) -> Any:
        """Make an object from its attributes.

        Raises a TypeError or ValueError if an attribute is unknown, missing, of another type, or
        inconsistent with the others.
        """
        types = {**self.attributes, **self.fitted, **self.optional}
        later = {name: self.defaults[name] for name in self.defaults if name not in attributes}
        attributes = {**attributes, **later}
        for name, entry in attributes.items():
            if name not in types:
                raise ValueError(f"a {self.cls.__name__} has no attribute {name!r}")
            check_type(entry, types[name], f"{name} of a {self.cls.__name__}")
        is_fitted = any(name in attributes for name in self.fitted)
        for name in (*self.attributes, *(self.fitted if is_fitted else ())):
            if name not in attributes:
                raise ValueError(f"a {self.cls.__name__} lacks its {name}")
        value: Any = self.cls(**attributes) if self.constructed else object.__new__(self.cls)
        if not self.constructed:
            for name, entry in attributes.items():
                object.__setattr__(value, name, entry)
        if is_fitted or not self.fitted:
            self.check(value)
        return value


def known_part(
    cls: type, *, constructed: bool = False, narrower: Mapping[str, Any] = MappingProxyType({})
) -> KnownClass:
    """Describe a part of an estimator by its `_stored`, or by its fields.

    `narrower` has types of attributes that are interfaces in the class, and closed in a file.
    """
    stored = vars(cls).get("_stored")
    if stored is None:
        hints = get_type_hints(cls)
        stored = {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}
    stored = {**stored, **narrower}
    if constructed:
        return KnownClass(cls, stored, constructed=True)
    # Fields with a default, which files of an earlier version may lack.
    optional = {name: hint for name, hint in stored.items() if hasattr(cls, name)}
    fields = {name: hint for name, hint in stored.items() if name not in optional}
    return KnownClass(cls, fields, optional=optional)
