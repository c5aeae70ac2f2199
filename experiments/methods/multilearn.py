"""MLkNN, IBLR and CHF of scikit-multilearn-ng.

Its IBLR has ten neighbours, whatever is asked for, and counts a row among its own.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts.scores import independent_cll_loss, log_loss
from xdcc.data import MultiLabelDataset


class _Dense:
    """The model on labels as it takes them, with dense probabilities."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: Any, Y: Any) -> None:
        self._model.fit(_as_it_takes(X), sp.csr_matrix(Y))

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(self._model.predict_proba(_as_it_takes(X)).todense())


def _as_it_takes(X: Any) -> Any:
    return sp.csr_matrix(X) if sp.issparse(X) else X


def _build(train: MultiLabelDataset, seed: int, kind: str, C: float = 1.0) -> _Dense:
    from skmultilearn import adapt, problem_transform

    if kind == "MLkNN":
        return _Dense(adapt.MLkNN(k=10))
    model = getattr(problem_transform, kind)(LogisticRegression(C=C, max_iter=1000))
    if hasattr(model, "knn_classifier"):
        model.knn_classifier.n_jobs = 1
    return _Dense(model)


def _labels(model: Any, split: Split) -> Labels:
    return (model.predict_proba(split.X) > 0.5).astype(np.int8)


METHOD = Method(
    title="scikit-multilearn-ng",
    reference="Zhang, Zhou, 2007 (MLkNN); Cheng, Hüllermeier, 2009 (IBLR); Godbole, Sarawagi, 2004",
    build=_build,
    params={"kind": "MLkNN"},
    readings={"labels": _labels},
    scores={"log_loss": log_loss, "cll_loss": independent_cll_loss},
    requires=("skmultilearn",),
)
