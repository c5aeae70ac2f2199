"""RDT-DCC: chains, binary relevance and label powerset read from random decision trees."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import nominal_features, random_order
from experiments.method_parts.scores import log_loss
from experiments.method_parts.sequences import sequences
from xdcc.data import MultiLabelDataset
from xdcc.rdt import RandomDecisionTreeClassifier


def _build(
    train: MultiLabelDataset, seed: int, order_seed: int | None = None, **params: Any
) -> RandomDecisionTreeClassifier:
    """With `order_seed` a static chain has a random order of this seed."""
    if order_seed is not None:
        params["order"] = random_order(train, order_seed)
    return RandomDecisionTreeClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


METHOD = Method(
    title="dynamic chain of random decision trees",
    reference="Kulessa and Loza Mencía, Dynamic Classifier Chain with Random Decision Trees, "
    "Discovery Science 2018",
    build=_build,
    grid={
        "n_estimators": [100, 300, 500],
        "max_depth": [5, 10, 20, 30, 50],
        "label_test_fraction": [0.1, 0.2, 0.3],
    },
    scores={"log_loss": log_loss},
    details=sequences,
)
