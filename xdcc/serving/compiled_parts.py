"""The parts of a compiled model: the form of X, and a predictor.

`CompiledParts` is what a file stores of a compiled model. All its parts are of known classes
(``known_classes.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from xdcc.base.checks import learned_by
from xdcc.base.estimator import CheckedEstimator
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.boosting.output_predictors import ClassPredictor, TargetPredictor
from xdcc.chain import DynamicChainClassifier
from xdcc.chain.flat_chain import ChainPredictor
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.prediction.predictors import BoosterPredictor
from xdcc.serving.compiled_estimator import SERVED, EstimatorPredictor

CHECKERS: Mapping[str, type[CheckedEstimator]] = {
    cls.__name__: cls
    for cls in (
        MultiLabelXGBClassifier,
        MultiTargetXGBRegressor,
        MultiClassXGBClassifier,
        SketchedExtraTreesClassifier,
        LogisticLabels,
        DynamicChainClassifier,
        *SERVED,
    )
}
"""Classes that check X, by name."""


@dataclass(frozen=True, eq=False)
class InputForm:
    """The form of X and Y in ``fit``.

    Attributes
    ----------
    checked_by : str
        Name of the class that checks X, one of `CHECKERS`.
    sparse_zeros : str or None
        Its parameter; None if it has none.
    learned : dict of str to object
        Fitted attributes that describe the form, such as the number of features.
    """

    checked_by: str
    sparse_zeros: str | None
    learned: dict[str, Any]

    @classmethod
    def of(cls, model: Any) -> Self:
        """Take the form that a fitted estimator of the package knows."""
        sparse_zeros = getattr(model, "sparse_zeros", None)
        return cls(type(model).__name__, sparse_zeros, learned_by(model))

    def checker(self) -> Any:
        """Make an estimator that can check X and give predictions the form of Y, and no more."""
        checker: Any = CHECKERS[self.checked_by]()
        if self.sparse_zeros is not None:
            checker.sparse_zeros = self.sparse_zeros
        vars(checker).update(self.learned)
        return checker


@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled model, except for the number of threads.

    Attributes
    ----------
    input : InputForm
        The form of X and Y.
    predictor
        Computes outputs.
    """

    input: InputForm
    predictor: (
        BoosterPredictor
        | TargetPredictor
        | ClassPredictor
        | DecisionPredictor
        | ChainPredictor
        | OrderFreePredictor
        | EstimatorPredictor
    )
