"""``DynamicChainClassifier``: a chain of multi-label boosters with a dynamic label order (XDCC).

The estimator checks arguments and data and hands them to the training (``training.py``);
predictions come from the chain's state after each round (``loop.py``).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.booster_estimator import TreeBoosterEstimator
from xdcc.base.booster_parameters import settle_on_data
from xdcc.base.domains import Choice, Either, Number, Switch
from xdcc.base.estimator import EvalSet, MultiLabelEstimator
from xdcc.base.features import Features
from xdcc.base.folds import make_folds
from xdcc.base.groups import read_groups
from xdcc.base.labels import Labels
from xdcc.base.package import PACKAGE
from xdcc.base.plugin import require_plugin
from xdcc.base.side_by_side import side_by_side
from xdcc.base.state_checks import check_boosters, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import OPTIONAL, Shape, Within
from xdcc.boosting.classifier import OBJECTIVE
from xdcc.boosting.sketch_choice import choose_sketch
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor, chain_layout
from xdcc.chain.loop import (
    ChainRun,
    ChainState,
    cumulated_proba,
    labels_from_proba,
    run_chain,
    standard_proba,
)
from xdcc.chain.propagation import ChainOrder
from xdcc.chain.training import ChainPlan, EarlyStopping, RoundCallback, stop_score, train_chain
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.label_metrics import COUNTED
from xdcc.prediction.predictors import PredictsByKernel
from xdcc.prediction.propagation_rule import (
    CANDIDATES,
    CUMULATIONS,
    ORDERS,
    PREDICTIONS,
    Candidates,
    Cumulation,
    Order,
    Prediction,
    PropagationRule,
)

Propagate = Literal["auto", "cross_val", "in_sample"]

PROPAGATE: tuple[str, ...] = get_args(Propagate)
"""The sources of what the training rows propagate; see `xdcc.chain.training`."""

_DEFAULT_PATIENCE = 2
_OF_END_LABEL = MappingProxyType(
    {"base_score": 0.5, "label_weight": 1.0, "scale_pos_weight_per_label": 1.0}
)
"""Value of the end label in lists with a number for each label."""

_AT_LEAST_1 = Number(low=1, whole=True)


@stored
class DynamicChainClassifier(
    PredictsByKernel[ChainPredictor], TreeBoosterEstimator, MultiLabelEstimator
):
    """A chain of multi-label boosters in which every row has its own label order.

    In each round a booster predicts all labels; the most certain one is propagated:
    its probability becomes a feature for the rounds that follow. Which label that is may differ
    from row to row. ("Extreme Gradient Boosted Multi-label Trees for Dynamic Classifier Chains",
    the XDCC paper, section 3.2; refinements in 3.3.)

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    chain_length : int, "auto" or None, default="auto"
        Number of rounds. ``"auto"`` leaves it to early stopping, if there is something to measure
        on (see `early_stopping_rounds`). None is as many rounds as it takes to decide all labels;
        a larger number is reduced to it, with a warning.
    n_estimators : int, default=100
        Boosting rounds of each booster.
    max_depth : int, default=6
        Largest depth of a tree; 0 means no limit.
    learning_rate : float, default=0.3
        Factor by which a tree's leaf values are shrunk.
    split_method : {"sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"} or \
int, default="maxGain"
        How a split is scored over the labels; 1 to 6 are the numbers of the authors' code.
    separate_and_conquer : bool, default=True
        Whether a label of a row that was propagated has no part in the training of the rounds
        that follow: its gradient and Hessian are zero. Without it every round is trained on all
        labels.
    candidates : {"open", "all"}, default="open"
        Labels that compete for propagation: those not propagated yet, or all of them as
        equation 8 and the authors' code have it, see
        :func:`xdcc.chain.propagation.propagate`. Ties go to the lowest label with ``"open"``;
        with ``"all"`` the largest probability's tie goes to the last label.
    order : {"positive", "certainty"}, default="positive"
        Which candidate comes first: the most probable label if it has 0.5, else the least
        probable one; or the label whose probability is farthest from 0.5, as in RDT-DCC.
    labels_per_round : int, default=1
        How many labels a round propagates in a row.
    propagate : {"auto", "cross_val", "in_sample"}, default="auto"
        Which predictions of the training rows the later rounds see: those of the booster that
        was trained on them (``"in_sample"``, the paper), or out-of-fold ones (``"cross_val"``:
        `cv` folds, the same for all rounds), which are as uncertain as those of new rows; this is
        what ``"auto"`` means. Long chains of out-of-fold predictions need the end label: rows of
        which only negatives are left teach the last rounds nothing that holds for other rows.
    cv : int, default=3
        Number of folds with ``propagate="cross_val"``, stratified by labels or of whole `groups`. A
        round trains a booster for each fold, without the fold's rows, and one on all rows.
    ensemble : bool, default=False
        With ``propagate="cross_val"``: whether new rows are predicted by the mean of the folds'
        boosters, which spares the one on all rows.
    end_label : bool or "auto", default="auto"
        Whether boosters learn one more label, true where no positive label is left; see
        :mod:`xdcc.chain.propagation`. It ends the chain row by row, and the training when every
        row is at its end. ``"auto"``: with ``chain_length="auto"``.
    early_stopping_rounds : int or None, default=None
        Stop the training when `stop_measure` has not become better for this many rounds, and keep
        the rounds up to the best. It is measured on `eval_set` if `fit` gets one, else with
        ``propagate="cross_val"`` on the out-of-fold predictions of the training rows. With
        ``chain_length="auto"`` None means 2 rounds where one of them is there.
    stop_tolerance : float, default=0.003
        How much higher `stop_measure` has to be to count as better.
    stop_measure : str, default="example_f1"
        A metric of :mod:`xdcc.metrics`: `example_f1`, `subset_accuracy`, `hamming_accuracy`,
        `jaccard`, `micro_f1` or `macro_f1`.
    prediction : {"cumulated", "standard"}, default="cumulated"
        Prediction mode. ``"cumulated"``: the propagated probabilities, and for open labels the
        maximum over the rounds (equation 9). ``"standard"``: the propagated ones alone, with 0 for
        open labels. Can be changed after `fit`.
    cumulation : {"equation9", "authors"}, default="equation9"
        How the cumulated prediction is computed, see
        :func:`xdcc.chain.loop.cumulated_proba`. With ``"authors"`` a probability of
        exactly 0.5 is negative. Can be changed after `fit`.
    reg_lambda : float, default=1.0
        L2 regularisation.
    max_bin : int, default=256
        Largest number of bins per feature.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of row and column samples. The first round uses it, each further
        round one more. None is the seed 0.
    {n_jobs}
    {sparse_zeros}
    {unknown_categories}
    verbose : int, default=0
        Whether to print a line after each round.
    **booster_params
        Further parameters of the booster, by these names. What is ``"auto"`` is chosen once for
        all rounds, before the first, when no label is propagated; it needs
        ``split_method="sumGain"``. With `separate_and_conquer` each
        round starts from the mean of each label over the rows where it is open; a `base_score`
        given here is used in every round instead.

        {booster_params}

    Attributes
    ----------
    boosters_ : list of lists of xgboost.Booster
        For each round its boosters, one, or one for each fold; their probabilities are averaged.
        The label features come after the features of X, and with `end_label` one more, which is
        always missing.
    n_rounds_ : int
        Number of rounds.
    rule_ : PropagationRule
        The rule of propagation that the chain was trained with.
    end_label_ : bool
        Whether the boosters' last output is the end label.
    stop_scores_ : list of float
        With early stopping: `stop_measure` after each round that was trained, those that were
        cut off included.
    {fitted}
    {categories}
    {sparse_X}

    Notes
    -----
    NaN in X is a missing value, and so is what a sparse X does not store, unless `sparse_zeros`
    says otherwise. Columns of a DataFrame with the type `category` are split as
    categories. NaN in Y is a label that is not known.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> model = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=10, cv=2)
    >>> model.fit(data.X, data.Y).predict(data.X[:2])
    array([[0, 1, 1],
           [1, 1, 1]])
    >>> model.chain_order(data.X[:2]).labels  # a label for each round
    array([[2, 1],
           [2, 0]])
    """

    _takes_categories = True
    _takes_entry_weights = True
    _domains = MappingProxyType(
        {
            **TreeBoosterEstimator._domains,
            "chain_length": Either(_AT_LEAST_1, Choice(("auto",)), None),
            "separate_and_conquer": Switch(),
            "candidates": Choice(CANDIDATES),
            "order": Choice(ORDERS),
            "labels_per_round": _AT_LEAST_1,
            "propagate": Choice(PROPAGATE),
            "cv": Number(low=2, whole=True),
            "ensemble": Switch(),
            "end_label": Either(Switch(), Choice(("auto",))),
            "early_stopping_rounds": Either(_AT_LEAST_1, None),
            "stop_tolerance": Number(low=0),
            "stop_measure": Choice(tuple(COUNTED)),
            "prediction": Choice(PREDICTIONS),
            "cumulation": Choice(CUMULATIONS),
        }
    )

    chain_length: int | Literal["auto"] | None = "auto"
    split_method: str | int = "maxGain"
    separate_and_conquer: bool = True
    candidates: Candidates = "open"
    order: Order = "positive"
    labels_per_round: int = 1
    propagate: Propagate = "auto"
    cv: int = 3
    ensemble: bool = False
    end_label: bool | Literal["auto"] = "auto"
    early_stopping_rounds: int | None = None
    stop_tolerance: float = 0.003
    stop_measure: str = "example_f1"
    prediction: Prediction = "cumulated"
    cumulation: Cumulation = "equation9"

    rule_: PropagationRule
    end_label_: bool
    boosters_: Annotated[list[list[xgb.Booster]], Shape("n_rounds_")]
    n_rounds_: Annotated[int, Within(1)]
    stop_scores_: Annotated[list[float], OPTIONAL]

    def _check_state(self) -> None:
        super()._check_state()
        # Predicting takes memory for each of them.
        require(0 < self.rule_.labels_per_round <= self.n_labels_, "rule_")
        n_outputs = self.n_labels_ + self.end_label_
        for boosters in self.boosters_:
            require(len(boosters) > 0, "boosters_")
            check_boosters(boosters, self.n_features_in_ + n_outputs, n_outputs)

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        eval_set: EvalSet | None = None,
        callback: RoundCallback | None = None,
    ) -> Self:
        """Train the chain.

        Parameters
        ----------
        {X}
        {Y}
        {sample_weight}
        {groups}
        eval_set : sequence of pairs (X, Y), optional
            On the rows of the last pair `stop_measure` is measured for early stopping; they are
            not trained on.
        callback : callable, optional
            Called after each round with its number from 1, the largest number of rounds, and
            the seconds that it took; for a progress bar.

        Returns
        -------
        self : DynamicChainClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, there are fewer rows or groups than folds, or
            the data are not as described.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.

        Warns
        -----
        UserWarning
            If `chain_length` is above the number of labels.
        """
        params = self._native_booster_params()
        self._check_params()
        self._check_stopping(bool(eval_set))
        require_plugin(type(self).__name__)
        data = self._begin_fit(X, Y, sample_weight)

        params |= choose_sketch(self._on_data(params), data)
        groups, folds = read_groups(groups, X, len(data.Y)), None
        if self._propagates_out_of_fold():
            seed = params.get("seed")
            folds = make_folds(self.cv, X, Y, groups, data=data, random_state=seed).test
        plan = self._plan(folds)
        watch = self._watch(data.Y, self._check_eval_set(eval_set), plan)
        with side_by_side(params.get("nthread")):
            boosters = train_chain(
                data,
                self._settled(params, plan),
                plan,
                watch=watch,
                callback=self._reporter(callback),
            )
        self._learn(plan, boosters, None if watch is None else watch.scores)
        return self

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float32]]:
        """Probability of every label after each round.

        {takes_X}

        Yields
        ------
        float32 array of shape (n_samples, n_labels)
            As `predict_proba` of a chain that ends with this round.

        {raises_in_predict}
        """
        return (
            self._output_form.proba(self._proba_of(state)) for state in self._run(self._check_X(X))
        )

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """Labels after each round; what it takes and raises is as in `staged_predict_proba`.

        Yields
        ------
        int array of shape (n_samples, n_labels)
            As `predict` of a chain that ends with this round.
        """
        return (
            self._output_form.labels(self._decide(self._proba_of(state)))
            for state in self._run(self._check_X(X))
        )

    def chain_order(self, X: Any) -> ChainOrder:
        """Return which label was propagated in which round, and its value.

        {takes_X}

        Returns
        -------
        ChainOrder
            Arrays `labels` and `values` of shape (n_samples, n_rounds * labels_per_round).

        {raises_in_predict}
        """
        labels, values = [], []
        for state in self._run(self._check_X(X)):
            labels.append(state.labels)
            values.append(
                np.where(
                    state.labels >= 0, np.take_along_axis(state.P, state.labels, axis=1), np.nan
                )
            )
        return ChainOrder(
            np.concatenate(labels, axis=1),
            np.concatenate(values, axis=1).astype(np.float32),
            self.rule_.labels_per_round,
        )

    def _plan(self, folds: NDArray[np.intp] | None) -> ChainPlan:
        return ChainPlan(
            n_rounds=self._limited_rounds(self.n_labels_),
            n_estimators=self.n_estimators,
            rule=PropagationRule(
                self.candidates, self.order, min(int(self.labels_per_round), self.n_labels_)
            ),
            separate_and_conquer=self.separate_and_conquer,
            end_label=self._has_end_label(),
            folds=folds,
            ensemble=self.ensemble,
        )

    def _learn(
        self, plan: ChainPlan, boosters: list[list[xgb.Booster]], scores: list[float] | None
    ) -> None:
        """Store the results of the training."""
        self.rule_ = plan.rule
        self.end_label_ = plan.end_label
        self.boosters_ = boosters
        self.n_rounds_ = len(boosters)
        if scores is not None:
            self.stop_scores_ = scores
        elif hasattr(self, "stop_scores_"):
            del self.stop_scores_
        self._name_features(boosters)

    def _on_data(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the trees on X alone."""
        return settle_on_data(params, self) | {"objective": OBJECTIVE}

    def _settled(self, params: dict[str, Any], plan: ChainPlan) -> dict[str, Any]:
        """Make the boosters' parameters complete when the data are known."""
        n_outputs = self.n_labels_ + plan.end_label
        settled = settle_on_data(params, self, n_further=n_outputs)
        if plan.end_label:
            for name, value in _OF_END_LABEL.items():
                if isinstance(settled.get(name), list):
                    settled[name] = [*settled[name], value]
        return {**settled, "objective": OBJECTIVE}

    def _watch(
        self, Y: Labels, eval_set: list[tuple[Features, Labels]], plan: ChainPlan
    ) -> EarlyStopping | None:
        patience = self.early_stopping_rounds
        if patience is None:
            if self.chain_length != "auto" or (not eval_set and plan.folds is None):
                return None
            patience = _DEFAULT_PATIENCE
        run = None
        if eval_set:
            features, Y = eval_set[-1]
            run = ChainRun(features, self.n_labels_, plan.n_rounds, plan.rule, plan.end_label)
        return EarlyStopping(
            Y,
            run,
            predict=lambda state: self._decide(self._proba_of(state)),
            measure=partial(stop_score, self.stop_measure),
            patience=int(patience),
            tolerance=self.stop_tolerance,
        )

    def _propagates_out_of_fold(self) -> bool:
        return self.propagate != "in_sample"

    def _has_end_label(self) -> bool:
        return self.chain_length == "auto" if self.end_label == "auto" else bool(self.end_label)

    def _limited_rounds(self, n_labels: int) -> int:
        largest = -(-n_labels // int(self.labels_per_round))
        if self.chain_length is None or self.chain_length == "auto":
            return largest
        if self.chain_length > largest:
            warnings.warn(
                f"chain_length={self.chain_length} is more than {n_labels} labels need: "
                f"{largest} rounds are trained.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return min(int(self.chain_length), largest)

    def _name_features(self, rounds: list[list[xgb.Booster]]) -> None:
        """Set the columns' names on the boosters; matrices would reject some of them."""
        if not hasattr(self, "feature_names_in_"):
            return
        names = [*self.feature_names_in_, *(f"propagated {n}" for n in self.label_names_)]
        if self.end_label_:
            names.append("propagated end")
        for boosters in rounds:
            for booster in boosters:
                booster.feature_names = names

    def _check_params(self) -> None:
        super()._check_params()
        PropagationRule(self.candidates, self.order, int(self.labels_per_round))
        if self.ensemble and not self._propagates_out_of_fold():
            raise ValueError(
                "ensemble=True averages the boosters of folds: it needs propagate='cross_val'."
            )

    def _check_stopping(self, has_eval_set: bool) -> None:
        measures = has_eval_set or self._propagates_out_of_fold()
        if self.early_stopping_rounds is not None and not measures:
            raise ValueError(
                "early_stopping_rounds needs something to measure on: an eval_set, or "
                "propagate='cross_val'."
            )
        if has_eval_set and self.early_stopping_rounds is None and self.chain_length != "auto":
            raise ValueError(
                "eval_set is not used: set early_stopping_rounds or chain_length='auto'."
            )

    def _reporter(self, callback: RoundCallback | None) -> RoundCallback:
        def report(round_: int, n_rounds: int, seconds: float) -> None:
            if self.verbose:
                print(f"Round {round_} of {n_rounds}: {seconds:.2f} s")
            if callback is not None:
                callback(round_, n_rounds, seconds)

        return report

    def _predicts_from(self) -> tuple[Any, ...]:
        return self.boosters_, self.rule_, self.end_label_, self.prediction, self.cumulation

    def _make_predictor(self) -> ChainPredictor:
        return ChainPredictor([chain_layout(self)])

    @staticmethod
    def _mean_source(chains: Sequence[Any], calibration: LabelCalibration) -> ChainMargins:
        """Flatten the calibrated mean of chains."""
        return ChainMargins.of(chains, calibration)

    def _run(self, X: Features) -> Iterator[ChainState]:
        run = ChainRun(X, self.n_labels_, self.n_rounds_, self.rule_, self.end_label_)
        return run_chain(run, self.boosters_)

    def _proba_of(self, state: ChainState) -> NDArray[np.float32]:
        if self.prediction == "standard":
            return standard_proba(state.P)
        return cumulated_proba(state.running, state.P, self.cumulation)

    def _decide(self, Y_proba: NDArray[np.float32]) -> NDArray[np.int64]:
        return labels_from_proba(Y_proba, self.prediction, self.cumulation)
