"""The child in which a target is tried: ``python -m tests.fuzz.worker``, started by `campaign`.

Before every attempt the input is written to a file and alarms are set, so that a crash, an endless
loop or a deadlock ends this process and its parent knows of which input.
"""

import argparse
import json
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.target import Target, load_target

MEMORY = 2 * 2**30
"""Memory in bytes that a target may use beyond that of imported packages."""

CPU_SECONDS, SECONDS = 20, 60
"""Limits for one input: CPU time, and wall time, which is longer on a busy machine."""

COUNTS = struct.Struct("<3q")
"""Inputs tried, refused and accepted."""

_CHUNK = 200
"""Number of inputs that Hypothesis remembers."""


class Attempts:
    """Tries inputs and records the outcomes."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._current = folder / "current"
        self._findings = folder / "findings"
        with (folder / "counts").open("r+b") as file:
            self._counts = mmap.mmap(file.fileno(), COUNTS.size)
        self._known: set[tuple[str, str]] = set()

    def __call__(self, value: object) -> None:
        """Try one input."""
        self._current.write_bytes(pickle.dumps(value))
        tried, refused, accepted = COUNTS.unpack(self._counts[:])
        self._counts[:] = COUNTS.pack(tried + 1, refused, accepted)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            self._target.attempt(value)
            accepted += 1
        except Exception as error:
            if isinstance(error, self._target.refusals) and str(error).strip():
                refused += 1
            else:
                self._note(error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        self._counts[:] = COUNTS.pack(tried + 1, refused, accepted)

    def _note(self, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        where = next((f"{f.filename}:{f.lineno}" for f in reversed(frames)), "")
        key = type(error).__name__, where
        if key in self._known:
            return
        self._known.add(key)
        path = self._findings / f"{len(list(self._findings.iterdir()))}.pickle"
        path.write_bytes(self._current.read_bytes())
        path.with_suffix(".json").write_text(
            json.dumps(
                {
                    "kind": type(error).__name__,
                    "where": where,
                    "text": "".join(traceback.format_exception(error)),
                }
            )
        )


def limit_memory() -> None:
    """Limit further memory to `MEMORY`, except with sanitizers, which need all addresses."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(arguments: list[str]) -> None:
    """Try a target until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--inputs", type=int, required=True)
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    target = load_target(chosen.target)
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory()
    attempts = Attempts(target, chosen.folder)
    end, left, chunk = time.monotonic() + chosen.seconds, chosen.inputs, 0
    os.chdir(tempfile.mkdtemp(dir=chosen.folder))
    while left > 0 and time.monotonic() < end:
        choices = settings(
            max_examples=min(_CHUNK, left),
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )

        def attempt(value: object) -> None:
            if time.monotonic() < end:
                attempts(value)

        choices(seed((chosen.seed, chunk).__hash__())(given(target.inputs)(attempt)))()
        left, chunk = left - _CHUNK, chunk + 1


if __name__ == "__main__":
    main(sys.argv[1:])
