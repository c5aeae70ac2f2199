"""Label powerset: one class per labelset of the training data."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import base_learner
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import log_loss
from xdcc.baselines import LabelPowerset
from xdcc.data import MultiLabelDataset


def _build(
    train: MultiLabelDataset, seed: int, base: str, C: float = 1.0, **params: Any
) -> LabelPowerset:
    return LabelPowerset(estimator=base_learner(base, train, C), random_state=seed, **params)


METHOD = Method(
    title="label powerset",
    reference="Tsoumakas and Katakis, Multi-label classification: an overview, 2007",
    build=_build,
    params={"base": "tree"},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss},
)
