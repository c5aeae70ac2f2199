"""The suites of `suites.yaml` and their jobs.

A `Job` is one measurement, as it is passed to a process and stored in the results; `plan` lists the
jobs of some suites.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from experiments.engine.registry import lookup
from experiments.engine.yaml_file import Part, checked, read_yaml
from experiments.speed.data import Storage, check_name, synthetic_shape
from xdcc.base.booster_parameters import SPLIT_METHODS

type Phase = Literal["end to end", "rounds", "chain", "to quality", "to the end", "predict"]


@dataclass(frozen=True)
class Job:
    """One candidate on one data set.

    The phase is the measured part: from arrays to the trained model; the boosting rounds on binned
    data; the training of a whole chain; rounds until the held-out rows reach a target, or their
    best log-loss; prediction.

    The storage of the features is a C-contiguous float32 array; a float32 CSR matrix, whose absent
    entries are missing values; CSR if the data set's file is sparse, else dense; for
    the last two see `experiments.speed.data`.

    In a chain, the rounds are those of each booster. A training that is evaluated on held-out rows
    has as many rounds as it needs.
    """

    suite: str
    data: str
    candidate: str
    phase: Phase
    storage: Storage
    threads: int
    rounds: int
    seed: int


class Suite(Part):
    """A comparison: an entry of `suites.yaml`."""

    title: str  # for headings
    data: list[str]
    candidates: list[str]
    phases: list[Phase]
    storage: Storage = "dense"
    threads: list[int] | None = None  # None leaves them to the command line
    rounds: int | None = None  # None is the data set's own number
    target: float | None = None  # held-out log-loss, unless the reference sets it
    seeds: int = 1  # number of seeds, each with its own held-out rows


class SuiteFile(Part):
    """The keys of `suites.yaml`."""

    groups: dict[str, list[str]]
    parameters: dict[str, dict[str, Any]]
    rounds: dict[str, int]
    suites: dict[str, Suite]

    @field_validator("groups")
    @classmethod
    def _with_split_methods(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        return groups | {"split methods": list(SPLIT_METHODS)}

    @model_validator(mode="after")
    def _data_exist(self) -> Self:
        for name, suite in self.suites.items():
            for data in self.members(suite.data):
                try:
                    check_name(data)
                except ValueError as error:
                    raise ValueError(f"suites.{name}.data: {error}") from error
        return self

    def members(self, names: Iterable[str]) -> list[str]:
        """Return names with those of groups replaced by their members, each once."""
        each = (self.groups.get(name, [name]) for name in names)
        return list(dict.fromkeys(member for own in each for member in own))


_PATH = Path(__file__).with_suffix(".yaml")
_FILE = checked(_PATH, read_yaml(_PATH), SuiteFile)

GROUPS = _FILE.groups
"""Named groups of data sets and candidates."""

PARAMETERS = _FILE.parameters
"""Further parameters of our candidates."""

members = _FILE.members

SUITES = {
    name: suite.model_copy(
        update={"data": members(suite.data), "candidates": members(suite.candidates)}
    )
    for name, suite in _FILE.suites.items()
}
"""Every suite by its name."""

(REFERENCE,) = GROUPS["reference"]

CANDIDATES = members(name for suite in SUITES.values() for name in suite.candidates)
"""Every candidate of some suite."""


def plan(
    suites: Sequence[str],
    *,
    data: Sequence[str] | None = None,
    candidates: Sequence[str] | None = None,
    threads: Sequence[int] = (1, 2),
    rounds: int | None = None,
    seed: int = 0,
) -> list[list[Job]]:
    """Return the jobs to measure, in groups, each on one data set, whose jobs take turns.

    `data` replaces a suite's own; `candidates` selects from a suite's own. `threads` apply to
    suites that do not set them, `rounds` to all.

    Raises
    ------
    ValueError
        For an unknown suite, data set or candidate; if a suite has none of the candidates; or
        for the suite `scaling` on data that are not synthetic.
    """
    for name in candidates or ():
        lookup("candidate", name, dict.fromkeys(CANDIDATES))
    for name in data or ():
        check_name(name)
    groups = []
    for suite_name in suites:
        suite = lookup("suite", suite_name, SUITES)
        chosen = [c for c in suite.candidates if candidates is None or c in candidates]
        if not chosen:
            raise ValueError(
                f"the suite {suite_name} has none of the candidates {', '.join(candidates or ())}; "
                f"it has {', '.join(suite.candidates)}"
            )
        for name in data or suite.data:
            if suite_name == "scaling" and synthetic_shape(name) is None:
                raise ValueError(f"the suite scaling needs synthetic data, not {name}")
            n_rounds = rounds or suite.rounds or _own_rounds(name)
            groups += [
                [
                    Job(suite_name, name, candidate, phase, suite.storage, n, n_rounds, own_seed)
                    for phase in suite.phases
                    for n in suite.threads or threads
                    for candidate in chosen
                ]
                for own_seed in range(seed, seed + suite.seeds)
            ]
    return groups


def place_of(job: Job) -> tuple[Any, ...]:
    """Return the key that sorts jobs in the order of a plan of all suites."""
    suite = SUITES[job.suite]

    def index(names: Sequence[str], name: str) -> tuple[int, str]:
        return (names.index(name), "") if name in names else (len(names), name)

    return (
        list(SUITES).index(job.suite),
        index(suite.data, job.data),
        job.seed,
        suite.phases.index(job.phase),
        job.threads,
        index(suite.candidates, job.candidate),
    )


def _own_rounds(name: str) -> int:
    rounds = _FILE.rounds
    return rounds.get(name, rounds["synthetic" if synthetic_shape(name) else "other"])
