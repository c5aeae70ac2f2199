"""The synthetic data of section 5.1 of the BOOMER paper: 10,000 instances with six labels."""

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


def _generate(make: Callable[..., MultiLabelDataset], split: Any) -> MultiLabelDataset:
    return make(random_state=0)


MAKERS: dict[str, Callable[..., MultiLabelDataset]] = {
    "marginal-independence": make_marginally_independent,
    "marginal-dependence": make_marginally_dependent,
    "conditional-dependence": make_conditionally_dependent,
}
REFERENCE = "Dembczyński et al., On label dependence and loss minimization, 2012"
DATASETS = {
    name: DataSet(partial(_generate, make), REFERENCE, has_split=False)
    for name, make in MAKERS.items()
}
