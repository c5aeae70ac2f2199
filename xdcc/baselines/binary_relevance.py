"""Binary relevance (BR): scikit-learn's ``MultiOutputClassifier`` of label models."""

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
        Seed of row and column samples, or of `estimator`. None is XGBoost's default seed, 0.
    n_jobs : int or None, default=None
        Number of threads of XGBoost; None and -1 are all processors. It does not change the model.
    {sparse_zeros}
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    model_ : sklearn.multioutput.MultiOutputClassifier
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
    its own affair. NaN in Y is a label that is not known; the row is left out for that label.
    A label without both values among its rows is predicted constant.

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

    _missing = np.nan

    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        data.Y[np.isnan(data.Y)] = _UNKNOWN
        self.model_ = multioutput.MultiOutputClassifier(model)
        # With a setting of its own, which holds whatever the user's is.
        with config_context(enable_metadata_routing=False):
            self.model_.fit(data.X, data.Y.astype(np.int8), sample_weight=data.sample_weight)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return np.stack([proba[:, 1] for proba in self.model_.predict_proba(X)], axis=1)
