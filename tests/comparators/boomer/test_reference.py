"""The kernel against its reference implementation: conditions, heads, scores and bounds.

Two conditions may cover the same rows, so that their gains differ by rounding only. The tests
follow the kernel's choice and ask that no other condition be better.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import boomer as reference
from tests.reference.boomer_derivatives import derivatives
from xdcc.comparators.boomer._coverage import RELATIONS
from xdcc.comparators.boomer._induction import RuleLearner
from xdcc.comparators.boomer.losses import LOSSES
from xdcc.comparators.boomer.training import RuleSettings, SortedColumns

VARIANTS = [(loss, complete) for loss in LOSSES for complete in (False, True)]
DEFAULTS = RuleSettings(
    loss="logistic_label_wise",
    complete=False,
    l2=1.0,
    learning_rate=0.3,
    bootstrap=True,
    n_attributes=3,
    bin_share=0.0,
    max_conditions=-1,
    min_coverage=1,
)


def rows(seed, n_rows, n_features, n_labels, *, kind="dense"):
    """Features of several kinds, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    nominal = np.zeros(n_features, bool)
    if kind == "zeros":
        X[rng.random(X.shape) < 0.6] = 0
    elif kind == "coarse":
        X = rng.integers(-2, 3, X.shape).astype(np.float32)
    elif kind == "nominal":
        X = rng.integers(-1, 4, X.shape).astype(np.float32)
        nominal[::2] = True
    Y = (X[:, :n_labels] + rng.normal(size=(n_rows, n_labels)) > 0.3).astype(np.uint8)
    if kind == "missing":
        X = np.round(X).astype(np.float32)
        X[rng.random(X.shape) < 0.3] = np.nan
        nominal[::2] = True
    return X, nominal, Y


def learner(X, nominal, Y, scores, settings):
    columns = SortedColumns.of(X, nominal)
    return RuleLearner(columns, Y, scores, np.zeros(len(Y), np.int64), settings, 1)


def replay(X, nominal, Y, name, complete, *, n_rules=12, **changed):
    """Train with the kernel and check each step against the reference."""
    settings = DEFAULTS._replace(loss=name, complete=complete, **changed)
    kernel = learner(X, nominal, Y, np.zeros(Y.shape), settings)
    l2, share, n_attributes = settings.l2, settings.bin_share, settings.n_attributes
    loss, scores, coverage = LOSSES[name], np.zeros(Y.shape), np.zeros(len(Y))
    system = complete or not loss.decomposable

    g, h = (sums.sum(axis=0) for sums in derivatives(name, Y, scores))
    assert system or (h == np.diag(np.diag(h))).all()
    head = kernel.default_rule()
    assert head == pytest.approx(reference.complete_head(g, h, l2), rel=1e-9, abs=1e-12)
    scores += head
    coverage += 1

    for seed in range(n_rules):
        random = reference.RuleRandom(seed)
        weight = random.bootstrap(len(Y)) if settings.bootstrap else np.ones(len(Y), int)
        gradients, hessians = derivatives(name, Y, scores)
        rule = kernel.learn(seed)
        assert rule is not None
        features, relations, thresholds, label, head, n_covered = rule
        best, fixed, inside = 0.0, -1, np.ones(len(Y), bool)
        for step in range(len(features) + 1):
            if step == settings.max_conditions:
                break
            rated = reference.rate_conditions(
                X, nominal, weight * inside, gradients, hessians,
                random.attributes(n_attributes, X.shape[1]),
                l2=l2, complete=complete, label=fixed, share=share,
                min_coverage=settings.min_coverage,
            )  # fmt: skip
            most = max((r.gain for r in rated), default=-np.inf)
            if step == len(features):
                assert most <= best * (1 + 1e-9) + 1e-12
                break
            relation, threshold = RELATIONS[relations[step]], float(thresholds[step])
            taken = [r for r in rated if r[:3] == (features[step], relation, threshold)]
            assert len(taken) == 1
            assert taken[0].gain == pytest.approx(most, rel=1e-9)
            assert taken[0].gain > best
            best = taken[0].gain
            if not complete and fixed < 0:
                fixed = label
            inside &= reference.covered(X[:, features[step]], relation, threshold)
        assert n_covered == inside.sum() > 0
        g, h = gradients[inside].sum(axis=0), hessians[inside].sum(axis=0)
        if complete:
            expected = settings.learning_rate * reference.complete_head(g, h, l2, share)
            scores[inside] += head
        else:
            expected = settings.learning_rate * reference.single_scores(g, h, l2)[[label]]
            scores[inside, label] += head
        assert head == pytest.approx(expected, rel=1e-7, abs=1e-10)
        coverage += inside
    np.testing.assert_array_equal(kernel.scores, scores)
    np.testing.assert_array_equal(kernel.coverage, coverage)


@pytest.mark.parametrize("kind", ["dense", "zeros", "coarse", "nominal", "missing"])
@pytest.mark.parametrize(("loss", "complete"), VARIANTS)
def test_kernel_finds_the_rules_of_the_reference(loss, complete, kind):
    replay(*rows(0, 40, 6, 3, kind=kind), loss, complete)


@pytest.mark.parametrize("n_labels", [4, 7])
def test_blocks_of_many_steps(n_labels):
    replay(*rows(5, 150, 7, n_labels), "logistic_example_wise", True, n_rules=2, n_attributes=3)


@pytest.mark.parametrize("l2", [1e-8, 0.25, 64.0])
@pytest.mark.parametrize(("loss", "complete"), VARIANTS)
def test_l2(loss, complete, l2):
    # Without L2, and with labels that are already separated, systems are nearly singular; few rules
    # keep them within the precision of the reference.
    replay(*rows(1, 40, 6, 3), loss, complete, l2=l2, n_rules=3 if l2 < 0.1 else 12)


@pytest.mark.parametrize("kind", ["dense", "zeros", "missing"])
@pytest.mark.parametrize("share", [0.1, 0.4, 1.0])
def test_label_bins(share, kind):
    replay(*rows(2, 40, 9, 9, kind=kind), "logistic_example_wise", True, bin_share=share)


@pytest.mark.parametrize(
    "params", [{"max_conditions": 1}, {"max_conditions": 3}, {"min_coverage": 7}]
)
@pytest.mark.parametrize("complete", [False, True])
def test_limits(complete, params):
    replay(*rows(3, 40, 6, 3, kind="zeros"), "logistic_example_wise", complete, **params)


@pytest.mark.parametrize("variant", VARIANTS)
def test_conditions_separate_zeros_from_missing_values(variant):
    """In the rows that a rule covers, the known values of a nominal attribute are all 0."""
    for seed in range(30):
        replay(*rows(seed, 12, 7, 2, kind="missing"), *variant, n_rules=4, n_attributes=7)


@given(
    seed=st.integers(0, 10**6),
    variant=st.sampled_from(VARIANTS),
    kind=st.sampled_from(["dense", "zeros", "coarse", "nominal", "missing"]),
    n_rows=st.integers(12, 30),
    n_labels=st.integers(1, 6),
    l2=st.sampled_from([0.1, 1.0, 10.0]),
    bootstrap=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_data(seed, variant, kind, n_rows, n_labels, l2, bootstrap):
    X, nominal, Y = rows(seed, n_rows, 7, n_labels, kind=kind)
    replay(X, nominal, Y, *variant, n_rules=4, n_attributes=7, l2=l2, bootstrap=bootstrap)


@pytest.mark.parametrize("kind", ["zeros", "coarse", "nominal", "missing"])
def test_sparse_columns_equal_dense_ones(kind):
    X, nominal, _ = rows(4, 50, 8, 3, kind=kind)
    for dense, stored in zip(
        SortedColumns.of(X, nominal), SortedColumns.of(sparse.csr_matrix(X), nominal), strict=True
    ):
        np.testing.assert_array_equal(dense, stored)


def test_columns_by_hand():
    X = np.array([[2, 0], [np.nan, -1], [0, 0], [-1, 0], [2, np.nan]], np.float32)
    columns = SortedColumns.of(X, np.array([False, True]))
    assert columns.start.tolist() == [0, 4, 6]
    assert columns.known_end.tolist() == [3, 5]
    assert columns.row.tolist() == [3, 0, 4, 1, 1, 4]
    np.testing.assert_array_equal(columns.value, np.float32([-1, 2, 2, np.nan, -1, np.nan]))
    assert columns.nominal.tolist() == [0, 1]
    assert columns.n_distinct.tolist() == [2, 1]


@pytest.mark.parametrize(("name", "complete"), VARIANTS)
def test_statistics(name, complete):
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (30, 5)).astype(np.uint8)
    scores = 5 * rng.normal(size=Y.shape)
    X = np.zeros((30, 1), np.float32)
    settings = DEFAULTS._replace(loss=name, complete=complete)
    kernel = learner(X, np.zeros(1, bool), Y, scores, settings)
    gradients, second = kernel.statistics()
    expected, hessians = derivatives(name, Y, scores)
    assert gradients == pytest.approx(expected, rel=1e-12)
    if LOSSES[name].decomposable or not complete:
        diagonal = hessians[:, range(5), range(5)]
        assert second == pytest.approx(diagonal, rel=1e-9, abs=1e-15)
        return
    # The bound: H - diag(p0 p) is positive semidefinite.
    p0 = 1 - np.abs(gradients).sum(axis=1, keepdims=True)
    assert second == pytest.approx(p0 * np.abs(gradients), rel=1e-6, abs=1e-12)
    rest = hessians - second[:, :, None] * np.eye(5)
    assert np.linalg.eigvalsh(rest).min() > -1e-12


@given(seed=st.integers(0, 10**6), n_labels=st.integers(1, 7), l2=st.sampled_from([1e-3, 1.0, 9.0]))
@settings(max_examples=100, deadline=None)
def test_bound_is_never_below_the_gain(seed, n_labels, l2):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 2, (9, n_labels))
    scores = 4 * rng.normal(size=Y.shape)
    g, h = derivatives("logistic_example_wise", Y, scores)
    p0 = 1 - np.abs(g).sum(axis=1, keepdims=True)
    bound = (g.sum(axis=0) ** 2 / ((p0 * np.abs(g)).sum(axis=0) + l2)).sum()
    total = g.sum(axis=0)
    gain = -total @ reference.complete_head(total, h.sum(axis=0), l2)
    assert bound >= gain * (1 - 1e-9)
    binned = -total @ reference.complete_head(total, h.sum(axis=0), l2, 0.4)
    assert gain >= binned * (1 - 1e-9)
