"""The results of a configuration: the chosen models, their scores and costs, from its records."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from experiments.engine.configuration import Configuration
from experiments.engine.measures import LABEL_MEASURES, MEASURES
from experiments.engine.plan import Choice, Group, groups, missing_methods, scores_of
from experiments.engine.records import Record, RecordStore
from experiments.engine.task import Task
from experiments.engine.traces import trace, traces_of

COSTS = ("train_time", "predict_time", "tuning_time", "peak_memory")
"""Columns of the results with CPU seconds and MiB; `tuning_time` is that of all trials."""

ALWAYS = ("train_time", "tuning_time")
"""Those that every table has."""

COMPARISONS = (
    "all-methods",
    "league-example-f1",
    "league-hamming-accuracy",
    "league-log-loss",
    "league-subset-accuracy",
    "order-free",
)
"""Experiments whose tables have all of them, for the overview."""

SIZES = ("train_rows", "test_rows")
"""Columns with the sizes of a part; a table has those of the first part of each line."""

FAILURES = ("data", "line", "fold", "seed", "params", "error")
"""Columns of the failures."""

ALL_FAILED = "every trial failed"


@dataclass(frozen=True)
class Results:
    """The results of a configuration so far."""

    # A row per data set, line, fold, seed (and combination and rule, where nothing is tuned):
    # `data`, `line`, `fold`, `seed`, `params`, `rule`, a column per metric, `COSTS`, `SIZES`,
    # and `traces`: lists of numbers by their names.
    table: pd.DataFrame
    # Failed final tasks, and groups of which every trial failed; the columns are `FAILURES`.
    failures: pd.DataFrame
    # Number of unfinished groups, without methods that are not installed.
    n_missing: int
    # By package: the versions that made the results, sorted.
    versions: dict[str, list[str]] = field(default_factory=dict)
    # By record that was read, including those of trials, by the task's name.
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    def scores(self, measure: str) -> pd.DataFrame:
        """Return the mean of a metric per data set (rows) and line (columns).

        This is the mean over folds, seeds and everything that is not tuned, in the configuration's
        order of data sets and lines; NaN if nothing is finished.
        """
        table = self.table
        if measure not in table:  # older records, and methods without this score
            table = table.assign(**{measure: np.nan})
        rows = table["data"].unique()
        columns = table["line"].unique()
        return means_by("data", table, measure).reindex(index=rows, columns=columns)


def means_by(index: str, table: pd.DataFrame, measure: str, *, sort: bool = True) -> pd.DataFrame:
    """Return the mean of a metric per value of a column and line, without those that have none.

    It is what `pivot_table` returns, in less than half of the time.
    """
    return table.groupby([index, "line"], sort=sort)[measure].mean().dropna().unstack("line")


def load_results(
    config: Configuration, store: RecordStore, *, to_first_missing: bool = False
) -> Results:
    """Read the records of a configuration: all, or those before the first missing one."""
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    versions: dict[str, set[str]] = {}
    cpu_seconds: dict[str, float] = {}
    n_missing = 0
    absent = missing_methods(config)

    def read(task: Task) -> Record | None:
        record = store.read(task.name)
        if record is not None:
            cpu_seconds[task.name] = record["run"]["cpu_time"]
        return record

    for group in groups(config):
        if to_first_missing and n_missing:
            break
        choices = group.choices(store)
        trials = [read(task) for task in group.tuning_tasks()]
        if choices is None:
            n_missing += group.line not in absent
            continue
        if not choices:
            failures.append(place_of(group) | {"params": {}, "error": ALL_FAILED})
        for choice in choices:
            record = read(choice.task)
            if record is None:
                n_missing += group.line not in absent
                continue
            row = place_of(group) | {"params": choice.task.params}
            if record["result"] is None:
                error = f"{record['error']['type']}: {record['error']['message']}"
                failures.append(row | {"error": error})
                continue
            names = traces_of(config, group.dataset, group.line, choice.task.params)
            rows.append(
                row
                | _scores(choice, record)
                | {
                    "tuning_time": _train_time(trials),
                    "traces": {name: trace(record, choice.rule, name) for name in names},
                }
            )
            for package, version in record["run"]["versions"].items():
                versions.setdefault(package, set()).add(str(version))
    return Results(
        table_of(rows),
        pd.DataFrame(failures, columns=FAILURES),
        n_missing,
        {package: sorted(found) for package, found in versions.items()},
        cpu_seconds,
    )


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of `Results.table` as a table, which has columns even if there are none."""
    return pd.DataFrame(rows, columns=None if rows else ["data", "line", *LABEL_MEASURES])


def place_of(group: Group) -> dict[str, Any]:
    """Return the first columns of a group's results."""
    task = group.finals[0]
    return {"data": group.dataset, "line": group.line, "fold": task.fold, "seed": task.seed}


def _scores(choice: Choice, record: Record) -> dict[str, Any]:
    result, run = record["result"], record["run"]
    measured = result["readings"][choice.rule]
    return (
        {"rule": choice.rule}
        | {name: value for name, value in measured.items() if name in MEASURES}
        | scores_of(result, choice.rule)
        | {
            "train_time": run["train_time"],
            "predict_time": run["predict_time"][choice.rule],
            "peak_memory": run["peak_memory"],
            "train_rows": result["rows"]["train"],
            "test_rows": result["rows"]["test"],
        }
    )


def _train_time(trials: list[Record | None]) -> float:
    """Return the CPU seconds of the trials; those that failed early have none."""
    seconds = [record["run"].get("train_time", np.nan) for record in trials if record is not None]
    return float(np.nansum(seconds))
