"""``MultiLabelClassifier``: the best predictions for a measure, without further settings."""

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic.candidates import candidates_for
from xdcc.automatic.members import JointLabelset, Member, mixed_margins
from xdcc.automatic.search import search
from xdcc.base.domains import Anything, Either, Number, Seed, Threads, Verbosity
from xdcc.base.estimator import declares_parameters
from xdcc.base.folds import stratified_folds
from xdcc.base.plugin import require_plugin
from xdcc.base.seeds import seed_from
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision.cuts import Floats
from xdcc.decision.deciders import DecidingEnsemble
from xdcc.decision.measures import Measure
from xdcc.decision.rules import AnyRule


@declares_parameters
class MultiLabelClassifier(DecidingEnsemble):
    """Tries a few boosters and their mixture, and keeps what is best for a measure.

    Use this when you want the best predictions without choosing a method: name the measure to
    optimise. The boosters that are tried (:mod:`xdcc.automatic.candidates`) share folds. On rows
    that it has not seen, each finds its number of boosting rounds and is calibrated, and all
    decision rules of :class:`~xdcc.decision.TunedDecisionClassifierCV` are tried on it; so they are
    on the mixture of boosters with the least log-loss. For subset accuracy an order-free chain
    (:class:`~xdcc.chain.OrderFreeChainClassifier`) learns from these predictions how labels depend
    on each other, if that costs less than the boosters. The model of the least log-loss is kept,
    unless another one has a better score by more than a standard error.

    Parameters
    ----------
    measure : str, LabelCosts or callable, default="example_f1"
        What to maximise: "subset_accuracy", "example_f1", "micro_f1",
        "macro_f1", "hamming_accuracy", "jaccard", "example_f2" (F-beta with beta = 2) and so on,
        "precision_at_recall_0.9" (of all entries together, as far as the recall is reached) and
        so on; :class:`~xdcc.decision.LabelCosts`;
        or ``measure(Y_true, Y_pred)`` that returns a number; higher is better. It gets
        matrices, NaN in the first where a label is unknown, and `sample_weight` if `fit` does.
    time_budget : float or None, default=None
        Seconds for `fit`. When they have passed, the best model so far is the result; a boosting
        round is not interrupted. None sets no limit; only then do the same data and seed give the
        same model on every machine.
    cv : int, default=5
        Number of folds. A row is predicted by the boosters of all folds together.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, boosters and drawn rows; None is the seed 0.
    {n_jobs}
    verbose : int, default=0
        Whether to show the progress.

    Attributes
    ----------
    summary_ : dict of str to list
        Columns of a table, a row for each model that was tried, mixture and chain last:
        "candidate"; "rounds" of boosting; "log_loss" out of fold, for a chain that of labels as
        they are decided one after the other; the best "rule" for it, its "score", out of fold, and
        the "standard_error"; "corrected_score", for having chosen among the rules; "seconds";
        "share", its weight in the chosen model; "chosen".
        ``pandas.DataFrame(model.summary_)`` shows it.
    rule_ : object
        The chosen rule; `rule_.predict` makes labels of probabilities.
    best_score_ : float
        The measure for new rows, estimated: out of fold, and corrected for having chosen among all
        models and all rules (bootstrap bias correction, see :mod:`xdcc.decision.bbc_cv`).
    members_ : list of Member
        The chosen model, one or several candidates: `name`, `share`, `calibration` and
        `estimators`, a :class:`~xdcc.boosting.MultiLabelXGBClassifier` for each fold.
    estimators_ : list of MultiLabelXGBClassifier
        The boosters of all members; :mod:`xdcc.explain` explains them together.
    calibration_ : LabelCalibration
        `constant.value` is that of a label that is the same in all rows, else NaN. The members
        are calibrated one by one.
    oof_proba_ : float64 array of shape (n_samples, n_labels)
        Calibrated probabilities of the training rows by boosters that have not seen them.
    folds_ : int array of shape (n_samples,)
        Fold of each training row.
    {fitted}

    Notes
    -----
    A label that is the same in all n rows is always predicted so; its other value has the
    probability 1 / (n + 2). Unknown labels (NaN) take no part in training and in choosing.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(300, n_labels=4, random_state=0)
    >>> model = xdcc.MultiLabelClassifier("subset_accuracy").fit(data.X[:200], data.Y[:200])
    >>> model.predict(data.X[200:]).shape
    (100, 4)
    >>> table = pd.DataFrame(model.summary_)
    >>> table.columns[:4].tolist(), int(table.chosen.sum())
    (['candidate', 'rounds', 'log_loss', 'rule'], 1)
    """

    _stored = MappingProxyType(
        {
            "members_": list[Member],
            "summary_": dict[str, Any],
            "rule_": AnyRule | JointLabelset,
        }
    )
    _domains = MappingProxyType(
        {
            "measure": Anything(),
            "time_budget": Either(Number(low=0, low_open=True), None),
            "cv": Number(low=2, whole=True),
            "random_state": Seed(),
            "n_jobs": Threads(),
            "verbose": Verbosity(),
        }
    )

    measure: str | Measure | Callable[..., float] = field(default="example_f1", kw_only=False)
    time_budget: float | None = None
    cv: int = 5
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the candidates, and choose model and rule.

        {takes_data}

        Returns
        -------
        self : MultiLabelClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, there are fewer rows than folds, the data are not as
            described, or a callable measure returns no finite number.
        TypeError
            If a callable measure does not return a number.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.

        Warns
        -----
        UserWarning
            If `time_budget` is too short for one model, which then has fewer boosting rounds than
            are best.
        """
        started = time.perf_counter()
        require_plugin(type(self).__name__)
        data = self._begin_fit(X, Y, sample_weight)
        seed = seed_from(self.random_state)
        folds = stratified_folds(data.Y, int(self.cv), seed)
        n_rows = len(data.Y)
        n_entries = data.X.nnz if sparse.issparse(data.X) else n_rows * self.n_features_in_
        found = search(
            candidates_for(n_rows, n_entries, self.n_labels_, int(self.cv)),
            data,
            folds,
            measure=self.measure,
            seed=seed,
            n_jobs=self.n_jobs,
            started=started,
            time_budget=self.time_budget,
            verbose=bool(self.verbose),
        )
        self.folds_ = folds
        self.members_ = found.members
        self.calibration_ = found.calibration
        self.oof_proba_ = found.calibration.proba(found.margins)
        self.summary_ = found.summary
        self.best_score_ = found.score
        self.rule_ = found.rule
        return self

    @property
    def estimators_(self) -> list[Any]:
        """The boosters of all members."""
        return [estimator for member in self.members_ for estimator in member.estimators]

    def plot_summary(self, ax: Any = None) -> Any:
        """Draw the score of each model, corrected for the choice of its rule.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            A bar for each model, the chosen one in another colour, with the standard error and
            the name of its rule.

        Raises
        ------
        ImportError
            Without Matplotlib.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self, self._fitted_attribute)
        table = self.summary_
        names = [
            f"{name}\n{rule}" for name, rule in zip(table["candidate"], table["rule"], strict=True)
        ]
        return self._plot_scores(ax, "plot_summary", names, table)

    def _wrapped(self) -> Any:
        return MultiLabelXGBClassifier()

    def _predictors(self) -> Sequence[Any]:
        return self.estimators_

    def _joint_margins(self, X: Any) -> Floats:
        return mixed_margins(self.members_, X, self.n_labels_)
