"""The closed table of classes whose objects a model file can hold.

A file stores an object as the name of its class and its attributes. Each class declares in
`_stored` which attributes these are and which types they have; a dataclass or named tuple without
`_stored` stores its fields. Nothing else is ever made from a file. A new fitted attribute has to
be declared in its class: otherwise `save_model` refuses it, and a test fails.
"""

import inspect
from collections.abc import Mapping
from typing import Any, NotRequired, get_args, get_origin

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn import multioutput
from sklearn.base import BaseEstimator

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import Member
from xdcc.base.output_form import ClassForm, TargetForm
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
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
    LabelCosts,
    Precision,
    Recall,
    ThresholdClassifier,
    TunedDecisionClassifierCV,
)
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.forest.forest import ExtraTrees, LabelRows
from xdcc.linear import LogisticLabels
from xdcc.linear.columns import Columns
from xdcc.linear.design import Design
from xdcc.linear.logistic import Penalty, Solution
from xdcc.serving.compiled_classes import COMPILED_CLASSES
from xdcc.serving.known_class import KnownClass, known_part
from xdcc.serving.object_checks import check_object

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

_PARTS = (
    *(Member, JointLabelset, Forest, LabelTrees, RuleList, LabelGroup, PowersetModel),
    *(ExtraTrees, LabelRows, TargetForm, ClassForm),
    *(Columns, Design, Mixture, Component, LogisticModels, EstimatorModels, Solution, Penalty),
)
"""Classes of the parts of estimators that compiled models do not have."""

_CONSTRUCTED = (LabelCosts, Precision, Recall)
"""Made by calling the class: they derive other attributes."""

_LATER = frozenset({"callbacks", "constraints", "refit"})
"""Parameters that files of 0.2 lack: they get their defaults."""


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
    return KnownClass(
        cls, dict.fromkeys(names, Any), fitted, optional, defaults=defaults, check=check_object
    )


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
    **{cls.__name__: known_part(cls) for cls in _PARTS},
    **{cls.__name__: known_part(cls, constructed=True) for cls in _CONSTRUCTED},
    **COMPILED_CLASSES,
    **_FOREIGN,
}
"""The table: classes by their names in a file."""

NAMES: Mapping[type, str] = {known.cls: name for name, known in KNOWN_CLASSES.items()}
"""The names of the classes."""
