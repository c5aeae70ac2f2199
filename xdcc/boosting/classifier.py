"""``MultiLabelXGBClassifier``: one booster whose trees predict all labels at once (ML-XGB).

The estimator checks its input, translates its arguments for ``xgboost.train`` with the
objective ``multilabel:logistic`` of the plugin, and predicts a probability per label. The
learning itself happens in the plugin (``plugins/multilabel``).
"""

import os
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from xdcc.base.domains import Switch
from xdcc.base.estimator import EvalSet, MultiLabelEstimator
from xdcc.base.fit_data import FitData, unknown_labels
from xdcc.base.folds import Folds, OutOfFold, ShouldEnd
from xdcc.base.importance import LabelImportances
from xdcc.base.labels import with_later_labels
from xdcc.base.output_form import LabelForm
from xdcc.base.plugin import require_plugin
from xdcc.base.side_by_side import side_by_side
from xdcc.base.stored import stored
from xdcc.boosting.importance import label_gains
from xdcc.boosting.out_of_fold import train_on_all_rows, train_out_of_fold
from xdcc.boosting.single_booster import SingleBooster
from xdcc.boosting.sketch_choice import AUTO, choose_sketch
from xdcc.prediction.builder import LayoutBuilder

OBJECTIVE = "multilabel:logistic"
"""The plugin's objective: cross entropy per label, predictions are probabilities."""

_BYTES_PER_LABEL = 32
"""Memory of a booster for a label of a row: the label, its gradient, and margins."""

_BYTES_PER_ENTRY = 12
"""Memory of a booster for an entry of X: its bin, in the forms that trees are grown on."""


@stored
class MultiLabelXGBClassifier(SingleBooster, LabelImportances, MultiLabelEstimator):
    """Boosted trees for many labels, each tree grown for all of them.

    Every leaf holds a value per label, and a split is scored over all labels by the split
    method (section 3.1 and Table 1 of "Learning Multi-label Classifiers with Extreme Dynamic
    Classifier Chains", the XDCC paper). The labels' losses are cross entropies (equation 6).

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    {rounds}
    {split_method}
    {sketches}
    soft_labels : bool, default=False
        Whether Y, and that of `eval_set`, may hold probabilities: opinions of several annotators,
        smoothed labels, or the predictions of another model. The loss of a label y is the cross
        entropy ``-y log p - (1 - y) log(1 - p)``; among metrics `logloss` supports it.
    {regularisation}
    {n_jobs}
    eval_metric : str or list of str, default=None
        Metrics that are evaluated on `eval_set` in every boosting round: `hamming_loss`,
        `subset_loss`, `example_f1`, `micro_f1`, `macro_f1`, or `logloss` (the default). Metrics of
        XGBoost that support label matrices, such as `auc` or `error@0.3`, are accepted too.
    early_stopping_rounds : int, default=None
        Stop when the last metric has not improved on the last pair of `eval_set` for this many
        boosting rounds; predictions then use the best one.
    callbacks : list of xgboost.callback.TrainingCallback, default=None
        Called by `fit` in every boosting round, as by `xgboost.train`: learning rates that change,
        checkpoints, the pruning of Optuna. They see values on `eval_set` as those of
        `validation_0` and so on. Folds that are trained together (`out_of_fold`) call none, and
        model files store none.
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}, default="gain"
        Type of `feature_importances_`, see
        :func:`xdcc.boosting.importance.column_importance`. Can be changed after `fit`.
    {sparse_zeros}
    {unknown_categories}
    verbose : int, default=0
        Whether to print the metrics on `eval_set` in every boosting round.
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    {trees}
    evals_result_ : dict
        Values of the metrics: ``{"validation_0": {"logloss": [...]}}``.
    {fitted}
    {categories}
    {sparse_X}

    Notes
    -----
    NaN in X is a missing value, and so is what a sparse X does not store, unless `sparse_zeros`
    says otherwise. Columns of pandas' type ``category`` are split by sets of categories; in
    prediction a category that did not occur in `fit` is missing. NaN in Y is a label that is not
    known. Y may be sparse, but XGBoost keeps labels, margins and gradients in dense matrices: 16
    bytes per entry.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, unknown=0.1, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=20, split_method="maxGain")
    >>> model.fit(data.X[:150], data.Y[:150]).predict(data.X[:2])
    array([[0, 1, 1],
           [1, 1, 1]])
    >>> xdcc.metrics.hamming_accuracy(data.Y[150:], model.predict(data.X[150:])) > 0.7
    True
    """

    _takes_entry_weights = True
    _domains = MappingProxyType({**SingleBooster._domains, "soft_labels": Switch()})
    _objectives = "multilabel:"
    _outputs_are = "labels"

    labels_per_tree: int | Literal["auto"] | None = None
    soft_labels: bool = False

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        eval_set: EvalSet | None = None,
        xgb_model: "MultiLabelXGBClassifier | xgb.Booster | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """Train the booster.

        Parameters
        ----------
        {X}
        {Y}
        {sample_weight}
        eval_set : sequence of pairs (X, Y), optional
            Data on which `eval_metric` is evaluated in every boosting round.
        xgb_model : MultiLabelXGBClassifier, xgboost.Booster or path-like, optional
            Continue from this model: `n_estimators` further boosting rounds follow its own. X and Y
            have to have its features and labels. Of a fitted estimator all that is known is kept:
            columns of a DataFrame Y are found by their names, categories and classes are those of
            its `fit`. Y may have further labels: they come after the others and start at their
            frequencies. A booster, or a file of `xgboost.Booster.save_model`, knows no names of
            labels: they have to come in the same order, without others. It is not changed.

        Returns
        -------
        self : MultiLabelXGBClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, the data are not as described, or they are
            not those of `xgb_model`.
        TypeError
            If `xgb_model` is not a model.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.
        """
        self._train(X, Y, sample_weight, eval_set, xgb_model)
        return self

    def _label_gains(self) -> NDArray[np.float64]:
        """Sum up how much the tests of each feature change the margins of each label."""
        return label_gains(self._booster_that_predicts(), self.n_features_in_, self.n_labels_)

    def out_of_fold(
        self,
        X: Any,
        Y: Any,
        folds: NDArray[np.intp],
        sample_weight: Any = None,
        *,
        patience: int = 25,
        should_end: ShouldEnd | None = None,
    ) -> OutOfFold:
        """Train a booster without each fold, and find the best number of boosting rounds.

        Parameters
        ----------
        {X}
        {Y}
        folds : int array of shape (n_samples,)
            Fold of each row, from 0; -1 for rows that are in all training parts, and in no fold.
        {sample_weight}
        patience : int, default=25
            Training ends when the log-loss of all rows, each predicted without its fold, has not
            fallen for this many rounds, or after `n_estimators` of them. After ``n >= 100``
            rounds it is computed again ``n // 50`` rounds later.
        should_end : callable, optional
            Called each time before the log-loss is computed, with the number of boosting rounds;
            training ends when it returns True.

        Returns
        -------
        OutOfFold
            Margins, probabilities and fitted estimators, all with the number of boosting rounds of
            the least log-loss. The estimator itself stays as it is.

        Raises
        ------
        ValueError
            As in `fit`.
        PluginMissingError
            As in `fit`.
        """
        self._native_booster_params()
        require_plugin(type(self).__name__)
        data = clone(self)._begin_fit(X, Y, sample_weight)
        checked = Folds.of(folds, len(data.Y))
        return self._out_of_fold(data, checked, patience=patience, should_end=should_end)

    def _out_of_fold(
        self,
        data: FitData,
        folds: Folds,
        *,
        patience: int = 25,
        should_end: ShouldEnd | None = None,
    ) -> OutOfFold:
        model = clone(self)
        model._begin_fit(data, data.Y)
        params = model._settled(model._native_booster_params(), data)
        if AUTO in (model.sketch_size, model.labels_per_tree):
            # The choice also holds for the folds' models and for the final one.
            found = {"sketch_size": model.sketch_size_, "labels_per_tree": model.labels_per_tree_}
            model.set_params(**found)
        with side_by_side(params.get("nthread")):
            return train_out_of_fold(model, data, params, folds, patience, should_end)

    def _settled_clone(self) -> Self:
        n_rounds = self.best_iteration_ + 1
        return clone(self).set_params(n_estimators=n_rounds, early_stopping_rounds=None)

    def _memory_of_folds(self, data: FitData, n_folds: int) -> float:
        n_rows, n_labels = data.Y.shape
        n_entries = data.X.nnz if sparse.issparse(data.X) else data.X.size
        return float(
            n_folds * (_BYTES_PER_LABEL * n_rows * n_labels + _BYTES_PER_ENTRY * n_entries)
        )

    def _fit_with_seeds(self, data: FitData, seeds: Sequence[int]) -> list[Self]:
        models = [clone(self).set_params(random_state=seed) for seed in seeds]
        for model in models:
            model._begin_fit(data, data.Y)
        params = [model._settled(model._native_booster_params(), data) for model in models]
        with side_by_side(params[0].get("nthread")):
            train_on_all_rows(models, data, params)
        return models

    def _continue_fit(self, earlier: Any, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        data = super()._continue_fit(earlier, X, Y, sample_weight)
        if self.n_labels_ > earlier.n_labels_:
            unknown = unknown_labels(data.Y, data.sample_weight)
            unknown[: earlier.n_labels_] = False  # these stay as they were
            if unknown.any():
                self._settle_unknown(data, unknown)
        return data

    def _form_after(self, earlier: Any, Y: Any) -> LabelForm:
        return with_later_labels(earlier._output_form, Y)

    @property
    def _n_outputs(self) -> int:
        return self.n_labels_

    @property
    def _output_names(self) -> NDArray[Any]:
        return self.label_names_

    def _of_objective(self, data: FitData) -> dict[str, Any]:
        return {"objective": OBJECTIVE, **({"soft_labels": True} if self.soft_labels else {})}

    def _examples_of_y(self) -> NDArray[np.float32]:
        return np.array([[0], [1]], np.float32).repeat(self.n_labels_, axis=1)

    def _sketch(
        self, params: dict[str, Any], data: FitData, matrix: xgb.DMatrix | None
    ) -> dict[str, int]:
        return choose_sketch(params, data, matrix)

    def _add_to(self, builder: LayoutBuilder) -> None:
        builder.add_booster(self._booster_that_predicts())
