"""Trains candidates on the same folds, mixes them, and chooses model and rule for the measure.

Each candidate gives margins out of fold. They are calibrated, and all decision rules are tried on
them and on the mixture of the least log-loss. For subset accuracy an order-free chain
(:mod:`xdcc.automatic.members`) learns from the best of these margins how labels depend; it has a
log-loss, too, that of whole labelsets. What is best by the measure is kept; but measures are noisy
where the log-loss is not, so another model replaces the one of the least log-loss only if its score
is better by more than the standard error of the difference. The score of the choice is corrected
for having chosen among all models and all rules: the choice is repeated on rows drawn again and
evaluated on those that were not drawn (:mod:`xdcc.decision.bbc_cv`).
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from xdcc.automatic.candidates import Candidate, chain_pays
from xdcc.automatic.members import Member, log_loss, mixture_shares, try_joint
from xdcc.base.checks import PACKAGE
from xdcc.base.fit_data import FitData
from xdcc.decision.calibration import LabelCalibration, calibrate_labels
from xdcc.decision.cuts import Floats
from xdcc.decision.rule_choice import RuleComparison, RuleTrial, compare, try_rules
from xdcc.decision.rules import MeasureLike, Rule

_SHARE_FOR_THE_FIRST = 0.6
"""Share of a time budget after which the first candidate's training ends."""

_FOR_LABELSETS = "subset_accuracy"
"""The measure for which the dependence of labels matters."""

_DECISIONS_TO_COME = 3
"""A candidate's, the mixture's and the comparison of all: reserved in a time budget."""


class SearchResult(NamedTuple):
    """Result of the search.

    Attributes
    ----------
    members : list of Member
        The chosen model: a candidate, or several that are mixed.
    calibration : LabelCalibration
        Of the members' mean log-odds; they are calibrated already but for constant labels.
    margins : float64 array of shape (n_samples, n_labels)
        Its log-odds out of fold.
    rule : Rule
        The chosen rule.
    score : float
        Of the measure, corrected for having chosen.
    summary : dict of str to list
        Columns of a table of all models; see :class:`~xdcc.MultiLabelClassifier`.
    """

    members: list[Member]
    calibration: LabelCalibration
    margins: Floats
    rule: Rule
    score: float
    summary: dict[str, list[Any]]


@dataclass(frozen=True)
class _Model:
    """A candidate, or a mixture, with its results."""

    name: str
    members: list[Member]
    n_rounds: int | None
    margins: Floats
    log_loss: float
    trial: RuleTrial
    seconds: float


class _TimeBudget:
    """A time budget; without one it never ends."""

    def __init__(self, started: float, budget: float | None) -> None:
        self._started = started
        self._budget = np.inf if budget is None else budget
        self.end = self._started + _SHARE_FOR_THE_FIRST * self._budget

    def is_up(self) -> bool:
        return time.perf_counter() >= self.end

    def keep_free(self, seconds: float) -> None:
        self.end = self._started + self._budget - seconds

    def has(self, seconds: float) -> bool:
        return time.perf_counter() + seconds < self.end

    def passed(self) -> float:
        return time.perf_counter() - self._started


def search(
    candidates: Sequence[Candidate],
    data: FitData,
    folds: NDArray[np.intp],
    *,
    measure: MeasureLike,
    seed: int,
    n_jobs: int | None,
    started: float,
    time_budget: float | None,
    verbose: bool,
) -> SearchResult:
    """Train the candidates and choose.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order in which they are trained.
    data : FitData
        Training data.
    folds : int array of shape (n_samples,)
        Fold of each row.
    measure : str, Measure or callable
        What to maximise.
    seed : int
        Of boosters and of drawn rows.
    n_jobs : int or None
        Threads of the boosters.
    started : float
        When the time budget began, by `time.perf_counter`.
    time_budget : float or None
        Seconds. When they have passed, the best model so far is the result.
    verbose : bool
        Whether to show the progress.

    Returns
    -------
    SearchResult

    Warns
    -----
    UserWarning
        If the time budget ends the training of the first candidate.
    """
    clock = _TimeBudget(started, time_budget)
    models: list[_Model] = []
    with tqdm(candidates, unit="model", disable=not verbose) as progress:
        for number, candidate in enumerate(progress):
            if models and clock.is_up():
                break
            progress.set_description(candidate.name)

            def is_over(n_rounds: int, progress: Any = progress) -> bool:
                progress.set_postfix_str(f"{n_rounds} rounds", refresh=False)
                progress.update(0)
                return clock.is_up()

            begun = time.perf_counter()
            estimator = candidate.estimator((seed + number) % 2**31, n_jobs)
            found = estimator._out_of_fold(data, folds, should_end=is_over)
            trained = time.perf_counter()
            if not models and clock.is_up():
                _warn_of_short_budget(time_budget, found.unfitted.n_estimators)
            calibration, margins = calibrate_labels(
                data._replace(X=found.margins.astype(np.float64)), folds
            )
            member = Member(candidate.name, 1.0, found.estimators, calibration)
            models.append(
                _evaluated(
                    candidate.name,
                    [member],
                    found.unfitted.n_estimators,
                    data._replace(X=margins),
                    folds,
                    measure,
                    begun,
                )
            )
            clock.keep_free(_DECISIONS_TO_COME * (time.perf_counter() - trained))
    models = _with_mixture(models, data, folds, measure)
    work = sum(candidate.work for candidate in candidates)
    # The chain is tried only if it costs less than the candidates did.
    if (
        measure == _FOR_LABELSETS
        and chain_pays(len(data.Y), data.Y.shape[1], int(folds.max()) + 1, work)
        and clock.has(clock.passed())
    ):
        models = _with_chain(models, data, folds, measure, seed, n_jobs)
    return _choose(models, data, measure, seed)


def _evaluated(
    name: str,
    members: list[Member],
    n_rounds: int | None,
    data: FitData,
    folds: NDArray[np.intp],
    measure: MeasureLike,
    begun: float,
) -> _Model:
    """Evaluate a model by its calibrated margins, the X of `data`."""
    trial = try_rules(data, folds, measure=measure)
    loss = log_loss(data.X, data)
    return _Model(name, members, n_rounds, data.X, loss, trial, time.perf_counter() - begun)


def _with_mixture(
    models: list[_Model], data: FitData, folds: NDArray[np.intp], measure: MeasureLike
) -> list[_Model]:
    """Add the mixture, if it is more than one of the models."""
    begun = time.perf_counter()
    margins = [model.margins for model in models]
    shares = mixture_shares(margins, data)
    if (shares > 0).sum() < 2:
        return models
    members = [
        Member(model.name, float(share), member.estimators, member.calibration)
        for model, share in zip(models, shares, strict=True)
        for member in model.members
        if share > 0
    ]
    mixed = np.asarray(np.tensordot(shares, margins, 1), dtype=np.float64)
    of_mixture = data._replace(X=mixed)
    mixture = _evaluated("mixture", members, None, of_mixture, folds, measure, begun)
    return [*models, mixture]


def _with_chain(
    models: list[_Model],
    data: FitData,
    folds: NDArray[np.intp],
    measure: MeasureLike,
    seed: int,
    n_jobs: int | None,
) -> list[_Model]:
    """Add an order-free chain on the model of the least log-loss, if labels depend."""
    begun = time.perf_counter()
    base = min(models, key=lambda model: model.log_loss)
    of_base = data._replace(X=base.margins)
    found = try_joint(of_base, folds, measure=measure, seed=seed, n_jobs=n_jobs)
    if found is None:
        return models
    seconds = time.perf_counter() - begun
    name = f"order-free chain on {base.name}"
    chain = _Model(
        name, base.members, found.n_rounds, base.margins, found.log_loss, found.trial, seconds
    )
    return [*models, chain]


def _choose(models: list[_Model], data: FitData, measure: MeasureLike, seed: int) -> SearchResult:
    """Choose the model and its rule."""
    comparison = compare([model.trial for model in models], measure, seed)
    rules = [rule for model in models for rule in model.trial.rules]
    of_model = np.repeat(np.arange(len(models)), [len(model.trial.rules) for model in models])
    handicap = _handicap(comparison, of_model, int(np.argmin([m.log_loss for m in models])))
    best = comparison.best(handicap)
    chosen = models[of_model[best]]
    share = {member.name: member.share for member in chosen.members}
    rows = []
    for number, model in enumerate(models):
        own = np.flatnonzero(of_model == number)
        best_own = best if model is chosen else own[np.argmax(comparison.scores[own])]
        rows.append(
            {
                "candidate": model.name,
                "rounds": model.n_rounds,
                "log_loss": model.log_loss,
                "rule": rules[best_own].name,
                "score": float(comparison.scores[best_own]),
                "standard_error": float(comparison.draws.drawn[:, best_own].std()),
                "corrected_score": float(comparison.draws.estimate(own).mean()),
                "seconds": model.seconds,
                "share": share.get(model.name, 0.0),
                "chosen": model is chosen,
            }
        )
    return SearchResult(
        chosen.members,
        LabelCalibration.without_scaling(data),
        chosen.margins,
        rules[best],
        float(comparison.draws.estimate(np.arange(len(rules)), handicap).mean()),
        {name: [row[name] for row in rows] for name in rows[0]},
    )


def _handicap(comparison: RuleComparison, of_model: NDArray[np.intp], favourite: int) -> Floats:
    """Compute by how much a rule of another model must be better than the best of the favourite.

    Parameters
    ----------
    comparison : RuleComparison
        Of the rules of all models.
    of_model : int array of shape (n_rules,)
        Each rule's model.
    favourite : int
        The model of the least log-loss.

    Returns
    -------
    float64 array of shape (n_rules,)
        The standard error of the difference between both scores; 0 for the favourite's own rules.
    """
    own = np.flatnonzero(of_model == favourite)
    best_own = own[np.argmax(comparison.scores[own])]
    drawn = comparison.draws.drawn
    error = (drawn - drawn[:, [best_own]]).std(axis=0)
    return np.where(of_model == favourite, 0.0, error)


def _warn_of_short_budget(time_budget: float | None, n_rounds: int) -> None:
    warnings.warn(
        f"time_budget={time_budget} ended the training of the first model after {n_rounds} "
        "rounds: with more time it would be better.",
        UserWarning,
        skip_file_prefixes=(PACKAGE,),
    )
