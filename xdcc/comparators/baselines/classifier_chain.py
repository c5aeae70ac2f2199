"""Classifier chain (CC): the model of a label has the previous labels as features."""

from types import MappingProxyType
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import multioutput

from xdcc.base.domains import Anything
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Permutation
from xdcc.comparators.baselines.fixed_chain import (
    MISSING,
    ORDER_ENTRIES,
    Order,
    check_order,
    fit_chain,
    replace_missing,
    resolve_order,
)
from xdcc.comparators.baselines.label_model import LabelModel
from xdcc.comparators.baselines.per_label import PerLabelClassifier


@stored
class ClassifierChain(PerLabelClassifier):
    """A model for each label, with the previous labels in a fixed order as features.

    Training uses the true labels, prediction the predicted ones (0 or 1).

    Parameters
    ----------
    {order}
    {learner}
    random_state : int, RandomState instance or None, default=None
        Seed for the random order and for row and column sampling, or for `estimator`. None is the
        seed 0.
    {threads}
    {sparse_zeros}
    {unknown_categories}
    {further_params}

    Attributes
    ----------
    {chain}
    {fitted}
    {categories}
    {sparse_X}

    {notes}
    NaN in Y is an unknown label: its row is not used for that label, and it is a missing value for
    the following labels. For a label with only one value, the prediction is constant.

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

    _entries = MappingProxyType({**PerLabelClassifier._entries, **ORDER_ENTRIES})
    _missing = MISSING
    _domains = MappingProxyType({**PerLabelClassifier._domains, "order": Anything()})

    order: Order | ArrayLike = "random"

    order_: Annotated[NDArray[np.int64], Permutation("n_labels_")]
    model_: multioutput.ClassifierChain

    def _check_state(self) -> None:
        super()._check_state()
        require(np.array_equal(self.order_, self.model_.order_), "order_")

    def _check_params(self) -> None:
        super()._check_params()
        check_order(self.order)

    def _n_label_features(self) -> int:
        return self.n_labels_ - 1

    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        self.order_ = resolve_order(self.order, data.Y, data.sample_weight, random)
        self.model_ = fit_chain(model, data.X, data.Y, self.order_, data.sample_weight)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.predict_proba(replace_missing(X))
