"""Reads the records of a configuration as a table of the chosen models and their scores."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from experiments.engine.configuration import (
    SIZES,
    Configuration,
    configuration_files,
    find_configuration,
    load_configuration,
)
from experiments.engine.measures import LABEL_MEASURES, MEASURES
from experiments.engine.plan import Choice, Group, groups, missing_methods, scores_of
from experiments.engine.records import Record, RecordStore
from experiments.engine.task import Task


@dataclass(frozen=True)
class Results:
    """The results of a configuration so far."""

    # A row per data set, line, fold, seed (and combination and reading, where nothing is tuned):
    # `data`, `line`, `fold`, `seed`, `params`, `reading`, `validation` (the score of the choice), a
    # column per measure, `train_time`, `predict_time` (CPU seconds), `peak_memory` (MiB).
    table: pd.DataFrame
    records: list[Record]  # the record of each row, in the same order
    # `data`, `line`, `fold`, `params`, `error`: failed final tasks, and groups of which every trial
    # failed.
    failures: pd.DataFrame
    # Number of unfinished groups, without methods that are not installed.
    n_missing: int
    # A row per group with the numbers of trials and failed trials, and their CPU seconds.
    tried: pd.DataFrame
    # Of each finished task, including trials, by its name.
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    def scores(self, measure: str) -> pd.DataFrame:
        """Return the mean of a measure per data set (rows) and line (columns).

        This is the mean over folds, seeds and everything that is not tuned, in the configuration's
        order of data sets and lines; NaN if nothing is finished.
        """
        table = self.table
        if measure not in table:  # older records, and methods without this score
            table = table.assign(**{measure: np.nan})
        rows = table["data"].unique()
        columns = table["line"].unique()
        means = table.pivot_table(index="data", columns="line", values=measure, dropna=False)
        return means.reindex(index=rows, columns=columns)


def load_results(
    config: Configuration, store: RecordStore, *, to_first_missing: bool = False
) -> Results:
    """Read the records of a configuration: all, or those before the first missing one."""
    rows: list[dict[str, Any]] = []
    records: list[Record] = []
    failures: list[dict[str, Any]] = []
    tried: list[dict[str, Any]] = []
    cpu_seconds: dict[str, float] = {}
    n_missing = 0
    absent = missing_methods(config)

    def read(task: Task) -> Record | None:
        record = store.read(task)
        if record is not None:
            cpu_seconds[task.name] = record["run"]["cpu_time"]
        return record

    for group in groups(config):
        if to_first_missing and n_missing:
            break
        choices = group.choices(store)
        if group.tuning_tasks():
            tried.append(_tried(group, read))
        if choices is None:
            n_missing += group.line not in absent
            continue
        if not choices:
            error = "every trial failed"
            failures.append(_place(group, group.finals[0].fold) | {"params": {}, "error": error})
        for choice in choices:
            record = read(choice.task)
            if record is None:
                n_missing += group.line not in absent
            elif record["result"] is None:
                error = f"{record['error']['type']}: {record['error']['message']}"
                failures.append(
                    _place(group, choice.task.fold) | {"params": choice.task.params, "error": error}
                )
            else:
                rows.append(_row(group, choice, record))
                records.append(record)
    return Results(
        pd.DataFrame(rows, columns=None if rows else ["data", "line", *LABEL_MEASURES]),
        records,
        pd.DataFrame(failures, columns=["data", "line", "fold", "params", "error"]),
        n_missing,
        pd.DataFrame(tried),
        cpu_seconds,
    )


def load_finished(name: str, store: RecordStore) -> tuple[Configuration, Results]:
    """Read the results of an experiment, named without a size, in its largest finished size.

    Raises
    ------
    FileNotFoundError
        If no size is finished; the message names the command that makes the results.
    """
    sizes = [f"{name}-{size}" for size in SIZES]
    sizes = [size for size in sizes if size in configuration_files()] or sizes
    for size in sizes:
        config = load_configuration(find_configuration(size))
        results = load_results(config, store, to_first_missing=True)
        if not results.n_missing and not results.table.empty:
            return config, results
    raise FileNotFoundError(
        f"There are no results of {name}; make them with `python -m experiments run {sizes[-1]}`."
    )


def _place(group: Group, fold: int) -> dict[str, Any]:
    return {"data": group.dataset, "line": group.line, "fold": fold}


def _row(group: Group, choice: Choice, record: Record) -> dict[str, Any]:
    measured = record["result"]["readings"][choice.reading]
    run = record["run"]
    return (
        _place(group, choice.task.fold)
        | {
            "seed": choice.task.seed,
            "params": choice.task.params,
            "reading": choice.reading,
            "validation": choice.score,
        }
        | {name: value for name, value in measured.items() if name in MEASURES}
        | scores_of(record["result"], choice.reading)
        | {
            "train_time": run["train_time"],
            "predict_time": run["predict_time"][choice.reading],
            "peak_memory": run["peak_memory"],
        }
    )


def _tried(group: Group, read: Callable[[Task], Record | None]) -> dict[str, Any]:
    records = [record for task in group.tuning_tasks() if (record := read(task)) is not None]
    seconds = [record["run"].get("train_time", np.nan) for record in records]
    return _place(group, group.finals[0].fold) | {
        "trials": len(records),
        "failed": sum(record["error"] is not None for record in records),
        "train_time": float(np.nansum(seconds)),
    }
