"""Baselines: the methods that others are compared with, on any base learner.

Binary relevance and classifier chains, on XGBoost or on scikit-learn classifiers; label powerset,
HOMER and LPBR, by default on decision trees; probabilistic chains and ensembles of chains, by
default on logistic regression. One method per file; :mod:`xdcc.baselines.learner` says what a base
learner has to be, and none of them needs the patched XGBoost.

MLkNN, IBLR and CHF are not here: scikit-multilearn-ng has them, and the experiments use those.
"""

from xdcc.baselines.binary_relevance import BinaryRelevance
from xdcc.baselines.classifier_chain import ClassifierChain
from xdcc.baselines.ensemble_of_chains import EnsembleOfChains
from xdcc.baselines.fixed_chain import ORDERS, Order, chain_order_of
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
