"""Chooses the decision rule for a mixture.

All rules are tried on the mixture's margins out of fold. For subset accuracy an order-free chain
(:mod:`xdcc.automatic.joint_labelset`), too, learns from these margins how labels depend. The score
of the chosen rule is corrected for the choice: it is repeated on rows drawn again and evaluated on
those that were not drawn (:mod:`xdcc.decision.bbc_cv`). A metric of probabilities needs no rule.
"""

import warnings
from collections.abc import Sequence

from xdcc.automatic.joint_labelset import chain_seconds, try_joint
from xdcc.automatic.search_result import SearchResult
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.checks import PACKAGE
from xdcc.decision.constraints import LabelConstraints
from xdcc.decision.proba_metrics import proba_metric
from xdcc.decision.rule import MetricLike
from xdcc.decision.rule_choice import (
    RuleChoice,
    RuleTrial,
    choose,
    constrained,
    try_rules,
    without_choice,
)
from xdcc.decision.rules import RuleKind

_FOR_LABELSETS = "subset_accuracy"
"""The metric for which the dependence of labels matters."""


def choose_rule(
    found: SearchResult,
    *,
    measure: MetricLike,
    kinds: Sequence[RuleKind] | None = None,
    constraints: LabelConstraints | None = None,
    seed: int,
    n_jobs: int | None,
    budget: TimeBudget,
) -> RuleChoice:
    """Try rules on a mixture's margins, and for labelsets an order-free chain.

    Parameters
    ----------
    found : SearchResult
        The mixture.
    measure : str, Counted or callable
        Metric to maximise.
    kinds : sequence of str or subclasses of Rule, optional
        Kinds of rules; None for all that suit, and an order-free chain.
    constraints : LabelConstraints, optional
        Constraints on single labels, which get thresholds of their own.
    seed : int
        Seed for drawn rows and for the chain.
    n_jobs : int or None
        Threads of the chain.
    budget : TimeBudget
        Time left for the search.

    Returns
    -------
    RuleChoice

    Warns
    -----
    UserWarning
        If the time budget was too short for any candidate or for a booster, memory for one of
        them, or the search was interrupted.
    """
    too_short = []
    if not found.had_time:
        used = found.summary["candidate"][0]
        too_short = [f"time_budget is too short for any model: {used!r} is used nevertheless."]
    elif found.missing:
        too_short = [
            f"No {' and no '.join(found.missing)} was trained: time_budget or memory did not "
            f"suffice. Not tried: {', '.join(found.abandoned['candidate'])}."
        ]
    if found.was_interrupted:
        too_short = ["The search was interrupted: the mixture of the candidates so far is used."]
    for what in (*found.left_out, *too_short):
        warnings.warn(what, UserWarning, skip_file_prefixes=(PACKAGE,))
    if of_proba := proba_metric(measure):
        judged = found.data._replace(X=found.calibration.proba(found.data.X))
        choice = without_choice(judged, found.folds, measure=of_proba, seed=seed)
        if constraints:
            rule = constrained(choice.rule, found.data, constraints, measure)
            choice = choice._replace(rule=rule)
        return choice
    trials: list[RuleTrial] = [
        try_rules(
            found.data,
            found.folds,
            measure=measure,
            kinds=kinds,
            constraints=constraints,
            entries=budget.entries,
        )
    ]
    # The chain is tried only if it costs less than the candidates do, and if every row has a
    # prediction to learn from.
    seconds = chain_seconds(found.shape)
    affordable = seconds < min(found.usual_seconds, budget.left()) and found.are_all_tested
    if measure == _FOR_LABELSETS and affordable and kinds is None and not constraints:
        joint = try_joint(found.data, found.folds, measure=measure, seed=seed, n_jobs=n_jobs)
        if joint is not None:
            trials.append(joint)
    return choose(trials, measure, seed)
