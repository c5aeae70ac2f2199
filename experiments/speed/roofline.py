"""Measures which share of the machine's peak the updater reaches while it boosts.

The training, the peak and the count of the work come from one process, one after the other.
"""

from dataclasses import asdict
from typing import Any

from experiments.speed.boosting import train_timed
from experiments.speed.candidates import DEPTH
from experiments.speed.data import Features, Labels
from experiments.speed.histogram_work import histogram_work
from experiments.speed.job import Job
from experiments.speed.machine_peak import measure_peak
from experiments.speed.setting import Setting


def measure_roofline(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train the rounds, measure the peak, and count what their histograms need.

    Parameters
    ----------
    job : Job
    X : float32 array of shape (n_samples, n_features)
    Y : float32 array of shape (n_samples, n_labels)
    time_limit : float
        CPU seconds of training after which the process is ended.

    Returns
    -------
    dict
        The fields of `Cost`, `MachinePeak` and `HistogramWork` (under `peak` and `work`).
    """
    booster, cost = train_timed(job, X, Y, time_limit)
    peak = measure_peak()
    work = histogram_work(booster, X, Y.shape[1], DEPTH, Setting().max_bin)
    return asdict(cost) | {"peak": asdict(peak), "work": asdict(work)}
