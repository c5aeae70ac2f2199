"""Choosing the best decision rule, and estimating its score.

A rule is evaluated on rows that it was not learned from: for each fold the thresholds and the known
labelsets come from the other folds' rows. (A row's own labelset among the known ones would make it
easy to find.) The best score of many is still too optimistic, as the best rule was partly lucky. So
the choice is repeated on rows drawn with replacement, and evaluated on the rows that were not drawn
(:mod:`xdcc.decision.bbc_cv`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import SAMPLE_ENTRIES, sample_rows
from xdcc.base.side_by_side import run_all
from xdcc.decision.bbc_cv import (
    DrawnChoices,
    draw_choices,
    spread_over_folds,
    standard_errors,
)
from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.decision.constraints import LabelConstraints, Prices
from xdcc.decision.cuts import Floats
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.label_metrics import checked_metric, scores_on_draws
from xdcc.decision.labelset_weights import MOST_PAIRS
from xdcc.decision.proba_metrics import ProbaMetric
from xdcc.decision.rule import MetricLike, Rule
from xdcc.decision.rules import (
    RULES,
    RuleKind,
    kinds_of,
    learn_rules,
    others_of,
    predict_with_all,
    require_suitable,
)
from xdcc.decision.threshold_rules import LabelWise

_N_BOOTSTRAPS = 200
_N_BOOTSTRAPS_OF_CALLABLE = 20
"""Fewer: a callable is called for each draw and rule."""

_PER_LABEL = 2e-7
"""Seconds for a row, a known labelset and a label in it, with all configurations of the rules."""

_LONGEST = 20.0
"""Seconds for rules on labelsets, with a sample of this many entries."""

_LEAST_ROWS = 500

_TIE = 1e-12

_ENTRIES_OF_ERROR = 2**17
"""Entries of Y on which the standard error of a metric of probabilities is estimated."""


class RuleTrial(NamedTuple):
    """Rules, and their scores on rows that they were not learned from.

    Attributes
    ----------
    rules : list of Rule
        Learned from all rows.
    scores : callable
        From how often each row counts, `(n_draws, n_rows)`, to scores, `(n_draws, n_rules)`; NaN
        where there is none.
    n_rows : int
        Number of rows that they are judged on.
    spread : list of float or None
        Standard deviation of each score over the folds; None for a callable metric, which may have
        no value on the rows of one fold.
    """

    rules: list[Rule]
    scores: Callable[[Floats], Floats]
    n_rows: int
    spread: list[float | None]


def try_rules(
    data: FitData,
    folds: NDArray[np.intp],
    *,
    measure: MetricLike,
    kinds: Sequence[RuleKind] | None = None,
    constraints: LabelConstraints | None = None,
    entries: int = SAMPLE_ENTRIES,
) -> RuleTrial:
    """Learn rules on out-of-fold margins, and evaluate on each fold the rules of the others.

    Parameters and errors are those of :func:`choose_rule`. With more than `entries` entries of Y
    the rules are learned and judged on a sample of the rows of that size, and on fewer rows if
    many labelsets are known. Rules on labelsets are left out if these would be fewer than 500.
    With fewer entries than usual the weights of labelsets are fitted to fewer rows, too.
    Thresholds of constrained labels are learned from all rows that count.
    """
    counts = data.counts
    _require_two_folds(folds[counts])
    target = checked_metric(measure) if callable(measure) else measure
    suitable = _suitable(kinds, data.Y[counts], folds[counts], target)
    rows, affordable = _affordable(data, entries)
    if kinds is None and not affordable:
        suitable = [kind for kind in suitable if not kind.needs_labelsets]
    judged, folds_judged = data.take(rows), folds[rows]
    most_pairs = MOST_PAIRS * min(entries, SAMPLE_ENTRIES) // SAMPLE_ENTRIES

    def learn() -> list[Any]:
        rules = list(learn_rules(suitable, judged, target, most_pairs))
        if not constraints:
            return rules
        return [constrained(rule, data, constraints, measure) for rule in rules]

    def predict(fold: int) -> list[NDArray[np.int8]]:
        out = folds_judged == fold
        of_others = predict_with_all(
            learn_rules(suitable, judged.take(~out), target, most_pairs), judged.X[out]
        )
        if constraints:
            thresholds = constraints.thresholds(
                data.take(counts & (folds != fold)), prices_of(measure, data)
            )
            for found in of_others:
                constraints.decide(found, judged.X[out], thresholds)
        return of_others

    numbers = np.unique(folds_judged).tolist()
    tasks: list[Callable[[], list[Any]]] = [learn, *(partial(predict, fold) for fold in numbers)]
    # Functions of a user are not called by several threads.
    is_of_user = callable(measure) or others_of(suitable)
    rules, *of_folds = [task() for task in tasks] if is_of_user else run_all(tasks)
    _require_as_many(suitable, rules, of_folds)
    predicted = [np.zeros(judged.Y.shape, dtype=np.int8) for _ in rules]
    for fold, of_others in zip(numbers, of_folds, strict=True):
        for labels, found in zip(predicted, of_others, strict=True):
            labels[folds_judged == fold] = found
    return trial_of(rules, predicted, judged, folds_judged, measure)


def _require_as_many(
    kinds: Sequence[type[Rule]], rules: Sequence[Rule], of_folds: Sequence[Sequence[Any]]
) -> None:
    """Stop if rules of other rows have another number of configurations."""
    for of_others in of_folds:
        if len(of_others) != len(rules):
            names = ", ".join(repr(kind.name) for kind in kinds)
            raise ValueError(
                f"The decision rules {names} have {len(rules)} configurations learned from all "
                f"rows, and {len(of_others)} from those of some folds: `learn` has to return as "
                "many for any rows."
            )


def constrained(
    rule: Any, data: FitData, constraints: LabelConstraints, measure: MetricLike
) -> ConstrainedRule:
    """Give some labels thresholds of their own, learned from margins, the X of `data`."""
    thresholds = constraints.thresholds(data.take(data.counts), prices_of(measure, data))
    return ConstrainedRule(rule, constraints.labels, thresholds)


def prices_of(measure: MetricLike, data: FitData) -> Prices | None:
    """Return the prices of the labels, None if the metric has none."""
    return measure.prices(data.Y.shape[1]) if isinstance(measure, LabelCosts) else None


def _require_two_folds(folds: NDArray[np.intp]) -> None:
    if len(np.unique(folds)) < 2:
        raise ValueError(
            "All rows with a known label and a positive weight are in one fold: nothing can be "
            "judged on rows that it was not learned from."
        )


def _affordable(data: FitData, entries: int) -> tuple[NDArray[np.intp], bool]:
    """Sample rows on which rules are learned and judged.

    Labelsets that are known are compared with rows one by one, which takes about `_PER_LABEL` for
    each label that they have. So there are fewer rows where labels are many. With fewer than
    `_LEAST_ROWS`, labelsets are not affordable, and the sample is that for other rules.
    """
    rows = sample_rows(data.Y.shape, data.counts, entries)
    seconds = _LONGEST * entries / SAMPLE_ENTRIES
    per_pair = _PER_LABEL * (1 + data.truth[rows].sum(axis=1).mean())
    n_sets = len(np.unique(data.truth[rows], axis=0))
    most = int(max(seconds / (per_pair * n_sets), min(n_sets, (seconds / per_pair) ** 0.5)))
    if most >= len(rows):
        return rows, True
    if most < _LEAST_ROWS:
        return rows, False
    return rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:most])], True


def trial_of(
    rules: Sequence[Rule],
    predicted: Sequence[NDArray[np.int8]],
    data: FitData,
    folds: NDArray[np.intp],
    measure: MetricLike,
) -> RuleTrial:
    """Evaluate rules, learned from all rows, by predictions for rows they were not learned from.

    `predicted` has an array `(n_samples, n_labels)` for each rule.
    """
    counts = data.counts
    scores = scores_on_draws(measure, data.take(counts), [labels[counts] for labels in predicted])
    spread: list[float | None] = [None] * len(rules)
    if not callable(measure):
        spread = spread_over_folds(scores, folds[counts]).tolist()
    return RuleTrial(list(rules), scores, int(counts.sum()), spread)


class RuleComparison(NamedTuple):
    """Scores of several rules, of one trial or more, on the same draws of rows.

    Attributes
    ----------
    scores : float64 array of shape (n_rules,)
        On all rows.
    draws : DrawnChoices
        On rows drawn again and on those that were left out.
    """

    scores: Floats
    draws: DrawnChoices

    def best(self, handicap: Floats | float = 0.0) -> int:
        """Return the rule of the highest score minus its handicap; the first of equal ones."""
        scores = self.scores - handicap
        return int(np.argmax(scores >= scores.max() - _TIE))


def compare(trials: Sequence[RuleTrial], measure: MetricLike, seed: int = 0) -> RuleComparison:
    """Compare all rules of some trials, of the same rows and metric, on the same draws of rows.

    The result has the rules of the first trial, then those of the second, and so on. For a callable
    metric fewer draws are made, as it is called for each one. `seed` is that of the draws.
    """

    def scores(counts: Floats) -> Floats:
        return np.hstack([trial.scores(counts) for trial in trials])

    n_rows = trials[0].n_rows
    n_bootstraps = _N_BOOTSTRAPS_OF_CALLABLE if callable(measure) else _N_BOOTSTRAPS
    draws = draw_choices(scores, n_rows, n_bootstraps=n_bootstraps, random_state=seed)
    return RuleComparison(scores(np.ones((1, n_rows)))[0], draws)


class RuleChoice(NamedTuple):
    """The chosen rule and the scores of all of them.

    Attributes
    ----------
    rule : Rule
        Learned from all rows.
    score : float
        Score of the chosen rule on rows that it was not learned from, corrected for the choice.
    results : dict of str to list
        Columns, with an entry for each configuration of each kind of rule:
        "rule" (its kind), "params" (learned from all rows), "score" (on rows that it was not
        learned from), "score_std" (its standard deviation over the folds), "standard_error" of the
        score, "corrected_score" (of the best configuration of that kind, corrected for having
        chosen among these), and "chosen".
    """

    rule: Rule
    score: float
    results: dict[str, list[Any]]


def choose_rule(
    data: FitData,
    folds: NDArray[np.intp],
    *,
    measure: MetricLike,
    kinds: Sequence[RuleKind] | None = None,
    constraints: LabelConstraints | None = None,
    seed: int = 0,
) -> RuleChoice:
    """Choose the rule that is best for a metric on out-of-fold margins.

    Parameters
    ----------
    data : FitData
        X are out-of-fold margins.
    folds : int array of shape (n_samples,)
        Fold of each row.
    measure : str, Counted or callable
        Metric to maximise.
    kinds : sequence of str or subclasses of Rule, optional
        Kinds of rules; None for all that suit the metric and the data.
    constraints : LabelConstraints, optional
        Constraints on single labels, which get thresholds of their own.
    seed : int, default=0
        Seed for the drawn rows.

    Returns
    -------
    RuleChoice

    Raises
    ------
    ValueError
        If a requested kind of rule does not suit the metric or the data.
    """
    trial = try_rules(data, folds, measure=measure, kinds=kinds, constraints=constraints)
    return choose([trial], measure, seed)


def without_choice(
    data: FitData, folds: NDArray[np.intp], *, measure: ProbaMetric, seed: int = 0
) -> RuleChoice:
    """Judge probabilities by a metric that no rule has an influence on.

    Parameters
    ----------
    data : FitData
        X are out-of-fold probabilities.
    folds : int array of shape (n_samples,)
        Fold of each row.
    measure : ProbaMetric
        Has a value for these labels.
    seed : int, default=0
        Seed for the drawn rows.

    Returns
    -------
    RuleChoice
        The rule is `LabelWise`. As nothing is chosen, the corrected score is the score. The
        standard error is extrapolated from a sample of the rows if Y has more than 2**17 entries.

    Raises
    ------
    ValueError
        If all rows that count are in one fold.
    """
    _require_two_folds(folds[data.counts])
    score = measure.score(data.Y, data.X, data.sample_weight)
    counting = data.take(data.counts)
    rows = sample_rows(counting.Y.shape, entries=_ENTRIES_OF_ERROR)
    of_sample = standard_errors(
        measure.on_draws(counting.take(rows)),
        len(rows),
        n_bootstraps=_N_BOOTSTRAPS,
        random_state=seed,
    )
    error = float(of_sample[0]) * (len(rows) / len(counting.Y)) ** 0.5
    spread = spread_over_folds(measure.on_draws(counting), folds[data.counts])
    rule = LabelWise()
    results: dict[str, list[Any]] = {
        "rule": [rule.name],
        "params": [rule.params],
        "score": [score],
        "score_std": spread.tolist(),
        "standard_error": [error],
        "corrected_score": [score],
        "chosen": [True],
    }
    return RuleChoice(rule, score, results)


def choose(trials: Sequence[RuleTrial], measure: MetricLike, seed: int = 0) -> RuleChoice:
    """Choose the best rule of some trials.

    For subset accuracy this is `FittedLabelset` if it was tried, unless another rule is better by
    more than the standard error of the difference: the likelihood decides with less noise.

    Parameters
    ----------
    trials : sequence of RuleTrial
        Trials of the same rows and the same metric.
    measure : str, Counted or callable
        The metric of the trials.
    seed : int, default=0
        Seed for the drawn rows.

    Returns
    -------
    RuleChoice
    """
    comparison = compare(trials, measure, seed)
    rules = [rule for trial in trials for rule in trial.rules]
    kinds = np.array([rule.name for rule in rules])
    favourite = np.array([rule.favoured_by(measure) for rule in rules])
    handicap = _handicap(comparison, favourite) if favourite.any() else np.zeros(len(rules))
    best, draws = comparison.best(handicap), comparison.draws
    corrected = {
        kind: draws.estimate(np.flatnonzero(kinds == kind)).mean() for kind in np.unique(kinds)
    }
    results = {
        "rule": kinds.tolist(),
        "params": [rule.params for rule in rules],
        "score": comparison.scores.tolist(),
        "score_std": [each for trial in trials for each in trial.spread],
        "standard_error": draws.drawn.std(axis=0).tolist(),
        "corrected_score": [float(corrected[kind]) for kind in kinds],
        "chosen": [i == best for i in range(len(rules))],
    }
    score = float(draws.estimate(np.arange(len(rules)), handicap).mean())
    return RuleChoice(rules[best], score, results)


def _handicap(comparison: RuleComparison, favourite: NDArray[np.bool_]) -> Floats:
    """Compute by how much a rule must be better than the favourite, `(n_rules,)`."""
    drawn = comparison.draws.drawn
    error = (drawn - drawn[:, favourite]).std(axis=0)
    return np.where(favourite, 0.0, error)


def _suitable(
    kinds: Sequence[RuleKind] | None,
    Y: NDArray[np.floating],
    folds: NDArray[np.intp],
    measure: MetricLike,
) -> list[type[Rule]]:
    """Leave out the kinds of rules that do not suit, or stop if one was requested."""
    of_fold = folds[~np.isnan(Y).any(axis=1)]
    has_labelsets = len(np.unique(of_fold)) >= 2
    if kinds is None:
        return [
            kind
            for kind in RULES.values()
            if kind.why_not(measure) is None
            and kind.suits(measure)
            and (has_labelsets or not kind.needs_labelsets)
        ]
    requested = kinds_of(kinds)
    require_suitable(requested, measure)
    for kind in requested:
        if kind.needs_labelsets and not has_labelsets:
            raise ValueError(
                f"The rule {kind.name!r} needs rows of which every label is known, in two folds "
                "at least."
            )
    return requested
