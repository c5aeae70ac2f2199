"""The table of measurements: what is written is read again, and a damaged one is refused."""

import re

import pytest

from experiments.engine.table_lines import TableError
from experiments.speed import candidates
from experiments.speed.result_table import Measurements, read_table, shown, write_table
from experiments.speed.summary import Cell
from tests.experiments.speed.cases import HEADER, dense, record

CELL = Cell("quality", "to quality", "yeast", 1, "sketched")
SETTINGS = [vars(candidates.Setting(rate, 64, 1.0, False)) for rate in (0.1, 0.3)]


def searched(repeat):
    """A search for the time to quality with two settings, of which the second is faster."""
    curves = [
        {
            "setting": setting,
            "setup_seconds": 0.5,
            "points": [
                [1, 0.12345 + k, 0.2, 0.5, 0.6],
                [2, 0.12346 + k, 0.2, 0.5, 0.6],
                [3, 1.25 + k, 0.3, 0.4, 0.5],
            ],
        }
        for k, setting in enumerate(SETTINGS)
    ]
    found = {"setting": SETTINGS[1], "target": 0.4, "rounds": 3, "cpu_seconds": 2.25 + repeat}
    return record(CELL, repeat, curves=curves, parameters={"max_bin": 64}, library="a", **found)


@pytest.fixture
def kept():
    """Measurements as they stand in a table."""
    records = [searched(0), searched(1)]
    records.append(dense("yeast", "ours", log_loss=0.12345678, ratios={"alone": 0.5, "1": 2.0}))
    records[-1]["result"]["parameters"] = {"max_cached_hist_node": 32, "max_depth": 6}
    slow = Cell("dense", "end to end", "scene", 1, "catboost")
    records.append(record(slow, 0, "longer than", 60.0))
    records.append(record(slow, 1, "skipped", 60.0, why='it took "long",\nthen more'))
    return Measurements(HEADER, shown(records))


@pytest.fixture
def file(kept, tmp_path):
    write_table(tmp_path / "table.csv", kept)
    return tmp_path / "table.csv"


def test_what_no_report_shows_is_left_out(kept):
    first, second, ours, *_ = (record["result"] for record in kept.records)
    assert first["curve"] == {"cpu_seconds": [1.12345, 2.25], "held_out": [0.5, 0.4]}
    assert "curve" not in second, "the figure shows one of a candidate"
    assert not {"curves", "library"} & (first.keys() | second.keys())
    assert "parameters" not in first
    assert ours["parameters"] == {"max_cached_hist_node": 32}


def test_the_curve_nearest_to_the_target_is_shown_if_none_reached_it():
    missed = searched(0)
    del missed["result"]["setting"]
    missed["result"]["curves"][0]["points"][-1][3] = 0.3
    (found,) = shown([missed])
    assert found["result"]["curve"]["held_out"] == [0.5, 0.3]


def test_what_is_written_is_read(kept, file):
    again = read_table(file)
    assert again.header == kept.header
    expected = [dict(one) for one in kept.records]
    expected[0]["result"]["curve"]["cpu_seconds"] = [1.123, 2.25]  # four digits
    assert again.records == expected
    written = write_table(file.with_name("again.csv"), again)
    before = [file, file.with_name("table.traces.csv")]
    assert [one.read_bytes() for one in written] == [one.read_bytes() for one in before]


def test_numbers_have_twelve_digits(file):
    write_table(
        file, Measurements(HEADER, [dense("yeast", "ours", cpu_seconds=0.0123456789012345)])
    )
    assert ",0.0123456789012," in file.read_text()
    assert not file.with_name("table.traces.csv").exists(), "there is no curve any more"


DAMAGES = {
    "the number of jobs": ("# 3 jobs", "3 jobs", "line 1: the number of jobs is missing"),
    "a job": ("# 3 jobs", "# 4 jobs", "line 8: the table does not end with job 4"),
    "a column": ("outcome,", "end,", "line 5: the column outcome is missing"),
    "a cell": (",2,measured,", ",2,", r"line 6: there are \d+ cells, not \d+"),
    "a repeat": (",2,measured,", ",3,measured,", "line 6: '2.25 3.25' has 2 entries, not 3, one"),
    "repeats": (",2,measured,", ",b,measured,", "line 6: 'b' is not a whole number from 0"),
    "a number": ("2.25 3.25", "2.25 x", "line 6: 'x' is not a list of numbers"),
    "JSON": ('"{""', '"{', r"line 6: .* is not JSON"),
    "repeats of JSON": ('"[{},{', '"[{', "line 8: .* is of 1 repeats, not 2"),
    "the header": ("machine,cores,1", "machine,cores,one", "line 2: 'one' is not JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_table(file, damage):
    old, new, message = DAMAGES[damage]
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    told = rf"{re.escape(str(file))}, {message}.*speed run --output DIR.*speed pack DIR"
    with pytest.raises(TableError, match=f"(?s){told}"):
        read_table(file)


def test_missing_table_and_damaged_curves(file):
    traces = file.with_name("table.traces.csv")
    traces.write_text(traces.read_text().replace(",values", ",points"))
    with pytest.raises(TableError, match=r"table.traces.csv, line 1: the column values is missing"):
        read_table(file)
    traces.unlink()
    file.unlink()
    with pytest.raises(TableError, match=r"table\.csv, line 1: the file is missing"):
        read_table(file)
