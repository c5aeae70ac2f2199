"""Figure 1 of the BOOMER paper: losses while rules are added, on three synthetic data sets.

    python -m experiments.benchmarks.boomer_synthetic run --output FILE.json
        [--samples 10000] [--rules 1000] [--rates .1,.3] [--l2 1] [--lines axes|random]
        [--data "strong marginal dependence"] [--seeds 0,1,2] [--features log2|all]
    python -m experiments.benchmarks.boomer_synthetic figure FILE.json --output FIGURE.png

`run` trains the four variants on each data set (section 5.1) and measures Hamming and subset 0/1
loss on as many further samples after 1, 2, 4, ... rules. The paper does not say which directions
its lines through the origin have: with `--lines axes` they are (almost) parallel to an axis, which
is what one condition of a rule can describe, with `--lines random` they lie anywhere. Where
several shrinkages or weights of the L2 penalty are given, the pair with the smallest loss on a
third set of samples is taken, in the label-wise variants Hamming loss, in the example-wise ones
subset 0/1 loss. `--features all` looks at every feature for each condition, instead of drawing
some. What the file has already is not trained again. `figure` draws what the paper's
figure shows; `boomer_report.py` says whether the paper's statements hold.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

from experiments.benchmarks.boomer_variants import VARIANTS, fit, staged_labels
from xdcc.data import (
    MultiLabelDataset,
    make_conditionally_dependent,
    make_marginally_dependent,
    make_marginally_independent,
)
from xdcc.metrics import hamming_loss, subset_loss

NOISE, N_LABELS = 0.1, 6
ALONE = {"hamming_loss": NOISE, "subset_loss": 1 - (1 - NOISE) ** N_LABELS}
BAYES = {
    "marginal independence": ALONE,
    "strong marginal dependence": ALONE,
    "strong conditional dependence": {"hamming_loss": NOISE, "subset_loss": NOISE},
}
"""Losses of the best possible predictions."""

COLOURS = dict(zip(VARIANTS, ("tab:blue", "tab:cyan", "tab:red", "tab:orange"), strict=True))


def make(name: str, n_samples: int, along_axes: bool, seed: int) -> MultiLabelDataset:
    """Generate a data set, with lines (almost) parallel to an axis or in random directions."""
    random = np.random.default_rng(seed)
    sizes: dict[str, Any] = {
        "n_samples": n_samples,
        "n_labels": N_LABELS,
        "noise": NOISE,
        "random_state": random,
    }
    angles = np.zeros(N_LABELS) if along_axes else random.uniform(0, 2 * np.pi, N_LABELS)
    if name == "marginal independence":
        return make_marginally_independent(**sizes, directions=angles)
    maker = {
        "strong marginal dependence": make_marginally_dependent,
        "strong conditional dependence": make_conditionally_dependent,
    }[name]
    return maker(**sizes, direction=angles[0])


def checkpoints(n_rules: int) -> list[int]:
    """Return the numbers of rules that are measured: all up to 16, then denser than drawn."""
    steps = {round(2 ** (k / 4)) for k in range(4 * 16)} | set(range(1, 17))
    return sorted({k for k in steps if k < n_rules} | {n_rules})


def curves(model: Any, data: MultiLabelDataset, rules: list[int]) -> dict[str, list[float]]:
    """Losses after so many rules."""
    stages = list(staged_labels(model, data.X, rules))
    return {
        "hamming_loss": [hamming_loss(data.Y, stage) for stage in stages],
        "subset_loss": [subset_loss(data.Y, stage) for stage in stages],
    }


def measure(name: str, variant: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train a variant on a data set with each pair of parameters, and take the best pair."""
    n = options.samples
    data = make(name, 3 * n, options.lines == "axes", seed)
    train, test, validation = data[:n], data[n : 2 * n], data[2 * n :]
    rules = checkpoints(options.rules)
    objective = "hamming_loss" if variant.startswith("l.w.") else "subset_loss"
    best: dict[str, Any] = {}
    for rate, l2 in product(options.rates, options.l2):
        begin = time.perf_counter()
        model = fit(
            variant,
            train,
            n_rules=options.rules,
            learning_rate=rate,
            l2=l2,
            max_features={"log2": "log2", "all": None}[options.features],
            random_state=seed,
            n_jobs=1,
        )
        seconds = time.perf_counter() - begin
        validated = curves(model, validation, [options.rules])[objective][0]
        if not best or validated < best["validated"]:
            best = {"validated": validated, "rate": rate, "l2": l2, "seconds": seconds}
            best |= curves(model, test, rules)
    grid = {
        "samples": n,
        "lines": options.lines,
        "features": options.features,
        "rates": options.rates,
        "l2_grid": options.l2,
        "seed": seed,
    }
    return {"data": name, "variant": variant, "rules": rules} | best | grid


def run(options: argparse.Namespace) -> None:
    """Measure what is not in the file yet."""
    rows = json.loads(options.output.read_text()) if options.output.exists() else []
    keys = ("data", "variant", "seed", "lines", "features")
    done = {tuple(row[key] for key in keys) for row in rows}
    jobs = product(options.data.split(","), VARIANTS, options.seeds)
    todo = [job for job in jobs if (*job, options.lines, options.features) not in done]
    for name, variant, seed in tqdm(todo):
        rows.append(measure(name, variant, seed, options))
        options.output.write_text(json.dumps(rows))


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Draw Hamming loss against subset 0/1 loss, a curve for each variant."""
    figure, axes = plt.subplots(1, len(BAYES), figsize=(12, 4))
    for axis, name in zip(axes, BAYES, strict=True):
        for row in (row for row in rows if row["data"] == name):
            x, y = 100 * np.array(row["hamming_loss"]), 100 * np.array(row["subset_loss"])
            marked = [
                i for i, k in enumerate(row["rules"]) if k & (k - 1) == 0 or k == row["rules"][-1]
            ]
            axis.plot(
                x,
                y,
                "-o",
                markevery=marked,
                markersize=3,
                linewidth=1,
                color=COLOURS[row["variant"]],
                label=row["variant"],
            )
        best = BAYES[name]
        axis.plot(
            100 * best["hamming_loss"], 100 * best["subset_loss"], "k*", label="best possible"
        )
        limits = axis.get_xlim(), axis.get_ylim()
        for offset in range(-100, 101, 10):
            # Along these lines both losses improve by equally many points.
            axis.axline((0, offset), slope=1, color="0.9", linewidth=0.5, zorder=0)
        axis.set(xlim=limits[0], ylim=limits[1], title=name, xlabel="Hamming loss (%)")
    axes[0].set_ylabel("subset 0/1 loss (%)")
    axes[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    plt.close(figure)


def numbers(text: str) -> list[float]:
    """Read numbers that are divided by commas."""
    return [float(part) for part in text.split(",")]


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers that are divided by commas."""
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    part = commands.add_parser("run")
    part.add_argument("--output", type=Path, required=True)
    part.add_argument("--samples", type=int, default=10_000)
    part.add_argument("--rules", type=int, default=1000)
    part.add_argument("--rates", type=numbers, default=[0.3])
    part.add_argument("--l2", type=numbers, default=[1.0])
    part.add_argument("--lines", choices=("axes", "random"), default="axes")
    part.add_argument("--features", choices=("log2", "all"), default="log2")
    part.add_argument("--data", default=",".join(BAYES))
    part.add_argument("--seeds", type=whole_numbers, default=[0])
    part = commands.add_parser("figure")
    part.add_argument("file", type=Path)
    part.add_argument("--lines", choices=("axes", "random"), default="axes")
    part.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "run":
        run(options)
    else:
        rows = json.loads(options.file.read_text())
        first = min(row["seed"] for row in rows)
        wanted = (options.lines, "log2", first)
        shown = [r for r in rows if (r["lines"], r["features"], r["seed"]) == wanted]
        draw(shown, options.output)


if __name__ == "__main__":
    main()
