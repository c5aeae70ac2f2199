"""Base learners of the baselines, by the names that configurations use."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from experiments.method_parts.j48_tree import J48TreeClassifier
from xdcc.data import MultiLabelDataset

BOOSTER_GRID: dict[str, list[Any]] = {
    "n_estimators": [10, 20, 50, 100],
    "learning_rate": [0.1, 0.2, 0.3],
    "max_depth": [5, 10, 20, 50, 100],
}
"""What XDCC's paper tunes of every booster (footnote 2)."""


def base_learner(name: str, train: MultiLabelDataset, C: float = 1.0, **params: Any) -> Any:
    """Return a scikit-learn classifier, its random state not set.

    Parameters
    ----------
    name : {"tree", "j48", "logistic", "boosted"}
        An entropy tree with at least five instances in a leaf; one with the defaults of Weka's
        J48, pruned; logistic regression with an L2 penalty on scaled features, missing values
        replaced by the mean; or fifty boosted trees of depth 4.
    train : MultiLabelDataset
        Sparse features are scaled without moving their zeros.
    C : float
        Of the regression: the inverse of the penalty's strength.
    **params
        Of the entropy tree.

    Raises
    ------
    ValueError
        For another name.
    TypeError
        For parameters of another learner than the tree.
    """
    if params and name != "tree":
        raise TypeError(
            f"{', '.join(params)}: these are parameters of base 'tree', not of {name!r}"
        )
    if name == "j48":
        return J48TreeClassifier()
    if name == "tree":
        return DecisionTreeClassifier(criterion="entropy", **{"min_samples_leaf": 5} | params)
    if name == "logistic":
        scaler = MaxAbsScaler() if sp.issparse(train.X) else StandardScaler()
        return make_pipeline(SimpleImputer(), scaler, LogisticRegression(C=C, max_iter=1000))
    if name == "boosted":
        return XGBClassifier(n_estimators=50, max_depth=4, learning_rate=0.1, max_bin=64, n_jobs=1)
    raise ValueError(f"base is {name!r}; allowed are 'tree', 'j48', 'logistic' and 'boosted'")


def nominal_features(train: MultiLabelDataset) -> list[bool]:
    """Return which features are categories, as the parameter `categorical_features` takes them."""
    return [kind == "nominal" for kind in train.feature_types]


def random_order(train: MultiLabelDataset, seed: int) -> NDArray[np.integer]:
    """Return a random order of the labels, for a chain; a seed has one order of so many labels."""
    return np.random.default_rng(seed).permutation(train.n_labels)
