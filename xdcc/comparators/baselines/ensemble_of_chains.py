"""Ensemble of classifier chains (ECC): random orders, bagging, votes.

`ChainEnsemble` trains chains with random orders on samples of the rows. It is also the base class
of the probabilistic ensemble (``probabilistic_ensemble.py``).
"""

from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from xdcc.base.domains import Choice, Number, Switch
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Of
from xdcc.comparators.baselines.fixed_chain import MISSING, fit_chain, replace_missing
from xdcc.comparators.baselines.label_model import EstimatorModel
from xdcc.comparators.baselines.learner import LearnerClassifier, seeded

Vote = Literal["label", "probability"]


@declares_parameters
class ChainEnsemble(LearnerClassifier):
    """Base class that trains chains."""

    n_estimators: int = 10
    bootstrap: bool = True
    max_samples: float = 1.0

    chains_: Annotated[list[ClassifierChain], Of(order_="n_labels_")] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        require(len(self.chains_) > 0, "chains_")

    _entries = MappingProxyType(
        {
            **LearnerClassifier._entries,
            "ensemble": """
                estimator : scikit-learn classifier or None, default=None
                    Base learner, with `predict_proba`; None is logistic regression.
                n_estimators : int, default=10
                    Number of chains.
                bootstrap : bool, default=True
                    Whether to draw rows with replacement.
                max_samples : float, default=1.0
                    Share of the rows to draw for each chain, in (0, 1].
                """,
            "seed_and_chains": """
                random_state : int, RandomState instance or None, default=None
                    Seed for orders, samples and base learner; None is the seed 0.

                Attributes
                ----------
                chains_ : list of sklearn.multioutput.ClassifierChain
                    The chains; ``order_`` of a chain is its label order.
                """,
        }
    )
    _domains = MappingProxyType(
        {
            **LearnerClassifier._domains,
            "n_estimators": Number(low=1, whole=True),
            "bootstrap": Switch(),
            "max_samples": Number(low=0, high=1, low_open=True),
        }
    )

    @staticmethod
    def _default_learner() -> Any:
        return LogisticRegression(max_iter=1000)

    def _fit_chains(
        self, data: FitData, learner: Any, random: np.random.RandomState
    ) -> list[ClassifierChain]:
        n_rows = len(data.Y)
        n_drawn = max(1, round(self.max_samples * n_rows))
        chains = []
        for _ in range(self.n_estimators):
            order = random.permutation(self.n_labels_)
            rows = random.choice(n_rows, n_drawn, replace=bool(self.bootstrap))
            weight = None if data.sample_weight is None else data.sample_weight[rows]
            model = EstimatorModel(seeded(learner, random), MISSING)
            chains.append(fit_chain(model, data.X[rows], data.Y[rows], order, weight))
        return chains


@stored
@declares_parameters
class EnsembleOfChains(ChainEnsemble):
    """Ensemble of classifier chains (ECC).

    Each chain has a random order of the labels and is trained on a sample of the rows. A label is
    predicted if at least half of the votes are for it.

    Parameters
    ----------
    {ensemble}
    vote : {"label", "probability"}, default="label"
        Whether a chain votes with its prediction, as in the paper, or with its probability.
    {seed_and_chains}
    {fitted}

    Notes
    -----
    The paper chooses the threshold of the votes so that the predicted label density equals that of
    the training data. Use `xdcc.decision.ThresholdClassifier` with ``method="pcut"`` for that.

    {missing_values}

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank: Classifier chains for multi-label classification.
    ECML PKDD 2009; Machine Learning 85, 2011.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.EnsembleOfChains(n_estimators=5, random_state=0).fit(data.X, data.Y)
    >>> model.predict_proba(data.X[:2])  # shares of the votes
    array([[0. , 0. , 0.4],
           [1. , 0.8, 0.8]])
    """

    _domains = MappingProxyType({**ChainEnsemble._domains, "vote": Choice(get_args(Vote))})

    vote: Vote = "label"

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self.chains_ = self._fit_chains(data, learner, random)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        filled = replace_missing(X)
        votes = [
            chain.predict(filled) if self.vote == "label" else chain.predict_proba(filled)
            for chain in self.chains_
        ]
        return np.mean(votes, axis=0, dtype=np.float64)
