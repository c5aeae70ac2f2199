"""Random decision trees: dynamic and static chains, binary relevance, powerset (RDT-DCC)."""

from xdcc.rdt.chains import ChainTrace
from xdcc.rdt.classifier import RandomDecisionTreeClassifier

__all__ = ["ChainTrace", "RandomDecisionTreeClassifier"]
