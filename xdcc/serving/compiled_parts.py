"""The parts of a compiled model: the form of X, and a predictor.

`CompiledParts` is what a file stores of a compiled model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from xdcc.base.checks import LEARNED_FROM_DATA, learned_by
from xdcc.base.estimator import CheckedEstimator, MultiLabelEstimator
from xdcc.base.state_checks import require
from xdcc.base.stored import StoredClass, check_declared, stored, stored_class
from xdcc.base.stored_types import check_type
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


@stored
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

    def _check_state(self) -> None:
        require(self.checked_by in CHECKERS, "the class that checks X")
        known = stored_class(CHECKERS[self.checked_by])
        declared = StoredClass(
            known.cls, fitted=_of_data(known.fitted), optional=_of_data(known.optional)
        )
        for name, value in self.learned.items():
            require(name in declared.types, name)
            check_type(value, declared.types[name], name)
        require(self.learned.keys() >= declared.fitted.keys(), "the form of X")
        checker = self.checker()
        check_declared(checker, declared)
        if isinstance(checker, MultiLabelEstimator):
            MultiLabelEstimator._check_state(checker)
        else:
            CheckedEstimator._check_state(checker)
        if isinstance(checker, MultiTargetXGBRegressor):
            checker._check_targets()
        if isinstance(checker, MultiClassXGBClassifier):
            checker._check_classes()

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


def _of_data(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Select what the data of ``fit`` determine."""
    return {name: declared[name] for name in LEARNED_FROM_DATA if name in declared}


@stored
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

    def _check_state(self) -> None:
        kinds = {TargetPredictor: MultiTargetXGBRegressor, ClassPredictor: MultiClassXGBClassifier}
        checker = self.input.checker()
        of_kind = kinds.get(type(self.predictor), MultiLabelEstimator)
        require(isinstance(checker, of_kind), "the class that checks X")
        n_outputs = getattr(checker, "_n_outputs" if of_kind in kinds.values() else "n_labels_")
        require(self.predictor.n_outputs == n_outputs, "n_labels")
        require(self.predictor.n_given == self.input.learned["n_features_in_"], "n_features_in_")
