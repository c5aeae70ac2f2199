"""LaCovaC: trees that split labels as well as data; LaCova and ML-C4.5 are settings of it."""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts.base_learners import nominal_features
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import log_loss
from xdcc.data import MultiLabelDataset
from xdcc.lacovac import LaCovaCClassifier


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> LaCovaCClassifier:
    return LaCovaCClassifier(categorical_features=nominal_features(train), n_jobs=1, **params)


METHOD = Method(
    title="tree with label clusters by covariance",
    reference="Al-Otaibi, Kull, Flach, Declaratively Capturing Local Label Correlations with "
    "Multi-Label Trees, ECAI 2016",
    build=_build,
    params={"min_samples_leaf": 5},
    grid={},
    readings={"labels": predicted_labels, "pcut": pcut_reading},
    scores={"log_loss": log_loss},
)
