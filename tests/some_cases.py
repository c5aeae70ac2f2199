"""Selects the cases of an expensive test that run by default; `pytest -m slow` runs the others."""

from collections.abc import Mapping
from itertools import combinations, product

import pytest


def one_in(number, *axes):
    """Combine the values of parameters; all but one in `number` of the combinations are slow.

    Every two values of different parameters meet in the default run: it has the combinations
    whose positions add up to a multiple of `number`. Values are a list, or have names in a dict; a
    `pytest.param` keeps its marks.
    """
    axes = [axis if isinstance(axis, Mapping) else {_name(v): v for v in axis} for axis in axes]
    positions = list(product(*(range(len(axis)) for axis in axes)))
    kept = [position for position in positions if sum(position) % number == 0]
    for first, second in combinations(range(len(axes)), 2):
        met = {(position[first], position[second]) for position in kept}
        assert len(met) == len(axes[first]) * len(axes[second]), "two values never meet"
    names, values = [list(axis) for axis in axes], [list(axis.values()) for axis in axes]
    cases = []
    for position in positions:
        chosen = [_param(value[k]) for value, k in zip(values, position, strict=True)]
        marks = [mark for one in chosen for mark in one.marks]
        if sum(position) % number:
            marks.append(pytest.mark.slow)
        name = "-".join(name[k] for name, k in zip(names, position, strict=True))
        cases.append(pytest.param(*(one.values[0] for one in chosen), id=name, marks=marks))
    return cases


def _param(value):
    """Return a value with its marks."""
    return value if hasattr(value, "marks") and hasattr(value, "values") else pytest.param(value)


def _name(value):
    return str(_param(value).values[0])
