"""One booster (ML-XGB): trees that are grown for all labels, targets or classes at once."""

from xdcc.base.booster_parameters import BOOSTER_PARAMS, SPLIT_METHOD_NUMBERS, SPLIT_METHODS
from xdcc.boosting.classifier import MultiLabelXGBClassifier
from xdcc.boosting.multiclass import MultiClassXGBClassifier
from xdcc.boosting.regressor import MultiTargetXGBRegressor

__all__ = [
    "BOOSTER_PARAMS",
    "SPLIT_METHODS",
    "SPLIT_METHOD_NUMBERS",
    "MultiClassXGBClassifier",
    "MultiLabelXGBClassifier",
    "MultiTargetXGBRegressor",
]
