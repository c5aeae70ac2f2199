"""The process in which a target is tried: ``python -m tests.fuzz.worker``, started by `campaign`.

It imports the target and forks children, each of which tries some inputs. Before every attempt a
child writes the input to a file and sets alarms, so that a crash, an endless loop or a deadlock
ends the child and its parent knows of which input. The parent starts no threads.
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
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.fuzz.target import Different, Target, load_target

MEMORY = 4 * 2**30
"""Memory in bytes that a target may use beyond that of imported packages."""

CPU_SECONDS, SECONDS = 20, 180
"""Limits for one input: CPU time, and wall time, which is longer on a busy machine."""

_SLOWER = 5 if "san.so" in os.environ.get("LD_PRELOAD", "") else 1
"""How much longer everything takes with sanitizers."""

COUNTS = struct.Struct("<3q")
"""Inputs tried, refused and accepted."""

_INPUTS = 200
"""Number of inputs of a child."""

LINES = 12
"""How many lines of a finding are printed."""

_CRASHES = 50
"""Limit on the children of a target that keeps crashing."""

_NAMES = {
    signal.SIGALRM: "hang",
    signal.SIGPROF: "endless work",
    signal.SIGKILL: "killed",
}


class Attempts:
    """Tries inputs and records the outcomes."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._current = folder / "current"
        self._said = folder / "said"
        self._findings = folder / "findings"
        with (folder / "counts").open("r+b") as file:
            self._counts = mmap.mmap(file.fileno(), COUNTS.size)
        self._known: set[tuple[str, str]] = set()

    @property
    def tried(self) -> int:
        """Number of inputs that were tried, in all children."""
        number: int = COUNTS.unpack(self._counts[:])[0]
        return number

    def in_child(self, values: Iterator[object], end: float) -> bool:
        """Try inputs in a child until the time is up; return whether it ended as it should."""
        child = os.fork()
        if child == 0:
            try:
                os.dup2(os.open(self._said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
                for value in values:
                    self(value)
                    if time.monotonic() > end:
                        break
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            said = self._said.read_text(errors="replace")
            if not self._current.exists():
                sys.exit(said)
            self._write(
                _ending(os.waitstatus_to_exitcode(status)), sanitizer_report(said), _cause(said)
            )
        return status == 0

    def __call__(self, value: object) -> None:
        """Try one input."""
        self._current.write_bytes(pickle.dumps(value))
        tried, refused, accepted = COUNTS.unpack(self._counts[:])
        self._counts[:] = COUNTS.pack(tried + 1, refused, accepted)
        signal.setitimer(signal.ITIMER_REAL, SECONDS * _SLOWER)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS * _SLOWER)
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
        if isinstance(error, Different):
            where = ""  # each may have another cause
        elif key in self._known:
            return
        self._known.add(key)
        self._write(key[0], where, "".join(traceback.format_exception(error)))

    def _write(self, kind: str, where: str, text: str) -> None:
        path = self._findings / f"{len(list(self._findings.iterdir())):04}.pickle"
        path.write_bytes(self._current.read_bytes())
        about = {"kind": kind, "where": where, "text": text}
        path.with_suffix(".json").write_text(json.dumps(about))


def _ending(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    return _NAMES.get(signal.Signals(-status), signal.Signals(-status).name)


def _cause(said: str) -> str:
    """Return the innermost frames of what a process said last, without the modules of Python."""
    begin = max(said.find("Fatal Python error"), said.find(sanitizer_report(said) or "\0"), 0)
    return "\n".join(said[begin:].splitlines()[:LINES])


def sanitizer_report(said: str) -> str:
    """Return the first line of a sanitizer's report, or nothing."""
    reports = (
        line for line in said.splitlines() if "runtime error:" in line or "Sanitizer:" in line
    )
    return next(reports, "")


def limit_memory() -> None:
    """Limit further memory to `MEMORY`, except with sanitizers, which need all addresses."""
    if _SLOWER > 1:
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
    values = target.stream(chosen.seed)
    end, crashes = time.monotonic() + chosen.seconds, 0
    os.chdir(tempfile.mkdtemp(dir=chosen.folder))
    while (before := attempts.tried) < chosen.inputs and crashes < _CRASHES:
        if before and time.monotonic() > end:
            break
        crashes += not attempts.in_child(islice(values, min(_INPUTS, chosen.inputs - before)), end)
        for _ in range(attempts.tried - before):  # the child has used its own copy
            next(values)


if __name__ == "__main__":
    main(sys.argv[1:])
