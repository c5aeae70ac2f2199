"""The table of results: what is written is read again, and a damaged one is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.engine import result_table
from experiments.engine.configuration import (
    configuration_files,
    find_configuration,
    load_configuration,
)
from experiments.engine.pins import read_pins
from experiments.engine.plan import groups
from experiments.engine.records import RecordStore, failure_of, make_record
from experiments.engine.result_table import (
    load_finished,
    read_table,
    table_file,
    traces_file,
    write_table,
)
from experiments.engine.results import COSTS, SIZES, load_results
from experiments.engine.table_lines import TableError
from experiments.engine.task import execute


@pytest.fixture
def tiny():
    return load_configuration(find_configuration("tiny-quick"))


@pytest.fixture
def results(tiny, tiny_run):
    return load_results(tiny, RecordStore(tiny_run.records))


@pytest.fixture
def file(tiny, results, tmp_path):
    """The table of `tiny`."""
    write_table(tmp_path / "tiny.csv", tiny, results)
    return tmp_path / "tiny.csv"


def edit(file, old, new, count=1):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))


def test_what_is_written_is_read(tiny, results, file):
    again = read_table(file, tiny)
    assert again.n_missing == 0
    assert again.versions == results.versions
    assert again.failures.empty
    read, written = again.table, results.table
    exact = [name for name in read if name not in (*COSTS, *SIZES, "traces")]
    pd.testing.assert_frame_equal(read[exact], written[exact], check_exact=True, check_dtype=False)
    assert {"example_f1", "hamming_loss"} <= {*exact}
    for size in SIZES:
        assert read[size].iloc[0] == written[size].iloc[0]
    np.testing.assert_allclose(read["train_time"], written["train_time"], rtol=1e-5)
    assert "peak_memory" not in read, "neither the report nor the overview shows it"
    for one, other in zip(read["traces"], written["traces"], strict=True):
        assert one.keys() == other.keys()
        for name, values in one.items():
            np.testing.assert_allclose(values, other[name], rtol=1e-6)


def test_the_same_results_give_the_same_files(tiny, file, tmp_path):
    written = write_table(tmp_path / "again.csv", tiny, read_table(file, tiny))
    assert [path.read_bytes() for path in written] == [
        path.read_bytes() for path in (file, traces_file(file))
    ]


def test_a_line_has_all_parts(tiny, file):
    versions, head, *lines = file.read_text().splitlines()
    assert versions.startswith(f"# {len(lines)} lines; python ")
    assert head.startswith("data,line,seed,params,rule,error,parts,")
    (line,) = [line for line in lines if line.startswith("digits-tiny,ML-XGB,")]
    assert ",0-1," in line
    assert max(map(len, lines)) < 500


def test_a_long_cell_that_repeats_is_marked(tiny, file, monkeypatch):
    monkeypatch.setattr(result_table, "_SHORT", 0)  # the numbers of rows repeat
    expected = read_table(file, tiny)
    write_table(file, tiny, expected)
    text = file.read_text()
    assert ",^,^" in text
    pd.testing.assert_frame_equal(read_table(file, tiny).table, expected.table)
    first = text.index("\n", text.index("parts,")) + 1
    file.write_text(text[:first] + re.sub(r"[^,]+\n", "^\n", text[first:], count=1))
    with pytest.raises(TableError, match=r"line 3: \^ is in the first line of a data set"):
        read_table(file, tiny)


def test_every_combination_has_its_lines_where_nothing_is_chosen(write_config, tmp_path):
    methods = {"data": {"method": "data_statistics"}}
    report = [{"kind": "statistics", "title": "", "measures": ["n_rows"]}]
    config = load_configuration(write_config(methods=methods, tuning=None, report=report))
    store = RecordStore(tmp_path / "records")
    (*_, failed) = tasks = [task for group in groups(config) for task in group.tasks()]
    for task in tasks[:-1]:
        store.write(task.name, execute(task)[0])
    error = failure_of("Killed", 'by "x",\nlate')
    store.write(failed.name, make_record(failed.key(), None, error, {"cpu_time": 1.0}))
    results = load_results(config, store)
    written = write_table(tmp_path / "small.csv", config, results)
    assert written == [tmp_path / "small.csv"], "no figure needs traces"
    again = read_table(tmp_path / "small.csv", config)
    pd.testing.assert_frame_equal(again.failures, results.failures)
    assert again.failures["error"].tolist() == ['Killed: by "x",\nlate']
    assert again.table["n_rows"].tolist() == results.table["n_rows"].tolist()


DAMAGES = {
    "a cell is missing": (",0-1,", ",", r"line 5: there are \d+ cells, not \d+"),
    "a number is none": (",0-1,", ",0-1,x", r"line 5: 'x.*' is not a list of numbers"),
    "a part is none": (",0-1,", ",0-b,", "line 5: '0-b' is not a list of numbers from 0"),
    "a value is missing": (",0-1,", ",0-2,", r"line 5: '.* .*' has 2 numbers, not 3, one for each"),
    "another data set": (
        "digits-tiny,BR",
        "digits,BR",
        "line 3: BR on digits is not in the configuration",
    ),
    "a quote": (",0-1,", ',"0-1,', "line [0-9]+: this is not a line of a table"),
    "parameters": ('"{""', '"{', "the parameters are not JSON"),
    "the versions": (
        "; python",
        "python",
        "line 1: the number of lines and the versions are missing",
    ),
    "a column": (",example_f1,", ",f1,", "line 2: the column example_f1 is missing"),
    "another order": ("data,line", "line,data", "line 2: the columns are others"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_table(tiny, file, damage):
    old, new, message = DAMAGES[damage]
    edit(file, old, new)
    told = re.escape(str(file)) + f", .*{message}.*python -m experiments run tiny-quick.*pack tiny-"
    with pytest.raises(TableError, match=f"(?s){told}"):
        read_table(file, tiny)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.999])
def test_table_that_is_cut_off(tiny, file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TableError, match=rf"{file}, line \d+: "):
        read_table(file, tiny)


def test_table_without_one_of_the_lines(tiny, file):
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:-2], lines[-1]]))
    n_lines = len(lines) - 2
    with pytest.raises(TableError, match=f"does not end with line {n_lines} of the results"):
        read_table(file, tiny)
    edit(file, f"# {n_lines} ", f"# {n_lines - 1} ")
    with pytest.raises(TableError, match="has 0 results, not 1"):
        read_table(file, tiny)


def test_twice_the_same_results(tiny, file):
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:3], *lines[2:]]))
    edit(file, f"# {len(lines) - 2} ", f"# {len(lines) - 1} ")
    with pytest.raises(TableError, match=r"line 4: .* has 2 results, not 1"):
        read_table(file, tiny)


def test_table_that_is_not_text(tiny, file):
    content = file.read_bytes()
    file.write_bytes(content.replace(b"digits-tiny", b"\xff", 1))
    with pytest.raises(TableError, match="line 3: this is not text"):
        read_table(file, tiny)


def test_missing_files(tiny, file):
    traces_file(file).unlink()
    with pytest.raises(TableError, match=r"line 3: tiny.traces.csv has no trace example_f1 of"):
        read_table(file, tiny)
    file.unlink()
    with pytest.raises(TableError, match=f"{file}, line 1: the file is missing. `python -m exper"):
        read_table(file, tiny)
    with pytest.raises(FileNotFoundError, match=r"no table of results of tiny\. .*run tiny-quick`"):
        load_finished("tiny", file.parent)


def test_table_without_a_method_that_is_there_now(tiny, file):
    lines = file.read_text().splitlines(keepends=True)
    kept = [line for line in lines if ",BR," not in line]
    file.write_text("".join(kept))
    edit(file, f"# {len(lines) - 2} ", f"# {len(kept) - 2} ")
    assert read_table(file, tiny).n_missing == 2


def test_where_a_table_is(tmp_path):
    yaml = find_configuration("xdcc-2020-figures-full")
    assert table_file("xdcc-2020-figures-full", RESULTS) == yaml.with_name("figures.csv")
    assert table_file("mine", RESULTS) == RESULTS / "tables" / "mine.csv"
    assert table_file("tiny-quick", tmp_path) == tmp_path / "tables" / "tiny-quick.csv"


def test_pins_that_are_damaged(tmp_path):
    (tmp_path / "records.csv").write_text("file,sha256,tasks,cpu_seconds\nx.jsonl.gz,ab,1\n")
    with pytest.raises(ValueError, match=r"records.csv, line 2: this is not the pin of a packed"):
        read_pins(tmp_path / "records.csv")


@pytest.mark.slow  # `test_kept_reports.py` reads them by default
@pytest.mark.parametrize(
    "name", [name for name in configuration_files() if table_file(name).exists()]
)
def test_kept_tables_are_whole(name):
    config = load_configuration(find_configuration(name))
    results = read_table(table_file(name), config)
    assert not results.n_missing
    assert not results.table.empty
