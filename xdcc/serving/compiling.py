"""From a fitted model to the parts of a compiled one."""

from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.rule import CheckedRule
from xdcc.distillation import DistilledClassifier
from xdcc.prediction.predictors import MixtureMargins
from xdcc.serving.compiled_estimator import EstimatorPredictor, shallow_copy
from xdcc.serving.compiled_parts import CompiledParts
from xdcc.serving.compiling_steps import compile_steps

_WITH_KERNELS = (
    RandomDecisionTreeClassifier,
    BoomerClassifier,
    LaCovaCClassifier,
    LaCovaCForestClassifier,
)
"""Estimators whose own kernels predict."""

_SERVED = (
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
    MultiClassXGBClassifier,
    TunedDecisionClassifierCV,
    MultiLabelClassifier,
    DistilledClassifier,
    DynamicChainClassifier,
    OrderFreeChainClassifier,
    *_WITH_KERNELS,
)

_FLAT_MEMBERS = "MultiLabelXGBClassifier, SketchedExtraTreesClassifier and LogisticLabels"


def compile_model(model: Any) -> CompiledParts:
    """Flatten a fitted model, as :class:`~xdcc.serving.CompiledModel` describes it."""
    if type(model) is Pipeline:
        return _of_pipeline(model)
    if type(model) not in _SERVED:
        raise TypeError(
            f"CompiledModel takes a fitted {', '.join(kind.__name__ for kind in _SERVED[:-1])} "
            f"or {_SERVED[-1].__name__}, not "
            f"{type(model).__module__}.{type(model).__name__}."
        )
    check_is_fitted(model)
    predictor: Any
    if isinstance(model, _WITH_KERNELS):
        predictor = EstimatorPredictor(shallow_copy(model))
    else:
        predictor = model._predictor()
        _check_is_flat(predictor)
    return CompiledParts(model._input_form, model._output_form, predictor)


def _of_pipeline(pipeline: Pipeline) -> CompiledParts:
    """Compile the steps of a pipeline and its last one."""
    steps, parts = compile_steps(pipeline), compile_model(pipeline.steps[-1][1])
    if steps is not None and parts.input_form.categories is not None:
        raise TypeError(
            "CompiledModel cannot compile the steps of a pipeline that leave columns of pandas' "
            "dtype category unchanged. Compile its last step, pipeline[-1], and give it what the "
            "others make of X."
        )
    return replace(parts, steps=steps)


def _check_is_flat(predictor: Any) -> None:
    """Raise a TypeError if members of a model have no flat form."""
    source, rule = (getattr(predictor, name, None) for name in ("source", "rule"))
    if (not_flat := getattr(source, "not_flat", None)) is not None:
        raise TypeError(f"CompiledModel serves ensembles of {_FLAT_MEMBERS}, not of {not_flat}.")
    if isinstance(rule, CheckedRule):
        raise TypeError(
            f"CompiledModel serves decision rules that have a flat form, not {rule.not_flat}."
        )
    if isinstance(predictor, OrderFreePredictor) and not isinstance(source, MixtureMargins):
        raise TypeError(
            f"CompiledModel serves order-free chains on ensembles of {_FLAT_MEMBERS}, not of "
            "DynamicChainClassifier."
        )
