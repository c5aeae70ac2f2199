"""Measures plain trainings, without the plugin's objectives, against the official wheel.

The official wheel of the same version is fetched once from the package index, into a folder of the
user's cache. Both libraries train in turns, each time in a new process with one thread, and CPU
time is compared.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from experiments.speed.data import Features, Labels
from experiments.speed.suites import Job

_TURNS = 9
_CLASSES = 4

TASKS: dict[str, tuple[dict[str, Any], Callable[[NDArray[Any]], NDArray[Any]], int]] = {
    "stock binary": ({"objective": "binary:logistic"}, lambda Y: Y[:, 0], 60),
    "stock softprob": (
        {"objective": "multi:softprob", "num_class": _CLASSES},
        lambda Y: Y[:, : _CLASSES - 1].sum(axis=1),
        14,
    ),
    "stock per label": ({"objective": "binary:logistic"}, lambda Y: Y[:, :_CLASSES], 14),
    "stock vector leaf": (
        {"objective": "binary:logistic", "multi_strategy": "multi_output_tree"},
        lambda Y: Y[:, :_CLASSES],
        12,
    ),
    "stock exact": (
        {"objective": "binary:logistic", "tree_method": "exact"},
        lambda Y: Y[:, 0],
        4,
    ),
    "stock approx": (
        {"objective": "binary:logistic", "tree_method": "approx"},
        lambda Y: Y[:, 0],
        6,
    ),
}
"""Parameters, labels and boosting rounds of each candidate."""

_CODE = """
import hashlib, json, sys, time
import numpy as np, xgboost as xgb
file, parameters, rounds = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
arrays = np.load(file)
matrix = xgb.DMatrix(arrays["X"], arrays["y"], nthread=1)
booster = xgb.Booster(parameters, [matrix])
booster.update(matrix, 0)
begin = time.process_time(), time.perf_counter()
for iteration in range(1, rounds):
    booster.update(matrix, iteration)
print(json.dumps({
    "cpu": time.process_time() - begin[0],
    "wall": time.perf_counter() - begin[1],
    "digest": hashlib.sha256(booster.save_raw("ubj")).hexdigest(),
    "version": xgb.__version__,
}))
"""


def measure_stock(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train with both libraries.

    Returns
    -------
    dict
        `ratio`: minimum CPU time of ours over the official wheel's; `official_cpu_seconds`;
        `differs`: 0 if both models are equal, else 1; and `cpu_seconds`, `wall_seconds`,
        `peak_bytes` of ours.
    """
    parameters, labels, rounds = TASKS[job.candidate]
    parameters = parameters | {"max_depth": 6, "eta": 0.1, "nthread": 1, "verbosity": 0}
    runs: dict[str, list[dict[str, Any]]] = {"ours": [], "official": []}
    with TemporaryDirectory() as folder:
        file = Path(folder, "arrays.npz")
        np.savez(file, X=X, y=labels(np.asarray(Y)))
        for _ in range(_TURNS):
            for name, taken in runs.items():
                path = str(official_wheel()) if name == "official" else ""
                taken.append(_train(path, [str(file), json.dumps(parameters), str(rounds)]))
    least = {name: min(run["cpu"] for run in taken) for name, taken in runs.items()}
    return {
        "ratio": least["ours"] / least["official"],
        "official_cpu_seconds": least["official"],
        "differs": int(runs["ours"][0]["digest"] != runs["official"][0]["digest"]),
        "cpu_seconds": least["ours"],
        "wall_seconds": min(run["wall"] for run in runs["ours"]),
        "peak_bytes": 0,
    }


def _train(path: str, arguments: list[str]) -> dict[str, Any]:
    environ = os.environ | ({"PYTHONPATH": path} if path else {})
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def official_wheel() -> Path:
    """Return the folder with the official wheel of the installed version; fetch it if missing."""
    version = metadata.version("xgboost").partition("+")[0]
    folder = Path(platformdirs.user_cache_dir("xdcc"), "official", version)
    if not (folder / "xgboost").is_dir():
        command = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        subprocess.run([sys.executable, *command, f"xgboost=={version}"], check=True)
    return folder
