"""Probabilistic classifier chain."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import base_learner
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import log_loss
from xdcc.baselines import ProbabilisticClassifierChain
from xdcc.data import MultiLabelDataset


def _build(
    train: MultiLabelDataset, seed: int, base: str, C: float = 1.0, **params: Any
) -> ProbabilisticClassifierChain:
    return ProbabilisticClassifierChain(
        estimator=base_learner(base, train, C), random_state=seed, **params
    )


METHOD = Method(
    title="probabilistic classifier chain",
    reference="Dembczyński, Cheng, Hüllermeier, Bayes optimal multilabel classification via "
    "probabilistic classifier chains, 2010",
    build=_build,
    params={"base": "logistic"},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss},
)
