"""Margins of a mixture: by kernels, and by the members themselves that have no flat form.

A member without a flat form, such as a classifier of another package, keeps its own way of
predicting; each of the others has a kernel. If all have a flat form, they share kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdcc.automatic.mixture import Member
from xdcc.base.input_form import checked_rows
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.decision_predictor import mean_source
from xdcc.prediction._kernel import INFINITE_MARGINS
from xdcc.prediction.builder import LayoutBuilder, NotFlat
from xdcc.prediction.layout import Layout
from xdcc.prediction.predictors import (
    MarginSource,
    MixtureMargins,
    Outputs,
    second_level,
    weighted_sum,
)


@dataclass(frozen=True, eq=False)
class PartlyFlatMargins(MarginSource):
    """Margins of a mixture of which not all members have a flat form.

    Attributes
    ----------
    sources : sequence of MarginSource
        Compute the calibrated margins of each member.
    shares : sequence of float
        Their weights.
    second : MarginSource or None
        Computes those of the second level, if there is one.
    second_share : float
        Its weight.
    calibration : LabelCalibration
        Of the whole.
    n_features : int
        Number of features.
    not_flat : str
        Names a member that has no flat form.
    """

    sources: Sequence[MarginSource]
    shares: Sequence[float]
    second: MarginSource | None
    second_share: float
    calibration: LabelCalibration
    n_features: int
    not_flat: str

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        rows = checked_rows(X, self.n_features)
        if rows is None:
            return None
        found = []
        for source in self.sources:
            outputs = source.margins(rows, n_threads)
            if outputs is None:
                return None
            found.append(outputs)
        mixed = weighted_sum(self.shares, found)
        if self.second is not None:
            own = self.second.margins(second_level(found), n_threads)
            if own is None:
                raise ValueError(INFINITE_MARGINS)
            mixed = weighted_sum([1 - self.second_share, self.second_share], [mixed, own])
        return self.calibration.margins(mixed)


def mixture_margins(
    members: Sequence[Member],
    stacked: Sequence[Member],
    calibration: LabelCalibration,
    n_features: int,
) -> MarginSource:
    """Flatten the log-odds of a mixture, as far as its members have a flat form.

    Parameters
    ----------
    members : sequence of Member
        At least one.
    stacked : sequence of Member
        The second level, of one member or none: its features are the log-odds of the others, and
        its share is taken from theirs.
    calibration : LabelCalibration
        Of the whole.
    n_features : int
        Number of features.

    Returns
    -------
    MarginSource
        `MixtureMargins` if all members have a flat form, else `PartlyFlatMargins`.
    """
    n_labels = len(calibration.slope)

    def layout(n_columns: int, of_layout: Sequence[Member], shares: Sequence[float]) -> Layout:
        builder = LayoutBuilder(n_columns, n_labels)
        for member, share in zip(of_layout, shares, strict=True):
            builder.add_member(member.estimators, share, *member.calibration.affine())
        return builder.build(calibration.affine())

    shares = [member.share for member in members]
    try:
        if not stacked:
            return MixtureMargins([layout(n_features, members, shares)], [], 0.0)
        layouts = [layout(n_features, [member], [1.0]) for member in members]
    except NotFlat as reason:
        sources = [mean_source(each.estimators, each.calibration, n_features) for each in members]
        second, second_share = None, 0.0
        for level in stacked:
            n_margins = len(members) * n_labels
            second = mean_source(level.estimators, level.calibration, n_margins)
            second_share = level.share
        return PartlyFlatMargins(
            sources, shares, second, second_share, calibration, n_features, str(reason)
        )
    layouts.append(layout(len(members) * n_labels, stacked, [1.0]))
    return MixtureMargins(layouts, shares, stacked[0].share)
