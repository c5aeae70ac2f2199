"""Baselines: one XGBoost model per label, independent (BR) or in a fixed chain (CC).

:class:`BinaryRelevance` and :class:`ClassifierChain` put XGBoost with its own defaults into
scikit-learn's ``MultiOutputClassifier`` and ``ClassifierChain``. scikit-learn's chain takes
neither missing values nor unknown labels, so both travel through it as a stand-in
(:data:`_MISSING`) that XGBoost is told to read as missing. :class:`_OneLabel` is the model of
a label: it leaves out the rows where the label is unknown and needs no model where it is
constant. A stock XGBoost is enough. (More than 300 lines, most of them the documentation of
two public classes.)
"""

from abc import abstractmethod
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import config_context, multioutput
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from xdcc.boosting.domains import Choice, Number, check_domain
from xdcc.boosting.params_mixin import BoosterParamsMixin
from xdcc.label_frequency import label_frequency
from xdcc.validation import Features, FitData, MultiLabelMixin, check_features, check_fit_data

_MISSING = float(np.finfo(np.float32).min)
"""Stands for NaN on the way through scikit-learn's chain: the least float32."""

_UNKNOWN = -1
"""Stands for an unknown label on the way through scikit-learn's multi-output classifier."""


Order = Literal["random", "frequent", "rare"]

ORDERS: tuple[str, ...] = get_args(Order)
"""The label orders of a classifier chain that have a name."""


class _ChainOrder(Protocol):
    def rounds(self, n_labels: int) -> NDArray[np.intp]: ...


class _DynamicChain(Protocol):
    n_labels_: int

    def chain_order(self, X: Any) -> _ChainOrder: ...


class _OneLabel(ClassifierMixin, BaseEstimator):
    """XGBoost for a label with the classes 0 and 1; any other value of y is unknown.

    X may have further columns, numbers, after those that `feature_types` describes.
    """

    def __init__(
        self,
        params: dict[str, Any],
        n_estimators: int,
        missing: float,
        feature_types: list[str] | None = None,
    ) -> None:
        self.params = params
        self.n_estimators = n_estimators
        self.missing = missing
        self.feature_types = feature_types

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> Self:
        self.classes_ = np.array([0, 1])
        known = (y == 0) | (y == 1)
        weight = None if sample_weight is None else sample_weight[known]
        values = np.unique(y[known])
        self.constant_ = int(values[0]) if len(values) == 1 else None
        if self.constant_ is None:
            matrix = self._matrix(X[known], label=y[known], weight=weight)
            self.booster_ = xgb.train(
                {**self.params, "objective": "binary:logistic"},
                matrix,
                num_boost_round=self.n_estimators,
            )
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        if self.constant_ is None:
            positive = self.booster_.predict(self._matrix(X))
        else:
            positive = np.full(X.shape[0], self.constant_, dtype=np.float32)
        return np.stack((1 - positive, positive), axis=1)

    def predict(self, X: Any) -> NDArray[np.int64]:
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)

    def _matrix(self, X: Any, **info: Any) -> xgb.DMatrix:
        # scikit-learn's chain joins sparse matrices in formats that XGBoost does not take.
        features = sparse.csr_matrix(X) if sparse.issparse(X) else X
        types = self.feature_types
        if types is not None:
            types = [*types, *["q"] * (X.shape[1] - len(types))]
        return xgb.DMatrix(
            features,
            missing=self.missing,
            feature_types=types,
            nthread=self.params.get("nthread"),
            **info,
        )


class _PerLabelXGB(MultiLabelMixin, BoosterParamsMixin):
    """What the baselines share: arguments, checks, and predictions from probabilities."""

    _uses_plugin = False
    _takes_categories = True

    def __init__(
        self,
        *,
        n_estimators: int,
        max_depth: int,
        learning_rate: float,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
        booster_params: dict[str, Any],
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._keep_booster_params(booster_params)

    def _one_label(self, missing: float) -> _OneLabel:
        params = self._native_booster_params()
        if isinstance(params.get("base_score"), list):
            raise ValueError("base_score has to be one number here; it is used for every label.")
        check_domain("n_estimators", self.n_estimators, Number(low=1, whole=True))
        return _OneLabel(params, self.n_estimators, missing)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and categories in a DataFrame; NaN is a missing value.

        Returns
        -------
        float array of shape (n_samples, n_labels)
            Probability that the label is 1; in a chain, given the predictions of the labels
            before it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        check_is_fitted(self)
        return self._proba(check_features(self, X))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels: 1 where the probability is at least 0.5.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and categories in a DataFrame; NaN is a missing value.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Zeros and ones.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        return (self.predict_proba(X) >= 0.5).astype(np.int64)

    @abstractmethod
    def _proba(self, X: Features) -> NDArray[np.float64]:
        """Predict probabilities for checked features."""


class BinaryRelevance(_PerLabelXGB):
    """An XGBoost model for each label, each on its own.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of boosting iterations per label.
    max_depth : int, default=6
        Largest depth of a tree; 0 is no limit.
    learning_rate : float, default=0.3
        Factor by which a tree's leaves are shrunk.
    random_state : int, RandomState instance or None, default=None
        Seed of row and column samples. None is XGBoost's default seed, 0.
    n_jobs : int or None, default=None
        Number of threads, all if None. It does not change the model.
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    model_ : sklearn.multioutput.MultiOutputClassifier
        Holds the labels' models.
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.
    categories_ : dict of int to array
        Categories of each categorical column by its position, if X had such columns.

    Notes
    -----
    NaN in X is a missing value, and so is what a sparse X does not store; columns of pandas' type
    ``category`` are split by sets of categories, and in prediction a category that did not occur
    in `fit` is missing. NaN in Y is a label that is not known; the row is left out for that label.
    A label without both values among its rows is predicted constant.
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        **booster_params: Any,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            max_depth=max_depth,
            learning_rate=learning_rate,
            random_state=random_state,
            n_jobs=n_jobs,
            booster_params=booster_params,
        )

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train a model for each label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and categories in a DataFrame; NaN is a missing value.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. One dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : BinaryRelevance
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, or the data are not as described.
        """
        one_label = self._one_label(missing=np.nan)
        data = check_fit_data(self, X, Y, sample_weight)
        one_label.feature_types = data.feature_types
        data.Y[np.isnan(data.Y)] = _UNKNOWN
        self.model_ = multioutput.MultiOutputClassifier(one_label)
        self.model_.fit(data.X, data.Y.astype(np.int8), sample_weight=data.sample_weight)
        return self

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return np.stack([proba[:, 1] for proba in self.model_.predict_proba(X)], axis=1)


class ClassifierChain(_PerLabelXGB):
    """An XGBoost model for each label, with the labels before it in a fixed order as features.

    Trained on the true labels; when predicting, the predicted ones (0 or 1) take their place.

    Parameters
    ----------
    order : {"random", "frequent", "rare"} or array-like of shape (n_labels,), default="random"
        Order of the labels: drawn with `random_state`, the most or the least frequent first
        (ties by position), or the labels' indices, for example from :func:`chain_order_of`.
    n_estimators : int, default=100
        Number of boosting iterations per label.
    max_depth : int, default=6
        Largest depth of a tree; 0 is no limit.
    learning_rate : float, default=0.3
        Factor by which a tree's leaves are shrunk.
    random_state : int, RandomState instance or None, default=None
        Seed of the random order and of row and column samples. None is the seed 0.
    n_jobs : int or None, default=None
        Number of threads, all if None. It does not change the model.
    **booster_params
        Further parameters of the booster, by these names:

        {booster_params}

    Attributes
    ----------
    order_ : int array of shape (n_labels,)
        Indices of the labels in the chain's order.
    model_ : sklearn.multioutput.ClassifierChain
        Holds the labels' models.
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.
    categories_ : dict of int to array
        Categories of each categorical column by its position, if X had such columns.

    Notes
    -----
    NaN in X is a missing value, and so is what a sparse X does not store; columns of pandas' type
    ``category`` are split by sets of categories, and in prediction a category that did not occur
    in `fit` is missing. NaN in Y is a label that is not known: its row is left out for that label,
    and it is a missing value for the labels after it. A label without both values among its rows
    is predicted constant.
    """

    def __init__(
        self,
        *,
        order: Order | ArrayLike = "random",
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        **booster_params: Any,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            max_depth=max_depth,
            learning_rate=learning_rate,
            random_state=random_state,
            n_jobs=n_jobs,
            booster_params=booster_params,
        )
        self.order = order

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the chain.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and categories in a DataFrame; NaN is a missing value.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. One dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : ClassifierChain
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, the order is no order of the labels, or
            the data are not as described.
        """
        one_label = self._one_label(missing=_MISSING)
        if isinstance(self.order, str):
            check_domain("order", self.order, Choice(ORDERS))
        data = check_fit_data(self, X, Y, sample_weight)
        one_label.feature_types = data.feature_types
        self.order_ = self._resolve_order(data, seed=one_label.params.get("seed", 0))
        self.model_ = multioutput.ClassifierChain(one_label, order=self.order_)
        X_filled = _with_stand_in(data.X)
        data.Y[np.isnan(data.Y)] = _MISSING
        if data.sample_weight is None:
            self.model_.fit(X_filled, data.Y)
        else:
            # scikit-learn's chain hands weights on to its models only by metadata routing.
            with config_context(enable_metadata_routing=True):
                one_label.set_fit_request(sample_weight=True)
                self.model_.fit(X_filled, data.Y, sample_weight=data.sample_weight)
        return self

    def _resolve_order(self, data: FitData, seed: int) -> NDArray[np.intp]:
        if isinstance(self.order, str):
            if self.order == "random":
                return np.random.RandomState(seed).permutation(self.n_labels_)
            frequency = label_frequency(data.Y, data.sample_weight, empty=0)
            return np.argsort(frequency if self.order == "rare" else -frequency, kind="stable")
        order = np.asarray(self.order)
        if order.ndim != 1 or not np.array_equal(np.sort(order), np.arange(self.n_labels_)):
            raise ValueError(
                f"order={self.order!r}: it has to hold every label's index from 0 to "
                f"{self.n_labels_ - 1} once, or be {Choice(ORDERS)}."
            )
        return order.astype(np.intp)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self.model_.predict_proba(_with_stand_in(X))


def chain_order_of(dynamic_chain: _DynamicChain, X: Any) -> NDArray[np.intp]:
    """Read a fixed label order from a trained dynamic chain.

    Labels are sorted by the mean, over the rows of X, of the round in which the chain propagates
    them. Where it never does, one more than the number of rounds is counted. Ties go to the
    lowest label.

    Parameters
    ----------
    dynamic_chain : DynamicChainClassifier
        A fitted chain.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        For a fair baseline, the rows it was trained on.

    Returns
    -------
    int array of shape (n_labels,)
        Indices of the labels, for the `order` of :class:`ClassifierChain`.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    ValueError
        If X does not suit the chain.
    """
    order = dynamic_chain.chain_order(X)
    return np.argsort(order.rounds(dynamic_chain.n_labels_).mean(axis=0), kind="stable")


def _with_stand_in(matrix: Features) -> Features:
    """Return a copy with the stand-in for missing values in place of NaN."""
    if isinstance(matrix, np.ndarray):
        return np.where(np.isnan(matrix), np.float32(_MISSING), matrix)
    filled = matrix.copy()
    filled.data[np.isnan(filled.data)] = _MISSING
    return filled
