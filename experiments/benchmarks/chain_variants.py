"""The chain as published, its new variants, and the paper's baselines, tuned alike.

    python -m experiments.benchmarks.chain_variants run --output DIR [--data emotions,flags]
    python -m experiments.benchmarks.chain_variants report DIR

For each of the eleven data sets of the XDCC paper's Table 2 every method is trained with eight
configurations (four on the data sets that take longest) on two thirds of the training part, dealt
out by labels, and measured on the third. For each of two measures, example-based F1 and subset
accuracy, the best configuration is then trained on the whole training part and measured on the
test part. *Reading tuned* means that how probabilities are read (`READINGS`) is chosen by the same
validation rows, too; that costs no training. All boosters have 50 trees, all
chains min(N, 10) rounds.

`run` writes a JSON file per data set and family of methods (`FAMILIES`: methods that read the same
trained models), and goes on where it was. `report` writes
`CHAIN_VARIANTS.md`: a table of average ranks beside the paper's Table 3, the measures on each data
set, and paired differences with Wilcoxon's signed-rank test.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from against_authors import load_parts
from scipy import stats
from tqdm import tqdm

from xdcc import metrics
from xdcc.base.folds import stratified_folds
from xdcc.baselines import BinaryRelevance, ClassifierChain
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision.labelsets import KnownLabelsets

DATASETS = (
    "flags",
    "emotions",
    "birds",
    "genbase",
    "medical",
    "scene",
    "cal500",
    "yeast",
    "enron",
    "tmc2007-500",
    "bibtex",
)
"""Table 2 of the paper, the quick ones first."""

MEASURES: dict[str, Callable[..., float]] = {
    "example_f1": metrics.example_f1,
    "subset_accuracy": metrics.subset_accuracy,
    "hamming_accuracy": metrics.hamming_accuracy,
}
TUNED_FOR = ("example_f1", "subset_accuracy")

N_TREES = 50
MAX_ROUNDS = 10

type Params = dict[str, Any]
type Reading = tuple[str, str, float]

PLAIN: tuple[Reading, ...] = (("cumulated", "threshold", 0.5),)
STANDARD: tuple[Reading, ...] = (("standard", "threshold", 0.5),)
THRESHOLDS = np.round(np.arange(0.1, 0.61, 0.05), 2).tolist()
READINGS: tuple[Reading, ...] = (
    *itertools.product(("cumulated", "standard"), ("threshold",), THRESHOLDS),
    *itertools.product(("cumulated",), ("labelset",), (0.0, 0.5, 1.0)),
)
"""Prediction of the chain; a threshold for all labels, or the most probable labelset of the
training data with this prior (`xdcc.decision.labelsets`)."""


def _grid(**values: Iterable[Any]) -> list[Params]:
    return [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]


LONG = ("enron", "cal500", "tmc2007-500", "bibtex")
"""Data sets on which all methods have the first four configurations only."""

PER_LABEL = _grid(learning_rate=[0.3, 0.1], max_depth=[3, 5, 8, 12])
MULTI_LABEL = _grid(learning_rate=[0.3, 0.1], max_depth=[4, 8], split_method=["sumGain", "maxGain"])
ORDERS = _grid(
    learning_rate=[0.3],
    split_method=["sumGain", "maxGain"],
    max_depth=[4, 8],
    order=["positive", "certainty"],
)
"""The order in the place of the learning rate."""

AUTHORS = {"candidates": "all", "cumulation": "authors"}
"""What the authors' code does, which serves the in-sample chain better than the paper's text."""

OUT_OF_FOLD = {"propagate": "cross_val", "cv": 3, "end_label": True}


@dataclass(frozen=True)
class Family:
    """Methods that train the same models.

    Attributes
    ----------
    estimator : class
    grid : list of dict
        The configurations.
    methods : dict
        Name -> the readings that the method may choose from.
    """

    estimator: type
    grid: list[Params]
    methods: dict[str, tuple[Reading, ...]]


FAMILIES = {
    "br": Family(BinaryRelevance, PER_LABEL, {"BR": PLAIN}),
    "cc": Family(ClassifierChain, PER_LABEL, {"CC": PLAIN}),
    "ml-xgb": Family(
        MultiLabelXGBClassifier,
        MULTI_LABEL,
        {"ML-XGB": PLAIN, "ML-XGB, reading tuned": READINGS},
    ),
    "xdcc": Family(
        DynamicChainClassifier,
        [params | AUTHORS for params in MULTI_LABEL],
        {"XDCC standard": STANDARD, "XDCC cumulated": PLAIN},
    ),
    "out-of-fold": Family(
        DynamicChainClassifier,
        [params | OUT_OF_FOLD for params in MULTI_LABEL],
        {"out-of-fold": PLAIN, "out-of-fold, reading tuned": READINGS},
    ),
    "orders": Family(
        DynamicChainClassifier,
        [params | OUT_OF_FOLD for params in ORDERS],
        {"out-of-fold, order and reading tuned": READINGS},
    ),
}
METHODS = [name for family in FAMILIES.values() for name in family.methods]
NEW = [*FAMILIES["out-of-fold"].methods, *FAMILIES["orders"].methods]

PUBLISHED = {
    "BR": (3.0, 3.45),
    "CC": (3.3, 2.6),
    "ML-XGB": (3.35, 3.2),
    "XDCC standard": (5.3, 4.65),
    "XDCC cumulated": (2.45, 3.05),
}
"""Average ranks in example-based F1 and subset accuracy: Table 3 of the XDCC paper."""


def _train(family: Family, params: Params, data: MultiLabelDataset) -> tuple[Any, float]:
    common: Params = {"n_estimators": N_TREES, "random_state": 0, "n_jobs": 1}
    if family.estimator is DynamicChainClassifier:
        common["chain_length"] = min(data.Y.shape[1], MAX_ROUNDS)
    model = family.estimator(**common | params)
    begin = time.process_time()
    model.fit(data.X, data.Y)
    return model, time.process_time() - begin


def _scores(
    model: Any, readings: Iterable[Reading], train: MultiLabelDataset, data: MultiLabelDataset
) -> dict[str, dict[str, float]]:
    """Measure readings of a trained model; keys are JSON of the readings."""
    scores = {}
    known = KnownLabelsets.of(train.Y)
    for prediction, of_prediction in itertools.groupby(sorted(readings), key=lambda r: r[0]):
        if isinstance(model, DynamicChainClassifier):
            model.set_params(prediction=prediction)
        at_half = model.predict(data.X)
        Y_proba = model.predict_proba(data.X)
        for reading in of_prediction:
            _, kind, value = reading
            if kind == "labelset":
                Y_pred = known.most_probable(Y_proba, prior=value)
            else:
                Y_pred = at_half if value == 0.5 else (Y_proba >= value).astype(np.int64)
            scores[json.dumps(reading)] = {
                name: measure(data.Y, Y_pred) for name, measure in MEASURES.items()
            }
    return scores


def evaluate(dataset: str, name: str) -> dict[str, Any]:
    """Tune the methods of a family on a data set and measure them on the test part.

    Parameters
    ----------
    dataset : str
        Of `DATASETS`.
    name : str
        Of `FAMILIES`.

    Returns
    -------
    dict
        For each method and each measure of `TUNED_FOR` the choice and what it reached; all
        validation scores.
    """
    family = FAMILIES[name]
    grid = family.grid[:4] if dataset in LONG else family.grid
    every_reading = set().union(*family.methods.values())
    train, test = load_parts(dataset)
    folds = stratified_folds(np.asarray(train.Y, dtype=np.float64), 3, random_state=1)
    inner, validation = (train[np.flatnonzero(rows)] for rows in (folds != 0, folds == 0))
    tried: list[dict[str, Any]] = []
    for params in grid:
        model, seconds = _train(family, params, inner)
        of_params = _scores(model, every_reading, inner, validation)
        tried.append({"params": params, "seconds": seconds, "scores": of_params})

    trained: dict[int, tuple[Any, float]] = {}
    chosen = []
    for method, readings in family.methods.items():
        pairs = list(itertools.product(range(len(grid)), map(json.dumps, readings)))
        for measure in TUNED_FOR:
            scores = [tried[number]["scores"][reading][measure] for number, reading in pairs]
            best, reading = pairs[int(np.argmax(scores))]
            if best not in trained:
                trained[best] = _train(family, grid[best], train)
            model, seconds = trained[best]
            chosen.append(
                {
                    "data": dataset,
                    "method": method,
                    "measure": measure,
                    "params": grid[best],
                    "reading": reading,
                    "seconds": seconds,
                    "test": _scores(model, [tuple(json.loads(reading))], train, test)[reading],
                }
            )
    return {"chosen": chosen, "tried": tried}


def _evaluate_and_write(dataset: str, name: str, path: Path) -> None:
    text = json.dumps(evaluate(dataset, name), indent=1)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def run(datasets: Iterable[str], families: Iterable[str], output: Path, n_jobs: int) -> None:
    """Evaluate what is not in the folder yet."""
    output.mkdir(parents=True, exist_ok=True)
    jobs = [(d, f, output / f"{d}.{f}.json") for d in datasets for f in families]
    jobs = [job for job in jobs if not job[2].exists()]
    with ProcessPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(_evaluate_and_write, *job) for job in jobs]
        for future in tqdm(futures, unit="family"):
            future.result()


def load_results(folder: Path) -> pd.DataFrame:
    """Read what `run` wrote: a row per data set, method and measure that it was tuned for."""
    rows = [
        chosen | {"score": chosen["test"][chosen["measure"]]}
        for path in sorted(folder.glob("*.json"))
        for chosen in json.loads(path.read_text())["chosen"]
    ]
    if not rows:
        raise ValueError(f"There is no result in {folder}; run first.")
    return pd.DataFrame(rows)


def report(folder: Path) -> str:
    """Write the tables as Markdown."""
    results = load_results(folder)
    notes = Path(__file__).with_name("chain_variants_notes.md").read_text().strip()
    what = (__doc__ or "").split("\n\n", 2)[2].split("`run` writes")[0].strip()
    parts = ["# Chain variants", what, notes]
    for position, measure in enumerate(TUNED_FOR):
        of_measure = results[results.measure == measure]
        scores = of_measure.pivot(index="data", columns="method", values="score")
        scores = scores.reindex(columns=[m for m in METHODS if m in scores])
        scores = scores.reindex([d for d in DATASETS if d in scores.index]).dropna()
        parts += [f"## {measure}", f"{len(scores)} data sets.", _ranks(scores, position)]
        parts += [scores.round(3).to_markdown(), _differences(scores)]
    seconds = results[results.measure == TUNED_FOR[0]].pivot(
        index="data", columns="method", values="seconds"
    )
    parts += ["## CPU seconds of the final training", seconds.round(1).to_markdown()]
    return "\n\n".join(parts) + "\n"


def _ranks(scores: pd.DataFrame, position: int) -> str:
    paper = [m for m in PUBLISHED if m in scores]
    table = pd.DataFrame(
        {
            "mean": scores.mean(),
            "average rank, all": scores.rank(axis=1, ascending=False).mean(),
            "average rank, the paper's methods": scores[paper].rank(axis=1, ascending=False).mean(),
            "Table 3 (of six, with RDT-DCC)": pd.Series({m: PUBLISHED[m][position] for m in paper}),
        }
    ).reindex(scores.columns)
    for name in (m for m in NEW if m in scores):
        rivals = [name, *(m for m in ("BR", "CC", "ML-XGB") if m in scores)]
        ranks = scores[rivals].rank(axis=1, ascending=False).mean()
        table.loc[name, "rank among it, BR, CC, ML-XGB"] = " ".join(f"{r:.2f}" for r in ranks)
    return table.round(3).astype(object).fillna("").to_markdown()


def _differences(scores: pd.DataFrame) -> str:
    rows = []
    for name, other in itertools.product((m for m in NEW if m in scores), scores.columns):
        if other in NEW:
            continue
        difference = scores[name] - scores[other]
        p = stats.wilcoxon(difference).pvalue if difference.any() else 1.0
        wins = f"{(difference > 0).sum()} / {(difference < 0).sum()}"
        rows.append((name, other, difference.mean(), wins, p))
    columns = ["method", "less", "mean difference", "better / worse", "p (Wilcoxon)"]
    return pd.DataFrame(rows, columns=columns).round(4).to_markdown(index=False)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    run_command = commands.add_parser("run")
    run_command.add_argument("--output", type=Path, required=True)
    run_command.add_argument("--data", type=lambda s: s.split(","), default=list(DATASETS))
    run_command.add_argument("--families", type=lambda s: s.split(","), default=list(FAMILIES))
    run_command.add_argument("--n_jobs", type=int, default=2)
    report_command = commands.add_parser("report")
    report_command.add_argument("folder", type=Path)
    report_command.add_argument("--to", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    if options.command == "run":
        run(options.data, options.families, options.output, options.n_jobs)
    else:
        text = report(options.folder)
        (options.to / "CHAIN_VARIANTS.md").write_text(text)
        print(text)


if __name__ == "__main__":
    main()
