"""scikit-learn's random forests: one for all labels, and a chain of them."""

from functools import partial
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import ClassifierChain

from experiments.engine.registry import Method
from experiments.method_parts.scores import log_loss
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, *, chain: bool, **params: Any) -> BaseEstimator:
    forest = RandomForestClassifier(random_state=seed, n_jobs=1, **params)
    return ClassifierChain(forest, order="random", random_state=seed) if chain else forest


def _method(title: str, reference: str, *, chain: bool) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=partial(_build, chain=chain),
        params={"n_estimators": 100},
        grid={"min_samples_leaf": [1, 2, 5], "max_features": ["sqrt", "log2", 0.2]},
        scores={"log_loss": log_loss},
    )


METHODS = {
    "forest": _method(
        "scikit-learn's random forest for all labels",
        "Breiman, Random forests, 2001",
        chain=False,
    ),
    "forest_chain": _method(
        "scikit-learn's classifier chain of random forests",
        "Read, Pfahringer, Holmes, Frank, 2011; Breiman, Random forests, 2001",
        chain=True,
    ),
}
