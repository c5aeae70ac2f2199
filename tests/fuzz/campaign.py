"""Tries targets in other processes: one that dies is a finding, and another one goes on."""

import json
import os
import pickle
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import ROOT
from tests.fuzz.worker import COUNTS

TARGETS = Path(__file__).with_name("targets")

ENVIRONMENT = {"OMP_NUM_THREADS": "16", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "4"}
"""Lets XGBoost use threads, also in the threads of a pool, within the limit on memory."""


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
    with tempfile.TemporaryDirectory(prefix="xdcc-fuzz-") as name:
        folder = Path(name)
        (folder / "counts").write_bytes(COUNTS.pack(0, 0, 0))
        (folder / "findings").mkdir()
        worker = subprocess.run(
            [
                *(sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker"),
                *(address, folder, "--seed", str(seed)),
                *("--seconds", str(seconds), "--inputs", str(inputs)),
            ],
            cwd=ROOT,
            env=os.environ | ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if worker.returncode:
            said = worker.stderr.decode(errors="replace")
            raise RuntimeError(f"{address} cannot be tried: {said[-4000:]}")
        result = Result(*COUNTS.unpack((folder / "counts").read_bytes()))
        for finding in _found(folder / "findings"):
            known = {(other.kind, other.where) for other in result.findings}
            if (finding.kind, finding.where) not in known or not finding.where:
                result.findings.append(finding)
    return result


def command(name: str, value: Any) -> str | None:
    """Return the command that tries an input again, if JSON can hold the input."""
    try:
        text = json.dumps(value)
    except TypeError:
        return None
    if repr(json.loads(text)) != repr(value):
        return None
    return f"python -m tests.fuzz {name} --again {shlex.quote(text)}"


def read_input(text: str) -> Any:
    """Read an input, as JSON or from a pickle that was kept."""
    if text.endswith(".pickle"):
        return pickle.loads(Path(text).read_bytes())
    return json.loads(text)


def _found(folder: Path) -> Iterator[Finding]:
    for path in sorted(folder.glob("*.json")):
        value = pickle.loads(path.with_suffix(".pickle").read_bytes())
        yield Finding(**json.loads(path.read_text()), value=value)
