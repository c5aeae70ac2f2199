"""Ensemble of classifier chains (ECC): random orders, bagging, votes."""

from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Choice
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.baselines.chain_ensemble import ChainEnsemble
from xdcc.baselines.chain_model import with_stand_in

Vote = Literal["label", "probability"]


@declares_parameters
class EnsembleOfChains(ChainEnsemble):
    """Ensemble of classifier chains (ECC).

    Every chain has a random order of the labels and is trained on a sample of the rows; a label
    is predicted where at least half of the votes are for it.

    Parameters
    ----------
    {ensemble}
    vote : {"label", "probability"}, default="label"
        What a chain gives for a label: its prediction, as in the paper, or its probability.
    {seed_and_chains}
    {fitted}

    Notes
    -----
    The paper chooses the threshold of the votes so that the predicted label density is that of
    the training data; `xdcc.decision.ThresholdClassifier` with ``method="pcut"`` does so.
    Missing values in X are the base learner's affair; in sparse X what is not stored is 0.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank: Classifier chains for multi-label classification.
    ECML PKDD 2009; Machine Learning 85, 2011.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.EnsembleOfChains(n_estimators=5, random_state=0).fit(data.X, data.Y)
    >>> model.predict_proba(data.X[:2])  # shares of the chains' votes
    array([[0. , 0. , 0.4],
           [1. , 0.8, 0.8]])
    """

    _domains = MappingProxyType({**ChainEnsemble._domains, "vote": Choice(get_args(Vote))})

    vote: Vote = "label"

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self.chains_ = self._fit_chains(data, learner, random)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        filled = with_stand_in(X)
        votes = [
            chain.predict(filled) if self.vote == "label" else chain.predict_proba(filled)
            for chain in self.chains_
        ]
        return np.mean(votes, axis=0, dtype=np.float64)
