"""The sequences of decisions that random decision trees make: Figure 4 of the RDT-DCC paper."""

from typing import Any

from xdcc.rdt import RandomDecisionTreeClassifier


def sequences(model: RandomDecisionTreeClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """Return how right the i-th decision of a dynamic chain is, and its positive labels so far.

    Parameters
    ----------
    model : RandomDecisionTreeClassifier
    X : array or sparse matrix of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    dict
        Means over the rows, lists of length n_labels: `right` and `positive`. Empty if the model
        is not read as a dynamic chain.
    """
    if model.chain != "dynamic" or model.transformation is not None:
        return {}
    trace = model.trace(X)
    right, positive = trace.correct(Y), trace.positive().cumsum(axis=1)
    return {"right": right.mean(axis=0).tolist(), "positive": positive.mean(axis=0).tolist()}
