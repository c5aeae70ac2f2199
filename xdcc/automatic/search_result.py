"""``SearchResult``: what a search has found."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.automatic.mixture import Member
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.workers import sample_of_all
from xdcc.decision.calibration import LabelCalibration


class SearchResult(NamedTuple):
    """Result of the search.

    Attributes
    ----------
    members : list of Member
        The chosen model: a candidate, or several that are mixed.
    stacked : list of Member
        The second level on their margins, if it helps.
    calibration : LabelCalibration
        Calibration of the members' mean log-odds: it changes constant labels only.
    data : FitData
        Labels and weights of the rows that a fold tests. X are log-odds of the mixture out of fold,
        float64, `(n_tested, n_labels)`.
    folds : int array of shape (n_tested,)
        Fold of each of these rows, or part of the only fold.
    are_all_tested : bool
        Whether these are all rows.
    shape : Shape
        Shape of the training data.
    usual_seconds : float
        For training all usual candidates on one core, estimated.
    summary : dict of str to list
        Columns of a table of all candidates; see :class:`~xdcc.MultiLabelClassifier`.
    abandoned : dict of str to list
        Columns of a table of those without a model.
    end : str
        The reason for the end of the search.
    had_time : bool
        Whether the time budget was long enough for a candidate.
    missing : list of str
        What no model was trained of, although it was to be tried, as a warning calls it.
    left_out : list of str
        Which candidates memory did not suffice for, and what they need.
    was_interrupted : bool
        Whether Ctrl-C ended the search.
    """

    members: list[Member]
    stacked: list[Member]
    calibration: LabelCalibration
    data: FitData
    folds: NDArray[np.intp]
    are_all_tested: bool
    shape: Shape
    usual_seconds: float
    summary: dict[str, list[Any]]
    abandoned: dict[str, list[Any]]
    end: str
    had_time: bool
    missing: list[str]
    left_out: list[str]
    was_interrupted: bool

    @property
    def all_members(self) -> list[Member]:
        """Those of the mixture and of the second level."""
        return [*self.members, *self.stacked]

    def sample(self, entries: int) -> "SearchResult":
        """Keep a sample of the rows of all workers, of this many entries, for choosing a rule.

        It has no features and no attributes that `fit` learned.
        """
        data = self.data
        weights = [] if data.sample_weight is None else [data.sample_weight]
        X, Y, folds, *weights = sample_of_all(
            data.Y.shape, data.X, data.Y, self.folds, *weights, entries=entries
        )
        return self._replace(data=FitData(X, Y, weights[0] if weights else None), folds=folds)
