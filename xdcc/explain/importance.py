"""Importance of features and propagated labels: by splits and by SHAP values.

:func:`feature_importance` is XGBoost's importance, for all boosters of a round together.
:func:`shap_values` computes the contribution of each feature and propagated label to a prediction.
The values of a label sum to its margin, the log-odds of its probability. Boosters, forests, linear
models and what is built on them explain themselves (`_contributions`). Of a chain, XGBoost explains
the boosters of each round. In a round with several boosters, probabilities are averaged, which is
not additive; the SHAP values are those of the mean margin.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.domains import Choice, Number, check_domain
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.threads import n_threads
from xdcc.boosting.importance import IMPORTANCE_TYPES, ImportanceType, column_importance
from xdcc.boosting.single_booster import SingleBooster
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.decision.deciders import RuleClassifier
from xdcc.explain.walks import (
    Model,
    Round,
    Walk,
    documented_explanation,
    explained_names,
    feature_names,
    round_matrix,
    walk_of,
)


@dataclass(frozen=True)
class ShapValues:
    """SHAP values of a model, in log-odds.

    Attributes
    ----------
    values : float32 array of shape (n_samples, n_labels, n_features + n_propagated + 1)
        For each row and predicted label: the contribution of each feature of X, of each propagated
        label (n_propagated is n_labels in a chain, 0 in other models), and the bias, the margin
        if nothing is known of the row. An undecided label can have a contribution, too, as being
        undecided is information.
    feature_names : list of str
        Names of the features.
    label_names : list of str
        Names of the predicted labels.
    round : int or None
        The explained round, from 1; None if each label is explained by the round that decided it.
    propagated_names : list of str
        Names of the propagated labels, none unless the model is a chain.

    Examples
    --------
    >>> values = ShapValues(
    ...     values=np.array([[[0.5, 0.0, -1.0]]], dtype=np.float32),
    ...     feature_names=["x0"],
    ...     label_names=["y0"],
    ...     round=1,
    ... )
    >>> values.values.sum(axis=2)  # margins
    array([[-0.5]], dtype=float32)
    """

    values: NDArray[np.float32]
    feature_names: list[str]
    label_names: list[str]
    round: int | None
    propagated_names: list[str] = field(default_factory=list)

    @property
    def of_features(self) -> NDArray[np.float32]:
        """Contributions of the features of X, (n_samples, n_labels, n_features)."""
        return self.values[:, :, : len(self.feature_names)]

    @property
    def of_labels(self) -> NDArray[np.float32]:
        """Contributions of the propagated labels, (n_samples, n_labels, n_propagated)."""
        return self.values[:, :, len(self.feature_names) : -1]

    def of_label(self, name: str) -> "ShapValues":
        """Return the values of one predicted label; a ValueError says if there is none.

        Examples
        --------
        >>> values = ShapValues(np.array([[[0.5, -1.0], [0.0, 2.0]]]), ["x0"], ["y0", "y1"], 1)
        >>> values.of_label("y1").values
        array([[[0., 2.]]])
        """
        check_domain("label", name, Choice(tuple(self.label_names)))
        at = self.label_names.index(name)
        return replace(self, values=self.values[:, [at]], label_names=[name])

    @property
    def bias(self) -> NDArray[np.float32]:
        """The margin if nothing is known of the row, (n_samples, n_labels)."""
        return self.values[:, :, -1]

    def explanation(self, X: Any = None) -> Any:
        """Convert to an `Explanation` of the package shap, for its plots.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), optional
            The explained rows, whose values the plots show. Without X, plots show no values.

        Returns
        -------
        shap.Explanation
            With `values` of shape (n_samples, n_features + n_propagated, n_labels), as shap orders
            them, `base_values` (n_samples, n_labels), names of features and labels, and the `data`.
            Values of propagated labels are NaN there, because they differ between chain steps. Its
            item ``[:, :, j]`` explains label `j`.

        Raises
        ------
        ImportError
            If shap cannot be imported.
        ValueError
            If X has another number of rows or features.

        Examples
        --------
        >>> values = ShapValues(np.array([[[0.5, -1.0]]]), ["x0"], ["y0"], 1)
        >>> values.explanation([[3.0]]).values.shape  # doctest: +SKIP
        (1, 1, 1)
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError(
                "ShapValues.explanation needs the package shap, which cannot be imported "
                f"({error}). Install it with: pip install shap"
            ) from error
        names = [*self.feature_names, *self.propagated_names]
        data = None
        if X is not None:
            given = X.toarray() if sparse.issparse(X) else np.asarray(X)
            expected = len(self.values), len(self.feature_names)
            if given.shape != expected:
                raise ValueError(f"X has the shape {given.shape}, expected {expected}.")
            of_labels = np.full((len(given), len(self.propagated_names)), np.nan)
            data = np.concatenate((given, of_labels), axis=1)
        return shap.Explanation(
            values=np.ascontiguousarray(self.values[:, :, :-1].transpose(0, 2, 1)),
            base_values=self.bias,
            data=data,
            feature_names=names,
            output_names=self.label_names,
        )


@documented_explanation
def shap_values(
    model: MultiLabelEstimator, X: Any, round_: int | None = None, *, label: str | None = None
) -> ShapValues:
    """Explain the predictions of a model by SHAP values.

    The computation needs memory for n_samples * n_labels * (n_features + n_propagated + 1) numbers,
    and much more time than prediction.

    Parameters
    ----------
    model : chain or other classifier
        A fitted DynamicChainClassifier, OrderFreeChainClassifier, MultiLabelXGBClassifier,
        SketchedExtraTreesClassifier or LogisticLabels; or a MultiLabelClassifier or
        TunedDecisionClassifierCV, all members of which are of the last three kinds.
    {rows}
    round_ : int, optional
        The round of a chain to explain, from 1. By default, each label of a row is explained by the
        round that propagated it, or by the last round of the row if it was not propagated.
    label : str, optional
        Name of a label: the values of this label only. By default, those of all labels.

    Returns
    -------
    ShapValues
        The sum over the last axis is the margin of the model, its log-odds before the decision
        rule; of a chain, the (mean) margin of the boosters of the round. Labels that were constant
        in `fit` are left out if the model treats them by itself, and so is an end label. Its
        method `explanation` makes an `Explanation` of the package shap.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model, or one of its members, cannot be explained; the message names it.
    ValueError
        If there is no such round or label, or X is not as described or has a different number of
        features than in `fit`.

    Notes
    -----
    Label features of a chain are the values that it propagated before the round; their own
    dependence on X is not attributed to features.

    Trees, of boosters and forests, have path-dependent values: a feature that is not given takes
    both branches of a test, weighted by the training rows. Margins of a forest are log-odds of a
    mean of trees: the difference from the log-odds of the expected mean is divided in proportion to
    the values of the mean (:mod:`xdcc.forest.contributions`). A linear model has the values
    ``w * (x - mean)``, with the means of the training rows, after imputation, encoding and scaling;
    the length of a text is not attributed to words. Calibration and mixtures are linear. A second
    level of a mixture has values averaged over 32 orders of the features
    (:mod:`xdcc.automatic.contributions`), which takes about as long as 32 * n_features predictions
    of it for each row.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_features=4, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> shap_values(chain.fit(data.X, data.Y), data.X).values.shape
    (100, 3, 8)
    """
    is_chain = isinstance(model, DynamicChainClassifier | OrderFreeChainClassifier)
    values = _of_chain(model, X, round_) if is_chain else _of_additive(model, X, round_)
    return values if label is None else values.of_label(label)


def _of_chain(model: Any, X: Any, round_: int | None) -> ShapValues:
    """Explain a chain, round by round."""
    walk = walk_of(model)
    if round_ is not None:
        check_domain("round_", round_, Number(low=1, high=walk.n_rounds, whole=True))
    for here in walk.rounds(X):
        if round_ is None:
            found = _of_round(here, walk, model.n_jobs)
            if here.number == 1:
                values = np.zeros_like(found)
            values[here.open] = found[here.open]
        elif round_ == here.number:
            values = _of_round(here, walk, model.n_jobs)
            break
    return ShapValues(values, walk.feature_names, walk.label_names, round_, walk.propagated_names)


def _of_additive(model: Any, X: Any, round_: int | None) -> ShapValues:
    """Explain a model without rounds, which has margins that are sums over features."""
    if not isinstance(model, MultiLabelEstimator | SingleBooster):
        raise TypeError(f"shap_values explains models of xdcc, not {type(model).__name__}.")
    features = model._check_X(X)
    if round_ is not None:
        check_domain("round_", round_, Number(low=1, high=1, whole=True))
    of_outputs = model._output_names if isinstance(model, SingleBooster) else model.label_names_
    labels = np.arange(len(of_outputs))
    if isinstance(model, RuleClassifier):
        labels = np.flatnonzero(model.calibration_.constant.varied)
    names = explained_names(of_outputs, labels)
    found = model._contributions(features)
    values = np.concatenate((found.values, found.bias[:, :, np.newaxis]), axis=2)
    return ShapValues(values[:, labels].astype(np.float32), feature_names(model), names, round_)


def _of_round(round_: Round, walk: Walk, n_jobs: int | None) -> NDArray[np.float32]:
    """Compute SHAP values (n_samples, n_labels, n_columns) without those of an end label."""
    n_before_bias = len(walk.feature_names) + len(walk.propagated_names)
    values = np.zeros((*round_.before.shape, n_before_bias + 1), dtype=np.float32)
    if round_.start is not None:
        values[:, :, -1] = round_.start
    if not round_.boosters:
        return values
    matrix = round_matrix(round_, n_threads(n_jobs))
    # The column of an end label, before the bias, is always 0.
    shown = [*range(n_before_bias), -1]
    for booster in round_.boosters:
        found = booster.predict(
            matrix, pred_contribs=True, validate_features=False, strict_shape=True
        )
        values += found[:, walk.outputs][:, :, shown] / len(round_.boosters)
    return values


@documented_explanation
def feature_importance(
    model: Model,
    importance_type: ImportanceType = "gain",
    *,
    aggregate: bool = False,
) -> pd.DataFrame:
    """Compute the importance of the features of X and the propagated labels.

    Parameters
    ----------
    {model}
    importance_type : {"gain", "weight", "cover", "total_gain", "total_cover"}, default="gain"
        As in `xgboost.Booster.get_score`, see
        :func:`xdcc.boosting.importance.column_importance`.
    aggregate : bool, default=False
        Whether to aggregate all rounds. Otherwise, aggregate the boosters of each round.

    Returns
    -------
    DataFrame
        A row for each round and each feature that a split uses, with the columns `round` (from 1;
        without `aggregate`), `kind` ("feature" for a column of X, "label" for a propagated label),
        `name` and `importance`. Features are in the order of X, followed by the labels. An
        order-free chain has one booster for all rounds; its features are the margins of the labels.

    Raises
    ------
    {model_errors}
    ValueError
        If `importance_type` is unknown.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> importance = feature_importance(chain.fit(data.X, data.Y))
    >>> importance.columns.tolist(), importance["kind"].unique().tolist()
    (['round', 'kind', 'name', 'importance'], ['feature', 'label'])
    """
    check_domain("importance_type", importance_type, Choice(IMPORTANCE_TYPES))
    walk = walk_of(model)
    rounds, n_features = walk.boosters, len(walk.feature_names)
    if aggregate:
        rounds = [[booster for boosters in rounds for booster in boosters]]
    names = [*walk.feature_names, *walk.propagated_names]
    frames = []
    for number, boosters in enumerate(rounds, start=1):
        importance = column_importance(boosters, len(names), importance_type)
        used = np.flatnonzero(~np.isnan(importance))
        frames.append(
            pd.DataFrame(
                {
                    "round": np.full(len(used), number),
                    "kind": np.where(used < n_features, "feature", "label"),
                    "name": np.array(names, dtype=object)[used],
                    "importance": importance[used],
                }
            )
        )
    table = pd.concat(frames, ignore_index=True)
    return table.drop(columns="round") if aggregate else table
