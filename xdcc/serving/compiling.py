"""From a fitted model to the parts of a compiled one."""

from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from xdcc.prediction.predictors import PredictsByKernel
from xdcc.serving.compiled_estimator import EstimatorPredictor, Served, shallow_copy
from xdcc.serving.compiled_parts import CompiledParts
from xdcc.serving.compiling_steps import compile_steps

_FLAT_MEMBERS = "MultiLabelXGBClassifier, SketchedExtraTreesClassifier and LogisticLabels"


def compile_model(model: Any) -> CompiledParts:
    """Flatten a fitted model, as :class:`~xdcc.serving.CompiledModel` describes it."""
    if type(model) is Pipeline:
        return _of_pipeline(model)
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


def n_jobs_of(model: Any) -> int | None:
    """Return the `n_jobs` with which a model predicts, or the last step of a pipeline."""
    if type(model) is Pipeline:
        return n_jobs_of(model.steps[-1][1])
    n_jobs: int | None = (
        model._n_jobs_here() if isinstance(model, PredictsByKernel) else model.n_jobs
    )
    return n_jobs


def _of_pipeline(pipeline: Pipeline) -> CompiledParts:
    """Compile the steps of a pipeline and its last one."""
    return replace(compile_model(pipeline.steps[-1][1]), steps=compile_steps(pipeline))


def _check_is_flat(predictor: Any) -> None:
    """Raise a TypeError if members of a model, or its decision rule, have no flat form."""
    source, rule = (
        getattr(getattr(predictor, name, None), "not_flat", None) for name in ("source", "rule")
    )
    if source is not None:
        raise TypeError(f"CompiledModel serves ensembles of {_FLAT_MEMBERS}, not of {source}.")
    if rule is not None:
        raise TypeError(f"CompiledModel serves decision rules that have a flat form, not {rule}.")
