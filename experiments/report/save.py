"""Writes a figure to files."""

from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.figure import Figure


def save(figure: Figure, file: Path, title: str) -> str:
    """Write a figure as SVG and PNG, and close it.

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
    with plt.rc_context({"svg.hashsalt": file.name, "svg.fonttype": "none"}):
        figure.savefig(file.with_name(f"{file.name}.svg"), metadata={"Date": None})
    figure.savefig(file.with_name(f"{file.name}.png"), dpi=130)
    plt.close(figure)
    return f"![{title}](figures/{file.name}.svg)"
