"""The table of classes whose objects the file of a compiled model can hold.

Estimators are not among them, except where an estimator's own kernel predicts
(``known_classes.py``): so a compiled model is loaded without scikit-learn.
"""

from collections.abc import Mapping
from typing import Any

from xdcc.automatic.compiled_joint_labelset import CompiledJointLabelset
from xdcc.base.input_form import InputForm
from xdcc.base.output_form import LabelForm
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import LabelsetScore
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rules import (
    AnyRule,
    CommonThreshold,
    ConstrainedRule,
    F1Maximiser,
    FittedLabelset,
    LabelWise,
    LeastCost,
    MostProbableLabelset,
    ThresholdPerLabel,
)
from xdcc.prediction.layout import ChainPart, Layout, LinearPart, MemberPart, TreePart
from xdcc.prediction.predictors import BoosterPredictor, MixtureMargins
from xdcc.prediction.propagation_rule import PropagationRule
from xdcc.serving.compiled_estimator import EstimatorPredictor
from xdcc.serving.compiled_parts import CompiledParts
from xdcc.serving.known_class import KnownClass, known_part

_NARROWER: Mapping[type, Mapping[str, Any]] = {
    DecisionPredictor: {
        "source": MixtureMargins | ChainMargins,
        "rule": AnyRule | CompiledJointLabelset,
    },
    OrderFreePredictor: {"source": MixtureMargins},
}

_CONSTRUCTED = (
    *(KnownLabelsets, ConstantLabels, LabelsetScore, InputForm),
    *(BoosterPredictor, DecisionPredictor, ChainPredictor, OrderFreePredictor),
    *(MixtureMargins, ChainMargins, CompiledBooster, CompiledJointLabelset, EstimatorPredictor),
)
"""Made by calling the class: named tuples, and classes that derive other attributes."""

_PARTS = (
    *(LabelWise, LeastCost, CommonThreshold, ThresholdPerLabel, ConstrainedRule),
    *(MostProbableLabelset, FittedLabelset, F1Maximiser),
    *(LabelCalibration, PropagationRule, LabelForm, CompiledParts),
    *(Layout, TreePart, LinearPart, MemberPart, ChainPart),
)

COMPILED_CLASSES: Mapping[str, KnownClass] = {
    **{
        cls.__name__: known_part(cls, constructed=True, narrower=_NARROWER.get(cls, {}))
        for cls in _CONSTRUCTED
    },
    **{cls.__name__: known_part(cls) for cls in _PARTS},
}
"""The table: classes by their names in a file."""
