"""``DynamicChainClassifier``: a chain of multi-label boosters with a dynamic label order (XDCC).

The estimator checks arguments and data and hands them to the loop (``loop.py``); predictions are
read from the chain's state after each round (``cumulation.py``). (More than 300 lines, most of
them documentation.)
"""

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.boosting.classifier import OBJECTIVE
from xdcc.boosting.domains import Choice, Number, check_domain
from xdcc.boosting.params import check_base_score
from xdcc.boosting.params_mixin import BoosterParamsMixin
from xdcc.chain.cumulation import (
    CUMULATIONS,
    PREDICTIONS,
    Cumulation,
    Prediction,
    cumulated_proba,
    labels_from_proba,
    standard_proba,
)
from xdcc.chain.loop import ChainState, RoundCallback, run_chain, train_chain
from xdcc.chain.order import ChainOrder
from xdcc.chain.propagation import CANDIDATES, Candidates
from xdcc.plugin import require_plugin
from xdcc.validation import MultiLabelMixin, check_features, check_fit_data


class DynamicChainClassifier(MultiLabelMixin, BoosterParamsMixin):
    """A chain of multi-label boosters in which every row has its own label order.

    In each round a booster predicts all labels; the label of which it is surest is propagated:
    its probability becomes a feature for the rounds that follow. Which label that is may differ
    from row to row. ("Extreme Gradient Boosted Multi-label Trees for Dynamic Classifier Chains",
    the XDCC paper, section 3.2; refinements in 3.3.)

    Needs the XGBoost of this project (``third_party/xgboost``).

    Parameters
    ----------
    chain_length : int or None, default=None
        Number of rounds. None is the number of labels, which is also the largest number that
        makes sense: more are cut to it, with a warning.
    n_estimators : int, default=100
        Boosting iterations per round.
    max_depth : int, default=6
        Largest depth of a tree; 0 is no limit.
    learning_rate : float, default=0.3
        Factor by which a tree's leaf values are shrunk.
    split_method : {"sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"} or \
int, default="maxGain"
        How a split is scored over the labels; 1 to 6 are the numbers of the authors' code.
    separate_and_conquer : bool, default=True
        Whether a label of a row that was propagated has no part in the training of the rounds
        that follow: its gradient and Hessian are zero. Without it every round is trained on all
        labels.
    candidates : {"open", "all"}, default="open"
        Labels that compete for propagation: those not propagated yet, or all of them as
        equation 8 and the authors' code have it, see
        :func:`xdcc.chain.propagation.propagate`. Ties go to the lowest label with ``"open"``;
        with ``"all"`` the largest probability's tie goes to the last label.
    prediction : {"cumulated", "standard"}, default="cumulated"
        What `predict` and `predict_proba` return: the propagated probabilities and for open
        labels the maximum over the rounds (equation 9), or the propagated ones alone, with 0 for
        open labels. Can be changed after `fit`.
    cumulation : {"equation9", "authors"}, default="equation9"
        Reading of the cumulated prediction, see
        :func:`xdcc.chain.cumulation.cumulated_proba`. With ``"authors"`` a probability of
        exactly 0.5 is negative. Can be changed after `fit`.
    reg_lambda : float, default=1.0
        L2 regularisation.
    max_bin : int, default=256
        Largest number of bins per feature.
    random_state : int, RandomState instance or None, default=None
        Seed of row and column samples. The first round uses it, each further round one more.
        None is the booster's default seed, 0, as in XGBoost's own estimators: two fits give the
        same model.
    n_jobs : int or None, default=None
        Number of threads, all if None. It does not change the model.
    verbose : int, default=0
        Whether to print a line after each round.
    **booster_params
        Further parameters of the booster, by these names. With `separate_and_conquer` each
        round starts from the mean of each label over the rows where it is open; a `base_score`
        given here is used in every round instead.

        {booster_params}

    Attributes
    ----------
    boosters_ : list of xgboost.Booster
        One for each round; the label features come after the features of X.
    n_rounds_ : int
        Number of rounds.
    candidates_ : str
        The rule of propagation that the chain was trained with.
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

    Notes
    -----
    NaN in X is a missing value, and so is what a sparse X does not store. NaN in Y is a label
    that is not known.
    """

    def __init__(
        self,
        *,
        chain_length: int | None = None,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        split_method: str | int = "maxGain",
        separate_and_conquer: bool = True,
        candidates: Candidates = "open",
        prediction: Prediction = "cumulated",
        cumulation: Cumulation = "equation9",
        reg_lambda: float = 1.0,
        max_bin: int = 256,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        **booster_params: Any,
    ) -> None:
        self.chain_length = chain_length
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.split_method = split_method
        self.separate_and_conquer = separate_and_conquer
        self.candidates = candidates
        self.prediction = prediction
        self.cumulation = cumulation
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._keep_booster_params(booster_params)

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        callback: RoundCallback | None = None,
    ) -> Self:
        """Train the chain.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. One dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        callback : callable, optional
            Called after each round with its number from 1, the number of rounds, and the seconds
            that it took; for a progress bar.

        Returns
        -------
        self : DynamicChainClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, or the data are not as described.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.

        Warns
        -----
        UserWarning
            If `chain_length` is above the number of labels.
        """
        params = self._native_booster_params()
        self._check_arguments()
        require_plugin(type(self).__name__)
        data = check_fit_data(self, X, Y, sample_weight)
        check_base_score(params, self.n_labels_)

        self.n_rounds_ = self._limited_rounds(self.n_labels_)
        self.candidates_ = self.candidates
        self.boosters_ = train_chain(
            data,
            {**params, "objective": OBJECTIVE},
            n_rounds=self.n_rounds_,
            n_estimators=self.n_estimators,
            candidates=self.candidates,
            separate_and_conquer=self.separate_and_conquer,
            callback=self._reporter(callback),
        )
        self._name_features(self.boosters_)
        return self

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float32]]:
        """Probability of every label after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.

        Yields
        ------
        float32 array of shape (n_samples, n_labels)
            As `predict_proba` of a chain that ends with this round.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        return (self._read_proba(state) for state in self._run(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """Labels after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.

        Yields
        ------
        int array of shape (n_samples, n_labels)
            As `predict` of a chain that ends with this round.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        return (self._decide(Y_proba) for Y_proba in self.staged_predict_proba(X))

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Probability of every label: the chain's cumulated or standard prediction.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.

        Returns
        -------
        float32 array of shape (n_samples, n_labels)
            Cumulated (equation 9), or the propagated probability, 0 where none was propagated.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        for state in self._run(X):
            last = state
        return self._read_proba(last)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels: 1 where the probability is at least 0.5.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Zeros and ones. With ``cumulation="authors"`` exactly 0.5 is a zero.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        return self._decide(self.predict_proba(X))

    def chain_order(self, X: Any) -> ChainOrder:
        """Tell which label was propagated in which round, and with what value.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value.

        Returns
        -------
        ChainOrder
            Arrays `labels` and `values` of shape (n_samples, n_rounds).

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X is not as described or has another number of features than in `fit`.
        """
        labels, values = [], []
        for state in self._run(X):
            rows = np.arange(len(state.label))
            labels.append(state.label)
            values.append(np.where(state.label >= 0, state.P[rows, state.label], np.nan))
        return ChainOrder(np.stack(labels, axis=1), np.stack(values, axis=1).astype(np.float32))

    def _limited_rounds(self, n_labels: int) -> int:
        n_rounds = n_labels if self.chain_length is None else int(self.chain_length)
        if n_rounds > n_labels:
            warnings.warn(
                f"chain_length={n_rounds} is above the number of labels: "
                f"{n_labels} rounds are trained.",
                UserWarning,
                stacklevel=3,
            )
        return min(n_rounds, n_labels)

    def _name_features(self, boosters: list[xgb.Booster]) -> None:
        """Tell boosters the columns' names, which matrices with "[", "]" or "<" would refuse."""
        if hasattr(self, "feature_names_in_"):
            names = [*self.feature_names_in_, *(f"propagated {n}" for n in self.label_names_)]
            for booster in boosters:
                booster.feature_names = names

    def _check_arguments(self) -> None:
        at_least_1 = Number(low=1, whole=True)
        if self.chain_length is not None:
            check_domain("chain_length", self.chain_length, at_least_1)
        check_domain("n_estimators", self.n_estimators, at_least_1)
        check_domain("candidates", self.candidates, Choice(CANDIDATES))
        self._check_reading()

    def _check_reading(self) -> None:
        check_domain("prediction", self.prediction, Choice(PREDICTIONS))
        check_domain("cumulation", self.cumulation, Choice(CUMULATIONS))

    def _reporter(self, callback: RoundCallback | None) -> RoundCallback:
        def report(round_: int, n_rounds: int, seconds: float) -> None:
            if self.verbose:
                print(f"Round {round_} of {n_rounds}: {seconds:.2f} s")
            if callback is not None:
                callback(round_, n_rounds, seconds)

        return report

    def _run(self, X: Any) -> Iterator[ChainState]:
        check_is_fitted(self)
        self._check_reading()
        checked = check_features(self, X)
        return run_chain(self.boosters_, checked, self.n_labels_, self.candidates_)

    def _read_proba(self, state: ChainState) -> NDArray[np.float32]:
        if self.prediction == "standard":
            return standard_proba(state.P)
        return cumulated_proba(state.running, state.P, self.cumulation)

    def _decide(self, Y_proba: NDArray[np.float32]) -> NDArray[np.int64]:
        return labels_from_proba(Y_proba, self.prediction, self.cumulation)
