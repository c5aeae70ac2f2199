"""Measures one training: of a booster, end to end or its rounds alone, a chain, or two workers.

The paper's chains are compared with scikit-learn's classifier chain of stock boosters, the one that
the package has as it comes, on sketched trees, with stock's booster per label.

The two workers are processes of one thread each, joined by XGBoost's collective. Each has half of
the rows. What is measured is the CPU time of both. Features have few levels, so that bins do not
depend on how rows are shared out, and models can be compared bit for bit.
"""

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.multioutput import ClassifierChain
from xgboost.collective import CommunicatorContext
from xgboost.tracker import RabitTracker

from experiments.speed.candidates import (
    Setting,
    XGBoost,
    levels,
    make_candidate,
    xgboost_parameters,
)
from experiments.speed.data import Features, Labels, kind_of, next_to_nothing
from experiments.speed.stopwatch import Cost, measure_cost
from experiments.speed.suites import Job
from xdcc.chain import DynamicChainClassifier

_BYTES_OF_FLOAT = 4


def measure_boosting(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train; add `log_loss` of the training rows, and the booster's `parameters`."""
    model, cost = train_timed(job, X, Y, time_limit)
    candidate = make_candidate(job)
    loss = loss_of(job.data)(Y, candidate.predict(model, X))
    return asdict(cost) | {"log_loss": loss, "parameters": candidate.parameters}


def measure_memory(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train; add `beyond_gib`, the memory beyond the necessary minimum.

    That is the peak less one copy of X, Y, margins and gradients in single precision.
    """
    measured = measure_boosting(job, X, Y, time_limit)
    needed = _BYTES_OF_FLOAT * (X.size + 3 * Y.size)
    return measured | {"beyond_gib": (measured["peak_bytes"] - needed) / 2**30}


def train_timed(job: Job, X: Features, Y: Labels, time_limit: float) -> tuple[Any, Cost]:
    """Train, with the clock on what the job's phase says; return the model and what it cost."""
    warm_up(job)
    candidate = make_candidate(job)
    if job.phase == "rounds":
        matrix = candidate.build(X, Y)
        candidate.quantise(matrix)
        return measure_cost(lambda: candidate.train(matrix), time_limit)
    return measure_cost(lambda: candidate.train(candidate.build(X, Y)), time_limit)


def log_loss(Y: Labels, Y_proba: NDArray[np.floating]) -> float:
    """Return the mean over all entries of minus the logarithm of the true value's probability.

    Probabilities are kept away from 0 by the resolution of float32.
    """
    of_truth = np.where(Y == 1, Y_proba, 1 - Y_proba)
    smallest = np.finfo(np.float32).eps
    return float(-np.log(np.clip(of_truth, smallest, 1)).mean(dtype=np.float64))


def loss_of(data: str) -> Callable[[Labels, NDArray[np.floating]], float]:
    """Return the loss of a data set, a function of Y and predictions."""
    return {"labels": log_loss, "targets": unexplained, "classes": log_loss_of_classes}[
        kind_of(data)
    ]


def unexplained(Y: Labels, predicted: NDArray[np.floating]) -> float:
    """Return the mean squared error of targets relative to their variance, averaged."""
    error = np.square(predicted - Y, dtype=np.float64).mean(axis=0)
    return float((error / Y.var(axis=0, dtype=np.float64)).mean())


def log_loss_of_classes(Y: Labels, Y_proba: NDArray[np.floating]) -> float:
    """Return the mean of minus the logarithm of the probability of the true class."""
    of_truth = np.take_along_axis(Y_proba, Y.astype(np.intp), axis=1)
    return float(-np.log(np.maximum(of_truth, np.finfo(np.float32).eps)).mean(dtype=np.float64))


def warm_up(job: Job) -> None:
    """Train once on next to nothing: what a process does only once is not part of a training."""
    candidate = make_candidate(replace(job, rounds=1))
    candidate.train(candidate.build(*next_to_nothing(kind_of(job.data))))


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
    """Return the number of steps of a chain.

    For `xdcc_short` the rounded-up label cardinality plus two, at most the number of labels; 1 for
    `binary_relevance`, which is not a chain; else the number of labels.
    """
    n_samples, n_labels = Y.shape
    if candidate == "binary_relevance":
        return 1
    short = math.ceil(np.count_nonzero(Y) / n_samples) + 2
    return min(short, n_labels) if candidate == "xdcc_short" else n_labels


def make_chain(job: Job, length: int) -> Any:
    """Return the estimator of a job; XDCC is the paper's, cut to a number of rounds.

    `xdcc_sketched` has trees that are searched on one sketch dimension; `xdcc_auto` is the chain
    that the package has as it comes, on sketched trees, and ends by itself. All are as they come
    but for the settings that they share with the boosters of the other suites.
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
    if job.candidate == "xdcc_sketched":
        common |= {"sketch_size": 1, "split_method": "sumGain"}
    return DynamicChainClassifier(chain_length=length, propagate="in_sample", **common)


_WORKERS = 2

type _Half = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def measure_workers(job: Job, X: Any, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train rounds of an XGBoost on two workers, and compare their model with that of one.

    `cpu_seconds` and `peak_bytes` are those of both workers, `wall_seconds` of the slower;
    `differs` is 0 if one worker's model is the same bit for bit, else 1.
    """
    X = levels(X)
    halves = list(zip(np.array_split(X, _WORKERS), np.array_split(Y, _WORKERS), strict=True))
    alone, _ = _train(job, (X, Y), time_limit)
    together = _train_together(job, halves, time_limit)
    costs = [cost for _, cost in together]
    return {
        "cpu_seconds": sum(cost.cpu_seconds for cost in costs),
        "wall_seconds": max(cost.wall_seconds for cost in costs),
        "peak_bytes": sum(cost.peak_bytes for cost in costs),
        "differs": int(any(digest != alone for digest, _ in together)),
    }


def _train_together(job: Job, halves: list[_Half], time_limit: float) -> list[tuple[str, Cost]]:
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=_WORKERS, sortby="task")
    tracker.start()
    arguments = tracker.worker_args()
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as processes:
        tasks = [
            processes.submit(_work, arguments | {"dmlc_task_id": str(k)}, job, half, time_limit)
            for k, half in enumerate(halves)
        ]
        results = [task.result() for task in tasks]
    tracker.wait_for()
    return results


def _work(arguments: dict[str, Any], job: Job, half: _Half, time_limit: float) -> tuple[str, Cost]:
    with CommunicatorContext(**arguments):
        return _train(job, half, time_limit)


def _train(job: Job, rows: _Half, time_limit: float) -> tuple[str, Cost]:
    """Return a digest of the model, and what its rounds cost."""
    candidate = make_candidate(job)
    assert isinstance(candidate, XGBoost)
    matrix = candidate.build(*rows)
    candidate.quantise(matrix)
    booster: xgb.Booster
    booster, cost = measure_cost(lambda: candidate.train(matrix), time_limit)
    return hashlib.sha256(booster.save_raw()).hexdigest(), cost
