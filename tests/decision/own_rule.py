"""A decision rule as a user writes it: outside the package, in one file."""

from dataclasses import dataclass

import numpy as np

from xdcc.decision import Rule


@dataclass(frozen=True)
class AtLeastOne(Rule):
    """The labels whose log-odds reach a threshold, and the most likely one in any case."""

    name = "at_least_one"
    least: float

    @classmethod
    def learn(cls, rows):
        """Take the quantile at which as many entries are predicted as there are labels, or half."""
        frequency = np.nanmean(rows.Y)
        return [cls(np.quantile(rows.margins, 1 - share * frequency)) for share in (1, 0.5)]

    @property
    def params(self):
        return {"least": self.least}

    def decide(self, margins):
        most = margins.max(axis=1, keepdims=True)
        return ((margins >= self.least) | (margins == most)).astype(np.int8)
