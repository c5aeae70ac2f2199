"""Shared by the tests of the speed benchmark: jobs on tiny data, records of measurements."""

from dataclasses import asdict

from experiments import ROOT
from experiments.speed import report, requirements, suites
from experiments.speed.suites import Job
from experiments.speed.summary import Cell, Summary

SPEED = ROOT / "experiments" / "speed"
TINY = "synthetic-60x5x3"
HEADER = {"machine": {"cores": 1}, "versions": {"library": "a"}, "settings": {"seed": 0}}
JOB = Job("dense", TINY, "ours", "end to end", "dense", 1, 2, 0)
QUALITY = Job("quality", TINY, "sketched", "to quality", "in parts", 1, 2, 0)


def record(cell, repeat=0, outcome="measured", time_limit=900.0, **result):
    """A measurement as it stands in the file."""
    storage = suites.SUITES[cell.suite].storage
    job = asdict(Job(**cell._asdict(), storage=storage, rounds=2, seed=0))
    if outcome == "measured":
        cpu = result.setdefault("cpu_seconds", 1.0)
        result = {"wall_seconds": cpu, "peak_bytes": 1 << 20, "parameters": {}} | result
    return {
        "job": job,
        "repeat": repeat,
        "outcome": outcome,
        "time_limit": time_limit,
        "result": result,
    }


def dense(name, candidate, **result):
    return record(Cell("dense", "end to end", name, 1, candidate), **result)


def verdict(text, records):
    known = [r for name in report.REPORTS for r in requirements.read_requirements(name)]
    (requirement,) = [r for r in known if r.text.startswith(text)]
    return requirements.judge(requirement, Summary(records))
