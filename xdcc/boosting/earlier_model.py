"""The earlier model that training continues from, and whether it fits the new data."""

import json
import os
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from xdcc.boosting.booster_file import read_booster
from xdcc.boosting.target_losses import trained_objectives
from xdcc.prediction.booster_trees import has_weighted_trees

if TYPE_CHECKING:
    from xdcc.boosting.single_booster import SingleBooster


def earlier_booster(xgb_model: Any, objectives: str, estimator: str) -> xgb.Booster:
    """Return the booster that training continues from: the one given, or that of a file.

    Raises a TypeError for anything else, and a ValueError if there is no such file, it is not that
    of a booster, or the booster has other `objectives` than an `estimator`, or weights of trees.
    """
    if isinstance(xgb_model, xgb.Booster):
        booster = xgb_model
    elif isinstance(xgb_model, str | os.PathLike):
        try:
            booster = read_booster(xgb_model)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"xgb_model={str(xgb_model)!r} is not the file of a booster: {error}"
            ) from error
    else:
        raise TypeError(
            f"xgb_model is a {type(xgb_model).__name__}; it must be a fitted {estimator}, an "
            "xgboost.Booster or the file of one."
        )
    check_objectives(booster, objectives, estimator)
    if has_weighted_trees(booster):
        raise ValueError(
            "xgb_model was trained with dropout (rate_drop), which gives each tree a weight; "
            f"{estimator} has no such weights. Train it without dropout."
        )
    return booster


def check_objectives(booster: xgb.Booster, objectives: str, estimator: str) -> None:
    """Raise a ValueError if a booster was trained with other objectives than those of an estimator.

    `objectives` are their names with commas between them, or a prefix that ends with a colon.
    """
    trained = ",".join(trained_objectives(booster))
    is_prefix = objectives.endswith(":")
    if not (trained.startswith(objectives) if is_prefix else trained == objectives):
        wanted = f"one of '{objectives}*'" if is_prefix else repr(objectives)
        raise ValueError(
            f"xgb_model was trained with the objective {trained!r}; it must be {wanted}, as that "
            f"of this {estimator} is."
        )


def check_belongs(booster: xgb.Booster, estimator: "SingleBooster") -> None:
    """Raise a ValueError if a booster was trained on other features or labels than `fit` got.

    Their numbers have to be equal, and the features' names, if both have names. There must not be
    categories, which a booster knows only by their codes.
    """
    n_features, n_trained = booster.num_features(), n_outputs(booster)
    if (n_features, n_trained) != (estimator.n_features_in_, estimator._n_outputs):
        what = estimator._outputs_are
        adds_labels = what == "labels" and n_trained < estimator._n_outputs
        raise ValueError(
            f"xgb_model was trained on {n_features} features and {n_trained} {what}, but X has "
            f"{estimator.n_features_in_} features and Y {estimator._n_outputs} {what}."
            + (" To add labels, pass the fitted estimator as xgb_model." if adds_labels else "")
        )
    names = list(getattr(estimator, "feature_names_in_", ()))
    known = booster.feature_names
    if names and known and names != known:
        at = next(j for j, (a, b) in enumerate(zip(names, known, strict=True)) if a != b)
        raise ValueError(
            f"xgb_model was trained on other features: column {at} of X is {names[at]!r}, and was "
            f"{known[at]!r}."
        )
    if hasattr(estimator, "categories_"):
        raise ValueError(
            "X has categories, but a booster does not know their codes: pass the "
            "fitted estimator as xgb_model."
        )


def _learner(booster: xgb.Booster) -> dict[str, Any]:
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


def n_outputs(booster: xgb.Booster) -> int:
    """Return the number of labels, targets or classes that a booster predicts."""
    param = _learner(booster)["learner_model_param"]
    return max(int(param["num_target"]), int(param["num_class"]))
