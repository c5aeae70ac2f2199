"""`Job`: one thing to measure, as it travels to a child process and into the results."""

from dataclasses import dataclass
from typing import Literal

type Phase = Literal["end to end", "rounds", "chain"]
type Storage = Literal["dense", "csr", "as published"]


@dataclass(frozen=True)
class Job:
    """One candidate on one data set.

    Attributes
    ----------
    suite : str
        Name of the suite, a key of `speed_driver.suites.SUITES`.
    data : str
        Name of the data set.
    candidate : str
        Who trains.
    phase : {"end to end", "rounds", "chain"}
        What the clock covers: from arrays to the trained model; the boosting rounds on data that
        are binned already; the training of a whole chain.
    storage : {"dense", "csr", "as published"}
        Of the features: a C-contiguous float32 array; a float32 CSR matrix, whose absent entries
        are missing values; CSR where the data set's file is sparse and dense where not.
    threads : int
    rounds : int
        Boosting rounds; in a chain, of each of its boosters.
    seed : int
    """

    suite: str
    data: str
    candidate: str
    phase: Phase
    storage: Storage
    threads: int
    rounds: int
    seed: int
