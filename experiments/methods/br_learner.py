"""Binary relevance on a base learner of scikit-learn."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import base_learner
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import independent_cll_loss, log_loss
from xdcc.baselines import BinaryRelevance
from xdcc.data import MultiLabelDataset


def _build(
    train: MultiLabelDataset, seed: int, base: str, C: float = 1.0, **params: Any
) -> BinaryRelevance:
    return BinaryRelevance(estimator=base_learner(base, train, C), random_state=seed, **params)


METHOD = Method(
    title="binary relevance on trees or logistic regression",
    reference="Tsoumakas and Katakis, Multi-label classification: an overview, 2007",
    build=_build,
    params={"base": "tree"},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss, "cll_loss": independent_cll_loss},
)
