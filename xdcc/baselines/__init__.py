"""Baselines: the methods that others are compared with, on any base learner.

Binary relevance and classifier chains, on XGBoost or on scikit-learn classifiers; label powerset,
HOMER and LPBR, by default on decision trees; probabilistic chains and ensembles of chains, by
default on logistic regression. One method per file; :mod:`xdcc.baselines.learner` says what a base
learner has to be, and none of them needs the patched XGBoost.

MLkNN and IBLR are not here. scikit-multilearn 0.2.0 fails with scikit-learn 1.9
(``NearestNeighbors.__init__() takes 1 positional argument but 2 were given``); MLkNN of
scikit-multilearn-ng 0.0.8 runs with NumPy 2.5 and can be used as it is; no library with IBLR was
found.
"""

from xdcc.baselines.binary_relevance import BinaryRelevance
from xdcc.baselines.chain_order import ORDERS, Order, chain_order_of
from xdcc.baselines.classifier_chain import ClassifierChain
from xdcc.baselines.ensemble_of_chains import EnsembleOfChains
from xdcc.baselines.homer import HOMER
from xdcc.baselines.label_powerset import LabelPowerset
from xdcc.baselines.lpbr import LPBR
from xdcc.baselines.probabilistic_chain import ProbabilisticClassifierChain
from xdcc.baselines.probabilistic_ensemble import ProbabilisticEnsembleOfChains

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
