"""XDCC: the dynamic chain of multi-label boosters, as published (in-sample propagation)."""

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import BOOSTER_GRID
from experiments.method_parts.chains import (
    MAX_ROUNDS,
    build_chain,
    chain_readings,
    fit_chain,
    positives_per_round,
)
from experiments.method_parts.scores import log_loss
from xdcc.base.booster_parameters import SPLIT_METHODS

METHOD = Method(
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
    readings=chain_readings(),
    fit=fit_chain,
    scores={"log_loss": log_loss},
    details=positives_per_round,
)
