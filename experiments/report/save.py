"""Writes a figure to files."""

from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from experiments.report.plots import style


def save(figure: Figure, file: Path, title: str) -> str:
    """Write a figure as SVG, its letters as shapes, and close it.

    Parameters
    ----------
    figure : Figure
    file : Path
        Without an ending, in the report's folder `figures`.
    title : str

    Returns
    -------
    str
        The Markdown that shows it.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with style(), plt.rc_context({"svg.hashsalt": file.name, "svg.fonttype": "path"}):
        figure.savefig(file.with_name(f"{file.name}.svg"), metadata={"Date": None})
    plt.close(figure)
    return f"![{title}](figures/{file.name}.svg)"
