"""LaCovaC: trees that split labels as well as data, and a forest of them.

LaCova and ML-C4.5 are settings of it. The methods that reproduce the numbers of the paper are in
`as_published.py`.
"""

from typing import Any

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts import log_loss, nominal_features, pcut_rule
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.data import MultiLabelDataset


def _lacovac(train: MultiLabelDataset, seed: int, **params: Any) -> LaCovaCClassifier:
    return LaCovaCClassifier(categorical_features=nominal_features(train), n_jobs=1, **params)


def _lacovac_forest(train: MultiLabelDataset, seed: int, **params: Any) -> LaCovaCForestClassifier:
    return LaCovaCForestClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


METHODS = {
    "lacovac": Method(
        title="tree with label clusters by covariance",
        reference="Al-Otaibi, Kull, Flach, Declaratively Capturing Local Label Correlations with "
        "Multi-Label Trees, ECAI 2016",
        build=_lacovac,
        params={"min_samples_leaf": 5},
        grid={},
        rules={"labels": predicted_labels, "pcut": pcut_rule},
        scores={"log_loss": log_loss},
    ),
    "lacovac_forest": Method(
        title="forest of trees with label clusters by covariance",
        reference="this project; after Al-Otaibi, Kull, Flach, ECAI 2016",
        build=_lacovac_forest,
        params={"n_estimators": 25},
    ),
}
