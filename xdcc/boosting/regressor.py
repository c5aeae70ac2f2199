"""``MultiTargetXGBRegressor``: one booster whose trees predict all targets at once.

XGBoost's own objectives, one for all targets or one for each, with the vector leaves of the plugin.
Splits are searched on gradients in units of the targets, so that a target in large units does not
drown the others; leaf values are in the units of Y.
"""

import os
from collections.abc import Callable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length

from xdcc.base.checks import check_fit_weight
from xdcc.base.domains import Choice, DictOf, Either, Number, Switch, check_domain
from xdcc.base.estimator import EvalSet
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.frames import as_pandas
from xdcc.base.label_rows import LabelRows, check_weight, column_names, labels_in_order
from xdcc.base.learned import Learned
from xdcc.base.output_form import TargetForm
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.boosting.output_predictors import Link, TargetPredictor
from xdcc.boosting.single_booster import VECTOR_LEAVES, SingleBooster
from xdcc.boosting.sketch_choice import choose_sketch
from xdcc.boosting.target_losses import (
    OF_MARGINS,
    TARGET_OBJECTIVES,
    TargetLosses,
    trained_objectives,
)

OBJECTIVES = (
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
    "reg:logistic",
    "reg:gamma",
    "reg:tweedie",
    "count:poisson",
)
"""Losses that are sums over the targets: a target that is unknown adds nothing."""

_LINKS: Mapping[str, Link] = {
    "binary:logistic": "logit",
    "reg:gamma": "log",
    "reg:tweedie": "log",
    "count:poisson": "log",
    "reg:logistic": "logit",
}
"""Link functions, where they are not the identity."""


_VALUES_OF: Mapping[str, tuple[Callable[[NDArray[np.float32]], NDArray[np.bool_]], str]] = {
    "binary:logistic": (lambda Y: (Y == 0) | (Y == 1), "0 or 1"),
    "reg:squaredlogerror": (lambda Y: Y > -1, "above -1"),
    "reg:logistic": (lambda Y: (Y >= 0) & (Y <= 1), "from 0 to 1"),
    "reg:gamma": (lambda Y: Y > 0, "positive"),
    "reg:tweedie": (lambda Y: Y >= 0, "at least 0"),
    "count:poisson": (lambda Y: Y >= 0, "at least 0"),
}
"""The values of targets with these objectives, as a function and in words; any for others."""


@stored
class MultiTargetXGBRegressor(RegressorMixin, SingleBooster):
    """Boosted trees for many numeric targets, each tree grown for all of them.

    Every leaf holds a value per target, and a split is scored over all targets. With
    ``sketch_size=0`` and ``scale_targets=False`` trees are those of XGBoost's own vector leaves
    (``multi_strategy="multi_output_tree"``).

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    objective : {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", \
"reg:squaredlogerror", "reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson"} or dict, \
default="reg:squarederror"
        The loss, XGBoost's own. Or a dict with an objective for each target by its name,
        ``"binary:logistic"``, ``"reg:squarederror"`` or ``"reg:absoluteerror"``: yes/no targets
        beside numbers. Y then holds 0 and 1 for ``"binary:logistic"``, and predictions are the
        probabilities of 1.
    huber_slope : float, default=1.0
        Of ``"reg:pseudohubererror"``: residuals above it count about linearly. In units of Y.
    tweedie_variance_power : float, default=1.5
        Of ``"reg:tweedie"``, from 1 to 2.
    scale_targets : bool, default=True
        Whether splits are searched on gradients that are divided by the spread of their target:
        the fit then does not depend on the units of the targets. `reg_alpha` and `max_delta_step`
        are in these units.
    {sketches}
    {rounds}
    {split_method}
    {regularisation}
    {n_jobs}
    eval_metric : str or list of str, default=None
        Metrics of XGBoost that are evaluated on `eval_set` in every boosting round, such as `rmse`
        or `mae`, over all targets in the units of Y; by default that of the objective. None if each
        target has its own objective: the metric is `relative_loss`, the mean over targets of
        log-loss, squared or absolute error, each divided by that of a constant prediction.
    {stopping}
    {sparse_zeros}
    {unknown_categories}
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    {trees}
    evals_result_ : dict
        Values of the metrics: ``{"validation_0": {"rmse": [...]}}``.
    n_targets_ : int
        Number of targets.
    target_names_ : array of str of shape (n_targets,)
        Column names of a DataFrame, else `target_0`, `target_1` and so on.
    {features}
    {categories}
    {sparse_X}

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> data = load_linnerud(as_frame=True)
    >>> model = MultiTargetXGBRegressor(n_estimators=50, random_state=0)
    >>> model.fit(data.data, data.target).predict(data.data).shape
    (20, 3)
    >>> model.target_names_
    array(['Weight', 'Waist', 'Pulse'], dtype=object)
    """

    _domains = MappingProxyType(
        {
            **SingleBooster._domains,
            "objective": Either(Choice(OBJECTIVES), DictOf("objectives by target")),
            "huber_slope": Number(low=0, low_open=True),
            "tweedie_variance_power": Number(low=1, high=2, high_open=True),
            "scale_targets": Switch(),
        }
    )
    _lacks = frozenset({"base_score", "scale_pos_weight", "label_weight"})
    _outputs_are = "targets"

    objective: str | Mapping[str, str] = "reg:squarederror"
    huber_slope: float = 1.0
    tweedie_variance_power: float = 1.5
    scale_targets: bool = True
    sketch_size: int | Literal["auto"] = "auto"
    outputs_per_tree: int | Literal["auto"] | None = None

    _output_form: TargetForm

    n_targets_ = Learned[int]("_output_form", "n_targets")
    target_names_ = Learned[NDArray[np.object_]]("_output_form", "names")

    def __sklearn_tags__(self) -> Tags:
        """Tags: several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        eval_set: EvalSet | None = None,
        xgb_model: "MultiTargetXGBRegressor | xgb.Booster | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """Train the booster.

        Parameters
        ----------
        {X}
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_targets), or \
(n_samples,)
            Finite numbers, or NaN where a target is unknown.
        {sample_weight}
            With one objective for all targets, those of a row need the same weight, or 0.
        eval_set : sequence of pairs (X, Y), optional
            Data on which `eval_metric` is evaluated in every boosting round.
        xgb_model : MultiTargetXGBRegressor, xgboost.Booster or path-like, optional
            Continue from this model: `n_estimators` further boosting rounds follow its own.

        Returns
        -------
        self : MultiTargetXGBRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, the data are not as described or not those of
            `xgb_model`, or a target is unknown in every row, outside the domain of its objective or
            not among the keys of a dict `objective`.
        TypeError
            If `xgb_model` is not a model.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.
        """
        self._train(X, Y, sample_weight, eval_set, xgb_model)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the targets.

        {takes_X}

        Returns
        -------
        float array of shape (n_samples, n_targets), or (n_samples,) if Y had one dimension
            In the units of Y; probabilities of 1 for a target with the objective
            ``"binary:logistic"``.

        {raises_in_predict}
        """
        targets = self._labels(self._read_X(X))  # which raises NotFittedError before `fit`
        return self._output_form.labels(targets)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean over the targets of R², the share of the variance that predictions explain.

        Of probabilities it is their Brier score relative to that of a constant.

        Parameters
        ----------
        {X}
        y : array-like, sparse matrix, DataFrame or Series
            Targets in the form of those in `fit`; NaN where one is unknown.
        {sample_weight}

        Returns
        -------
        float
            At most 1; a constant prediction of the mean has 0.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X or y is not as described, or y has other targets than in `fit`.
        """
        features = self._check_X(X)
        truth = self._check_Y_of(self, features, y)
        weight = check_weight(sample_weight, len(truth))
        predicted = self._labels(features)
        scores = []
        for column, of_column in zip(truth.T, predicted.T, strict=True):
            known = ~np.isnan(column)
            if known.any():
                own = None if weight is None else weight[known]
                scores.append(r2_score(column[known], of_column[known], sample_weight=own))
        return float(np.mean(scores))

    @property
    def _n_outputs(self) -> int:
        return self.n_targets_

    @property
    def _output_names(self) -> NDArray[Any]:
        return self.target_names_

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.objective, Mapping) and self.eval_metric is not None:
            raise ValueError(
                f"eval_metric={self.eval_metric!r} with an objective for each target: it must be "
                "None; the metric is 'relative_loss'."
            )

    def _check_state(self) -> None:
        super()._check_state()
        require(len(self._links()) == self.n_targets_, "the objectives of the booster")

    @property
    def _objectives(self) -> str:  # type: ignore[override]
        return self.objective if isinstance(self.objective, str) else ",".join(self._of_targets())

    @property
    def _takes_entry_weights(self) -> bool:  # type: ignore[override]
        return isinstance(self.objective, Mapping)

    def _of_targets(self) -> list[str]:
        """List the objective of each target."""
        return self._objectives_of(self.target_names_.tolist())

    def _objectives_of(self, names: list[str]) -> list[str]:
        """List the objectives of targets with these names."""
        if isinstance(self.objective, str):
            return [self.objective] * len(names)
        return [self.objective[name] for name in names]

    def _links(self) -> list[Link]:
        """List the link of each target, by the objectives of the booster."""
        links = [_LINKS.get(name, "identity") for name in trained_objectives(self.booster_)]
        return links * self.n_targets_ if len(links) == 1 else links

    def _make_predictor(self) -> TargetPredictor:
        return TargetPredictor([self._layout()], self._links())

    def _losses(self, data: FitData) -> TargetLosses:
        return TargetLosses(self._of_targets(), data)

    def _boosted(
        self, params: dict[str, Any], train: xgb.DMatrix, data: FitData, **arguments: Any
    ) -> xgb.Booster:
        if isinstance(self.objective, str):
            return super()._boosted(params, train, data, **arguments)
        if data.has_entry_weights:
            train.set_weight(data.row_weight)  # those of entries are in the gradients
        return self._losses(data).train(params, train, **arguments)

    def _of_objective(self, data: FitData) -> dict[str, Any]:
        params: dict[str, Any] = {"allow_unknown_labels": True, **VECTOR_LEAVES}
        params |= {"objective": self.objective} if isinstance(self.objective, str) else OF_MARGINS
        if self.objective == "reg:pseudohubererror":
            params["huber_slope"] = self.huber_slope
        if self.objective == "reg:tweedie":
            params["tweedie_variance_power"] = self.tweedie_variance_power
        if self.scale_targets:
            params["target_scale"] = self._scale(data).tolist()
        return params

    def _scale(self, data: FitData) -> NDArray[np.float32]:
        """Compute the spread of each target, relative to what its objective expects.

        The root of sum g² / sum h at the mean m, the dispersion of a generalised linear model with
        the variance V(m): the standard deviation for squared error, and 1 for zeros and ones.
        """
        weight = data.entry_weight
        Y = np.where(data.known, data.Y, 0.0).astype(np.float64)
        total = weight.sum(axis=0)
        mean = (weight * Y).sum(axis=0) / total
        variance = (weight * (Y - mean) ** 2).sum(axis=0) / total
        expected_of = {
            "binary:logistic": mean * (1 - mean),
            "count:poisson": mean,
            "reg:gamma": mean**2,
            "reg:tweedie": np.abs(mean) ** self.tweedie_variance_power,
            "reg:logistic": mean * (1 - mean),
        }
        ones, objectives = np.ones_like(mean), enumerate(self._of_targets())
        expected = np.array([expected_of.get(name, ones)[j] for j, name in objectives])
        ratio = np.divide(variance, expected, out=np.ones_like(mean), where=expected > 0)
        # A target that is constant has no spread, and no gradient.
        scale = np.sqrt(ratio).astype(np.float32)
        return np.where(scale > 0, scale, np.float32(1))

    def _examples_of_y(self) -> NDArray[np.float32]:
        return np.array([[0.25], [0.75]], np.float32).repeat(self.n_targets_, axis=1)

    def _sketch(
        self, params: dict[str, Any], data: FitData, matrix: xgb.DMatrix | None
    ) -> dict[str, int]:
        if self.n_targets_ == 1:
            return {"sketch_size": 0, "labels_per_tree": 0}
        if isinstance(self.objective, Mapping):
            by_rows = data._replace(sample_weight=data.row_weight)
            return choose_sketch(params, by_rows, losses_of=self._losses)

        def loss_on(rows: FitData) -> Callable[[NDArray[np.float32]], float]:
            # Without it the race, too, goes by the units of targets.
            scale = np.asarray(params.get("target_scale", 1.0))
            weight = rows.weight[:, np.newaxis]

            def loss(predicted: NDArray[np.float32]) -> float:
                error = (predicted - rows.Y) / scale
                is_absolute = self.objective == "reg:absoluteerror"
                return float(np.nansum(weight * (np.abs(error) if is_absolute else error**2)))

            return loss

        return choose_sketch(params, data, loss_on=loss_on)

    def _check_Y(self, Y: Any) -> FitData:
        Y = as_pandas(Y, "Y")
        rows = _target_rows(Y)
        names = column_names(Y, rows.shape[1], "target")
        form = TargetForm(
            names,
            is_named=hasattr(Y, "columns"),
            is_single=len(LabelRows(Y).shape) == 1,
        )
        return FitData(None, self._targets(rows, names.tolist(), "y"), None, output_form=form)

    def _check_weight(self, sample_weight: Any, n_samples: int) -> NDArray[Any] | None:
        form = self._output_form
        return check_fit_weight(sample_weight, n_samples, form.names, is_named=form.is_named)

    def _targets(self, rows: LabelRows, names: list[str], what: str) -> NDArray[np.float32]:
        """Read targets, `(n_samples, n_targets)`, as their objectives need them."""
        Y = _finite(rows, names, what)
        if isinstance(self.objective, Mapping):
            _check_names(self.objective, names)
        objectives = np.array(self._objectives_of(names))
        for objective in _VALUES_OF.keys() & set(objectives.tolist()):
            is_in_domain, words = _VALUES_OF[objective]
            bad = (objectives == objective) & ~(is_in_domain(Y) | np.isnan(Y))
            if bad.any():
                row, column = np.argwhere(bad)[0]
                raise ValueError(
                    f"Target {names[column]!r} of {what} is {Y[row, column]} in row {row}; with "
                    f"the objective {objective!r} it must be {words}, or NaN if it is unknown."
                )
        return Y

    def _settle_unknown(self, data: FitData, unknown: NDArray[np.bool_]) -> None:
        listed = ", ".join(map(repr, data.output_form.names[unknown]))
        raise ValueError(f"Unknown (NaN) in every row that counts: target {listed}.")

    def _check_Y_of(
        self, earlier: Any, X: Features, Y: Any, what: str = "Y"
    ) -> NDArray[np.float32]:
        Y = as_pandas(Y, what)
        form = earlier._output_form
        names = form.names.tolist()
        if form.is_named:
            Y = labels_in_order(Y, names, what)
        rows = _target_rows(Y)
        if rows.shape[1] != len(names):
            raise ValueError(
                f"{what} has {rows.shape[1]} targets, but in fit there were {len(names)}."
            )
        checked = self._targets(rows, names, what)
        check_consistent_length(X, checked)
        return checked


def _check_names(objectives: Mapping[str, str], names: list[str]) -> None:
    """Raise a ValueError unless there is one of `TARGET_OBJECTIVES` for each target."""
    for name in names:
        if name not in objectives:
            raise ValueError(f"objective is a dict without an entry for target {name!r}.")
    for name, objective in objectives.items():
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"objective names {name!r}, but the targets are {listed}.")
        check_domain(f"objective[{name!r}]", objective, Choice(TARGET_OBJECTIVES))


def _target_rows(Y: Any) -> LabelRows:
    rows = LabelRows(Y, one_label=True)
    if len(rows.shape) != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"Y has shape {rows.shape}; it must be (n_samples, n_targets), with a target, or "
            "(n_samples,)."
        )
    return rows


def _finite(rows: LabelRows, names: list[str], what: str) -> NDArray[np.float32]:
    """Read targets as finite numbers or NaN, `(n_samples, n_targets)`."""
    with np.errstate(over="ignore"):
        Y = np.asarray(rows.block(slice(0, rows.shape[0])), np.float32)
    if np.isinf(Y).any():
        row, column = np.argwhere(np.isinf(Y))[0]
        name, value = names[column], rows.entry(row, column)
        if not isinstance(value, Real):
            raise ValueError(
                f"Target {name!r} of {what} is {str(value)!r} in row {row}; it must be a number, "
                "or NaN if it is unknown."
            )
        raise ValueError(
            f"Input {what} contains infinity or a value too large for dtype('float64'), in row "
            f"{row} for target {name!r}: {value}."
        )
    return Y.copy()
