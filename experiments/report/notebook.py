"""Shows the parts of a report in a notebook, and executes notebooks in place.

The parts are tables, figures and tests of claims. Executed notebooks show the current results.
"""

import re
from pathlib import Path
from typing import Any

from IPython.display import Image, Markdown
from matplotlib.figure import Figure

from experiments import RESULTS, ROOT
from experiments.engine.configuration import Section, find_configuration
from experiments.engine.result_table import load_finished
from experiments.report.claims import judge
from experiments.report.document import draw_section
from experiments.report.plots import png_of
from experiments.report.tables import ranks_table, scores_table


class Experiment:
    """The results of a configuration, in its full or its quick size.

    Parameters
    ----------
    name : str
        Without the size: `xdcc-2020`.
    folder : Path
        Folder of the results.

    Attributes
    ----------
    config : Configuration
    results : Results

    Raises
    ------
    FileNotFoundError
        If no size has a table of results; the message names the commands that make it.
    """

    def __init__(self, name: str, folder: Path = RESULTS) -> None:
        self.config, self.results = load_finished(name, folder)
        self._is_kept = folder == RESULTS
        self._report = find_configuration(self.config.name).parent / "figures"

    def table(self, title: str, measure: str | None = None) -> Markdown:
        """Return the table of a section, found by the beginning of its title."""
        section = self._section(title)
        if section.kind == "ranks":
            return Markdown(ranks_table(self.config, self.results, section))
        chosen = measure or section.measures[0]
        return Markdown(scores_table(self.config, self.results, section, chosen))

    def figure(self, title: str) -> Image | Markdown:
        """Return the figure of a section, found by the beginning of its title.

        Figures of the kept results are beside the reports: a notebook shows the file.
        """
        section = self._section(title)
        file = self._report / f"{self.config.name}-{self.config.report.index(section) + 1}.svg"
        if self._is_kept and file.exists():
            place = file.relative_to(NOTEBOOKS, walk_up=True).as_posix()
            return Markdown(f"![{section.title}]({place})")
        return show(draw_section(self.results, section))

    def claims(self, title: str) -> Markdown:
        """Return the tests of the paper's claims in a section."""
        verdicts = [judge(claim, self.results).text() for claim in self._section(title).claims]
        return Markdown("\n\n".join(verdicts))

    def _section(self, title: str) -> Section:
        for section in self.config.report:
            if section.title.startswith(title):
                return section
        there = ", ".join(section.title for section in self.config.report)
        raise ValueError(f"the report has no section {title}; choose from {there}")


def recommended_methods() -> Markdown:
    """Return the table of recommended methods in the overview of the experiments."""
    page = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    return Markdown(page[page.index("\n|") : page.index("\nSources: ")])


def show(figure: Figure) -> Image:
    """Return a figure as a picture, and close it."""
    return Image(png_of(figure, dpi=80))


NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
"""Folder of the notebooks that come with the package."""

TIMEOUT = 600
"""Time limit of a cell, in seconds."""


def experiments_of(file: Path) -> list[str]:
    """Return the names of the experiments whose results a notebook reads."""
    return re.findall(r'Experiment\(\\?"([\w-]+)\\?"\)', file.read_text(encoding="utf-8"))


def execute(file: Path) -> Any:
    """Run a notebook's copy from top to bottom in its folder; return it without times.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

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
    import nbformat

    nbformat.write(execute(file), file)
