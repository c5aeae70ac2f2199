"""Mixtures of conditional trees against Tables 2 to 5 and Figure 3 of the paper.

    python -m experiments.benchmarks.ctbn_against_paper run --output FOLDER [--data emotions,scene]
    python -m experiments.benchmarks.ctbn_against_paper components --output FOLDER
    python -m experiments.benchmarks.ctbn_against_paper report FOLDER --published FILE.csv

`run` does the paper's ten-fold cross-validation with shuffled folds for BR, CC, SC (one tree) and
MC (the mixture), every one with L2-penalised logistic regression on the features as they are and
one strength, chosen by cross-validation in the fold's training part. SC and MC are run in both
readings of a parent's effect. A line of JSON is written for each data set, method and fold;
what is there already is not run again. `components` fixes the number of trees (Figure 3). `report`
writes `CTBN.md` from the lines, with the notes in `ctbn_notes.md`; the published numbers are a CSV
file with the columns table, measure, dataset, method and value.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from xdcc.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.ctbn.annealing import anneal
from xdcc.ctbn.design import Design
from xdcc.ctbn.growth import Grower, Growth, held_out_rows
from xdcc.ctbn.learner import LogisticLearner
from xdcc.ctbn.logistic import Penalty, Problems, linear_predictor, solve
from xdcc.ctbn.mixture import EMLimits
from xdcc.ctbn.strength import choose_C
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.metrics import macro_f1, macro_precision, macro_recall, micro_f1, subset_accuracy

DATASETS = ("emotions", "image", "scene", "yeast", "rcv1-subset1", "enron")
METHODS = ("BR", "CC", "SC", "MC", "SC feature", "MC feature")
N_FOLDS = 10
N_FREQUENT = 10
NOTES = Path(__file__).with_name("ctbn_notes.md")

type Result = tuple[NDArray[np.int64], float, dict[str, Any]]
"""Predicted labels, CLL-loss, and what else is worth keeping."""


def load(name: str) -> tuple[Any, Any]:
    """Features and labels; of RCV1 the ten most frequent labels, as in the paper."""
    data: MultiLabelDataset = load_dataset(name)
    if name.startswith("rcv1"):
        frequent = np.sort(np.argsort(-data.Y.sum(axis=0), kind="stable")[:N_FREQUENT])
        return data.X, data.Y[:, frequent]
    return data.X, data.Y


def log_loss(log_odds: NDArray[np.float64], Y: NDArray[np.int8]) -> float:
    """Sum of -log P of independent labels."""
    return float((np.logaddexp(0, log_odds) - Y * log_odds).sum())


class LogisticChain:
    """BR, and CC on the labels in their order: each model has all labels before as features."""

    def __init__(self, X: Any, Y: NDArray[np.int8], seed: int) -> None:
        self._design = Design(X)
        self._rows, self._Y = self._design.transform(X), Y.astype(float)
        self.C = choose_C(self._rows, self._Y, np.random.RandomState(seed))
        self._alone = self._solve(self._rows, slice(None), np.zeros((self._width, Y.shape[1])))

    @property
    def _width(self) -> int:
        return self._rows.shape[1] + 2

    def _solve(self, rows: Any, labels: Any, start: NDArray[np.float64]) -> NDArray[np.float64]:
        targets = self._Y[:, labels]
        problems = Problems(targets, np.ones_like(targets), np.zeros_like(targets))
        return solve(rows, problems, Penalty(1 / self.C, tol=1e-7), start).coef

    def relevance(self, X: Any, Y: NDArray[np.int8]) -> Result:
        """BR."""
        log_odds = self._log_odds(self._design.transform(X), self._alone)
        return (log_odds > 0).astype(np.int64), log_loss(log_odds, Y), {}

    def chain(self, X: Any, Y: NDArray[np.int8]) -> Result:
        """CC; its loss given the labels predicted before, as in the paper, and given the true."""
        rows = self._design.transform(X)
        predicted = np.zeros(Y.shape)
        greedy = true = 0.0
        for label in range(Y.shape[1]):
            start = np.insert(self._alone[:, [label]], [-2] * label, 0.0, axis=0)
            coef = self._solve(self._with(self._rows, self._Y[:, :label]), [label], start)
            after_true = self._log_odds(self._with(rows, Y[:, :label]), coef)
            after_own = self._log_odds(self._with(rows, predicted[:, :label]), coef)
            true += log_loss(after_true, Y[:, [label]])
            greedy += log_loss(after_own, Y[:, [label]])
            predicted[:, label] = after_own[:, 0] > 0
        return predicted.astype(np.int64), greedy, {"cll_loss_of_chain_rule": true}

    def _log_odds(self, rows: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        return linear_predictor(rows, coef, np.zeros((rows.shape[0], coef.shape[1])))

    def _with(self, rows: Any, labels: NDArray[Any]) -> Any:
        if sparse.issparse(rows):
            return sparse.csr_matrix(sparse.hstack((rows, sparse.csr_matrix(labels * 1.0))))
        return np.hstack((rows, labels))


def trees(model: CTBNMixtureClassifier, train: tuple[Any, Any], test: tuple[Any, Any]) -> Result:
    """SC and MC; where all labelsets can be tried, how often annealing finds the best one."""
    model.fit(*train)
    predicted = model.predict(test[0])
    kept: dict[str, Any] = {"C": model.C_, "n_components": len(model.mixture_weights_)}
    curves = [*model.log_likelihood_curves_, model.log_likelihood_curve_]
    kept["smallest_rise"] = min((float(np.diff(c).min()) for c in curves if len(c) > 1), default=0)
    if model.n_labels_ <= 10 and len(model.mixture_weights_) > 1:
        exact = model.set_params(inference="exact").predict(test[0])
        kept["annealing_is_exact"] = float((exact == predicted).all(axis=1).mean())
        labelsets = np.array(list(itertools.product((0, 1), repeat=model.n_labels_)))
        rows = np.repeat(np.arange(3), len(labelsets))
        total = model.log_prob(test[0][rows], np.tile(labelsets, (3, 1))).reshape(3, -1)
        kept["sum_off_by"] = float(np.abs(np.exp(total).sum(axis=1) - 1).max())
    return predicted, float(-model.log_prob(*test).sum()), kept


def measure(method: str, train: tuple[Any, Any], test: tuple[Any, Any], seed: int) -> Result:
    """One method on one fold."""
    params: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if method in ("BR", "CC"):
        chain = LogisticChain(*train, seed)
        predicted, loss, kept = (chain.relevance if method == "BR" else chain.chain)(*test)
        return predicted, loss, kept | {"C": chain.C}
    if method.endswith("feature"):
        params["parent_effect"] = "feature"
    else:
        params["parent_effect"] = "separate"
    if method.startswith("SC"):
        return trees(CTBNClassifier(**params), train, test)
    return trees(CTBNMixtureClassifier(**params), train, test)


def row_of(predicted: NDArray[np.int64], loss: float, Y: NDArray[np.int8]) -> dict[str, float]:
    """Measures of a fold."""
    precision = macro_precision(Y, predicted, zero_division=1)
    recall = macro_recall(Y, predicted, zero_division=1)
    return {
        "subset_accuracy": subset_accuracy(Y, predicted),
        "cll_loss": loss,
        "micro_f1": micro_f1(Y, predicted),
        "macro_f1": macro_f1(Y, predicted),
        "macro_f1_of_means": 2 * precision * recall / (precision + recall),
    }


def run(datasets: list[str], methods: list[str], chosen: list[int], output: Path) -> None:
    """Measure the chosen folds that are not in the folder yet."""
    output.mkdir(parents=True, exist_ok=True)
    for name in datasets:
        X, Y = load(name)
        for method in methods:
            file = output / f"{name} {method}.jsonl"
            done = {row["fold"] for row in read(file)}
            folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(Y)
            for fold, (train, test) in enumerate(folds):
                if fold in done or fold not in chosen:
                    continue
                begin, cpu = time.perf_counter(), time.process_time()
                parts = (X[train], Y[train]), (X[test], Y[test])
                predicted, loss, kept = measure(method, *parts, fold)
                row = {"data": name, "method": method, "fold": fold}
                row |= row_of(predicted, loss, Y[test]) | kept
                row["seconds"] = time.perf_counter() - begin
                row["cpu_seconds"] = time.process_time() - cpu
                append(file, row)


def components(datasets: list[str], most: int, n_folds: int, output: Path) -> None:
    """Measures by the number of trees: growth that does not stop, read at every size."""
    output.mkdir(parents=True, exist_ok=True)
    for name in datasets:
        X, Y = load(name)
        file = output / f"components {name}.jsonl"
        done = {row["fold"] for row in read(file)}
        folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(Y)
        for fold, (train, test) in enumerate(folds):
            if fold in done or fold >= n_folds:
                continue
            random = np.random.RandomState(fold)
            design = Design(X[train])
            rows, labels = design.transform(X[train]), Y[train].astype(float)
            penalty = Penalty(1 / choose_C(rows, labels, random), tol=1e-5)
            learner = LogisticLearner(penalty, "separate")
            held_out = held_out_rows(labels, 5, random)
            mixtures = Grower(learner, learner, EMLimits(), random).sequence(
                (rows[~held_out], labels[~held_out]), (rows[held_out], labels[held_out]), Growth()
            )
            test_rows, truth = design.transform(X[test]), Y[test].astype(float)
            measured = []
            for size, mixture in enumerate(itertools.islice(mixtures, most), start=1):
                parents = [component.parents for component in mixture.components]
                log_cpds = mixture.log_cpds(test_rows)
                random_map = np.random.RandomState(0)
                predicted = anneal(log_cpds, parents, mixture.weights, 150, random_map)
                loss = float(-mixture.log_prob(test_rows, truth).sum())
                row = {"data": name, "fold": fold, "n_components": size}
                measured.append(row | row_of(predicted, loss, Y[test]))
            append(file, *measured)


def append(file: Path, *rows: dict[str, Any]) -> None:
    with file.open("a") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def averages(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means over folds, methods by data sets."""
    table = rows.pivot_table(index="method", columns="data", values=column)
    order = [name for name in METHODS if name in table.index]
    # The paper's data sets in its order, then others.
    columns = [name for name in DATASETS if name in table.columns]
    return table.loc[order, [*columns, *table.columns.difference(columns)]]


def comparison(rows: pd.DataFrame, published: pd.DataFrame, measured: str, digits: int) -> str:
    """Table of ours beside the paper's, "ours (paper)"; * where MC is significantly better."""
    paper = published[published.measure == measured].set_index(["method", "dataset"])["value"]
    table = averages(rows, measured).astype(object)
    n_folds = rows.dropna(subset=[measured]).groupby(["data", "method"])["fold"].nunique()
    sign = -1 if measured == "cll_loss" else 1
    folds = rows.set_index(["data", "method", "fold"])[measured].unstack("fold") * sign
    for method in table.index:
        for name in table.columns:
            own = table.loc[method, name]
            if pd.isna(own):
                table.loc[method, name] = ""
                continue
            text = f"{own:.{digits}f}"
            key = method.split()[0], name.replace("-", "_")
            if key in paper.index:
                text += f" ({paper[key]:.{digits}f})"
            if n_folds[name, method] < N_FOLDS:
                text += f" [{n_folds[name, method]} folds]"
            elif method != "MC" and (name, "MC") in folds.index:
                best, this = folds.loc[(name, "MC")], folds.loc[(name, method)]
                both = best.notna().all() and best.mean() > this.mean()
                if both and stats.ttest_rel(best, this).pvalue < 0.05:
                    text += " *"
            table.loc[method, name] = text
    return table.reset_index().to_markdown(index=False)


def checks(rows: pd.DataFrame) -> str:
    """Collect what the mixtures of the runs say about themselves."""
    part = rows[rows.method.isin(["MC", "MC feature"])]
    table = part.groupby(["data", "method"], sort=False).agg(
        trees=("n_components", "mean"),
        C=("C", "median"),
        annealing_is_exact=("annealing_is_exact", "mean"),
        sum_off_by=("sum_off_by", "max"),
        smallest_rise_in_em=("smallest_rise", "min"),
        cpu_seconds=("cpu_seconds", "mean"),
    )
    return table.reset_index().to_markdown(index=False, floatfmt=".3g")


LABELS = {"cll_loss": "CLL-loss", "subset_accuracy": "exact match accuracy"}


def draw_components(folder: Path, to: Path) -> bool:
    """Figure 3; whether there is anything to draw."""
    files = [folder / f"components {name}.jsonl" for name in ("emotions", "scene", "image")]
    files = [file for file in files if file.exists()]
    if not files:
        return False
    figure, axes = plt.subplots(2, len(files), figsize=(4 * len(files), 6), squeeze=False)
    for column, file in enumerate(files):
        rows = pd.DataFrame(read(file))
        mean = rows.groupby("n_components")[[*LABELS]].mean()
        name = f"{rows.data[0]} ({rows.fold.nunique()} folds)"
        for axis, measured in zip(axes[:, column], mean.columns, strict=True):
            axis.plot(mean.index, mean[measured])
            axis.set(xlabel="trees", ylabel=LABELS[measured], title=name)
    figure.tight_layout()
    figure.savefig(to, dpi=100)
    plt.close(figure)
    return True


def report(folder: Path, published: Path, to: Path) -> None:
    """Write the report."""
    files = [file for file in folder.glob("*.jsonl") if not file.name.startswith("components")]
    rows = pd.DataFrame([row for file in sorted(files) for row in read(file)])
    numbers = pd.read_csv(published)
    parts = [NOTES.read_text().rstrip()]
    titles = {
        "subset_accuracy": ("Exact match accuracy", 3),
        "cll_loss": ("CLL-loss", 1),
        "micro_f1": ("Micro F1", 3),
        "macro_f1_of_means": ("Macro F1, of the means of precision and recall", 3),
    }
    numbers["measure"] = numbers["measure"].replace("macro_f1", "macro_f1_of_means")
    for measured, (title, digits) in titles.items():
        table = comparison(rows, numbers, measured, digits)
        parts.append(f"## {title}: ours (paper)\n\n{table}")
    table = averages(rows, "macro_f1").reset_index().to_markdown(index=False, floatfmt=".3f")
    parts.append(f"## Macro F1, the mean of the labels' F1\n\n{table}")
    chain = averages(rows[rows.method == "CC"], "cll_loss_of_chain_rule")
    parts.append(
        "## CC's CLL-loss given the true labels before\n\n"
        + chain.reset_index().to_markdown(index=False, floatfmt=".1f")
    )
    parts.append(f"## The mixtures\n\n{checks(rows)}")
    figure = to.with_name("ctbn_components.png")
    if draw_components(folder, figure):
        parts.append(f"![Measures by the number of trees]({figure.name})")
    to.write_text("\n\n".join(parts) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    part = commands.add_parser("run")
    part.add_argument("--output", type=Path, required=True)
    part.add_argument("--data", default=",".join(DATASETS))
    part.add_argument("--methods", default=",".join(METHODS))
    part.add_argument("--folds", default=",".join(map(str, range(N_FOLDS))))
    part = commands.add_parser("components")
    part.add_argument("--output", type=Path, required=True)
    part.add_argument("--data", default="emotions,scene,image")
    part.add_argument("--most", type=int, default=20)
    part.add_argument("--folds", type=int, default=N_FOLDS)
    part = commands.add_parser("report")
    part.add_argument("folder", type=Path)
    part.add_argument("--published", type=Path, required=True)
    part.add_argument("--to", type=Path, default=Path(__file__).with_name("CTBN.md"))
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.command == "run":
            chosen = [int(fold) for fold in options.folds.split(",")]
            run(options.data.split(","), options.methods.split(","), chosen, options.output)
        elif options.command == "components":
            components(options.data.split(","), options.most, options.folds, options.output)
        else:
            report(options.folder, options.published, options.to)


if __name__ == "__main__":
    main()
