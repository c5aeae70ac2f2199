"""What a training has to reach and how long it may take, as far as others' results say it."""

from dataclasses import dataclass, replace

from experiments.speed.job import Job
from experiments.speed.results import Results
from experiments.speed.suites import GROUPS, REFERENCE, SUITES

_OF_OURS = {"catboost": 200.0}


@dataclass(frozen=True)
class Goal:
    """When a training ends."""

    time_limit: float  # CPU seconds
    target: float | None = None  # held-out log-loss that is enough


def find_goal(job: Job, repeat: int, results: Results, time_limit: float) -> Goal | None:
    """Return the goal of a training, None if what it depends on has not been measured.

    The suites of time to quality compare with the reference: others have its time for each setting,
    and CatBoost two hundred times ours. The reference itself has the whole time, and sets the
    target in its first repeat.
    """
    if target := SUITES[job.suite].target:
        return Goal(time_limit, target)
    if job.phase != "to quality" or (job.candidate == REFERENCE and repeat == 0):
        return Goal(time_limit)
    reference = results.measured(replace(job, candidate=REFERENCE))
    if reference is None:
        return None
    target = reference["target"]
    if job.candidate == REFERENCE:
        return Goal(time_limit, target)
    seconds = reference["cpu_seconds"]
    if job.candidate in _OF_OURS:
        ours = [
            result["cpu_seconds"]
            for name in GROUPS["all of ours"]
            if (result := results.measured(replace(job, candidate=name)))
        ]
        seconds = _OF_OURS[job.candidate] * min(ours) if ours else seconds
    return Goal(min(time_limit, seconds), target)
