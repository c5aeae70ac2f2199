"""Writes a figure to files."""

from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from experiments.report.plots import style


def save(figure: Figure, file: Path, title: str) -> str:
    """Write a figure as SVG, its letters as shapes, and close it; return Markdown that shows it.

    The file is one of the report's folder `figures`, without an ending.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with style(), plt.rc_context({"svg.hashsalt": file.name, "svg.fonttype": "path"}):
        figure.savefig(file.with_name(f"{file.name}.svg"), metadata={"Date": None})
    plt.close(figure)
    return f"![{title}](figures/{file.name}.svg)"
