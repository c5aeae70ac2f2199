"""Traces: what figures show of a model besides its scores, a list of numbers for each name.

A trace has a metric after each stage of a prediction, the training time up to each stage, how many
labels were decided in each round, or the number of wrong labels of each row. Only those that a
configuration's report needs are kept.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from experiments.engine.configuration import Configuration, Section
from experiments.engine.records import Record
from experiments.engine.task import unpack_counts

type Traces = dict[str, np.ndarray]

WRONG = "wrong"
"""The trace with the number of wrong labels of each row."""

LABELS = "labels"
"""The trace with the number of labels, a single number."""


class _Need(NamedTuple):
    """Traces that a section needs, and of which rows of the results."""

    names: list[str]
    lines: list[str]
    datasets: list[str] | None  # None: all
    all_tests: bool = False  # only of models with all label tests

    def includes(self, data: str, line: str, params: dict[str, Any]) -> bool:
        return (
            line in self.lines
            and (self.datasets is None or data in self.datasets)
            and (not self.all_tests or has_all_tests(params))
        )


def traces_of(config: Configuration, data: str, line: str, params: dict[str, Any]) -> list[str]:
    """Return the names of the traces that the report needs of a model."""
    needs = [need for section in config.report for need in _needs(config, section)]
    names = [need.names for need in needs if need.includes(data, line, params)]
    return list(dict.fromkeys(itertools.chain.from_iterable(names)))


def has_all_tests(params: dict[str, Any]) -> bool:
    """Return whether all label tests of random decision trees are active (σ = 1)."""
    return bool(params.get("sigma", 1) == 1)


def trace(record: Record, rule: str, name: str) -> np.ndarray:
    """Return a trace of a record of a finished task; one value if there are no stages.

    The training time of a stage is the CPU time times the share of wall time until that stage. A
    metric that stages do not have is in the method's details.
    """
    result, run = record["result"], record["run"]
    measured = result["readings"][rule]
    if name == WRONG:
        return unpack_counts(measured[WRONG])
    if name == LABELS:
        return np.array([result["n_labels"]])
    if name == "train_time":
        seconds = np.array(run["training"].get("round_seconds", [1.0]))
        return np.asarray(run["train_time"] * np.cumsum(seconds) / seconds.sum())
    stages = measured.get("stages", [measured])
    if name not in stages[0]:
        return np.asarray(result["details"][name], dtype=float)
    return np.array([stage[name] for stage in stages])


def _needs(config: Configuration, section: Section) -> Iterator[_Need]:
    lines = section.lines or list(config.methods)
    if section.kind == "bbc_cv":
        yield _Need([WRONG, LABELS], lines, section.datasets)
    elif section.kind == "curve" and section.x == "stage":
        yield _Need(list(section.measures), lines, section.datasets)
    elif section.draw == "xdcc_heat_maps":
        yield _Need(["positive", "negative"], lines[:1], section.datasets)
    elif section.draw == "time_against_f1":
        yield _Need([section.measures[0], "train_time"], lines[:1], section.datasets)
    elif section.draw == "loss_plane":
        yield _Need(list(section.measures[:2]), lines, section.datasets)
    elif section.draw == "rdt_sequences":
        datasets = section.datasets or config.datasets
        yield _Need(["right", "positive"], lines, datasets[:1], all_tests=True)
