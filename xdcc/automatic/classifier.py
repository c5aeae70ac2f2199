"""``MultiLabelClassifier``: the best predictions for a metric, without further settings."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from numbers import Integral
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic.contributions import mixed_contributions
from xdcc.automatic.families import MemberLike, families_of
from xdcc.automatic.fold_check import seconds_of_search, warn_of_random_folds
from xdcc.automatic.holdout import hold_out, n_folds_of
from xdcc.automatic.leaderboard import (
    MIXTURE,
    Prediction,
    Row,
    out_of_fold_rows,
    score_rows,
)
from xdcc.automatic.mixture import Member
from xdcc.automatic.mixture_margins import mixture_margins
from xdcc.automatic.mixture_rule import choose_rule
from xdcc.automatic.search import CandidateCallback, Search
from xdcc.automatic.search_result import SearchResult
from xdcc.automatic.shape import Shape
from xdcc.automatic.short_search import ShortSearch, is_too_short
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.bins import SharedBins
from xdcc.base.contributions import Contributions
from xdcc.base.domains import (
    Anything,
    Choice,
    Either,
    Number,
    Seed,
    Switch,
    Threads,
    Verbosity,
    check_domain,
)
from xdcc.base.estimator import declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.base.folds import CV, make_folds
from xdcc.base.groups import read_groups
from xdcc.base.importance import LabelImportances
from xdcc.base.input_form import Features, UnknownCategories
from xdcc.base.labels import check_labels_as_in_fit
from xdcc.base.plugin import require_plugin
from xdcc.base.pyplot import require_pyplot
from xdcc.base.seeds import seed_from
from xdcc.base.side_by_side import side_by_side
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import OPTIONAL, Of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision.constraints import Constraint
from xdcc.decision.deciders import DecidingEnsemble
from xdcc.decision.decision_predictor import mean_source
from xdcc.decision.label_metrics import MetricName
from xdcc.decision.out_of_fold import trained_on
from xdcc.decision.proba_metrics import ProbaMetricName, proba_metric, require_value
from xdcc.decision.rules import RuleKind
from xdcc.distillation import DistilledClassifier
from xdcc.distillation.teacher import Teacher
from xdcc.metrics.counted import Counted
from xdcc.prediction.predictors import MarginSource, second_level, threads_for


@stored
@declares_parameters
class MultiLabelClassifier(LabelImportances, DecidingEnsemble):
    """Mixes boosters, extra trees and linear models, and keeps what is best for a metric.

    Use this when you want the best predictions without choosing a method: name the metric to
    optimise. The candidates (:mod:`xdcc.automatic.families`) share folds. On rows that it has not
    seen, each finds its number of boosting rounds or its penalty and is calibrated, and it enters
    the mixture if that lowers the log-loss by more than chance. A second level, a booster on the
    members' log-odds, is added under the same condition. All decision rules of
    :class:`~xdcc.decision.TunedDecisionClassifierCV` are tried on the mixture. For subset accuracy
    an order-free chain (:class:`~xdcc.chain.OrderFreeChainClassifier`) learns from its predictions
    how labels depend on each other, if that costs less than the candidates; its rules compete with
    the others.

    Parameters
    ----------
    measure : str, LabelCosts or callable, default="example_f1"
        Metric to maximise: "subset_accuracy", "example_f1", "micro_f1",
        "macro_f1", "hamming_accuracy", "jaccard", "example_f2" (F-beta with beta = 2) and so on,
        "precision_at_recall_0.9" (of all entries together, as far as the recall is reached) and
        so on; :class:`~xdcc.decision.LabelCosts`;
        or ``measure(Y_true, Y_pred)`` that returns a number; higher is better. It gets
        matrices, NaN in the first where a label is unknown, and `sample_weight` if `fit` does.
        Or a metric of probabilities: "label_ranking_average_precision", "precision_at_3" and so
        on, "ndcg_at_5" and so on, "macro_average_precision", "micro_average_precision",
        "macro_roc_auc", "micro_roc_auc", "neg_log_loss", "neg_brier_score". No decision
        rule is tried then: `predict` returns the labels of probability at least 0.5.
    members : list, optional
        What competes for a place in the mixture, in this order: "boosters", "extra trees" and
        "linear", the families of this package, which are the default; classifiers of any package
        with `predict_proba`, or pairs ``(name, classifier)``; instances of
        :class:`~xdcc.automatic.MemberFamily` (:doc:`/internals/add_member`). A classifier gets
        arrays or CSR matrices of float32, or DataFrames if X had names in `fit`; it predicts in its
        own way and is calibrated as the others.
    rules : "auto" or sequence of str or subclasses of Rule, default="auto"
        The kinds of decision rules to choose from, as in
        :class:`~xdcc.decision.TunedDecisionClassifierCV`. If any are named, no order-free chain is
        tried.
    constraints : dict of str to Precision, Recall or float, optional
        Labels, by name, that have a threshold of their own: with at least this
        :class:`~xdcc.decision.Precision` or :class:`~xdcc.decision.Recall` out of fold, and the
        best F1 of the label among such (the lowest cost for :class:`~xdcc.decision.LabelCosts`);
        or the threshold itself. The rule that is best for the metric predicts the others.
        No order-free chain is tried then.
    time_budget : float or None, default=None
        Seconds for `fit`. With a budget, a booster is trained first, in a tenth of it; its rounds
        decide how fast others have to learn on this machine. The members of the mixture are
        averaged over several seeds and more candidates are tried as long as it lasts, until twelve
        in turn have not helped; then the members are trained on all rows. None sets no limit; only
        then do the same data and seed give the same model on every machine.
    {cv}
        With a number of folds, only one random fold is tested if the standard error of its log-loss
        is at most one percent, which takes 50,000 rows or more; at most two percent, 12,500 rows
        or more, if `time_budget` is short for them; whatever it is if `time_budget` does not last
        for the usual candidates in all folds. With `groups` it has whole groups, at least 25
        of them, and the error is that of groups whose rows are alike. With ``TimeSeriesSplit`` it
        is the last fold.
    refit : {"auto", True, False}, default="auto"
        Whether each member of the mixture is trained once more on all rows, with the settings that
        the folds found, to predict new rows. "auto": two models of each member, with other seeds,
        or as many as folds if a `time_budget` lasts. The models of the folds stay where that would
        take long, with fewer than 300 rows, and if a row is in no fold. True: one model of each,
        which predicts fastest and suits folds of a time series, of which the first train on few
        rows. False: the models of all folds.
    distil : bool, default=False
        Whether one booster that has learned the mixture's probabilities
        (:class:`~xdcc.distillation.DistilledClassifier`) replaces its members at the end of `fit`,
        after the `time_budget`. The rule stays. :func:`~xdcc.distil` does so after `fit`, with
        rows without labels if there are any.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, boosters and drawn rows; None is the seed 0.
    {n_jobs}
    {unknown_categories}
    verbose : int, default=0
        Whether to show the progress.

    Attributes
    ----------
    summary_ : dict of str to list
        Columns of a table, a row for each candidate in the order in which they were tried:
        "candidate"; "seeds", how many models that differ in nothing else are averaged; "rounds" of
        boosting, or trees; "log_loss" out of fold, and "log_loss_std", its standard deviation over
        the folds (over random parts of a single fold); "best_log_loss" and "best_log_loss_std" of
        the mixture after it was tried; "seconds"; "share", its weight in the mixture.
        ``pandas.DataFrame(model.summary_)`` shows it.
    abandoned_ : dict of str to list
        Columns of a table of the candidates without a model: "candidate"; "seconds" that were spent
        on it; and the "reason", time or memory that did not suffice.
    end_ : str
        The reason for the end of the search: "all candidates were tried", "time_budget", "12
        candidates in turn have not helped", "callback" or "interrupt".
    cv_results_ : dict of str to list
        The decision rules that were tried on the mixture, as in
        :class:`~xdcc.decision.TunedDecisionClassifierCV`; a single row for a metric of
        probabilities.
    constraints_ : dict of str to list
        Columns of a table, a row for each constrained label: "label", "constraint", "threshold",
        whether it is "reached" in the rows that the threshold was chosen on, and "precision",
        "recall" and "f1" in rows that it was not chosen on. Empty without constraints.
    rule_ : object
        The chosen rule; `rule_.predict` makes labels of probabilities.
    best_score_ : float
        The metric for new rows, estimated: out of fold, and corrected for having chosen among all
        rules (bootstrap bias correction, see :mod:`xdcc.decision.bbc_cv`). A metric of
        probabilities is that of `oof_proba_`, of the rows that a fold tests.
    members_ : list of Member
        The mixture, one or several candidates: `name`, `share`, `calibration` and
        `estimators`, models of all rows as `refit` says (one if it is linear), or for each seed
        one for each fold (those of a linear member are averaged).
    stacked_ : list of Member
        The second level, one or none: a booster whose features are the members' log-odds. Its
        `share` is taken from theirs.
    report_ : dict of str to list
        With ``distil=True``, the comparison of the mixture and of the booster that replaces it, as
        in :class:`~xdcc.distillation.DistilledClassifier`. `summary_`, `cv_results_`,
        `best_score_` and `oof_proba_` are about the mixture.
    estimators_ : list of estimators
        Those of all members.
    calibration_ : LabelCalibration
        `constant.value` is that of a label that is the same in all rows, else NaN. The members
        are calibrated one by one.
    oof_proba_ : float64 array of shape (n_samples, n_labels)
        Calibrated probabilities of the training rows by models that have not seen them; NaN for
        rows that no fold tests.
    {folds_}
    {fitted}

    Notes
    -----
    A label that is the same in all n rows is always predicted so; its other value has the
    probability 1 / (n + 2). Unknown labels (NaN) take no part in training and in choosing.
    The memory of boosters and forests is estimated before they grow, and shown if `verbose`; a
    candidate is left out if memory does not suffice for it. Candidates are trained side by side,
    without a `time_budget`, if memory suffices for all of them.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(300, n_labels=4, random_state=0)
    >>> model = xdcc.MultiLabelClassifier("subset_accuracy").fit(data.X[:200], data.Y[:200])
    >>> model.predict(data.X[200:]).shape
    (100, 4)
    >>> pd.DataFrame(model.summary_).columns.tolist()  # doctest: +NORMALIZE_WHITESPACE
    ['candidate', 'seeds', 'rounds', 'log_loss', 'log_loss_std', 'best_log_loss',
     'best_log_loss_std', 'seconds', 'share']
    """

    _domains = MappingProxyType(
        {
            "measure": Anything(),
            "members": Anything(),
            "rules": Anything(),
            "constraints": Anything(),
            "time_budget": Either(Number(low=0, low_open=True), None),
            "cv": CV,
            "refit": Either(Choice(("auto",)), Switch()),
            "distil": Switch(),
            "random_state": Seed(),
            "n_jobs": Threads(),
            "verbose": Verbosity(),
        }
    )

    measure: str | Counted | Callable[..., float] = field(default="example_f1", kw_only=False)
    members: Annotated[Sequence[MemberLike] | None, OPTIONAL] = None
    rules: Annotated[Literal["auto"] | Sequence[RuleKind], OPTIONAL] = "auto"
    constraints: Annotated[Mapping[str, Constraint] | None, OPTIONAL] = None
    time_budget: float | None = None
    cv: Any = 5
    refit: Annotated[bool | Literal["auto"], OPTIONAL] = "auto"
    distil: Annotated[bool, OPTIONAL] = False
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"
    verbose: int = 0

    members_: Annotated[list[Member], Of(n_labels="n_labels_")] = learned()
    # Files of 0.2 lack those that are optional.
    stacked_: Annotated[list[Member], Of(n_labels="n_labels_"), OPTIONAL] = learned()
    summary_: dict[str, Any] = learned()
    abandoned_: Annotated[dict[str, Any], OPTIONAL] = learned()
    end_: Annotated[str, OPTIONAL] = learned()
    report_: Annotated[dict[str, list[Any]], OPTIONAL] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        n_margins = len(self.members_) * self.n_labels_
        for estimator in (
            each for level in getattr(self, "stacked_", []) for each in level.estimators
        ):
            require(isinstance(estimator, MultiLabelXGBClassifier), "a classifier of stacked_")
            require(estimator.n_features_in_ == n_margins, "n_features_in_ of stacked_")
            require(estimator.n_labels_ == self.n_labels_, "n_labels_ of stacked_")

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        callback: CandidateCallback | None = None,
        keep_on_interrupt: bool = False,
    ) -> Self:
        """Train the candidates, mix them, and choose the rule.

        {takes_data}
        {groups}
        callback : callable, optional
            Called after each candidate with its row of `summary_` so far, a dict without the
            "share", and about once a second while a candidate trains: "log_loss" is then NaN,
            "rounds" counts the steps so far. If it returns True, the search ends: candidates in
            training are dropped as soon as there is a member. Nothing is trained after that: the
            models of the folds predict, without a second level, or with ``refit=True`` those of all
            rows. The rule is chosen on a sample of the rows.
        keep_on_interrupt : bool, default=False
            Whether Ctrl-C ends the search instead of `fit`, if the mixture has a member by then.
            Its models of the folds predict, or with ``refit=True`` those of all rows, which are
            trained then. Further interrupts raise KeyboardInterrupt, as do those while the rule is
            chosen.

        Returns
        -------
        self : MultiLabelClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, there are fewer rows or groups than folds, `cv` does
            not suit, the data are not as described, a callable metric returns no finite number, or
            a metric of probabilities has no value for the rows that folds test (there are fewer
            labels than k, or none has both values). If a member has no `predict_proba` or predicts
            no probabilities of these labels, or a rule predicts something else than 0 and 1; the
            message names it and says what came.
        TypeError
            If a callable metric does not return a number.
        Exception
            What a classifier of another package raises; a note names the member. It comes before
            anything is trained if the classifier does not take such data.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.

        Warns
        -----
        UserWarning
            If `time_budget` is too short for any candidate: the model is then a booster of one
            round for each fold, or without boosters the least expensive candidate. If it is too
            short for a booster or a classifier of another package. If memory does not suffice for a
            forest: it is left out. If a constraint cannot be met: a label without the precision is
            never predicted, one without the recall wherever that finds all of its rows. If Ctrl-C
            ended the search. If random folds flatter the score, because rows that share a value of
            a column, or that follow each other, are alike: the message names the column, by how
            much, and what to pass. It is tested on a sample of 2,000 rows or more, in two percent
            of the time.
        """
        started = time.perf_counter()
        require_plugin(type(self).__name__)
        data = self._begin_fit(X, Y, sample_weight)
        seed = seed_from(self.random_state)
        groups = read_groups(groups, X, len(data.Y))
        families, budget = families_of(self.members), TimeBudget(started, self.time_budget)
        metric = proba_metric(self.measure)
        kind: Callable[..., Search] = Search
        timed = families_of(self.members), TimeBudget(started, self.time_budget)
        with side_by_side(self.n_jobs):
            is_short = is_too_short(
                *timed, data, n_folds_of(self.cv), self.n_jobs, has_rules=metric is None
            )
        held_out = hold_out(
            self.cv,
            groups,
            data=data,
            seed=seed,
            time_budget=self.time_budget,
            is_short=is_short,
        )
        if is_short and held_out is not None:
            (families, budget), kind = timed, partial(ShortSearch, metric=metric)
        if held_out is None:
            folds, parts = make_folds(self.cv, X, Y, groups, data=data, random_state=seed), None
        else:
            folds, parts = held_out
        require_value(self.measure, folds.of_tested(data)[0])
        search = kind(
            data,
            families,
            folds,
            parts=parts,
            refit=self.refit,
            seed=seed,
            n_jobs=self.n_jobs,
            budget=budget,
            verbose=bool(self.verbose),
            callback=callback,
            keep_on_interrupt=keep_on_interrupt,
        )
        is_random = groups is None and isinstance(self.cv, Integral | None)
        with side_by_side(self.n_jobs):
            if is_random and self.time_budget is not None:
                shape = Shape.of(data, folds.n_folds)
                warn_of_random_folds(data, shape, self.time_budget, seed)
            found = search.run()
            if is_random and self.time_budget is None:
                warn_of_random_folds(data, found.shape, seconds_of_search(found), seed)
            self._learn(found, seed, budget)
        self.folds_ = folds.test
        self.oof_proba_ = np.full(data.Y.shape, np.nan)
        self.oof_proba_[folds.tested] = found.calibration.proba(found.data.X)
        if hasattr(self, "report_"):  # of an earlier fit
            del self.report_
        if self.distil:
            self._replace_members(data, seed)
        return self

    def _learn(self, found: SearchResult, seed: int, budget: TimeBudget) -> None:
        """Keep a mixture, and choose the rule for it."""
        choice = choose_rule(
            found,
            measure=self._metric_of_labels(),
            kinds=self._kinds(),
            constraints=self._constraints_of_labels(),
            seed=seed,
            n_jobs=self.n_jobs,
            budget=budget,
        )
        self._report_constraints(found.data, found.folds)
        self.members_ = found.members
        self.stacked_ = found.stacked
        self.calibration_ = found.calibration
        self.summary_ = found.summary
        self.abandoned_ = found.abandoned
        self.end_ = found.end
        self.cv_results_ = choice.results
        self.best_score_ = choice.score
        self.rule_ = choice.rule

    def _replace_members(self, data: FitData, seed: int) -> None:
        """Train one booster that predicts as the mixture does, and keep only it."""
        student = DistilledClassifier(random_state=seed, n_jobs=self.n_jobs)
        mixture = copy.copy(self).set_params(distil=False)
        student._learn_from_teacher(Teacher(mixture), data)
        self.members_ = [Member("student", 1.0, [student.estimator_], student.calibration_)]
        self.stacked_ = []
        self.report_ = student.report_

    @property
    def estimators_(self) -> list[Any]:
        """The estimators of all members."""
        return [estimator for member in self.members_ for estimator in member.estimators]

    def leaderboard(self, X: Any = None, Y: Any = None) -> pd.DataFrame:
        """Compare the candidates and the mixture, the best first.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), optional
            Rows to predict, by each member by itself and by the mixture.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), optional
            Labels of these rows, as in `score`, NaN where unknown, to score the predictions.

        Returns
        -------
        DataFrame
            A row for each candidate of `summary_` and one for the "mixture", that of the lowest
            log-loss first: "candidate"; "log_loss" out of fold, calibrated; "log_loss_std", its
            standard deviation over the folds; "share" in the mixture, 0 for a candidate that did
            not enter, NaN for the mixture; "fit_seconds", for training out of fold, of all seeds,
            and for the mixture of all candidates. If X is given, "predict_seconds"; if Y is given,
            "test_log_loss" and "test_score", which is `measure` with the rule of the mixture. These
            columns are NaN for candidates that are not in the mixture. With ``distil=True`` only
            the "student", which has a row of its own, has values in them.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X or Y is not as described, or has other features or labels than in `fit`, if Y is
            given without X, or if the metric has no value for Y.

        Examples
        --------
        >>> import xdcc
        >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
        >>> model = xdcc.MultiLabelClassifier(members=["extra trees", "linear"])
        >>> board = model.fit(data.X[:80], data.Y[:80]).leaderboard(data.X[80:], data.Y[80:])
        >>> board.columns.tolist()  # doctest: +NORMALIZE_WHITESPACE
        ['candidate', 'log_loss', 'log_loss_std', 'share', 'fit_seconds', 'predict_seconds',
         'test_log_loss', 'test_score']
        """
        check_is_fitted(self)
        if X is None and Y is not None:
            raise ValueError("leaderboard scores predictions of X: give the X of the rows of Y.")
        mixture, *candidates = out_of_fold_rows(self.summary_)
        if X is not None:
            *members, whole = self._test_rows(X, Y)
            if hasattr(self, "report_"):  # a student has replaced the members
                candidates += members
            else:
                mixture |= whole
                tested = {member["candidate"]: member for member in members}
                candidates = [row | tested.get(row["candidate"], {}) for row in candidates]
        board = pd.DataFrame([mixture, *candidates])
        return board.sort_values("log_loss", kind="stable", ignore_index=True)

    def _test_rows(self, X: Any, Y: Any) -> list[Row]:
        """Time, and score if Y is given, the predictions of each member and of the whole."""
        features = self._check_X(X)
        truth = None if Y is None else check_labels_as_in_fit(self._output_form, features, Y)
        rows = []
        for name, margins, seconds in self._predict_each(features):
            row: Row = {"candidate": name, "predict_seconds": seconds}
            if truth is not None:
                row |= score_rows(self._metric_of_labels(), truth, self._predictor(), margins)
            rows.append(row)
        return rows

    def _predict_each(self, rows: Features) -> Iterator[Prediction]:
        """Predict by each member by itself, once it is flattened, and by the whole."""

        def predict(name: str, source: MarginSource, rows: Features) -> Prediction:
            begun = time.perf_counter()
            margins = source.margins(rows, threads_for(rows, self.n_jobs))
            seconds = time.perf_counter() - begun
            assert margins is not None
            return Prediction(name, margins, seconds)

        found: list[Prediction] = []
        of_level = rows
        for members in (self.members_, getattr(self, "stacked_", [])):
            for member in members:
                source = mean_source(member.estimators, member.calibration, of_level.shape[1])
                found.append(predict(member.name, source, of_level))
            of_level = second_level([each.margins for each in found])
        yield from found
        yield predict(MIXTURE, self._predictor().source, rows)

    def plot_summary(self, ax: Any = None) -> Any:
        """Draw the log-loss of each candidate and how that of the mixture fell.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            A bar for each candidate, members of the mixture in another colour, and a line for the
            mixture so far. See `plot_rules` for the decision rules.

        Raises
        ------
        ImportError
            Without Matplotlib.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        if ax is None:
            _, ax = require_pyplot("plot_summary").subplots(layout="constrained")
        table = self.summary_
        rows = range(len(table["candidate"]))
        ax.barh(rows, table["log_loss"], color=["C1" if s else "C0" for s in table["share"]])
        ax.plot(table["best_log_loss"], rows, color="black", marker=".", label="mixture so far")
        ax.set_yticks(rows, table["candidate"])
        ax.invert_yaxis()
        ax.set_xlabel("log-loss out of fold")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1))  # above the bars
        return ax

    def _label_gains(self) -> NDArray[np.float64]:
        """Average the importances of each label over the members."""
        return np.asarray(
            sum(
                member.share * np.mean([each.label_importances_ for each in member.estimators], 0)
                for member in self.members_
            )
        )

    def _check_params(self) -> None:
        super()._check_params()
        families_of(self.members)
        if self._kinds() is not None and proba_metric(self.measure):
            raise ValueError(
                f"measure={self.measure!r} is a metric of probabilities, on which decision rules "
                "have no influence: rules must be 'auto'."
            )

    def _check_metric(self) -> None:
        check_domain("measure", self.measure, Either(MetricName(), ProbaMetricName()))

    def _trained_on(self, data: FitData) -> Self:
        if self.distil:  # the mixture is no longer there
            return super()._trained_on(data)
        data = data._replace(bins=SharedBins())
        other = copy.copy(self)  # with shares, calibrations, the second level and the rule
        other.members_ = [
            replace(member, estimators=[trained_on(member.estimators[0], data)])
            for member in self.members_
        ]
        return other

    def _predictors(self) -> Sequence[Any]:
        return self.estimators_

    def _predicts_from(self) -> tuple[Any, ...]:
        return self.rule_, self.calibration_, *self.members_, *getattr(self, "stacked_", ())

    def _margin_source(self) -> MarginSource:
        return mixture_margins(
            self.members_, getattr(self, "stacked_", ()), self.calibration_, self.n_features_in_
        )

    def _joint_contributions(self, X: Any) -> Contributions:
        return mixed_contributions(self.members_, getattr(self, "stacked_", ()), X, self.n_labels_)
