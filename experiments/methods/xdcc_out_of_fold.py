"""The dynamic chain with out-of-fold propagation and an end label: this project's default."""

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import BOOSTER_GRID
from experiments.method_parts.chains import (
    MAX_ROUNDS,
    build_chain,
    chain_readings,
    fit_chain,
    positives_per_round,
    rounds,
    rounds_of_a_row,
)
from experiments.method_parts.readings import probability_readings
from experiments.method_parts.scores import OF_PROBABILITIES
from xdcc.base.booster_parameters import SPLIT_METHODS

METHOD = Method(
    title="dynamic chain of multi-label boosters, trained on out-of-fold predictions",
    reference="this project; after Bohlender, Loza Mencía, Kulessa, 2020",
    build=build_chain,
    params={"chain_length": MAX_ROUNDS, "propagate": "cross_val", "cv": 3, "end_label": True},
    grid=BOOSTER_GRID | {"split_method": list(SPLIT_METHODS)},
    readings=chain_readings() | probability_readings(),
    fit=fit_chain,
    scores=OF_PROBABILITIES | {"rounds": rounds, "rounds_of_a_row": rounds_of_a_row},
    details=positives_per_round,
)
