"""Records of metrics: complete, consistent with their functions, and shown in the guide."""

from pathlib import Path

import numpy as np
import pytest

from xdcc import metrics
from xdcc.boosting.eval_metric import MULTI_LABEL_METRICS
from xdcc.decision.label_metrics import MetricName
from xdcc.decision.proba_metrics import ProbaMetricName
from xdcc.metrics.record import METRICS, Metric, scored, takes_k
from xdcc.scoring import scorer_names

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "metrics.md"

Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
"""Rows and labels have both values."""


def test_every_function_has_a_record() -> None:
    functions = {getattr(metrics, name) for name in metrics.__all__}
    assert functions - {metrics.evaluate, metrics.report} == {
        record.function for record in METRICS.values()
    }


@pytest.mark.parametrize("record", METRICS.values(), ids=list(METRICS))
def test_direction(record: Metric) -> None:
    """Right predictions are better than wrong ones."""
    options = {"k": 1} if takes_k(record) else {}
    right, wrong = (record.sign * record.function(Y, each, **options) for each in (Y, 1 - Y))
    assert right > wrong


@pytest.mark.parametrize("record", METRICS.values(), ids=list(METRICS))
def test_scores_are_refused_where_labels_are_taken(record: Metric) -> None:
    options = {"k": 1} if takes_k(record) else {}
    half = np.full(Y.shape, 0.5)
    if record.takes == "labels":
        with pytest.raises(ValueError, match=r"0\.5"):
            record.function(Y, half, **options)
    else:
        assert np.isfinite(record.function(Y, half, **options))
    assert (record.counted is None) or record.takes == "labels"
    assert (record.drawn is None) or record.takes != "labels"


def test_scored_finds_the_metrics_of_scorers_only() -> None:
    for name in scorer_names():
        found = scored(name)
        assert found is not None
        assert found.scorer == name
    for name in ("log_loss", "neg_example_f1", "ndcg_at_k", "neg_ndcg_at_3", "f1_at_3", None, 3):
        assert scored(name) is None


def _line(record: Metric) -> str:
    scorer = record.scorer.replace("_at_k", "_at_3") if takes_k(record) else record.scorer
    is_aim = MetricName().accepts(scorer) or ProbaMetricName().accepts(scorer)
    name = record.function.__name__
    during = f"`{record.in_xgboost}`" if record.in_xgboost in MULTI_LABEL_METRICS else ""
    better = "higher" if record.higher_is_better else "lower"
    aim = f"`{scorer}`" if is_aim else ""
    return f"| `{name}` | {record.takes} | {better} | {aim} | {during} | {record.source} |"


def test_table_in_the_guide() -> None:
    """Made from the records; if it differs, the expected lines are in the message."""
    kinds = ("labels", "scores", "probabilities")
    records = sorted(METRICS.values(), key=lambda record: kinds.index(record.takes))
    lines = "\n".join(map(_line, records))
    assert lines in GUIDE.read_text("utf-8"), lines
