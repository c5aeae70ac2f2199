"""Measures which share of the machine's peak the updater reaches while it boosts.

The training, the peak and the count of the work come from one process, one after the other. The
peak is measured with a small kernel (`peak.cc`), compiled for this machine when it is needed, on
one thread:

- additions per second of float rows to the bins of a histogram in double precision, with the
  histogram and the rows in the first-level cache (24 KiB) and in the second (320 KiB);
- bytes per second of reading memory in order (256 MiB).
"""

import ctypes
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.speed.boosting import train_timed
from experiments.speed.candidates import DEPTH
from experiments.speed.data import Features, Labels
from experiments.speed.histogram_work import histogram_work
from experiments.speed.job import Job
from experiments.speed.kernel import address, compile_kernel
from experiments.speed.setting import Setting

_SOURCE = Path(__file__).with_name("peak.cc")
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
    """What one thread of the machine can do at most, per CPU second."""

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
    """Return a copy that begins with a cache line."""
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
