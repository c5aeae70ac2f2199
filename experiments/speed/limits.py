"""Compares the updater with the limits of the machine: the roofline, and one pass.

The suite `roofline` shows the reached share of the machine's peak. The training, the peak and the
count of the work (`CONVENTION`) come from one process, one after the other. The peak is measured on
one thread:

- additions per second of float rows to the bins of a histogram in double precision, with the
  histogram and the rows in the first-level cache (24 KiB) and in the second (320 KiB);
- bytes per second of reading memory in order (256 MiB).

The suite `pass` compares a round of boosting with one pass over all rows and labels. A round
cannot do without adding the last tree's leaf values to all margins, deriving the gradients and
projecting them; a kernel does this and nothing else, in the same process.

The kernels are in `limits.cc`, which is compiled for this machine when it is needed.
"""

import ctypes
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from experiments.speed.candidates import DEPTH, Setting
from experiments.speed.data import Features, Labels
from experiments.speed.suites import Job
from experiments.speed.trainings import train_timed

_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp-simd", "-shared", "-fPIC")


def find_compiler() -> str:
    """Return the system's C++ compiler: what CXX names, else c++, g++ or clang++.

    Raises
    ------
    FileNotFoundError
        If there is no compiler.
    """
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    for name in names:
        if compiler := shutil.which(name):
            return compiler
    raise FileNotFoundError(
        f"the suites roofline and pass need a C++ compiler, and there is no {' or '.join(names)}: "
        "install one, name it in CXX, or leave these suites out"
    )


def compile_kernel(source: Path, folder: Path) -> ctypes.CDLL:
    """Compile a source file into a folder, and load the library.

    Raises
    ------
    FileNotFoundError
        If there is no C++ compiler.
    RuntimeError
        If it does not compile the kernel.
    """
    file = folder / f"{source.stem}.so"
    command = [find_compiler(), *_FLAGS, str(source), "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return ctypes.CDLL(str(file))


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of an array."""
    return ctypes.c_void_p(array.ctypes.data)


CONVENTION = """\
The work that is counted is that of histograms built by the following rules, whether or not the
updater builds them this way everywhere:

- A tree builds the histogram of the root. Of the two children of a split that are evaluated (those
  above the maximum depth), it builds that of the child with fewer rows, or of the left child if
  both have the same number. The other child's histogram is the parent's minus this one. It is free,
  and so is every scan.
- A row of a node adds each of its entries: one addition each for the gradient and the Hessian of
  every label.
- An entry is the value of a feature that is not missing. If a feature has no missing values, values
  in its most frequent bin over all training rows are not entries: the sums of that bin are those of
  the node minus those of the other bins.
- Bytes: the gradients and Hessians of all labels in single precision, read once for each row of a
  node, and four bytes for each entry, the number of its bin. Histograms stay in a cache.
"""
"""The convention of the count, in words."""

_GRADIENT_BYTES = 8  # a gradient and a Hessian in single precision
_BIN_BYTES = 4


@dataclass(frozen=True)
class HistogramWork:
    """The work of the histograms of a model."""

    additions: int
    read_bytes: int
    nodes: int  # whose histogram is built from rows
    rows: int  # of these nodes, added up
    entries: int  # of these rows, added up


def histogram_work(
    booster: xgb.Booster,
    X: NDArray[np.float32],
    n_labels: int,
    max_depth: int,
    max_bin: int,
) -> HistogramWork:
    """Count the work of the histograms of a model, by the convention.

    It was trained on X, in which NaN is missing, without sampling, with these largest numbers.
    """
    entries_of_row = count_entries(X, max_bin)
    leaves = booster.predict(xgb.DMatrix(X), pred_leaf=True)
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    leaves = leaves.reshape(len(X), len(trees)).astype(np.int64)
    built = [
        node
        for tree, leaf in zip(trees, leaves.T, strict=True)
        for node in _built_nodes(tree, leaf, entries_of_row, max_depth)
    ]
    rows, entries = (sum(counts) for counts in zip(*built, strict=True))
    additions = entries * 2 * n_labels
    read_bytes = rows * n_labels * _GRADIENT_BYTES + entries * _BIN_BYTES
    return HistogramWork(additions, read_bytes, len(built), rows, entries)


def count_entries(X: NDArray[np.float32], max_bin: int) -> NDArray[np.int64]:
    """Return the number of each row's entries that are added up."""
    matrix = xgb.QuantileDMatrix(X, max_bin=max_bin)
    begins, cuts = matrix.get_quantile_cut()
    counts = np.zeros(len(X), dtype=np.int64)
    for feature, x in enumerate(X.T):
        missing = np.isnan(x)
        if missing.any():
            counts += ~missing
            continue
        of_feature = cuts[begins[feature] : begins[feature + 1]]
        bins = np.searchsorted(of_feature, x, side="right")
        counts += bins != np.bincount(bins).argmax()
    return counts


def _built_nodes(
    tree: dict[str, Any],
    leaf: NDArray[np.int64],
    entries_of_row: NDArray[np.int64],
    max_depth: int,
) -> list[tuple[int, int]]:
    """Return the rows, and the entries of these rows, of each node that a tree builds."""
    left, right = tree["left_children"], tree["right_children"]
    rows_of_leaf = np.bincount(leaf, minlength=len(left))
    entries_of_leaf = np.zeros(len(left), dtype=np.int64)
    np.add.at(entries_of_leaf, leaf, entries_of_row)
    built = []

    def visit(node: int, depth: int) -> tuple[int, int]:
        """Return a node's rows and entries; store which nodes below it are built."""
        if left[node] < 0:
            return int(rows_of_leaf[node]), int(entries_of_leaf[node])
        children = visit(left[node], depth + 1), visit(right[node], depth + 1)
        if depth + 1 < max_depth:
            built.append(min(children, key=lambda child: child[0]))
        return children[0][0] + children[1][0], children[0][1] + children[1][1]

    built.append(visit(0, 0))
    return built


_SOURCE = Path(__file__).with_name("limits.cc")
_WIDTH = 128  # gradients and Hessians of 64 labels
_ENTRIES = 1 << 13
_CACHES = {"L1": (16, 16), "L2": (256, 128)}  # bins and rows
_ALIGNMENT = 64  # of a cache line: a vector that crosses two is slower
_STREAM_BYTES = 1 << 28
_TRIALS = 7
_SECONDS_PER_TRIAL = 0.05


def measure_roofline(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train the rounds; add a `MachinePeak` as `peak`, and a `HistogramWork` as `work`."""
    booster, cost = train_timed(job, X, Y, time_limit)
    peak = measure_peak()
    work = histogram_work(booster, X, Y.shape[1], DEPTH, Setting().max_bin)
    return asdict(cost) | {"peak": asdict(peak), "work": asdict(work)}


@dataclass(frozen=True)
class MachinePeak:
    """The peak of one thread of the machine, per CPU second."""

    additions_l1: float  # to a histogram in the first-level cache
    additions_l2: float  # and in the second-level cache
    read_bytes: float  # from memory in order


class Kernel:
    """The kernel, compiled in a folder."""

    def __init__(self, folder: Path) -> None:
        self._library = compile_kernel(_SOURCE, folder)
        self._library.AddToHistogram.restype = None
        self._library.ReadAll.restype = ctypes.c_uint64

    def add_to_histogram(
        self,
        rows: NDArray[np.float32],
        row_of: NDArray[np.uint32],
        bin_of: NDArray[np.uint32],
        histogram: NDArray[np.float64],
    ) -> None:
        """Add row ``row_of[e]`` to bin ``bin_of[e]`` of the histogram, for every entry e.

        The histogram has shape (n_bins, width), the rows (n_rows, width).
        """
        self._library.AddToHistogram(
            *(address(array) for array in (rows, row_of, bin_of)),
            ctypes.c_size_t(len(row_of)),
            ctypes.c_size_t(rows.shape[1]),
            address(histogram),
        )

    def read_all(self, values: NDArray[np.uint64]) -> int:
        """Return the sum of an array."""
        return int(self._library.ReadAll(address(values), ctypes.c_size_t(len(values))))


def measure_peak() -> MachinePeak:
    """Compile the kernel and measure."""
    with TemporaryDirectory() as folder:
        kernel = Kernel(Path(folder))
        additions = {cache: _adding_rate(kernel, *sizes) for cache, sizes in _CACHES.items()}
        values = np.ones(_STREAM_BYTES // 8, dtype=np.uint64)
        read = _rate(lambda: kernel.read_all(values), values.nbytes)
    return MachinePeak(additions["L1"], additions["L2"], read)


def _adding_rate(kernel: Kernel, n_bins: int, n_rows: int) -> float:
    random = np.random.default_rng(0)
    rows = _aligned(random.normal(size=(n_rows, _WIDTH)).astype(np.float32))
    row_of = random.integers(n_rows, size=_ENTRIES, dtype=np.uint32)
    bin_of = random.integers(n_bins, size=_ENTRIES, dtype=np.uint32)
    histogram = _aligned(np.zeros((n_bins, _WIDTH)))
    return _rate(
        lambda: kernel.add_to_histogram(rows, row_of, bin_of, histogram), _ENTRIES * _WIDTH
    )


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that starts at a cache line."""
    space = np.empty(array.nbytes + _ALIGNMENT, dtype=np.uint8)
    begin = -space.ctypes.data % _ALIGNMENT
    copy = space[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _rate(call: Callable[[], Any], work: int) -> float:
    """Return the most work per CPU second over the trials; the first call is not counted."""
    call()
    best = 0.0
    for _ in range(_TRIALS):
        calls, start = 0, time.process_time()
        while (seconds := time.process_time() - start) < _SECONDS_PER_TRIAL:
            call()
            calls += 1
        best = max(best, calls * work / seconds)
    return best


_LEAVES = 64


def measure_passes(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train the rounds; add the `pass_seconds` of a pass, and how many `passes` a round takes."""
    _, cost = train_timed(job, X, Y, time_limit)
    with TemporaryDirectory() as folder:
        one_pass = OnePass(Path(folder), Y)
        least = np.inf
        for _ in range(_TRIALS):
            start = time.process_time()
            one_pass.run()
            least = min(least, time.process_time() - start)
    passes = cost.cpu_seconds / job.rounds / least
    return asdict(cost) | {"pass_seconds": least, "passes": passes}


class OnePass:
    """The kernel, compiled in a folder, with its arrays.

    Attributes
    ----------
    Y, margins, gradients : float32 array of shape (n_samples, n_labels)
    leaf_of : uint32 array of shape (n_samples,)
    leaf_values : float32 array of shape (n_leaves, n_labels)
    direction : float32 array of shape (n_labels,)
    projected : float32 array of shape (n_samples,)
    """

    def __init__(self, folder: Path, Y: Labels) -> None:
        self._pass = compile_kernel(_SOURCE, folder).PassOverLabels
        self._pass.restype = None
        random = np.random.default_rng(0)
        self.Y = np.ascontiguousarray(Y, np.float32)
        n_samples, n_labels = Y.shape
        self.leaf_of = random.integers(_LEAVES, size=(n_samples,), dtype=np.uint32)
        self.leaf_values = random.normal(0, 0.01, (_LEAVES, n_labels)).astype(np.float32)
        self.direction = random.normal(size=(n_labels,)).astype(np.float32)
        self.margins = random.normal(-3, 1, (n_samples, n_labels)).astype(np.float32)
        self.gradients = np.zeros(Y.shape, dtype=np.float32)
        self.projected = np.zeros(n_samples, dtype=np.float32)

    def run(self) -> None:
        """Go over all rows and labels once."""
        arrays = (self.leaf_of, self.leaf_values, self.Y, self.direction)
        outputs = (self.margins, self.gradients, self.projected)
        sizes = map(ctypes.c_size_t, self.Y.shape)
        self._pass(*sizes, *map(address, arrays), *map(address, outputs))
