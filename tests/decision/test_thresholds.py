"""xdcc.decision on arrays against exhaustive search, numbers by hand, and scikit-learn."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics
from xdcc.decision import (
    apply_thresholds,
    best_threshold,
    best_thresholds_per_label,
    pcut,
    per_label_pcut,
)
from xdcc.decision.cuts import Cuts
from xdcc.decision.label_metrics import COUNTED

NAN = np.nan
# Few distinct values, so that ties are common; the ends of the range among them.
PROBAS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])


@st.composite
def validation_cases(draw, max_rows=5, max_labels=3):
    """True labels (some unknown), probabilities, and weights of the rows."""
    shape = (draw(st.integers(1, max_rows)), draw(st.integers(1, max_labels)))
    Y_true = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, 1.0, NAN])))
    Y_true[0, 0] = draw(st.sampled_from([0.0, 1.0]))
    Y_proba = draw(hnp.arrays(np.float64, shape, elements=PROBAS))
    return Y_true, Y_proba, draw(hnp.arrays(np.int64, shape[0], elements=st.integers(1, 3)))


def all_cuts(values):
    """Every threshold that makes a difference, straight from the definition."""
    distinct = sorted(set(np.ravel(values)), reverse=True)
    middles = [(upper + lower) / 2 for upper, lower in pairwise(distinct)]
    return [2.0, *middles, -1.0]


def measured(name, Y_true, Y_proba, thresholds, weight=None):
    labels = apply_thresholds(Y_proba, thresholds)
    return getattr(metrics, name)(Y_true, labels, sample_weight=weight)


def _check_no_single_threshold_can_be_improved(name, Y_true, Y_proba, found, weight=None):
    value = measured(name, Y_true, Y_proba, found, weight)
    for label, column in enumerate(Y_proba.T):
        for cut in all_cuts(column):
            other = found.copy()
            other[label] = cut
            assert measured(name, Y_true, Y_proba, other, weight) <= value + 1e-9


# Cuts, and what a threshold does


def test_cuts_by_hand():
    cuts = Cuts.of(np.array([0.2, 0.8, 0.8, 0.4]))
    np.testing.assert_allclose(cuts.thresholds, [0.9, 0.6, 0.3, 0.1])
    np.testing.assert_array_equal(cuts.sizes, [0, 2, 3, 4])
    np.testing.assert_array_equal(cuts.order, [1, 2, 3, 0])
    np.testing.assert_array_equal(
        cuts.sums(np.array([1.0, 10.0, 100.0, 1000.0])), [0, 110, 1110, 1111]
    )


@given(
    st.lists(
        st.one_of(
            st.floats(0, 1),
            st.sampled_from(
                [0.0, 1.0, 0.5, np.nextafter(0.5, 1), np.nextafter(1, 0), -1e-7, 1 + 1e-7]
            ),
        ),
        min_size=1,
        max_size=8,
    ).map(np.array)
)
def test_every_cut_predicts_the_first_rows_in_its_order(proba):
    cuts = Cuts.of(proba)
    assert len(cuts.thresholds) == len(set(proba)) + 1
    for threshold, size in zip(cuts.thresholds, cuts.sizes, strict=True):
        predicted = set(np.flatnonzero(proba >= threshold))
        assert predicted == set(cuts.order[:size])


def test_apply_thresholds_by_hand():
    Y_proba = [[0.5, 0.2], [0.49, 0.3]]
    np.testing.assert_array_equal(apply_thresholds(Y_proba, 0.5), [[1, 0], [0, 0]])
    labels = apply_thresholds(Y_proba, [0.45, 0.3])
    np.testing.assert_array_equal(labels, [[1, 0], [1, 1]])
    assert labels.dtype == np.int64


def test_single_precision_is_compared_in_double_precision():
    lower, upper = np.float32(0.3), np.nextafter(np.float32(0.3), np.float32(1))
    Y_proba = np.array([[lower, upper]])
    threshold = best_threshold([[0, 1]], Y_proba, "micro_f1")
    np.testing.assert_array_equal(apply_thresholds(Y_proba, threshold), [[0, 1]])


@pytest.mark.parametrize(
    ("Y_proba", "thresholds", "message"),
    [
        ([[0.5, 1.5]], 0.5, r"Y_proba\[0, 1\] is 1.5; a probability is between 0 and 1"),
        ([[0.5], [NAN]], 0.5, r"Y_proba\[1, 0\] is nan"),
        ([0.5, 0.1], 0.5, r"Y_proba has shape \(2,\); it must be \(n_samples, n_labels\)"),
        (np.empty((0, 2)), 0.5, r"Y_proba has shape \(0, 2\)"),
        ([["a"]], 0.5, "Y_proba must be a matrix of probabilities: could not convert"),
        ([[0.5, 0.5]], [0.5] * 3, r"for each of 2; got float64 of shape \(3,\)"),
        ([[0.5, 0.5]], "half", "A threshold is a number"),
        ([[0.5, 0.5]], [0.5, NAN], "A threshold is NaN"),
    ],
)
def test_apply_thresholds_refuses(Y_proba, thresholds, message):
    with pytest.raises(ValueError, match=message):
        apply_thresholds(Y_proba, thresholds)


# PCut


def test_pcut_by_hand():
    Y_proba = [[0.9, 0.6], [0.4, 0.1]]
    assert pcut(Y_proba, 0.5) == 0.5
    assert pcut(Y_proba, 0.26) == 0.75
    assert pcut(Y_proba, 0) == 0.95
    assert pcut(Y_proba, 1) == 0.05
    np.testing.assert_allclose(per_label_pcut(Y_proba, [0.5, 1.0]), [0.65, 0.05])


def test_pcut_predicts_fewer_labels_when_two_cuts_are_equally_near():
    assert pcut([[0.9, 0.6], [0.4, 0.1]], 0.375) == 0.75
    # 1/3 and 2/3 are equally near; in floating point 2/3 would be nearer.
    thirds = np.array([[0.9], [0.5], [0.1]])
    assert apply_thresholds(thirds, pcut(thirds, 0.5)).sum() == 1


def test_pcut_predicts_equal_probabilities_together():
    Y_proba = np.array([[0.7, 0.7], [0.7, 0.1]])
    assert apply_thresholds(Y_proba, pcut(Y_proba, 0.5)).sum() == 3
    assert apply_thresholds(Y_proba, pcut(Y_proba, 0.3)).sum() == 0


@given(validation_cases(max_rows=6), st.floats(0, 1))
def test_no_cut_is_nearer_to_the_density_than_pcut(case, density):
    _, Y_proba, weight = case

    def distance(threshold):
        predicted = apply_thresholds(Y_proba, threshold).mean(axis=1)
        return abs(np.average(predicted, weights=weight) - density)

    found = pcut(Y_proba, density, sample_weight=weight)
    assert distance(found) <= min(map(distance, all_cuts(Y_proba))) + 1e-9
    columns = [pcut(column[:, np.newaxis], density, sample_weight=weight) for column in Y_proba.T]
    frequencies = np.full(len(columns), density)
    per_label = per_label_pcut(Y_proba, frequencies, sample_weight=weight)
    np.testing.assert_array_equal(per_label, columns)


@pytest.mark.parametrize(
    ("choose", "share", "message"),
    [
        (pcut, 1.2, r"share between 0 and 1; got 1.2"),
        (pcut, NAN, "share between 0 and 1; got nan"),
        (pcut, [0.1, 0.2], r"must be one number; got float64 of shape \(2,\)"),
        (
            per_label_pcut,
            0.5,
            r"must be 2 numbers, one for each label; got float64 of shape \(\)",
        ),
        (per_label_pcut, [0.5, -0.1], "share between 0 and 1"),
        (per_label_pcut, ["a", "b"], "2 numbers, one for each label"),
    ],
)
def test_pcut_refuses(choose, share, message):
    with pytest.raises(ValueError, match=message):
        choose([[0.5, 0.5]], share)


@pytest.mark.parametrize(("choose", "share"), [(pcut, 0.5), (per_label_pcut, [0.5, 0.5])])
def test_pcut_refuses_an_empty_test_set(choose, share):
    with pytest.raises(ValueError, match=r"Y_proba has shape \(0, 2\); it must be \(n_samples"):
        choose(np.empty((0, 2)), share)


def test_pcut_refuses_weights_of_other_rows():
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\)"):
        pcut([[0.5, 0.5]], 0.5, sample_weight=[1, 2])


# One threshold for all labels


def test_best_threshold_by_hand():
    Y_true, Y_proba = [[1, 0], [1, 0]], [[0.9, 0.3], [0.4, 0.2]]
    # Only between 0.3 and 0.4 everything is right.
    for name in COUNTED:
        assert best_threshold(Y_true, Y_proba, name) == pytest.approx(0.35), name
    # Lowering the threshold gives a micro F1 of 1/2, 4/5, 2/3 and, with all predicted, 6/7.
    assert best_threshold([[1, 0], [1, 1]], Y_proba, "micro_f1") == pytest.approx(0.1)


@settings(max_examples=150, deadline=None)
@given(validation_cases(), st.sampled_from(list(COUNTED)))
def test_no_cut_is_better_than_the_best_threshold(case, name):
    Y_true, Y_proba, weight = case
    found = best_threshold(Y_true, Y_proba, name, sample_weight=weight)
    best = max(measured(name, Y_true, Y_proba, cut, weight) for cut in all_cuts(Y_proba))
    assert measured(name, Y_true, Y_proba, found, weight) == pytest.approx(best)


@settings(max_examples=50, deadline=None)
@given(validation_cases(), st.sampled_from(list(COUNTED)))
def test_a_callable_finds_what_its_name_finds(case, name):
    Y_true, Y_proba, weight = case
    for weights in ({}, {"sample_weight": weight}):
        found = best_threshold(Y_true, Y_proba, getattr(metrics, name), **weights)
        assert found == best_threshold(Y_true, Y_proba, name, **weights)


@settings(max_examples=50, deadline=None)
@given(validation_cases(), st.sampled_from(list(COUNTED)))
def test_weights_are_repeated_rows(case, name):
    Y_true, Y_proba, weight = case
    repeated = np.repeat(Y_true, weight, axis=0), np.repeat(Y_proba, weight, axis=0)
    for choose in (best_threshold, best_thresholds_per_label):
        options = {} if choose is best_threshold else {"min_positive": 0}
        weighted = choose(Y_true, Y_proba, name, sample_weight=weight, **options)
        np.testing.assert_array_equal(weighted, choose(*repeated, name, **options))


@pytest.mark.parametrize(("name", "average"), [("example_f1", "samples"), ("macro_f1", "macro")])
def test_best_threshold_with_scikit_learns_measure(name, average):
    rng = np.random.default_rng(1)
    Y_true = (rng.random((40, 4)) < 0.4).astype(int)
    Y_proba = (0.3 * Y_true + 0.7 * rng.random(Y_true.shape)).astype(np.float32)
    scores = [
        sk.f1_score(
            Y_true,
            apply_thresholds(Y_proba, cut),
            average=average,
            zero_division=1 if average == "samples" else 0,
        )
        for cut in all_cuts(Y_proba.astype(np.float64))
    ]
    found = measured(name, Y_true, Y_proba, best_threshold(Y_true, Y_proba, name))
    assert found == pytest.approx(max(scores))


def test_ties_go_to_the_cut_nearest_to_one_half_then_the_higher():
    # No cut has a row right, since the lower probability is the true label.
    Y_true = [[0, 1], [0, 1]]
    assert best_threshold(Y_true, [[0.9, 0.45], [0.8, 0.4]], "subset_accuracy") == pytest.approx(
        0.425
    )
    # 0.75 and 0.25 are equally near, and neither is right.
    assert best_threshold([[0, 1]], [[1.0, 0.5]], "subset_accuracy") == 0.75


def test_a_callable_is_tried_on_at_most_max_candidates_thresholds():
    Y_proba = np.random.default_rng(0).random((50, 3))
    Y_true = (Y_proba > 0.4).astype(int)
    predicted = []

    def measure(truth, labels):
        predicted.append(labels.sum())
        return metrics.micro_f1(truth, labels)

    found = best_threshold(Y_true, Y_proba, measure, max_candidates=16)
    # 151 cuts: every tenth.
    assert predicted == list(range(0, 151, 10))
    assert abs(apply_thresholds(Y_proba, found).sum() - Y_true.sum()) <= 5

    best_threshold(Y_true, Y_proba, measure, max_candidates=151)
    assert len(predicted) == 16 + 151


def test_sparse_labels_and_data_frames():
    Y_true, Y_proba = np.array([[1, 0], [1, 0]]), np.array([[0.9, 0.3], [0.4, 0.2]])
    for form in (sparse.csc_array, pd.DataFrame, np.ndarray.tolist):
        assert best_threshold(form(Y_true), Y_proba) == pytest.approx(0.35)


# A threshold for each label


@settings(max_examples=100, deadline=None)
@given(validation_cases(), st.sampled_from(["macro_f1", "hamming_accuracy"]))
def test_separable_measures_are_maximised_exactly(case, name):
    Y_true, Y_proba, weight = case
    found = best_thresholds_per_label(Y_true, Y_proba, name, sample_weight=weight, min_positive=0)
    per_label = product(*(all_cuts(column) for column in Y_proba.T))
    best = max(measured(name, Y_true, Y_proba, cuts, weight) for cuts in per_label)
    assert measured(name, Y_true, Y_proba, found, weight) == pytest.approx(best)


@settings(max_examples=150, deadline=None)
@given(validation_cases(), st.sampled_from(list(COUNTED)))
def test_no_single_threshold_can_be_improved(case, name):
    Y_true, Y_proba, weight = case
    found = best_thresholds_per_label(Y_true, Y_proba, name, sample_weight=weight, min_positive=0)
    value = measured(name, Y_true, Y_proba, found, weight)
    common = best_threshold(Y_true, Y_proba, name, sample_weight=weight)
    assert value >= measured(name, Y_true, Y_proba, common, weight) - 1e-9
    _check_no_single_threshold_can_be_improved(name, Y_true, Y_proba, found, weight)


@pytest.mark.parametrize("name", COUNTED)
def test_no_single_threshold_can_be_improved_with_more_rows(name):
    # With this seed all metrics but the separable ones need a second pass through the labels.
    rng = np.random.default_rng(19)
    Y_true = (rng.random((30, 6)) < 0.4).astype(float)
    Y_proba = 0.3 * Y_true + 0.7 * rng.random(Y_true.shape)
    found = best_thresholds_per_label(Y_true, Y_proba, name, min_positive=0)
    _check_no_single_threshold_can_be_improved(name, Y_true, Y_proba, found)


@settings(max_examples=50, deadline=None)
@given(validation_cases())
def test_per_label_with_a_callable_is_the_maximum_of_macro_f1(case):
    Y_true, Y_proba, weight = case  # with fewer cuts than a callable sees
    found, by_name = (
        best_thresholds_per_label(Y_true, Y_proba, measure, sample_weight=weight, min_positive=0)
        for measure in (metrics.macro_f1, "macro_f1")
    )
    value = measured("macro_f1", Y_true, Y_proba, found, weight)
    assert value == pytest.approx(measured("macro_f1", Y_true, Y_proba, by_name, weight))


def test_per_label_with_a_callable_that_has_no_name():
    def product_of_recalls(Y_true, Y_pred):
        recall = (Y_true * Y_pred).sum(axis=0) / Y_true.sum(axis=0)
        return float(recall.prod() - Y_pred.mean())

    rng = np.random.default_rng(2)
    Y_true = (rng.random((200, 3)) < [0.5, 0.3, 0.1]).astype(float)
    Y_proba = (0.4 * Y_true + 0.6 * rng.random(Y_true.shape)) * [1.0, 0.5, 0.25]
    common = best_threshold(Y_true, Y_proba, product_of_recalls)
    found = best_thresholds_per_label(Y_true, Y_proba, product_of_recalls)
    common_score, score = (
        product_of_recalls(Y_true, apply_thresholds(Y_proba, cut)) for cut in (common, found)
    )
    assert score > common_score + 0.02
    assert len(set(found)) > 1


def test_per_label_by_hand():
    # The labels' probabilities lie apart: each has a perfect threshold, together they have none.
    Y_true = [[1, 1], [1, 1], [0, 0]]
    Y_proba = [[0.9, 0.2], [0.8, 0.2], [0.4, 0.1]]
    for name in COUNTED:
        found = best_thresholds_per_label(Y_true, Y_proba, name, min_positive=2)
        assert measured(name, Y_true, Y_proba, found) == 1, name
        assert measured(name, Y_true, Y_proba, best_threshold(Y_true, Y_proba, name)) < 1, name
    # A threshold for all labels has at best 8/9 in micro F1, with all but 0.1 predicted: 0.15.
    # Label 1 is right with it and keeps it; label 0 is right between 0.4 and 0.8.
    found = best_thresholds_per_label(Y_true, Y_proba, "micro_f1", min_positive=2)
    np.testing.assert_allclose(found, [0.6, 0.15])


def test_rare_labels_keep_the_threshold_for_all_labels():
    rng = np.random.default_rng(4)
    Y_true = (rng.random((60, 3)) < [0.4, 0.3, 0.5]).astype(float)
    Y_true[:, 2] = 0
    Y_true[[3, 8, 9], 2] = 1
    Y_true[8, :2] = NAN
    Y_proba = [1, 0.9, 0.05] * (0.4 * np.nan_to_num(Y_true) + 0.5 * rng.random(Y_true.shape))
    common = best_threshold(Y_true, Y_proba, "macro_f1")
    own = best_thresholds_per_label(Y_true, Y_proba, "macro_f1", min_positive=3)
    assert own[2] < 0.05 < common
    rare = best_thresholds_per_label(Y_true, Y_proba, "macro_f1", min_positive=4)
    np.testing.assert_array_equal(rare, [own[0], own[1], common])
    # Row 9 has no weight: two rows of the label are left.
    weight = np.ones(60)
    weight[9] = 0
    two, three = (
        best_thresholds_per_label(
            Y_true, Y_proba, "macro_f1", sample_weight=weight, min_positive=min_positive
        )
        for min_positive in (2, 3)
    )
    common = best_threshold(Y_true, Y_proba, "macro_f1", sample_weight=weight)
    assert two[2] < 0.05 < common
    np.testing.assert_array_equal(three, [two[0], two[1], common])


def test_ties_go_to_the_cut_nearest_to_the_threshold_for_all_labels():
    # Label 0 has F1 2/3 with one or with all rows predicted; the others ask for 0.3.
    Y_true = [[1, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 0]]
    others = np.array([0.35, 0.35, 0.35, 0.25])
    Y_proba = np.column_stack(([0.9, 0.6, 0.5, 0.2], others, others, others))
    assert best_threshold(Y_true, Y_proba, "macro_f1") == pytest.approx(0.3)
    found = best_thresholds_per_label(Y_true, Y_proba, "macro_f1", min_positive=2)
    np.testing.assert_allclose(found, [0.1, 0.3, 0.3, 0.3])


def test_a_label_that_nothing_improves_keeps_the_threshold_for_all_labels():
    # Label 1 is never true and never near; label 2 is unknown.
    Y_true = [[1, 0, NAN], [0, 0, NAN], [1, 0, NAN]]
    Y_proba = [[0.9, 0.01, 0.3], [0.6, 0.02, 0.4], [0.8, 0.03, 0.5]]
    found = best_thresholds_per_label(Y_true, Y_proba, "micro_f1", min_positive=0)
    np.testing.assert_allclose(found, [0.7, 0.7, 0.7])


@pytest.mark.parametrize("choose", [best_threshold, best_thresholds_per_label])
@pytest.mark.parametrize(
    ("Y_true", "options", "message"),
    [
        ([[1, 0]], {"measure": "accuracy"}, "measure='accuracy': it must be one of 'hamming_ac"),
        ([[1]], {}, r"the same shape \(n_samples, n_labels\), got \(1, 1\) and \(1, 2\)"),
        ([[1, 2]], {}, "Y holds 2 in row 0 for label 'label_1'"),
        ([[NAN, NAN]], {}, "no known label in a row of positive weight"),
        ([[1, 0]], {"sample_weight": [-1]}, "sample_weight is -1.0 in row 0"),
    ],
)
def test_choosing_refuses(choose, Y_true, options, message):
    with pytest.raises(ValueError, match=message):
        choose(Y_true, [[0.5, 0.6]], **options)


def test_choosing_refuses_limits_out_of_range():
    with pytest.raises(ValueError, match="max_candidates=1: it must be a whole number"):
        best_threshold([[1, 0]], [[0.5, 0.6]], metrics.micro_f1, max_candidates=1)
    with pytest.raises(ValueError, match="min_positive=-1: it must be a whole number"):
        best_thresholds_per_label([[1, 0]], [[0.5, 0.6]], min_positive=-1)
    with pytest.raises(ValueError, match="it must be one of 'hamming_accuracy'"):
        best_thresholds_per_label([[1, 0]], [[0.5, 0.6]], "f1")
