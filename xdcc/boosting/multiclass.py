"""``MultiClassXGBClassifier``: one booster whose trees are grown for all classes at once."""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from xdcc.base.domains import Choice, DictOf, Either, Number
from xdcc.base.estimator import EvalSet
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.labels import check_given
from xdcc.base.learned import Learned
from xdcc.base.output_form import ClassForm
from xdcc.base.stored import stored
from xdcc.base.weights import check_weight
from xdcc.boosting.output_predictors import ClassPredictor
from xdcc.boosting.single_booster import VECTOR_LEAVES, SingleBooster
from xdcc.boosting.sketch_choice import choose_sketch


@stored
class MultiClassXGBClassifier(ClassifierMixin, SingleBooster):
    """Boosted trees for many classes, each tree grown for all of them.

    Every leaf holds a value per class, and a split is scored over all classes; the loss is the
    cross entropy of XGBoost's ``multi:softprob``. With ``sketch_size=0`` trees are those of
    XGBoost's own vector leaves (``multi_strategy="multi_output_tree"``).

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; ``"balanced"`` is inverse to their frequencies. They multiply the
        weights of the rows.
    {sketches}
    {rounds}
    {split_method}
    {regularisation}
    {n_jobs}
    eval_metric : str or list of str, default=None
        Metrics of XGBoost that are evaluated on `eval_set` in every boosting round, such as
        `mlogloss` (the default) or `merror`.
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
        Values of the metrics: ``{"validation_0": {"mlogloss": [...]}}``.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    {features}
    {categories}
    {sparse_X}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiClassXGBClassifier(n_estimators=20).fit(X, y)
    >>> model.predict_proba(X[:2]).shape, bool(model.score(X, y) > 0.95)
    ((2, 3), True)
    """

    _domains = MappingProxyType(
        {
            **SingleBooster._domains,
            "class_weight": Either(
                DictOf("weights at least 0 by class", Number(low=0)), Choice(("balanced",)), None
            ),
        }
    )
    _lacks = frozenset({"base_score", "scale_pos_weight", "label_weight"})
    _objectives = "multi:softprob"
    _outputs_are = "classes"

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    sketch_size: int | Literal["auto"] = "auto"
    outputs_per_tree: int | Literal["auto"] | None = None

    _output_form: ClassForm

    classes_ = Learned[NDArray[Any]]("_output_form", "classes")

    def __sklearn_tags__(self) -> Tags:
        """Tags: more than two classes."""
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None
        tags.classifier_tags.multi_class = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: EvalSet | None = None,
        xgb_model: "MultiClassXGBClassifier | xgb.Booster | str | os.PathLike[str] | None" = None,
    ) -> Self:
        """Train the booster.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Classes, two at least: numbers or text.
        {sample_weight}
        eval_set : sequence of pairs (X, y), optional
            Data on which `eval_metric` is evaluated in every boosting round.
        xgb_model : MultiClassXGBClassifier, xgboost.Booster or path-like, optional
            Continue from this model: `n_estimators` further boosting rounds follow its own.

        Returns
        -------
        self : MultiClassXGBClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, the data are not as described or not those of
            `xgb_model`, or there is one class only.
        TypeError
            If `xgb_model` is not a model.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.
        """
        if self.class_weight is not None:
            self._check_params()
            check_given(y, type(self).__name__)
            y = _column(y, "y")
            given = check_weight(sample_weight, len(y))
            by_class = compute_sample_weight(self.class_weight, y)
            sample_weight = by_class if given is None else by_class * given
        self._train(X, y, sample_weight, eval_set, xgb_model)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Probability of every class.

        {takes_X}

        Returns
        -------
        float array of shape (n_samples, n_classes)
            In the order of `classes_`.

        {raises_in_predict}
        """
        return self._proba(self._read_X(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        {takes_X}

        Returns
        -------
        array of shape (n_samples,)
            Classes.

        {raises_in_predict}
        """
        labels = self._labels(self._read_X(X))  # which raises NotFittedError before `fit`
        return self._output_form.labels(labels)

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    @property
    def _output_names(self) -> NDArray[Any]:
        return self.classes_

    def _make_predictor(self) -> ClassPredictor:
        return ClassPredictor([self._layout()])

    def _of_objective(self, data: FitData) -> dict[str, Any]:
        return {"objective": "multi:softprob", "num_class": len(self.classes_), **VECTOR_LEAVES}

    def _examples_of_y(self) -> NDArray[np.float32]:
        return np.arange(len(self.classes_), dtype=np.float32)

    def _sketch(
        self, params: dict[str, Any], data: FitData, matrix: xgb.DMatrix | None
    ) -> dict[str, int]:
        def loss_on(rows: FitData) -> Callable[[NDArray[np.float32]], float]:
            at = np.arange(len(rows.Y)), rows.Y[:, 0].astype(np.intp)

            def loss(proba: NDArray[np.float32]) -> float:
                likely = np.maximum(proba[at], np.finfo(np.float32).tiny)
                return -float((rows.weight * np.log(likely)).sum())

            return loss

        return choose_sketch(params, data, loss_on=loss_on, n_outputs=len(self.classes_))

    def _check_Y(self, Y: Any) -> FitData:
        y = _column(Y, "y")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            [only] = classes.tolist()
            raise ValueError(
                f"The number of classes has to be greater than one; got one class, {only!r}."
            )
        return FitData(None, _codes(codes), None, output_form=ClassForm(classes))

    def _check_Y_of(
        self, earlier: Any, X: Features, Y: Any, what: str = "y"
    ) -> NDArray[np.float32]:
        y, classes = _column(Y, what), earlier.classes_
        unknown = np.setdiff1d(y, classes).tolist()
        if unknown:
            shown = ", ".join(map(repr, classes[:5].tolist())) + (
                ", ..." if classes[5:].size else ""
            )
            raise ValueError(
                f"{what} holds the class {unknown[0]!r}, but in fit the classes were {shown}."
            )
        check_consistent_length(X, y)
        return _codes(np.searchsorted(classes, y))


def _column(y: Any, what: str) -> NDArray[Any]:
    column = column_or_1d(y, warn=True)
    assert_all_finite(column, input_name=what)
    return column


def _codes(codes: NDArray[np.intp]) -> NDArray[np.float32]:
    """Make a column of positions among the classes."""
    return codes.astype(np.float32)[:, np.newaxis]
