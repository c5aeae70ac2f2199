"""What `MultiLabelClassifier` reaches: the script on a small data set, and the page's table."""

import csv
import re

import numpy as np
import pytest

from experiments import ROOT, STUDIES

KEPT = STUDIES / "automatic" / "qualities.csv"


@pytest.mark.usefixtures("flags_data")
def test_a_small_data_set(run_script):
    done = run_script("studies.automatic.qualities", "--data", "flags")
    assert done.returncode == 0, done.stderr
    head, *lines = csv.reader(done.stdout.splitlines())
    with KEPT.open() as kept:
        assert head == next(csv.reader(kept))
    assert [line[:2] for line in lines] == [["flags", "subset_accuracy"], ["flags", "example_f1"]]
    scores = np.array([line[2:6] for line in lines], dtype=float)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_the_table_of_the_page():
    with KEPT.open() as kept:
        lines = {(line["data"], line["measure"]): line for line in csv.DictReader(kept)}
    text = (ROOT / "docs" / "guide" / "decision_rules.md").read_text()

    def number(value):
        return f"{float(value):.3f}".removeprefix("0")

    rows, sums = [], []
    for name in dict.fromkeys(data for data, _ in lines):
        cells, seconds = [name], []
        for measure in ("subset_accuracy", "example_f1"):
            line = lines[name, measure]
            cells += [f"{number(line['score'])} ± {number(line['error'])}", number(line["booster"])]
            seconds.append(line["seconds"])
            sums += [float(line["score"]), float(line["booster"])]
        rows.append(f"| {' | '.join([*cells, ', '.join(seconds)])} |")
    mean = np.array(sums).reshape(-1, 4).mean(axis=0)
    rows.append(f"| mean | {' | '.join(number(value) for value in mean)} | |")
    assert sorted(rows) == sorted(
        re.findall(r"^\| (?!data|---).*±.*\|$|^\| mean .*\|$", text, re.M)
    )


@pytest.mark.usefixtures("flags_data")
def test_the_cost_on_a_small_data_set(run_script):
    done = run_script("studies.automatic.costs", "--data", "flags")
    assert done.returncode == 0, done.stderr
    head, line = csv.reader(done.stdout.splitlines())
    assert head == ["data", "subset_accuracy", "example_f1", "chain"]
    assert line[0] == "flags"
    assert all(0 < float(seconds) < 100 for seconds in line[1:])


def test_the_table_of_costs():
    with (KEPT.parent / "costs.csv").open() as kept:
        head, *lines = zip(*csv.reader(kept), strict=True)
    text = (ROOT / "docs" / "guide" / "decision_rules.md").read_text()
    assert f"| {' | '.join(['CPU s', *head[1:]])} |" in text
    names = ("told subset accuracy", "told example-based F1", "out-of-fold chain")
    for name, (_, *cells) in zip(names, lines, strict=True):
        assert f"| {' | '.join([name, *cells])} |" in text
