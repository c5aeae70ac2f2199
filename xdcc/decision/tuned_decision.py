"""``TunedDecisionClassifierCV``: any classifier, calibrated, with the best decision rule.

``fit`` goes from out-of-fold margins (``out_of_fold.py``) over calibration
(``calibration.py``) to a rule for the metric (``rules.py``, ``rule_choice.py``). New rows are
predicted by the folds' classifiers together, or by one that is trained on all rows.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from xdcc.base.bins import SharedBins
from xdcc.base.contributions import Contributions
from xdcc.base.domains import Anything, Switch
from xdcc.base.estimator import declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.base.folds import CV, make_folds
from xdcc.base.seeds import seed_from
from xdcc.base.side_by_side import side_by_side
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import OPTIONAL
from xdcc.decision.calibration import LabelCalibration, calibrate_labels
from xdcc.decision.constraints import Constraint
from xdcc.decision.contributions import mean_contributions
from xdcc.decision.deciders import DECIDED_FOR, ClassifierWrapper, DecidingEnsemble
from xdcc.decision.decision_predictor import mean_source
from xdcc.decision.out_of_fold import fit_on, out_of_fold, trained_on
from xdcc.decision.rule_choice import choose_rule
from xdcc.decision.rules import RuleKind
from xdcc.metrics.counted import Counted
from xdcc.prediction.predictors import MarginSource


@stored
@declares_parameters
class TunedDecisionClassifierCV(DecidingEnsemble, ClassifierWrapper):
    """A classifier with calibrated probabilities and the best decision rule for a metric.

    The best prediction depends on the metric: for Hamming accuracy labels of probability 0.5 and
    more, for subset accuracy the most probable *set*, for F1 sets of medium size.
    This estimator trains the classifier on folds. On predictions of rows that it has not seen, it
    calibrates it and chooses among these kinds of rules, with their parameters:

    * `"label_wise"`: labels of probability at least 0.5;
    * `"least_cost"`: labels whose prediction has a lower expected cost than their absence, if
      the metric is :class:`~xdcc.decision.LabelCosts`;
    * `"threshold"`: one threshold for all labels (:func:`~xdcc.decision.best_threshold`);
    * `"threshold_per_label"`: one for each
      (:func:`~xdcc.decision.best_thresholds_per_label`), drawn towards the common one as if
      there were 10, 30 or 100 more rows that said so; for metrics known by name;
    * `"known_labelset"`: the most probable of the labelsets U in training,
      P(U | x) being proportional to P(y = U | x, labels independent) * n_U ** a, with n_U the
      number of rows of U and a of 0, 0.25, 0.5, 0.75 and 1;
    * `"fitted_labelset"`: the same with the log-odds times t, a bias for each label, and a, all
      maximum-likelihood estimates (:mod:`xdcc.decision.labelset_weights`);
    * `"f1_maximiser"`: the labelset of the highest expected example-based F1
      (:class:`~xdcc.decision.SizedMarginals`) under the first posterior, with the first factor to
      the power t of 0.5, 0.75 and 1, and a of 0, 0.25 and 0.5.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `predict_proba` or `decision_function`, of this package or in
        scikit-learn's manner. One with a method `out_of_fold`, such as
        :class:`~xdcc.boosting.MultiLabelXGBClassifier`, trains all folds together and finds its
        number of boosting rounds on the way, at most its `n_estimators`.
    measure : str, LabelCosts or callable, default="example_f1"
        Metric to maximise: "subset_accuracy", "example_f1", "micro_f1",
        "macro_f1", "hamming_accuracy", "jaccard", "example_f2" (F-beta with beta = 2) and so on,
        "precision_at_recall_0.9" (of all entries together, as far as the recall is reached) and
        so on; :class:`~xdcc.decision.LabelCosts`;
        or ``measure(Y_true, Y_pred)`` that returns a number; higher is better. It gets
        matrices, NaN in the first where a label is unknown, and `sample_weight` if `fit` does.
    rules : "auto" or sequence of str or subclasses of Rule, default="auto"
        The kinds of rules to choose from, by name, or :class:`~xdcc.decision.Rule` classes of
        your own (:doc:`/internals/add_decision_rule`). "auto": all that suit the metric and the
        data; of the rules on labelsets "fitted_labelset" for subset accuracy, "f1_maximiser" for
        example-based F measures, "known_labelset" and "f1_maximiser" for other metrics. They
        need rows of which every label is known. For subset accuracy "fitted_labelset" is chosen
        unless another rule is better by more than the standard error of the difference.
    constraints : dict of str to Precision, Recall or float, optional
        Labels, by name, that have a threshold of their own: with at least this
        :class:`~xdcc.decision.Precision` or :class:`~xdcc.decision.Recall` out of fold, and the
        best F1 of the label among such (the lowest cost for :class:`~xdcc.decision.LabelCosts`);
        or the threshold itself. The rule that is best for the metric predicts the others.
    calibrate : bool, default=True
        Whether probabilities are calibrated, by Platt scaling: sigmoid(slope * z + intercept) for
        the log-odds z, two numbers for all labels, and for a label two of its own where these
        have a lower log-loss out of fold.
    {cv}
    ensemble : bool, default=True
        Whether new rows are predicted by the folds' classifiers together, by the mean of their
        log-odds, or by one that is trained again on all rows, which suits folds of a time series.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of drawn rows; None is the seed 0. The estimator has a seed of its
        own.
    n_jobs : int or None, default=None
        How many folds are trained at a time, in threads, and rules tried; -1 for as many as there
        are CPUs that the process may use, -2 for one less, and so on. None is the `n_jobs` of an
        estimator of this package, one fold at a time if another estimator has an `n_jobs` of its
        own, and else as -1. An estimator that trains all folds by itself uses its own `n_jobs`. It
        does not change the model.

    Attributes
    ----------
    rule_ : object
        The chosen rule; `rule_.predict` makes labels of probabilities.
    best_score_ : float
        The metric for new rows, estimated: out of fold, and corrected for having chosen the rule
        (bootstrap bias correction, see :mod:`xdcc.decision.bbc_cv`), so as a rule lower than the
        best "score" in `cv_results_`. It is not corrected for a choice among several estimators.
    cv_results_ : dict of str to list
        Columns of a table, a row for each rule tried: "rule" and "params"; "score", out of fold,
        each fold with thresholds and labelsets of the others; "score_std", its standard deviation
        over the folds, None for a callable metric; its "standard_error";
        "corrected_score", for the best rule of that kind and corrected for having chosen among
        these; "chosen". ``pandas.DataFrame(model.cv_results_)`` shows it.
    constraints_ : dict of str to list
        Columns of a table, a row for each constrained label: "label", "constraint", "threshold",
        whether it is "reached" in the rows that the threshold was chosen on, and "precision",
        "recall" and "f1" in rows that it was not chosen on. Empty without constraints.
    oof_proba_ : float64 array of shape (n_samples, n_labels)
        Probabilities of the training rows by classifiers and calibrations that were made without
        their fold.
    {folds_}
    estimators_ : list of estimators
        Those that predict: one for each fold, or a single one.
    calibration_ : LabelCalibration
        `slope` and `intercept` of each label, 1 and 0 with ``calibrate=False``; `constant.value`
        is that of a label that is the same in all rows, else NaN.
    {fitted}

    Notes
    -----
    A label that is the same in all n rows is always predicted so, whatever the classifier predicts;
    its other value has the probability 1 / (n + 2). Unknown labels
    (NaN) take no part in choosing, as far as the estimator takes them. The F1 maximiser is that of
    Dembczyński, Waegeman, Cheng, Hüllermeier: "An Exact Algorithm for F-Measure Maximization"
    (NeurIPS 2011), the calibration Platt's (1999), the correction that of Tsamardinos,
    Greasidou, Borboudakis (Machine Learning 107, 2018).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    >>> model = TunedDecisionClassifierCV(tree, measure="subset_accuracy").fit(X, Y)
    >>> model.predict(X).shape, model.rule_.name in model.cv_results_["rule"]
    ((100, 4), True)
    >>> 0 < model.best_score_ < 1
    True
    """

    _domains = MappingProxyType(
        {
            "estimator": DECIDED_FOR,
            "measure": Anything(),
            "rules": Anything(),
            "constraints": Anything(),
            "calibrate": Switch(),
            "cv": CV,
            "ensemble": Switch(),
        }
    )

    estimator: Any = field(kw_only=False)
    measure: str | Counted | Callable[..., float] = "example_f1"
    rules: Literal["auto"] | Sequence[RuleKind] = "auto"
    constraints: Annotated[Mapping[str, Constraint] | None, OPTIONAL] = None
    calibrate: bool = True
    cv: Any = 5
    ensemble: bool = True
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    estimators_: list[BaseEstimator] = learned()

    def fit(self, X: Any, Y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train the classifier on folds, calibrate it and choose the rule.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features, in any form that the estimator takes.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or (n_samples,)
            0, 1, or, if the estimator takes it, NaN for unknown; or the classes of a binary
            target.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Weights of the rows, or of entries if the estimator takes them, for the estimator, the
            calibration and the metric.
        {groups}

        Returns
        -------
        self : TunedDecisionClassifierCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, there are fewer rows or groups than folds, `cv` does
            not suit, the data are not as described, a rule does not suit them, or a callable
            metric returns no finite number.
        TypeError
            If a callable metric does not return a number.

        Warns
        -----
        UserWarning
            If a constraint cannot be met: a label without the precision is never predicted, one
            without the recall wherever that finds all of its rows.
        """
        data = self._begin_fit(X, Y, sample_weight)
        if not self.ensemble:  # a model of all rows follows those of the folds
            data = data._replace(bins=SharedBins())
        seed = seed_from(self.random_state)
        folds = make_folds(self.cv, X, Y, groups, data=data, random_state=seed)
        found = out_of_fold(self.estimator, data, folds, n_jobs=self.n_jobs)
        with side_by_side(self._n_jobs_here()):
            if self.calibrate:
                calibration, margins = calibrate_labels(data._replace(X=found.margins), folds.test)
            else:
                calibration = LabelCalibration.without_scaling(data)
                margins = calibration.margins(found.margins)
            tested = folds.of_tested(data._replace(X=margins))
            choice = choose_rule(
                *tested,
                measure=self._metric_of_labels(),
                kinds=self._kinds(),
                constraints=self._constraints_of_labels(),
                seed=seed,
            )
        self._report_constraints(*tested)
        self.estimators_ = found.estimators if self.ensemble else [fit_on(found.unfitted, data)]
        self.folds_ = folds.test
        self.oof_proba_ = calibration.constant.in_proba(expit(margins))
        self.oof_proba_[~folds.tested] = np.nan
        self.calibration_ = calibration
        self.cv_results_ = choice.results
        self.best_score_ = choice.score
        self.rule_ = choice.rule
        return self

    def _trained_on(self, data: FitData) -> Self:
        other = copy.copy(self)  # with the rule and the calibration
        other.estimators_ = [trained_on(self.estimators_[0], data)]
        return other

    def _predictors(self) -> Sequence[Any]:
        return self.estimators_

    def _n_jobs_here(self) -> int | None:
        return getattr(self.estimator, "n_jobs", None) if self.n_jobs is None else self.n_jobs

    def _margin_source(self) -> MarginSource:
        return mean_source(self.estimators_, self.calibration_, self.n_features_in_)

    def _joint_contributions(self, X: Any) -> Contributions:
        return mean_contributions(self.estimators_, X)
