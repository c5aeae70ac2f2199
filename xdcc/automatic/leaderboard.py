"""The table of ``MultiLabelClassifier.leaderboard``."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.decision.label_metrics import rows_that_count, scores_on_draws
from xdcc.decision.proba_metrics import proba_metric
from xdcc.decision.rule import MetricLike
from xdcc.metrics import log_loss
from xdcc.prediction.predictors import Outputs

type Row = dict[str, Any]
"""Entries of a row of the table by the names of their columns."""


class Prediction(NamedTuple):
    """The log-odds of rows that a member, or the whole model, predicts, and the seconds it took."""

    name: str
    margins: Outputs
    seconds: float


MIXTURE = "mixture"
"""Name of the row of all members together."""

_KEPT = ["candidate", "log_loss", "log_loss_std", "share"]
_OF_MIXTURE = {"best_log_loss": "log_loss", "best_log_loss_std": "log_loss_std"}


def out_of_fold_rows(summary: dict[str, Any]) -> list[Row]:
    """Make the row of the mixture, and one for each candidate."""
    # Columns that an older version did not store are NaN.
    table = pd.DataFrame(summary, columns=[*_KEPT, *_OF_MIXTURE, "seconds"])
    seconds = table.groupby("candidate")["seconds"].sum()
    # Of several trials with other seeds, the one that is in the mixture, or else the first.
    best = table.sort_values("share", ascending=False, kind="stable").drop_duplicates("candidate")
    candidates = best[_KEPT].assign(fit_seconds=best["candidate"].map(seconds))
    mixture = table[[*_OF_MIXTURE]].rename(columns=_OF_MIXTURE).iloc[-1].to_dict()
    mixture = {"candidate": MIXTURE, **mixture, "share": np.nan, "fit_seconds": seconds.sum()}
    return [mixture, *candidates.to_dict("records")]


def score_rows(
    measure: MetricLike, Y: NDArray[np.float32], predictor: DecisionPredictor, margins: Outputs
) -> Row:
    """Score log-odds of rows with known labels by the log-loss and a metric."""
    data = rows_that_count(FitData(margins, Y, None))
    proba = predictor.proba(data.X)
    if of_proba := proba_metric(measure):
        score = of_proba.score(data.Y, proba)
    else:
        labels = predictor.labels(data.X).astype(np.int8)
        score = scores_on_draws(measure, data, [labels])(np.ones((1, len(labels)))).item()
    return {"test_log_loss": log_loss(data.Y, proba), "test_score": score}
