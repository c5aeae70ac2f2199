"""The earlier model that training continues from, and whether it fits the new data."""

import json
import os
from typing import Any

import xgboost as xgb

from xdcc.base import booster_reader
from xdcc.base.estimator import MultiLabelEstimator

_PREFIX = "multilabel"


def earlier_booster(xgb_model: Any) -> xgb.Booster:
    """Return the booster that training continues from: the one given, or that of a file.

    Raises a TypeError for anything else, and a ValueError if there is no such file, it is not that
    of a booster, or the booster was not trained with an objective `multilabel:*`.
    """
    if isinstance(xgb_model, xgb.Booster):
        booster = xgb_model
    elif isinstance(xgb_model, str | os.PathLike):
        try:
            booster = booster_reader.read_booster(xgb_model)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"xgb_model={str(xgb_model)!r} is not the file of a booster: {error}"
            ) from error
    else:
        raise TypeError(
            f"xgb_model is a {type(xgb_model).__name__}; it must be a fitted "
            "MultiLabelXGBClassifier, an xgboost.Booster or the file of one."
        )
    objective = _learner(booster)["objective"]["name"]
    if not objective.startswith(_PREFIX):
        raise ValueError(
            f"xgb_model was trained with the objective {objective!r}; it must be one of "
            "'multilabel:*', as that of a MultiLabelXGBClassifier is."
        )
    return booster


def check_belongs(booster: xgb.Booster, estimator: MultiLabelEstimator) -> None:
    """Raise a ValueError if a booster was trained on other features or labels than `fit` got.

    Their numbers have to be equal, and the features' names, if both have names. There must not be
    categories, which a booster knows only by their codes.
    """
    n_features, n_labels = booster.num_features(), _n_labels(booster)
    if (n_features, n_labels) != (estimator.n_features_in_, estimator.n_labels_):
        raise ValueError(
            f"xgb_model was trained on {n_features} features and {n_labels} labels, but X has "
            f"{estimator.n_features_in_} features and Y {estimator.n_labels_} labels."
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


def _n_labels(booster: xgb.Booster) -> int:
    return int(_learner(booster)["learner_model_param"]["num_target"])
