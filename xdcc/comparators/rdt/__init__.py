"""Random decision trees for dynamic and static chains, binary relevance and label powerset."""

from xdcc.rdt.chains import ChainTrace
from xdcc.rdt.classifier import RandomDecisionTreeClassifier

__all__ = ["ChainTrace", "RandomDecisionTreeClassifier"]
