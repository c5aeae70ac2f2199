"""Fits `MultiLabelClassifier` with a time budget on large tables, alone and beside busy processes.

`python -m experiments.time_budgets` prints a table: after which share of the budget the first
booster was a member of the mixture, which share `fit` took, and the log-loss of the test part.
"""

import argparse
import time
from typing import Any

from experiments.engine.registry import Split, dataset, datasets
from experiments.method_parts import log_loss
from experiments.speed.busy import Situation, other_processes
from xdcc import MultiLabelClassifier

_TABLES = [
    *("large-numeric-50k", "large-numeric-200k", "large-rare-50k", "large-rare-200k"),
    *("large-unrelated-200k", "large-categories-50k", "large-categories-200k"),
]


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a row of the table after each fit."""
    parser = argparse.ArgumentParser(prog="python -m experiments.time_budgets", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", default=_TABLES)
    parser.add_argument("--seconds", type=float, default=60, help="time budget (default: 60)")
    parser.add_argument("--others", type=int, nargs="+", default=[0, 2], metavar="N",
        help="numbers of busy processes (default: 0 2)")  # fmt: skip
    options = parser.parse_args(arguments)
    if unknown := set(options.tables) - datasets().keys():
        parser.error(f"unknown data sets: {', '.join(sorted(unknown))}")
    print("| table | busy processes | first booster (%) | used (%) | log-loss |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for others in options.others:
        for table in options.tables:
            first, used, loss = measure(table, options.seconds, others)
            shares = f"{100 * first:.0f} | {100 * used:.0f}"
            print(f"| {table} | {others} | {shares} | {loss:.4f} |", flush=True)


def measure(table: str, seconds: float, others: int) -> tuple[float, float, float]:
    """Fit beside this many busy processes.

    Returns
    -------
    first : float
        Share of the budget after which the first booster was a member.
    used : float
        Share of the budget that `fit` took.
    loss : float
        Log-loss of the test part.
    """
    data = dataset(table)
    train, test = data.load("train"), data.load("test")
    X, X_test = data.features(train), data.features(test)
    ends: list[float] = []
    losses = [float("inf")]

    def note(row: dict[str, Any]) -> None:
        # The log-loss of the mixture falls if a candidate becomes a member.
        losses.append(row["best_log_loss"])
        if "depth" in row["candidate"] and losses[-1] < losses[-2]:
            ends.append(time.perf_counter())

    model = MultiLabelClassifier(time_budget=seconds, random_state=0)
    with other_processes(Situation(others)):
        begun = time.perf_counter()
        model.fit(X, train.Y, callback=note)
        ended = time.perf_counter()
    first = (ends[0] - begun) / seconds if ends else float("inf")
    return first, (ended - begun) / seconds, log_loss(model, Split(train, X_test), test.Y)


if __name__ == "__main__":
    main()
