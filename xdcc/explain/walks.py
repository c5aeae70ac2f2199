"""The models that can be explained, and a walk through the rounds of each.

A :class:`Walk` yields a :class:`Round` for each step of a chain: its boosters, their features, and
the propagated labels before and after it. Label features are predictions of the model, never true
labels.

A single booster, or a mixture of boosters, has one round without label features, which decides all
labels. An order-free chain has one booster for all rounds; its features are the initial margins of
the labels that were not constant in `fit`, and it propagates the labels that the model predicts.

This module also has the docstring entries of all explanations and the check of true labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.base.booster_parameters import PARAM_BY_NAME
from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.base.labels import Labels, check_labels_as_in_fit
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_inference import LabelStates, walk_to
from xdcc.chain.order_free_training import order_free_params
from xdcc.chain.propagation import NO_LABEL

documented_explanation = partial(
    documented,
    entries={
        "model": """
            model : chain, MultiLabelClassifier or MultiLabelXGBClassifier
                A fitted model; a chain is a DynamicChainClassifier or an OrderFreeChainClassifier.
            """,
        "rows": """
            X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
                Rows to predict.
            """,
        "model_errors": """
            NotFittedError
                If the model is not fitted.
            TypeError
                If the model has another type.
            """,
        "ax_returned": """
            ax : Axes, optional
                Axes to draw on. Default: a new figure.

            Returns
            -------
            Axes
                The axes.
            """,
        "pyplot_errors": """
            ImportError
                If Matplotlib cannot be imported.
            """,
    },
)
"""Decorator that fills in shared docstring entries."""


@dataclass(frozen=True)
class Round:
    """A round: boosters, their features, and the state of the rows."""

    number: int  # from 1
    boosters: list[xgb.Booster]  # none if the labels are independent
    features: Features  # (n_samples, n_features), without propagated labels
    before: NDArray[np.float32]  # (n_samples, n_labels), NaN if not propagated
    after: NDArray[np.float32]  # (n_samples, n_labels)
    ended: NDArray[np.bool_]  # rows that an end label had ended before the round
    start: NDArray[np.floating] | None = None  # is added to the mean margins

    @property
    def open(self) -> NDArray[np.bool_]:
        """Labels that the round can decide, (n_samples, n_labels)."""
        return np.isnan(self.before) & ~self.ended[:, np.newaxis]


class Walk(ABC):
    """A walk through the rounds of a fitted model."""

    labels: NDArray[np.intp]  # columns of Y that are explained
    label_names: list[str]
    outputs: NDArray[np.intp]  # the outputs of the boosters for these labels
    feature_names: list[str]  # without propagated labels
    propagated_names: list[str]  # names of the label features
    boosters: list[list[xgb.Booster]]  # by round, or one list if all rounds have the same
    n_rounds: int

    @abstractmethod
    def rounds(self, X: Any) -> Iterator[Round]:
        """Check X, predict, and yield the rounds; their arrays are not changed later."""


class ChainWalk(Walk):
    """A walk through the rounds of a model with label features."""

    known_are_silent = False
    """Whether a label did not count in training where it was a feature, apart from a mask of the
    booster (see :func:`~xdcc.explain.label_dependencies.read_model`)."""

    penalties: tuple[float, float]
    """`reg_lambda` and `reg_alpha` of the boosters."""


def round_matrix(round_: Round, n_threads: int) -> xgb.DMatrix:
    """Create the input of the boosters of a round: [features | propagated labels].

    The column of an end label is missing in all rows. There are no column names, so predict with
    ``validate_features=False``.
    """
    X = round_.features
    n_samples, n_labels = round_.before.shape
    n_columns = round_.boosters[0].num_features() - X.shape[1]
    P = np.full((n_samples, n_columns), np.nan, dtype=np.float32)
    P[:, :n_labels] = round_.before[:, :n_columns]
    if not sparse.issparse(X):
        return xgb.DMatrix(np.hstack((X, P)), nthread=n_threads)
    row, label = np.nonzero(~np.isnan(P))
    stored = sparse.csr_matrix((P[row, label], (row, label)), shape=P.shape)
    return xgb.DMatrix(sparse.hstack((X, stored), format="csr"), nthread=n_threads)


type Model = (
    DynamicChainClassifier
    | OrderFreeChainClassifier
    | MultiLabelClassifier
    | MultiLabelXGBClassifier
)
type Start = tuple[LabelStates, NDArray[np.floating]]


def walk_of(model: Model) -> Walk:
    """Create the walk of a model; that of a `MultiLabelClassifier` is through its boosters.

    Raises TypeError for other models, and ValueError if all labels were constant in `fit`.
    """
    if isinstance(model, MultiLabelXGBClassifier):
        return BoosterWalk(model)
    if isinstance(model, MultiLabelClassifier):
        return MixtureWalk(model)
    if isinstance(model, DynamicChainClassifier | OrderFreeChainClassifier):
        return chain_walk_of(model)
    raise TypeError(
        "xdcc.explain supports DynamicChainClassifier, OrderFreeChainClassifier, "
        f"MultiLabelClassifier and MultiLabelXGBClassifier, not {type(model).__name__}."
    )


def chain_walk_of(model: Model) -> ChainWalk:
    """Create the walk of a chain, or of the order-free chain of a `MultiLabelClassifier`'s rule.

    Raises TypeError if there are no label features, and ValueError if all labels were constant in
    `fit`.
    """
    if isinstance(model, DynamicChainClassifier):
        return DynamicWalk(model)
    if isinstance(model, OrderFreeChainClassifier):
        check_is_fitted(model)
        varied = np.flatnonzero(model.calibration_.constant.varied)
        return OrderFreeWalk(
            model.booster_, model.label_names_, varied, model.reg_lambda, model._begin_walk
        )
    what = f"a {type(model).__name__}"
    if isinstance(model, MultiLabelClassifier):
        check_is_fitted(model)
        if isinstance(model.rule_, JointLabelset):
            return _walk_of_rule(model, model.rule_)
        what += f" with the rule {model.rule_.name}"
    raise TypeError(f"label_dependencies requires a chain: {what} has no label features.")


class BoosterWalk(Walk):
    """The walk of a single booster."""

    n_rounds = 1

    def __init__(self, model: MultiLabelXGBClassifier) -> None:
        check_is_fitted(model)
        self._model = model
        self.labels = self.outputs = np.arange(model.n_labels_)
        self.label_names = _names(model.label_names_)
        self.feature_names = feature_names(model)
        self.propagated_names = []
        self.boosters = [[_predicting(model)]]

    def rounds(self, X: Any) -> Iterator[Round]:
        """Yield the only round; see the base class."""
        features = self._model._check_X(X)
        yield _only_round(self.boosters[0], features, self._model._proba(features))


class MixtureWalk(Walk):
    """The walk of the boosters of a mixture; members of other families have no part in it."""

    n_rounds = 1

    def __init__(self, model: MultiLabelClassifier) -> None:
        check_is_fitted(model)
        of_boosters = [
            member
            for member in model.members_
            if isinstance(member.estimators[0], MultiLabelXGBClassifier)
        ]
        if not of_boosters:
            raise TypeError(
                "The chosen mixture has no booster, and only boosters have this explanation: its "
                f"members are {', '.join(member.name for member in model.members_)}."
            )
        self._model = model
        self.labels = self.outputs = np.flatnonzero(model.calibration_.constant.varied)
        self.label_names = explained_names(model.label_names_, self.labels)
        self.feature_names = feature_names(model)
        self.propagated_names = []
        self.boosters = [
            [_predicting(estimator) for member in of_boosters for estimator in member.estimators]
        ]

    def rounds(self, X: Any) -> Iterator[Round]:
        """Yield the only round; see the base class."""
        features = self._model._check_X(X)
        decided = self._model._labels(features)[:, self.labels]
        yield _only_round(self.boosters[0], features, decided)


class DynamicWalk(ChainWalk):
    """The walk of a dynamic chain."""

    def __init__(self, model: DynamicChainClassifier) -> None:
        check_is_fitted(model)
        for number, boosters in enumerate(model.boosters_, start=1):
            # A booster is iterable, too, over its boosting rounds.
            if not isinstance(boosters, list):
                raise TypeError(
                    f"boosters_ contains a {type(boosters).__name__} for round {number}, but it "
                    "must contain a list of boosters for each round. Fit the chain again with this "
                    "version of xdcc."
                )
        self._model = model
        self.labels = self.outputs = np.arange(model.n_labels_)
        self.label_names = self.propagated_names = _names(model.label_names_)
        self.feature_names = feature_names(model)
        self.boosters = model.boosters_
        self.n_rounds = len(model.boosters_)
        given = {
            PARAM_BY_NAME[name].name: value
            for name, value in model.get_params(deep=False).items()
            if name in PARAM_BY_NAME and value is not None
        }
        self.penalties = given.get("reg_lambda", 1.0), given.get("reg_alpha", 0.0)

    def rounds(self, X: Any) -> Iterator[Round]:
        """Yield the rounds; see the base class."""
        features = self._model._check_X(X)
        before = np.full((features.shape[0], len(self.labels)), np.nan, dtype=np.float32)
        ended = np.zeros(len(before), dtype=bool)
        states = zip(self.boosters, self._model._run(features), strict=True)
        for number, (boosters, state) in enumerate(states, start=1):
            after, ended_after = state.P.copy(), state.ended.copy()
            yield Round(number, boosters, features, before, after, ended)
            before, ended = after, ended_after


class OrderFreeWalk(ChainWalk):
    """The walk of an order-free chain towards the labels that the model predicts.

    `booster` is None if the labels are independent. `varied` are the labels that were not constant
    in `fit`. `begin` computes, from X, the initial states and the predictions (n_samples, n_varied)
    of these labels.
    """

    known_are_silent = True

    def __init__(
        self,
        booster: xgb.Booster | None,
        label_names: NDArray[Any],
        varied: NDArray[np.intp],
        reg_lambda: float,
        begin: Callable[[Any], Start],
    ) -> None:
        self._begin = begin
        self.labels, self.outputs = varied, np.arange(len(varied))
        self.label_names = self.propagated_names = explained_names(label_names, varied)
        self.feature_names = [f"margin of {name}" for name in self.label_names]
        self.boosters = [[] if booster is None else [booster]]
        self.n_rounds = len(varied)
        self.penalties = reg_lambda, 0.0

    def rounds(self, X: Any) -> Iterator[Round]:
        """Yield the steps; see the base class."""
        states, labels = self._begin(X)
        going_on = np.zeros(len(states), dtype=bool)
        for number, decision in enumerate(walk_to(states, labels), start=1):
            before = states.revealed.copy()
            after = before.copy()
            rows = np.flatnonzero(decision.label != NO_LABEL)
            decided = rows, decision.label[rows]
            after[decided] = labels[decided]
            margins = states.margins
            yield Round(number, self.boosters[0], margins, before, after, going_on, start=margins)


def _walk_of_rule(model: MultiLabelClassifier, rule: JointLabelset) -> OrderFreeWalk:
    varied = np.flatnonzero(model.calibration_.constant.varied)

    def begin(X: Any) -> Start:
        of_all = model._margins(model._check_X(X))
        margins = of_all[:, varied].astype(np.float32)
        labels = rule.decide(of_all)[:, varied].astype(np.float32)
        return LabelStates.begin(rule.booster, margins), labels

    return OrderFreeWalk(
        rule.booster, model.label_names_, varied, order_free_params()["lambda"], begin
    )


def _only_round(
    boosters: list[xgb.Booster],
    features: Features,
    decided: NDArray[Any],
) -> Round:
    nothing = np.full(decided.shape, np.nan, dtype=np.float32)
    going_on = np.zeros(len(decided), dtype=bool)
    return Round(1, boosters, features, nothing, decided, going_on)


def _predicting(model: MultiLabelXGBClassifier) -> xgb.Booster:
    """Return the booster with the trees that it uses for prediction."""
    return model.booster_[: model.best_iteration_ + 1]


def _names(names: NDArray[Any]) -> list[str]:
    return [str(name) for name in names]


def explained_names(names: NDArray[Any], varied: NDArray[np.intp]) -> list[str]:
    """Return the names of the labels that are explained; stop if there is none."""
    if not len(varied):
        raise ValueError("There is nothing to explain: all labels were constant in fit.")
    return [str(names[label]) for label in varied]


def feature_names(model: Any) -> list[str]:
    """Return the column names of the DataFrame in `fit`, or `f0`, `f1` and so on."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"f{j}" for j in range(model.n_features_in_)]
    return _names(names)


def check_truth(model: Model, X: Any, Y: Any) -> Labels:
    """Check true labels of the rows X, and return them as a float32 array (n_samples, n_labels)."""
    check_is_fitted(model)
    return check_labels_as_in_fit(model._output_form, X, Y)
