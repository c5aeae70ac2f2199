"""Baselines with any base learner, without the patched XGBoost.

Binary relevance and classifier chains use XGBoost or scikit-learn classifiers. Label powerset,
HOMER and LPBR use decision trees by default; probabilistic chains and ensembles of chains use
logistic regression. :mod:`xdcc.comparators.baselines.learner` describes base learners.

For MLkNN, IBLR and CHF, the experiments use scikit-multilearn-ng.
"""

from xdcc.comparators.baselines.binary_relevance import BinaryRelevance
from xdcc.comparators.baselines.classifier_chain import ClassifierChain
from xdcc.comparators.baselines.ensemble_of_chains import EnsembleOfChains
from xdcc.comparators.baselines.fixed_chain import ORDERS, Order, chain_order_of
from xdcc.comparators.baselines.homer import HOMER
from xdcc.comparators.baselines.label_powerset import LabelPowerset
from xdcc.comparators.baselines.lpbr import LPBR
from xdcc.comparators.baselines.probabilistic_chain import ProbabilisticClassifierChain
from xdcc.comparators.baselines.probabilistic_ensemble import ProbabilisticEnsembleOfChains

__all__ = [
    "HOMER",
    "LPBR",
    "ORDERS",
    "BinaryRelevance",
    "ClassifierChain",
    "EnsembleOfChains",
    "LabelPowerset",
    "Order",
    "ProbabilisticClassifierChain",
    "ProbabilisticEnsembleOfChains",
    "chain_order_of",
]
