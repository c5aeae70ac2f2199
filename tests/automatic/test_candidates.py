"""The candidates that are tried, as far as they depend on the sizes of the data only."""

from itertools import islice

import numpy as np
import pytest

from xdcc.automatic import families
from xdcc.automatic.boosters import Pace, booster, second_level
from xdcc.automatic.forests import forest
from xdcc.automatic.linear_models import linear
from xdcc.automatic.shape import Shape
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels


def shape(n_rows, n_features, n_labels, share=1.0):
    return Shape(n_rows, n_features, n_labels, int(share * n_rows * n_features), 5)


def usual_candidates(of_shape, longest=np.inf):
    return families.usual_candidates(families.families_of(None), of_shape, longest)


def more_candidates(of_shape, seed, *longest):
    return families.more_candidates(families.families_of(None), of_shape, seed, *longest)


def param(candidate, name, default=None):
    return candidate.model.get_params().get(name, default)


def kinds(candidates):
    return [candidate.kind for candidate in candidates]


def test_three_families():
    assert kinds(usual_candidates(shape(391, 72, 6))) == [
        MultiLabelXGBClassifier,
        MultiLabelXGBClassifier,
        SketchedExtraTreesClassifier,
        LogisticLabels,
    ]


def test_a_low_rate_where_it_is_inexpensive():
    rates = [
        param(usual_candidates(shape(n_rows, 50, 20))[0], "learning_rate")
        for n_rows in (10**3, 10**5, 10**7)
    ]
    assert rates == [0.05, 0.1, 0.3]


def test_rounds_are_capped_only_where_they_are_expensive():
    rounds = [
        param(usual_candidates(shape(n_rows, 1000, n_labels, 0.03))[0], "n_estimators")
        for n_rows, n_labels in ((500, 14), (5_000, 160), (18_000, 2_000))
    ]
    assert rounds[0] == 10_000
    assert rounds[1] > 2000
    assert 40 < rounds[2] < 80


def test_a_higher_rate_where_time_is_short():
    of_shape = shape(1500, 100, 14)
    rates = [
        param(usual_candidates(of_shape, seconds)[0], "learning_rate")
        for seconds in (np.inf, 3, 0.03)
    ]
    assert rates == sorted(rates)
    assert (rates[0], rates[-1]) == (0.05, 0.3)


def test_a_higher_rate_where_many_rounds_are_needed():
    of_shape = shape(100_000, 50, 20)._replace(n_folds=1)
    rates = [
        param(booster(of_shape, 4, 0, pace=Pace(30.0, needed)), "learning_rate")
        for needed in (15, 30, 60, 120)
    ]
    assert rates == [0.1, 0.2, 0.4, 0.4]
    # Whether one is begun depends on what is usual.
    candidates = [booster(of_shape, 4, 0, pace=Pace(0.0, needed)) for needed in (15, 120)]
    assert candidates[0].seconds == candidates[1].seconds


def test_the_pace_of_each_candidate_is_asked_for():
    of_shape, longest = shape(1500, 100, 14), iter([1e4, 0.01, 1e4])
    drawn = islice(more_candidates(of_shape, 3, lambda: next(longest)), 3)
    rates = [param(each, "learning_rate") for each in drawn]
    assert rates[1] == 0.3 > max(rates[0], rates[2])


def test_a_second_level_learns_slowly_where_a_time_budget_lasts():
    of_shape = shape(391, 72, 6)
    usual, short, long = (second_level(of_shape, 3, seconds) for seconds in (np.inf, 2, 60))
    assert [param(level, "learning_rate") for level in (usual, short, long)] == [0.1, 0.1, 0.03]
    assert [param(each, "colsample_bytree") for each in (usual, short, long)] == [None, None, 0.4]
    assert usual.seconds == short.seconds == pytest.approx(0.3 * long.seconds)
    # With many rows the rate is 0.1 to save time, but ten minutes are enough for a lower one.
    of_shape = shape(20_000, 72, 20)
    rates = [param(second_level(of_shape, 3, s), "learning_rate") for s in (20, np.inf, 600)]
    assert rates[0] > rates[1] == 0.1 > rates[2]


def test_one_of_many_candidates_must_gain_more():
    of_shape = shape(391, 72, 6)
    assert {c.n_errors for c in usual_candidates(of_shape)} == {1.0}
    assert {c.n_errors for c in islice(more_candidates(of_shape, 3), 8)} == {2.0}


def test_forests_do_not_end_early():
    for candidate in usual_candidates(shape(391, 72, 6)):
        is_forest = candidate.kind is SketchedExtraTreesClassifier
        assert (candidate.least_seconds == candidate.seconds) == is_forest


def test_groups_are_half_of_the_labels_and_at_most_forty():
    largest = {
        n: max(param(c, "labels_per_tree", 0) for c in usual_candidates(shape(500, 18, n)))
        for n in (3, 7, 80, 200)
    }
    assert largest == {3: 2, 7: 4, 80: 40, 200: 40}


def test_a_single_label_makes_no_groups():
    tried = usual_candidates(shape(500, 18, 1))
    assert kinds(tried).count(MultiLabelXGBClassifier) == 1
    assert param(tried[0], "labels_per_tree") == 0


def test_few_rows_are_all_taken():
    shares = {n: [param(c, "subsample") for c in usual_candidates(shape(n, 20, 5))]
              for n in (299, 300)}  # fmt: skip
    assert shares == {299: [1.0, 1.0, None, None], 300: [0.7, 1.0, None, None]}


def test_more_data_are_tried_with_fewer_candidates():
    numbers = [len(usual_candidates(shape(n, 50, 20))) for n in 10 ** np.arange(2, 8)]
    assert numbers == sorted(numbers, reverse=True)
    assert set(numbers) == {3, 4}


@pytest.mark.parametrize("describe", [lambda s: booster(s, 4, 0), forest, linear])
def test_more_rows_cost_more(describe):
    small, large = (describe(shape(n, 50, 20)).seconds for n in (1000, 3000))
    assert 0 < small < large


def test_names_are_distinct_and_all_can_be_made():
    for n_labels in (1, 5, 90):
        of_shape = shape(300, 10, n_labels)
        tried = [*usual_candidates(of_shape), *islice(more_candidates(of_shape, 3), 40)]
        assert len({candidate.name for candidate in tried}) == len(tried)
        for candidate in tried:
            params = candidate.estimator(7, 1).get_params()
            assert params == {**candidate.model.get_params(), "random_state": 7, "n_jobs": 1}


def test_the_seed_draws_them():
    first, again, other = (
        [c.name for c in islice(more_candidates(shape(300, 10, 5), seed), 10)] for seed in (3, 3, 4)
    )
    assert first == again != other
