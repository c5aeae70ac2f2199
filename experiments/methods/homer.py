"""HOMER: a hierarchy of label clusters."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import base_learner
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import log_loss
from xdcc.baselines import HOMER
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, base: str, C: float = 1.0, **params: Any) -> HOMER:
    return HOMER(estimator=base_learner(base, train, C), random_state=seed, **params)


METHOD = Method(
    title="hierarchy of label clusters",
    reference="Tsoumakas, Katakis, Vlahavas, Effective and efficient multilabel classification in "
    "domains with large number of labels, 2008",
    build=_build,
    params={"base": "tree"},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss},
)
