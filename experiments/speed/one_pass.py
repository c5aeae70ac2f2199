"""Measures how far a round of boosting is from one pass over all rows and labels.

A round cannot do without adding the last tree's leaf values to all margins, deriving the gradients
and projecting them. A small kernel (`pass.cc`) does this and nothing else, in the same process.
"""

import ctypes
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.speed.boosting import train_timed
from experiments.speed.data import Features, Labels
from experiments.speed.job import Job
from experiments.speed.kernel import address, compile_kernel

_SOURCE = Path(__file__).with_name("pass.cc")
_TRIALS = 7
_LEAVES = 64


def measure_passes(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train the rounds; add the `pass_seconds` of a pass, and how many `passes` a round takes."""
    _, cost = train_timed(job, X, Y, time_limit)
    with TemporaryDirectory() as folder:
        one_pass = OnePass(Path(folder), Y)
        least = np.inf
        for _ in range(_TRIALS):
            start = time.process_time()
            one_pass.run()
            least = min(least, time.process_time() - start)
    passes = cost.cpu_seconds / job.rounds / least
    return asdict(cost) | {"pass_seconds": least, "passes": passes}


class OnePass:
    """The kernel, compiled in a folder, with its arrays.

    Attributes
    ----------
    Y, margins, gradients : float32 array of shape (n_samples, n_labels)
    leaf_of : uint32 array of shape (n_samples,)
    leaf_values : float32 array of shape (n_leaves, n_labels)
    direction : float32 array of shape (n_labels,)
    projected : float32 array of shape (n_samples,)
    """

    def __init__(self, folder: Path, Y: Labels) -> None:
        self._pass = compile_kernel(_SOURCE, folder).PassOverLabels
        self._pass.restype = None
        random = np.random.default_rng(0)
        self.Y = np.ascontiguousarray(Y, np.float32)
        n_samples, n_labels = Y.shape
        self.leaf_of = random.integers(_LEAVES, size=(n_samples,), dtype=np.uint32)
        self.leaf_values = random.normal(0, 0.01, (_LEAVES, n_labels)).astype(np.float32)
        self.direction = random.normal(size=(n_labels,)).astype(np.float32)
        self.margins = random.normal(-3, 1, (n_samples, n_labels)).astype(np.float32)
        self.gradients = np.zeros(Y.shape, dtype=np.float32)
        self.projected = np.zeros(n_samples, dtype=np.float32)

    def run(self) -> None:
        """Go over all rows and labels once."""
        arrays = (self.leaf_of, self.leaf_values, self.Y, self.direction)
        outputs = (self.margins, self.gradients, self.projected)
        sizes = map(ctypes.c_size_t, self.Y.shape)
        self._pass(*sizes, *map(address, arrays), *map(address, outputs))
