"""Which boosters are tried, as far as they depend on nothing but sizes."""

import numpy as np

from xdcc.automatic.candidates import candidates_for


def test_a_cheap_one_comes_first():
    for sizes in [(129, 2451, 7), (391, 28152, 6), (1500, 154500, 14), (4880, 334250, 159)]:
        works = [candidate.work for candidate in candidates_for(*sizes, 5)]
        assert works[0] < sum(works) / len(works)


def test_a_low_rate_where_it_is_cheap():
    rates = {n: candidates_for(n, 50 * n, 20, 5)[0].params["learning_rate"] for n in (10**3, 10**6)}
    assert rates == {10**3: 0.05, 10**6: 0.1}


def test_groups_are_half_of_the_labels_and_at_most_forty():
    sizes = {n: [c.params["labels_per_tree"] for c in candidates_for(500, 9000, n, 5)]
             for n in (3, 7, 80, 200)}  # fmt: skip
    assert {n: max(groups) for n, groups in sizes.items()} == {3: 2, 7: 4, 80: 40, 200: 40}


def test_a_single_label_makes_no_groups():
    (only,) = candidates_for(500, 9000, 1, 5)
    assert only.params["labels_per_tree"] == 0


def test_few_rows_are_all_taken():
    shares = {n: [c.params["subsample"] for c in candidates_for(n, 20 * n, 5, 5)]
              for n in (299, 300)}  # fmt: skip
    assert shares == {299: [1.0, 1.0], 300: [0.7, 1.0]}


def test_more_data_are_tried_with_fewer_candidates():
    numbers = [len(candidates_for(n, 50 * n, 20, 5)) for n in 10 ** np.arange(2, 8)]
    assert numbers == sorted(numbers, reverse=True)
    assert set(numbers) == {1, 2}


def test_names_are_distinct_and_all_can_be_made():
    for n_labels in (1, 5, 90):
        tried = candidates_for(300, 3000, n_labels, 5)
        assert len({candidate.name for candidate in tried}) == len(tried)
        for candidate in tried:
            params = candidate.estimator(7, 1).get_params()
            assert {**candidate.params, "random_state": 7, "max_bin": 64}.items() <= params.items()
