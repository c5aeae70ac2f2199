"""Cases in which every two values of different axes meet, by a greedy covering design."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

type Axes = Mapping[str, Sequence[Any]]
type Settle = Callable[[dict[str, Any]], dict[str, Any]]


def pairwise_cases(axes: Axes, rng: random.Random, settle: Settle = dict) -> Iterator[Any]:
    """Choose a value of each axis per case, until every two values have met.

    `settle` changes values that do not go together. Pairs that it never leaves alone are skipped.
    """
    names = list(axes)
    begins = dict(zip(names, np.cumsum([0, *map(len, axes.values())]), strict=False))
    axis_of = np.repeat(range(len(names)), [len(axes[name]) for name in names])
    missing = axis_of[:, None] < axis_of[None, :]
    while missing.any():
        first, second = divmod(rng.choice(np.flatnonzero(missing).tolist()), len(axis_of))
        chosen = {names[axis_of[value]]: value for value in (first, second)}
        for name in rng.sample(names, len(names)):
            if name not in chosen:
                values = slice(begins[name], begins[name] + len(axes[name]))
                others = list(chosen.values())
                new = missing[values, others].sum(axis=1) + missing[others, values].sum(axis=0)
                best = np.flatnonzero(new == new.max()) + begins[name]
                chosen[name] = rng.choice(best.tolist())
        case = settle({name: axes[name][chosen[name] - begins[name]] for name in names})
        met = [
            begins[name] + axes[name].index(case[name])
            for name in names
            if case[name] in axes[name]
        ]
        missing[np.ix_(met, met)] = False
        missing[first, second] = False
        yield case


def random_cases(axes: Axes, rng: random.Random, settle: Settle = dict) -> Iterator[Any]:
    """Choose values at random; the first value of an axis is more likely in some of the cases."""
    while True:
        share = rng.choice((0, 0.5, 0.8))
        yield settle(
            {
                name: values[0] if rng.random() < share else rng.choice(values)
                for name, values in axes.items()
            }
        )
