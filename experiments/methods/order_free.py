"""One multi-label booster that stands for chains of any order, and its joint distribution."""

from functools import partial
from typing import Any

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts.scores import OF_PROBABILITIES, log_loss_given_one
from xdcc.chain import OrderFreeChainClassifier
from xdcc.chain.order_free import LABELSET_PREDICTIONS
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> OrderFreeChainClassifier:
    # Trained for subset accuracy it can be read for everything else, too.
    return OrderFreeChainClassifier(
        prediction="subset_accuracy", random_state=seed, n_jobs=1, **params
    )


def _read(model: OrderFreeChainClassifier, split: Split, prediction: str) -> Labels:
    before = model.prediction
    labels = model.set_params(prediction=prediction).predict(split.X)
    model.set_params(prediction=before)  # other readings of the same model
    return labels


METHOD = Method(
    title="one multi-label booster for chains of any order",
    reference="this project: xdcc.chain.OrderFreeChainClassifier",
    build=_build,
    params={"n_estimators": 1000},
    grid={"max_depth": [2, 4, 6], "reg_lambda": [1.0, 5.0]},
    readings={name: partial(_read, prediction=name) for name in LABELSET_PREDICTIONS},
    scores=OF_PROBABILITIES | {"log_loss_given_one": log_loss_given_one},
)
