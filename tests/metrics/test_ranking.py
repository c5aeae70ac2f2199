"""Ranking metrics against numbers by hand, scikit-learn, and loops over known entries."""

from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics

# Rankings: true labels on ranks 1 and 2; on 2 and 3, with a tie; no true label; all labels true.
Y_RANKED = [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]]
Y_SCORE = [[0.9, 0.2, 0.6], [0.7, 0.7, 0.1], [0.3, 0.2, 0.1], [0.5, 0.4, 0.5]]
RANKING_BY_HAND = {
    "coverage_error": (3 + 2 + 0 + 3) / 4,
    "label_ranking_loss": (1 / 2 + 1 / 2 + 0 + 0) / 4,
    "one_error": (0 + 1 + 0 + 0) / 4,
    "label_ranking_average_precision_score": ((1 + 2 / 3) / 2 + 1 / 2 + 1 + 1) / 4,
}


def ranking_of_pairs(pairs):
    """The four metrics of the known (true, score) pairs of one sample."""
    true = [score for t, score in pairs if t]
    other = [score for t, score in pairs if not t]
    not_below = [
        ([s for s in true if s >= score], [s for _, s in pairs if s >= score]) for score in true
    ]
    return {
        "coverage_error": max((len(known) for _, known in not_below), default=0),
        "label_ranking_loss": (
            np.mean([t <= o for t in true for o in other]) if true and other else 0
        ),
        "one_error": bool(true and other and max(other) >= max(true)),
        "label_ranking_average_precision_score": (
            np.mean([len(hits) / len(known) for hits, known in not_below]) if true else 1
        ),
    }


def ranked_matrices(values=(0, 1), min_labels=1, max_labels=7):
    # With few distinct scores, ties are frequent.
    shapes = st.tuples(st.integers(1, 7), st.integers(min_labels, max_labels))
    return shapes.flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.float64, shape, elements=st.sampled_from(values)),
            hnp.arrays(np.float64, shape, elements=st.sampled_from((-1.5, 0, 0.25, 0.5, 2))),
            hnp.arrays(np.float64, shape[0], elements=st.integers(1, 4)),
        )
    )


@pytest.mark.parametrize("name", RANKING_BY_HAND)
def test_rankings_by_hand(name):
    value = getattr(metrics, name)(Y_RANKED, Y_SCORE)
    assert type(value) is float
    assert value == pytest.approx(RANKING_BY_HAND[name])


@pytest.mark.parametrize("name", [name for name in RANKING_BY_HAND if hasattr(sk, name)])
@settings(max_examples=60, deadline=None)
@given(case=ranked_matrices(min_labels=2))
def test_rankings_agree_with_scikit_learn(name, case):
    Y_true, Y_score, weight = case
    ours = getattr(metrics, name)(Y_true, Y_score, sample_weight=weight)
    assert ours == pytest.approx(getattr(sk, name)(Y_true, Y_score, sample_weight=weight))


@settings(max_examples=100, deadline=None)
@given(ranked_matrices((0, 1, np.nan)))
def test_rankings_agree_with_a_loop_over_known_entries(case):
    Y_true, Y_score, weight = case
    rows = [
        ([(t, s) for t, s in zip(true, score, strict=True) if not np.isnan(t)], w)
        for true, score, w in zip(Y_true, Y_score, weight, strict=True)
    ]
    rows = [(pairs, w) for pairs, w in rows if pairs]
    for name in RANKING_BY_HAND:
        measure = partial(getattr(metrics, name), sample_weight=weight)
        if not rows:
            with pytest.raises(ValueError, match="no known label"):
                measure(Y_true, Y_score)
            continue
        expected = np.average(
            [float(ranking_of_pairs(pairs)[name]) for pairs, _ in rows],
            weights=[w for _, w in rows],
        )
        assert measure(Y_true, Y_score) == pytest.approx(expected), name
        # The score of an unknown label is ignored, even if it is the highest one.
        other = np.where(np.isnan(Y_true), 9 - Y_score, Y_score)
        assert measure(Y_true, other) == measure(Y_true, Y_score), name


def test_unknown_label_with_the_same_score_is_not_a_tie():
    Y_true, Y_score = [[1, 0, np.nan, np.nan]], [[0.1, 0.9, 0.1, 0.1]]
    assert metrics.label_ranking_average_precision_score(Y_true, Y_score) == 1 / 2
    assert metrics.coverage_error(Y_true, Y_score) == 2


@pytest.mark.parametrize("name", RANKING_BY_HAND)
def test_rankings_over_many_blocks_of_rows(name):
    times = 2**17
    Y_true, Y_score = (np.repeat(Y, times, axis=0) for Y in (Y_RANKED, Y_SCORE))
    assert getattr(metrics, name)(Y_true, Y_score) == pytest.approx(RANKING_BY_HAND[name])


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, pd.DataFrame, list])
@pytest.mark.parametrize("name", RANKING_BY_HAND)
def test_containers_give_equal_rankings(name, container):
    Y_true, Y_score = container(np.array(Y_RANKED)), container(np.array(Y_SCORE))
    assert getattr(metrics, name)(Y_true, Y_score) == pytest.approx(RANKING_BY_HAND[name])


@pytest.mark.parametrize(
    ("Y_true", "Y_score", "message"),
    [
        ([[0, 1]], [[0.1, 0.2, 0.3]], r"Y_true and Y_score must have the same shape .*\(1, 3\)"),
        ([[0, 1]], [[0.1, np.nan]], r"Y_score\[0, 1\] is nan, must be finite"),
        ([[0, 1], [1, 1]], [[0.1, 0], [-np.inf, 0]], r"Y_score\[1, 0\] is -inf, must be finite"),
        ([[0, 1]], [["a", "b"]], "Y_score must be a matrix of finite numbers"),
        ([[0, 1]], [[[0.1, 0.9]], [[0.2, 0.8]]], r"Y_score must have .*got shape \(2, 1, 2\)"),
        ([[0, 2]], [[0.1, 0.2]], r"Y_true\[0, 1\] is 2, must be 0, 1 or NaN"),
    ],
)
@pytest.mark.parametrize("name", RANKING_BY_HAND)
def test_invalid_rankings_are_rejected(name, Y_true, Y_score, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(Y_true, Y_score)


def first_k_of_pairs(pairs, k, discount):
    """The mean over all orders of (true, score) pairs with equal scores of the discounted sum."""
    ranked = sorted((score for _, score in pairs), reverse=True)
    orders = [order for order in permutations(pairs) if [score for _, score in order] == ranked]
    truth = np.array(orders)[:, :k, 0]
    return (truth @ discount[: truth.shape[1]]).mean()


@settings(max_examples=60, deadline=None)
@given(ranked_matrices((0, 1, np.nan), max_labels=5), st.data())
def test_the_first_k_of_all_orders(case, draw):
    Y_true, Y_score, weight = case
    k = draw.draw(st.integers(1, Y_true.shape[1]))
    discount = 1 / np.log2(np.arange(2, k + 2))
    precisions, gains, weights = [], [], []
    for true, score, w in zip(Y_true, Y_score, weight, strict=True):
        pairs = [(t, s) for t, s in zip(true, score, strict=True) if not np.isnan(t)]
        if not pairs:
            continue
        precisions.append(first_k_of_pairs(pairs, k, np.ones(k)) / min(k, len(pairs)))
        best = discount[: int(sum(t for t, _ in pairs))].sum()
        gains.append(first_k_of_pairs(pairs, k, discount) / best if best else 0)
        weights.append(w)
    assume(weights)
    options = {"k": k, "sample_weight": weight}
    found = metrics.precision_at_k(Y_true, Y_score, **options)
    assert found == pytest.approx(np.average(precisions, weights=weights))
    found = metrics.ndcg_at_k(Y_true, Y_score, **options)
    assert found == pytest.approx(np.average(gains, weights=weights))


@settings(max_examples=60, deadline=None)
@given(ranked_matrices(min_labels=2), st.data())
def test_ndcg_is_scikit_learns(case, draw):
    Y_true, Y_score, weight = case
    k = draw.draw(st.integers(1, Y_true.shape[1]))
    ours = metrics.ndcg_at_k(Y_true, Y_score, k=k, sample_weight=weight)
    assert ours == pytest.approx(sk.ndcg_score(Y_true, Y_score, k=k, sample_weight=weight))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_precision_at_k_is_scikit_learns_precision_of_the_first_k(k):
    random = np.random.default_rng(k)
    Y_true, Y_score = random.integers(0, 2, (30, 5)), random.random((30, 5))
    first = np.argsort(np.argsort(-Y_score, axis=1), axis=1) < k
    expected = sk.precision_score(Y_true, first, average="samples")
    assert metrics.precision_at_k(Y_true, Y_score, k=k) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [metrics.precision_at_k, metrics.ndcg_at_k])
@pytest.mark.parametrize("k", [0, 4, -1, 1.5, None, "x"])
def test_other_k_are_rejected(metric, k):
    with pytest.raises(ValueError, match=r"k=.*a whole number at least 1 and at most 3"):
        metric(Y_RANKED, Y_SCORE, k=k)
