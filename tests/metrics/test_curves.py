"""Areas under ROC and precision-recall curves against scikit-learn on the known entries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics

Y_TRUE = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
Y_SCORE = np.array([[0.9, 0.4, 0.1], [0.1, 0.5, 0.3], [0.9, 0.6, 0.2], [0.4, 0.4, 0.8]])


def cases(values):
    # With few distinct scores, ties are frequent.
    return st.tuples(st.integers(1, 9), st.integers(1, 4)).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.float64, shape, elements=st.sampled_from(values)),
            hnp.arrays(np.float64, shape, elements=st.sampled_from((-1.5, 0, 0.25, 2))),
            hnp.arrays(np.float64, shape[0], elements=st.integers(0, 3)),
        )
    )


@settings(max_examples=100, deadline=None)
@given(cases((0, 1, np.nan)))
def test_agrees_with_scikit_learn_on_known_entries(case):
    Y_true, Y_score, weight = case
    known = ~np.isnan(Y_true) & (weight[:, np.newaxis] > 0)
    assume(known.any())
    areas = [
        sk.roc_auc_score(truth[use], score[use], sample_weight=weight[use])
        for truth, score, use in zip(Y_true.T, Y_score.T, known.T, strict=True)
        if len(np.unique(truth[use])) == 2
    ]
    if areas:
        found = metrics.macro_roc_auc(Y_true, Y_score, sample_weight=weight)
        assert found == pytest.approx(np.mean(areas))
    else:
        with pytest.raises(ValueError, match="No label has known entries of both values"):
            metrics.macro_roc_auc(Y_true, Y_score, sample_weight=weight)
    if len(np.unique(Y_true[known])) == 2:
        of_entries = np.broadcast_to(weight[:, np.newaxis], known.shape)[known]
        expected = sk.roc_auc_score(Y_true[known], Y_score[known], sample_weight=of_entries)
        found = metrics.micro_roc_auc(Y_true, Y_score, sample_weight=weight)
        assert found == pytest.approx(expected)
    else:
        with pytest.raises(ValueError, match=r"All known entries .* are equal"):
            metrics.micro_roc_auc(Y_true, Y_score, sample_weight=weight)


@settings(max_examples=100, deadline=None)
@given(cases((0, 1, np.nan)))
def test_average_precision_agrees_with_scikit_learn_on_known_entries(case):
    Y_true, Y_score, weight = case
    known = ~np.isnan(Y_true) & (weight[:, np.newaxis] > 0)
    assume(known.any())
    of_labels = [
        sk.average_precision_score(truth[use], score[use], sample_weight=weight[use])
        for truth, score, use in zip(Y_true.T, Y_score.T, known.T, strict=True)
        if (truth[use] == 1).any()
    ]
    if not of_labels:
        for metric, message in (
            (metrics.macro_average_precision, "No label has a known 1"),
            (metrics.micro_average_precision, "No known entry .* is 1"),
        ):
            with pytest.raises(ValueError, match=message):
                metric(Y_true, Y_score, sample_weight=weight)
        return
    found = metrics.macro_average_precision(Y_true, Y_score, sample_weight=weight)
    assert found == pytest.approx(np.mean(of_labels))
    of_entries = np.broadcast_to(weight[:, np.newaxis], known.shape)[known]
    expected = sk.average_precision_score(Y_true[known], Y_score[known], sample_weight=of_entries)
    found = metrics.micro_average_precision(Y_true, Y_score, sample_weight=weight)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_agrees_with_scikit_learn_on_matrices(average, name):
    random = np.random.default_rng(0)
    Y_true, Y_score = random.integers(0, 2, (50, 4)), random.random((50, 4)).round(1)
    ours = getattr(metrics, f"{average}_{name}")(Y_true, Y_score)
    expected = getattr(sk, f"{name}_score")(Y_true, Y_score, average=average)
    assert ours == pytest.approx(expected)


def test_by_hand():
    # Label 0: true 0.9, 0.4, other 0.1, 0.9; label 1: true 0.4, 0.6, other 0.5, 0.4.
    assert metrics.macro_roc_auc(Y_TRUE, Y_SCORE) == pytest.approx((2.5 / 4 + 2.5 / 4) / 2)


def test_average_precision_by_hand():
    # Label 0: precision 1/2 from the score 0.9 on, 2/3 from 0.4 on; label 1: 1 and 1/2.
    found = metrics.macro_average_precision(Y_TRUE, Y_SCORE)
    assert found == pytest.approx(((1 / 2 + 2 / 3) / 2 + (1 + 2 / 4) / 2) / 2)


@pytest.mark.parametrize(
    "name",
    ["macro_roc_auc", "micro_roc_auc", "macro_average_precision", "micro_average_precision"],
)
def test_forms_and_many_blocks_of_rows(name):
    metric = getattr(metrics, name)
    expected = metric(Y_TRUE, Y_SCORE)
    for container in (sparse.csr_array, pd.DataFrame, list):
        assert metric(container(Y_TRUE), container(Y_SCORE)) == expected
    times = 2**16
    many = metric(np.repeat(Y_TRUE, times, axis=0), np.repeat(Y_SCORE, times, axis=0))
    assert many == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"Y_score\[0, 0\] is nan, must be finite"):
        metric([[1, 0]], [[np.nan, 1]])
