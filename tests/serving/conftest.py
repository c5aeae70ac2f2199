"""Trained models for the serving tests: small data with missing values, all variants."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.serving.mixed_models import Models
from tests.serving.onnx_runs import run_onnxruntime, run_reference
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier

CHAINS: dict[str, dict[str, Any]] = {
    "paper": {},
    "defaults": {"chain_length": "auto"},
    "short standard": {"chain_length": 2, "prediction": "standard"},
    "authors": {"candidates": "all", "cumulation": "authors"},
    "certainty": {"order": "certainty", "labels_per_round": 2},
    "folds averaged": {"propagate": "cross_val", "cv": 3, "ensemble": True},
    "end label": {"propagate": "cross_val", "end_label": True},
    "stopped early": {"propagate": "cross_val", "chain_length": "auto", "ensemble": True},
    "every argument": {
        "base_score": [0.2, 0.3, 0.4, 0.5],
        "colsample_bytree": np.float64(0.7),
        "max_depth": np.int64(3),
        "random_state": 7,
        "n_jobs": 1,
        "separate_and_conquer": False,
        "split_method": 3,
    },
}
"""Arguments of different kinds of chains."""


class Rows:
    """Rows with four labels that depend on each other, and further rows to predict."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(240, 5))
        scores = Z[:, :4] + 0.5 * Z[:, 1:] + 0.4 * rng.normal(size=(240, 4))
        Y = (scores > [0, 0.4, 0.8, 0]).astype(int)
        Y[:, 3] &= 1 - Y[:, 0]
        X = np.where(rng.random(Z.shape) < 0.1, np.nan, Z).astype(np.float32)
        self.X, self.Y, self.X_new = X[:120], Y[:120], X[120:]


@pytest.fixture(scope="session")
def rows():
    return Rows()


@pytest.fixture(params=[run_onnxruntime, run_reference])
def run(request):
    return request.param


@pytest.fixture(scope="session")
def mixed_models(rows):
    """Return models that are sums of margins, by their names."""
    return Models(rows)


@pytest.fixture(scope="session")
def on_sparse():
    """Return a function that makes a model look as if it was fitted on a sparse X."""

    def as_if_fitted_on_sparse(model):
        model = copy.copy(model)  # the trees are the same
        model._input_form = replace(model._input_form, is_sparse=True)
        return model

    return as_if_fitted_on_sparse


@pytest.fixture(scope="session")
def fitted_chain(rows):
    """Return a function that trains the chain of a name, once."""
    chains = {}

    def fitted(name):
        if name not in chains:
            paper = {"propagate": "in_sample", "chain_length": None}
            arguments = {"n_estimators": 6, "max_depth": 3, **paper, **CHAINS[name]}
            chains[name] = DynamicChainClassifier(**arguments).fit(rows.X, rows.Y)
        return chains[name]

    return fitted


@pytest.fixture(scope="session")
def every_chain():
    """Return the names of all chains."""
    return tuple(CHAINS)


@pytest.fixture(params=CHAINS)
def chain(request, fitted_chain):
    return fitted_chain(request.param)


@pytest.fixture(scope="session")
def classifier(rows):
    """Return a booster that stopped early: predictions leave out its last trees."""
    model = MultiLabelXGBClassifier(n_estimators=60, learning_rate=1.0, early_stopping_rounds=2)
    model.fit(rows.X[:80], rows.Y[:80], eval_set=[(rows.X[80:], rows.Y[80:])])
    assert model.best_iteration_ + 1 < model.booster_.num_boosted_rounds()
    return model
