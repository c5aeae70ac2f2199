"""Binary relevance (BR): scikit-learn's ``MultiOutputClassifier`` of label models."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, multioutput

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.comparators.baselines.label_model import LabelModel
from xdcc.comparators.baselines.per_label import PerLabelClassifier

_UNKNOWN = -1
"""Represents an unknown label inside scikit-learn's multi-output classifier."""


@stored
class BinaryRelevance(PerLabelClassifier):
    """A separate model for each label: XGBoost, or any scikit-learn classifier.

    Parameters
    ----------
    {learner}
    random_state : int, RandomState instance or None, default=None
        Seed for row and column sampling, or for `estimator`; None is the seed 0.
    {threads}
    {sparse_zeros}
    {unknown_categories}
    {further_params}

    Attributes
    ----------
    model_ : sklearn.multioutput.MultiOutputClassifier
        The models of the labels.
    {fitted}
    {categories}
    {sparse_X}

    {notes}
    NaN in Y is an unknown label, whose row is not used for that label. For a label with only one
    value, the prediction is constant.

    Examples
    --------
    >>> import xdcc
    >>> from sklearn.linear_model import LogisticRegression
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.BinaryRelevance(estimator=LogisticRegression()).fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 0],
           [1, 1, 1]])
    >>> model.predict_proba(data.X[:2]).round(1)
    array([[0.2, 0.3, 0.4],
           [0.7, 0.5, 0.6]])
    """

    model_: Annotated[multioutput.MultiOutputClassifier, Of(estimators_="n_labels_")]
    _missing = np.nan

    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        data.Y[np.isnan(data.Y)] = _UNKNOWN
        self.model_ = multioutput.MultiOutputClassifier(model)
        # Independent of the user's configuration.
        with config_context(enable_metadata_routing=False):
            self.model_.fit(data.X, data.Y.astype(np.int8), sample_weight=data.sample_weight)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return np.stack([proba[:, 1] for proba in self.model_.predict_proba(X)], axis=1)
