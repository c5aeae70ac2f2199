"""How the defaults of `LaCovaCForestClassifier` were chosen: cross-validation on training parts.

    python -m experiments.benchmarks.lacovac_forest_defaults [--data flags,yeast] [--trees 25]

Prints the mean subset accuracy over three shuffled folds of the training part of each data set,
and its mean over the data sets. Test parts are not read.
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from xdcc.data import load_dataset
from xdcc.lacovac import LaCovaCForestClassifier

DATASETS = ("flags", "emotions", "birds", "scene", "genbase", "medical", "yeast", "enron")

VARIANTS: dict[str, dict[str, Any]] = {
    "sqrt": {"max_features": "sqrt"},
    "10 %": {"max_features": 0.1},
    "20 %": {"max_features": 0.2},
    "40 %": {"max_features": 0.4},
    "20 %, min_samples_split=2": {"max_features": 0.2, "min_samples_split": 2},
    "20 %, clustering=None": {"max_features": 0.2, "clustering": None},
    "20 %, voting='label'": {"max_features": 0.2, "voting": "label"},
}


def validated(name: str, params: dict[str, Any], n_trees: int) -> float:
    """Mean subset accuracy of a forest in cross-validation."""
    data = load_dataset(name, "train")
    nominal = [kind == "nominal" for kind in data.feature_types]
    forest = LaCovaCForestClassifier(
        **params, n_estimators=n_trees, categorical_features=nominal, random_state=0
    )
    accuracies = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(data.Y):
        predicted = forest.fit(data.X[train], data.Y[train]).predict(data.X[test])
        accuracies.append((predicted == data.Y[test]).all(axis=1).mean())
    return float(np.mean(accuracies))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(DATASETS), help="names, separated by commas")
    parser.add_argument("--trees", type=int, default=25)
    args = parser.parse_args()
    names = args.data.split(",")
    table = pd.DataFrame(
        {
            name: {v: validated(name, params, args.trees) for v, params in VARIANTS.items()}
            for name in names
        }
    )
    table["mean"] = table.mean(axis=1)
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
