"""BOOMER's four variants by BBC-CV on whole data sets, beside the paper's Table 1.

    python -m experiments.papers.boomer-2020.boomer_bbc_cv FILE.jsonl
        [--data birds,emotions] [--variants "ex.w.-log multi,ex.w.-log single"]
        [--folds 10] [--validated 10] [--rates .1,.3,.5] [--l2 0,.25,1,4,16,64] [--rules 10000]

The shrinkage, the weight of the L2 penalty and the number of rules are chosen by cross-validation,
for the label-wise variants by Hamming loss, for the example-wise ones by subset 0/1 loss, and the
BBC-CV estimate is the result. That seems to be what the paper did: its subset 0/1 losses are
multiples of one over numbers of rows that are what a bootstrap sample leaves out (`NOTES.md`). One
training serves all smaller numbers of rules. The defaults are the paper's grid, which takes long:
`--validated` holds out only so many of the folds, the others make the experiment smaller as their
names say.

Every training makes one line of the file, and what is there already is not trained again: a run
that was stopped goes on where it was. The table is printed at the end.
"""

import argparse
import base64
import json
import zlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from experiments.method_parts.boomer_variants import VARIANTS, fit, staged_labels
from experiments.report.published import read_published
from experiments.report.tables import markdown_table
from xdcc.base.folds import stratified_folds
from xdcc.data import load_dataset
from xdcc.decision.bbc_cv import bbc_cv

DATASETS = ("birds", "emotions", "scene", "medical", "yeast", "enron", "slashdot", "langlog")
CHECKPOINTS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10000)
"""Numbers of rules among which is chosen, up to the largest that is trained."""

PUBLISHED_NAMES = {"langlog": "llog"}
SEED = 0

type Record = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How large the experiment is; the command line says what the fields are."""

    folds: int
    validated: int
    rates: tuple[float, ...]
    l2: tuple[float, ...]
    rules: int

    @property
    def checkpoints(self) -> list[int]:
        """Numbers of rules among which is chosen."""
        return [k for k in CHECKPOINTS if k < self.rules] + [self.rules]


class Results:
    """The records of a file: one line of JSON for each training."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.records: list[Record] = []
        text = file.read_text() if file.exists() else ""
        for number, line in enumerate(text.splitlines(), 1):
            try:
                self.records.append(json.loads(line))
            except json.JSONDecodeError:
                print(f"{file}, line {number}: cut off, this training is done again")
        if text and not text.endswith("\n"):
            self._write("\n")

    def find(self, key: Record) -> Record | None:
        """Return the record that has these entries, if there is one."""
        return next((r for r in self.records if key.items() <= r.items()), None)

    def add(self, record: Record) -> None:
        """Write a record."""
        line = json.dumps(record)
        self._write(line + "\n")
        self.records.append(json.loads(line))

    def _write(self, text: str) -> None:
        with self._file.open("a") as output:
            output.write(text)


def pack(wrong: NDArray[np.uint8]) -> str:
    """Numbers of wrong labels, (n_checkpoints, n_rows), as a short text."""
    return base64.b64encode(zlib.compress(wrong.tobytes())).decode()


def unpack(record: Record) -> NDArray[np.uint8]:
    """Return the numbers of wrong labels of a record, (n_checkpoints, n_rows)."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(record["wrong"])), np.uint8)
    return values.reshape(len(record["checkpoints"]), -1)


class Experiment:
    """A variant on a data set."""

    def __init__(self, name: str, variant: str, size: Size, results: Results) -> None:
        self._name, self._variant, self._size, self._results = name, variant, size, results
        self._data = load_dataset(name)
        self._objective = "hamming_loss" if variant.startswith("l.w.") else "subset_zero_one_loss"

    def estimate(self, progress: tqdm) -> Record:
        """Return the chosen parameters, and estimates of their losses."""
        pairs = list(product(self._size.rates, self._size.l2))
        grid = [(*pair, rules) for pair in pairs for rules in self._size.checkpoints]
        folds = stratified_folds(
            self._data.Y.astype(np.float64), self._size.folds, random_state=SEED
        )
        columns: list[NDArray[np.uint8]] = []
        for rate, l2 in pairs:
            parts = []
            for part in range(self._size.validated):
                progress.set_description(f"{self._name}, {self._variant}, {part}")
                parameters = {"part": part, "rate": rate, "l2": l2}
                parts.append(self._held_out(parameters, folds == part))
                progress.update()
            columns.extend(np.hstack(parts))
        wrong = np.column_stack(columns)
        losses = {
            "subset_zero_one_loss": (wrong > 0).astype(np.float64),
            "hamming_loss": wrong / self._data.n_labels,
        }
        bbc = {
            measure: bbc_cv(losses[self._objective], judged_by=judged, random_state=SEED)
            for measure, judged in losses.items()
        }
        rate, l2, rules = grid[bbc[self._objective].best]
        return {"rate": rate, "l2": l2, "rules": rules} | bbc

    def _held_out(self, parameters: Record, held_out: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the wrong labels (n_checkpoints, n_held_out) of a fold."""
        checkpoints = self._size.checkpoints
        key = {
            "data": self._name,
            "variant": self._variant,
            "folds": self._size.folds,
            "checkpoints": checkpoints,
        } | parameters
        record = self._results.find(key)
        if record is None:
            train, test = self._data[np.flatnonzero(~held_out)], self._data[held_out.nonzero()[0]]
            model = fit(
                self._variant,
                train,
                n_rules=checkpoints[-1],
                learning_rate=parameters["rate"],
                l2=parameters["l2"],
                random_state=SEED,
                n_jobs=1,
            )
            stages = staged_labels(model, test.X, checkpoints)
            wrong = np.array([(stage != test.Y).sum(axis=1) for stage in stages], dtype=np.uint8)
            record = key | {"wrong": pack(wrong)}
            self._results.add(record)
        return unpack(record)


def row(name: str, variant: str, estimates: Record) -> list[str]:
    """Return a line of the table: estimate, 95 % of the bootstrap samples (paper)."""
    published = read_published("boomer-2020")
    theirs = PUBLISHED_NAMES.get(name, name)
    of_cell = published[(published.dataset == theirs) & (published.method == variant)]
    values = of_cell.set_index("measure")["value"]
    cells = []
    for measure in ("subset_zero_one_loss", "hamming_loss"):
        bbc = estimates[measure]
        low, high = (100 * bound for bound in bbc.interval)
        paper = f" ({values[measure]:.2f})" if measure in values else ""
        cells.append(f"{100 * bbc.estimate:.2f}, {low:.2f} to {high:.2f}{paper}")
    chosen = ", ".join(str(estimates[parameter]) for parameter in ("rate", "l2", "rules"))
    return [name, variant, *cells, chosen]


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers that are divided by commas."""
    return tuple(float(part) for part in text.split(","))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", default=",".join(DATASETS))
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--validated", type=int, default=10)
    parser.add_argument("--rates", type=numbers, default=(0.1, 0.3, 0.5))
    parser.add_argument("--l2", type=numbers, default=(0.0, 0.25, 1.0, 4.0, 16.0, 64.0))
    parser.add_argument("--rules", type=int, default=10000)
    options = parser.parse_args()
    validated = min(options.validated, options.folds)
    size = Size(options.folds, validated, options.rates, options.l2, options.rules)
    results = Results(options.file)
    cells = list(product(options.data.split(","), options.variants.split(",")))
    with tqdm(total=len(cells) * validated * len(size.rates) * len(size.l2)) as progress:
        rows = [row(*cell, Experiment(*cell, size, results).estimate(progress)) for cell in cells]
    head = ["data", "variant", "subset 0/1 loss", "Hamming loss", "shrinkage, L2, rules"]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
