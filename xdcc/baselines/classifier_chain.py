"""Classifier chain (CC): a label's model has the labels before it as features."""

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.domains import Anything
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.sparse_zeros import SparseZeros
from xdcc.baselines.chain_model import MISSING, fit_chain, with_stand_in
from xdcc.baselines.chain_order import Order, check_order, resolve_order
from xdcc.baselines.label_model import LabelModel
from xdcc.baselines.per_label import PerLabelClassifier


class ClassifierChain(PerLabelClassifier):
    """A model for each label, with the labels before it in a fixed order as features.

    Trained on the true labels; when predicting, the predicted ones (0 or 1) take their place.

    Parameters
    ----------
    order : {"random", "frequent", "rare"} or array-like of shape (n_labels,), default="random"
        Order of the labels: drawn with `random_state`, the most or the least frequent first
        (ties by position), or the labels' indices, for example from :func:`chain_order_of`.
    estimator : scikit-learn classifier or None, default=None
        Base learner, copied for each label, with `predict_proba`; None is XGBoost with the
        arguments below. With another one they keep their defaults: set its own instead.
    n_estimators : int, default=100
        Number of boosting iterations per label.
    max_depth : int, default=6
        Largest depth of a tree; 0 is no limit.
    learning_rate : float, default=0.3
        Factor by which a tree's leaves are shrunk.
    random_state : int, RandomState instance or None, default=None
        Seed of the random order and of row and column samples, or of `estimator`. None is the
        seed 0.
    n_jobs : int or None, default=None
        Number of threads of XGBoost; None and -1 are all processors. It does not change the model.
    {sparse_zeros}
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    order_ : int array of shape (n_labels,)
        Indices of the labels in the chain's order.
    model_ : sklearn.multioutput.ClassifierChain
        Holds the labels' models.
    {fitted}
    {categories}
    {sparse_X}

    Notes
    -----
    NaN in X is a missing value. With XGBoost, what a sparse X does not store is missing too,
    unless `sparse_zeros` says otherwise, and columns of pandas' type ``category`` are split by
    sets of categories; in prediction a category that did not occur in `fit` is missing. With
    another base learner what is not stored is 0, categories are refused, and missing values are
    its own affair. NaN in Y is a label that is not known: its row is left out for that label,
    and it is a missing value for the labels after it. A label without both values among its rows
    is predicted constant.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.ClassifierChain(order="frequent", n_estimators=5).fit(data.X, data.Y)
    >>> model.order_, data.Y.sum(axis=0)
    (array([2, 1, 0]), array([40, 43, 45]))
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    _missing = MISSING
    _domains = MappingProxyType({**PerLabelClassifier._domains, "order": Anything()})

    def __init__(
        self,
        *,
        order: Order | ArrayLike = "random",
        estimator: Any = None,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        sparse_zeros: SparseZeros = "missing",
        **booster_params: Any,
    ) -> None:
        super().__init__(
            estimator=estimator,
            n_estimators=n_estimators,
            max_depth=max_depth,
            learning_rate=learning_rate,
            random_state=random_state,
            n_jobs=n_jobs,
            sparse_zeros=sparse_zeros,
            **booster_params,
        )
        self.order = order

    def _check_params(self) -> None:
        super()._check_params()
        check_order(self.order)

    def _n_label_features(self) -> int:
        return self.n_labels_ - 1

    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        self.order_ = resolve_order(self.order, data.Y, data.sample_weight, random)
        self.model_ = fit_chain(model, data.X, data.Y, self.order_, data.sample_weight)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.predict_proba(with_stand_in(X))
