"""Domains: the values that a parameter can have, as a check and in words.

An estimator declares a domain for each of its parameters; ``domain.accepts(value)`` checks a value,
``str(domain)`` describes what is accepted, and :func:`check_domain` makes the error message from
the two, the same everywhere.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol

import numpy as np


class Domain(Protocol):
    """The values that a parameter can have.

    Examples
    --------
    >>> def explain(domain: Domain, value):
    ...     return f"{value!r}: {domain.accepts(value)}, as it must be {domain}"
    >>> explain(Number(low=1, whole=True), 2.5)
    '2.5: False, as it must be a whole number at least 1'
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is in the domain."""

    def __str__(self) -> str:
        """Describe the domain in words that follow "it must be"."""


_POWERS: dict[float, str] = {2**31: "2**31"}
"""Bounds that are easier to read as powers."""

_LARGEST = 2**63
"""Compiled code takes whole numbers of 64 bits."""


@dataclass(frozen=True)
class Number:
    """A real or whole number within bounds; infinity is rejected.

    Whole numbers have 64 bits: they are below 2**63, and at least -2**63.

    Examples
    --------
    >>> share = Number(low=0, high=1, low_open=True)
    >>> share.accepts(1), share.accepts(0), str(share)
    (True, False, 'a number above 0 and at most 1')
    """

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
        if isinstance(value, Integral) and self.whole:
            number: float = int(value)
            if not -_LARGEST <= number < _LARGEST:
                return False
        else:
            try:
                number = float(value)
            except OverflowError:  # a whole number with hundreds of digits
                return False
            if not np.isfinite(number):
                return False
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        kind = "whole number" if self.whole else "number"
        bounds = []
        if self.low > -np.inf:
            bounds.append(f"{'above' if self.low_open else 'at least'} {self.low:g}")
        if self.high < np.inf or self.high_open:
            limit = _POWERS.get(self.high, f"{self.high:g}")
            bounds.append(f"{'below' if self.high_open else 'at most'} {limit}")
        return f"a {kind} {' and '.join(bounds)}".rstrip()


@dataclass(frozen=True)
class Choice:
    """One of a few values.

    Examples
    --------
    >>> order = Choice(("random", "rare"))
    >>> order.accepts("rare"), order.accepts("Rare"), str(order)
    (True, False, "one of 'random', 'rare'")
    """

    values: tuple[str | int, ...]

    def accepts(self, value: object) -> bool:
        """Whether `value` is one of them."""
        is_key = isinstance(value, str | Integral) and not isinstance(value, bool)
        return is_key and value in self.values

    def __str__(self) -> str:
        listed = ", ".join(repr(value) for value in self.values)
        return f"one of {listed}" if len(self.values) > 1 else listed


@dataclass(frozen=True)
class SomeOf:
    """A sequence of some of a few values.

    Examples
    --------
    >>> families = SomeOf(("boosters", "linear"))
    >>> families.accepts(["linear"]), families.accepts("linear"), str(families)
    (True, False, "a sequence of 'boosters', 'linear'")
    """

    values: tuple[str, ...]

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a sequence, not empty."""
        one = Choice(self.values)
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(one.accepts, value))

    def __str__(self) -> str:
        return f"a sequence of {', '.join(map(repr, self.values))}"


@dataclass(frozen=True)
class OneOrPerLabel:
    """A number, or a sequence with one for each label.

    Examples
    --------
    >>> weight = OneOrPerLabel(Number(low=0))
    >>> weight.accepts(2), weight.accepts([2, 3]), weight.accepts([2, -3])
    (True, True, False)
    """

    number: Number

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number or a sequence of them."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            return len(value) > 0 and all(self.number.accepts(entry) for entry in value)
        return self.number.accepts(value)

    def __str__(self) -> str:
        return f"{self.number}, or a sequence of one per label"


@dataclass(frozen=True)
class Switch:
    """True or False.

    Examples
    --------
    >>> Switch().accepts(True), Switch().accepts(1)
    (True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is a bool."""
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Share:
    """A float above 0 and at most 1: a part of what there is.

    Examples
    --------
    >>> Share().accepts(1.0), Share().accepts(1), Share().accepts(0.0)
    (True, False, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a float; the whole number 1 is not."""
        return isinstance(value, float | np.floating) and 0 < float(value) <= 1

    def __str__(self) -> str:
        return "a share above 0 and at most 1"


@dataclass(frozen=True)
class Seed:
    """The domain of scikit-learn's `random_state`.

    Examples
    --------
    >>> Seed().accepts(None), Seed().accepts(3), Seed().accepts(-3)
    (True, True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` can seed a generator."""
        if value is None or isinstance(value, np.random.RandomState):
            return True
        return Number(low=0, high=2**32 - 1, whole=True).accepts(value)

    def __str__(self) -> str:
        return "a whole number at least 0 and below 2**32, a RandomState instance, or None"


@dataclass(frozen=True)
class Threads:
    """The domain of scikit-learn's `n_jobs`: a number of threads, or None or -1 for all processors.

    -2 is all processors but one, and so on (:func:`xdcc.base.threads.n_threads`).

    More threads than processors are allowed, as a program may have been written on another
    machine, but not so many that the operating system would refuse them.

    Examples
    --------
    >>> Threads().accepts(-1), Threads().accepts(2), Threads().accepts(0)
    (True, True, False)
    """

    most: int = max(256, os.cpu_count() or 1)

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number."""
        if value is None:
            return True
        number = Number(low=-self.most, high=self.most, whole=True)
        return number.accepts(value) and value != 0

    def __str__(self) -> str:
        return (
            f"a whole number from 1 to {self.most}, or None or -1 for all processors, -2 for all "
            "but one, and so on"
        )


@dataclass(frozen=True)
class Verbosity:
    """How much is printed: True, False or a whole number, 0 for nothing.

    Examples
    --------
    >>> Verbosity().accepts(True), Verbosity().accepts(2), Verbosity().accepts("much")
    (True, True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a number."""
        return Switch().accepts(value) or Number(low=0, whole=True).accepts(value)

    def __str__(self) -> str:
        return "a whole number at least 0"


@dataclass(frozen=True)
class Classifier:
    """A classifier to train, in scikit-learn's sense: an instance, not a class.

    Attributes
    ----------
    methods : tuple of str
        It has one of these, besides `fit`.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> domain = Classifier(("predict_proba", "decision_function"))
    >>> domain.accepts(LinearSVC()), domain.accepts(LinearSVC), domain.accepts("svm")
    (True, False, False)
    >>> str(domain)
    'an instance of a classifier with fit and predict_proba or decision_function'
    """

    methods: tuple[str, ...] = ("predict_proba",)

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a classifier."""
        return (
            not isinstance(value, type)
            and hasattr(value, "get_params")  # it can be cloned
            and hasattr(value, "fit")
            and any(hasattr(value, method) for method in self.methods)
        )

    def __str__(self) -> str:
        methods = " or ".join(self.methods)
        return f"an instance of a classifier with fit and {methods}"


@dataclass(frozen=True)
class Anything:
    """Any value: it is checked where more is known, together with the data for example.

    Examples
    --------
    >>> Anything().accepts(object())
    True
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is anything: it is."""
        return True

    def __str__(self) -> str:
        return "anything"


@dataclass(frozen=True)
class Splits:
    """How rows are divided into folds: what scikit-learn takes as `cv`, besides a number.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> Splits().accepts(KFold(3)), Splits().accepts([([0], [1]), ([1], [0])])
    (True, True)
    >>> Splits().accepts(KFold), Splits().accepts("KFold")
    (False, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is a splitter or an iterable; its pairs are checked with the data."""
        if isinstance(value, type | str | bytes):
            return False
        return hasattr(value, "split") or isinstance(value, Iterable)

    def __str__(self) -> str:
        """Describe the values."""
        return "a splitter with split(X, y, groups), an iterable of pairs (training, test)"


@dataclass(frozen=True)
class DictOf:
    """A mapping, whose values may have a domain.

    Examples
    --------
    >>> weights = DictOf("weights at least 0 by class", Number(low=0))
    >>> weights.accepts({"red": 2}), weights.accepts({"red": -2}), str(weights)
    (True, False, 'a dict of weights at least 0 by class')
    """

    words: str
    values: Domain | None = None

    def accepts(self, value: object) -> bool:
        """Whether `value` is such a mapping."""
        if not isinstance(value, Mapping):
            return False
        return self.values is None or all(map(self.values.accepts, value.values()))

    def __str__(self) -> str:
        return f"a dict of {self.words}"


class Either:
    """A value of one of several domains; None stands for the value None.

    Parameters
    ----------
    *domains : Domain or None
        The domains.

    Examples
    --------
    >>> str(Either(Number(low=1, whole=True), Choice(("auto",)), None))
    "a whole number at least 1, 'auto', or None"
    """

    def __init__(self, *domains: "Domain | None") -> None:
        self._domains = domains

    def accepts(self, value: object) -> bool:
        """Whether `value` is in one of them."""
        return any(
            value is None if domain is None else domain.accepts(value) for domain in self._domains
        )

    def __str__(self) -> str:
        words = [str(domain) for domain in self._domains]
        separator = ", or " if len(words) > 2 else " or "
        return separator.join((", ".join(words[:-1]), words[-1]))


def check_domain(name: str, value: object, domain: Domain) -> None:
    """Stop if a parameter has a value outside its domain.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
        Its value.
    domain : Domain
        The values that it can have.

    Raises
    ------
    ValueError
        If it is something else; the message names the parameter, the value and the domain.

    Examples
    --------
    >>> check_domain("cv", 1, Number(low=2, whole=True))
    Traceback (most recent call last):
    ValueError: cv=1: it must be a whole number at least 2.
    """
    if not domain.accepts(value):
        huge = isinstance(value, Integral) and not -_LARGEST <= int(value) < _LARGEST
        bits = ", in 64 bits" if huge else ""
        raise ValueError(f"{name}={value!r}: it must be {domain}{bits}.")
