"""MLkNN, IBLR and CHF of scikit-multilearn-ng.

Its IBLR has ten neighbours, whatever is asked for, and counts a row among its own.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts.multilearn import Dense
from experiments.method_parts.scores import independent_cll_loss, log_loss
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, kind: str, C: float = 1.0) -> Dense:
    from skmultilearn import adapt, problem_transform

    if kind == "MLkNN":
        return Dense(adapt.MLkNN(k=10))
    model = getattr(problem_transform, kind)(LogisticRegression(C=C, max_iter=1000))
    if hasattr(model, "knn_classifier"):
        model.knn_classifier.n_jobs = 1
    return Dense(model)


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
