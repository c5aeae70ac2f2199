"""Probabilistic classifier chain (PCC): a chain read as a joint distribution of the labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression

from xdcc.baselines.chain_inference import beam_search, labelset_log_proba, marginals
from xdcc.baselines.chain_model import MISSING, fit_chain
from xdcc.baselines.chain_order import Order, check_order, resolve_order
from xdcc.baselines.estimator_model import EstimatorModel
from xdcc.baselines.labelset_search import LabelsetSearch, Loss
from xdcc.validation import Features


class ProbabilisticClassifierChain(LabelsetSearch):
    """Probabilistic classifier chain (PCC).

    Trained like a classifier chain; in prediction its models make a joint distribution P(y | x),
    whose mode or whose marginals are predicted.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba`; None is logistic regression.
    order : {"random", "frequent", "rare"} or array-like of shape (n_labels,), default="random"
        Order of the labels: drawn with `random_state`, the most or the least frequent first
        (ties by position), or the labels' indices.
    beam_width : int or None, default=None
        How many labelsets are kept after each label of the chain. None keeps all of them: exact,
        for at most 15 labels.
    loss : {"subset", "hamming"}, default="subset"
        What `predict` minimises: ``"subset"`` predicts the most probable labelset, ``"hamming"``
        the labels with a marginal probability of at least 0.5.
    random_state : int, RandomState instance or None, default=None
        Seed of a random order and the base learner.

    Attributes
    ----------
    order_ : int array of shape (n_labels,)
        Indices of the labels in the chain's order.
    model_ : sklearn.multioutput.ClassifierChain
        Holds the labels' models.
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.

    Notes
    -----
    `beam_width` and `loss` can be changed after `fit`. With a beam, probabilities of labels are
    those among the labelsets found. Missing values in X are the base learner's affair; in sparse
    X what is not stored is 0.

    References
    ----------
    K. Dembczyński, W. Cheng, E. Hüllermeier: Bayes optimal multilabel classification via
    probabilistic classifier chains. ICML 2010. Beam search: A. Kumar, S. Vembu, A. K. Menon,
    C. Elkan: Beam search algorithms for multilabel learning. Machine Learning 92, 2013.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        order: Order | ArrayLike = "random",
        beam_width: int | None = None,
        loss: Loss = "subset",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimator=estimator, random_state=random_state)
        self.order = order
        self.beam_width = beam_width
        self.loss = loss

    @staticmethod
    def _default_learner() -> Any:
        return LogisticRegression(max_iter=1000)

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the chain on the true labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Zeros and ones; one dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : ProbabilisticClassifierChain
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, the order is no order of the labels, there are
            too many labels for exact inference, the base learner has no probabilities or refuses
            the data, the data are not as described, or a label is unknown (NaN).
        """
        self._check_search()
        check_order(self.order)
        data, learner, random = self._begin_fit(X, Y, sample_weight)
        self._width()
        self.order_ = resolve_order(self.order, data.Y, data.sample_weight, random)
        model = EstimatorModel(learner, MISSING)
        self.model_ = fit_chain(model, data.X, data.Y, self.order_, data.sample_weight)
        return self

    def log_prob(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Logarithm of P(y | x), exact whatever the beam.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features as in `fit`.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            A labelset for each row.

        Returns
        -------
        float array of shape (n_samples,)
            Minus infinity where the labelset is impossible.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X or Y is not as described.
        """
        features, labels = self._check_labelsets(X, Y)
        return labelset_log_proba(self.model_, features, labels)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return marginals(*beam_search(self.model_, X, self._width()))

    def _labels(self, X: Features) -> NDArray[np.int64]:
        self._check_search()
        if self.loss == "hamming":
            return super()._labels(X)
        return beam_search(self.model_, X, self._width())[0][:, 0].astype(np.int64)
