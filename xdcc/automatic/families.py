"""The families that compete: those of this package, by name, and those of the parameter `members`.

Families make different errors, so their mixtures are better than each: boosters, extra trees and
logistic regressions.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from xdcc.automatic.boosters import SECOND_LEVEL, Boosters
from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.forests import ExtraTreesForests
from xdcc.automatic.linear_models import LinearModels
from xdcc.automatic.other_models import OtherModels
from xdcc.automatic.shape import Shape
from xdcc.base.domains import Choice, Classifier, Number, check_domain

FAMILIES: Mapping[str, type[MemberFamily]] = MappingProxyType(
    {family.name: family for family in (Boosters, ExtraTreesForests, LinearModels)}
)
"""Families of this package, by name, in the order in which they are trained."""

type MemberLike = str | MemberFamily | tuple[str, Any] | Any
"""Name of a family, a family, a classifier or a pair of name and classifier."""

_ERRORS_OF_OTHERS = 2.0
"""Standard errors that one of many candidates must gain: by chance the best of twelve gains 1.6."""

_WITH_PROBA, _SECONDS = Classifier(), Number(low=0, low_open=True)


def families_of(members: Sequence[MemberLike] | None) -> list[MemberFamily]:
    """Make the families that the parameter `members` describes.

    Parameters
    ----------
    members : sequence or None
        Entries are names of :data:`FAMILIES`, instances of :class:`MemberFamily`, classifiers with
        `predict_proba`, and pairs of a name and such a classifier. None: all of this package.

    Returns
    -------
    list of MemberFamily
        For one search.

    Raises
    ------
    ValueError
        If an entry is something else, or two have the same name; the message names it.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> [family.name for family in families_of(["linear", KNeighborsClassifier()])]
    ['linear', 'KNeighborsClassifier']
    """
    if members is None:
        members = list(FAMILIES)
    if not isinstance(members, list | tuple) or not members:
        raise ValueError(
            f"members={members!r}: it must be None or a list of {', '.join(map(repr, FAMILIES))}, "
            "classifiers with predict_proba, pairs (name, classifier), and instances of "
            "xdcc.automatic.MemberFamily."
        )
    families = [_family_of(member, number) for number, member in enumerate(members)]
    names = [SECOND_LEVEL, *(family.name for family in families)]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"members: there is more than one {name!r}; give pairs (name, model).")
    return families


def _family_of(member: MemberLike, number: int) -> MemberFamily:
    """Make the family of an entry of `members`."""
    what = f"members[{number}]"
    if isinstance(member, str):
        check_domain(what, member, Choice(tuple(FAMILIES)))
        return FAMILIES[member]()
    if isinstance(member, MemberFamily):
        if not isinstance(getattr(member, "name", None), str):
            raise ValueError(f"{what}: {type(member).__name__} has no name.")
        return copy.deepcopy(member)
    name, model = member if _is_pair(member) else (type(member).__name__, member)
    if not _WITH_PROBA.accepts(model):
        check_domain(f"{what}, {name!r}", model, _WITH_PROBA)
    if name in FAMILIES:
        raise ValueError(f"{what}: {name!r} is the name of a family of xdcc; give it another one.")
    return OtherModels(name, model)


def _is_pair(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


def usual_candidates(
    families: Sequence[MemberFamily], shape: Shape, longest: float = np.inf
) -> list[Candidate]:
    """List what is tried in any case, in the order in which it is trained.

    Parameters
    ----------
    families : sequence of MemberFamily
        All that compete.
    shape : Shape
        Shape of the data.
    longest : float
        Seconds that one can take; infinity without a time budget.

    Returns
    -------
    list of Candidate
        At least one of each family; none of extra trees where one fold is enough and time is not
        limited.

    Raises
    ------
    ValueError
        If there is none, two have the same name, or one has no `predict_proba` or no cost.

    Examples
    --------
    >>> [c.name for c in usual_candidates(families_of(None), Shape(400, 70, 6, 400 * 70, 5))]
    ['all labels, depth 4, rate 0.05', 'groups of 3, depth 6, rate 0.05', 'extra trees', 'linear']
    """
    found = [
        replace(candidate, family=family)
        for family in families
        for candidate in family.candidates(shape, longest)
    ]
    if not found and longest == np.inf:  # extra trees alone
        found = usual_candidates(families, shape, np.finfo(np.float64).max)
        if not found:
            raise ValueError("members: none of the families lists a candidate.")
        return found
    names = [candidate.name for candidate in found]
    for number, candidate in enumerate(found):
        if candidate.name in names[:number]:
            raise ValueError(f"members: there is more than one candidate {candidate.name!r}.")
        check_domain(f"model of the candidate {candidate.name!r}", candidate.model, _WITH_PROBA)
        check_domain(f"seconds of the candidate {candidate.name!r}", candidate.seconds, _SECONDS)
    return found


def more_candidates(
    families: Sequence[MemberFamily],
    shape: Shape,
    seed: int,
    longest: Callable[[], float] = lambda: np.inf,
) -> Iterator[Candidate]:
    """Draw candidates without end, if a family draws any: other parameters and other seeds.

    Parameters
    ----------
    families : sequence of MemberFamily
        They draw in turns.
    shape : Shape
        Shape of the data.
    seed : int
        Seed for the drawn parameters.
    longest : callable
        Returns the seconds that the next one can take.

    Yields
    ------
    Candidate
        Each has another name.
    """
    random = np.random.default_rng(seed)
    turns = [family for family in families for _ in range(family.draws)]
    for number in count(1) if turns else ():
        family = turns[(number - 1) % len(turns)]
        drawn = family.draw(shape, random, longest())
        name = f"{drawn.name} ({number})"
        yield replace(drawn, name=name, n_errors=_ERRORS_OF_OTHERS, family=family)
