"""scikit-learn's chain of random forests."""

from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import ClassifierChain

from experiments.engine.registry import Method
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> ClassifierChain:
    forest = RandomForestClassifier(random_state=seed, n_jobs=1, **params)
    return ClassifierChain(forest, order="random", random_state=seed)


METHOD = Method(
    title="scikit-learn's classifier chain of random forests",
    reference="Read, Pfahringer, Holmes, Frank, 2011; Breiman, Random forests, 2001",
    build=_build,
    params={"n_estimators": 100},
    grid={"min_samples_leaf": [1, 2, 5], "max_features": ["sqrt", "log2", 0.2]},
)
