"""Random decision trees for dynamic and static chains, binary relevance and label powerset."""

from xdcc.comparators.rdt.chains import ChainTrace
from xdcc.comparators.rdt.classifier import RandomDecisionTreeClassifier

__all__ = ["ChainTrace", "RandomDecisionTreeClassifier"]
