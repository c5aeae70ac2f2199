"""Seconds to a test cross-entropy of .0615 on Delicious: libraries on a GPU, and ours on the CPU.

``python -m experiments.speed.gpu_peers`` prints a line of JSON for each training: XGBoost's trees
on CUDA, and SketchBoost (py-boost) if it is installed. Without an NVIDIA GPU it measures nothing.
The official wheel of XGBoost trains only its own trees, ours also those with `sketch_size`.
`docs/results/index.md` has a table of one such run.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.data import load_dataset

GOAL, LONGEST = 0.0615, 60.0
_EVERY = 5
"""Rounds after which the cross-entropy is computed; this is not timed."""

SKETCHES = (
    {"sketch_size": 1, "max_depth": 6, "learning_rate": 0.1},
    {"sketch_size": 2, "max_depth": 10, "learning_rate": 0.15},
)


def has_gpu() -> bool:
    """Tell whether there is an NVIDIA GPU."""
    program = shutil.which("nvidia-smi")
    return program is not None and subprocess.run([program, "-L"], check=False).returncode == 0


def cross_entropy(Y: NDArray[np.floating], proba: NDArray[np.floating]) -> float:
    """Return the mean cross-entropy of the entries.

    Examples
    --------
    >>> round(cross_entropy(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])), 4)
    0.6931
    """
    p = np.clip(proba, 1e-7, 1 - 1e-7)
    return float(-np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p)))


def time_to_goal(
    n_rounds: Iterator[int], update: Callable[[int], None], loss: Callable[[], float]
) -> dict[str, Any]:
    """Train until the loss is low enough, or for a minute.

    Examples
    --------
    >>> found = time_to_goal(iter(range(20)), lambda round_: None, lambda: 0.06)
    >>> found["rounds"], found["loss"]
    (5, 0.06)
    """
    seconds, now, done = 0.0, np.inf, 0
    for round_ in n_rounds:
        begin = time.perf_counter()
        update(round_)
        seconds += time.perf_counter() - begin
        done = round_ + 1
        if done % _EVERY == 0 and (now := loss()) <= GOAL:
            break
        if seconds > LONGEST:
            break
    return {"seconds": round(seconds, 2), "rounds": done, "loss": round(now, 5)}


def with_xgboost(params: dict[str, Any], parts: Any) -> dict[str, Any]:
    """Train with XGBoost."""
    (X, Y), (X_test, Y_test) = parts
    max_bin = params.setdefault("max_bin", 64)
    matrix = xgb.QuantileDMatrix(X, Y, max_bin=max_bin)
    test = xgb.DMatrix(X_test)
    booster = xgb.Booster(params, [matrix])
    return time_to_goal(
        iter(range(10_000)),
        lambda round_: booster.update(matrix, round_),
        lambda: cross_entropy(Y_test, booster.predict(test)),
    )


def with_sketchboost(settings: dict[str, Any], parts: Any) -> dict[str, Any]:
    """Train with py-boost, for one number of rounds after the other: it has no single rounds."""
    from py_boost import SketchBoost

    (X, Y), (X_test, Y_test) = parts
    for rounds in (150, 200, 250, 300, 350, 400, 500):
        model = SketchBoost(
            "bce",
            ntrees=rounds,
            lr=settings["learning_rate"],
            max_depth=settings["max_depth"],
            sketch_outputs=settings["sketch_size"],
            verbose=10**6,
        )
        begin = time.perf_counter()
        model.fit(X, Y)
        seconds = time.perf_counter() - begin
        loss = cross_entropy(Y_test, model.predict(X_test))
        if loss <= GOAL or seconds > LONGEST:
            break
    return {"seconds": round(seconds, 2), "rounds": rounds, "loss": round(loss, 5)}


def main() -> int:
    """Measure what can be measured here."""
    if not has_gpu():
        print("There is no NVIDIA GPU: nothing is measured.", file=sys.stderr)
        return 0
    parts = []
    for name in ("train", "test"):
        data = load_dataset("delicious", name)
        dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        parts.append((np.float32(dense), np.float32(data.Y)))
    stock = {"objective": "binary:logistic", "device": "cuda", "max_depth": 6, "learning_rate": 0.1}
    for strategy in ("multi_output_tree", "one_output_per_tree"):
        found = with_xgboost({**stock, "multi_strategy": strategy}, parts)
        print(json.dumps({"training": f"XGBoost on CUDA, {strategy}", **found}), flush=True)
    for settings in SKETCHES:
        if "XDCC_MULTILABEL" in xgb.build_info():
            found = with_xgboost({**settings, "objective": "multilabel:logistic"}, parts)
            print(json.dumps({"training": "xdcc on the CPU", **settings, **found}), flush=True)
        if find_spec("py_boost"):
            found = with_sketchboost(settings, parts)
            print(json.dumps({"training": "SketchBoost", **settings, **found}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
