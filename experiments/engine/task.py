"""A task: train a method with a set of parameters on a part of the data, and measure it.

`Task.key` has everything that the result depends on. The name of the record is derived from the
key, so a task that several configurations need runs once. `execute` runs the task in this process
and returns the record.
"""

import base64
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.engine import registry
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.measures import measure_labels
from experiments.engine.records import FORMAT, Arrays, Record, failure_of, make_record, record_name
from xdcc.data import MultiLabelDataset
from xdcc.data.published import content_digest


@dataclass(frozen=True)
class Task:
    """A training of a method, with its evaluation.

    Attributes
    ----------
    dataset, method : str
        Names in the registry.
    evaluation : Evaluation
    fold : int
        Number of the pair of parts of the evaluation.
    inner : Inner or None
        The fold for tuning; None for the final training and the test part.
    params : dict
        All parameters, including those of the method's file.
    seed : int
        Seed of the method.
    row_losses : bool
        Whether to keep the number of wrong labels of each row.
    """

    dataset: str
    evaluation: Evaluation
    fold: int
    inner: Inner | None
    method: str
    params: dict[str, Any] = field(hash=False)
    seed: int
    row_losses: bool = False

    def key(self) -> dict[str, Any]:
        """Return everything that the result depends on, in JSON types."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "evaluation": self.evaluation.key(),
            "fold": self.fold,
            "inner": None if self.inner is None else asdict(self.inner),
            "method": self.method,
            "revision": registry.method(self.method).revision,
            "params": self.params,
            "seed": self.seed,
        } | ({"row_losses": True} if self.row_losses else {})

    @cached_property
    def name(self) -> str:
        """Name of the record, without its ending, derived from the key."""
        return record_name(self.key())

    def __str__(self) -> str:
        """Describe the task in messages."""
        inner = "" if self.inner is None else f", inner fold {self.inner.fold}"
        return f"{self.dataset}, {self.method}, fold {self.fold}{inner}, {self.params}"


def execute(task: Task) -> tuple[Record, Arrays]:
    """Run a task.

    Parameters
    ----------
    task : Task
        The task.

    Returns
    -------
    record : dict
        `key`; `result` (in `readings` the metrics of each decision rule, for each stage
        of a final model with stages; further scores; details) or None; `error` or None;
        `run`, which differs from run to run: times in seconds, memory in MiB, versions, digests of
        the data, machine.
    arrays : dict
        The true labels `Y` and the predictions of every rule, as int8.
    """
    run: dict[str, Any] = {}
    arrays: Arrays = {}
    result, error = None, None
    begin, cpu_begin = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = _train_and_measure(task, run, arrays)
        except Exception as failure:  # the other tasks continue after any error of a method
            error = failure_of(type(failure).__name__, str(failure), traceback.format_exc())
    run["wall_time"] = time.perf_counter() - begin
    run["cpu_time"] = time.process_time() - cpu_begin
    run["warnings"] = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return make_record(task.key(), result, error, run), arrays


def _train_and_measure(task: Task, run: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    method = registry.method(task.method)
    dataset = registry.dataset(task.dataset)
    train, test = task.evaluation.parts(dataset, task.fold)
    if task.inner is not None:
        train, test = task.inner.parts(train)
    run["data"] = {"train": content_digest(train), "test": content_digest(test)}
    model = method.build(train, task.seed, **task.params)
    run["training"] = {}
    X_train, X_test = dataset.features(train), dataset.features(test)

    def fit() -> None:
        if method.fit is None:
            model.fit(X_train, train.Y)
        elif dataset.as_frame:
            raise TypeError(f"{task.method} trains in a way of its own, which takes no DataFrame")
        else:
            run["training"] = method.fit(model, train)

    run["train_time"], run["train_wall_time"] = _clocked(fit)
    split = registry.Split(train, X_test)
    Y = np.asarray(test.Y)
    arrays["Y"] = Y.astype(np.int8)
    rules: dict[str, Any] = {}
    run["predict_time"] = {}
    for name, read in method.rules.items():
        stages: list[np.ndarray] = []

        def predict(read: registry.DecisionRule = read, stages: list[np.ndarray] = stages) -> None:
            predicted = read(model, split)
            several = not isinstance(predicted, np.ndarray) and not sp.issparse(predicted)
            stages.extend(map(_dense, predicted) if several else [_dense(predicted)])

        run["predict_time"][name], _ = _clocked(predict)
        rules[name] = measure_labels(Y, stages[-1])
        if task.inner is None and len(stages) > 1:
            rules[name]["stages"] = [measure_labels(Y, Y_pred) for Y_pred in stages]
        if task.row_losses:
            rules[name]["wrong"] = pack_counts((stages[-1] != Y).sum(axis=1))
        arrays[name] = stages[-1].astype(np.int8)
    result = {
        "rows": {"train": len(train), "test": len(test)},
        "n_labels": Y.shape[1],
        "readings": rules,
        "scores": {name: float(score(model, split, Y)) for name, score in method.scores.items()},
    }
    if task.inner is None and method.details is not None:
        result["details"] = method.details(model, X_test, Y)
    return result


def pack_counts(counts: np.ndarray) -> str:
    """Return small numbers, one for each row, as a short text.

    Examples
    --------
    >>> unpack_counts(pack_counts(np.array([0, 2, 1])))
    array([0, 2, 1], dtype=uint16)
    """
    return base64.b64encode(zlib.compress(counts.astype("<u2").tobytes(), 9)).decode()


def unpack_counts(text: str) -> np.ndarray:
    """Return the numbers of `pack_counts`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u2")


def _dense(Y: Any) -> np.ndarray:
    return Y.toarray() if sp.issparse(Y) else np.asarray(Y)


def _clocked(call: Callable[[], None]) -> tuple[float, float]:
    """Return the CPU and the wall time of a call in seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def check_loads(dataset: str, evaluation: Evaluation) -> MultiLabelDataset:
    """Load the first training part of a data set, to check that it is available.

    Raises
    ------
    FileNotFoundError, ValueError, ArffError
        As `xdcc.data.load_dataset`.
    """
    return evaluation.parts(registry.dataset(dataset), 0)[0]
