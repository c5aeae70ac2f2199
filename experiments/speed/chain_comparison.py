"""Measures one chain: XDCC, or what it is compared with.

The paper's chains are compared with scikit-learn's classifier chain of stock boosters, the one that
the package has as it comes, on sketched trees, with stock's booster per label.
"""

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import xgboost as xgb
from sklearn.multioutput import ClassifierChain

from experiments.speed.candidates import xgboost_parameters
from experiments.speed.data import Features, Labels, next_to_nothing
from experiments.speed.job import Job
from experiments.speed.setting import Setting
from experiments.speed.stopwatch import measure_cost
from xdcc.chain import DynamicChainClassifier


def measure_chain(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train a chain; add its `chain_length` and `parameters`."""
    make_chain(replace(job, rounds=1), 2).fit(*next_to_nothing())
    length = chain_length(job.candidate, Y)
    chain = make_chain(job, length)
    _, cost = measure_cost(lambda: chain.fit(X, Y), time_limit)
    parameters = {name: str(value) for name, value in chain.get_params().items()}
    length = getattr(chain, "n_rounds_", length)
    return asdict(cost) | {"chain_length": length, "parameters": parameters}


def chain_length(candidate: str, Y: Labels) -> int:
    """Return the number of rounds of a chain.

    For `xdcc_short` the rounded-up label cardinality plus two, at most the number of labels; 1 for
    `binary_relevance`, which is no chain; else the number of labels.
    """
    n_samples, n_labels = Y.shape
    if candidate == "binary_relevance":
        return 1
    short = math.ceil(np.count_nonzero(Y) / n_samples) + 2
    return min(short, n_labels) if candidate == "xdcc_short" else n_labels


def make_chain(job: Job, length: int) -> Any:
    """Return the estimator of a job; XDCC is the paper's, cut to a number of rounds.

    `xdcc_auto` ends by itself. All are as they come but for the settings that they share with the
    boosters of the other suites.
    """
    common = xgboost_parameters(Setting())
    del common["tree_method"]
    common |= {"n_estimators": job.rounds, "random_state": job.seed, "n_jobs": job.threads}
    if job.candidate == "binary_relevance":
        return xgb.XGBClassifier(tree_method="hist", **common)
    if job.candidate == "xdcc_auto":
        return DynamicChainClassifier(sketch_size="auto", split_method="sumGain", **common)
    if job.candidate == "classifier_chain":
        return ClassifierChain(estimator=xgb.XGBClassifier(tree_method="hist", **common))
    return DynamicChainClassifier(chain_length=length, propagate="in_sample", **common)
