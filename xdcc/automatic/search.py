"""Trains candidates on the same folds, and mixes them.

Each candidate gives margins out of fold. They are calibrated, and the candidate enters the mixture
if that lowers the log-loss by more than chance (:mod:`xdcc.automatic.mixture`). The log-loss
decides, whatever the metric: it is less noisy. A second level learns from the members' margins.

The usual candidates of all families (:mod:`xdcc.automatic.families`) come first. With a time
budget, those precede them that end after a tenth of the time, so that there is a good model early.
The members are trained again with other seeds and averaged, which makes them less noisy, and other
candidates follow, as long as the budget lasts. None is begun that would last longer than that by
its estimate. The estimates are corrected by what earlier candidates of the same kind took.

Where one fold is enough (:mod:`xdcc.automatic.holdout`) and time is not limited, a candidate can be
followed by others of its family.

In the end the members are trained on all rows if they are not too expensive: the mean of two such
models is mostly better than that of five on four fifths of the rows, and predicts in less time.
With a time budget there are as many as folds, or two if it is too short for that.

A callback or an interrupt ends the search at the next step of each candidate. Nothing is trained
after it: the models of the folds predict, unless ``refit=True``.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.automatic.boosters import second_level
from xdcc.automatic.families import more_candidates, usual_candidates
from xdcc.automatic.family import Candidate, MemberFamily, Training
from xdcc.automatic.mixture import Member, Mixture
from xdcc.automatic.search_result import SearchResult
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.automatic.watch import Watch
from xdcc.base.bins import SharedBins
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfFold, OutOfTime, ShouldEnd
from xdcc.base.input_form import InputForm
from xdcc.base.memory import NotEnoughMemoryError, fit_in_memory, in_units
from xdcc.base.process import late_interrupt
from xdcc.base.progress import progress_bar
from xdcc.base.side_by_side import n_at_once, run_all
from xdcc.base.workers import agreed
from xdcc.decision.calibration import Calibrated, LabelCalibration, calibrate_tested
from xdcc.decision.cuts import Floats
from xdcc.decision.out_of_fold import margins_by, out_of_fold

_RULES_PER_CALIBRATION = 6.0
"""How much longer the choice of a rule takes than the calibration of a candidate."""

_OVERRUN_OF_SECOND_LEVEL = 2.0
"""Factor of the estimated time that is kept for a second level. Its features are few and strong, so
it needs about the estimated rounds even where members take ten times their estimates."""

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

_MOST_FAILURES = 12
"""The search ends when this many candidates in turn have not entered the mixture."""

_BETWEEN_CALLS = 1.0
"""Seconds after which a callback is called again while candidates train."""

type CandidateCallback = Callable[[dict[str, Any]], object]
"""Called with rows of the table, after each candidate and during it; True ends the search."""


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


class _Tried(NamedTuple):
    """A candidate that can enter the mixture, its calibrated margins, and its training."""

    member: _Trained
    margins: Floats
    training: Training


class Search:
    """One search for the best mixture; workers can search together (:mod:`xdcc.base.workers`).

    Parameters
    ----------
    data : FitData
        Training data.
    families : sequence of MemberFamily
        What competes; they learn from the search.
    folds : Folds
        Which rows each fold is tested and trained on. Only rows that are tested count in the
        mixture and in the choice of the rule.
    parts : int array of shape (n_samples,), optional
        Parts of the only fold, on which calibration and rules are judged, instead of folds.
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
        Called after each candidate with its row of the table, and while it trains with a row that
        has no log-loss; True ends the search for more.
    keep_on_interrupt : bool, default=False
        Whether Ctrl-C ends the search only, if there is a member by then.
    """

    def __init__(
        self,
        data: FitData,
        families: Sequence[MemberFamily],
        folds: Folds,
        *,
        parts: NDArray[np.intp] | None = None,
        refit: bool | Literal["auto"],
        seed: int,
        n_jobs: int | None,
        budget: TimeBudget,
        verbose: bool,
        callback: CandidateCallback | None = None,
        keep_on_interrupt: bool = False,
    ) -> None:
        self._data, self._folds = data._replace(bins=SharedBins()), folds
        self._families = families
        self._tested, self._folds_of_tested = folds.of_tested(data)
        self._rows_tested = slice(None) if folds.tested.all() else np.flatnonzero(folds.tested)
        if parts is not None:
            self._folds_of_tested = parts[self._rows_tested]
        self._refit = refit if isinstance(refit, str) else bool(refit)
        self._seed, self._n_jobs, self._budget = seed, n_jobs, budget
        self._shape = Shape.of(data, folds.n_folds)
        self._usual = usual_candidates(families, self._shape)
        self._callback, self._keep_on_interrupt = callback, keep_on_interrupt
        self._calling, self._called, self._is_ending = threading.Lock(), time.perf_counter(), False
        self._was_interrupted = self._is_stopped = False
        self._mixture = Mixture(self._tested)
        self._members: dict[str, _Trained] = {}
        self._stacked: list[Member] = []
        self._table: list[dict[str, Any]] = []
        self._abandoned: dict[str, list[Any]] = {"candidate": [], "seconds": [], "reason": []}
        self._trained_nouns: set[str] = set()
        self._abandoned_nouns: set[str] = set()
        self._end = "all candidates were tried"
        self._left_out: set[str] = set()
        # Trainings on all rows that would take as long as those of all folds.
        n_folds = folds.n_folds
        self._trainings = n_folds - 1 if n_folds > 1 else float(folds.trains(0).mean())
        self._for_rules, self._rules_per_calibration = 0.0, _RULES_PER_CALIBRATION
        self._n_affordable = folds.n_folds
        self._is_together = False
        self._progress = progress_bar(unit=" candidates", disable=not verbose)

    def run(self) -> SearchResult:
        """Train the candidates and mix them.

        Returns
        -------
        SearchResult

        Raises
        ------
        ValueError
            If a classifier of another package predicts no probabilities.
        """
        for family in self._families:
            family.begin(self._data, self._shape, self._budget.longest())
        self._usual = usual_candidates(self._families, self._shape)  # by what they have learned
        with self._progress:
            try:
                had_time = self._try_all()
                members = self._complete()
            except KeyboardInterrupt:
                if not self._keep_on_interrupt or not self._members:
                    raise
                self._was_interrupted = had_time = True
                self._stop("interrupt")
                members = self._complete()
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
            self._shape,
            sum(candidate.seconds for candidate in self._usual),
            {name: [row[name] for row in self._table] for name in self._table[0]},
            self._abandoned,
            self._end,
            had_time,
            sorted(self._abandoned_nouns - self._trained_nouns),
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
                self._try_in_any_case()
        except _Stopped:
            self._stop("callback")
            return True
        return had_time

    def _stop(self, reason: str) -> None:
        """Note that the search is ended from outside: what follows has to be brief."""
        self._end, self._is_stopped = reason, True
        self._budget.hurry()

    def _try_usual(self) -> None:
        """Train the usual candidates side by side; they enter the mixture in their order."""
        candidates = self._usual
        if self._shape.n_folds == 1:
            self._try_one_fold()
            return
        trained: dict[int, _Tried | None] = {}
        entering, following = threading.Lock(), 0

        def try_candidate(number: int) -> None:
            nonlocal following
            found = self._train_and_calibrate(candidates[number], number, Watch(self._budget))
            with entering:
                trained[number] = found
                while following in trained:
                    if (tried := trained.pop(following)) is not None:
                        self._enter(tried)
                    following += 1

        numbers = list(range(len(candidates)))
        self._is_together = n_at_once() > 1 and self._fit_in_memory(candidates)
        if self._is_together:
            numbers.sort(key=_order(candidates).__getitem__)
        self._run([partial(try_candidate, number) for number in numbers])

    def _fit_in_memory(self, candidates: Sequence[Candidate]) -> bool:
        """Tell whether memory suffices to train candidates at the same time."""
        estimators = [candidate.estimator(self._seed, self._n_jobs) for candidate in candidates]
        n_folds = self._folds.n_folds
        return fit_in_memory([each._memory_of_folds(self._data, n_folds) for each in estimators])

    def _run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run tasks of several candidates, side by side if time and memory allow it."""
        return run_all(tasks) if self._is_together else [task() for task in tasks]

    def _try_one_fold(self) -> None:
        """Train the usual candidates, and then what follows them."""
        following: list[Candidate] = []
        for candidate in self._usual:
            tried = self._train_and_calibrate(candidate, len(self._table), Watch(self._budget))
            if tried is not None:
                self._enter(tried)
                family = candidate.family
                assert family is not None
                found = family.after(self._shape, tried.training)
                following += [replace(each, family=family) for each in found]
        for candidate in following:
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
        """Train in a small share of the time what is good after it."""
        longest = _TIME_OF_FIRST * self._budget.seconds / _HASTE
        for family in self._families:
            first = family.first(self._shape, longest)
            if first is None or not self._budget.has(0):
                continue
            watch = Watch(self._budget, self._budget.after(_TIME_OF_FIRST))
            candidate = replace(first, family=family)
            tried = self._train_and_calibrate(candidate, len(self._table), watch)
            if tried is not None:
                self._enter(tried)

    def _try_in_any_case(self) -> None:
        """Train a candidate without time: as briefly as possible, or all of it."""
        brief = [(each, self._budget) for each in self._usual if each.ends_early]
        by_cost = sorted(self._usual, key=lambda each: each.seconds)
        for candidate, budget in (*brief[:1], *((each, TimeBudget(0, None)) for each in by_cost)):
            tried = self._train_and_calibrate(candidate, 0, Watch(budget))
            if tried is not None:
                self._enter(tried)
                return
        raise NotEnoughMemoryError(" ".join(sorted(self._left_out)))

    def _learn(self, training: Training) -> None:
        """Learn from a candidate how long others take, and what its family learns."""
        family = training.candidate.family
        assert family is not None
        self._budget.learn(training.candidate, family.learn(training))

    @property
    def _is_cut(self) -> bool:
        """Whether a family had too little time so far."""
        return any(family.is_cut for family in self._families)

    def _candidates(self) -> Iterator[Candidate]:
        """List what is tried in a time budget: usual candidates, members again and others."""
        yield from self._usual_in_time()
        others = more_candidates(self._families, self._shape, self._seed, self._budget.longest)
        while True:
            n_again = 0
            for name in [] if self._is_cut else list(self._mixture.names):
                if name in self._members and self._members[name].candidate.is_worth_repeating:
                    n_again += 1
                    yield self._members[name].candidate
            drawn = next(others, None)
            if drawn is not None:
                yield drawn
            elif not n_again:
                return

    def _usual_in_time(self) -> Iterator[Candidate]:
        """List the usual candidates, the least expensive ones first.

        Until a family that is urgent has had the time that it needs, another model of it gains
        most.
        """
        usual = usual_candidates(self._families, self._shape, self._budget.longest())
        urgent = next((each for each in usual if each.family and each.family.is_cut), None)
        yield from sorted(usual, key=lambda each: (each is not urgent, each.seconds))

    def _longest(self) -> float:
        """Return the seconds after which a candidate ends."""
        return _MOST_OF_ONE * self._budget.seconds

    def _complete(self) -> list[Member]:
        """Train the second level, and models of all rows; return the members of the mixture."""
        candidate = None if self._is_stopped else self._affordable_second_level()
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
        if self._refit is False or not enough or self._is_stopped:
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
        watch = Watch(self._budget, time.perf_counter() + self._longest())
        tried = self._train_and_calibrate(candidate, len(self._table), watch)
        return tried is not None and self._enter(tried)

    def _abandon(self, candidate: Candidate, seconds: float, reason: str) -> None:
        """Note a candidate without a model, once."""
        if candidate.family is not None:
            self._abandoned_nouns |= {candidate.family.noun} - {""}
        if candidate.name not in self._abandoned["candidate"]:
            row = {"candidate": candidate.name, "seconds": seconds, "reason": reason}
            for name, column in self._abandoned.items():
                column.append(row[name])

    def _train_and_calibrate(
        self, candidate: Candidate, number: int, watch: Watch
    ) -> _Tried | None:
        """Train a candidate or a member with another seed, and calibrate its margins."""
        begun = time.perf_counter()
        found = self._train(candidate, self._data, number, watch)
        if found is None:
            return None
        if self._is_ending:
            if self._members:
                raise _Stopped
            self._budget.hurry()
        trained = time.perf_counter()
        earlier = self._members.get(candidate.name)
        raw = self._checked(candidate, found.margins)[self._rows_tested].astype(np.float32)
        n_seeds, estimators = 1, self._predictors(found)
        if earlier is not None:
            n_seeds += earlier.n_seeds
            raw = earlier.margins + (raw - earlier.margins) / np.float32(n_seeds)
            estimators = [*earlier.estimators, *estimators]
        calibration, margins = self._calibrate(raw)
        ended = time.perf_counter()
        self._for_rules = self._rules_per_calibration * (ended - trained)
        member = _Trained(candidate, n_seeds, raw, found.unfitted, estimators, calibration)
        return _Tried(member, margins, Training(candidate, found.unfitted, ended - begun, watch))

    def _checked(self, candidate: Candidate, margins: NDArray[np.floating]) -> NDArray[np.floating]:
        """Check the margins that an estimator gives out of fold."""
        shape = self._data.Y.shape
        if margins.shape != shape:
            raise ValueError(
                f"The member {candidate.name!r} ({candidate.kind.__name__}) gives log-odds of the "
                f"shape {margins.shape} out of fold; expected {shape}, one for each row and label."
            )
        if not np.isfinite(margins[self._rows_tested]).all():
            raise ValueError(
                f"The member {candidate.name!r} ({candidate.kind.__name__}) gives log-odds that "
                "are not finite."
            )
        return margins

    def _enter(self, tried: _Tried) -> bool:
        """Let a candidate enter the mixture if that improves; return whether it does.

        Raises :class:`_Stopped` if the callback returns True.
        """
        with late_interrupt():
            enters = self._put(tried)
        if self._callback is not None:
            with self._calling:
                self._call(self._callback, dict(self._table[-1]))
            if not agreed(not self._is_ending):
                raise _Stopped
        return enters

    def _call(self, callback: CandidateCallback, row: dict[str, Any]) -> None:
        """Call the callback, in one thread at a time, and note whether it ends the search."""
        self._is_ending |= bool(callback(row))
        self._called = time.perf_counter()

    def _ends_during(self, candidate: Candidate, n_steps: int, begun: float) -> bool:
        """Call the callback during a candidate; return whether its training has to end.

        Raises :class:`_Stopped` if there is a model without it. Workers that search together call
        the callback after candidates only, as they have to agree.
        """
        if self._callback is None or collective.is_distributed():
            return False
        now = time.perf_counter()
        if now - self._called >= _BETWEEN_CALLS and self._calling.acquire(blocking=False):
            earlier = self._members.get(candidate.name)
            row = {
                "candidate": candidate.name,
                "seeds": 1 + (0 if earlier is None else earlier.n_seeds),
                "rounds": n_steps,
                "log_loss": np.nan,
                "best_log_loss": self._mixture.log_loss if self._members else np.inf,
                "seconds": now - begun,
            }
            try:
                self._call(self._callback, row)
            finally:
                self._calling.release()
        if self._is_ending and self._members:
            raise _Stopped
        return self._is_ending and candidate.ends_early

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
        seconds = tried.training.seconds + time.perf_counter() - begun
        self._learn(tried.training)
        self._list(candidate, member.n_seeds, member.unfitted, tried.margins, seconds)
        if candidate.family is not None:
            self._trained_nouns.add(candidate.family.noun)
        can_stack = self._folds.tested.all()
        self._reserve(_OVERRUN_OF_SECOND_LEVEL * self._second_level().seconds if can_stack else 0)
        self._reserve_for_all_rows()
        return enters

    def _reserve(self, seconds: float) -> None:
        """Keep time for what is certain to follow, and this many seconds for something else."""
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
            affordable = candidate.seconds < sum(each.seconds for each in self._usual) / 2
        return candidate if affordable else None

    def _stack(self, candidate: Candidate, seed: int) -> None:
        """Train a second level on the members' margins, and keep it if it helps."""
        begun = time.perf_counter()
        features = self._mixture.features
        form = InputForm(features.shape[1], sparse_zeros="missing", is_sparse=False)
        of_margins = self._data._replace(X=features, input_form=form, bins=SharedBins())
        found = self._train(candidate, of_margins, len(self._table), Watch(self._budget))
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
        losses, folds = self._mixture.losses, self._folds_of_tested
        of_rows = losses.of(margins)
        self._table.append(
            {
                "candidate": candidate.name,
                "seeds": n_seeds,
                "rounds": getattr(unfitted, "n_estimators", None),
                "log_loss": float(losses.mean(of_rows)),
                "log_loss_std": losses.spread(of_rows, folds),
                "best_log_loss": self._mixture.log_loss,
                "best_log_loss_std": self._mixture.log_loss_std(folds),
                "seconds": seconds,
            }
        )
        self._progress.update()

    def _predictors(self, found: OutOfFold) -> list[Any]:
        """Get the models of the folds, unless others are certain to replace them."""
        if self._refit is True:
            return []
        joined: list[Any] = type(found.unfitted)._joined(found.estimators)
        return joined

    def _train(
        self, candidate: Candidate, data: FitData, number: int, watch: Watch
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
            ends = data is self._data and self._ends_during(candidate, n_steps, begun)
            return watch.ends(n_steps) or ends

        try:
            if candidate.n_rows is not None:
                return self._train_on_sample(estimator, candidate.n_rows, is_over)
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

    def _train_on_sample(
        self, estimator: MultiLabelEstimator, n_rows: int, should_end: ShouldEnd
    ) -> OutOfFold:
        """Train models of one fold on as many rows as they need."""
        data = self._data
        # Not in the order in which the fold was drawn.
        rows = np.random.default_rng([self._seed, 1]).permutation(len(data.Y))[:n_rows]
        rows.sort()
        folds = self._folds.of_rows(rows)
        found = out_of_fold(estimator, data.part(rows), folds, should_end=should_end)
        margins = np.full(data.Y.shape, np.nan, np.float32)
        (model,) = found.estimators
        margins[self._rows_tested] = margins_by(model, self._tested.X, data.Y.shape[1])
        return found._replace(margins=margins)


def _order(candidates: Sequence[Candidate]) -> list[tuple[float, bool]]:
    """Rank candidates: no thread is left in the end with what takes long or cannot be shared.

    What takes long comes first, and what cannot be shared at least before the last of the others.
    """
    least = min((each.seconds for each in candidates if each.is_divisible), default=0.0)
    return [
        (-(each.seconds if each.is_divisible else max(each.seconds, least)), each.is_divisible)
        for each in candidates
    ]


def _on_all_rows(unfitted: Any, n_models: int, data: FitData, seed: int) -> list[Any]:
    """Train models that differ in their seeds."""
    return unfitted._fit_with_seeds(data, [(seed + i) % 2**31 for i in range(n_models)])
