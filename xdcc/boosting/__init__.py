"""One multi-label booster (ML-XGB): trees that are grown for all labels at once."""

from xdcc.boosting.classifier import MultiLabelXGBClassifier
from xdcc.boosting.params import BOOSTER_PARAMS, SPLIT_METHOD_NUMBERS, SPLIT_METHODS

__all__ = [
    "BOOSTER_PARAMS",
    "SPLIT_METHODS",
    "SPLIT_METHOD_NUMBERS",
    "MultiLabelXGBClassifier",
]
