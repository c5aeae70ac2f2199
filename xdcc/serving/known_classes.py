"""The closed table of classes whose objects a model file can hold.

A file stores an object as the name of its class and its attributes. Each class declares in
`_stored` which attributes these are and which types they have; a dataclass or named tuple without
`_stored` stores its fields. Nothing else is ever made from a file. A new fitted attribute has to
be declared in its class: otherwise `save_model` refuses it, and a test fails.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NotRequired, get_args, get_origin, get_type_hints

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn import multioutput
from sklearn.base import BaseEstimator

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.compiled_joint_labelset import CompiledJointLabelset
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import Member
from xdcc.base.input_form import InputForm
from xdcc.base.output_form import ClassForm, LabelForm, TargetForm
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import LabelsetScore
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.comparators import baselines
from xdcc.comparators.baselines.homer import LabelGroup
from xdcc.comparators.baselines.label_model import EstimatorModel, XGBModel
from xdcc.comparators.baselines.label_powerset import PowersetModel
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.boomer.rule import RuleList
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.ctbn.learner import EstimatorModels, LogisticModels
from xdcc.comparators.ctbn.mixture import Component, Mixture
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.lacovac.tree import LabelTrees
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.comparators.rdt.forest import Forest
from xdcc.decision import (
    KnownLabelsets,
    LabelCosts,
    Precision,
    Recall,
    ThresholdClassifier,
    TunedDecisionClassifierCV,
)
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.decision_predictor import DecisionPredictor
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
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.forest.forest import ExtraTrees, LabelRows
from xdcc.linear import LogisticLabels
from xdcc.linear.columns import Columns
from xdcc.linear.design import Design
from xdcc.linear.logistic import Penalty, Solution
from xdcc.prediction.layout import ChainPart, Layout, LinearPart, MemberPart, TreePart
from xdcc.prediction.predictors import BoosterPredictor, MixtureMargins
from xdcc.prediction.propagation_rule import PropagationRule
from xdcc.serving.compiled_estimator import EstimatorPredictor
from xdcc.serving.compiled_parts import CompiledParts
from xdcc.serving.object_checks import check_object
from xdcc.serving.structure_checks import check_type

MODELS = (
    MultiLabelClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
    MultiClassXGBClassifier,
    DynamicChainClassifier,
    OrderFreeChainClassifier,
    TunedDecisionClassifierCV,
    ThresholdClassifier,
    DistilledClassifier,
    SketchedExtraTreesClassifier,
    RandomDecisionTreeClassifier,
    BoomerClassifier,
    LaCovaCClassifier,
    LaCovaCForestClassifier,
    CTBNMixtureClassifier,
    CTBNClassifier,
    LogisticLabels,
    baselines.BinaryRelevance,
    baselines.ClassifierChain,
    baselines.EnsembleOfChains,
    baselines.ProbabilisticClassifierChain,
    baselines.ProbabilisticEnsembleOfChains,
    baselines.LabelPowerset,
    baselines.HOMER,
    baselines.LPBR,
)
"""The estimators of the package: what `save_model` takes."""

_LABEL_MODELS = (XGBModel, EstimatorModel)

_PREDICTORS = (
    *(BoosterPredictor, DecisionPredictor, ChainPredictor, OrderFreePredictor),
    *(MixtureMargins, ChainMargins, CompiledBooster, CompiledJointLabelset, EstimatorPredictor),
)
"""Parts of compiled models."""

_PARTS = (
    *(Member, JointLabelset, LabelCalibration, ConstantLabels, KnownLabelsets, LabelsetScore),
    *(LabelWise, LeastCost, CommonThreshold, ThresholdPerLabel),
    *(MostProbableLabelset, FittedLabelset, F1Maximiser),
    *(LabelCosts, PropagationRule, Forest, LabelTrees, RuleList, LabelGroup, PowersetModel),
    *(ExtraTrees, LabelRows, ConstrainedRule, Precision, Recall),
    *(InputForm, LabelForm, TargetForm, ClassForm, CompiledParts),
    *(Layout, TreePart, LinearPart, MemberPart, ChainPart),
    *_PREDICTORS,
    *(Columns, Design, Mixture, Component, LogisticModels, EstimatorModels, Solution, Penalty),
)
"""Classes of the parts of estimators."""

_NARROWER: Mapping[type, Mapping[str, Any]] = {
    DecisionPredictor: {
        "source": MixtureMargins | ChainMargins,
        "rule": AnyRule | CompiledJointLabelset,
    },
    OrderFreePredictor: {"source": MixtureMargins},
}
"""Types of attributes that are interfaces in the class, and closed in a file."""

_CONSTRUCTED = (
    *(KnownLabelsets, LabelCosts, ConstantLabels, LabelsetScore, Precision, Recall, InputForm),
    *_PREDICTORS,
)
"""Made by calling the class: named tuples, and classes that derive other attributes."""

_LATER = frozenset({"callbacks", "constraints", "refit"})
"""Parameters that files of 0.2 lack: they get their defaults."""

_LEFT_OUT = frozenset({"_metadata_request", "_sklearn_output_config", "_nodes"})
"""Requests about arguments of `fit`, which no longer matter, what `set_output` has set, and nodes
of random trees as the kernel reads them.
"""


@dataclass(frozen=True)
class KnownClass:
    """A class whose objects a file can hold.

    Attributes
    ----------
    cls : type
        The class.
    attributes : mapping of str to type
        Attributes that every object has.
    fitted : mapping of str to type
        Attributes that every fitted estimator has.
    optional : mapping of str to type
        Attributes that an object may have.
    constructed : bool
        Whether objects are made by calling the class with their attributes. Otherwise all
        attributes of an object are stored, and set as they were.
    defaults : mapping of str to object
        Defaults of parameters that a file of an earlier version lacks.
    """

    cls: type
    attributes: Mapping[str, Any]
    fitted: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    constructed: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def attributes_of(self, value: Any) -> dict[str, Any]:
        """Return the attributes of an object; raise a TypeError if one is unknown."""
        if self.constructed:
            return {name: getattr(value, name) for name in self.attributes}
        found = {name: entry for name, entry in vars(value).items() if name not in _LEFT_OUT}
        for name in found:
            if name not in {*self.attributes, *self.fitted, *self.optional}:
                raise TypeError(
                    f"This {self.cls.__name__} has an attribute {name!r} that the class does not "
                    "define. A model file cannot store it: delete the attribute first."
                )
        return found

    def make(self, attributes: Mapping[str, Any]) -> Any:
        """Make an object from its attributes.

        Raises a TypeError or ValueError if an attribute is unknown, missing, of another type, or
        inconsistent with the others.
        """
        types = {**self.attributes, **self.fitted, **self.optional}
        later = {name: self.defaults[name] for name in self.defaults if name not in attributes}
        attributes = {**attributes, **later}
        for name, entry in attributes.items():
            if name not in types:
                raise ValueError(f"a {self.cls.__name__} has no attribute {name!r}")
            check_type(entry, types[name], f"{name} of a {self.cls.__name__}")
        is_fitted = any(name in attributes for name in self.fitted)
        for name in (*self.attributes, *(self.fitted if is_fitted else ())):
            if name not in attributes:
                raise ValueError(f"a {self.cls.__name__} lacks its {name}")
        value: Any = self.cls(**attributes) if self.constructed else object.__new__(self.cls)
        if not self.constructed:
            for name, entry in attributes.items():
                object.__setattr__(value, name, entry)
        if is_fitted or not self.fitted:
            check_object(value)
        return value


def _declared(cls: type) -> dict[str, Any]:
    """Collect what a class and its bases declare."""
    declared: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared.update(vars(base).get("_stored", {}))
    return declared


def _estimator(cls: type[BaseEstimator], stored: Mapping[str, Any]) -> KnownClass:
    """Describe an estimator by its parameters and what `fit` sets."""
    optional = {
        name: get_args(type_)[0]
        for name, type_ in stored.items()
        if get_origin(type_) is NotRequired
    }
    fitted = {name: type_ for name, type_ in stored.items() if name not in optional}
    names = cls._get_param_names()
    of_init = inspect.signature(cls).parameters
    defaults = {name: of_init[name].default for name in _LATER.intersection(names)}
    return KnownClass(cls, dict.fromkeys(names, Any), fitted, optional, defaults=defaults)


def _part(cls: type) -> KnownClass:
    stored = vars(cls).get("_stored")
    if stored is None:
        hints = get_type_hints(cls)
        stored = {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}
    stored = {**stored, **_NARROWER.get(cls, {})}
    if cls in _CONSTRUCTED:
        return KnownClass(cls, stored, constructed=True)
    # Fields with a default, which files of an earlier version may lack.
    optional = {name: hint for name, hint in stored.items() if hasattr(cls, name)}
    fields = {name: hint for name, hint in stored.items() if name not in optional}
    return KnownClass(cls, fields, optional=optional)


_OF_SCIKIT_LEARN = {
    "estimators_": list[BaseEstimator],
    "classes_": list[NDArray[Any]],
    "n_features_in_": NotRequired[int],
}
_FOREIGN = {
    "sklearn.ClassifierChain": _estimator(
        multioutput.ClassifierChain,
        {
            **_OF_SCIKIT_LEARN,
            "order_": NDArray[np.int64],
            "chain_method_": NotRequired[str],
        },
    ),
    "sklearn.MultiOutputClassifier": _estimator(
        multioutput.MultiOutputClassifier, _OF_SCIKIT_LEARN
    ),
    "xgboost.XGBClassifier": KnownClass(
        xgb.XGBClassifier,
        dict.fromkeys(xgb.XGBClassifier().get_params(deep=False), Any),
        {"_Booster": xgb.Booster, "n_classes_": int},
        {"evals_result_": dict[str, Any], "kwargs": dict[str, Any]},
    ),
}

KNOWN_CLASSES: Mapping[str, KnownClass] = {
    **{cls.__name__: _estimator(cls, _declared(cls)) for cls in (*MODELS, *_LABEL_MODELS)},
    **{cls.__name__: _part(cls) for cls in _PARTS},
    **_FOREIGN,
}
"""The table: classes by their names in a file."""

NAMES: Mapping[type, str] = {known.cls: name for name, known in KNOWN_CLASSES.items()}
"""The names of the classes."""
