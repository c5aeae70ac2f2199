"""Data that need no file: scikit-learn's digits, a few of their rows, and synthetic data.

The synthetic data are those of section 5.1 of the BOOMER paper, with six labels: 10,000 instances,
or 500.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.synthetic import (
    make_conditionally_dependent,
    make_marginally_dependent,
    make_marginally_independent,
)


def _generate(make: Callable[..., MultiLabelDataset], rows: int, split: Any) -> MultiLabelDataset:
    return make(n_samples=rows, random_state=0)


MAKERS: dict[str, Callable[..., MultiLabelDataset]] = {
    "marginal-independence": make_marginally_independent,
    "marginal-dependence": make_marginally_dependent,
    "conditional-dependence": make_conditionally_dependent,
}

REFERENCE = "Dembczyński et al., On label dependence and loss minimization, 2012"

TINY_ROWS = 90


@cache  # used to check each line of a configuration
def _load_tiny(split: None) -> MultiLabelDataset:
    """Load the two middle rows of the first images."""
    data = load_dataset("digits", split)[:TINY_ROWS]
    kept = set(data.feature_names[24:40])
    return data.drop_features(name for name in data.feature_names if name not in kept)


DATASETS = {
    "digits": DataSet(partial(load_dataset, "digits"), "scikit-learn's handwritten digits"),
    "digits-tiny": DataSet(_load_tiny, f"{TINY_ROWS} of them, 16 pixels each", has_split=False),
} | {
    f"{name}{ending}": DataSet(partial(_generate, make, rows), REFERENCE, has_split=False)
    for name, make in MAKERS.items()
    for ending, rows in (("", 10_000), ("-500", 500))
}
