"""Conditional tree-structured Bayesian networks: a single one (SC) and mixtures (MC)."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.scores import OF_PROBABILITIES, cll_loss
from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> CTBNMixtureClassifier:
    return CTBNMixtureClassifier(random_state=seed, n_jobs=1, **params)


METHOD = Method(
    title="mixture of conditional tree-structured Bayesian networks",
    reference="Hong, Batal, Hauskrecht, A Mixtures-of-Trees Framework for Multi-Label "
    "Classification, CIKM 2014",
    build=_build,
    params={"max_components": 20},
    scores=OF_PROBABILITIES | {"cll_loss": cll_loss},
)
