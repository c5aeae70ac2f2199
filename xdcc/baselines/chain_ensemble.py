"""Training of an ensemble of chains: random orders, each chain on a sample of the rows."""

from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from xdcc.base.domains import Number, Switch
from xdcc.base.estimator import declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.baselines.chain_model import MISSING, fit_chain
from xdcc.baselines.estimator_model import EstimatorModel
from xdcc.baselines.learner import seeded
from xdcc.baselines.learner_classifier import LearnerClassifier


@declares_parameters
class ChainEnsemble(LearnerClassifier):
    """Arguments `n_estimators`, `bootstrap` and `max_samples`, and the chains they make."""

    n_estimators: int = 10
    bootstrap: bool = True
    max_samples: float = 1.0

    _entries = MappingProxyType(
        {
            **LearnerClassifier._entries,
            "ensemble": """
                estimator : scikit-learn classifier or None, default=None
                    Base learner, with `predict_proba`; None is logistic regression.
                n_estimators : int, default=10
                    Number of chains.
                bootstrap : bool, default=True
                    Whether rows are drawn with replacement.
                max_samples : float, default=1.0
                    How many rows are drawn for a chain, as a share of all, in (0, 1].
                """,
            "seed_and_chains": """
                random_state : int, RandomState instance or None, default=None
                    Seed of orders, samples and base learner.

                Attributes
                ----------
                chains_ : list of sklearn.multioutput.ClassifierChain
                    The chains; ``order_`` of each is its label order.
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
