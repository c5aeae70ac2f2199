"""Tries targets in child processes: a child that dies is a finding, and another one goes on."""

import json
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import ROOT
from tests.fuzz.worker import COUNTS

TARGETS = Path(__file__).with_name("targets")

_STARTS = 50
"""Limit on the child processes of a target that keeps crashing."""

_NAMES = {
    signal.SIGALRM: "hang",
    signal.SIGPROF: "endless work",
    signal.SIGKILL: "killed",
}


@dataclass(frozen=True)
class Finding:
    """An input that did what no input may.

    Attributes
    ----------
    kind : str
        The exception's name, or how the process ended.
    where : str
        File and line, or what a sanitizer reports, if known.
    text : str
        Traceback, or what the process said last.
    value : object
        The input.
    """

    kind: str
    where: str
    text: str
    value: Any


@dataclass
class Result:
    """Outcomes of the inputs of a target."""

    tried: int = 0
    refused: int = 0
    accepted: int = 0
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.tried:7} inputs, {self.refused:7} refused, {self.accepted:7} accepted, "
            f"{len(self.findings)} findings"
        )


def target_addresses() -> dict[str, str]:
    """Return where each target is, as ``module:name``, by its name, without importing it."""
    return {
        name: f"tests.fuzz.targets.{path.stem}:{name}"
        for path in sorted(TARGETS.glob("*.py"))
        for name in re.findall(r"^(\w+) = Target\(", path.read_text("utf-8"), re.MULTILINE)
    }


def try_target(address: str, seed: int, seconds: float, inputs: int = 10**9) -> Result:
    """Try a target, given as ``module:name``, for a time or a number of inputs."""
    result = Result()
    end = time.monotonic() + seconds
    for start in range(_STARTS):
        left = inputs - result.tried
        if left <= 0 or (start and time.monotonic() > end):
            break
        with tempfile.TemporaryDirectory(prefix="xdcc-fuzz-") as name:
            folder = Path(name)
            (folder / "counts").write_bytes(COUNTS.pack(0, 0, 0))
            (folder / "findings").mkdir()
            child = subprocess.run(
                [
                    *(sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker"),
                    *(address, folder, "--seed", str(seed + 1000 * start)),
                    *("--seconds", str(max(end - time.monotonic(), 1)), "--inputs", str(left)),
                ],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
            tried, refused, accepted = COUNTS.unpack((folder / "counts").read_bytes())
            result.tried += tried
            result.refused += refused
            result.accepted += accepted
            said = child.stderr.decode(errors="replace")
            found = list(_raised(folder / "findings"))
            if child.returncode:
                if not tried:
                    raise RuntimeError(f"{address} cannot be tried: {said[-4000:]}")
                value = pickle.loads((folder / "current").read_bytes())
                kind = _ending(child.returncode)
                found.append(Finding(kind, sanitizer_report(said), said[-6000:], value))
            known = {(finding.kind, finding.where) for finding in result.findings}
            result.findings += [f for f in found if (f.kind, f.where) not in known or not f.where]
    return result


def sanitizer_report(said: str) -> str:
    """Return the first line of a sanitizer's report, or nothing."""
    reports = (
        line for line in said.splitlines() if "runtime error:" in line or "Sanitizer:" in line
    )
    return next(reports, "")


def _raised(folder: Path) -> Any:
    for path in sorted(folder.glob("*.json")):
        value = pickle.loads(path.with_suffix(".pickle").read_bytes())
        yield Finding(**json.loads(path.read_text()), value=value)


def _ending(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    return _NAMES.get(signal.Signals(-status), signal.Signals(-status).name)
