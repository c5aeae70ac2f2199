"""The synthetic data of section 5.1 of the BOOMER paper: 10,000 instances, or 500, six labels."""

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset
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
DATASETS = {
    f"{name}{ending}": DataSet(partial(_generate, make, rows), REFERENCE, has_split=False)
    for name, make in MAKERS.items()
    for ending, rows in (("", 10_000), ("-500", 500))
}
