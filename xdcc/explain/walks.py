"""Which models can be explained, and how each is walked through, round by round.

Every explanation starts here. A :class:`Walk` gives for each round its boosters, what they had as
features, the propagated labels among it, and those that stood after the round. Label features are
what the model itself predicts for the rows, never their true labels.

A chain has a round for each step. A single booster is a chain of one round without label features,
which decides every label, and so is a mixture of boosters. An order-free chain has one booster for
all rounds; its features are the margins that it starts from, one for each label that was not
constant in `fit`, and as values it propagates the labels that the model predicts.

What all explanations take is here, too: the sentences that their documentation shares, and the
check of the true labels that they compare with.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.members import JointLabelset
from xdcc.base.booster_parameters import PARAM_BY_NAME
from xdcc.base.checks import check_labels_as_in_fit
from xdcc.base.documentation import documented_with
from xdcc.base.features import Features, check_features
from xdcc.base.labels import Labels
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_inference import LabelStates, walk_to
from xdcc.chain.order_free_training import order_free_params
from xdcc.chain.propagation import NO_LABEL

documented_explanation = documented_with(
    {
        "model": """
            model : chain, MultiLabelClassifier or MultiLabelXGBClassifier
                A fitted one; a chain is a DynamicChainClassifier or an OrderFreeChainClassifier.
            """,
        "takes_model": """
            Parameters
            ----------
            model : chain, MultiLabelClassifier or MultiLabelXGBClassifier
                A fitted one; a chain is a DynamicChainClassifier or an OrderFreeChainClassifier.
            """,
        "rows": """
            X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
                Rows to predict.
            """,
        "model_errors": """
            NotFittedError
                If the model is not fitted.
            TypeError
                If the model is something else.
            """,
        "ax": """
            ax : Axes, optional
                Where to draw; a new figure by default.
            """,
        "pyplot_errors": """
            ImportError
                If Matplotlib cannot be imported.
            """,
    }
)
"""Fills in the docstring of a function, as a decorator."""


@dataclass(frozen=True)
class Round:
    """A round and where the rows stood.

    Attributes
    ----------
    number : int
        Counted from 1.
    boosters : list of xgboost.Booster
        They predict together; none where labels turned out not to depend on each other.
    features : float32 array or CSR matrix of shape (n_samples, n_features)
        What the boosters saw besides propagated labels.
    before : float32 array of shape (n_samples, n_labels)
        Propagated values that the boosters saw, NaN where there was none.
    after : float32 array of shape (n_samples, n_labels)
        The same when the round was over.
    ended : bool array of shape (n_samples,)
        Rows that an end label had ended before the round; it did nothing to them.
    weights : float array of shape (n_boosters, n_labels) or None
        What the margins of the boosters count; None is their mean.
    start : float array that broadcasts to (n_samples, n_labels), or None
        What is added to these margins; None is nothing.
    """

    number: int
    boosters: list[xgb.Booster]
    features: Features
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    ended: NDArray[np.bool_]
    weights: NDArray[np.floating] | None = None
    start: NDArray[np.floating] | None = None

    @property
    def open(self) -> NDArray[np.bool_]:
        """Labels that the round could still decide, (n_samples, n_labels)."""
        return np.isnan(self.before) & ~self.ended[:, np.newaxis]


class Walk(ABC):
    """A fitted model, as the explanations see it.

    Attributes
    ----------
    labels : int array of shape (n_labels,)
        The labels that are explained, by their positions in Y.
    label_names : list of str
        Their names.
    outputs : int array of shape (n_labels,)
        Where they stand in what the boosters predict.
    feature_names : list of str
        Names of the boosters' features, without propagated labels.
    propagated_names : list of str
        Names of the labels that boosters have as features besides, those of a first round as
        missing values.
    boosters : list of lists of xgboost.Booster
        Those of each round, with the trees that they predict with. What is the same in all rounds
        stands there once.
    n_rounds : int
        How many rounds :meth:`rounds` has.
    """

    labels: NDArray[np.intp]
    label_names: list[str]
    outputs: NDArray[np.intp]
    feature_names: list[str]
    propagated_names: list[str]
    boosters: list[list[xgb.Booster]]
    n_rounds: int

    @abstractmethod
    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the rounds.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        Round
            Its arrays are not changed later.

        Raises
        ------
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """


class ChainWalk(Walk):
    """A walk through a model whose boosters have labels as features.

    Attributes
    ----------
    known_are_silent : bool
        Whether labels of training rows were unknown where they were features. A mask of the
        boosters' own is told by :func:`~xdcc.explain.label_dependencies.read_model`.
    penalties : pair of float
        `reg_lambda` and `reg_alpha` of the boosters.
    """

    known_are_silent = False
    penalties: tuple[float, float]


def round_matrix(round_: Round, n_threads: int) -> xgb.DMatrix:
    """Make the matrix that the boosters of a round predict from.

    Parameters
    ----------
    round_ : Round
        The round; it has boosters.
    n_threads : int
        Number of threads.

    Returns
    -------
    xgboost.DMatrix
        [features | propagated labels], features alone for a single booster; the column of an end
        label is missing everywhere. It has no names: predict with ``validate_features=False``.
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


@documented_explanation
def walk_of(model: Model) -> Walk:
    """See how a model is walked through.

    {takes_model}

    Returns
    -------
    Walk
        That of a :class:`~xdcc.MultiLabelClassifier` is through its boosters, up to the
        probabilities that its rule reads.

    Raises
    ------
    {model_errors}
    ValueError
        If there is nothing to explain, as every label was the same in all rows of `fit`.
    """
    if isinstance(model, MultiLabelXGBClassifier):
        return BoosterWalk(model)
    if isinstance(model, MultiLabelClassifier):
        return MixtureWalk(model)
    if isinstance(model, DynamicChainClassifier | OrderFreeChainClassifier):
        return chain_walk_of(model)
    raise TypeError(
        "xdcc.explain explains a DynamicChainClassifier, an OrderFreeChainClassifier, a "
        f"MultiLabelClassifier or a MultiLabelXGBClassifier, not a {type(model).__name__}."
    )


@documented_explanation
def chain_walk_of(model: Model) -> ChainWalk:
    """See how a model with label features is walked through.

    {takes_model}

    Returns
    -------
    ChainWalk
        That of a :class:`~xdcc.MultiLabelClassifier` is through the order-free chain that its rule
        reads.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it has no label features.
    ValueError
        If there is nothing to explain, as every label was the same in all rows of `fit`.
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
    raise TypeError(f"label_dependencies needs a chain: {what} has no label features.")


class BoosterWalk(Walk):
    """Through a single booster.

    Parameters
    ----------
    model : MultiLabelXGBClassifier
        A fitted one.
    """

    n_rounds = 1

    def __init__(self, model: MultiLabelXGBClassifier) -> None:
        check_is_fitted(model)
        self._model = model
        self.labels = self.outputs = np.arange(model.n_labels_)
        self.label_names = _names(model.label_names_)
        self.feature_names = _feature_names(model)
        self.propagated_names = []
        self.boosters = [[_predicting(model)]]

    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the only round; see the base class."""
        features = check_features(self._model, X)
        yield _only_round(self.boosters[0], features, self._model._proba(features))


class MixtureWalk(Walk):
    """Through the boosters of a mixture, whose margins are added up.

    Parameters
    ----------
    model : MultiLabelClassifier
        A fitted one.
    """

    n_rounds = 1

    def __init__(self, model: MultiLabelClassifier) -> None:
        check_is_fitted(model)
        self._model = model
        self.labels = self.outputs = np.flatnonzero(model.calibration_.constant.varied)
        self.label_names = _explained_names(model.label_names_, self.labels)
        self.feature_names = _feature_names(model)
        self.propagated_names = []
        self.boosters = [[_predicting(estimator) for estimator in model.estimators_]]

    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the only round; see the base class."""
        model, labels = self._model, self.labels
        weights = [
            member.share * member.calibration.slope[labels] / len(member.estimators)
            for member in model.members_
            for _ in member.estimators
        ]
        start = sum(
            member.share * member.calibration.intercept[labels] for member in model.members_
        )
        features = model._check_X(X)
        yield _only_round(
            self.boosters[0],
            features,
            model._labels(features)[:, labels],
            np.array(weights),
            np.asarray(start),
        )


class DynamicWalk(ChainWalk):
    """Through the rounds of a chain.

    Parameters
    ----------
    model : DynamicChainClassifier
        A fitted one.

    Raises
    ------
    TypeError
        If `boosters_` is not a list of lists. A flat list must not pass: a booster can itself be
        iterated over, which gives its iterations.
    """

    def __init__(self, model: DynamicChainClassifier) -> None:
        check_is_fitted(model)
        for number, boosters in enumerate(model.boosters_, start=1):
            if not isinstance(boosters, list):
                raise TypeError(
                    f"boosters_ holds a {type(boosters).__name__} for round {number}; it has to "
                    "hold a list of boosters for each round. Fit the chain again with this "
                    "version of xdcc."
                )
        self._model = model
        self.labels = self.outputs = np.arange(model.n_labels_)
        self.label_names = self.propagated_names = _names(model.label_names_)
        self.feature_names = _feature_names(model)
        self.boosters = model.boosters_
        self.n_rounds = len(model.boosters_)
        given = {
            PARAM_BY_NAME[name].name: value
            for name, value in model.get_params(deep=False).items()
            if name in PARAM_BY_NAME and value is not None
        }
        self.penalties = given.get("reg_lambda", 1.0), given.get("reg_alpha", 0.0)

    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the rounds; see the base class."""
        features = check_features(self._model, X)
        before = np.full((features.shape[0], len(self.labels)), np.nan, dtype=np.float32)
        ended = np.zeros(len(before), dtype=bool)
        states = zip(self.boosters, self._model._run(features), strict=True)
        for number, (boosters, state) in enumerate(states, start=1):
            after, ended_after = state.P.copy(), state.ended.copy()
            yield Round(number, boosters, features, before, after, ended)
            before, ended = after, ended_after


class OrderFreeWalk(ChainWalk):
    """Through the steps of an order-free chain, on the way to what the model predicts.

    Parameters
    ----------
    booster : xgboost.Booster or None
        None if labels do not depend on each other.
    label_names : array of str
        Names of all labels.
    varied : int array of shape (n_varied,)
        Labels that were not constant in `fit`.
    reg_lambda : float
        Of the booster.
    begin : callable
        From X to the states of all rows before the first label, and what is predicted for the
        labels that vary, (n_samples, n_varied).
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
        self.label_names = self.propagated_names = _explained_names(label_names, varied)
        self.feature_names = [f"margin of {name}" for name in self.label_names]
        self.boosters = [[] if booster is None else [booster]]
        self.n_rounds = len(varied)
        self.penalties = reg_lambda, 0.0

    def rounds(self, X: Any) -> Iterator[Round]:
        """Walk through the steps; see the base class."""
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
    weights: NDArray[np.floating] | None = None,
    start: NDArray[np.floating] | None = None,
) -> Round:
    nothing = np.full(decided.shape, np.nan, dtype=np.float32)
    going_on = np.zeros(len(decided), dtype=bool)
    return Round(1, boosters, features, nothing, decided, going_on, weights, start)


def _predicting(model: MultiLabelXGBClassifier) -> xgb.Booster:
    """Get the booster with the trees that it predicts with."""
    return model.booster_[: model.best_iteration_ + 1]


def _names(names: NDArray[Any]) -> list[str]:
    return [str(name) for name in names]


def _explained_names(names: NDArray[Any], varied: NDArray[np.intp]) -> list[str]:
    if not len(varied):
        raise ValueError(
            "There is nothing to explain: every label was the same in all rows of fit."
        )
    return [str(names[label]) for label in varied]


def _feature_names(model: Any) -> list[str]:
    """Column names of the DataFrame that `fit` got, else `f0`, `f1` and so on."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"f{j}" for j in range(model.n_features_in_)]
    return _names(names)


@documented_explanation
def check_truth(model: Model, X: Any, Y: Any) -> Labels:
    """Check that labels belong to a model and to rows.

    Parameters
    ----------
    {model}
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows. Only their number is looked at.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        0, 1, or NaN for unknown; classes, if Y had one dimension in fit.

    Returns
    -------
    float32 array of shape (n_samples, n_labels)
        The labels.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If Y holds another value, or has another number of labels than the model or of rows
        than X.
    """
    check_is_fitted(model)
    truth = check_labels_as_in_fit(model, Y)
    check_consistent_length(X, truth)
    return truth
