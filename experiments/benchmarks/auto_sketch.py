"""Log-loss on test parts: ``sketch_size="auto"``, exact trees, one booster per label.

    python -m experiments.benchmarks.auto_sketch birds image --output auto_sketch.jsonl

Everyone has the same settings: learning rate 0.1, depth 6, 64 bins, one thread. A quarter of the
training part tells the number of rounds (the log-loss of all its entries has not fallen for 40
rounds); the rest is trained on, and the test part is read once, by the model that comes out. Data
sets without a split are cut after two thirds. `auto` makes its choice on what is trained on. Sets
on which the rule was made are `DEVELOPMENT`; the others have had no part in it.

With ``--race`` nothing of that is done. It prints by how many percent the race's log-loss of hidden
labels gets better when the first size of groups is halved: for a few draws of what is hidden, of
training parts alone, and of made data such as ``independent-6000x40x30``. With ``--sizes`` it
prints the least log-loss of a third of these rows, held out, over the rounds of trees for so many
labels.

A line of the output is a data set, a candidate and a seed, with the log-loss of validation and test
part, the rounds, and CPU seconds: of the choice, and of the updates up to the best round. A line
that is there is not measured again. The tables at the end are made from all lines.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy: libraries of linear algebra, too

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from experiments.speed.data import load_training_rows
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.boosting.log_loss import LogLoss
from xdcc.boosting.sketch_choice import choose_sketch, group_sizes, race
from xdcc.data import load_dataset

DEVELOPMENT = ("emotions", "scene", "yeast", "enron", "medical")

RATE, DEPTH, BINS, PATIENCE, MOST_ROUNDS = 0.1, 6, 64, 40, 2000

type Floats = NDArray[np.float32]


class Parts(NamedTuple):
    """Features and labels of what is trained on, validated on and tested on."""

    X: list[Floats]
    Y: list[Floats]


class Round(NamedTuple):
    """Where a training stands: CPU seconds of updates, margins of validation and test part."""

    seconds: float
    margins: tuple[Floats, Floats]


def read(name: str) -> Parts:
    """Read a data set; a quarter of its training part is for validation."""
    try:
        train, test = load_dataset(name, "train"), load_dataset(name, "test")
    except ValueError:  # published in one file
        data = load_dataset(name)
        cut = 2 * len(data) // 3
        train, test = data[np.arange(cut)], data[np.arange(cut, len(data))]
    validation = stratified_folds(train.Y.astype(float), 4, 0) == 0
    parts = train[~validation], train[validation], test

    return Parts([dense(part.X) for part in parts], [dense(part.Y) for part in parts])


def dense(values: Any) -> Floats:
    """Make an array of what may be sparse."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float32)


def training_rows(name: str) -> tuple[Floats, Floats]:
    """Load features of a training part, and the labels that vary there."""
    X, Y = map(dense, load_training_rows(name, 0))
    return X, Y[:, Y.min(axis=0) < Y.max(axis=0)]


def boost(parts: Parts, seed: int, **params: Any) -> Iterator[Round]:
    """Train with XGBoost; what is chosen counts."""
    params = {
        "objective": "multilabel:logistic",
        "eta": RATE,
        "max_depth": DEPTH,
        "max_bin": BINS,
        "seed": seed,
        "nthread": 1,
        **params,
    }
    begin = time.process_time()
    params |= choose_sketch(params, FitData(parts.X[0], parts.Y[0], None))
    seconds = time.process_time() - begin
    train = xgb.QuantileDMatrix(parts.X[0], parts.Y[0], max_bin=BINS, nthread=1)
    others = [xgb.DMatrix(parts.X[i], nthread=1) for i in (1, 2)]
    booster = xgb.Booster(params, [train, *others])
    for i in range(MOST_ROUNDS):
        begin = time.process_time()
        booster.update(train, i)
        seconds += time.process_time() - begin
        validation, test = (
            booster.predict(each, output_margin=True, strict_shape=True) for each in others
        )
        yield Round(seconds, (validation, test))


def lightgbm(parts: Parts, seed: int) -> Iterator[Round]:
    """Train LightGBM's boosters for all labels side by side."""
    import lightgbm as lgb

    params = {
        "objective": "binary",
        "learning_rate": RATE,
        "max_depth": DEPTH,
        "num_leaves": 2**DEPTH - 1,
        "max_bin": BINS,
        "num_threads": 1,
        "seed": seed,
        "verbosity": -1,
    }
    first = lgb.Dataset(parts.X[0], parts.Y[0][:, 0], params=params).construct()
    varies = parts.Y[0].min(axis=0) < parts.Y[0].max(axis=0)
    boosters = {}
    for j in np.flatnonzero(varies):
        booster = lgb.Booster(params, lgb.Dataset(parts.X[0], parts.Y[0][:, j], reference=first))
        for i in (1, 2):
            valid = lgb.Dataset(parts.X[i], parts.Y[i][:, j], reference=first)
            booster.add_valid(valid, str(i))
        boosters[j] = booster
    rates = np.clip(parts.Y[0].mean(axis=0), 1e-6, 1 - 1e-6)
    margins = [np.tile(np.log(rates / (1 - rates)), (len(parts.Y[i]), 1)) for i in (1, 2)]
    going, seconds = set(boosters), 0.0
    for _ in range(MOST_ROUNDS):
        for j in sorted(going):
            begin = time.process_time()
            if boosters[j].update():  # nothing left to split
                going.discard(j)
            seconds += time.process_time() - begin
            for i in (1, 2):
                # What the booster has computed already; the public way walks through all trees.
                known = getattr(boosters[j], "_Booster__inner_predict")(data_idx=i)  # noqa: B009
                proba = np.clip(known, 1e-6, 1 - 1e-6)
                margins[i - 1][:, j] = np.log(proba / (1 - proba))
        yield Round(seconds, (margins[0].astype(np.float32), margins[1].astype(np.float32)))


def catboost(parts: Parts, seed: int) -> Iterator[Round]:
    """Train CatBoost; labels of one value only, which it refuses, keep their rate."""
    from catboost import CatBoostClassifier, Pool

    varies = parts.Y[0].min(axis=0) < parts.Y[0].max(axis=0)
    rates = np.clip(parts.Y[0].mean(axis=0), 1e-6, 1 - 1e-6)
    model = CatBoostClassifier(
        loss_function="MultiLogloss",
        iterations=400,
        learning_rate=RATE,
        depth=DEPTH,
        border_count=BINS,
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    begin = time.process_time()
    model.fit(Pool(parts.X[0], parts.Y[0][:, varies]))
    seconds = time.process_time() - begin
    stages = [
        model.staged_predict(Pool(parts.X[i]), prediction_type="RawFormulaVal") for i in (1, 2)
    ]
    for i, pair in enumerate(zip(*stages, strict=True)):
        margins = []
        for part, staged in zip((1, 2), pair, strict=True):
            full = np.tile(np.log(rates / (1 - rates)), (len(parts.Y[part]), 1))
            full[:, varies] = staged
            margins.append(full.astype(np.float32))
        yield Round(seconds * (i + 1) / 400, (margins[0], margins[1]))


def gains_of_halving(name: str, n_draws: int) -> list[float]:
    """By how many percent of its hidden log-loss the race finds half of the first size better."""
    X, Y = training_rows(name)
    gains = []
    for seed in range(n_draws):
        params = {
            "objective": "multilabel:logistic",
            "sketch_size": 1,
            "max_bin": BINS,
            "seed": seed,
            "nthread": 1,
        }
        with race(params, FitData(X, Y, None)) as hidden_loss:
            first, half = (hidden_loss(size) for size in group_sizes(Y.shape[1])[:2])
        gains.append(100 * (1 - half / first))
    return gains


def losses_of_sizes(name: str) -> dict[int, float]:
    """By number of labels of a tree: its least held-out log-loss over the rounds."""
    X, Y = training_rows(name)
    held_out = np.arange(len(Y)) % 3 == 0
    which = (~held_out, held_out, held_out)
    parts = Parts([X[rows] for rows in which], [Y[rows] for rows in which])
    return {
        size: best_round(parts, boost(parts, 0, sketch_size=1, labels_per_tree=size))["validation"]
        for size in dict.fromkeys((Y.shape[1], *group_sizes(Y.shape[1])))
    }


CANDIDATES: dict[str, Callable[[Parts, int], Iterator[Round]]] = {
    "auto": lambda parts, seed: boost(parts, seed, sketch_size="auto"),
    "exact": lambda parts, seed: boost(parts, seed),
    "all labels, k = 1": lambda parts, seed: boost(parts, seed, sketch_size=1),
    "stock per label": lambda parts, seed: boost(
        parts, seed, objective="binary:logistic", tree_method="hist"
    ),
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}

PEERS = ("exact", "stock per label", "LightGBM", "CatBoost")


def best_round(parts: Parts, states: Iterator[Round]) -> dict[str, Any]:
    """Train to the round that is best on the validation part, and read the test part there."""
    losses = [LogLoss(Y, None) for Y in parts.Y[1:]]
    best: dict[str, Any] = {"validation": np.inf}
    for i, state in enumerate(states):
        validation = losses[0](state.margins[0]) / parts.Y[1].size
        if validation < best["validation"]:
            best = {
                "validation": validation,
                "test": losses[1](state.margins[1]) / parts.Y[2].size,
                "rounds": i + 1,
                "seconds": state.seconds,
            }
        elif i + 1 - best["rounds"] >= PATIENCE:
            break
    return best


def measure(name: str, candidate: str, seed: int) -> dict[str, Any]:
    """Measure a candidate."""
    parts = read(name)
    best = best_round(parts, CANDIDATES[candidate](parts, seed))
    return {"data": name, "candidate": candidate, "seed": seed, **best}


def table(lines: list[dict[str, Any]]) -> str:
    """Test log-loss by data set and candidate, the mean of the seeds."""
    names = [name for name in CANDIDATES if any(line["candidate"] == name for line in lines)]
    rows = [f"| data | {' | '.join(names)} | auto over the best other, % |"]
    rows.append("| --- " * (len(names) + 2) + "|")
    for data in dict.fromkeys(line["data"] for line in lines):
        found = {
            name: np.mean([x["test"] for x in lines if (x["data"], x["candidate"]) == (data, name)])
            for name in names
            if any((x["data"], x["candidate"]) == (data, name) for x in lines)
        }
        cells = [f"{found[name]:.4f}" if name in found else "-" for name in names]
        peers = [
            found[n] for n in found if n in ("exact", "stock per label", "LightGBM", "CatBoost")
        ]
        behind = f"{100 * (found['auto'] / min(peers) - 1):+.1f}" if peers else "-"
        rows.append(f"| {data} | {' | '.join(cells)} | {behind} |")
    return "\n".join(rows)


def main() -> None:
    """Measure what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", help="names of data sets")
    parser.add_argument("--candidates", nargs="+", default=list(CANDIDATES), choices=CANDIDATES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output", type=Path, help="JSON lines, added to")
    parser.add_argument("--race", type=int, metavar="N", help="print what N races say, and end")
    parser.add_argument("--sizes", action="store_true", help="print losses by size, and end")
    arguments = parser.parse_args()
    if arguments.sizes:
        for name in arguments.data:
            losses = losses_of_sizes(name)
            cells = (f"{size}: {loss:.4f}" for size, loss in losses.items())
            print(f"| {name} | {', '.join(cells)} |", flush=True)
        return
    if arguments.race:
        for name in arguments.data:
            gains = gains_of_halving(name, arguments.race)
            print(f"| {name} | {' '.join(f'{gain:.1f}' for gain in gains)} |", flush=True)
        return
    if arguments.output is None:
        parser.error("--output is missing")

    def lines() -> list[dict[str, Any]]:
        path = arguments.output
        return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []

    done = {(line["data"], line["candidate"], line["seed"]) for line in lines()}
    for name in arguments.data:
        for candidate in arguments.candidates:
            for seed in range(arguments.seeds):
                if (name, candidate, seed) not in done:
                    line = measure(name, candidate, seed)
                    print(json.dumps(line), flush=True)
                    with arguments.output.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    print(table(lines()))


if __name__ == "__main__":
    main()
