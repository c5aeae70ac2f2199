"""From a fitted model to the parts of a compiled one."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from xdcc.prediction.predictors import PredictsByKernel
from xdcc.serving.compiled_estimator import EstimatorPredictor, Served, shallow_copy
from xdcc.serving.compiled_parts import CompiledParts

_FLAT_MEMBERS = "MultiLabelXGBClassifier, SketchedExtraTreesClassifier and LogisticLabels"


def compile_model(model: Any) -> CompiledParts:
    """Flatten a fitted model, as :class:`~xdcc.serving.CompiledModel` describes it."""
    if isinstance(model, Pipeline):
        listed = [f"{name!r} ({type(step).__name__})" for name, step in model.steps[:-1]]
        raise TypeError(
            f"CompiledModel cannot compile the steps {', '.join(listed)} of a pipeline. Compile "
            "its last step, pipeline[-1], and give it what the others make of X."
        )
    predictor: Any
    if isinstance(model, PredictsByKernel):
        check_is_fitted(model)
        predictor = model._predictor()
        _check_is_flat(predictor)
    elif isinstance(model, Served.__value__):
        predictor = EstimatorPredictor(shallow_copy(model))
    else:
        raise TypeError(
            "CompiledModel takes a fitted booster, chain, mixture or ensemble, or trees or rules "
            "that have a kernel; its documentation lists the classes. It does not take "
            f"{type(model).__module__}.{type(model).__name__}."
        )
    return CompiledParts(model._input_form, model._output_form, predictor)


def _check_is_flat(predictor: Any) -> None:
    """Raise a TypeError if members of a model, or its decision rule, have no flat form."""
    source, rule = (
        getattr(getattr(predictor, name, None), "not_flat", None) for name in ("source", "rule")
    )
    if source is not None:
        raise TypeError(f"CompiledModel serves ensembles of {_FLAT_MEMBERS}, not of {source}.")
    if rule is not None:
        raise TypeError(f"CompiledModel serves decision rules that have a flat form, not {rule}.")
