"""BOOMER against Table 1 of its paper: four variants, tuned by cross-validation (BBC-CV).

    python -m experiments.benchmarks.boomer_against_paper run --output FILE.jsonl
        [--data birds,emotions] [--variants "ex.w.-log multi,ex.w.-log single"] [--splits 5]
        [--folds 10] [--validated 10] [--rates .1,.3,.5] [--l2 0,.25,1,4,16,64] [--rules 10000]
    python -m experiments.benchmarks.boomer_against_paper report FILE.jsonl ...
        --published FILE.csv [--synthetic FILE.json] [--speed FILE.jsonl]

`run` repeats the paper's experiment on random splits of each data set, two thirds of it for
training (the paper's own splits are not published). On the training part the shrinkage, the weight
of the L2 penalty and the number of rules are chosen by cross-validation, the label-wise variants
by Hamming loss, the example-wise ones by subset 0/1 loss; the chosen model is trained again on the
whole training part and measured on the rest. One training serves all smaller numbers of rules.
The defaults are the paper's grid, which takes long: `--validated` holds out only so many of the
folds, the others make the experiment smaller as their names say.

With `--splits 0` the whole data set is cross-validated and the BBC-CV estimate is the result. That
seems to be what the paper did: its subset 0/1 losses are multiples of one over numbers of rows
that are what a bootstrap sample leaves out (see the report).

Every training makes one line of the output file, and what is there already is not trained again:
a run that was stopped goes on where it was. Runs with different options can share a file.

`report` writes `BOOMER.md`: ours beside the paper, and what `boomer_synthetic.py` and
`boomer_speed.py` measured.
"""

import argparse
import base64
import json
import time
import zlib
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit
from tqdm import tqdm

from experiments.benchmarks.boomer_report import write_report
from experiments.benchmarks.boomer_variants import VARIANTS, fit, staged_labels
from xdcc.base.folds import stratified_folds
from xdcc.data import load_dataset
from xdcc.decision.bbc_cv import bbc_cv
from xdcc.metrics import example_f1, hamming_loss, subset_loss

DATASETS = ("birds", "emotions", "scene", "medical", "yeast", "enron", "slashdot", "langlog")
CHECKPOINTS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10000)
"""Numbers of rules among which is chosen, up to the largest that is trained."""

type Record = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How large the experiment is; the command line says what the fields are."""

    splits: int
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
    """A variant on a data set: choice of parameters and test, split by split."""

    def __init__(self, name: str, variant: str, size: Size, results: Results) -> None:
        self._name, self._variant, self._size, self._results = name, variant, size, results
        self._data = load_dataset(name)
        self._objective = "hamming_loss" if variant.startswith("l.w.") else "subset_zero_one_loss"

    def run(self, progress: tqdm) -> None:
        """Do what is not in the results yet."""
        if not self._size.splits:
            key = self._key("whole", "whole")
            if self._results.find(key) is None:
                rows = np.arange(len(self._data))
                self._results.add(key | self._choose("whole", 0, rows, progress))
            progress.update()
            return
        splitter = ShuffleSplit(self._size.splits, test_size=1 / 3, random_state=0)
        for split, (train, test) in enumerate(splitter.split(np.arange(len(self._data)))):
            key = self._key(split, "test")
            if self._results.find(key) is None:
                chosen = self._choose(split, split, train, progress)
                _, measured = self._train(train, test, split, [chosen["rules"]], chosen)
                self._results.add(key | chosen | measured)
            progress.update()

    def _key(self, split: int | str, part: str) -> Record:
        """Return what tells the result of a split from others."""
        size = json.loads(json.dumps(asdict(self._size)))
        return {
            "data": self._name,
            "variant": self._variant,
            "split": split,
            "part": part,
            "size": size,
        }

    def _choose(
        self, split: int | str, seed: int, train: NDArray[np.intp], progress: tqdm
    ) -> Record:
        """Return the parameters chosen on the training rows, and estimates of their losses."""
        pairs = list(product(self._size.rates, self._size.l2))
        grid = [(*pair, rules) for pair in pairs for rules in self._size.checkpoints]
        folds = stratified_folds(
            self._data.Y[train].astype(np.float64), self._size.folds, random_state=seed
        )
        columns: list[NDArray[np.uint8]] = []
        for rate, l2 in pairs:
            parts = []
            for part in range(self._size.validated):
                progress.set_description(f"{self._name}, {self._variant}, {split}, {part}")
                parameters = {"split": split, "part": part, "rate": rate, "l2": l2}
                parts.append(self._held_out(parameters, train, folds == part, seed))
            columns.extend(np.hstack(parts))
        wrong = np.column_stack(columns)
        losses = {
            "subset_zero_one_loss": (wrong > 0).astype(np.float64),
            "hamming_loss": wrong / self._data.n_labels,
        }
        bbc = {
            measure: bbc_cv(losses[self._objective], judged_by=judged, random_state=seed)
            for measure, judged in losses.items()
        }
        rate, l2, rules = grid[bbc[self._objective].best]
        estimates = {measure: choice._asdict() for measure, choice in bbc.items()}
        return {"rate": rate, "l2": l2, "rules": rules, "bbc": estimates}

    def _held_out(
        self, parameters: Record, rows: NDArray[np.intp], held_out: NDArray[np.bool_], seed: int
    ) -> NDArray[np.uint8]:
        """Return the wrong labels (n_checkpoints, n_held_out) of a fold."""
        key = {
            "data": self._name,
            "variant": self._variant,
            "folds": self._size.folds,
            "checkpoints": self._size.checkpoints,
        } | parameters
        record = self._results.find(key)
        if record is None:
            wrong, measured = self._train(
                rows[~held_out], rows[held_out], seed, self._size.checkpoints, parameters
            )
            record = key | {"wrong": pack(wrong), "seconds": measured["seconds"]}
            self._results.add(record)
        return unpack(record)

    def _train(
        self,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
        seed: int,
        checkpoints: list[int],
        parameters: Record,
    ) -> tuple[NDArray[np.uint8], Record]:
        """Train; return wrong labels (n_checkpoints, n_test) and measures with all rules."""
        begin = time.perf_counter()
        model = fit(
            self._variant,
            self._data[train],
            n_rules=checkpoints[-1],
            learning_rate=parameters["rate"],
            l2=parameters["l2"],
            random_state=seed,
            n_jobs=1,
        )
        seconds = time.perf_counter() - begin
        truth = self._data.Y[test]
        stages = list(staged_labels(model, self._data.X[test], checkpoints))
        wrong = np.array([(stage != truth).sum(axis=1) for stage in stages], dtype=np.uint8)
        return wrong, {
            "seconds": seconds,
            "subset_zero_one_loss": subset_loss(truth, stages[-1]),
            "hamming_loss": hamming_loss(truth, stages[-1]),
            "example_f1": example_f1(truth, stages[-1]),
        }


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers that are divided by commas."""
    return tuple(float(part) for part in text.split(","))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    part = commands.add_parser("run")
    part.add_argument("--output", type=Path, required=True)
    part.add_argument("--data", default=",".join(DATASETS))
    part.add_argument("--variants", default=",".join(VARIANTS))
    part.add_argument("--splits", type=int, default=5, help="0: cross-validate all rows")
    part.add_argument("--folds", type=int, default=10)
    part.add_argument("--validated", type=int, default=10)
    part.add_argument("--rates", type=numbers, default=(0.1, 0.3, 0.5))
    part.add_argument("--l2", type=numbers, default=(0.0, 0.25, 1.0, 4.0, 16.0, 64.0))
    part.add_argument("--rules", type=int, default=10000)
    part = commands.add_parser("report")
    part.add_argument("files", type=Path, nargs="+")
    part.add_argument("--published", type=Path, required=True)
    part.add_argument("--synthetic", type=Path)
    part.add_argument("--speed", type=Path)
    part.add_argument("--to", type=Path, default=Path(__file__).with_name("BOOMER.md"))
    options = parser.parse_args()
    if options.command == "report":
        records = [record for file in options.files for record in Results(file).records]
        write_report(records, options.published, options.synthetic, options.speed, options.to)
        return
    size = Size(
        options.splits,
        options.folds,
        min(options.validated, options.folds),
        options.rates,
        options.l2,
        options.rules,
    )
    results = Results(options.output)
    cells = list(product(options.data.split(","), options.variants.split(",")))
    with tqdm(total=len(cells) * max(1, size.splits)) as progress:
        for name, variant in cells:
            Experiment(name, variant, size, results).run(progress)


if __name__ == "__main__":
    main()
