"""The notebooks run from top to bottom, and can be read without running them."""

import re
from functools import cache

import nbformat
import pytest

from experiments.__main__ import main
from experiments.engine import configuration
from experiments.engine.plan import groups
from experiments.engine.records import RecordStore
from experiments.engine.result_table import load_finished
from experiments.engine.runner import Runner
from experiments.report import notebook
from experiments.report.notebook import NOTEBOOKS, Experiment, execute, experiments_of

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module", autouse=True)
def read_once():
    """The results of an experiment are read once for all notebooks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "load_finished", cache(load_finished))
        yield


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem)
def file(request):
    """A notebook whose results are there."""
    for name in experiments_of(request.param):
        try:
            Experiment(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))
    return request.param


def test_there_is_one_for_each_paper():
    papers = {"xdcc-2020", "rdt-2018", "boomer-2020", "lacovac-2016", "mc-2014"}
    assert {file.stem for file in FILES} == papers | {"choose_a_method"}
    for file in FILES:
        assert experiments_of(file)


def test_is_readable_without_running(file):
    content = nbformat.read(file, as_version=4)
    nbformat.validate(content)
    for cell in content.cells:
        if cell.cell_type == "code" and not cell.source.startswith("import os"):
            assert cell.outputs, f"without output: {cell.source}"
    assert file.stat().st_size < 600_000
    assert not re.search(r"/(tmp|work|home|root)/", file.read_text(encoding="utf-8"))


def test_runs(file, monkeypatch):
    """Run it in this process, which has imported everything."""
    monkeypatch.chdir(file.parent)
    namespace = {"__name__": "__main__"}
    for cell in nbformat.read(file, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, str(file), "exec"), namespace)


@pytest.mark.slow
def test_is_executed_in_a_kernel_and_left_as_it_is():
    file = NOTEBOOKS / "lacovac-2016.ipynb"
    before = file.read_bytes()
    outputs = [cell.outputs for cell in execute(file).cells if cell.cell_type == "code"]
    assert any(outputs)
    assert file.read_bytes() == before


def test_experiment_without_results(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m experiments run xdcc-2020-quick"):
        Experiment("xdcc-2020", tmp_path)
    # There is no smaller one of this.
    with pytest.raises(FileNotFoundError, match="run league-example-f1-full"):
        Experiment("league-example-f1", tmp_path)


def test_command_leaves_notebooks_without_results(tmp_path, capsys):
    before = [file.read_bytes() for file in FILES]
    assert main(["--results", str(tmp_path), "notebooks"]) == 0
    assert [file.read_bytes() for file in FILES] == before
    printed = capsys.readouterr().err
    assert "xdcc-2020.ipynb: There is no table of results of xdcc-2020." in printed
    assert "executed" not in printed


def test_experiment_shows_the_size_that_is_finished(tmp_path, write_config, monkeypatch):
    folder = tmp_path / "studies" / "small"
    write_config("full", folder, evaluation={"type": "k_fold", "folds": 3})
    quick = write_config("quick", folder)
    monkeypatch.setattr(configuration, "FOLDERS", (folder.parent,))
    store = RecordStore(tmp_path / "records")
    Runner(store).run(groups(configuration.load_configuration(quick)))
    assert main(["--results", str(tmp_path), "pack", "small-quick"]) == 0
    shown = Experiment("small", tmp_path)
    assert shown.config.name == "small-quick"
    assert "| BR |" in shown.table("Scores").data
    assert shown.table("Scores", "subset_accuracy").data.startswith("| subset accuracy |")
    assert "| BR |" in shown.table("Average ranks").data
    assert "XDCC cumulated is best in F1" in shown.claims("Scores").data
    assert shown.figure("Time against").data.startswith(b"\x89PNG")
    with pytest.raises(
        ValueError, match="the report has no section Tabelle; choose from Scores, Average"
    ):
        shown.table("Tabelle")
