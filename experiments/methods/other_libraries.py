"""Methods of other libraries: scikit-learn, LightGBM, CatBoost and scikit-multilearn-ng.

The IBLR of scikit-multilearn-ng always has ten neighbours, and counts a row as its own neighbour.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts import independent_cll_loss, log_loss
from xdcc.data import MultiLabelDataset


class Dense(BaseEstimator):
    """A model of scikit-multilearn-ng, with dense labels and probabilities."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> None:
        """Train the model."""
        self.model.fit(_as_it_takes(X), sp.csr_matrix(Y))

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of labels, of shape (n_samples, n_labels)."""
        return np.asarray(self.model.predict_proba(_as_it_takes(X)).todense())


def _as_it_takes(X: Any) -> Any:
    return sp.csr_matrix(X) if sp.issparse(X) else X


def _forest(train: MultiLabelDataset, seed: int, *, chain: bool, **params: Any) -> BaseEstimator:
    forest = RandomForestClassifier(random_state=seed, n_jobs=1, **params)
    return ClassifierChain(forest, order="random", random_state=seed) if chain else forest


def _forest_br(train: MultiLabelDataset, seed: int, **params: Any) -> MultiOutputClassifier:
    return MultiOutputClassifier(_forest(train, seed, chain=False, **params))


def _extra_trees(train: MultiLabelDataset, seed: int, **params: Any) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(random_state=seed, n_jobs=1, **params)


def _of_forest(title: str, reference: str, build: Callable[..., Any]) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=build,
        params={"n_estimators": 100},
        grid={"min_samples_leaf": [1, 2, 5], "max_features": ["sqrt", "log2", 0.2]},
        scores={"log_loss": log_loss},
    )


def _lightgbm_br(train: MultiLabelDataset, seed: int, **params: Any) -> MultiOutputClassifier:
    from lightgbm import LGBMClassifier

    return MultiOutputClassifier(LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, **params))


def _catboost(train: MultiLabelDataset, seed: int, **params: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        loss_function="MultiLogloss",
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        **params,
    )


class Varied(ClassifierMixin, BaseEstimator):
    """A classifier for labels that vary in training; the others are predicted as they were.

    Sparse features are given as a SciPy matrix, because CatBoost takes no sparse array.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: Any) -> Self:
        """Train the classifier on the labels that vary."""
        truth = np.asarray(Y)
        self.frequency_ = truth.mean(axis=0, dtype=np.float64)
        self.varied_ = np.ptp(truth, axis=0) > 0
        self.classes_ = np.tile([0, 1], (truth.shape[1], 1))
        self.estimator_ = clone(self.estimator).fit(_as_it_takes(X), truth[:, self.varied_])
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of labels, of shape (n_samples, n_labels)."""
        proba = np.tile(self.frequency_, (X.shape[0], 1))
        proba[:, self.varied_] = self.estimator_.predict_proba(_as_it_takes(X))
        return proba

    def predict(self, X: Any) -> Labels:
        """Return labels of probability 0.5 and more."""
        return (self.predict_proba(X) >= 0.5).astype(np.int8)


def _catboost_varied(train: MultiLabelDataset, seed: int, **params: Any) -> Varied:
    return Varied(_catboost(train, seed, **params))


def _labels_catboost(model: Any, split: Split) -> Labels:
    return np.asarray(model.predict(split.X), dtype=np.int8)


def _multilearn(train: MultiLabelDataset, seed: int, kind: str, C: float = 1.0) -> Dense:
    from skmultilearn import adapt, problem_transform

    if kind == "MLkNN":
        return Dense(adapt.MLkNN(k=10))
    model = getattr(problem_transform, kind)(LogisticRegression(C=C, max_iter=1000))
    if hasattr(model, "knn_classifier"):
        model.knn_classifier.n_jobs = 1
    return Dense(model)


def _labels_multilearn(model: Any, split: Split) -> Labels:
    return (model.predict_proba(split.X) > 0.5).astype(np.int8)


CATBOOST = "Prokhorenkova et al., CatBoost: unbiased boosting with categorical features, 2018"
CATBOOST_GRID: dict[str, list[Any]] = {
    "iterations": [50, 100, 200],
    "learning_rate": [0.1, 0.3],
    "depth": [4, 6],
}

METHODS = {
    "forest": _of_forest(
        "scikit-learn's random forest for all labels",
        "Breiman, Random forests, 2001; for all labels: Kocev et al., Tree ensembles for "
        "predicting structured outputs, 2013",
        partial(_forest, chain=False),
    ),
    "forest_br": _of_forest(
        "scikit-learn's random forest, one per label",
        "Breiman, Random forests, 2001",
        _forest_br,
    ),
    "extra_trees": _of_forest(
        "scikit-learn's extra trees for all labels",
        "Geurts, Ernst, Wehenkel, Extremely randomized trees, 2006",
        _extra_trees,
    ),
    "forest_chain": _of_forest(
        "scikit-learn's classifier chain of random forests",
        "Read, Pfahringer, Holmes, Frank, 2011; Breiman, Random forests, 2001",
        partial(_forest, chain=True),
    ),
    "lightgbm_br": Method(
        title="LightGBM, one model per label",
        reference="Ke et al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017",
        build=_lightgbm_br,
        grid={
            "n_estimators": [20, 50, 100],
            "learning_rate": [0.1, 0.2, 0.3],
            "num_leaves": [15, 31, 63],
            "min_child_samples": [5, 20],
        },
        scores={"log_loss": log_loss},
        requires=("lightgbm",),
    ),
    "catboost": Method(
        title="CatBoost with MultiLogloss",
        reference=CATBOOST,
        build=_catboost,
        grid=CATBOOST_GRID,
        rules={"labels": _labels_catboost},
        requires=("catboost",),
    ),
    "catboost_varied": Method(
        title="CatBoost with MultiLogloss, on labels that vary in training",
        reference=CATBOOST,
        build=_catboost_varied,
        grid=CATBOOST_GRID,
        scores={"log_loss": log_loss},
        requires=("catboost",),
    ),
    "multilearn": Method(
        title="scikit-multilearn-ng",
        reference="Zhang, Zhou, 2007 (MLkNN); Cheng, Hüllermeier, 2009 (IBLR); Godbole, Sarawagi, "
        "2004",
        build=_multilearn,
        params={"kind": "MLkNN"},
        rules={"labels": _labels_multilearn},
        scores={"log_loss": log_loss, "cll_loss": independent_cll_loss},
        requires=("skmultilearn",),
    ),
}
