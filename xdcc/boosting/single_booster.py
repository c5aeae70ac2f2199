"""``SingleBooster``: an estimator on one booster whose trees predict all outputs at once.

It trains, flattens and reads the booster. What the outputs are (labels, targets, or classes) and
which loss they have is up to its subclasses.
"""

from abc import abstractmethod
from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.base.booster_estimator import TreeBoosterEstimator
from xdcc.base.booster_parameters import settle_on_data
from xdcc.base.contributions import Contributions
from xdcc.base.domains import Choice, Either, Number
from xdcc.base.estimator import EvalSet
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.plugin import require_plugin
from xdcc.base.state_checks import check_boosters, require
from xdcc.base.stored_types import OPTIONAL
from xdcc.base.threads import n_threads
from xdcc.boosting.earlier_model import (
    check_belongs,
    check_objectives,
    earlier_booster,
    n_outputs,
)
from xdcc.boosting.eval_metric import MetricNames, check_eval_metric, metric_names
from xdcc.boosting.importance import IMPORTANCE_TYPES, ImportanceType, column_importance, nameless
from xdcc.boosting.later_labels import with_later_labels
from xdcc.boosting.out_of_fold import binned_matrices
from xdcc.prediction.builder import LayoutBuilder
from xdcc.prediction.layout import Layout
from xdcc.prediction.predictors import BoosterPredictor, PredictsByKernel

VECTOR_LEAVES = MappingProxyType(
    {
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
        "updater": "grow_multilabel_hist",
    }
)
"""Parameters by which XGBoost's own objectives get the trees of the plugin."""


_ENTRIES = {
    "rounds": """
        n_estimators : int, default=100
            Number of boosting rounds.
        max_depth : int, default=6
            Largest depth of a tree; 0 means no limit.
        learning_rate : float, default=0.3
            Factor by which a tree's leaf values are shrunk.
        """,
    "regularisation": """
        reg_lambda : float, default=1.0
            L2 regularisation.
        max_bin : int, default=256
            Largest number of bins per feature.
        random_state : int, RandomState instance or None, default=None
            Seed of row and column samples and of sketches; None is the seed 0.
        """,
    "stopping": """
        early_stopping_rounds : int, default=None
            Stop when the last metric has not improved on the last pair of `eval_set` for this many
            boosting rounds; predictions then use the best one.
        callbacks : list of xgboost.callback.TrainingCallback, default=None
            Called by `fit` in every boosting round, as by `xgboost.train`.
        importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}, default="gain"
            Type of `feature_importances_`.
        verbose : int, default=0
            Whether to print the metrics on `eval_set` in every boosting round.
        """,
    "trees": """
        booster_ : xgboost.Booster
            The trees. :func:`xdcc.serving.stock_booster` makes a booster for stock XGBoost of it.
        best_iteration_ : int
            Index of the last boosting round that predictions use.
        sketch_size_, labels_per_tree_ : int
            Settings with which the trees were grown.
        """,
    "features": """
        n_features_in_ : int
            Number of features.
        feature_names_in_ : array of str of shape (n_features,)
            Names of the features, if X was a DataFrame with names.
        """,
}
"""What several of these estimators have, in the same words."""


def _entries_of(outputs: str, sketch_size: int | str) -> dict[str, str]:
    """Return `_ENTRIES`, and the parameters about outputs of this name; `sketch_size`: default."""
    per_tree = "labels_per_tree" if outputs == "labels" else "outputs_per_tree"
    default = f'"{sketch_size}"' if isinstance(sketch_size, str) else sketch_size
    split_method = f"""
        split_method : {{"sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"}} or \
int, default="sumGain"
            How a split is scored over the {outputs}; 1 to 6 are the numbers of the authors' code.
        """
    sketches = f"""
        sketch_size : int or "auto", default={default}
            Number of sketch dimensions (random projections of the {outputs}' gradients) in which a
            tree's splits are searched; its leaf values come from all {outputs}. 0: the {outputs}
            themselves. ``"auto"`` is 1.
        sketch_method : {{"projection", "sampling", "top"}}, default="projection"
            Project the gradients of all {outputs} at random, draw {outputs} in proportion to their
            gradients, or take those with the largest.
        {per_tree} : int, "auto" or None, default=None
            Largest number of {outputs} of a tree: every boosting round divides the {outputs} into
            random groups and grows a tree for each group. 0: all. ``"auto"``: what predicts
            held-out rows of the training data best, see
            :func:`xdcc.boosting.sketch_choice.choose_sketch`. None: ``"auto"`` if `sketch_size`
            is, else all.
        """
    return _ENTRIES | {"sketches": sketches, "split_method": split_method}


class Callbacks:
    """Callbacks of XGBoost, or None."""

    def accepts(self, value: object) -> bool:
        """Whether `value` is a sequence of callbacks, or None."""
        return value is None or (
            isinstance(value, Sequence)
            and all(isinstance(entry, xgb.callback.TrainingCallback) for entry in value)
        )

    def __str__(self) -> str:
        """Describe them."""
        return "a list of xgboost.callback.TrainingCallback, or None"


class SingleBooster(PredictsByKernel[BoosterPredictor], TreeBoosterEstimator):
    """An estimator on one booster.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> isinstance(model, SingleBooster), model.get_booster().num_boosted_rounds()
    (True, 5)
    """

    _takes_categories = True
    _domains = MappingProxyType(
        {
            **TreeBoosterEstimator._domains,
            "early_stopping_rounds": Either(Number(low=1, whole=True), None),
            "eval_metric": MetricNames(),
            "callbacks": Callbacks(),
            "importance_type": Choice(IMPORTANCE_TYPES),
        }
    )
    _objectives: ClassVar[str]
    """Prefix of the objectives of models that training can continue from."""
    _outputs_are: ClassVar[str]
    """The name of the outputs in messages."""

    sketch_size: int | Literal["auto"] = 0
    sketch_method: str = "projection"
    eval_metric: str | list[str] | None = None
    early_stopping_rounds: int | None = None
    callbacks: Annotated[Sequence[xgb.callback.TrainingCallback] | None, OPTIONAL] = None
    importance_type: ImportanceType = "gain"

    booster_: xgb.Booster
    best_iteration_: int
    evals_result_: dict[str, dict[str, list[float]]]
    sketch_size_: int
    labels_per_tree_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Describe the parameters about outputs by their name."""
        cls._entries = MappingProxyType(_entries_of(cls._outputs_are, cls.sketch_size))
        super().__init_subclass__(**kwargs)

    def _check_state(self) -> None:
        super()._check_state()
        require(len(self._output_names) == self._n_outputs > 0, "the names of outputs")
        of_classes = self._outputs_are == "classes"
        n_outputs = self._n_outputs
        check_boosters([self.booster_], self.n_features_in_, n_outputs, of_classes=of_classes)
        n_rounds = self.booster_.num_boosted_rounds()
        require(0 <= self.best_iteration_ < n_rounds, "best_iteration_")

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of values in a leaf, once the data are known."""

    @property
    @abstractmethod
    def _output_names(self) -> NDArray[Any]:
        """Names of these values."""

    @abstractmethod
    def _of_objective(self, data: FitData) -> dict[str, Any]:
        """Parameters that say what is learned."""

    @abstractmethod
    def _examples_of_y(self) -> NDArray[np.float32]:
        """Make a valid Y of a few rows, on which metrics can be tried."""

    @abstractmethod
    def _sketch(
        self, params: dict[str, Any], data: FitData, matrix: xgb.DMatrix | None
    ) -> dict[str, int]:
        """Choose the settings of sketches that are ``"auto"``."""

    def _train(
        self, X: Any, Y: Any, sample_weight: Any, eval_set: EvalSet | None, xgb_model: Any
    ) -> None:
        """Train the booster, on new data or from an earlier model."""
        params = self._native_booster_params()
        self._check_params()
        if self.early_stopping_rounds is not None and not eval_set:
            raise ValueError("early_stopping_rounds needs an eval_set to watch.")
        require_plugin(type(self).__name__)
        start: xgb.Booster | None = None
        if isinstance(xgb_model, type(self)):
            check_is_fitted(xgb_model)
            start = xgb_model._booster_that_predicts()
            data = self._continue_fit(xgb_model, X, Y, sample_weight)
            check_objectives(start, self._objectives, type(self).__name__)
        else:
            data = self._begin_fit(X, Y, sample_weight)
            if xgb_model is not None:
                start = earlier_booster(xgb_model, self._objectives, type(self).__name__)
                check_belongs(start, self)
        metrics = metric_names(self.eval_metric)
        if data.bins is None:
            train = data.matrix(params.get("nthread"))
        else:
            [train] = binned_matrices(data, params, 1)
        self.evals_result_ = {}
        objective = self._of_objective(data)
        # XGBoost warns of the updater in `VECTOR_LEAVES`.
        verbosity = 0 if "updater" in objective else xgb.get_config()["verbosity"]
        with xgb.config_context(verbosity=params.get("verbosity", verbosity)):
            check_eval_metric(metrics, objective, self._examples_of_y(), is_measured=bool(eval_set))
            params = self._settled(params, data, train)
            if start is not None and n_outputs(start) < self._n_outputs:
                start = with_later_labels(start, data, params)
            if metrics:
                params["eval_metric"] = metrics
            self.booster_ = self._boosted(
                params,
                train,
                data,
                num_boost_round=self.n_estimators,
                evals=self._eval_matrices(eval_set),
                evals_result=self.evals_result_,
                early_stopping_rounds=self.early_stopping_rounds,
                verbose_eval=bool(self.verbose),
                callbacks=None if self.callbacks is None else list(self.callbacks),
                xgb_model=None if start is None else nameless(start),
            )
        stops_early = self.early_stopping_rounds is not None or any(
            isinstance(callback, xgb.callback.EarlyStopping) for callback in self.callbacks or ()
        )
        self.best_iteration_ = (
            self.booster_.best_iteration if stops_early else self.booster_.num_boosted_rounds() - 1
        )
        if hasattr(self, "feature_names_in_"):
            # Given to the booster, not to the matrix, which refuses names with "[", "]" or "<".
            self.booster_.feature_names = list(self.feature_names_in_)

    def _boosted(
        self, params: dict[str, Any], train: xgb.DMatrix, data: FitData, **arguments: Any
    ) -> xgb.Booster:
        """Train by `xgboost.train` with these `arguments`, on data and the matrix of them."""
        return xgb.train(params, train, **arguments)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the trees that predict use each feature, by `importance_type`.

        Returns
        -------
        float array of shape (n_features,)
            Sums to 1; zeros if there is no split at all.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `importance_type` is unknown.
        """
        check_is_fitted(self)
        self._check_params()
        trees = self._booster_that_predicts()
        found = column_importance([trees], self.n_features_in_, self.importance_type)
        importance = np.nan_to_num(found)
        total = importance.sum()
        return importance / total if total > 0 else importance

    def get_booster(self) -> xgb.Booster:
        """Return the trees, by the name that XGBoost's own estimators use.

        Returns
        -------
        xgboost.Booster
            As in `booster_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        return self.booster_

    def _settled(
        self, params: dict[str, Any], data: FitData, matrix: xgb.DMatrix | None = None
    ) -> dict[str, Any]:
        """Make the booster's parameters complete when the data are known, in a matrix or not."""
        params = settle_on_data(params, self) | self._of_objective(data)
        params |= self._sketch(params, data, matrix)
        self.sketch_size_ = int(params.get("sketch_size", 0))
        self.labels_per_tree_ = int(params.get("labels_per_tree", 0))
        return params

    def _booster_that_predicts(self) -> xgb.Booster:
        return self.booster_[: self.best_iteration_ + 1]

    def _eval_matrices(self, eval_set: EvalSet | None) -> list[tuple[xgb.DMatrix, str]]:
        types = self._input_form.feature_types
        return [
            (xgb.DMatrix(X, label=Y, feature_types=types), f"validation_{number}")
            for number, (X, Y) in enumerate(self._check_eval_set(eval_set))
        ]

    def _contributions(self, X: Features) -> Contributions:
        types = self._input_form.feature_types
        matrix = xgb.DMatrix(X, feature_types=types, nthread=n_threads(self.n_jobs))
        found = (
            self._booster_that_predicts()
            .predict(matrix, pred_contribs=True, validate_features=False, strict_shape=True)
            .astype(np.float64)
        )
        margins = self._margins(X)
        return Contributions(found[:, :, :-1], found[:, :, -1]).rounded_to(margins)

    def _predicts_from(self) -> tuple[Any, ...]:
        return self.booster_, self.booster_.num_boosted_rounds(), self.best_iteration_

    def _make_predictor(self) -> BoosterPredictor:
        return BoosterPredictor([self._layout()])

    def _layout(self) -> Layout:
        builder = LayoutBuilder(self.n_features_in_, self._n_outputs)
        builder.add_boosters([self._booster_that_predicts()])
        return builder.build(None)
