"""`python -m experiments`: what it prints and returns."""

import gzip
import hashlib
import json
import re
import shutil

import pytest

from experiments.__main__ import main
from experiments.engine import configuration
from experiments.engine.pins import pins_file, read_pins
from experiments.engine.records import PACK
from experiments.engine.registry import datasets, methods


def call(*args):
    return main([str(arg) for arg in args])


def test_list(capsys):
    assert call("list") == 0
    printed = capsys.readouterr().out
    for name in ("tiny-quick", *methods(), *datasets()):
        assert name in printed


def test_run_and_report(tmp_path, capsys):
    results = tmp_path / "results"
    assert call("--results", results, "run", "tiny-quick", "--dry-run") == 0
    assert "20 tasks to do" in capsys.readouterr().err
    assert not results.exists()
    assert call("--results", results, "run", "tiny-quick", "-p", "1") == 0
    printed = capsys.readouterr().err
    assert "digits-tiny, BR, fold 0: example_f1 0." in printed
    assert "left)" in printed
    assert call("--results", results, "run", "tiny-quick") == 0
    assert ": 0 tasks to do" in capsys.readouterr().err
    assert call("--results", results, "report", "tiny-quick") == 0
    assert (results / "reports" / "tiny-quick.html").is_file()
    assert (
        call("--results", results, "report", "tiny-quick", "--output", tmp_path, "--name", "R") == 0
    )
    assert (tmp_path / "R.md").is_file()
    assert not list(tmp_path.rglob("*.tex"))
    assert call("--results", results, "report", "tiny-quick", "--latex") == 0
    assert "written: " in capsys.readouterr().err
    assert (results / "reports" / "tiny-quick.tex").is_file()


def test_latex_is_for_named_experiments(tmp_path, capsys):
    assert call("--results", tmp_path, "report", "--all", "--latex") == 1
    assert "--latex needs the names of configurations, not --all." in capsys.readouterr().err


def test_pack(tmp_path, write_config, tiny_run, capsys):
    methods = {"BR": {"method": "br", "params": {"n_estimators": 5}}}
    results = tmp_path / "results"
    other = write_config("other", seeds=[5], methods=methods, report=[])
    shutil.copytree(tiny_run.records, results / "records")
    assert call("--results", results, "run", "tiny-quick", other) == 0
    assert call("--results", results, "report", "tiny-quick") == 0
    loose = {file.name: file.read_bytes() for file in (results / "reports").rglob("*.*")}
    capsys.readouterr()
    assert call("--results", results, "pack") == 0
    printed = capsys.readouterr().err
    packed = results / "records" / f"tiny{PACK}"
    number = len(gzip.decompress(packed.read_bytes()).splitlines())
    assert f"written: {packed} ({number} records)" in printed
    left = len(list((results / "records").glob("*/*.json")))
    assert f"{left} records stay unpacked" in printed, "those of the other configuration"
    assert call("--results", results, "pack", other) == 0
    printed = capsys.readouterr().err
    assert f"other{PACK}" in printed
    assert "stay" not in printed
    assert f"written: {results / 'tables' / 'other.csv'}" in printed
    assert not read_pins(pins_file(results)), "only those of the package are pinned"
    assert call("--results", results, "run", "tiny-quick", other) == 0
    assert capsys.readouterr().err.count(": 0 tasks to do") == 2
    assert call("--results", results, "report", "tiny-quick") == 0
    packed = {file.name: file.read_bytes() for file in (results / "reports").rglob("*.*")}
    assert packed == loose


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["pack", "tiny-quik"], "Unknown configuration 'tiny-quik'. Did you mean tiny-quick?"),
        (["run", "tiny-quik"], "Unknown configuration 'tiny-quik'. Did you mean tiny-quick?"),
        (["run", "no.yaml"], "no.yaml does not exist"),
        (["report", "no.yaml"], "no.yaml does not exist"),
    ],
)
def test_unknown_configuration(args, message, capsys):
    assert call(*args) == 1
    assert message in capsys.readouterr().err


def test_faulty_configuration(write_config, capsys):
    assert call("run", write_config(datasets=["emotion"])) == 1
    assert "datasets.0: Unknown data set 'emotion'. Did you mean" in capsys.readouterr().err


def test_missing_data(write_config, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDCC_DATA", str(tmp_path / "nowhere"))
    file = write_config(datasets=["flags", "digits-tiny"])
    assert call("--results", tmp_path / "r", "run", file) == 1
    printed = capsys.readouterr().err
    assert "data sets cannot be loaded" in printed
    assert f"flags: XDCC_DATA is {tmp_path / 'nowhere'}, which is not a folder" in printed
    assert not (tmp_path / "r").exists()
    monkeypatch.delenv("XDCC_DATA")
    monkeypatch.setenv("XDCC_DATA_HOME", str(tmp_path))
    file = write_config(datasets=["rcv1-subset1", "digits-tiny"])
    assert call("--results", tmp_path / "r", "run", file) == 1
    assert "; provide rcv1-subset1.arff" in capsys.readouterr().err


def test_other_data_where_files_are_missing(write_config, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDCC_DATA", str(tmp_path / "nowhere"))
    file = write_config(datasets=["flags", "digits"], without_files=["digits-tiny"])
    assert call("--results", tmp_path / "r", "run", file, "-p", "1") == 0
    message = "small runs on digits-tiny instead of its data sets, because 1 of 2 cannot be loaded:"
    assert f"{message}\nflags: XDCC_DATA is " in capsys.readouterr().err

    def report():
        assert call("--results", tmp_path / "r", "report", file) == 0
        return (tmp_path / "r" / "reports" / "small.md").read_text()

    whole = report()
    assert "; on digits-tiny, because files of its data sets were missing\n" in whole
    assert "| digits-tiny |" in whole
    assert "still missing" not in whole
    next((tmp_path / "r" / "records").rglob("*.json")).unlink()  # as after an interruption
    part = report()
    assert "| digits-tiny |" in part
    assert "still missing" in part


def test_report_of_all_finished_experiments(tmp_path, write_config, tiny_run, monkeypatch, capsys):
    report = [
        {
            "kind": "scores",
            "title": "Scores",
            "measures": ["example_f1"],
            "claims": [{"text": "BR wins", "measure": "example_f1", "order": ["BR", "ML-XGB"]}],
        }
    ]
    for study in ("one", "two"):
        title = f"{study}-full: a title"
        write_config("full", tmp_path / "studies" / study, title=title, report=report)
    write_config("full", tmp_path / "studies" / "three", datasets=["digits"])
    for study in ("one", "two", "three"):
        write_config("quick", tmp_path / "studies" / study, seeds=[5])
    monkeypatch.setattr(configuration, "FOLDERS", (tmp_path / "studies",))
    results = tmp_path / "results"
    assert call("--results", results, "report", "--all") == 1
    assert "has no table of results of an experiment" in capsys.readouterr().err
    shutil.copytree(tiny_run.records, results / "records")  # `one` and `two` have these tasks
    assert call("--results", results, "pack") == 0
    assert "three-full: records are missing, so no table" in capsys.readouterr().err
    assert call("--results", results, "report", "--all") == 0
    assert "There is no table of results of three" in capsys.readouterr().err
    pins = read_pins(pins_file(results))
    assert pins.keys() == {f"one{PACK}", f"two{PACK}"}
    pack = (results / "records" / f"one{PACK}").read_bytes()
    assert pins[f"one{PACK}"].sha256 == hashlib.sha256(pack).hexdigest()
    assert pins[f"one{PACK}"].tasks == len(gzip.decompress(pack).splitlines())
    text = (results / "reports" / "README.md").read_text()
    assert "## Claims and their tests\n\nOf 2 claims: 2 undecided." in text, (
        "two data sets tell nothing"
    )
    row = r"\| \[one-full\]\(studies/one/REPORT.md\) \| BR wins \| example-based F1 \| "
    assert re.search(row + r"\*\*undecided\*\* \| (better|equal|worse)", text)
    assert f"| {pins[f'one{PACK}'].tasks} | < 0.01 |" in text
    of_two = (results / "reports" / "studies" / "two" / "REPORT.md").read_text()
    assert of_two.startswith("# two-full: a title")
    assert call("--results", results, "report") == 1
    assert "Name configurations, or give --all, or --pages." in capsys.readouterr().err


def test_broken_record_is_named_once_and_redone(tmp_path, write_config, tiny_run, capsys):
    file = write_config()
    shutil.copytree(tiny_run.records, tmp_path / "records")
    record = min((tmp_path / "records" / "digits-tiny").glob("*.json"))
    whole = record.read_bytes()
    record.write_bytes(whole[:100])
    capsys.readouterr()
    assert call("--results", tmp_path, "run", file) == 0
    assert capsys.readouterr().err.count(f"{record} is not a whole record") == 1
    assert json.loads(record.read_bytes())["result"] == json.loads(whole)["result"]


def test_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert call("--results", tmp_path / "file", "run", "tiny-quick") == 1
    assert "cannot write to" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "x"])
def test_number_of_processes(number, capsys):
    with pytest.raises(SystemExit):
        call("run", "tiny-quick", "-p", number)
    assert "-p/--processes" in capsys.readouterr().err
