"""The table of metrics by label, against scikit-learn and the metrics of the averages."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics

RANDOM = np.random.default_rng(0)
Y = (RANDOM.random((60, 4)) < (0.1, 0.5, 0.3, 0.9)).astype(int)
PROBA = np.clip(0.2 + 0.5 * Y + RANDOM.normal(scale=0.3, size=Y.shape), 0, 1).round(1)
PRED = (PROBA >= 0.5).astype(int)
UNKNOWN = np.where(RANDOM.random(Y.shape) < 0.3, np.nan, Y)
WEIGHT = RANDOM.integers(1, 4, len(Y)).astype(float)
OF_LABELS = ["precision", "recall", "f1"]
OF_PROBA = ["average_precision", "roc_auc", "brier_score"]


@pytest.mark.parametrize("truth", [Y, UNKNOWN])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_agrees_with_scikit_learn(truth, weight):
    table = metrics.report(truth, PRED, PROBA, sample_weight=weight)
    assert table.columns.tolist() == ["known", "positives", *OF_LABELS, *OF_PROBA]
    for j in range(4):
        rows = ~np.isnan(truth[:, j])
        options = {"sample_weight": None if weight is None else weight[rows]}
        is_true, predicted, proba = truth[rows, j], PRED[rows, j], PROBA[rows, j]
        expected = [
            rows.sum() if weight is None else weight[rows].sum(),
            is_true.sum() if weight is None else is_true @ weight[rows],
            sk.precision_score(is_true, predicted, **options),
            sk.recall_score(is_true, predicted, **options),
            sk.f1_score(is_true, predicted, **options),
            sk.average_precision_score(is_true, proba, **options),
            sk.roc_auc_score(is_true, proba, **options),
            sk.brier_score_loss(is_true, proba, **options),
        ]
        np.testing.assert_allclose(table.loc[f"label_{j}"], expected)
    assert (table["known"].dtype.kind == "i") == (weight is None)


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("weight", [None, WEIGHT, RANDOM.integers(0, 3, Y.shape)])
def test_averages_are_the_metrics(average, weight):
    row = metrics.report(UNKNOWN, PRED, PROBA, sample_weight=weight).loc[f"{average} avg"]
    names = [*OF_LABELS, "average_precision", "roc_auc"]
    for name in names:
        predicted = PRED if name in OF_LABELS else PROBA
        metric = getattr(metrics, f"{average}_{name}")
        assert row[name] == pytest.approx(metric(UNKNOWN, predicted, sample_weight=weight))
    if average == "micro":
        expected = metrics.brier_score(UNKNOWN, PROBA, sample_weight=weight)
        assert row["brier_score"] == pytest.approx(expected)


def test_labels_without_values():
    truth = np.array([[0, 1, np.nan], [0, 1, np.nan]])
    table = metrics.report(truth, np.array([[0, 1, 1], [0, 0, 1]]), np.full((2, 3), 0.5))
    never, always, unknown = (table.iloc[j] for j in range(3))
    assert never[["known", "positives", *OF_LABELS]].tolist() == [2, 0, 0, 0, 0]
    assert never[OF_PROBA[:2]].isna().all()
    assert always["average_precision"] == 1
    assert np.isnan(always["roc_auc"])
    assert unknown[["known", "positives"]].tolist() == [0, 0]
    assert unknown[[*OF_LABELS, *OF_PROBA]].isna().all()
    macro = table.loc["macro avg"]
    assert macro[["known", "positives", "recall", "average_precision"]].tolist() == [4, 2, 0.25, 1]
    assert np.isnan(macro["roc_auc"])


def test_only_labels_or_probabilities():
    whole = metrics.report(UNKNOWN, PRED, PROBA)
    of_labels = metrics.report(UNKNOWN, PRED)
    pd.testing.assert_frame_equal(of_labels, whole.drop(columns=OF_PROBA))
    of_proba = metrics.report(UNKNOWN, Y_proba=PROBA)
    pd.testing.assert_frame_equal(of_proba, whole.drop(columns=OF_LABELS))


def test_names_and_forms():
    names = ["a", "b", "c", "d"]
    truth, pred = pd.DataFrame(Y, columns=names), pd.DataFrame(PRED, columns=names)
    table = metrics.report(truth, pred[names[::-1]], PROBA)
    assert table.index.tolist() == [*names, "micro avg", "macro avg"]
    by_name = metrics.report(sparse.csr_array(Y), PRED.tolist(), PROBA, label_names=names)
    pd.testing.assert_frame_equal(table, by_name)
    other = metrics.report(truth, PRED, label_names=["w", "x", "y", "z"])
    assert other.index[:4].tolist() == ["w", "x", "y", "z"]
    assert "<td>" in table.to_html()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Y,), {}, "Y_pred and Y_proba are both None; report needs one of them, or both"),
        ((Y, PRED), {"label_names": ["a"]}, "label_names has 1 names, but Y_true has 4 labels"),
        ((Y, None, PROBA + 1), {}, r"Y_proba\[\d, \d\] is .*, must be from 0 to 1"),
        ((Y, PROBA), {}, r"Y_pred\[\d, \d\] is .*, must be 0 or 1"),
        ((Y, PRED[:, :3]), {}, "shape"),
        ((Y * np.nan, PRED), {}, "Y_true has no known label"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.report(*arguments, **options)
