"""One booster (ML-XGB): trees that are grown for all labels, targets or classes at once."""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use

if TYPE_CHECKING:
    from xdcc.base.booster_parameters import BOOSTER_PARAMS, SPLIT_METHOD_NUMBERS, SPLIT_METHODS
    from xdcc.boosting.classifier import MultiLabelXGBClassifier
    from xdcc.boosting.multiclass import MultiClassXGBClassifier
    from xdcc.boosting.regressor import MultiTargetXGBRegressor
else:
    __getattr__ = on_first_use(
        __name__,
        BOOSTER_PARAMS="xdcc.base.booster_parameters",
        SPLIT_METHODS="xdcc.base.booster_parameters",
        SPLIT_METHOD_NUMBERS="xdcc.base.booster_parameters",
        MultiClassXGBClassifier="multiclass",
        MultiLabelXGBClassifier="classifier",
        MultiTargetXGBRegressor="regressor",
    )

__all__ = [
    "BOOSTER_PARAMS",
    "SPLIT_METHODS",
    "SPLIT_METHOD_NUMBERS",
    "MultiClassXGBClassifier",
    "MultiLabelXGBClassifier",
    "MultiTargetXGBRegressor",
]
