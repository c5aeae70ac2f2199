"""CPU time of training where the rows are shared out: among workers, or pages of external memory.

    python experiments/benchmarks/shared_rows_speed.py
    python experiments/benchmarks/shared_rows_speed.py --rows 20000 --labels 10 --turns 1

Candidates take turns, each in fresh processes with one thread each. Seconds are those of all
processes together, for the rounds alone: matrices are made before. The workers' cuts are those of
their merged quantiles, so features have few enough values for these to be one process's cuts; then
models must be equal, bit for bit, and the script says whether they are.
"""

import argparse
import hashlib
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

OURS = {"objective": "multilabel:logistic"}
STOCK = {"objective": "binary:logistic", "tree_method": "hist"}
VALUES = 200  # of a feature

type Matrix = xgb.DMatrix


class Candidate(NamedTuple):
    """What trains, on how many workers, and what its matrix is made with."""

    params: dict[str, Any]
    n_workers: int
    n_pages: int = 1


CANDIDATES = {
    "ours": Candidate(OURS, 1),
    "ours, two workers": Candidate(OURS, 2),
    "ours, external memory": Candidate(OURS, 1, n_pages=4),
    "stock, two workers": Candidate(STOCK, 2),
    "stock, two workers, vector leaves": Candidate(
        STOCK | {"multi_strategy": "multi_output_tree"}, 2
    ),
}


class Size(NamedTuple):
    """How much there is to train on, and how long."""

    rows: int
    features: int
    labels: int
    rounds: int
    depth: int


class Measured(NamedTuple):
    """CPU seconds of one process, and the digest of the trees that it ended with."""

    seconds: float
    digest: str


class Pages(xgb.DataIter):
    """Feeds rows page by page."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, n_pages: int, folder: Path) -> None:
        self.parts = list(zip(np.array_split(X, n_pages), np.array_split(Y, n_pages), strict=True))
        self.position = 0
        super().__init__(cache_prefix=str(folder / "cache"))

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Hand over the next page."""
        if self.position == len(self.parts):
            return False
        X, Y = self.parts[self.position]
        input_data(data=X, label=Y)
        self.position += 1
        return True

    def reset(self) -> None:
        """Begin again."""
        self.position = 0


def make_data(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Make labels that depend on a few features each."""
    random = np.random.default_rng(0)
    X = random.integers(0, VALUES, size=(size.rows, size.features)).astype(np.float32)
    weight = random.normal(size=(size.features, size.labels))
    weight *= random.random(weight.shape) < 0.2
    score = (X / VALUES - 0.5) @ weight + random.normal(scale=0.2, size=(size.rows, size.labels))
    return X, (score > np.quantile(score, 0.8, axis=0)).astype(np.float32)


def train(candidate: Candidate, size: Size, rank: int, arguments: dict[str, Any]) -> Measured:
    """Train on one worker's rows."""
    X, Y = make_data(size)
    rows = np.array_split(np.arange(size.rows), candidate.n_workers)[rank]
    X, Y = X[rows], Y[rows]
    params = {"max_depth": size.depth, "nthread": 1, "base_score": 0.5} | candidate.params
    workers = collective.CommunicatorContext(**arguments) if arguments else nullcontext()
    with workers, tempfile.TemporaryDirectory() as folder:
        if candidate.n_pages > 1:
            pages = Pages(X, Y, candidate.n_pages, Path(folder))
            matrix: Matrix = xgb.ExtMemQuantileDMatrix(pages, nthread=1)
        else:
            matrix = xgb.QuantileDMatrix(X, Y, nthread=1)
        begin = time.process_time()
        booster = xgb.train(params, matrix, size.rounds)
        seconds = time.process_time() - begin
        trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    return Measured(seconds, hashlib.sha256(json.dumps(trees).encode()).hexdigest())


def measure(candidate: Candidate, size: Size) -> Measured:
    """Train in fresh processes, and add up their CPU seconds."""
    arguments: list[dict[str, Any]] = [{}]
    if candidate.n_workers > 1:
        tracker = RabitTracker(n_workers=candidate.n_workers, host_ip="127.0.0.1", sortby="task")
        tracker.start()
        ranks = range(candidate.n_workers)
        arguments = [tracker.worker_args() | {"dmlc_task_id": str(rank)} for rank in ranks]
    with multiprocessing.get_context("spawn").Pool(candidate.n_workers) as pool:
        jobs = [(candidate, size, rank, arguments[rank]) for rank in range(candidate.n_workers)]
        results = pool.starmap(train, jobs, chunksize=1)
    assert len({result.digest for result in results}) == 1, "workers end with different models"
    return Measured(sum(result.seconds for result in results), results[0].digest)


def main() -> None:
    """Measure all candidates in turns and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    defaults = {"rows": 100_000, "features": 50, "labels": 50, "rounds": 3, "depth": 6}
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="candidates with this in their name")
    options = parser.parse_args()
    size = Size(*(getattr(options, name) for name in Size._fields))
    names = [name for name in CANDIDATES if options.only in name]
    found: dict[str, list[Measured]] = {name: [] for name in names}
    for _ in range(options.turns):
        for name in names:
            found[name].append(measure(CANDIDATES[name], size))
    for name, measured in found.items():
        seconds = statistics.median(result.seconds for result in measured)
        same = {result.digest for result in measured} == {found[names[0]][0].digest}
        print(f"{name:36}{seconds:8.2f} CPU s   {'same trees' if same else 'other trees'}")


if __name__ == "__main__":
    main()
