"""Learning and choosing rules against plain loops."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.decision import (
    KnownLabelsets,
    SizedMarginals,
    apply_thresholds,
    best_threshold,
    best_thresholds_per_label,
)
from xdcc.decision.known_labelset_rules import F1Maximiser, MostProbableLabelset
from xdcc.decision.labelset_weights import fitted_weights
from xdcc.decision.rule_choice import choose_rule, compare, try_rules
from xdcc.decision.rules import RULE_NAMES, learn_rules, predict_with_all


def drawn(seed=0, n_rows=150):
    """Labels that depend on each other, and probabilities of each by itself."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 4, n_rows)
    Y = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])[kind].astype(float)
    Y[random.random(Y.shape) < 0.05] = 1
    proba = expit(random.normal(1.2 * (2 * Y - 1), 1.5))
    return Y, proba, random.permutation(np.arange(n_rows) % 3), random.integers(1, 4, n_rows)


def with_margins(Y, proba, weight=None):
    return FitData(margins_of(proba), Y, weight)


def plain_labels(name, params, Y, proba, weight, measure, new):
    """Predict new rows by a rule learned from Y and proba."""
    options = {"sample_weight": weight}
    if name == "label_wise":
        return (new >= 0.5).astype(int)
    if name in ("threshold", "threshold_per_label"):
        common = best_threshold(Y, proba, measure, **options)
        if name == "threshold":
            return apply_thresholds(new, common)
        own = best_thresholds_per_label(Y, proba, measure, **options)
        m, s = np.nansum(Y, axis=0), params["shrinkage"]
        return apply_thresholds(new, (m * own + s * common) / (m + s))
    known = KnownLabelsets.of(Y, weight)
    if name == "known_labelset":
        return known.most_probable(new, prior=params["prior"])
    if name == "fitted_labelset":
        weighted = fitted_weights(known, with_margins(Y, proba, weight))
        return weighted.most_probable(new, prior=1.0)
    likelihood = np.array(
        [[np.prod(np.where(labelset, p, 1 - p)) for labelset in known.labelsets] for p in new]
    )
    weight = likelihood ** params["temperature"] * known.counts ** params["prior"]
    posterior = weight / weight.sum(axis=1, keepdims=True)
    return SizedMarginals.of_labelsets(known.labelsets, posterior).maximise(params["beta"]).labels


@pytest.mark.parametrize("measure", ["example_f1", "macro_f1", "example_f2"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_rule_is_judged_on_rows_that_it_was_not_learned_from(measure, weighted):
    Y, proba, folds, weight = drawn()
    weight = weight if weighted else None
    names = [name for name in RULE_NAMES if name != "least_cost"]
    choice = choose_rule(with_margins(Y, proba, weight), folds, measure=measure, kinds=names)
    table = choice.results
    assert len(table["rule"]) == 1 + 1 + 3 + 5 + 1 + 9
    for name, params, score in zip(table["rule"], table["params"], table["score"], strict=True):
        found = np.empty(Y.shape, dtype=int)
        for fold in range(3):
            use = folds != fold
            of_rest = None if weight is None else weight[use]
            found[~use] = plain_labels(
                name, params, Y[use], proba[use], of_rest, measure, proba[~use]
            )
        if measure == "example_f2":
            both, true, predicted = (Y * found).sum(1), Y.sum(1), found.sum(1)
            values = np.where(
                true + predicted > 0, 5 * both / np.maximum(4 * true + predicted, 1), 1
            )
            expected = np.average(values, weights=weight)
        else:
            expected = getattr(metrics, measure)(Y, found, sample_weight=weight)
        assert score == pytest.approx(expected), (name, params)
    best = int(np.argmax(table["score"]))
    assert table["chosen"] == [i == best for i in range(len(table["rule"]))]
    assert choice.rule.name == table["rule"][best]
    assert choice.rule.params == table["params"][best]
    assert_array_equal(
        choice.rule.predict(proba),
        plain_labels(choice.rule.name, choice.rule.params, Y, proba, weight, measure, proba),
    )
    if measure == "example_f2":
        assert {params["beta"] for params in table["params"] if "beta" in params} == {2}


def test_rules_that_maximise_another_measure_are_left_out():
    Y, proba, folds, _ = drawn()
    kinds = {
        measure: set(choose_rule(with_margins(Y, proba), folds, measure=measure).results["rule"])
        for measure in ("subset_accuracy", "example_f1", "example_f2", "micro_f1")
    }
    every = {name for name in RULE_NAMES if name != "least_cost"}
    assert kinds["subset_accuracy"] == every - {"known_labelset", "f1_maximiser"}
    of_f1 = every - {"known_labelset", "fitted_labelset"}
    assert kinds["example_f1"] == kinds["example_f2"] == of_f1
    assert kinds["micro_f1"] == every - {"fitted_labelset"}


def test_one_posterior_serves_all_rules():
    Y, proba, *_ = drawn()
    names = [name for name in RULE_NAMES if name != "least_cost"]
    rules = learn_rules(names, with_margins(Y, proba), "example_f1")
    for rule, labels in zip(rules, predict_with_all(rules, margins_of(proba)), strict=True):
        assert labels.dtype == np.int8
        assert_array_equal(labels, rule.predict(proba))
        assert rule.name in RULE_NAMES
        assert "known" not in repr(rule).replace("known_labelset", "")


def test_memory_is_bounded():
    random = np.random.default_rng(0)
    known = KnownLabelsets.of(random.integers(0, 2, size=(4000, 40)))
    proba = random.random((5000, 40))
    rules = [MostProbableLabelset(known, 0.5), F1Maximiser(known, 0.5, 0.25)]
    tracemalloc.start()
    try:
        predict_with_all(rules, margins_of(proba))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The matrix of rows and labelsets alone would be 153 MiB, that of rows and pairs more.
    assert len(known.labelsets) == 4000
    assert peak < 80 * 2**20


def test_each_measure_gets_its_rule():
    Y, proba, folds, _ = drawn(1, n_rows=400)
    kinds = {
        measure: choose_rule(with_margins(Y, proba), folds, measure=measure).rule.name
        for measure in ("subset_accuracy", "example_f1")
    }
    assert kinds["subset_accuracy"] == "fitted_labelset"
    assert kinds["example_f1"] == "f1_maximiser"
    # Where labels are what a probability of 0.5 says, nothing else is tried in earnest.
    sure = np.where(Y == 1, 0.9, 0.1)
    assert (
        choose_rule(with_margins(Y, sure), folds, measure="hamming_accuracy").rule.name
        == "label_wise"
    )


def test_the_likelihood_decides_between_rules_of_about_the_same_subset_accuracy():
    Y, proba, folds, _ = drawn(1, n_rows=400)
    data = with_margins(Y, proba)
    names = ["label_wise", "known_labelset", "fitted_labelset"]
    choice = choose_rule(data, folds, measure="subset_accuracy", kinds=names)
    rule, score = (np.array(choice.results[column]) for column in ("rule", "score"))
    fitted = score[rule == "fitted_labelset"]
    assert score.max() > fitted, "draw other data"
    assert choice.rule.name == "fitted_labelset"
    # For another metric the highest score decides.
    choice = choose_rule(data, folds, measure="jaccard", kinds=names)
    assert choice.results["chosen"][int(np.argmax(choice.results["score"]))]
    # A rule that is clearly better is chosen: here labelsets that are new.
    new = np.eye(40, dtype=np.float32)[np.random.default_rng(0).permutation(40)]
    sure = with_margins(new, np.where(new == 1, 0.9, 0.1))
    found = choose_rule(sure, np.arange(40) % 2, measure="subset_accuracy")
    assert found.rule.name == "label_wise"


def test_rules_with_unknown_labels():
    Y, proba, folds, _ = drawn()
    Y[::2, 0] = np.nan
    Y[4] = np.nan
    choice = choose_rule(with_margins(Y, proba), folds, measure="micro_f1")
    assert "known_labelset" in choice.results["rule"]
    Y[:, 1] = np.nan  # no row of which every label is known
    Y[:, 2] = 1 - Y[:, 3]
    choice = choose_rule(with_margins(Y, proba), folds, measure="micro_f1")
    assert set(choice.results["rule"]) == {"label_wise", "threshold", "threshold_per_label"}
    with pytest.raises(
        ValueError, match="'known_labelset' needs rows of which every label is known"
    ):
        choose_rule(with_margins(Y, proba), folds, measure="micro_f1", kinds=["known_labelset"])
    Y[folds != 1] = np.nan
    with pytest.raises(ValueError, match="are in one fold"):
        choose_rule(with_margins(Y, proba), folds, measure="micro_f1")


def test_callables():
    Y, proba, folds, weight = drawn()
    calls = []

    def measure(truth, predicted, sample_weight=None):
        calls.append(sample_weight is not None)
        return metrics.example_f1(truth, predicted, sample_weight=sample_weight)

    by_name = choose_rule(
        with_margins(Y, proba), folds, measure="example_f1", kinds=["label_wise", "known_labelset"]
    )
    by_call = choose_rule(
        with_margins(Y, proba), folds, measure=measure, kinds=["label_wise", "known_labelset"]
    )
    assert not any(calls)
    assert_allclose(by_call.results["score"], by_name.results["score"])
    assert by_call.rule.params == by_name.rule.params
    calls.clear()
    choice = choose_rule(with_margins(Y, proba, weight), folds, measure=measure)
    assert calls
    assert all(calls)
    assert "threshold" in choice.results["rule"]
    assert "threshold_per_label" not in choice.results["rule"]
    named = choose_rule(
        with_margins(Y, proba), folds, measure=measure, kinds=["threshold_per_label"]
    )
    assert set(named.results["rule"]) == {"threshold_per_label"}


def test_the_corrected_score_is_the_choice_made_again():
    Y, proba, folds, _ = drawn(2, n_rows=60)
    choice = choose_rule(with_margins(Y, proba), folds, measure="subset_accuracy", seed=5)
    again = choose_rule(with_margins(Y, proba), folds, measure="subset_accuracy", seed=5)
    assert choice.score == again.score
    assert choice.score < max(choice.results["score"])
    table = choice.results
    alone = choose_rule(
        with_margins(Y, proba), folds, measure="subset_accuracy", kinds=["label_wise"]
    )
    # Nothing was chosen: the mean over left-out rows of 200 draws, with its own error.
    assert alone.score == pytest.approx(alone.results["score"][0], abs=0.02)
    assert_allclose(table["corrected_score"][0], alone.results["corrected_score"][0], atol=0.02)


def test_nothing_is_learned_from_the_rows_that_judge():
    """Labels of pure noise: every rule's score is that of chance.

    With 12 fair labels a labelset is right once in 4096 times, whatever the rule. If a rule could
    know a row's own labelset, as one of 200 known ones, it would find it about once in 200 times.
    The expected number of hits of all 20 rules in 10 repetitions of 200 rows is 0.49 each; more
    than 8 for one of them has a probability below 1e-8.
    """
    hits = np.zeros(20)
    for seed in range(10):
        random = np.random.default_rng(seed)
        Y = random.integers(0, 2, size=(200, 12)).astype(float)
        proba = expit(random.normal(0, 1, size=Y.shape))
        choice = choose_rule(
            with_margins(Y, proba),
            np.arange(200) % 5,
            measure="subset_accuracy",
            kinds=[name for name in RULE_NAMES if name != "least_cost"],
        )
        hits += 200 * np.array(choice.results["score"])
        assert choice.score <= max(choice.results["score"])
    assert hits.max() <= 8


def test_f1_maximisers_say_what_they_are():
    known = KnownLabelsets.of([[1, 0], [0, 1]])
    assert (
        repr(F1Maximiser(known, 0.5, 0.25)) == "F1Maximiser(temperature=0.5, prior=0.25, beta=1.0)"
    )


def test_trials_are_compared_on_the_same_draws():
    Y, proba, folds, _ = drawn()
    trials = [
        try_rules(
            with_margins(Y, p), folds, measure="example_f1", kinds=["label_wise", "threshold"]
        )
        for p in (proba, 1 - proba)
    ]
    together = compare(trials, "example_f1", seed=5)
    alone = [compare([trial], "example_f1", seed=5) for trial in trials]
    assert_array_equal(together.scores, np.concatenate([one.scores for one in alone]))
    for part in ("drawn", "left_out"):
        assert_array_equal(
            getattr(together.draws, part), np.hstack([getattr(one.draws, part) for one in alone])
        )
    best = together.best()
    assert best == np.argmax(together.scores) < 2
    handicap = np.array([1.0, 1.0, 0.0, 0.0])
    assert together.best(handicap) == 2 + np.argmax(together.scores[2:])
    every = np.arange(4)
    assert_array_equal(together.draws.estimate(every, handicap), together.draws.estimate(every[2:]))
