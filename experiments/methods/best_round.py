"""Boosters with the same settings, each at its best round: on sketches, exact, and per label."""

from functools import partial
from typing import Any

from xgboost import XGBClassifier

from experiments.engine.registry import Method
from experiments.method_parts.best_round import PATIENCE, LightGBMPerLabel, fit_to_best_round
from experiments.method_parts.scores import OF_PROBABILITIES
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset

SHARED = {"n_estimators": 2000, "max_depth": 6, "learning_rate": 0.1}


def _ours(train: MultiLabelDataset, seed: int, groups: int | str, **params: Any) -> Any:
    """Return a booster whose rounds have `groups` trees, each for as many labels."""
    if groups != "auto":
        params["labels_per_tree"] = -(-train.n_labels // int(groups)) if groups != 1 else 0
    return _xgboost(train, seed, MultiLabelXGBClassifier, **params)


def _xgboost(train: MultiLabelDataset, seed: int, kind: type = XGBClassifier, **params: Any) -> Any:
    return kind(
        max_bin=64, random_state=seed, n_jobs=1, eval_metric="logloss",
        early_stopping_rounds=PATIENCE, **params,
    )  # fmt: skip


def _lightgbm(train: MultiLabelDataset, seed: int, max_depth: int, **params: Any) -> Any:
    return LightGBMPerLabel(
        max_depth=max_depth, num_leaves=2**max_depth - 1, max_bin=64, random_state=seed, n_jobs=1,
        verbose=-1, **params,
    )  # fmt: skip


_method = partial(Method, params=SHARED, fit=fit_to_best_round, scores=OF_PROBABILITIES)
METHODS = {
    "sketched_best_round": _method(
        title="a multi-label booster at its best round, splits exact or on sketches",
        reference="this project; Iosipoi and Vakhrushev, SketchBoost, 2022",
        build=_ours,
        params=SHARED | {"sketch_size": 0, "groups": 1},
    ),
    "stock_best_round": _method(
        title="XGBoost per label, all labels at their common best round",
        reference="Chen and Guestrin, XGBoost: A Scalable Tree Boosting System, 2016",
        build=_xgboost,
    ),
    "lightgbm_best_round": _method(
        title="LightGBM per label, each label at its best round",
        reference="Ke et al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017",
        build=_lightgbm,
        requires=("lightgbm",),
    ),
}
