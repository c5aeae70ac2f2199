"""Multi-label boosters, XGBoost models whose trees predict all labels, and models based on them.

These are the booster alone (ML-XGB); with calibration, rounds and decision rule chosen out of fold
for a metric; `MultiLabelClassifier`, also distilled; and the order-free chain.
"""

from functools import partial
from math import ceil
from typing import Any

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts import (
    BOOSTER_GRID,
    OF_PROBABILITIES,
    log_loss,
    log_loss_given_one,
    probability_rules,
)
from xdcc import DistilledClassifier, MultiLabelClassifier
from xdcc.base.booster_parameters import SPLIT_METHODS
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import OrderFreeChainClassifier
from xdcc.chain.order_free_prediction import LABELSET_PREDICTIONS
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV


def _mlxgb(train: MultiLabelDataset, seed: int, **params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(random_state=seed, n_jobs=1, **params)


def _mlxgb_tuned(
    train: MultiLabelDataset, seed: int, measure: str, n_groups: int, **params: Any
) -> TunedDecisionClassifierCV:
    booster = MultiLabelXGBClassifier(
        labels_per_tree=ceil(train.n_labels / n_groups), random_state=seed, n_jobs=1, **params
    )
    return TunedDecisionClassifierCV(booster, measure=measure, random_state=seed)


def _auto(train: MultiLabelDataset, seed: int, **params: Any) -> MultiLabelClassifier:
    return MultiLabelClassifier(random_state=seed, n_jobs=1, **params)


def _distilled(
    train: MultiLabelDataset, seed: int, measure: str, **params: Any
) -> DistilledClassifier:
    teacher = _auto(train, seed, measure=measure)
    return DistilledClassifier(teacher, random_state=seed, n_jobs=1, **params)


def _order_free(train: MultiLabelDataset, seed: int, **params: Any) -> OrderFreeChainClassifier:
    # Trained for subset accuracy, it can use every other decision rule, too.
    return OrderFreeChainClassifier(
        prediction="subset_accuracy", random_state=seed, n_jobs=1, **params
    )


def _read(model: OrderFreeChainClassifier, split: Split, prediction: str) -> Labels:
    before = model.prediction
    labels = model.set_params(prediction=prediction).predict(split.X)
    model.set_params(prediction=before)  # other decision rules for the same model
    return labels


METHODS = {
    "mlxgb": Method(
        title="a single multi-label booster",
        reference="Bohlender, Loza Mencía, Kulessa, Extreme Gradient Boosted Multi-label Trees for "
        "Dynamic Classifier Chains, Discovery Science 2020, section 3.1",
        build=_mlxgb,
        grid=BOOSTER_GRID | {"split_method": list(SPLIT_METHODS)},
        rules=probability_rules(),
        scores={"log_loss": log_loss},
    ),
    "mlxgb_tuned": Method(
        title="a single multi-label booster with a tuned decision rule",
        reference="this project: xdcc.decision.TunedDecisionClassifierCV",
        build=_mlxgb_tuned,
        params={"measure": "example_f1", "n_estimators": 400, "max_bin": 64},
        grid={
            "learning_rate": [0.05, 0.1],
            "max_depth": [4, 6],
            "sketch_size": [0, 1, 2],
            "n_groups": [1, 2, 4],
        },
    ),
    "auto": Method(
        title="a mixture of boosters, extra trees and linear models, with a tuned decision rule",
        reference="this project: xdcc.MultiLabelClassifier",
        build=_auto,
        params={"measure": "example_f1"},
        scores={"log_loss": log_loss},
        revision=3,
    ),
    "distilled": Method(
        title="a single multi-label booster that has learned the probabilities of a mixture",
        reference="this project: xdcc.DistilledClassifier",
        build=_distilled,
        params={"measure": "example_f1"},
        scores={"log_loss": log_loss},
        revision=2,
    ),
    "order_free": Method(
        title="one multi-label booster for chains of any order",
        reference="this project: xdcc.chain.OrderFreeChainClassifier",
        build=_order_free,
        params={"n_estimators": 1000},
        grid={"max_depth": [2, 4, 6], "reg_lambda": [1.0, 5.0]},
        rules={name: partial(_read, prediction=name) for name in LABELSET_PREDICTIONS},
        scores=OF_PROBABILITIES | {"log_loss_given_one": log_loss_given_one},
    ),
}
