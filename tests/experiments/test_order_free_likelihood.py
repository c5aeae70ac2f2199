"""The order-free chain's likelihood and calibration: the script, and the page's table."""

import csv
import importlib
import re

import numpy as np
import pytest

from experiments import ROOT, STUDIES

KEPT = STUDIES / "order-free"
study = importlib.import_module("experiments.studies.order-free.likelihood")
calibration_error, reliability = study.calibration_error, study.reliability


def test_calibration_error_by_hand():
    proba = np.array([[0.02, 0.04], [0.5, 0.99], [0.01, 1.0]])
    bins = reliability(proba, np.array([[0, 1], [1, 1], [0, 1]]))
    expected = [[0.07 / 3, 1 / 3, 3], [0.5, 1, 1], [1.99 / 2, 1, 2]]
    np.testing.assert_allclose(bins, expected)
    assert calibration_error(bins) == pytest.approx((abs(0.07 - 1) + 0.5 + abs(1.99 - 2)) / 6)


@pytest.mark.usefixtures("flags_data")
def test_a_small_data_set(run_script, tmp_path):
    done = run_script("studies.order-free.likelihood", "--data", "flags", "--output", ".")
    assert done.returncode == 0, done.stderr
    for name in ("likelihood.csv", "calibration.csv"):
        made = list(csv.reader((tmp_path / name).read_text().splitlines()))
        with (KEPT / name).open() as kept:
            assert made[0] == next(csv.reader(kept))
        assert {line[0] for line in made[1:]} == {"flags"}
    text = (tmp_path / "calibration.csv").read_text()
    bins = list(csv.DictReader(text.splitlines()))
    for model in ("booster", "chain"):
        entries = [int(line["entries"]) for line in bins if line["model"] == model]
        assert sum(entries) % 7 == 0
    assert (tmp_path / "calibration.svg").read_text().count("<svg") == 1


def test_the_table_of_the_page():
    with (KEPT / "likelihood.csv").open() as kept:
        lines = list(csv.DictReader(kept))
    rows = [
        f"| {line['data']} | {line['independent']} | {line['joint']} | {line['mixture']} | "
        f"{line['error_booster']} / {line['error_chain']} | "
        f"{line['others_before']} → {line['others_after']} | {line['seconds']} |"
        for line in lines
    ]
    text = (ROOT / "docs" / "guide" / "order_free.md").read_text()
    assert rows == re.findall(r"^\| .*→.*\|$", text, re.M)


def test_the_bins_are_those_of_the_errors():
    with (KEPT / "calibration.csv").open() as kept:
        lines = list(csv.DictReader(kept))
    with (KEPT / "likelihood.csv").open() as kept:
        for line in csv.DictReader(kept):
            for model in ("booster", "chain"):
                bins = np.array(
                    [
                        [float(each[name]) for name in ("predicted", "observed", "entries")]
                        for each in lines
                        if (each["data"], each["model"]) == (line["data"], model)
                    ]
                )
                error = float(line[f"error_{model}"])
                assert calibration_error(bins) == pytest.approx(error, abs=1.1e-4)
