"""Dynamic chains of multi-label boosters (XDCC): as published, and this project's default.

As published, labels are propagated in sample; the default has out-of-fold propagation and an end
label. Prediction modes are the cumulated and the standard prediction; their stages are the steps.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments.engine.registry import DecisionRule, Labels, Method, Split
from experiments.method_parts import BOOSTER_GRID, OF_PROBABILITIES, log_loss, probability_rules
from xdcc.base.booster_parameters import SPLIT_METHODS
from xdcc.chain import DynamicChainClassifier
from xdcc.chain.propagation import NO_LABEL
from xdcc.data import MultiLabelDataset
from xdcc.explain import round_statistics

MAX_ROUNDS = 10
"""Default number of chain steps: tuning a chain of all labels of bibtex would take too long."""


def build_chain(
    train: MultiLabelDataset, seed: int, chain_length: int | str | None, **params: Any
) -> DynamicChainClassifier:
    """Return a chain with at most as many steps as labels."""
    if isinstance(chain_length, int):
        chain_length = min(chain_length, train.n_labels)
    return DynamicChainClassifier(
        chain_length=chain_length,
        random_state=seed,
        n_jobs=1,
        **params,
    )


def fit_chain(chain: DynamicChainClassifier, train: MultiLabelDataset) -> dict[str, Any]:
    """Train a chain; return the wall seconds of its steps."""
    seconds: list[float] = []
    chain.fit(train.X, train.Y, callback=lambda _, __, taken: seconds.append(taken))
    return {"round_seconds": seconds}


def chain_rules() -> dict[str, DecisionRule]:
    """Return the cumulated and the standard prediction; their stages are the steps."""
    return {name: partial(_after_each_round, prediction=name) for name in ("cumulated", "standard")}


def _after_each_round(
    chain: DynamicChainClassifier, split: Split, prediction: str
) -> Iterator[Labels]:
    before = chain.prediction
    stages = list(chain.set_params(prediction=prediction).staged_predict(split.X))
    chain.set_params(prediction=before)  # other prediction modes of the same model
    return iter(stages)


def positives_per_round(chain: DynamicChainClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """Return the numbers of positive and negative decisions in each step."""
    rounds = round_statistics(chain, X).by_round()
    return {name: rounds[name].tolist() for name in ("positive", "negative")}


def rounds(chain: DynamicChainClassifier, split: Split, Y: Any) -> float:
    """Return the number of steps of a chain."""
    return chain.n_rounds_


def rounds_of_a_row(chain: DynamicChainClassifier, split: Split, Y: Any) -> float:
    """Return the mean number of steps of a row, including the one in which it ends."""
    propagated = (chain.chain_order(split.X).labels != NO_LABEL).sum(axis=1)
    return float(np.minimum(propagated + 1, chain.n_rounds_).mean())


METHODS = {
    "xdcc": Method(
        title="dynamic chain of multi-label boosters, as published",
        reference="Bohlender, Loza Mencía, Kulessa, Extreme Gradient Boosted Multi-label Trees for "
        "Dynamic Classifier Chains, Discovery Science 2020",
        build=build_chain,
        params={
            "chain_length": MAX_ROUNDS,
            "propagate": "in_sample",
            "candidates": "all",
            "cumulation": "authors",
        },
        grid=BOOSTER_GRID | {"split_method": list(SPLIT_METHODS)},
        rules=chain_rules(),
        fit=fit_chain,
        scores={"log_loss": log_loss},
        details=positives_per_round,
    ),
    "xdcc_out_of_fold": Method(
        title="dynamic chain of multi-label boosters, trained on out-of-fold predictions",
        reference="this project; after Bohlender, Loza Mencía, Kulessa, 2020",
        build=build_chain,
        params={"chain_length": MAX_ROUNDS, "propagate": "cross_val", "cv": 3, "end_label": True},
        grid=BOOSTER_GRID | {"split_method": list(SPLIT_METHODS)},
        rules=chain_rules() | probability_rules(),
        fit=fit_chain,
        scores=OF_PROBABILITIES | {"rounds": rounds, "rounds_of_a_row": rounds_of_a_row},
        details=positives_per_round,
    ),
}
