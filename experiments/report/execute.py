"""Executes notebooks in place, so that they show the results that are there now."""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
"""Folder of the notebooks that come with the package."""

TIMEOUT = 600
"""Seconds that a cell may take."""


def experiments_of(file: Path) -> list[str]:
    """Return the names of the experiments whose results a notebook reads."""
    return re.findall(r'Experiment\(\\?"([\w-]+)\\?"\)', file.read_text(encoding="utf-8"))


def execute(file: Path) -> nbformat.NotebookNode:
    """Run a notebook's copy from top to bottom in its folder; return it without times.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    notebook = nbformat.read(file, as_version=4)
    resources = {"metadata": {"path": str(file.parent)}}
    NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    return notebook


def execute_in_place(file: Path) -> None:
    """Run a notebook and store its outputs in it; errors as `execute`."""
    nbformat.write(execute(file), file)
