"""Known labelsets, and how probable each of them is for a row."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.margins import margins_of
from xdcc.decision.f1_maximiser import SizedMarginals
from xdcc.decision.labelsets import KnownLabelsets, LabelsetPosterior

Y = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]])


def test_collects_labelsets() -> None:
    for labels in (Y, sparse.csr_matrix(Y), np.vstack((Y, [[1, np.nan, 1]]))):
        known = KnownLabelsets.of(labels)
        np.testing.assert_array_equal(known.labelsets, [[0, 0, 1], [0, 1, 1], [1, 0, 0]])
        np.testing.assert_array_equal(known.counts, [1, 1, 2])


def test_by_hand() -> None:
    known = KnownLabelsets.of(Y)
    # .6 .6 .3 -> 001: .4*.4*.3 = .048, 011: .4*.6*.3 = .072, 100: .6*.4*.7 = .168
    # .2 .6 .9 -> 001: .288, 011: .432, 100: .008; twice as probable with prior 1: still 011
    Y_proba = [[0.6, 0.6, 0.3], [0.2, 0.6, 0.9]]
    np.testing.assert_array_equal(known.most_probable(Y_proba), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(known.most_probable(Y_proba, prior=1), [[1, 0, 0], [0, 1, 1]])
    # .45 .5 .6 -> 011: .55*.5*.6 = .165, 100: .45*.5*.4 = .09, twice that is .18
    Y_proba = [[0.45, 0.5, 0.6]]
    np.testing.assert_array_equal(known.most_probable(Y_proba), [[0, 0, 1]])  # tie with 011
    np.testing.assert_array_equal(known.most_probable(Y_proba, prior=1), [[1, 0, 0]])


def test_certain_labels_rule_nothing_out() -> None:
    np.testing.assert_array_equal(
        KnownLabelsets.of([[1, 0], [0, 1]]).most_probable([[1.0, 1.0]], prior=0), [[0, 1]]
    )


@given(
    Y_proba=arrays(np.float64, (7, 4), elements=st.floats(0.01, 0.99)),
    labels=arrays(np.int8, (12, 4), elements=st.sampled_from([0, 1])),
    prior=st.sampled_from([0.0, 0.5, 2.0]),
)
@settings(max_examples=100, deadline=None)
def test_no_known_labelset_is_more_probable(
    Y_proba: NDArray[np.float64], labels: NDArray[np.int8], prior: float
) -> None:
    found = KnownLabelsets.of(labels).most_probable(Y_proba, prior=prior)
    rows = [tuple(row) for row in labels.tolist()]

    def score(p: NDArray[np.float64], labelset: tuple[int, ...]) -> float:
        product = np.prod([q if y else 1 - q for q, y in zip(p, labelset, strict=True)])
        return float(product * rows.count(labelset) ** prior)

    for p, one in zip(Y_proba, found.tolist(), strict=True):
        assert tuple(one) in rows
        best = max(score(p, y) for y in itertools.product((0, 1), repeat=4) if y in rows)
        assert score(p, tuple(one)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KnownLabelsets.of([[np.nan, 1]]), "Every row of Y has an unknown label"),
        (lambda: KnownLabelsets.of([[2, 1]]), "Unknown label type: Y holds 2"),
        (lambda: KnownLabelsets.of(Y).most_probable([[0.5, 0.5]]), "Y_proba has 2 labels, the"),
        (
            lambda: KnownLabelsets.of(Y).most_probable([[0.5, 2, 1]]),
            r"Y_proba\[0, 1\] is 2; a probability is between 0 and 1",
        ),
        (
            lambda: KnownLabelsets.of(Y).most_probable([[0.5, 0, 1]], prior=-1),
            "prior=-1: it must be",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def plain_posterior(labelsets, counts, proba, temperature, prior):
    """Row by row and labelset by labelset: P(U | x), (n_samples, n_sets)."""
    found = np.empty((len(proba), len(labelsets)))
    for row, p in enumerate(proba):
        for number, labelset in enumerate(labelsets):
            likelihood = np.prod([q if y else 1 - q for q, y in zip(p, labelset, strict=True)])
            found[row, number] = likelihood**temperature * counts[number] ** prior
        found[row] /= found[row].sum()
    return found


def example(seed, n_rows=7):
    random = np.random.default_rng(seed)
    n_labels = random.integers(1, 6)
    Y = random.integers(0, 2, size=(random.integers(1, 12), n_labels))
    weight = random.integers(1, 5, size=len(Y)).astype(float)
    return Y, weight, random.uniform(0.01, 0.99, size=(n_rows, n_labels))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.5, 0.75, 1.0]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_plain_loop(seed, temperature, prior, weighted):
    Y, weight, proba = example(seed)
    known = KnownLabelsets.of(Y, weight if weighted else None)
    by_count = np.lexsort((np.arange(len(known.counts)), -known.counts))
    labelsets = known.labelsets[by_count]
    plain = plain_posterior(labelsets, known.counts[by_count], proba, temperature, prior)
    margins = margins_of(proba)
    best, likeliest = known.posterior_of(margins).decide(
        margins, [(True, temperature, prior, 2.0), (False, 1.0, prior, 1.0)]
    )
    expected = SizedMarginals.of_labelsets(labelsets, plain).maximise(2.0).expected_f1
    both, size = best @ labelsets.T.astype(float), labelsets.sum(axis=1)
    total = best.sum(axis=1)[:, None] + 4 * size
    f2 = np.where(total == 0, 1.0, 5 * both / np.where(total > 0, total, 1))
    assert_allclose((f2 * plain).sum(axis=1), expected, rtol=1e-9)
    untempered = plain_posterior(labelsets, known.counts[by_count], proba, 1.0, prior)
    number = [(labelsets == labels).all(axis=1).argmax() for labels in likeliest]
    assert_allclose(untempered[np.arange(len(proba)), number], untempered.max(axis=1), rtol=1e-9)


def test_weights_count_rows():
    known = KnownLabelsets.of([[1, 0], [0, 1], [1, 0], [1, 1]], [0.5, 2, 3, 0])
    assert_array_equal(known.labelsets, [[0, 1], [1, 0]])
    assert_array_equal(known.counts, [2, 3.5])


def test_the_likeliest_labelsets_of_many_rows():
    random = np.random.default_rng(0)
    labelsets = np.unique(random.integers(0, 2, size=(3000, 14)), axis=0).astype(np.int8)
    counts = random.integers(1, 9, size=len(labelsets))
    margins = margins_of(random.random((1000, 14)))  # several blocks
    known = LabelsetPosterior(labelsets, counts)
    row, found = known.likeliest(margins, 3, 0.5)
    assert_array_equal(row, np.repeat(np.arange(1000), 3))
    score = margins @ labelsets.T + 0.5 * np.log(counts)
    of_found = (margins[row] * found).sum(axis=1)
    of_found += 0.5 * np.log([counts[(labelsets == each).all(axis=1)][0] for each in found])
    assert_allclose(np.sort(of_found.reshape(-1, 3)), np.sort(score)[:, -3:])


def test_probabilities_of_zero_and_one_stay_finite():
    known = KnownLabelsets.of([[1, 0], [0, 1], [0, 1]])
    margins = margins_of(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    rules = [(maximises, 1.0, 1.0, 1.0) for maximises in (False, True)]
    for labels in known.posterior_of(margins).decide(margins, rules):
        assert_array_equal(labels[1:], [[0, 1], [1, 0]])


def test_margins_that_are_no_numbers_predict_no_label():
    known = KnownLabelsets.of(np.eye(30, dtype=int))
    margins = np.vstack((np.full((2, 30), [[np.nan], [np.inf]]), np.arange(30)))
    (labels,) = known.posterior_of(margins).decide(margins, [(True, 1.0, 0.5, 1.0)])
    assert_array_equal(labels.sum(axis=1), [0, 0, 1])


def test_another_number_of_labels():
    with pytest.raises(ValueError, match="Y_proba has 3 labels, the known labelsets have 2"):
        KnownLabelsets.of([[1, 0]]).posterior_of(np.full((1, 3), 0.5))


@pytest.mark.parametrize("rule", [(True, 0.75, 0.25, 1.0), (True, 1.0, 0.0, 2.0), (False, 1, 1, 1)])
def test_a_row_is_decided_alone_as_among_others(rule: tuple[bool, float, float, float]) -> None:
    random = np.random.default_rng(3)
    posterior = KnownLabelsets.of(random.random((90, 12)) < 0.3)._posterior
    margins = random.normal(-1, 3, (45, 12))  # five times eight rows, and five
    [together] = posterior.decide(margins, [rule])
    alone = [posterior.decide(row[np.newaxis], [rule])[0, 0] for row in margins]
    assert_array_equal(together, alone)
    margins[[2, 11, 43], [3, 0, 5]] = np.inf, np.nan, -np.inf
    found = posterior.decide(margins, [rule])[0]
    assert_array_equal(np.delete(found, [2, 11, 43], axis=0), np.delete(alone, [2, 11, 43], axis=0))
    if rule[0]:  # no expected F-beta can be computed
        assert not found[[2, 11]].any()
    assert not found[43, 5]


def test_very_improbable_labelsets_do_not_count() -> None:
    known = KnownLabelsets.of([[0, 0, 1], [1, 0, 0], [1, 1, 0]])
    margins = np.array([[-800.0, 900.0, 800.0], [-1e300, 0.0, 1e300], [-1.0, 0.0, 0.5]])
    found = known._posterior.decide(margins, [(True, 1.0, 0.0, 1.0)])[0]
    assert_array_equal(found[:2], [[0, 0, 1], [0, 0, 1]])
    by_hand = np.exp([0.5, -1.0, -1.0])
    expected = SizedMarginals.of_labelsets(known.labelsets, [by_hand / by_hand.sum()]).maximise()
    assert_array_equal(found[2:], expected.labels)
