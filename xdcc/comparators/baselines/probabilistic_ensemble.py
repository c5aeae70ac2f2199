"""Ensemble of probabilistic classifier chains (EPCC): the mean of joint distributions."""

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks
from xdcc.base.stored import stored
from xdcc.comparators.baselines.chain_inference import (
    LabelsetSearch,
    beam_search,
    labelset_log_proba,
    marginals,
)
from xdcc.comparators.baselines.ensemble_of_chains import ChainEnsemble


@stored
@declares_parameters
class ProbabilisticEnsembleOfChains(ChainEnsemble, LabelsetSearch):
    """Ensemble of probabilistic classifier chains (EPCC).

    The chains are trained as in :class:`EnsembleOfChains`; P(y | x) is the mean over the chains.

    Parameters
    ----------
    {ensemble}
    beam_width : int or None, default=None
        Number of labelsets that the search in each chain keeps after each label. None keeps all,
        which is exact and supports at most 15 labels.
    loss : {"subset", "hamming"}, default="subset"
        The loss that `predict` minimises: ``"subset"`` predicts the labelset with the largest mean
        probability among those found in any chain, ``"hamming"`` the labels with a mean marginal
        probability of at least 0.5.
    {seed_and_chains}
    {fitted}

    Notes
    -----
    You can change `beam_width` and `loss` after `fit`.

    {missing_values}

    References
    ----------
    K. Dembczyński, W. Cheng, E. Hüllermeier: Bayes optimal multilabel classification via
    probabilistic classifier chains. ICML 2010.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.ProbabilisticEnsembleOfChains(n_estimators=3, random_state=0)
    >>> joint = model.fit(data.X, data.Y).log_prob(data.X[:2], [[0, 0, 0], [1, 1, 1]])
    >>> np.exp(joint).round(2)
    array([0.42, 0.41])
    """

    _domains = MappingProxyType({**LabelsetSearch._domains, **ChainEnsemble._domains})

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self._width()
        self.chains_ = self._fit_chains(data, learner, random)

    def _labelset_log_proba(self, X: Features, Y: NDArray[np.integer]) -> NDArray[np.float64]:
        of_chains = [labelset_log_proba(chain, X, Y) for chain in self.chains_]
        return special.logsumexp(of_chains, axis=0) - np.log(len(of_chains))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        width = self._width()
        found = [marginals(*beam_search(chain, X, width)) for chain in self.chains_]
        return np.mean(found, axis=0)

    def _mode(self, X: Features) -> NDArray[np.int64]:
        labels = np.empty((X.shape[0], self.n_labels_), dtype=np.int64)
        n_candidates = len(self.chains_) * min(self._width(), 2**self.n_labels_)
        for rows in row_blocks((X.shape[0], n_candidates * (X.shape[1] + self.n_labels_))):
            labels[rows] = self._mode_of_block(X[rows])
        return labels

    def _mode_of_block(self, X: Features) -> NDArray[np.int64]:
        """Predict the labelset with the largest mean probability; ties go to the first found."""
        width = self._width()
        found = [beam_search(chain, X, width)[0] for chain in self.chains_]
        # If the beam of one chain has all labelsets, the others add none.
        complete = found[0].shape[1] == 2**self.n_labels_
        candidates = found[0] if complete else np.concatenate(found, axis=1)
        rows = np.repeat(np.arange(X.shape[0]), candidates.shape[1])
        log_proba = self._labelset_log_proba(X[rows], candidates.reshape(-1, self.n_labels_))
        best = log_proba.reshape(X.shape[0], -1).argmax(axis=1)
        return candidates[np.arange(X.shape[0]), best].astype(np.int64)
