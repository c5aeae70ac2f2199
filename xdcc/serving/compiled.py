"""``CompiledModel``: a fitted model that only predicts, from flat arrays in a kernel of its own."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import Member
from xdcc.base.categories import Categories
from xdcc.base.documentation import documented
from xdcc.base.domains import Threads, check_domain
from xdcc.base.features import Features, check_features
from xdcc.base.threads import n_threads
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.deciders import Decider
from xdcc.distillation import DistilledClassifier
from xdcc.serving.compiled_estimator import SERVED, EstimatorPredictor, shallow_copy
from xdcc.serving.compiled_frame import FrameReader
from xdcc.serving.compiled_layout import ChainPart, Layout, LayoutBuilder, affine
from xdcc.serving.compiled_parts import (
    BoosterPredictor,
    ChainMargins,
    ChainPredictor,
    CompiledBooster,
    CompiledJointLabelset,
    CompiledParts,
    DecisionPredictor,
    InputForm,
    MixtureMargins,
    OrderFreePredictor,
)

_SERVED = (
    MultiLabelXGBClassifier,
    TunedDecisionClassifierCV,
    MultiLabelClassifier,
    DistilledClassifier,
    DynamicChainClassifier,
    OrderFreeChainClassifier,
    *SERVED,
)

_FEW_ROWS = 64
"""So many rows are predicted by one thread."""


def _mixture(model: MultiLabelClassifier, categories: Categories) -> MixtureMargins:
    n_features, n_labels = model.n_features_in_, model.n_labels_

    def layout(
        n_columns: int, members: Sequence[Member], shares: Sequence[float], own: Categories
    ) -> Layout:
        builder = LayoutBuilder(n_columns, n_labels, own)
        for member, share in zip(members, shares, strict=True):
            builder.add_member(member.estimators, share, *affine(member.calibration))
        return builder.build(model.calibration_)

    members, shares = model.members_, [member.share for member in model.members_]
    levels = getattr(model, "stacked_", [])
    if not levels:
        return MixtureMargins([layout(n_features, members, shares, categories)], [], 0.0)
    layouts = [layout(n_features, [member], [1.0], categories) for member in members]
    layouts.append(layout(len(members) * n_labels, levels, [1.0], {}))
    return MixtureMargins(layouts, shares, levels[0].share)


def _mean(model: Any, categories: Categories) -> MixtureMargins:
    """Compile the calibrated mean of `estimators_`."""
    n_labels = model.n_labels_
    builder = LayoutBuilder(model.n_features_in_, n_labels, categories)
    builder.add_member(model.estimators_, 1.0, np.ones(n_labels), np.zeros(n_labels))
    return MixtureMargins([builder.build(model.calibration_)], [], 0.0)


def _chain(model: DynamicChainClassifier, categories: Categories) -> Layout:
    n_outputs = model.n_labels_ + model.end_label_
    builder = LayoutBuilder(model.n_features_in_ + n_outputs, n_outputs, categories)
    for boosters in model.boosters_:
        builder.add_boosters(boosters)
    part = ChainPart(model.rule_, model.end_label_, model.prediction, model.cumulation)
    return builder.build(None, chain=part)


def _label_booster(booster: xgb.Booster | None, n_labels: int) -> CompiledBooster | None:
    """Compile the booster of an order-free chain of labels that vary."""
    if booster is None:
        return None
    builder = LayoutBuilder(2 * n_labels, n_labels, {})
    builder.add_boosters([booster])
    return CompiledBooster([builder.build(None, starts_from_features=True)])


def _order_free(model: OrderFreeChainClassifier, categories: Categories) -> OrderFreePredictor:
    return OrderFreePredictor(
        _mean(model, categories),
        _label_booster(model.booster_, int(model.calibration_.constant.varied.sum())),
        model.calibration_,
        {name: getattr(model, name) for name in ("prediction", "n_beams", "n_draws")},
        model._seed,
        getattr(model, "labelset_score_", None),
    )


def _decision(
    model: TunedDecisionClassifierCV | MultiLabelClassifier | DistilledClassifier,
    categories: Categories,
) -> DecisionPredictor:
    rule: Any = model.rule_
    if isinstance(rule, JointLabelset):
        booster = _label_booster(rule.booster, int(rule.constant.varied.sum()))
        assert booster is not None
        rule = CompiledJointLabelset(booster, rule.constant, rule.known, rule.prior)
    source: MixtureMargins | ChainMargins
    if isinstance(model, MultiLabelClassifier):
        source = _mixture(model, categories)
    elif all(type(each) is DynamicChainClassifier for each in model.estimators_):
        chains = [_chain(each, categories) for each in model.estimators_]
        source = ChainMargins(chains, model.calibration_)
    else:
        source = _mean(model, categories)
    return DecisionPredictor(source, rule, model.calibration_.constant)


def _compiled(model: Any) -> CompiledParts:
    is_decider = isinstance(model, Decider)
    check_is_fitted(model, model._fitted_attribute if is_decider else None)
    first = model._predictors()[0] if is_decider else model
    categories = getattr(first, "categories_", {})
    predictor: Any
    if isinstance(model, MultiLabelXGBClassifier):
        builder = LayoutBuilder(model.n_features_in_, model.n_labels_, categories)
        builder.add_boosters([model._booster_that_predicts()])
        predictor = BoosterPredictor([builder.build(None)])
    elif isinstance(model, DynamicChainClassifier):
        predictor = ChainPredictor([_chain(model, categories)])
    elif isinstance(model, OrderFreeChainClassifier):
        predictor = _order_free(model, categories)
    elif isinstance(model, SERVED):
        predictor = EstimatorPredictor(shallow_copy(model))
    else:
        predictor = _decision(model, categories)
    return CompiledParts(InputForm.of(first), predictor)


@documented
class CompiledModel:
    """A fitted model for services: the same predictions in microseconds.

    The model is copied into flat arrays that a kernel reads. A row of a NumPy array goes from
    there to its margins without Python.

    Parameters
    ----------
    model : estimator
        A fitted `MultiLabelXGBClassifier`, `DynamicChainClassifier`, `MultiLabelClassifier`,
        `DistilledClassifier`, `RandomDecisionTreeClassifier`, `BoomerClassifier`,
        `LaCovaCClassifier`, `LaCovaCForestClassifier`, `TunedDecisionClassifierCV` or
        `OrderFreeChainClassifier`. The
        last two have to be built on `MultiLabelXGBClassifier`, `SketchedExtraTreesClassifier` or
        `LogisticLabels`, or `TunedDecisionClassifierCV` on a `DynamicChainClassifier`. The model
        is not changed, and later changes to it have no effect.
    n_jobs : int or None, default=None
        Number of threads for batches, as in scikit-learn; None is all CPUs. It can be changed. 64
        rows and fewer are predicted by one thread.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    n_labels_ : int
        Number of labels.

    Raises
    ------
    TypeError
        If the model has another type, or consists of others.
    NotFittedError
        If it is not fitted.

    Notes
    -----
    Margins of boosters are added up in XGBoost's order, so they are equal bit for bit, and so are
    probabilities, chains, and mixtures of boosters only. Margins with forests or linear models
    differ by at most 1e-6. Decision rules are those of the model.

    X is checked as the model checks it. An array of float32 or float64, in any order, takes the
    fast path, and so does a CSR matrix of float32 whose rows are sorted; columns are taken as they
    are, without a warning if the model knows names of features. Objects can be pickled and used by
    several threads at the same time.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> compiled = CompiledModel(model)
    >>> np.array_equal(compiled.predict_proba(data.X), model.predict_proba(data.X))
    True
    """

    def __init__(self, model: Any, *, n_jobs: int | None = None) -> None:
        if type(model) not in _SERVED:
            raise TypeError(
                f"CompiledModel takes a fitted {', '.join(kind.__name__ for kind in _SERVED[:-1])} "
                f"or {_SERVED[-1].__name__}, not "
                f"{type(model).__module__}.{type(model).__name__}."
            )
        check_domain("n_jobs", n_jobs, Threads())
        self._begin(_compiled(model), n_jobs)

    def _begin(self, parts: CompiledParts, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._parts = parts
        self._predictor = parts.predictor
        self._checker = parts.input.checker()
        meaning, is_plain = self._checker._sparse_zeros(), not hasattr(self._checker, "categories_")
        fitted_on_sparse = meaning == "missing" and self._checker.sparse_X_
        self._takes_arrays = is_plain and not fitted_on_sparse
        self._frames = None if fitted_on_sparse else FrameReader.of(self._checker)
        self._takes_csr = is_plain and (meaning is None or fitted_on_sparse)
        self.n_features_in_: int = self._checker.n_features_in_
        self.n_labels_: int = self._checker.n_labels_

    @classmethod
    def _of_parts(cls, parts: CompiledParts, n_jobs: int | None) -> Self:
        """Make the model that a file stores."""
        model = cls.__new__(cls)
        model._begin(parts, n_jobs)
        return model

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Log-odds of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            In single precision for a `MultiLabelXGBClassifier`. Of a chain, random decision trees
            and LaCovaC trees that of probabilities, clipped to 1e-6. Of a `BoomerClassifier` the
            scores.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        margins = self._predictor.margins(self._outputs(X))
        return margins if self._checker.classes_.ndim == 2 else margins[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels) or (n_samples, n_classes)
            As from the model.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        return self._checker._proba_in_form_of_y(self._predictor.proba(self._outputs(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, by the decision rule of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones; classes, if Y had one dimension.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        labels = self._predictor.labels(self._outputs(X))
        return self._checker._labels_in_form_of_y(labels)

    def _proba(self, X: Features) -> NDArray[np.floating]:
        """Predict probabilities for features that the model's `_check_X` has checked."""
        outputs = self._predictor.outputs(X, self._threads(X))
        assert outputs is not None
        return self._predictor.proba(outputs)

    def _outputs(self, X: Any) -> NDArray[np.floating]:
        if self._frames is not None and type(X) is pd.DataFrame:
            read = self._frames.read(X)
            found = None if read is None else self._predictor.outputs(read, self._threads(read))
            if found is not None:
                return found
        is_array = type(X) is np.ndarray
        if self._takes_arrays if is_array else self._takes_csr and _is_single_csr(X):
            found = self._predictor.outputs(X, self._threads(X))
            if found is not None:
                return found
        checked = check_features(self._checker, X)
        found = self._predictor.outputs(checked, self._threads(checked))
        assert found is not None
        return found

    def _threads(self, X: Any) -> int:
        return n_threads(self.n_jobs) if X.ndim == 2 and X.shape[0] > _FEW_ROWS else 1


def _is_single_csr(X: Any) -> bool:
    """Tell whether X is a CSR matrix of the types that kernels read."""
    return (
        isinstance(X, sparse.csr_matrix | sparse.csr_array)
        and X.ndim == 2
        and X.data.dtype == np.float32
        and X.indices.dtype == np.int32
    )
