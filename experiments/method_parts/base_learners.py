"""Base learners of the baselines, by the names that configurations use."""

from typing import Any

import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from experiments.method_parts.j48_tree import J48TreeClassifier
from xdcc.data import MultiLabelDataset


def base_learner(name: str, train: MultiLabelDataset, C: float = 1.0) -> Any:
    """Return a scikit-learn classifier, its random state not set.

    Parameters
    ----------
    name : {"tree", "j48", "logistic"}
        An entropy tree with at least five instances in a leaf; one with the defaults of Weka's
        J48, pruned; or logistic regression with an L2 penalty on scaled features, missing values
        replaced by the mean.
    train : MultiLabelDataset
        Sparse features are scaled without moving their zeros.
    C : float
        Of the regression: the inverse of the penalty's strength.

    Raises
    ------
    ValueError
        For another name.
    """
    if name == "j48":
        return J48TreeClassifier()
    if name == "tree":
        return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5)
    if name == "logistic":
        scaler = MaxAbsScaler() if sp.issparse(train.X) else StandardScaler()
        return make_pipeline(SimpleImputer(), scaler, LogisticRegression(C=C, max_iter=1000))
    raise ValueError(f"base is {name!r}; allowed are 'tree', 'j48' and 'logistic'")


def nominal_features(train: MultiLabelDataset) -> list[bool]:
    """Return which features are categories, as the parameter `categorical_features` takes them."""
    return [kind == "nominal" for kind in train.feature_types]
