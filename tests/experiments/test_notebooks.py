"""The notebooks run from top to bottom, and can be read without running them."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

from experiments import ROOT
from experiments.notebook import Experiment

NOTEBOOKS = sorted((ROOT / "experiments" / "notebooks").glob("*.ipynb"))


def _source(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_is_readable_without_running(file):
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code" and not cell.source.startswith("import sys"):
            assert cell.outputs, f"without output: {cell.source}"
    assert file.stat().st_size < 600_000
    assert not re.search(r'["\s](/tmp|/work|/home|/root)/', file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_runs(file):
    notebook = nbformat.read(file, as_version=4)
    for name in re.findall(r'Experiment\("([^"]+)"\)', _source(notebook)):
        try:
            Experiment(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))
    resources = {"metadata": {"path": str(file.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()


def test_experiment_finds_the_quick_results(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m experiments run xdcc-2020-quick"):
        Experiment("xdcc-2020", tmp_path)
