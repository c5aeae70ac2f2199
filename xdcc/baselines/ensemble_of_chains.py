"""Ensemble of classifier chains (ECC): random orders, bagging, votes."""

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.baselines.chain_ensemble import ChainEnsemble
from xdcc.baselines.chain_model import with_stand_in
from xdcc.boosting.domains import Choice, check_domain
from xdcc.validation import Features

Vote = Literal["label", "probability"]


class EnsembleOfChains(ChainEnsemble):
    """Ensemble of classifier chains (ECC).

    Every chain has a random order of the labels and is trained on a sample of the rows; a label
    is predicted where at least half of the votes are for it.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba`; None is logistic regression.
    n_estimators : int, default=10
        Number of chains.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    max_samples : float, default=1.0
        How many rows are drawn for a chain, as a share of all, in (0, 1].
    vote : {"label", "probability"}, default="label"
        What a chain gives for a label: its prediction, as in the paper, or its probability.
    random_state : int, RandomState instance or None, default=None
        Seed of orders, samples and base learner.

    Attributes
    ----------
    chains_ : list of sklearn.multioutput.ClassifierChain
        The chains; ``order_`` of each is its label order.
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
    The paper chooses the threshold of the votes so that the predicted label density is that of
    the training data; `xdcc.thresholds.ThresholdClassifier` with ``method="pcut"`` does so.
    Missing values in X are the base learner's affair; in sparse X what is not stored is 0.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank: Classifier chains for multi-label classification.
    ECML PKDD 2009; Machine Learning 85, 2011.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        n_estimators: int = 10,
        bootstrap: bool = True,
        max_samples: float = 1.0,
        vote: Vote = "label",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimator=estimator, random_state=random_state)
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.vote = vote

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the chains.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Zeros and ones; one dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every row of positive weight is as likely to be drawn.

        Returns
        -------
        self : EnsembleOfChains
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, the base learner has no probabilities or refuses
            the data, the data are not as described, or a label is unknown (NaN).
        """
        check_domain("vote", self.vote, Choice(get_args(Vote)))
        self._check_ensemble()
        self.chains_ = self._fit_chains(*self._begin_fit(X, Y, sample_weight))
        return self

    def _proba(self, X: Features) -> NDArray[np.float64]:
        check_domain("vote", self.vote, Choice(get_args(Vote)))
        filled = with_stand_in(X)
        votes = [
            chain.predict(filled) if self.vote == "label" else chain.predict_proba(filled)
            for chain in self.chains_
        ]
        return np.mean(votes, axis=0, dtype=np.float64)
