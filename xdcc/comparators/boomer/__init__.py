"""BOOMER: gradient boosted multi-label rules for losses that decompose over labels or do not."""

from xdcc.comparators.boomer.classifier import BoomerClassifier
from xdcc.comparators.boomer.rule import Condition, Rule, RuleList

__all__ = ["BoomerClassifier", "Condition", "Rule", "RuleList"]
