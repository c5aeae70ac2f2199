"""The way in: a few boosters, their mixture, and the decision rule that is best for a measure."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.scores import log_loss
from xdcc import MultiLabelClassifier
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> MultiLabelClassifier:
    return MultiLabelClassifier(random_state=seed, n_jobs=1, **params)


METHOD = Method(
    title="the best of some boosters and their mixture, decided for a measure",
    reference="this project: xdcc.MultiLabelClassifier",
    build=_build,
    params={"measure": "example_f1"},
    scores={"log_loss": log_loss},
)
