"""Random decision trees against Tables 2 to 5 of the RDT-DCC paper, and its Figures 3 and 4.

    python -m experiments.benchmarks.rdt_against_paper run --output FILE.json [--data flags,yeast]
    python -m experiments.benchmarks.rdt_against_paper figures --output FOLDER
    python -m experiments.benchmarks.rdt_against_paper report FILE.json --published FILE.csv

`run` does the paper's ten-fold cross-validation: 300 trees, depth 30, at least four instances for
a test, 20 % label tests for the chains and none for binary relevance (BR) and label powerset (LP);
static chains (CC) are the mean of ten random orders. Folds are blocks of rows in the files'
order, which is what the published numbers agree with (see the report). Measures are taken over the
predictions of all folds. Every scheme is run with equal tree weights and with the inverted Gini
index, besides them what goes beyond the paper.

`figures` draws the share of active label tests against the measures on emotions (Figure 3) and
the two heat maps on yeast (Figure 4). `report` writes `RDT.md`; the published numbers are a CSV
file with the columns table, measure, dataset, method and value.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from tqdm import tqdm

from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.metrics import micro_f1, subset_accuracy
from xdcc.rdt import RandomDecisionTreeClassifier

DATASETS = ("flags", "emotions", "scene", "yeast", "birds", "cal500", "enron", "medical")
N_ORDERS = 10
N_FOLDS = 10
NOTES = Path(__file__).with_name("rdt_notes.md")

LABEL, PROBABILITY = {"threshold": "label"}, {"threshold": "probability"}

PAPER: dict[str, dict[str, Any]] = {
    "DCC LM": LABEL,
    "CC LM": LABEL | {"chain": "static"},
    "DCC PM": PROBABILITY,
    "CC PM": PROBABILITY | {"chain": "static"},
    "RDT LP": {"transformation": "powerset", "label_test_fraction": 0},
    "RDT BR": PROBABILITY | {"chain": None, "label_test_fraction": 0},
}
BEYOND: dict[str, dict[str, Any]] = {
    "positive labels only": LABEL | {"candidates": "positive"},
    "early stop": LABEL | {"early_stop": True},
    "leaves by size": LABEL | {"size_exponent": 0.5},
    "useless tests redrawn": LABEL | {"redraw": True},
    "disjunctions of 10": LABEL | {"disjunction_size": 10},
    "disjunctions of 30": LABEL | {"disjunction_size": 30},
}


def schemes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Names, tree weights and parameters of what is measured."""
    for weight in ("equal", "gini"):
        for name, params in PAPER.items():
            yield name, weight, params | {"tree_weight": weight}
    for name, params in BEYOND.items():
        yield name, "equal", params | {"tree_weight": "equal"}


class Forests:
    """Models of one fold, each forest drawn once however many schemes read it."""

    DRAWN = ("label_test_fraction", "redraw", "disjunction_size")

    def __init__(self, train: MultiLabelDataset, n_trees: int, seed: int) -> None:
        self._train = train
        self._base = RandomDecisionTreeClassifier(
            n_estimators=n_trees,
            random_state=seed,
            categorical_features=[t == "nominal" for t in train.feature_types],
        )
        self._fitted: dict[tuple[Any, ...], RandomDecisionTreeClassifier] = {}

    def model(self, params: dict[str, Any]) -> RandomDecisionTreeClassifier:
        """Return a fitted model; the next call may change it."""
        key = tuple(params.get(name) for name in self.DRAWN)
        if key not in self._fitted:
            model = clone(self._base).set_params(**params)
            self._fitted[key] = model.fit(self._train.X, self._train.Y)
        return self._fitted[key].set_params(**self._base.get_params() | params)


def predict(model: RandomDecisionTreeClassifier, X: Any) -> list[NDArray[np.int64]]:
    """Predictions of a model: several where the order is drawn."""
    if model.chain != "static":
        return [model.predict(X)]
    orders = [np.random.default_rng(i).permutation(model.n_labels_) for i in range(N_ORDERS)]
    return [model.set_params(order=order).predict(X) for order in orders]


def measure(name: str, n_trees: int) -> list[dict[str, Any]]:
    """Cross-validate all schemes on a data set."""
    data = load_dataset(name)
    predictions: dict[tuple[str, str], list[list[NDArray[np.int64]]]] = {}
    seconds: dict[tuple[str, str], float] = {}
    for fold, (train, test) in enumerate(KFold(N_FOLDS).split(np.arange(len(data)))):
        forests = Forests(data[train], n_trees, seed=fold)
        for scheme, weight, params in schemes():
            model = forests.model(params)
            begin = time.perf_counter()
            predicted = predict(model, data.X[test])
            key = scheme, weight
            seconds[key] = seconds.get(key, 0) + time.perf_counter() - begin
            predictions.setdefault(key, []).append(predicted)
    rows = []
    for (scheme, weight), folds in predictions.items():
        joined = [np.vstack(parts) for parts in zip(*folds, strict=True)]
        rows.append(
            {
                "data": name,
                "method": scheme,
                "tree_weight": weight,
                "subset_accuracy": float(np.mean([subset_accuracy(data.Y, Y) for Y in joined])),
                "micro_f1": float(np.mean([micro_f1(data.Y, Y) for Y in joined])),
                "seconds": seconds[scheme, weight] / len(joined),
                "n_trees": n_trees,
            }
        )
    return rows


def run(datasets: list[str], output: Path, n_trees: int) -> None:
    """Measure the data sets that are not in the file yet."""
    rows = json.loads(output.read_text()) if output.exists() else []
    done = {row["data"] for row in rows}
    for name in tqdm([name for name in datasets if name not in done]):
        rows += measure(name, n_trees)
        output.write_text(json.dumps(rows, indent=1))


def comparison(rows: pd.DataFrame, published: pd.DataFrame, measured: str) -> pd.DataFrame:
    """Table of ours beside the paper's, "ours (paper)", a column per data set."""
    paper = published[published.measure == measured].drop_duplicates(["dataset", "method"])
    paper_values = paper.set_index(["method", "dataset"])["value"]
    table = {}
    for method in PAPER:
        for weight in ("equal", "gini"):
            part = rows[(rows.method == method) & (rows.tree_weight == weight)].set_index("data")
            table[method, weight] = {
                name: f"{part.loc[name, measured]:.3f} ({paper_values[method, name]:.3f})"
                for name in part.index
            }
    return pd.DataFrame(table).T.rename_axis(["method", "tree weights"]).reset_index()


def report(file: Path, published: Path, to: Path) -> None:
    """Write the report."""
    rows = pd.DataFrame(json.loads(file.read_text()))
    numbers = pd.read_csv(published)
    parts = [NOTES.read_text().rstrip()]
    for measured in ("subset_accuracy", "micro_f1"):
        title = measured.replace("_", " ")
        table = comparison(rows, numbers, measured).to_markdown(index=False)
        parts.append(f"## {title.capitalize()}: ours (paper)\n\n{table}")
    beyond = rows[(rows.tree_weight == "equal") & rows.method.isin(["DCC LM", *BEYOND])]
    order = ["DCC LM", *BEYOND]
    for measured in ("subset_accuracy", "micro_f1", "seconds"):
        title = measured.replace("_", " ")
        table = beyond.pivot(index="method", columns="data", values=measured)
        table = table.loc[order, list(dict.fromkeys(beyond.data))]
        parts.append(
            f"## Beyond the paper: {title}\n\nThe dynamic chain with the label method, equal "
            f"weights.\n\n{table.to_markdown(floatfmt='.3f')}"
        )
    to.write_text("\n\n".join(parts) + "\n")


def draw_sigma(folder: Path, n_trees: int) -> None:
    """Figure 3: the share of active label tests against both measures, on emotions."""
    data = load_dataset("emotions")
    sigmas = np.linspace(0, 1, 11)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4))
    for threshold, colour in (("label", "tab:red"), ("probability", "tab:blue")):
        for fraction, style in ((0.1, ":"), (0.2, "--"), (0.3, "-")):
            predicted: dict[float, list[Any]] = {sigma: [] for sigma in sigmas}
            for fold, (train, test) in enumerate(KFold(N_FOLDS).split(np.arange(len(data)))):
                params = {"label_test_fraction": fraction, "threshold": threshold}
                model = Forests(data[train], n_trees, seed=fold).model(params)
                for sigma in sigmas:
                    predicted[sigma].append(model.set_params(sigma=sigma).predict(data.X[test]))
            for axis, score in zip(axes, (subset_accuracy, micro_f1), strict=True):
                values = [score(data.Y, np.vstack(predicted[sigma])) for sigma in sigmas]
                label = f"{threshold} method, {fraction:.0%} label tests"
                axis.plot(sigmas, values, style, color=colour, label=label)
                axis.set(xlabel="σ", ylabel=score.__name__.replace("_", " "), title="emotions")
    axes[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(folder / "rdt_sigma.png", dpi=120)
    plt.close(figure)


def draw_sequences(folder: Path, n_trees: int) -> None:
    """Figure 4: accuracy of the i-th decision, and positives so far, on yeast."""
    data = load_dataset("yeast")
    maps: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for fraction in (0.1, 0.2, 0.3):
        for threshold in ("label", "probability"):
            right, positive = [], []
            for fold, (train, test) in enumerate(KFold(N_FOLDS).split(np.arange(len(data)))):
                params = {"label_test_fraction": fraction, "threshold": threshold}
                model = Forests(data[train], n_trees, seed=fold).model(params)
                trace = model.trace(data.X[test])
                right.append(trace.correct(data.Y[test]))
                positive.append(trace.positive().cumsum(axis=1))
            name = f"{threshold[0].upper()}M {fraction:.0%}"
            maps[name] = np.vstack(right).mean(axis=0), np.vstack(positive).mean(axis=0)
    figure, axes = plt.subplots(1, 2, figsize=(9, 5))
    titles = ("accuracy of the i-th decision", "positive labels up to the i-th decision")
    for k, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        image = axis.imshow(np.stack([pair[k] for pair in maps.values()], axis=1), aspect="auto")
        axis.set_xticks(range(len(maps)), list(maps), rotation=45)
        axis.set_yticks(range(data.n_labels), [str(i + 1) for i in range(data.n_labels)])
        axis.set(title=f"yeast: {title}", ylabel="iteration")
        figure.colorbar(image, ax=axis)
    figure.tight_layout()
    figure.savefig(folder / "rdt_sequences.png", dpi=120)
    plt.close(figure)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("run", "figures"):
        part = commands.add_parser(command)
        part.add_argument("--output", type=Path, required=True)
        part.add_argument("--trees", type=int, default=300)
        if command == "run":
            part.add_argument("--data", default=",".join(DATASETS))
    part = commands.add_parser("report")
    part.add_argument("file", type=Path)
    part.add_argument("--published", type=Path, required=True)
    part.add_argument("--to", type=Path, default=Path(__file__).with_name("RDT.md"))
    options = parser.parse_args()
    if options.command == "run":
        run(options.data.split(","), options.output, options.trees)
    elif options.command == "figures":
        options.output.mkdir(parents=True, exist_ok=True)
        draw_sigma(options.output, options.trees)
        draw_sequences(options.output, options.trees)
    else:
        report(options.file, options.published, options.to)


if __name__ == "__main__":
    main()
