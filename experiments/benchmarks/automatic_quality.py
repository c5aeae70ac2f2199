"""What `MultiLabelClassifier` predicts, told the measure, beside a booster read at 0.5.

    python -m experiments.benchmarks.automatic_quality [--data emotions,scene] [--seed 0]

A line of CSV for each data set and measure, trained on the training part with one thread and
measured on the test part (of cal500, published in one file, on the last third):

* `score`, `expected`: of `MultiLabelClassifier(measure)` on the test part, and what it said before;
* `error`: standard error of `score`, from as many rows as there are;
* `booster`: of `MultiLabelXGBClassifier(learning_rate=0.1)`, its number of iterations found on
  five folds, trained again on all rows, and read at 0.5;
* `chosen`, `rule`: which model, which rule;
* `seconds`, `booster_seconds`: processor time of `fit`.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from xdcc import MultiLabelClassifier, metrics
from xdcc.base.folds import stratified_folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.registry import DATASETS as KNOWN

DATASETS = "flags,emotions,birds,medical,genbase,yeast,scene,cal500,enron,tmc2007-500,bibtex"
MEASURES = ("subset_accuracy", "example_f1")
COLUMNS = (
    "data",
    "measure",
    "score",
    "error",
    "expected",
    "booster",
    "chosen",
    "rule",
    "seconds",
    "booster_seconds",
)


def parts(name: str) -> tuple[MultiLabelDataset, MultiLabelDataset]:
    """Load the training and the test part."""
    if KNOWN[name].n_test:
        return load_dataset(name, "train"), load_dataset(name, "test")
    data = load_dataset(name)
    n = len(data) * 2 // 3
    return data[np.arange(n)], data[np.arange(n, len(data))]


def plain_booster(X: Any, Y: Any, seed: int) -> MultiLabelXGBClassifier:
    """Train a booster with as many iterations as are best on folds."""
    booster = MultiLabelXGBClassifier(
        n_estimators=200, learning_rate=0.1, max_bin=64, random_state=seed, n_jobs=1
    )
    found = booster.out_of_fold(X, Y, stratified_folds(np.asarray(Y, np.float32), 5, seed))
    return found.unfitted.fit(X, Y)


def lines(name: str, seed: int) -> Iterator[tuple[Any, ...]]:
    """Measure on a data set."""
    train, test = parts(name)
    begin = time.process_time()
    labels_at_half = plain_booster(train.X, train.Y, seed).predict(test.X)
    booster_seconds = time.process_time() - begin
    for measure in MEASURES:
        begin = time.process_time()
        model = MultiLabelClassifier(measure, random_state=seed, n_jobs=1)
        model.fit(train.X, train.Y)
        seconds = time.process_time() - begin
        score = getattr(metrics, measure)
        labels = model.predict(test.X)
        of_rows = [score(test.Y[[row]], labels[[row]]) for row in range(len(test))]
        yield (
            name,
            measure,
            f"{score(test.Y, labels):.3f}",
            f"{np.std(of_rows) / np.sqrt(len(test)):.3f}",
            f"{model.best_score_:.3f}",
            f"{score(test.Y, labels_at_half):.3f}",
            model.summary_["candidate"][model.summary_["chosen"].index(True)],
            model.rule_.name,
            f"{seconds:.1f}",
            f"{booster_seconds:.1f}",
        )


def write_table(
    about: str, columns: Sequence[str], lines_of: Callable[[str, int], Iterable[Sequence[Any]]]
) -> None:
    """Print lines of CSV for the data sets that the command line names.

    Parameters
    ----------
    about : str
        The program's docstring.
    columns : sequence of str
    lines_of : callable
        From a data set's name and a seed to its lines.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--data", default=DATASETS, help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(columns)
    for name in arguments.data.split(","):
        for line in lines_of(name, arguments.seed):
            table.writerow(line)
            sys.stdout.flush()


if __name__ == "__main__":
    write_table(__doc__, COLUMNS, lines)
