"""What a training has to reach and how long it may take, as far as others' results say it."""

from dataclasses import dataclass, replace

from experiments.speed.job import Job
from experiments.speed.results import Results
from experiments.speed.suites import DELICIOUS_TARGET, OURS, REFERENCE

_OF_OURS = {"catboost": 200.0}


@dataclass(frozen=True)
class Goal:
    """When a training ends.

    Attributes
    ----------
    time_limit : float
        CPU seconds.
    target : float, or None
        Held-out log-loss that is enough.
    """

    time_limit: float
    target: float | None = None


def find_goal(job: Job, repeat: int, results: Results, time_limit: float) -> Goal | None:
    """Return the goal of a training, None if what it depends on has not been measured.

    The suites of time to quality compare with the reference: others have its time for each setting,
    and CatBoost two hundred times ours. The reference itself has the whole time, and sets the
    target in its first repeat.

    Parameters
    ----------
    job : Job
    repeat : int
    results : Results
    time_limit : float
        CPU seconds that any training has at most.

    Returns
    -------
    Goal, or None
    """
    if job.suite == "many_labels":
        return Goal(time_limit, DELICIOUS_TARGET)
    if job.phase != "to quality" or (job.candidate == REFERENCE and repeat == 0):
        return Goal(time_limit)
    reference = results.find(replace(job, candidate=REFERENCE), 0)
    if reference is None or reference["outcome"] != "measured":
        return None
    target = reference["result"]["target"]
    if job.candidate == REFERENCE:
        return Goal(time_limit, target)
    seconds = reference["result"]["cpu_seconds"]
    if job.candidate in _OF_OURS:
        ours = [
            record["result"]["cpu_seconds"]
            for name in OURS
            if (record := results.find(replace(job, candidate=name), 0))
            and record["outcome"] == "measured"
        ]
        seconds = _OF_OURS[job.candidate] * min(ours) if ours else seconds
    return Goal(min(time_limit, seconds), target)
