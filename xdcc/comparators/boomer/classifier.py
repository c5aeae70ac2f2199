"""``BoomerClassifier``: gradient boosted multi-label rules (BOOMER).

``fit`` sorts the attributes (``training.py``), learns one rule after another in the kernel
(``_induction.pyx``), and stores a `RuleList` (``rule.py``). Prediction decides how many rules count
and how scores become labels (``prediction.py``).
"""

import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from xdcc.base.categories import categorical_mask
from xdcc.base.checks import check_all_known
from xdcc.base.documentation import ENTRIES, section
from xdcc.base.domains import (
    Anything,
    Choice,
    Either,
    Number,
    Share,
    Switch,
    Verbosity,
    check_domain,
)
from xdcc.base.estimator import EvalSet, MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import UnknownCategories
from xdcc.base.progress import progress_bar
from xdcc.base.seeds import generator_from
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Of, Shape, Within
from xdcc.base.threads import n_threads
from xdcc.comparators.boomer._induction import RuleLearner
from xdcc.comparators.boomer.losses import LOSSES, Loss
from xdcc.comparators.boomer.prediction import (
    PREDICTIONS,
    Prediction,
    label_proba,
    labelset_proba,
    predict_labels,
)
from xdcc.comparators.boomer.rule import LearnedRule, RuleList
from xdcc.comparators.boomer.training import RuleSettings, SortedColumns
from xdcc.decision.labelsets import KnownLabelsets

LossName = Literal[
    "logistic_label_wise", "logistic_example_wise", "squared_label_wise", "squared_hinge_label_wise"
]

_SMALLEST_L2 = 1e-8
"""Lower limit of the L2 weight: without any, some linear systems are singular."""

_ENTRIES = {
    "takes_X_and_n_rules": section(
        "Parameters",
        ENTRIES["X"],
        """
        n_rules : int, optional
            Use the first `n_rules` rules; None means `best_n_rules_`.
        """,
    ),
    "raises_as_scores": """
        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As in `decision_function`.
        """,
}
"""Docstring entries of several methods, in addition to those of all estimators."""


@stored
@declares_parameters
class BoomerClassifier(MultiLabelEstimator):
    """Gradient boosted multi-label rules (Rapp, Loza Mencía, Fürnkranz, Nguyen, Hüllermeier, 2020).

    A rule is a conjunction of conditions on attributes. It adds scores for one label or for all
    labels to the rows that it covers. The first rule, the default rule, covers all rows. Each rule
    minimises the second-order approximation of a loss, which need not be a sum over labels.

    Parameters
    ----------
    n_rules : int, default=1000
        Number of rules, including the default rule.
    loss : str, default="logistic_label_wise"
        ``"logistic_label_wise"`` (equation 6, for Hamming loss), ``"logistic_example_wise"``
        (equation 7, for subset 0/1 loss), ``"squared_label_wise"`` or
        ``"squared_hinge_label_wise"``.
    head : {"single", "complete"}, default="single"
        Whether a rule predicts one label or all. The default rule predicts all.
    learning_rate : float, default=0.3
        Shrinkage of the scores of all rules except the default rule, in (0, 1].
    l2 : float, default=1.0
        Weight of the squared scores in the objective (equation 15), not negative. 0 is replaced by
        1e-8, which keeps scores finite.
    sample : {"bootstrap"} or None, default="bootstrap"
        Whether to search the conditions of each rule on a bootstrap sample of the rows. Heads are
        computed on all rows.
    max_features : {"log2"}, int, float or None, default="log2"
        Number of attributes drawn for each condition: ``"log2"`` is
        floor(log2(n_features - 1) + 1), a float a share in (0, 1], None all attributes.
    label_bins : int, float or None, default=None
        Only for complete heads with the example-wise loss. Labels with similar gradients share a
        score, so the linear system has one unknown per bin instead of one per label
        (Rapp, Loza Mencía, Fürnkranz, Hüllermeier, 2021). An int is the approximate number of bins,
        a float their share of the labels in (0, 1], None means no bins. Labels with positive and
        with negative scores have separate bins.
    prediction : {"auto", "sign", "known_labelsets", "example_f1"}, default="auto"
        ``"sign"`` predicts the labels with a positive score (equation 18), ``"known_labelsets"``
        the labelset of the training data with the smallest loss (equation 19), and
        ``"example_f1"`` the labelset with the largest expected F1. ``"auto"`` is
        ``"known_labelsets"`` for the example-wise loss and ``"sign"`` for the others.
    categorical_features : array-like of bool or int, or None, default=None
        Nominal attributes, as a mask of shape (n_features,) or positions; their conditions are
        ``=`` and ``!=``. DataFrame columns of dtype ``category`` are always nominal.
    max_conditions : int or None, default=None
        Maximum number of conditions of a rule. With None, a rule grows as long as it improves.
    min_coverage : int, default=1
        Minimum number of distinct rows of the sample that a rule covers.
    warm_start : bool, default=False
        Whether `fit` keeps the existing rules and adds rules up to `n_rules`. On the same data, the
        result equals that of a single fit.
    early_stopping_rounds : int or None, default=None
        Stop when the loss on the last evaluation set has not improved for this many rules.
        Prediction then uses the rules up to the best one.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed for sampling rows and attributes; None is the seed 0.
    {n_jobs}
    {unknown_categories}

    Attributes
    ----------
    rules_ : RuleList
        The rules, a sequence of `Rule`. Print them with ``print(rules_)``; ``rules_.to_frame()``
        returns a table.
    coverage_ : int array of shape (n_samples,)
        Number of rules that cover each training row, including the default rule.
    best_n_rules_ : int
        Number of rules that prediction uses: with early stopping the best number on the evaluation
        set, otherwise all.
    evals_result_ : dict
        ``{"validation_0": {"loss": [...]}}``: the mean loss after each rule on each evaluation set.
    labelsets_ : int8 array of shape (n_labelsets, n_labels)
        Labelsets of the training data, sorted by decreasing frequency.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value, which no condition covers. Entries that a sparse X does not store
    are 0, not missing.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.BoomerClassifier(n_rules=20, random_state=0).fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    >>> print(model.rules_[0])
    if true then label_0 -0.385, label_1 -0.269, label_2 -0.192 (100 rows)
    """

    _entries = MappingProxyType(_ENTRIES)
    _takes_categories = True
    _domains = MappingProxyType(
        {
            "n_rules": Number(low=1, whole=True),
            "loss": Choice(tuple(LOSSES)),
            "head": Choice(("single", "complete")),
            "learning_rate": Number(low=0, high=1, low_open=True),
            "l2": Number(low=0, high=1e12),
            "sample": Either(Choice(("bootstrap",)), None),
            "max_features": Either(Choice(("log2",)), Number(low=1, whole=True), Share(), None),
            "label_bins": Either(Number(low=1, whole=True), Share(), None),
            "prediction": Choice(PREDICTIONS),
            "categorical_features": Anything(),
            "max_conditions": Either(Number(low=1, whole=True), None),
            "min_coverage": Number(low=1, whole=True),
            "warm_start": Switch(),
            "early_stopping_rounds": Either(Number(low=1, whole=True), None),
            "verbose": Verbosity(),
        }
    )

    n_rules: int = 1000
    loss: LossName = "logistic_label_wise"
    head: Literal["single", "complete"] = "single"
    learning_rate: float = 0.3
    l2: float = 1.0
    sample: Literal["bootstrap"] | None = "bootstrap"
    max_features: Literal["log2"] | int | float | None = "log2"
    label_bins: int | float | None = None
    prediction: Prediction = "auto"
    categorical_features: ArrayLike | None = None
    max_conditions: int | None = None
    min_coverage: int = 1
    warm_start: bool = False
    early_stopping_rounds: int | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"

    _seed: int = learned()
    labelsets_: Annotated[NDArray[np.int8], Shape(None, "n_labels_")] = learned()
    evals_result_: dict[str, dict[str, list[float]]] = learned()
    coverage_: NDArray[np.int64] = learned()
    rules_: Annotated[RuleList, Of(attributes="n_features_in_", labels="n_labels_")] = learned()
    best_n_rules_: Annotated[int, Within(1)] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        require(self.best_n_rules_ <= len(self.rules_), "best_n_rules_")

    def fit(self, X: Any, Y: Any, *, eval_set: EvalSet | None = None) -> Self:
        """Learn rules (Algorithm 1).

        Parameters
        ----------
        {X}
        {known_Y}
        eval_set : sequence of pairs (X, Y), optional
            Data on which to measure the mean loss after each rule.

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X or Y is not as described, a label is unknown
            (NaN), early stopping has no evaluation set, or `warm_start` finds more than `n_rules`
            rules or rules for other features or labels.

        Warns
        -----
        ConvergenceWarning
            If no further rule can be found, for example because all attributes are constant.
        """
        self._check_params()
        if self.early_stopping_rounds is not None and not eval_set:
            raise ValueError("early_stopping_rounds requires an eval_set.")
        before = self._rules_before()
        data = self._begin_fit(X, Y)
        check_all_known(self, data.Y, "rules")
        nominal = categorical_mask(
            self.n_features_in_, data.feature_types, self.categorical_features
        )
        known = KnownLabelsets.of_data(data)
        self.labelsets_ = known.labelsets[np.argsort(-known.counts, kind="stable")]
        if before is None:
            self._seed = int(generator_from(self.random_state).randint(2**63, dtype=np.int64))
            self.evals_result_ = {}
        else:
            self._check_before(before)
        self._learn(data, nominal, before, self._checked_eval_set(eval_set))
        return self

    def decision_function(self, X: Any, n_rules: int | None = None) -> NDArray[np.float64]:
        """Compute the scores of the labels (equation 2).

        {takes_X_and_n_rules}

        Returns
        -------
        float64 array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If a parameter is outside its domain, X is not as described or has a different number of
            features than in `fit`, or the model has fewer than `n_rules` rules.
        """
        return self._scores_in_form_of_y(self._scores(self._read_X(X), n_rules))

    def staged_decision_function(
        self, X: Any, n_rules: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Compute the scores after different numbers of rules, in one pass over the rules.

        Parameters
        ----------
        {X}
        n_rules : sequence of int, optional
            Ascending numbers of rules; None means after each rule.

        Yields
        ------
        float64 array of shape (n_samples, n_labels)
            The scores for each number of rules.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As in `decision_function`, and if `n_rules` is not ascending.
        """
        checked = self._read_X(X)
        counts = range(1, len(self.rules_) + 1) if n_rules is None else n_rules
        scores = self._staged(checked, counts)
        return (self._scores_in_form_of_y(stage) for stage in scores)

    def predict(self, X: Any, n_rules: int | None = None) -> NDArray[np.int64]:
        """Predict labels.

        {takes_X_and_n_rules}

        {returns_labels}

        {raises_as_scores}
        """
        scores = self._scores(self._read_X(X), n_rules)
        return self._output_form.labels(self._labels_of_scores(scores))

    def predict_proba(self, X: Any, n_rules: int | None = None) -> NDArray[np.floating]:
        """Predict the probability of each label.

        This is the sigmoid of the score with the label-wise logistic loss, and (1 + score) / 2,
        clipped to [0, 1], with the squared losses. With the example-wise loss, a known labelset has
        the weight exp(-loss); the probability of a label is the share of the weight of the
        labelsets that contain it.

        {takes_X_and_n_rules}

        Returns
        -------
        float array of shape (n_samples, n_labels)
            In [0, 1].

        {raises_as_scores}
        """
        proba = self._proba(self._read_X(X), n_rules)
        return self._output_form.proba(proba)

    def predict_labelset_proba(self, X: Any, n_rules: int | None = None) -> NDArray[np.float64]:
        """Predict the probability of each known labelset.

        It is proportional to exp(-loss) with the logistic losses, and to the product of the label
        probabilities with the squared losses.

        {takes_X_and_n_rules}

        Returns
        -------
        float array of shape (n_samples, n_labelsets)
            In the order of `labelsets_`; each row sums to 1.

        {raises_as_scores}
        """
        scores = self._scores(self._read_X(X), n_rules)
        return labelset_proba(self._loss(), self.labelsets_, scores)

    def labels_of(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Convert scores into labels, as `predict` does.

        Parameters
        ----------
        scores : float64 array of shape (n_samples, n_labels)
            Output of `decision_function` or `staged_decision_function`.

        {returns_labels}

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        matrix = np.reshape(scores, (-1, self.n_labels_))
        return self._output_form.labels(self._labels_of_scores(matrix))

    def __str__(self) -> str:
        """Show the parameters and, after `fit`, the rules."""
        rules = f"\n{self.rules_}" if hasattr(self, "rules_") else ""
        return f"{self!r}{rules}"

    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _proba(self, X: Features, n_rules: int | None = None) -> NDArray[np.float64]:
        return label_proba(self._loss(), self.labelsets_, self._scores(X, n_rules))

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return self._labels_of_scores(self._scores(X))

    def _labels_of_scores(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        return predict_labels(self._loss(), self.prediction, self.labelsets_, scores)

    def _scores(self, X: Features, n_rules: int | None = None) -> NDArray[np.float64]:
        if n_rules is None:
            return next(self._add_up(X, [self.best_n_rules_]))
        return next(self._staged(X, [n_rules]))

    def _scores_in_form_of_y(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.classes_.ndim == 2 else scores[:, 0]

    def _staged(self, X: Features, counts: Sequence[int]) -> Iterator[NDArray[np.float64]]:
        for count in counts:
            domain = Number(low=1, high=len(self.rules_), whole=True)
            check_domain("n_rules", count, domain)
        if any(count > following for count, following in pairwise(counts)):
            raise ValueError(f"n_rules={counts!r}: the numbers of rules must be ascending.")
        return self._add_up(X, counts)

    def _add_up(self, X: Features, counts: Sequence[int]) -> Iterator[NDArray[np.float64]]:
        scores = np.zeros((X.shape[0], self.n_labels_))
        done = 0
        for count in counts:
            self.rules_.add_scores(X, done, count, scores, self._n_threads())
            done = count
            yield scores.copy()

    def _rules_before(self) -> RuleList | None:
        if not self.warm_start or not hasattr(self, "rules_"):
            return None
        if len(self.rules_) > self.n_rules:
            raise ValueError(
                f"n_rules={self.n_rules}: with warm_start, n_rules must be at least "
                f"{len(self.rules_)}, the number of rules already learned."
            )
        return self.rules_

    def _check_before(self, before: RuleList) -> None:
        if len(before.attributes) != self.n_features_in_ or before.labels != [*self.label_names_]:
            raise ValueError(
                f"warm_start: X and Y must have the {len(before.attributes)} features and the "
                f"labels ({', '.join(before.labels)}) of the rules already learned."
            )

    def _learn(
        self,
        data: FitData,
        nominal: NDArray[np.bool_],
        before: RuleList | None,
        eval_set: list[tuple[Features, NDArray[np.float32]]],
    ) -> None:
        Y = np.ascontiguousarray(data.Y, dtype=np.uint8)
        learned: list[LearnedRule] = []
        scores = np.zeros(Y.shape)
        coverage = np.zeros(len(Y), np.int64)
        if before is not None:
            learned.extend(before.learned())
            before.add_scores(data.X, 0, len(before), scores, self._n_threads())
            coverage = before.coverage(data.X, self._n_threads())
        learner = RuleLearner(
            SortedColumns.of(data.X, nominal),
            Y,
            scores,
            coverage,
            self._settings(),
            self._n_threads(),
        )
        early_stopping = _EarlyStopping(self, eval_set, before)
        seeds = np.random.SeedSequence(self._seed).generate_state(self.n_rules, np.uint64)
        for number in progress_bar(range(len(learned), self.n_rules), disable=not self.verbose):
            if number == 0:
                rule: LearnedRule | None = _default_rule(learner.default_rule(), len(Y))
            else:
                arrays = learner.learn(int(seeds[number]))
                rule = None if arrays is None else LearnedRule(*arrays)
            if rule is None:
                warnings.warn(
                    f"Learned only {len(learned)} of {self.n_rules} rules: no further condition "
                    "splits the training rows and lowers the loss (min_coverage="
                    f"{self.min_coverage}).",
                    ConvergenceWarning,
                    stacklevel=3,
                )
                break
            learned.append(rule)
            if early_stopping.stops_after(rule):
                break
        self.coverage_ = learner.coverage
        self.rules_ = self._rule_list(learned)
        self.best_n_rules_ = early_stopping.best if self.early_stopping_rounds else len(learned)

    def _rule_list(self, learned: Sequence[LearnedRule]) -> RuleList:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"feature_{f}" for f in range(self.n_features_in_)]
        categories = self._input_form.category_names
        return RuleList(learned, names, [*self.label_names_], categories)

    def _checked_eval_set(
        self, eval_set: EvalSet | None
    ) -> list[tuple[Features, NDArray[np.float32]]]:
        checked = self._check_eval_set(eval_set)
        for _, labels in checked:
            check_all_known(self, labels, "the rules' loss")
        return checked

    def _check_params(self) -> None:
        super()._check_params()
        solves_system = self.loss == "logistic_example_wise" and self.head == "complete"
        if self.label_bins is not None and not solves_system:
            raise ValueError(
                f"label_bins={self.label_bins!r} with loss={self.loss!r} and head={self.head!r}: "
                "label_bins is available only for complete heads with the example-wise loss; "
                "otherwise it must be None."
            )

    def _settings(self) -> RuleSettings:
        return RuleSettings(
            loss=self.loss,
            complete=self.head == "complete",
            l2=max(float(self.l2), _SMALLEST_L2),
            learning_rate=float(self.learning_rate),
            bootstrap=self.sample == "bootstrap",
            n_attributes=self._n_attributes(),
            bin_share=self._bin_share(),
            max_conditions=-1 if self.max_conditions is None else int(self.max_conditions),
            min_coverage=int(self.min_coverage),
        )

    def _n_threads(self) -> int:
        return n_threads(self.n_jobs)

    def _n_attributes(self) -> int:
        n_features = self.n_features_in_
        if self.max_features is None:
            return n_features
        if self.max_features == "log2":
            return int(np.log2(n_features - 1) + 1) if n_features > 1 else 1
        if isinstance(self.max_features, float):
            return max(1, int(self.max_features * n_features))
        return min(int(self.max_features), n_features)

    def _bin_share(self) -> float:
        if self.label_bins is None:
            return 0.0
        if isinstance(self.label_bins, float):
            return self.label_bins
        return min(1.0, self.label_bins / self.n_labels_)


class _EarlyStopping:
    """Measures the loss on the evaluation sets after each rule."""

    def __init__(
        self,
        estimator: BoomerClassifier,
        eval_set: list[tuple[Features, NDArray[np.float32]]],
        before: RuleList | None,
    ) -> None:
        self._estimator = estimator
        self._eval_set = eval_set
        self._scores = [np.zeros(Y.shape) for _, Y in eval_set]
        self._n_rules = self.best = 0
        self._least = np.inf
        if before is not None:
            self._n_rules = self.best = len(before)
            losses = self._losses_with(before)
            self._least = losses[-1] if losses else np.inf

    def stops_after(self, rule: LearnedRule) -> bool:
        """Measure the loss with one more rule, and return whether to stop."""
        self._n_rules += 1
        if not self._eval_set:
            return False
        losses = self._losses_with(self._estimator._rule_list([rule]))
        for number, loss in enumerate(losses):
            history = self._estimator.evals_result_.setdefault(f"validation_{number}", {"loss": []})
            history["loss"].append(loss)
        if losses[-1] < self._least:
            self._least = losses[-1]
            self.best = self._n_rules
        rounds = self._estimator.early_stopping_rounds
        return rounds is not None and self._n_rules - self.best >= rounds

    def _losses_with(self, rules: RuleList) -> list[float]:
        losses = []
        for (X, Y), scores in zip(self._eval_set, self._scores, strict=True):
            rules.add_scores(X, 0, len(rules), scores, self._estimator._n_threads())
            losses.append(float(LOSSES[self._estimator.loss].values(Y, scores).mean()))
        return losses


def _default_rule(head: NDArray[np.float64], n_rows: int) -> LearnedRule:
    return LearnedRule(
        np.empty(0, np.int32), np.empty(0, np.int8), np.empty(0, np.float32), -1, head, n_rows
    )
