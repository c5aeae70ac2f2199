"""`Job`: one thing to measure, as it travels to a child process and into the results."""

from dataclasses import dataclass
from typing import Literal

type Phase = Literal["end to end", "rounds", "chain", "to quality", "to the end"]
type Storage = Literal["dense", "csr", "as published", "in parts", "published split"]


@dataclass(frozen=True)
class Job:
    """One candidate on one data set.

    The phase says what the clock covers: from arrays to the trained model; the boosting rounds on
    data that are binned already; the training of a whole chain; rounds until held-out rows are
    predicted well enough, or best.

    The storage of the features is a C-contiguous float32 array; a float32 CSR matrix, whose absent
    entries are missing values; CSR where the data set's file is sparse and dense where not; for
    the last two see `experiments.speed.parts`.

    In a chain the rounds are those of each of its boosters. A training that is watched on held-out
    rows has as many as it needs.
    """

    suite: str
    data: str
    candidate: str
    phase: Phase
    storage: Storage
    threads: int
    rounds: int
    seed: int
