"""Trains and evaluates one model of the driver."""

import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc import MultiLabelClassifier, metrics
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.baselines import BinaryRelevance, ClassifierChain, chain_order_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free import LabelsetPrediction
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV

MEASURES = ("hamming_accuracy", "subset_accuracy", "example_f1", "micro_f1", "macro_f1")
"""What is measured of each prediction, by its name in `xdcc.metrics`."""

PREDICTIONS = ("cumulated", "standard")
"""The readings of a dynamic chain, each a row of the table."""

PROPAGATION = {"dcc": "in_sample", "dcc-oof": "cross_val"}
"""The dynamic chains, and how their boosters see labels in training."""

ORDER = {"cc-rand": "random", "cc-freq": "frequent", "cc-rare": "rare"}
"""The classifier chains whose order is known before any other model is trained."""

ORDER_FREE_PREDICTION: dict[str, LabelsetPrediction] = {
    "subset_accuracy": "subset_accuracy",
    "example_f1": "example_f1",
    "hamming_accuracy": "marginal",
}
"""What the order-free chain predicts for a measure; for another one the likeliest labelset."""

type Measures = dict[str, float]
type RoundCallback = Callable[[int, int, float], None]


@dataclass
class Result:
    """What one model brought."""

    parameters: dict[str, Any]  # of the estimator
    fit_seconds: float  # wall time
    predict_seconds: float
    measures: dict[str, Measures]  # row of the table (a dynamic chain has two) -> measures
    # Row of the table -> measures after each round; empty for models without rounds.
    rounds: dict[str, list[Measures]] = field(default_factory=dict)
    # Predictions and the like, to keep on request.
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class Trainer:
    """Trains models with the driver's options on one pair of data sets.

    A dynamic chain is trained once, also where another model needs its order.

    Parameters
    ----------
    options : Namespace
        What `chain_driver.options.parse_arguments` returns.
    train, evaluation : MultiLabelDataset
        Rows to train on and to evaluate on.
    callback : callable
        Called after each round of a dynamic chain with its number, the number of rounds and the
        seconds that it took.

    Raises
    ------
    ValueError
        If the further parameters hold one that has an option of its own, or an option is out of
        range for one of the models: nothing is trained before that is known.
    """

    def __init__(
        self,
        options: Namespace,
        train: MultiLabelDataset,
        evaluation: MultiLabelDataset,
        callback: RoundCallback,
    ) -> None:
        self.options = options
        self.train = train
        self.evaluation = evaluation
        self.callback = callback
        own_options = {
            "n_estimators": options.num_rounds,
            "max_depth": options.max_depth,
            "random_state": options.seed,
        }
        if twice := own_options.keys() & options.parameters.keys():
            raise ValueError(
                f"--parameters holds {', '.join(sorted(twice))}, which have options of their own: "
                "--num_rounds, --max_depth, --seed"
            )
        self.booster_params = own_options | options.parameters
        if "eta" in self.booster_params and "learning_rate" not in self.booster_params:
            self.booster_params["learning_rate"] = self.booster_params.pop("eta")
        self._chains: dict[str, tuple[DynamicChainClassifier, float]] = {}
        for model in options.models:
            for estimator in self._to_train(model):
                estimator._check_params()
                if isinstance(estimator, BoosterEstimator):
                    estimator._native_booster_params()

    def run(self, model: str) -> Result:
        """Train and evaluate a model, a key of `chain_driver.options.MODELS`."""
        if model in PROPAGATION:
            return self._run_dynamic_chain(model)
        estimator = self._estimator(model)
        fit_seconds = _seconds(lambda: estimator.fit(self.train.X, self.train.Y))
        start = time.perf_counter()
        Y_pred = estimator.predict(self.evaluation.X)
        predict_seconds = time.perf_counter() - start
        arrays: dict[str, NDArray[Any]] = {
            "Y_pred": Y_pred,
            "Y_proba": estimator.predict_proba(self.evaluation.X),
        }
        if isinstance(estimator, ClassifierChain):
            arrays["order"] = estimator.order_
        parameters = estimator.get_params()
        return Result(
            {name: value for name, value in parameters.items() if name != "estimator"},
            fit_seconds,
            predict_seconds,
            {model: self._measure(Y_pred)},
            arrays=arrays,
        )

    def _to_train(self, model: str) -> list[Any]:
        """Make all estimators that a model trains, not fitted."""
        if model in PROPAGATION:
            return [self._new_chain(model)]
        if model == "cc-dcc":
            return [self._new_chain("dcc"), ClassifierChain(**self.booster_params)]
        estimator = self._estimator(model)
        return [getattr(estimator, "estimator", None) or estimator, estimator]

    def _estimator(self, model: str) -> Any:
        seed, measure = self.options.seed, self.options.measure
        if model == "auto":
            return MultiLabelClassifier(measure, random_state=seed)
        if model == "order-free":
            prediction = ORDER_FREE_PREDICTION.get(measure, "mode")
            return OrderFreeChainClassifier(prediction=prediction, random_state=seed)
        booster = MultiLabelXGBClassifier(split_method=self.options.split, **self.booster_params)
        if model == "sxgb":
            return booster
        if model == "ml-xgb-tuned":
            return TunedDecisionClassifierCV(booster, measure=measure, random_state=seed)
        if model == "br":
            return BinaryRelevance(**self.booster_params)
        return ClassifierChain(order=self._order(model), **self.booster_params)

    def _order(self, model: str) -> Any:
        if model in ORDER:
            return ORDER[model]
        chain, _ = self._dynamic_chain("dcc")
        return chain_order_of(chain, self.train.X)

    def _new_chain(self, model: str) -> DynamicChainClassifier:
        return DynamicChainClassifier(
            chain_length=self.options.chain_length,
            split_method=self.options.split,
            **{"propagate": PROPAGATION[model]} | self.booster_params,
        )

    def _dynamic_chain(self, model: str) -> tuple[DynamicChainClassifier, float]:
        if model not in self._chains:
            chain = self._new_chain(model)
            seconds = _seconds(
                lambda: chain.fit(self.train.X, self.train.Y, callback=self.callback)
            )
            self._chains[model] = chain, seconds
        return self._chains[model]

    def _run_dynamic_chain(self, model: str) -> Result:
        chain, fit_seconds = self._dynamic_chain(model)
        X = self.evaluation.X
        parameters = chain.get_params()
        predict_seconds = _seconds(lambda: chain.predict(X))
        order = chain.chain_order(X)
        arrays: dict[str, NDArray[Any]] = {"order": order.labels, "propagated": order.values}
        rounds = {}
        for prediction in PREDICTIONS:
            chain.set_params(prediction=prediction)
            rounds[f"{model} {prediction}"] = [self._measure(Y) for Y in chain.staged_predict(X)]
            arrays[f"Y_proba_{prediction}"] = chain.predict_proba(X)
        chain.set_params(prediction=parameters["prediction"])
        last = {row: measures[-1] for row, measures in rounds.items()}
        return Result(parameters, fit_seconds, predict_seconds, last, rounds, arrays)

    def _measure(self, Y_pred: NDArray[Any]) -> Measures:
        Y, Y_pred = self.evaluation.Y, np.asarray(Y_pred, dtype=int)
        return {name: getattr(metrics, name)(Y, Y_pred) for name in MEASURES}


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
