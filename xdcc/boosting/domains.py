"""Domains: which values a parameter can have, as a check and in words.

``domain.accepts(value)`` answers for a value, ``str(domain)`` says what is accepted;
:func:`check_domain` makes an error message of the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np


@dataclass(frozen=True)
class Number:
    """A real or whole number within bounds."""

    low: float = -np.inf
    high: float = np.inf
    low_open: bool = False
    high_open: bool = False
    whole: bool = False

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number."""
        kind = Integral if self.whole else Real
        if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
            return False
        number = float(value)
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        """Say the numbers in words, for messages and documentation."""
        kind = "whole number" if self.whole else "number"
        bounds = []
        if self.low > -np.inf:
            bounds.append(f"{'above' if self.low_open else 'at least'} {self.low:g}")
        if self.high < np.inf:
            bounds.append(f"{'below' if self.high_open else 'at most'} {self.high:g}")
        return f"a {kind} {' and '.join(bounds)}".rstrip()


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[str | int, ...]

    def accepts(self, value: object) -> bool:
        """Whether `value` is one of them."""
        is_key = isinstance(value, str | Integral) and not isinstance(value, bool)
        return is_key and value in self.values

    def __str__(self) -> str:
        """Say the values in words."""
        return "one of " + ", ".join(repr(value) for value in self.values)


@dataclass(frozen=True)
class OneOrPerLabel:
    """A number, or a sequence with one for each label."""

    number: Number

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number or a sequence of them."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            return len(value) > 0 and all(self.number.accepts(entry) for entry in value)
        return self.number.accepts(value)

    def __str__(self) -> str:
        """Say the numbers in words."""
        return f"{self.number}, or a sequence of one per label"


type Domain = Number | Choice | OneOrPerLabel


def check_domain(name: str, value: object, domain: Domain) -> None:
    """Stop if a parameter has a value outside its domain.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
        Its value.
    domain : Number, Choice or OneOrPerLabel
        What it can be.

    Raises
    ------
    ValueError
        If it is something else; the message names the parameter, the value and the domain.
    """
    if not domain.accepts(value):
        raise ValueError(f"{name}={value!r}: it has to be {domain}.")
