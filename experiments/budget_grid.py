"""Compares searches in time budgets with each single member, on tables of many shapes.

`python -m experiments.budget_grid` prints a row for each table and budget: the precision of the
search, that of the best member by itself that the budget lasts for, the standard error of the
difference, and the share of the budget that was used. Members are trained on all rows, as a user
would without a search. All times are CPU seconds of one thread, so that other processes do not
count: the clock that budgets read is replaced.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import make_multilabel
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels

_TEST_SHARE = 0.25
"""Rows of the test part, as a share of those for training."""

_MEMBERS: dict[str, Callable[[], Any]] = {
    "booster": lambda: MultiLabelXGBClassifier(
        n_estimators=200, sketch_size=1, random_state=0, n_jobs=1
    ),
    "extra trees": lambda: SketchedExtraTreesClassifier(200, random_state=0, n_jobs=1),
    "linear": lambda: LogisticLabels(n_jobs=1),
}


class Cell(NamedTuple):
    """A table and the budgets for it; X has `n_words` entries in a row, or is dense."""

    n_rows: int
    n_features: int
    n_labels: int
    n_words: int | None
    budgets: tuple[float, ...]

    def __str__(self) -> str:
        """Write the shape."""
        kind = "dense" if self.n_words is None else f"{self.n_words} words"
        return f"{self.n_rows} x {self.n_features}, {kind}, {self.n_labels} labels"


_CELLS = (
    Cell(500, 20, 5, None, (5,)),
    Cell(20_000, 20, 5, None, (10,)),
    Cell(5_000, 200, 100, None, (10, 30)),
    Cell(2_000, 2_000, 500, 40, (5, 15)),
    Cell(20_000, 2_000, 20, 40, (15,)),
    Cell(3_000, 5_000, 5_000, 60, (15,)),
    Cell(6_000, 20_000, 2_500, 65, (20, 45)),
)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a row of the table after each search."""
    parser = argparse.ArgumentParser(prog="python -m experiments.budget_grid", description=__doc__)
    parser.add_argument("cells", nargs="*", type=int, default=range(len(_CELLS)), metavar="number",
        help="numbers of the tables, from 0 (default: all)")  # fmt: skip
    options = parser.parse_args(arguments)
    print("| table | budget | used (%) | search | best member in time | difference | error |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: |")
    with patch("time.perf_counter", time.process_time):
        for number in options.cells:
            measure(_CELLS[number])


def measure(cell: Cell) -> None:
    """Train the members and the searches, and print a row for each budget."""
    X, Y, X_test, Y_test = table(cell)
    k = 5 if cell.n_labels > 20 else 1

    def trained(model: Any) -> tuple[float, NDArray[np.float64]]:
        begun = time.perf_counter()
        model.fit(X, Y)
        seconds = time.perf_counter() - begun
        return seconds, precisions(Y_test, model.predict_proba(X_test), k)

    members = {name: trained(make()) for name, make in _MEMBERS.items()}
    for budget in cell.budgets:
        search = MultiLabelClassifier(
            f"precision_at_{k}", time_budget=budget, random_state=0, n_jobs=1
        )
        seconds, found = trained(search)
        in_time = [(p.mean(), name) for name, (needed, p) in members.items() if needed <= budget]
        best, of_best = "none", np.zeros(len(found))
        if in_time:
            mean, name = max(in_time)
            best, of_best = f"{name}, {mean:.3f}, {members[name][0]:.1f} s", members[name][1]
        gain = found - of_best
        error = gain.std() / len(gain) ** 0.5
        print(
            f"| {cell} | {budget} | {100 * seconds / budget:.0f} | {found.mean():.3f} | {best} | "
            f"{gain.mean():+.3f} | {error:.3f} |",
            flush=True,
        )


def precisions(Y: NDArray[np.float32], Y_proba: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return which share of the k most probable labels each row has, `(n_samples,)`."""
    top = np.argpartition(-Y_proba, k - 1, axis=1)[:, :k]
    return np.asarray(np.take_along_axis(Y, top, 1).mean(axis=1), dtype=np.float64)


def table(cell: Cell) -> tuple[Any, NDArray[np.float32], Any, NDArray[np.float32]]:
    """Make the training and the test part."""
    n_rows, n_train = round((1 + _TEST_SHARE) * cell.n_rows), cell.n_rows
    X: Any
    if cell.n_words is None:
        data = make_multilabel(n_rows, cell.n_features, cell.n_labels, random_state=0)
        X, Y = data.X, np.asarray(data.Y, np.float32)
    else:
        X, Y = topics(n_rows, cell.n_features, cell.n_labels, cell.n_words)
    return X[:n_train], Y[:n_train], X[n_train:], Y[n_train:]


def topics(
    n_rows: int, n_words: int, n_labels: int, length: int
) -> tuple[sparse.csr_matrix, NDArray[np.float32]]:
    """Make texts on one or two topics, as tf-idf, with about four labels of these topics.

    Labels have Zipf frequencies, and words of their own beside those of their topics and frequent
    ones.
    """
    random = np.random.default_rng(0)
    n_topics = max(2, n_labels // 25)
    topic_of = random.integers(n_topics, size=n_labels)
    frequency = 1 / (np.arange(n_labels) + 3.0) ** 0.9
    frequency /= frequency.sum()
    of_topic = np.bincount(topic_of, frequency, n_topics)
    of_labels, of_topics = (
        random.integers(n_words, size=s) for s in ((n_labels, 12), (n_topics, 150))
    )
    zipf = random.permutation(1 / (np.arange(n_words) + 5.0))
    zipf /= zipf.sum()
    Y = np.zeros((n_rows, n_labels), np.float32)
    rows = []
    for row in range(n_rows):
        own = random.choice(n_topics, size=random.integers(1, 3), p=of_topic)
        near = np.flatnonzero(np.isin(topic_of, own))
        likely = frequency[near] / frequency[near].sum()
        n_own = random.binomial(1 + random.poisson(4), 0.7)
        labels = np.r_[
            random.choice(near, n_own, p=likely), random.choice(n_labels, 1, p=frequency)
        ]
        Y[row, labels] = 1
        n_of_labels, n_of_topics, n_others = random.multinomial(length, [0.085, 0.085, 0.83])
        words = np.r_[
            of_labels[random.choice(labels, n_of_labels), random.integers(12, size=n_of_labels)],
            of_topics[random.choice(own, n_of_topics), random.integers(150, size=n_of_topics)],
            random.choice(n_words, n_others, p=zipf),
        ]
        rows.append(words)
    counts = sparse.csr_matrix(
        (
            np.ones(n_rows * length, np.float32),
            (np.repeat(np.arange(n_rows), length), np.concatenate(rows)),
        ),
        shape=(n_rows, n_words),
    )
    counts.sum_duplicates()
    rarity = np.log(n_rows / (1.0 + np.bincount(counts.indices, minlength=n_words)))
    return sparse.csr_matrix(counts.multiply(rarity), dtype=np.float32), Y


if __name__ == "__main__":
    main()
