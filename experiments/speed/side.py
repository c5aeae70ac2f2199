"""Compares estimators with several threads and with one, in wall time.

Both train in turns, each time in a new process, which has trained on a few rows before. Models must
not depend on the number of threads: what they predict for the training rows is compared, too.
"""

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments.speed.data import Features, Labels
from experiments.speed.suites import Job
from xdcc import MultiLabelClassifier, MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels

_TURNS = 3
_FEW_ROWS = 200


def _tuned(**params: Any) -> TunedDecisionClassifierCV:
    booster = MultiLabelXGBClassifier(learning_rate=0.1, sketch_size=1, **params)
    return TunedDecisionClassifierCV(booster, random_state=params["random_state"])


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "automatic": MultiLabelClassifier,
    "tuned booster": _tuned,
    "out-of-fold chain": DynamicChainClassifier,
    "order-free chain": OrderFreeChainClassifier,
    "extra trees": SketchedExtraTreesClassifier,
    "linear": LogisticLabels,
}
"""The classifiers that each candidate trains."""


def measure_side(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train with one thread and with the job's number.

    Returns
    -------
    dict
        `ratio`: minimum wall time with the job's threads over that with one; `cpu_ratio`: the same
        of CPU time; `differs`: 1 if predictions differ, else 0; `cpu_seconds`, `wall_seconds` and
        `peak_bytes` of one thread.
    """
    seconds: dict[int, list[tuple[float, float]]] = {1: [], job.threads: []}
    digests = set()
    for _ in range(_TURNS):
        for n_jobs, taken in seconds.items():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                *both, digest = process.submit(_fit, job, n_jobs, X, Y).result()
            taken.append((both[0], both[1]))
            digests.add(digest)
    (wall, cpu), (wall_together, cpu_together) = (
        np.min(taken, axis=0).tolist() for taken in seconds.values()
    )
    return {
        "ratio": wall_together / wall,
        "cpu_ratio": cpu_together / cpu,
        "differs": float(len(digests) > 1),
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "peak_bytes": 0,
    }


def _fit(job: Job, n_jobs: int, X: Features, Y: Labels) -> tuple[float, float, str]:
    """Train; return wall and CPU seconds, and a digest of probabilities of the training rows."""
    build = ESTIMATORS[job.candidate]
    build(random_state=job.seed, n_jobs=n_jobs).fit(X[:_FEW_ROWS], Y[:_FEW_ROWS])
    begin = time.perf_counter(), time.process_time()
    model = build(random_state=job.seed, n_jobs=n_jobs).fit(X, Y)
    wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
    return wall, cpu, hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest()
