"""Classifier chain on a base learner of scikit-learn."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import base_learner
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import log_loss
from xdcc.baselines import ClassifierChain
from xdcc.data import MultiLabelDataset


def _build(
    train: MultiLabelDataset, seed: int, base: str, C: float = 1.0, **params: Any
) -> ClassifierChain:
    return ClassifierChain(estimator=base_learner(base, train, C), random_state=seed, **params)


METHOD = Method(
    title="classifier chain on trees or logistic regression, random order",
    reference="Read et al., Classifier chains for multi-label classification, 2011",
    build=_build,
    params={"base": "tree"},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss},
)
