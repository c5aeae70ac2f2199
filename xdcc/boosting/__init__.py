"""One multi-label booster (ML-XGB): trees that are grown for all labels at once."""

from xdcc.base.booster_parameters import BOOSTER_PARAMS, SPLIT_METHOD_NUMBERS, SPLIT_METHODS
from xdcc.boosting.classifier import MultiLabelXGBClassifier

__all__ = [
    "BOOSTER_PARAMS",
    "SPLIT_METHODS",
    "SPLIT_METHOD_NUMBERS",
    "MultiLabelXGBClassifier",
]
