"""What the driver leaves behind: a record per model, a table, a figure, and the predictions."""

import json
import os
import platform
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # only files are written: no display is needed

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

from chain_driver.models import MEASURES, Measures, Result
from xdcc.base.plugin import plugin_version
from xdcc.data import MultiLabelDataset

PLOTTED = {
    "hamming_accuracy": "Hamming accuracy",
    "subset_accuracy": "subset accuracy",
    "example_f1": "example-based F1",
}
PACKAGES = ("xdcc", "xgboost", "numpy", "scipy", "scikit-learn")


def write_record(
    folder: Path,
    model: str,
    options: Namespace,
    train: MultiLabelDataset,
    evaluation: MultiLabelDataset,
    result: Result,
) -> Path:
    """Write what made a result, and the result, as ``<model>.json``; whole or not at all."""
    record = {
        "data": {
            "name": train.name,
            "train_rows": len(train),
            "evaluation_rows": len(evaluation),
            "evaluated_on": "validation rows" if options.validation else "test rows",
            "features": train.n_features,
            "labels": list(train.label_names),
        },
        "model": model,
        "seed": options.seed,
        "options": {key: _plain(value) for key, value in vars(options).items()},
        "parameters": {key: _plain(value) for key, value in result.parameters.items()},
        "seconds": {"fit": result.fit_seconds, "predict": result.predict_seconds},
        "measures": result.measures,
        "rounds": result.rounds,
        "versions": {name: version(name) for name in PACKAGES}
        | {"python": platform.python_version(), "plugin": plugin_version()},
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{model}.json"
    temporary = file.with_suffix(".json.part")
    temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it."""
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def write_arrays(
    folder: Path, evaluation: MultiLabelDataset, results: Mapping[str, Result]
) -> Path:
    """Write the true labels, predictions and orders as ``predictions.npz``.

    Its arrays are called ``Y`` and ``<model>/<what>``.
    """
    file = folder / "predictions.npz"
    arrays: dict[str, Any] = {"Y": evaluation.Y}
    for model, result in results.items():
        arrays |= {f"{model}/{name}": array for name, array in result.arrays.items()}
    np.savez_compressed(file, **arrays)
    return file


def make_table(results: Mapping[str, Result], measure: str) -> pd.DataFrame:
    """Return a row per prediction, with its measures and times in seconds, the best first.

    The best by a measure, by example F1 where the table does not have it.
    """
    rows = {
        row: measures | {"fit s": result.fit_seconds, "predict s": result.predict_seconds}
        for result in results.values()
        for row, measures in result.measures.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*MEASURES, "fit s", "predict s"])
    by = measure if measure in MEASURES else "example_f1"
    table = table.sort_values(by, ascending=False, kind="stable")
    return table.rename_axis(columns=f"best {by} first")


def plot_rounds(folder: Path, name: str, results: Mapping[str, Result]) -> Path:
    """Draw the measures of the dynamic chain after each round, with the other models beside it."""
    curves: dict[str, list[Measures]] = {}
    levels: dict[str, Measures] = {}
    for result in results.values():
        curves |= result.rounds
        levels |= {row: m for row, m in result.measures.items() if row not in result.rounds}
    figure, axes = plt.subplots(1, len(PLOTTED), figsize=(13, 4.2), layout="constrained")
    for ax, (measure, title) in zip(axes, PLOTTED.items(), strict=True):
        for k, (row, measures) in enumerate(curves.items()):
            values = [m[measure] for m in measures]
            ax.plot(range(1, len(values) + 1), values, marker="os"[k % 2], label=row)
        for k, (row, level) in enumerate(levels.items(), start=len(curves)):
            style = ["--", "-.", ":"][k % 3]
            ax.axhline(level[measure], color=f"C{k}", linestyle=style, label=row)
        ax.set(title=title, xlabel="round of the chain")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("measure (higher is better)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{name}: measures after each round")
    file = folder / "rounds.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file
