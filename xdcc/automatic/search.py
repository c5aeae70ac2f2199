"""Trains candidates on the same folds, mixes them, and chooses the rule for the metric.

Each candidate gives margins out of fold. They are calibrated, and the candidate enters the mixture
if that lowers the log-loss by more than chance (:mod:`xdcc.automatic.mixture`). The log-loss
decides, whatever the metric: it is less noisy. A second level learns from the members' margins.
Then all decision rules are tried on the mixture's margins. For subset accuracy an order-free chain
(:mod:`xdcc.automatic.joint_labelset`), too, learns from these margins how labels depend. The score
of the chosen rule is corrected for the choice: it is repeated on rows drawn again and evaluated on
those that were not drawn (:mod:`xdcc.decision.bbc_cv`). A metric of probabilities needs no rule.

The usual candidates come first. With a time budget, a booster precedes them that ends after a tenth
of the time, so that there is a good model early. What its rounds took on this machine, and how many
of them these data needed, decides how fast the next ones learn. The members are trained again with
other seeds and averaged, which makes them less noisy, and other candidates follow, as long as the
budget lasts. None is begun that would last longer than that by its estimate. The estimates are
corrected by what earlier candidates of the same kind took.

Where one fold is enough (:mod:`xdcc.automatic.holdout`), rows are many and boosters gain most. So
without a budget they have a number of rounds for all of them: if the first needs few, a slower one
follows.

In the end the members are trained on all rows if they are not too expensive: the mean of two such
models is mostly better than that of five on four fifths of the rows, and predicts in less time.
With a time budget there are as many as folds, or two if it is too short for that.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.automatic.candidates import (
    ANY_PACE,
    ROUNDS_OF_ONE_FOLD,
    SHARE_OF_A_BOOSTER,
    Candidate,
    Pace,
    Shape,
    first_booster,
    more_candidates,
    rows_of_linear,
    second_level,
    slower_booster,
    slowness,
    usual_candidates,
)
from xdcc.automatic.holdout import parts_of_fold
from xdcc.automatic.joint_labelset import chain_seconds, try_joint
from xdcc.automatic.mixture import Member, Mixture
from xdcc.base.bins import SharedBins
from xdcc.base.checks import PACKAGE
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfFold, OutOfTime, ShouldEnd
from xdcc.base.label_rows import SAMPLE_ENTRIES
from xdcc.base.memory import NotEnoughMemoryError, fit_in_memory, in_units
from xdcc.base.process import late_interrupt
from xdcc.base.progress import progress_bar
from xdcc.base.side_by_side import n_at_once, run_all
from xdcc.base.workers import agreed, largest, sample_of_all
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision.calibration import Calibrated, LabelCalibration, calibrate_tested
from xdcc.decision.constraints import LabelConstraints
from xdcc.decision.cuts import Floats
from xdcc.decision.out_of_fold import margins_by, out_of_fold
from xdcc.decision.proba_metrics import proba_metric
from xdcc.decision.rule_choice import (
    RuleChoice,
    RuleTrial,
    choose,
    constrained,
    try_rules,
    without_choice,
)
from xdcc.decision.rules import MetricLike
from xdcc.linear import LogisticLabels
from xdcc.linear.classifier import mean_model

_MOST_RESERVED = 0.4
"""Share of a time budget that can be kept for what follows the training."""

_FULL_SAMPLE = 80.0
"""Seconds of a time budget from which on calibration and rules have a sample of full size."""

_RULES_PER_CALIBRATION = 6.0
"""How much longer the choice of a rule takes than the calibration of a candidate."""

_FOR_LABELSETS = "subset_accuracy"
"""The metric for which the dependence of labels matters."""

_OVERRUN_OF_SECOND_LEVEL = 2.0
"""Times its estimate is kept for a second level. Its features are few and strong, so it needs about
as many rounds as estimated even where the members take ten times their estimates."""

_LEAST_ROWS = 300
"""With fewer rows, models of all rows were no better than those of the folds."""

_N_ON_ALL_ROWS = 2
"""Models of all rows for each member without a time budget, or with one too short for more."""

_LONGEST_ON_ALL_ROWS = 12.0
"""Estimated seconds on one core beyond which models of the folds have to do without a budget."""

_TIME_OF_FIRST = 0.1
"""Share of a time budget after which the first booster ends."""

_HASTE = 2.0
"""How much longer than its estimate it may take: the machine can be busy."""

_MOST_OF_ONE = 0.4
"""Share of a time budget after which any other candidate ends."""

_SHORTEST_STEP = 1e-6
"""Seconds; the clock may show less."""

_MOST_FAILURES = 12
"""The search ends when so many candidates in turn have not entered the mixture."""

type CandidateCallback = Callable[[dict[str, Any]], object]
"""Called after each candidate with its row of the table; True ends the search."""


class SearchResult(NamedTuple):
    """Result of the search.

    Attributes
    ----------
    members : list of Member
        The chosen model: a candidate, or several that are mixed.
    stacked : list of Member
        The second level on their margins, if it helps.
    calibration : LabelCalibration
        Calibration of the members' mean log-odds: it changes constant labels only.
    data : FitData
        Labels and weights of the rows that a fold tests. X are log-odds of the mixture out of fold,
        float64, `(n_tested, n_labels)`.
    folds : int array of shape (n_tested,)
        Fold of each of these rows, or part of the only fold.
    are_all_tested : bool
        Whether these are all rows.
    log_loss : float
        Out-of-fold log-loss of the mixture.
    shape : Shape
        Shape of the training data.
    summary : dict of str to list
        Columns of a table of all candidates; see :class:`~xdcc.MultiLabelClassifier`.
    abandoned : dict of str to list
        Columns of a table of those without a model.
    end : str
        The reason for the end of the search.
    had_time : bool
        Whether the time budget was long enough for a candidate.
    has_booster : bool
        Whether there is a booster, or none was wanted.
    left_out : list of str
        Which candidates memory did not suffice for, and what they need.
    was_interrupted : bool
        Whether Ctrl-C ended the search.
    """

    members: list[Member]
    stacked: list[Member]
    calibration: LabelCalibration
    data: FitData
    folds: NDArray[np.intp]
    are_all_tested: bool
    log_loss: float
    shape: Shape
    summary: dict[str, list[Any]]
    abandoned: dict[str, list[Any]]
    end: str
    had_time: bool
    has_booster: bool
    left_out: list[str]
    was_interrupted: bool

    @property
    def all_members(self) -> list[Member]:
        """Those of the mixture and of the second level."""
        return [*self.members, *self.stacked]

    def sample(self, entries: int) -> "SearchResult":
        """Keep a sample of the rows of all workers, with so many entries, for the choice of a rule.

        It has no features and no attributes that `fit` learned.
        """
        data = self.data
        weights = [] if data.sample_weight is None else [data.sample_weight]
        X, Y, folds, *weights = sample_of_all(
            data.Y.shape, data.X, data.Y, self.folds, *weights, entries=entries
        )
        return self._replace(data=FitData(X, Y, weights[0] if weights else None), folds=folds)


class TimeBudget:
    """Seconds for the whole search; without a budget they never end.

    Parameters
    ----------
    started : float
        When the time began, by `time.perf_counter`.
    seconds : float or None
        None sets no limit.

    Attributes
    ----------
    is_limited : bool
        Whether there is a limit.
    seconds : float
        The limit.
    entries : int
        Entries of the rows that calibration and rules are learned from.
    """

    def __init__(self, started: float, seconds: float | None) -> None:
        self.is_limited = seconds is not None
        share = 1.0 if seconds is None else min(1.0, seconds / _FULL_SAMPLE)
        self.entries = int(share * SAMPLE_ENTRIES)
        self._started = started
        self.seconds = np.inf if seconds is None else seconds
        self._reserved = 0.0
        self._slowness: dict[type, float] = {}

    def has(self, seconds: float) -> bool:
        """Tell whether more than so many seconds are left for training, to all workers."""
        return not self.is_limited or agreed(seconds < self.left())

    def reserve(self, seconds: float) -> None:
        """Keep time for what follows the training."""
        self._reserved = min(seconds, _MOST_RESERVED * self.seconds)

    def reserve_more(self, seconds: float) -> bool:
        """Keep more time for what follows, if that is possible; tell whether it is."""
        possible = self._reserved + seconds <= _MOST_RESERVED * self.seconds
        if possible:
            self._reserved += seconds
        return possible

    def left(self) -> float:
        """Return the seconds that are left for training."""
        return self._started + self.seconds - self._reserved - time.perf_counter()

    def after(self, share: float) -> float:
        """Return when a share of the time is over, by `time.perf_counter`."""
        return self._started + share * self.seconds

    def estimate(self, candidate: Candidate) -> float:
        """Return how many seconds a candidate needs at least, learned from others of its kind.

        The first of a kind is as slow as the slowest other kind: the machine can be busy.
        """
        of_new = max([1.0, *self._slowness.values()])
        return candidate.least_seconds * self._slowness.get(candidate.kind, of_new)

    def learn(self, candidate: Candidate, seconds: float) -> None:
        """Correct the next estimates by what a candidate took."""
        self._slowness[candidate.kind] = seconds / candidate.seconds


@dataclass(frozen=True)
class _Trained:
    """A member of the mixture, and its raw margins out of fold, the mean over its seeds."""

    candidate: Candidate
    n_seeds: int
    margins: NDArray[np.float32]
    unfitted: Any
    estimators: list[Any]
    calibration: LabelCalibration


class _Stopped(Exception):
    """The callback ends the search."""


class _Watch:
    """Ends a training when its time is over, and measures its steps.

    Parameters
    ----------
    budget : TimeBudget
        Time budget of the search.
    end : float
        Time limit of the training, by `time.perf_counter`; the first step is always made.

    Attributes
    ----------
    n_steps : int
        Number of steps made so far.
    is_cut : bool
        Whether the training was ended early.
    """

    def __init__(self, budget: TimeBudget, end: float = np.inf) -> None:
        self.n_steps, self.is_cut = 0, False
        self._budget, self._end = budget, end
        self._began = self._first = self._last = time.perf_counter()
        self._n_first = 0

    def ends(self, n_steps: int) -> bool:
        """Take note of so many steps, and tell whether they have to be enough."""
        self._last = time.perf_counter()
        if not self.n_steps:
            self._first, self._n_first = self._last, n_steps
        self.n_steps = n_steps
        in_time = self._end == np.inf or agreed(self._last < self._end)
        self.is_cut = not (in_time and self._budget.has(0))
        return self.is_cut

    def seconds_per_step(self) -> float:
        """Return what a step took on the slowest worker.

        It does not count what comes before the first one, such as bins, if there are others.
        """
        since, n_steps = self._first, self.n_steps - self._n_first
        if not n_steps:
            since, n_steps = self._began, self.n_steps
        return largest(max((self._last - since) / n_steps, _SHORTEST_STEP))


class _Tried(NamedTuple):
    """A candidate that can enter the mixture, its calibrated margins, and what it took."""

    member: _Trained
    margins: Floats
    seconds: float
    watch: _Watch


class Search:
    """One search for the best mixture; workers can search together (:mod:`xdcc.base.workers`).

    Parameters
    ----------
    data : FitData
        Training data.
    folds : Folds
        Which rows each fold is tested and trained on. Only rows that are tested count in the
        mixture and in the choice of the rule.
    refit : bool or "auto"
        Whether members are trained on all rows in the end; "auto": if that pays.
    seed : int
        Seed for the candidates.
    n_jobs : int or None
        Threads of the candidates.
    budget : TimeBudget
        When to end.
    verbose : bool
        Whether to show the progress.
    callback : callable, optional
        Called after each candidate with its row of the table; True ends the search for more.
    keep_on_interrupt : bool, default=False
        Whether Ctrl-C ends the search only, if there is a member by then.
    """

    def __init__(
        self,
        data: FitData,
        folds: Folds,
        *,
        refit: bool | Literal["auto"],
        seed: int,
        n_jobs: int | None,
        budget: TimeBudget,
        verbose: bool,
        callback: CandidateCallback | None = None,
        keep_on_interrupt: bool = False,
    ) -> None:
        self._data, self._folds = data._replace(bins=SharedBins()), folds
        self._tested, self._folds_of_tested = folds.of_tested(data)
        self._rows_tested = slice(None) if folds.tested.all() else np.flatnonzero(folds.tested)
        if folds.n_folds == 1:
            self._folds_of_tested = parts_of_fold(folds, seed)[self._rows_tested]
        self._refit = refit if isinstance(refit, str) else bool(refit)
        self._seed, self._n_jobs, self._budget = seed, n_jobs, budget
        self._shape = Shape.of(data, folds.n_folds)
        self._callback, self._keep_on_interrupt = callback, keep_on_interrupt
        self._was_interrupted = False
        self._mixture = Mixture(self._tested)
        self._members: dict[str, _Trained] = {}
        self._stacked: list[Member] = []
        self._table: list[dict[str, Any]] = []
        self._abandoned: dict[str, list[Any]] = {"candidate": [], "seconds": [], "reason": []}
        self._has_booster = self._lacks_booster = False
        self._pace, self._slowness = ANY_PACE, 1.0
        self._end = "all candidates were tried"
        self._left_out: set[str] = set()
        # Trainings on all rows that would take as long as those of all folds.
        n_folds = folds.n_folds
        self._trainings = n_folds - 1 if n_folds > 1 else float(folds.trains(0).mean())
        self._for_rules = 0.0
        self._n_affordable = folds.n_folds
        self._is_together = False
        self._progress = progress_bar(unit=" candidates", disable=not verbose)

    def run(self) -> SearchResult:
        """Train the candidates and mix them.

        Returns
        -------
        SearchResult
        """
        with self._progress:
            try:
                had_time = self._try_all()
                members = self._complete()
            except KeyboardInterrupt:
                if not self._keep_on_interrupt or not self._members:
                    raise
                self._was_interrupted = had_time = True
                self._end = "interrupt"
                members = self._run(self._choices(self._seed + len(self._table)))
        stacked = self._stacked
        shares = dict(zip(self._mixture.names, self._mixture.shares, strict=True))
        # The row of a member is the last one with its number of seeds: earlier trials had failed.
        rows = {(row["candidate"], row["seeds"]): row for row in self._table}
        for row in self._table:
            row["share"] = 0.0
        for name, share in shares.items():
            row = rows[name, self._members[name].n_seeds]
            row["share"] = float(share) * (1 - stacked[0].share if stacked else 1)
        if stacked:
            self._table[-1]["share"] = stacked[0].share
        return SearchResult(
            members,
            stacked,
            LabelCalibration.without_scaling(self._data),
            self._tested._replace(X=self._mixture.margins),
            self._folds_of_tested,
            bool(self._folds.tested.all()),
            self._mixture.log_loss,
            self._shape,
            {name: [row[name] for row in self._table] for name in self._table[0]},
            self._abandoned,
            self._end,
            had_time,
            self._has_booster or not self._lacks_booster,
            sorted(self._left_out),
            self._was_interrupted,
        )

    def _try_all(self) -> bool:
        """Train candidates until the callback or the budget ends it; return whether one fits in."""
        try:
            if self._budget.is_limited:
                self._try_in_time()
            else:
                self._try_usual()
            had_time = bool(self._table)
            if not had_time:
                self._try(usual_candidates(self._shape)[0])
        except _Stopped:
            self._end = "callback"
            return True
        return had_time

    def _try_usual(self) -> None:
        """Train the usual candidates side by side; they enter the mixture in their order."""
        candidates = usual_candidates(self._shape)
        if self._shape.n_folds == 1:
            self._try_one_fold(*candidates)
            return
        trained: dict[int, _Tried | None] = {}
        entering, following = threading.Lock(), 0

        def try_candidate(number: int) -> None:
            nonlocal following
            found = self._train_and_calibrate(candidates[number], number)
            with entering:
                trained[number] = found
                while following in trained:
                    if (tried := trained.pop(following)) is not None:
                        self._enter(tried)
                    following += 1

        numbers = list(range(len(candidates)))
        self._is_together = n_at_once() > 1 and self._fit_in_memory(candidates)
        if self._is_together:  # what takes long first: no thread is left with it in the end
            numbers.sort(key=lambda number: -candidates[number].seconds)
        self._run([partial(try_candidate, number) for number in numbers])

    def _fit_in_memory(self, candidates: Sequence[Candidate]) -> bool:
        """Tell whether memory suffices to train candidates at the same time."""
        estimators = [candidate.estimator(self._seed, self._n_jobs) for candidate in candidates]
        n_folds = self._folds.n_folds
        return fit_in_memory([each._memory_of_folds(self._data, n_folds) for each in estimators])

    def _run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run tasks of several candidates, side by side if time and memory allow it."""
        return run_all(tasks) if self._is_together else [task() for task in tasks]

    def _try_one_fold(self, booster: Candidate, *others: Candidate) -> None:
        """Train a booster and others, and with the rounds that it has left a slower booster."""
        tried = self._train_and_calibrate(booster, 0)
        if tried is not None:
            self._enter(tried)
            left = ROUNDS_OF_ONE_FOLD - tried.watch.n_steps
            slower = slower_booster(self._shape, self._pace.needed, left)
            others = others if slower is None else (*others, slower)
        for candidate in others:
            self._try(candidate)

    def _try_in_time(self) -> None:
        """Train one candidate after the other until the time is over or enough have failed."""
        n_failures = 0
        self._try_first()
        for candidate in self._candidates():
            if not self._budget.has(0):
                self._end = "time_budget"
                break
            seconds = self._budget.estimate(candidate)
            fits = self._budget.has(seconds)
            if not fits and candidate.n_errors == 1 and candidate.name not in self._members:
                self._abandon(candidate, 0.0, f"it would take {seconds:.0f} s or more")
            n_failures = 0 if fits and self._try(candidate) else n_failures + 1
            if n_failures >= _MOST_FAILURES:
                failed = f"{_MOST_FAILURES} candidates in turn have not helped"
                self._end = failed if fits else "time_budget"
                break

    def _try_first(self) -> None:
        """Train a booster in a small share of the time."""
        if not self._budget.has(0):
            return
        candidate = first_booster(self._shape, _TIME_OF_FIRST * self._budget.seconds / _HASTE)
        end = self._budget.after(_TIME_OF_FIRST)
        tried = self._train_and_calibrate(candidate, 0, end)
        if tried is not None:
            self._enter(tried)

    def _learn(self, tried: _Tried) -> None:
        """Learn from a candidate how long others take, and how fast boosters have to learn."""
        candidate, watch = tried.member.candidate, tried.watch
        if candidate.kind is not MultiLabelXGBClassifier:
            self._budget.learn(candidate, tried.seconds)
            return
        self._slowness = slowness(candidate, watch.seconds_per_step())
        self._budget.learn(candidate, self._slowness * candidate.seconds)
        if candidate.params["labels_per_tree"] == 0:
            n_best = tried.member.unfitted.n_estimators
            needed = np.inf if watch.is_cut else n_best * candidate.params["learning_rate"]
            self._pace = Pace(needed=max(ANY_PACE.needed, needed))

    def _pace_of_next(self) -> Pace:
        """Tell how fast the next booster has to learn in the time that is left."""
        left = -largest(-self._budget.left())
        longest = min(SHARE_OF_A_BOOSTER * self._budget.seconds, max(left, 0.0))
        return self._pace._replace(longest=longest / self._slowness)

    def _candidates(self) -> Iterator[Candidate]:
        """List what is tried in a time budget.

        Until a booster has had time for all rounds that it needs, another one gains most.
        """
        usual = usual_candidates(self._shape, self._pace_of_next())
        first = usual[: 1 if self._pace.needed == np.inf else 0]
        yield from (*first, *sorted(usual[len(first) :], key=lambda candidate: candidate.seconds))
        others = more_candidates(self._shape, self._seed, self._pace_of_next)
        while True:
            for name in list(self._mixture.names) if self._pace.needed < np.inf else []:
                if name in self._members and self._members[name].candidate.is_worth_repeating:
                    yield self._members[name].candidate
            yield next(others)

    def _complete(self) -> list[Member]:
        """Train the second level, and models of all rows; return the members of the mixture."""
        candidate = self._affordable_second_level()
        # Known before the second level is trained: models of all rows need not wait for it.
        seed = self._seed + len(self._table) + (candidate is not None)

        def stack() -> None:
            if candidate is not None:
                self._stack(candidate, seed)
            self._budget.reserve(self._for_rules)

        _, *members = self._run([stack, *self._choices(seed)])
        return members

    def _choices(self, seed: int) -> list[Callable[[], Member]]:
        """List what makes the members of the mixture."""
        chosen = zip(self._mixture.names, self._mixture.shares, strict=True)
        return [partial(self._chosen, name, float(share), seed) for name, share in chosen]

    def _chosen(self, name: str, share: float, seed: int) -> Member:
        """Make a member of the mixture, with models of all rows if that pays."""
        found = self._members[name]
        estimators = found.estimators
        if self._refit is True:
            estimators = _on_all_rows(found.unfitted, found.n_seeds, self._data, seed)
        elif self._can_use_all_rows([name]):
            with suppress(NotEnoughMemoryError):
                estimators = _on_all_rows(found.unfitted, self._n_on_all_rows, self._data, seed)
        return Member(name, share, estimators, found.calibration)

    def _can_use_all_rows(self, names: list[str]) -> bool:
        """Tell whether models of all rows replace those of the folds of some members."""
        seconds = self._seconds_on_all_rows(names)
        return self._n_on_all_rows > 0 and self._budget.has(seconds)

    @property
    def _n_on_all_rows(self) -> int:
        """How many models of all rows replace those of the folds of a member with one seed."""
        if self._refit is True:
            return 1
        is_representative = bool(self._folds.tested.all()) or self._shape.n_folds == 1
        enough = self._shape.n_rows >= _LEAST_ROWS and is_representative
        if self._refit is False or not enough or self._was_interrupted:
            return 0
        if self._budget.is_limited:
            return self._n_affordable
        if self._shape.n_folds == 1:
            return 0
        of_members = sum(self._members[name].candidate.seconds for name in self._mixture.names)
        seconds = _N_ON_ALL_ROWS / self._trainings * of_members
        return _N_ON_ALL_ROWS if seconds <= _LONGEST_ON_ALL_ROWS else 0

    def _seconds_on_all_rows(self, names: list[str]) -> float:
        """Estimate from the table how long it takes to train members on all rows."""
        of_folds = 0.0
        for name in names:
            seconds = [row["seconds"] for row in self._table if row["candidate"] == name]
            # With ``refit=True`` there is a model for each seed.
            of_folds += sum(seconds) if self._refit is True else seconds[-1]
        return self._n_on_all_rows / self._trainings * of_folds

    def _try(self, candidate: Candidate) -> bool:
        """Train a candidate, or a member with another seed; return whether the mixture improves."""
        end = time.perf_counter() + _MOST_OF_ONE * self._budget.seconds
        tried = self._train_and_calibrate(candidate, len(self._table), end)
        return tried is not None and self._enter(tried)

    def _abandon(self, candidate: Candidate, seconds: float, reason: str) -> None:
        """Note a candidate without a model, once."""
        self._lacks_booster |= candidate.kind is MultiLabelXGBClassifier
        if candidate.name not in self._abandoned["candidate"]:
            row = {"candidate": candidate.name, "seconds": seconds, "reason": reason}
            for name, column in self._abandoned.items():
                column.append(row[name])

    def _train_and_calibrate(
        self, candidate: Candidate, number: int, end: float = np.inf
    ) -> _Tried | None:
        """Train a candidate or a member with another seed, and calibrate its margins."""
        begun = time.perf_counter()
        watch = _Watch(self._budget, end)
        found = self._train(candidate, self._data, number, watch)
        if found is None:
            return None
        trained = time.perf_counter()
        earlier = self._members.get(candidate.name)
        raw = found.margins[self._rows_tested].astype(np.float32)
        n_seeds, estimators = 1, self._predictors(found)
        if earlier is not None:
            n_seeds += earlier.n_seeds
            raw = earlier.margins + (raw - earlier.margins) / np.float32(n_seeds)
            estimators = [*earlier.estimators, *estimators]
        calibration, margins = self._calibrate(raw)
        ended = time.perf_counter()
        self._for_rules = _RULES_PER_CALIBRATION * (ended - trained)
        member = _Trained(candidate, n_seeds, raw, found.unfitted, estimators, calibration)
        return _Tried(member, margins, ended - begun, watch)

    def _enter(self, tried: _Tried) -> bool:
        """Let a candidate enter the mixture if that improves; return whether it does.

        Raises :class:`_Stopped` if the callback returns True.
        """
        with late_interrupt():
            enters = self._put(tried)
        if self._callback is not None and not agreed(not self._callback(dict(self._table[-1]))):
            raise _Stopped
        return enters

    def _put(self, tried: _Tried) -> bool:
        """Put a candidate into the mixture if that improves, and into the table in any case."""
        begun = time.perf_counter()
        member, candidate = tried.member, tried.member.candidate
        if candidate.name not in self._members:
            enters = self._mixture.admit(candidate.name, tried.margins, candidate.n_errors)
        else:
            enters = self._mixture.improve(candidate.name, tried.margins)
        if enters:
            known = self._members | {candidate.name: member}
            self._members = {name: known[name] for name in self._mixture.names}
        seconds = tried.seconds + time.perf_counter() - begun
        self._learn(tried)
        self._list(candidate, member.n_seeds, member.unfitted, tried.margins, seconds)
        self._has_booster |= candidate.kind is MultiLabelXGBClassifier
        can_stack = self._folds.tested.all()
        self._reserve(_OVERRUN_OF_SECOND_LEVEL * self._second_level().seconds if can_stack else 0)
        self._reserve_for_all_rows()
        return enters

    def _reserve(self, seconds: float) -> None:
        """Keep time for what is certain to follow, and so many seconds for something else."""
        names = self._mixture.names
        for_refit = self._seconds_on_all_rows(names) if self._refit is True else 0.0
        self._budget.reserve(self._for_rules + for_refit + seconds)

    def _reserve_for_all_rows(self) -> None:
        """Keep time for models of all rows, too, and decide how many of them fit."""
        if self._refit is True:
            return
        names = self._mixture.names
        self._n_affordable = self._shape.n_folds
        if not self._budget.reserve_more(self._seconds_on_all_rows(names)):
            self._n_affordable = min(_N_ON_ALL_ROWS, self._n_affordable)
            self._budget.reserve_more(self._seconds_on_all_rows(names))

    def _affordable_second_level(self) -> Candidate | None:
        """Describe the second level; None if not every row has margins, or it takes too long."""
        if not self._folds.tested.all():
            return None
        self._reserve(0)  # the second level comes before models of all rows
        candidate = self._second_level()
        if self._budget.is_limited:
            affordable = self._budget.has(candidate.seconds)
        else:
            usual = usual_candidates(self._shape)
            affordable = candidate.seconds < sum(each.seconds for each in usual) / 2
        return candidate if affordable else None

    def _stack(self, candidate: Candidate, seed: int) -> None:
        """Train a second level on the members' margins, and keep it if it helps."""
        begun = time.perf_counter()
        features = self._mixture.features
        learned = {
            name: value
            for name, value in self._data.learned.items()
            if name not in ("feature_names_in_", "categories_")
        }
        of_margins = self._data._replace(
            X=features,
            feature_types=None,
            bins=SharedBins(),
            learned=learned | {"n_features_in_": features.shape[1], "sparse_X_": False},
        )
        found = self._train(candidate, of_margins, len(self._table), _Watch(self._budget))
        if found is None:
            return
        calibration, margins = self._calibrate(found.margins)

        def keep(estimators: list[Any]) -> None:
            share = self._mixture.stacked_share
            self._stacked = [Member(candidate.name, share, estimators, calibration)]

        with late_interrupt():
            stays = self._mixture.stack(margins)
            self._list(candidate, 1, found.unfitted, margins, time.perf_counter() - begun)
            if stays:
                keep(found.estimators)
        if stays and self._can_use_all_rows([candidate.name]):
            keep(_on_all_rows(found.unfitted, self._n_on_all_rows, of_margins, seed))

    def _second_level(self) -> Candidate:
        n_members = max(1, len(self._mixture.names))
        return second_level(self._shape, n_members, self._budget.seconds)

    def _calibrate(self, margins: NDArray[np.floating]) -> Calibrated[LabelCalibration]:
        """Calibrate margins of the rows that a fold tests."""
        data = self._tested._replace(X=margins.astype(np.float64))
        whole = LabelCalibration.without_scaling(self._data)
        return calibrate_tested(whole, data, self._folds_of_tested, self._budget.entries)

    def _list(
        self, candidate: Candidate, n_seeds: int, unfitted: Any, margins: Floats, seconds: float
    ) -> None:
        """Add a row to the table."""
        losses = self._mixture.losses
        self._table.append(
            {
                "candidate": candidate.name,
                "seeds": n_seeds,
                "rounds": getattr(unfitted, "n_estimators", None),
                "log_loss": float(losses.mean(losses.of(margins))),
                "best_log_loss": self._mixture.log_loss,
                "seconds": seconds,
            }
        )
        self._progress.update()

    def _predictors(self, found: OutOfFold) -> list[Any]:
        """Get the models of the folds, unless others are certain to replace them."""
        if self._refit is True:
            return []
        if isinstance(found.unfitted, LogisticLabels):
            return [mean_model(found.estimators)]
        return found.estimators

    def _train(
        self, candidate: Candidate, data: FitData, number: int, watch: _Watch
    ) -> OutOfFold | None:
        """Train a candidate out of fold; None without time or memory for a model of each fold."""
        begun = time.perf_counter()
        estimator = candidate.estimator((self._seed + number) % 2**31, self._n_jobs)
        best = f", log-loss {self._mixture.log_loss:.4f}" if self._table else ""
        memory = estimator._memory_of_folds(data, self._folds.n_folds)
        of_memory = f", up to {in_units(memory)}" if memory else ""
        self._progress.set_description(f"{candidate.name}{of_memory}")

        def is_over(n_steps: int) -> bool:
            left = self._budget.left()
            of_budget = f", {left:.0f} s left" if self._budget.is_limited else ""
            self._progress.set_postfix_str(f"{n_steps} steps{best}{of_budget}", refresh=False)
            self._progress.update(0)
            return watch.ends(n_steps)

        try:
            if candidate.kind is LogisticLabels and self._shape.n_folds == 1:
                return self._train_linear(estimator, is_over)
            return out_of_fold(estimator, data, self._folds, should_end=is_over)
        except OutOfTime:
            self._abandon(candidate, time.perf_counter() - begun, "out of time")
            return None
        except MemoryError as error:
            # Workers leave out together what they have estimated together, and nothing else.
            if collective.is_distributed() and not isinstance(error, NotEnoughMemoryError):
                raise
            self._left_out.add(f"The candidate {candidate.name!r} is left out. {error}")
            self._abandon(candidate, time.perf_counter() - begun, "out of memory")
            return None

    def _train_linear(self, estimator: LogisticLabels, should_end: ShouldEnd) -> OutOfFold:
        """Train linear models of one fold on as many rows as they need."""
        data, n_rows = self._data, rows_of_linear(self._shape)
        # Not in the order in which the fold was drawn.
        rows = np.random.default_rng([self._seed, 1]).permutation(len(data.Y))[:n_rows]
        rows.sort()
        folds = Folds(self._folds.test[rows])
        found = out_of_fold(estimator, data.part(rows), folds, should_end=should_end)
        margins = np.full(data.Y.shape, np.nan, np.float32)
        (model,) = found.estimators
        margins[self._rows_tested] = margins_by(model, self._tested.X, data.Y.shape[1])
        return found._replace(margins=margins)


def _on_all_rows(unfitted: Any, n_models: int, data: FitData, seed: int) -> list[Any]:
    """Train models that differ in their seeds."""
    return unfitted._fit_with_seeds(data, [(seed + i) % 2**31 for i in range(n_models)])


def choose_rule(
    found: SearchResult,
    *,
    measure: MetricLike,
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
    measure : str, Metric or callable
        Metric to maximise.
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
        too_short = ["time_budget is too short for any model: a booster of one round is used."]
    elif not found.has_booster:
        too_short = [
            "No booster was trained: time_budget or memory did not suffice. Not tried: "
            f"{', '.join(found.abandoned['candidate'])}."
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
            constraints=constraints,
            entries=budget.entries,
        )
    ]
    # The chain is tried only if it costs less than the candidates do, and if every row has a
    # prediction to learn from.
    seconds = chain_seconds(found.shape)
    longest = sum(candidate.seconds for candidate in usual_candidates(found.shape))
    affordable = seconds < min(longest, budget.left()) and found.are_all_tested
    if measure == _FOR_LABELSETS and affordable and not constraints:
        joint = try_joint(found.data, found.folds, measure=measure, seed=seed, n_jobs=n_jobs)
        if joint is not None:
            trials.append(joint)
    return choose(trials, measure, seed)
