"""What a run shows."""

import io
import re

import pytest
from rich.console import Console

from experiments.engine.configuration import load_configuration
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.plan import groups
from experiments.engine.progress import Display, TimeLeft
from experiments.engine.records import RecordStore
from experiments.engine.runner import Runner
from experiments.engine.task import Task


def tasks(*kinds):
    return [
        Task(dataset, Evaluation(), 0, Inner(2, 0), method, {"k": k}, 0)
        for k, (dataset, method) in enumerate(kinds)
    ]


def test_time_left():
    a, b, c = ("flags", "br"), ("flags", "cc"), ("yeast", "br")
    todo = tasks(a, a, a, b, c)
    estimate = TimeLeft(todo, n_processes=2)
    assert estimate.seconds() is None
    estimate.done(todo[0], 4.0)
    # two like it; the others are taken for as long: 4 · 4 s by two processes
    assert estimate.seconds() == pytest.approx(8.0)
    estimate.done(todo[3], 2.0)
    # two of 4 s; yeast is unknown, so the mean of the medians, 3 s
    assert estimate.seconds() == pytest.approx((8 + 3) / 2)
    for task in (todo[1], todo[2], todo[4]):
        estimate.done(task, 4.0)
    assert estimate.seconds() == 0


@pytest.mark.parametrize("terminal", [True, False])
def test_display(write_config, tmp_path, terminal):
    grid = {"n_estimators": [5], "max_depth": [2, -1]}
    config = load_configuration(
        write_config(methods={"BR": {"method": "br", "grid": grid}}, report=[])
    )
    store = RecordStore(tmp_path)
    found = list(groups(config))
    runner = Runner(store)
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    missing = runner.missing(found)
    with Display("small", found, missing, store, "example_f1", 2, console) as display:
        runner.on_start, runner.on_end = display.start, display.end
        runner.run(found)
    printed = output.getvalue()
    assert "failed: digits-tiny, br, fold 0, inner fold 0" in printed
    assert "left" in printed
    if terminal:
        printed = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", printed)
        assert "F1 so far" in printed
        assert "6/6" in printed
        assert "2 failed" in printed
    else:
        assert "digits-tiny, BR, fold 1: example_f1 0." in printed
        assert "\x1b" not in printed
