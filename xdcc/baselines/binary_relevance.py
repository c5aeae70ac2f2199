"""Binary relevance (BR): scikit-learn's ``MultiOutputClassifier`` of label models."""

from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, multioutput

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.baselines.label_model import LabelModel
from xdcc.baselines.per_label import PerLabelClassifier

_UNKNOWN = -1
"""Stands for an unknown label on the way through scikit-learn's multi-output classifier."""


class BinaryRelevance(PerLabelClassifier):
    """A model for each label, each on its own: XGBoost, or any scikit-learn classifier.

    Parameters
    ----------
    {learner}
    random_state : int, RandomState instance or None, default=None
        Seed of row and column samples, or of `estimator`. None is XGBoost's default seed, 0.
    {threads}
    {sparse_zeros}
    {further_params}

    Attributes
    ----------
    model_ : sklearn.multioutput.MultiOutputClassifier
        Holds the labels' models.
    {fitted}
    {categories}
    {sparse_X}

    {notes}
    NaN in Y is a label that is not known; the row is left out for that label. A label without
    both values among its rows is predicted constant.

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

    _stored = MappingProxyType({"model_": multioutput.MultiOutputClassifier})
    _missing = np.nan

    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        data.Y[np.isnan(data.Y)] = _UNKNOWN
        self.model_ = multioutput.MultiOutputClassifier(model)
        # With a setting of its own, which holds whatever the user's is.
        with config_context(enable_metadata_routing=False):
            self.model_.fit(data.X, data.Y.astype(np.int8), sample_weight=data.sample_weight)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return np.stack([proba[:, 1] for proba in self.model_.predict_proba(X)], axis=1)
