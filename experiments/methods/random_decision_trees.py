"""RDT-DCC: chains, binary relevance and label powerset on random decision trees.

The sequences of decisions of dynamic chains are kept for Figure 4 of the paper. Dynamic chains also
exist without keeping the leaves that a row has reached.
"""

from typing import Any

import numpy as np

from experiments.engine.registry import Labels, Method, Split, predicted_labels
from experiments.method_parts import log_loss, nominal_features, random_order
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.comparators.rdt.forest import Weighting, forest_posteriors
from xdcc.data import MultiLabelDataset


def sequences(model: RandomDecisionTreeClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """Return the accuracy of the i-th decision of a dynamic chain, and its positive labels so far.

    Parameters
    ----------
    model : RandomDecisionTreeClassifier
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    dict
        Means over the rows, lists of length n_labels: `right` and `positive`. Empty unless the
        model predicts as a dynamic chain.
    """
    if model.chain != "dynamic" or model.transformation is not None:
        return {}
    trace = model.trace(X)
    right, positive = trace.correct(Y), trace.positive().cumsum(axis=1)
    return {"right": right.mean(axis=0).tolist(), "positive": positive.mean(axis=0).tolist()}


def _rdt(
    train: MultiLabelDataset, seed: int, order_seed: int | None = None, **params: Any
) -> RandomDecisionTreeClassifier:
    """With `order_seed` a static chain has a random order of this seed."""
    if order_seed is not None:
        params["order"] = random_order(train, order_seed)
    return RandomDecisionTreeClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


def _rdt_walked(train: MultiLabelDataset, seed: int, **params: Any) -> RandomDecisionTreeClassifier:
    return RandomDecisionTreeClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


def _walked_again(model: RandomDecisionTreeClassifier, split: Split) -> Labels:
    """Traverse every tree from its root in every step."""
    X, rows = model._check_X(split.X), np.arange(split.X.shape[0])
    known = np.full((len(rows), model.n_labels_), -1, np.int8)
    for _ in range(model.n_labels_):
        proba, _ = forest_posteriors(
            model.forest_, X, Weighting(True, 0.0), sigma=1.0, known=known, n_threads=1
        )
        label = np.where(known < 0, np.abs(0.5 - proba), -1).argmax(axis=1)
        known[rows, label] = proba[rows, label] >= 0.5
    return known


METHODS = {
    "rdt": Method(
        title="dynamic chain of random decision trees",
        reference="Kulessa and Loza Mencía, Dynamic Classifier Chain with Random Decision Trees, "
        "Discovery Science 2018",
        build=_rdt,
        grid={
            "n_estimators": [100, 300, 500],
            "max_depth": [5, 10, 20, 30, 50],
            "label_test_fraction": [0.1, 0.2, 0.3],
        },
        scores={"log_loss": log_loss},
        details=sequences,
    ),
    "rdt_walked": Method(
        title="dynamic chain of random decision trees, traversed again in every step",
        reference="Kulessa and Loza Mencía, Discovery Science 2018",
        build=_rdt_walked,
        params={"threshold": "probability"},
        rules={"leaves kept": predicted_labels, "walked again": _walked_again},
    ),
}
