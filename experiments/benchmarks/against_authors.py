"""XDCC here against the paper's own code (keelm/XDCC), on its settings.

    python -m experiments.benchmarks.against_authors                    # all: twenty minutes
    python -m experiments.benchmarks.against_authors emotions flags

`authors.csv` holds what the authors' code reached, measured once with these settings: eta 0.1, 50
trees, depth 10, Mulan's train/test split (cal500: the first 334 rows train), chains of min(N, 10)
rounds, enron's cut to 3 and 5. Beside it stand

- `AUTHORS`, our chain set to do what their code does, which differs from the paper's text;
- `EXACT`, the same with a bin for every value, since their code tries every split: this says
  whether the implementation is right;
- `TEXT`, which follows the paper's text where that differs;
- BR and CC on default XGBoost, as in the paper.
"""

import sys
import time
from collections.abc import Iterable
from typing import Any

import pandas as pd

from experiments import PAPERS
from xdcc.baselines import BinaryRelevance, ClassifierChain
from xdcc.chain import DynamicChainClassifier
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.metrics import example_f1, hamming_accuracy, subset_accuracy

BOOSTER: dict[str, Any] = {"n_estimators": 50, "max_depth": 10, "learning_rate": 0.1}

TEXT: dict[str, Any] = {"propagate": "in_sample"}
"""Parameters under which our chain does what the paper's text says."""

AUTHORS: dict[str, Any] = TEXT | {
    "candidates": "all",
    "cumulation": "authors",
    "base_score": 0.6224593,  # their start is the margin 0.5
    "min_child_weight": 1.0,
    "min_child_weight_scope": "all",
}
"""Parameters under which our chain does what the authors' code does."""

EXACT = AUTHORS | {"max_bin": 2048}
"""The same with a bin for every distinct value."""

CAL500_TRAIN_ROWS = 334


def authors_results() -> pd.DataFrame:
    """Return what the authors' code reached, a row per data set and split method."""
    return pd.read_csv(PAPERS / "xdcc-2020" / "authors.csv", comment="#")


def load_parts(name: str) -> tuple[MultiLabelDataset, MultiLabelDataset]:
    """Return the rows that the authors' code was trained on, and those it was tested on."""
    if name == "cal500":
        data = load_dataset(name)
        return data[:CAL500_TRAIN_ROWS], data[CAL500_TRAIN_ROWS:]
    return load_dataset(name, "train"), load_dataset(name, "test")


def run_chain(name: str, rounds: int, split_method: str, **params: Any) -> dict[str, float]:
    """Train a dynamic chain; return its measures, named as in `authors.csv`.

    Parameters
    ----------
    name : str
        Of the data set.
    rounds : int
        Length of the chain.
    split_method : str
        Name of the split method.
    **params
        Further parameters of the chain, for example those of `AUTHORS`.

    Returns
    -------
    dict
    """
    train, test = load_parts(name)
    chain = DynamicChainClassifier(
        chain_length=rounds, split_method=split_method, random_state=0, n_jobs=1, **BOOSTER | params
    )
    start = time.process_time()
    chain.fit(train.X, train.Y)
    seconds = time.process_time() - start
    cumulated = list(chain.staged_predict(test.X))
    chain.set_params(prediction="standard")
    readings = {
        "cumulated": cumulated[-1],
        "standard": chain.predict(test.X),
        "first": cumulated[0],
    }
    return {
        f"{reading}_{measure}": value
        for reading, Y_pred in readings.items()
        for measure, value in _measure(test, Y_pred).items()
    } | {"seconds": seconds}


def run_baselines(name: str) -> dict[str, dict[str, float]]:
    """Train BR and CC on default XGBoost with the same trees; return their measures."""
    train, test = load_parts(name)
    results = {}
    for label, model in {
        "BR": BinaryRelevance(random_state=0, n_jobs=1, **BOOSTER),
        "CC": ClassifierChain(random_state=0, n_jobs=1, **BOOSTER),
    }.items():
        start = time.process_time()
        model.fit(train.X, train.Y)
        seconds = time.process_time() - start
        results[label] = _measure(test, model.predict(test.X)) | {"seconds": seconds}
    return results


def _measure(test: MultiLabelDataset, Y_pred: Any) -> dict[str, float]:
    return {
        "ha": hamming_accuracy(test.Y, Y_pred),
        "sa": subset_accuracy(test.Y, Y_pred),
        "f1": example_f1(test.Y, Y_pred),
    }


def main(names: Iterable[str]) -> None:
    """Print a Markdown table: subset accuracy / example-based F1, and CPU seconds of training."""
    table = authors_results()
    names = list(names) or list(table.dataset.unique())
    settings: dict[str, dict[str, Any]] = {
        "AUTHORS": AUTHORS,
        "EXACT": EXACT,
        "TEXT": TEXT,
    }
    print(f"| data | rounds | split method | their code | {' | '.join(settings)} |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    differences = []
    for theirs in table[table.dataset.isin(names)].to_dict("records"):
        run = theirs["dataset"], theirs["rounds"], theirs["split_method"]
        ours = {setting: run_chain(*run, **params) for setting, params in settings.items()}
        differences.append(
            {
                f"{setting} {measure}": result[f"cumulated_{measure}"]
                - theirs[f"cumulated_{measure}"]
                for setting, result in ours.items()
                for measure in ("sa", "f1")
            }
        )
        cells = " | ".join(
            f"{r['cumulated_sa']:.3f} / {r['cumulated_f1']:.3f} ({r['seconds']:.1f} s)"
            for r in (theirs, *ours.values())
        )
        print(f"| {' | '.join(map(str, run))} | {cells} |", flush=True)
    summary = pd.DataFrame(differences).agg(["mean", "min", "max"])
    print(f"\nOurs minus theirs:\n{summary.round(4).to_string()}\n")
    print("| data | BR | CC |\n| --- | --- | --- |")
    for name in names:
        cells = " | ".join(
            f"{r['sa']:.3f} / {r['f1']:.3f} ({r['seconds']:.1f} s)"
            for r in run_baselines(name).values()
        )
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
