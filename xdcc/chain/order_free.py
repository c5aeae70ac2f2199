"""``OrderFreeChainClassifier``: a chain in any order, with one booster for all its links.

``fit`` goes from out-of-fold margins of a first classifier (``xdcc.decision.out_of_fold``), which
are calibrated, to a booster that predicts labels from these margins and from labels that are known
(``order_free_training.py``). ``order_free_inference.py`` predicts with it.
"""

from collections.abc import Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from xdcc.base.domains import Either, Number, Share, check_domain
from xdcc.base.estimator import declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.base.folds import make_folds
from xdcc.base.labels import Labels, check_labels_as_in_fit
from xdcc.base.plugin import require_plugin
from xdcc.base.seeds import seed_from
from xdcc.base.side_by_side import side_by_side
from xdcc.base.state_checks import check_boosters, require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import OPTIONAL, Of, Shape
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import (
    LabelsetScore,
    LabelStates,
    draw_labelsets,
    held_out_candidates,
    walk_to,
)
from xdcc.chain.order_free_prediction import (
    PREDICTION_DOMAINS,
    LabelsetPrediction,
    OrderFreePredictor,
)
from xdcc.chain.order_free_training import MAX_BIN, order_free_params, train_order_free
from xdcc.chain.propagation import NO_LABEL, ChainOrder
from xdcc.decision.calibration import LabelCalibration, calibrate_labels
from xdcc.decision.cuts import Floats
from xdcc.decision.deciders import DECIDED_FOR, ClassifierWrapper
from xdcc.decision.decision_predictor import mean_source
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.out_of_fold import out_of_fold
from xdcc.prediction.predictors import PredictsByKernel

_FEW_ROWS = 10_000

_AT_LEAST_1 = Number(low=1, whole=True)


@stored
@declares_parameters
class OrderFreeChainClassifier(PredictsByKernel[OrderFreePredictor], ClassifierWrapper):
    """A joint distribution of the labels, by one booster for chains of any order.

    A chain predicts labels one after the other, each given those before it. This one learns
    P(y_j | x, y_S) for every set S of known labels at once: a multi-label booster is trained on
    rows of which a random part of the labels is revealed, and adds to calibrated out-of-fold
    margins of a first classifier. While predicting, the most certain label of each row
    comes next. That gives the probability of any labelset (`log_prob`), samples, the most
    probable labelset, and predictions where some labels are known already (`known`).

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    estimator : classifier, default=None
        The first classifier, with `predict_proba` or `decision_function`. None is a
        :class:`~xdcc.boosting.MultiLabelXGBClassifier` whose trees are searched in one sketch
        dimension of a random half of the labels, at a rate of 0.05 and on 70 % of the rows each,
        or with more than 10,000 rows at 0.15 and on 50 %; its number of boosting rounds is found
        out of fold.
    n_estimators : int, default=1000
        Largest number of boosting rounds for the labels' dependences; their number is found out
        of fold. It is 0 where labels do not depend on each other.
    max_depth : int, default=4
        Largest depth of these trees.
    learning_rate : float, default=None
        Factor by which their leaf values are shrunk. None is 0.05, or 0.1 with more than 10,000
        rows.
    reg_lambda : float, default=5.0
        Their L2 regularisation.
    subsample : float, default=0.7
        Share of the rows that is drawn for each of them.
    n_masks : int, default=10
        How often a row is repeated, each time with other labels revealed; less often where that
        would make more than 50,000 rows, or take more than 1 GiB.
    cv : int, default=5
        Number of folds, stratified by labels or of whole `groups`, for the first classifier and
        the number of boosting rounds.
    n_beams : int, default=32
        How many partial labelsets of a row the search follows at most.
    n_draws : int, default=100
        Labelsets that are drawn for ``prediction="example_f1"``.
    prediction : {"mode", "subset_accuracy", "example_f1", "marginal"}, default="mode"
        The labelset that `predict` returns. ``"mode"``: the most probable one.
        ``"subset_accuracy"``: the one with the highest
        :class:`~xdcc.chain.order_free_inference.LabelsetScore`, which combines the chain, the
        labels by themselves and the frequency in training, with weights that `fit` chooses.
        ``"example_f1"``: the one with the highest expected example-based F1, estimated from draws.
        ``"marginal"``: all labels of probability at least 0.5. Can be changed after `fit` to any
        other than ``"subset_accuracy"``.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, revealed labels, boosters, and the draws of ``prediction="example_f1"``; None
        is the seed 0.
    {n_jobs}

    Attributes
    ----------
    estimators_ : list of estimators
        The first classifier, trained without each fold. They predict together.
    calibration_ : LabelCalibration
        `slope` and `intercept` of each label; 1 and 0 for one that is constant.
    booster_ : xgboost.Booster or None
        Adds to the calibrated margins. Its features are the margins of the labels that vary, then
        these labels themselves, missing where they are not known. None if there is nothing to add.
    losses_ : list of float
        Mean log-loss of labels that are not revealed, in rows that were left out: before the first
        boosting round, after it, and so on.
    labelset_score_ : LabelsetScore
        With ``prediction="subset_accuracy"``: `joint` and `prior`, the weights of its parts, and
        the `known` labelsets.
    oof_proba_ : float64 array of shape (n_samples, n_labels)
        Calibrated probabilities of the first classifier, out of fold.
    folds_ : int array of shape (n_samples,)
        Fold of each training row.
    {fitted}

    Notes
    -----
    Unknown labels (NaN in Y) are never revealed. Of a label that is the same in all n rows, the
    other value has the probability 1 / (n + 2), whatever else is known. Sources: Uria, Murray,
    Larochelle, "A Deep and Tractable Density Estimator" (ICML 2014), for one model of all orders;
    the XDCC paper for the dynamic order; Dembczyński et al. (NeurIPS 2011) for the F1 maximiser.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> model = OrderFreeChainClassifier(cv=3, random_state=0).fit(data.X, data.Y)
    >>> labelsets = model.predict(data.X[:2])
    >>> model.log_prob(data.X[:2], labelsets).shape
    (2,)
    >>> known = np.array([[1, np.nan, np.nan]])
    >>> model.predict_proba(data.X[:1], known=known)[0, 0]
    np.float64(1.0)
    """

    _domains = MappingProxyType(
        {
            "estimator": Either(DECIDED_FOR, None),
            "n_estimators": _AT_LEAST_1,
            "max_depth": Number(low=1, high=2**31, high_open=True, whole=True),
            "learning_rate": Either(Number(low=0, low_open=True), None),
            "reg_lambda": Number(low=0),
            "subsample": Share(),
            "n_masks": _AT_LEAST_1,
            "cv": Number(low=2, whole=True),
            **PREDICTION_DOMAINS,
        }
    )

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 1000
    max_depth: int = 4
    learning_rate: float | None = None
    reg_lambda: float = 5.0
    subsample: float = 0.7
    n_masks: int = 10
    cv: int = 5
    n_beams: int = 32
    n_draws: int = 100
    prediction: LabelsetPrediction = "mode"
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    estimators_: list[BaseEstimator] = learned()
    calibration_: Annotated[LabelCalibration, Of(n_labels="n_labels_")] = learned()
    booster_: xgb.Booster | None = learned()
    losses_: list[float] = learned()
    oof_proba_: Annotated[NDArray[np.float64], Shape("folds_", "n_labels_")] = learned()
    folds_: NDArray[np.intp] = learned()
    _seed: int = learned()
    labelset_score_: Annotated[LabelsetScore, OPTIONAL] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        n_varied = self.calibration_.constant.n_varied
        if self.booster_ is not None:
            check_boosters([self.booster_], 2 * n_varied, n_varied)
        if hasattr(self, "labelset_score_"):
            require(self.labelset_score_.known.n_labels == n_varied, "labelset_score_")

    def fit(self, X: Any, Y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train the first classifier on folds, then the booster on its out-of-fold margins.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features, in any form that the first classifier takes.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or (n_samples,)
            0, 1, or, if the first classifier takes it, NaN for unknown; or the classes of a binary
            target.
        {sample_weight}
        {groups}

        Returns
        -------
        self : OrderFreeChainClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, there are fewer rows or groups than folds, the data are
            not as described, or ``prediction="subset_accuracy"`` and every row has an unknown
            label.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.
        """
        require_plugin(type(self).__name__)
        data = self._begin_fit(X, Y, sample_weight)
        seed, n_rows = seed_from(self.random_state), len(data.Y)
        folds = make_folds(self.cv, X, Y, groups, data=data, random_state=seed).test
        found = out_of_fold(self._first_stage(n_rows, seed), data, folds, n_jobs=self.n_jobs)
        with side_by_side(self.n_jobs):
            margins = self._learn_from_margins(data._replace(X=found.margins), folds, seed)
        self.oof_proba_ = self.calibration_.constant.in_proba(expit(margins))
        self.folds_ = folds
        self._seed = seed
        self.estimators_ = found.estimators
        return self

    def _learn_from_margins(self, data: FitData, folds: NDArray[np.intp], seed: int) -> Floats:
        """Train the booster on the margins that are X; return these, calibrated."""
        self.calibration_, margins = calibrate_labels(data, folds)
        varied = self.calibration_.constant.varied
        self.booster_ = None
        self.losses_ = []
        self.__dict__.pop("labelset_score_", None)
        if not varied.any():
            return margins
        own = data._replace(X=margins).of_labels(varied)
        trained = train_order_free(
            own,
            folds,
            self._booster_params(len(data.Y), seed),
            n_estimators=self.n_estimators,
            n_masks=self.n_masks,
        )
        self.booster_, self.losses_ = trained.booster, trained.losses
        if self.prediction == "subset_accuracy":
            held_out = held_out_candidates(
                trained.of_folds, own, folds, n_beams=self.n_beams, wanted=own.whole
            )
            weight = own.weight
            self.labelset_score_ = LabelsetScore.choose(
                ((found, own.Y[rows], weight[rows]) for rows, _, found in held_out),
                KnownLabelsets.of_data(own),
            )
        return margins

    def predict_proba(self, X: Any, known: Any = None) -> NDArray[np.floating]:
        """Probability of every label.

        Parameters
        ----------
        {X}
        known : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), optional
            Labels that are known already: 0, 1, or NaN for the others.

        Returns
        -------
        float array of shape (n_samples, n_labels) or (n_samples, n_classes)
            Probability that the label is 1, given those that are known; of each class, if Y had one
            dimension. Known labels have the probability 0 or 1.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If a parameter is outside its domain, X is not as described or has other features than
            in `fit`, or `known` has another shape or other values.
        """
        if known is None:
            return super().predict_proba(X)
        margins, given = self._begin_prediction(self._check_X(X), known)
        return self._output_form.proba(self._predictor().marginals(margins, given))

    def predict(self, X: Any, known: Any = None) -> NDArray[Any]:
        """Labels, by `prediction`.

        Parameters
        ----------
        {X}
        known : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), optional
            Labels that are known already: 0, 1, or NaN for the others.

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones, known labels as they are; classes, if Y had one dimension.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As `predict_proba`.
        """
        if known is None:
            return super().predict(X)
        margins, given = self._begin_prediction(self._check_X(X), known)
        return self._output_form.labels(self._predictor().decide(margins, given))

    def log_prob(self, X: Any, Y: Any) -> Floats:
        """Logarithm of the probability of labelsets.

        Parameters
        ----------
        {X}
        Y : array-like, sparse matrix, DataFrame or Series
            Labelsets, one for each row, in the form of those in `fit`. Labels that are unknown
            (NaN) are skipped.

        Returns
        -------
        float64 array of shape (n_samples,)
            By the chain rule, in the order that the chain itself takes. For a row it sums to one,
            as probability, over all labelsets.

        {raises_for_labels}
        """
        margins, _ = self._begin_prediction(self._check_X(X), None)
        truth = check_labels_as_in_fit(self._output_form, margins, Y)
        total, predictor = np.zeros(len(margins)), self._predictor()
        for rows, states in predictor.states(margins, np.full_like(truth, np.nan)):
            for step in walk_to(states, predictor.of_varied(truth[rows])):
                total[rows] += step.log_prob
        constant = ~self.calibration_.constant.varied
        proba, y = self.calibration_.constant.proba[constant], truth[:, constant]
        return total + np.nansum(np.log(np.abs(1 - y - proba)), axis=1)

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        known: Any = None,
    ) -> NDArray[np.int8]:
        """Draw labelsets from the joint distribution.

        Parameters
        ----------
        {X}
        n_samples : int, default=1
            How many for each row.
        random_state : int, RandomState instance or None, default=None
            Seed; None draws others each time.
        known : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), optional
            Labels that are known already: 0, 1, or NaN for the others.

        Returns
        -------
        int8 array of shape (n_rows, n_samples, n_labels)
            Zeros and ones.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If an argument is not as described.
        """
        margins, given = self._begin_prediction(self._check_X(X), known)
        check_domain("n_samples", n_samples, _AT_LEAST_1)
        rng = np.random.default_rng(None if random_state is None else seed_from(random_state))
        if not self.calibration_.constant.varied.any():
            nothing = np.empty((len(given), n_samples, 0), dtype=np.int8)
            return self._predictor().with_constant(nothing, given, rng)
        drawn = np.empty((len(given), n_samples, self.n_labels_), dtype=np.int8)
        predictor = self._predictor()
        for rows, states in predictor.states(margins, given):
            drawn[rows] = predictor.with_constant(
                draw_labelsets(states, n_samples, rng), given[rows], rng
            )
        return drawn

    def chain_order(self, X: Any) -> ChainOrder:
        """Return the order in which `predict` decides the labels of each row.

        {takes_X}

        Returns
        -------
        ChainOrder
            Arrays `labels` and `values` of shape (n_samples, n_labels): which label was next, and
            its probability then to be 1. Labels that were constant in `fit` are not decided.

        {raises_in_predict}
        """
        states, labels = self._begin_walk(X)
        order = np.full((len(states), self.n_labels_), NO_LABEL, dtype=np.intp)
        values = np.full(order.shape, np.nan, dtype=np.float32)
        position = np.flatnonzero(self.calibration_.constant.varied)
        for step, decision in enumerate(walk_to(states, labels)):
            order[:, step] = position[decision.label]
            values[:, step] = decision.proba
        return ChainOrder(order, values)

    def _first_stage(self, n_rows: int, seed: int) -> Any:
        if self.estimator is not None:
            return self.estimator
        return MultiLabelXGBClassifier(
            n_estimators=1000,
            learning_rate=0.05 if n_rows <= _FEW_ROWS else 0.15,
            subsample=0.7 if n_rows <= _FEW_ROWS else 0.5,
            sketch_size=1,
            max_bin=MAX_BIN,
            labels_per_tree=(self.n_labels_ + 1) // 2,
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    def _booster_params(self, n_rows: int, seed: int) -> dict[str, Any]:
        rate = self.learning_rate
        if rate is None:
            rate = 0.05 if n_rows <= _FEW_ROWS else 0.1
        return order_free_params(
            max_depth=self.max_depth,
            learning_rate=rate,
            reg_lambda=self.reg_lambda,
            subsample=self.subsample,
            seed=seed,
            n_jobs=self.n_jobs,
        )

    def _predictors(self) -> Sequence[Any]:
        return self.estimators_

    def _begin_prediction(self, X: Any, known: Any) -> tuple[Floats, Labels]:
        """Check the arguments of a prediction; compute margins of the labels that vary."""
        margins = self._outputs(self._predictor(), X)
        if known is None:
            return margins, np.full((len(margins), self.n_labels_), np.nan, dtype=np.float32)
        return margins, check_labels_as_in_fit(self._output_form, margins, known, "known")

    def _begin_walk(self, X: Any) -> tuple[LabelStates, Labels]:
        """Return the rows before the first chain step, and the predictions of labels that vary."""
        predictor = self._predictor()
        margins = self._outputs(predictor, self._check_X(X))
        labels = predictor.of_varied(predictor.labels(margins).astype(np.float32))
        return predictor.begin(margins), labels

    def _predicts_from(self) -> tuple[Any, ...]:
        score = getattr(self, "labelset_score_", None)
        params = self.prediction, self.n_beams, self.n_draws
        return self.booster_, self.calibration_, self._seed, score, *params, *self.estimators_

    def _make_predictor(self) -> OrderFreePredictor:
        varied = self.calibration_.constant.varied
        score = getattr(self, "labelset_score_", None)
        if self.prediction == "subset_accuracy" and varied.any() and score is None:
            raise ValueError(
                "prediction='subset_accuracy' needs weights that fit chooses: set it before fit."
            )
        booster = self.booster_
        return OrderFreePredictor(
            mean_source(self.estimators_, self.calibration_, self.n_features_in_),
            None if booster is None else CompiledBooster.of(booster, int(varied.sum())),
            self.calibration_,
            {name: getattr(self, name) for name in PREDICTION_DOMAINS},
            self._seed,
            score,
        )
