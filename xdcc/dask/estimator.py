"""Base class of the estimators on Dask: the client, the workers' rows, and predictions.

Every worker checks and keeps its own rows (``worker_rows.py``). Then all workers run the training
of the local estimator together, connected by XGBoost's collective (``communicator.py``). The
updater sums histograms over the workers, and what else a step needs to know of all rows is added
up, too (:mod:`xdcc.base.workers`). So all workers end with the same boosters. Predictions are made
chunk by chunk by the local estimator.
"""

from collections.abc import Callable, Sequence
from operator import getitem
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import distributed
import numpy as np
import pandas as pd
from distributed import Future
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.base.checks import check_fit_data
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.features import SparseZeros
from xdcc.base.fit_data import FitData
from xdcc.base.threads import available_cpus, n_threads
from xdcc.dask.client_rows import is_collection, map_rows, place_rows, stand_ins
from xdcc.dask.communicator import Place
from xdcc.dask.unknown_categories import settle_on_workers
from xdcc.dask.worker_rows import (
    Summary,
    WorkerRows,
    concatenate,
    deal_folds,
    deal_groups,
    positive_bits,
)

type ChunkFunction = Callable[[Any, Any], NDArray[np.number]]
"""From the local estimator and a chunk of rows to an array, a row for each."""


class PlacedRows(NamedTuple):
    """Training rows on the workers.

    Attributes
    ----------
    rows : list of Future
        Their `WorkerRows`, in the order of the rows.
    places : list of Place
        The workers that hold them.
    absent : bool array of shape (n_labels,)
        Labels that are unknown in all rows.
    learned : FitData
        Data without rows, from which the estimator takes what it has learned.
    """

    rows: list[Future]
    places: list[Place]
    absent: NDArray[np.bool_]
    learned: FitData

    def by_place(self, *others: Sequence[Any]) -> dict[Place, list[tuple[Any, ...]]]:
        """List what each worker gets: its rows, and what others there are in the same order."""
        parts: dict[Place, list[tuple[Any, ...]]] = {}
        for place, *part in zip(self.places, self.rows, *others, strict=True):
            parts.setdefault(place, []).append(tuple(part))
        return parts


class DaskEstimator(MultiLabelEstimator):
    """An estimator that is trained on the workers of a Dask cluster, beside a local one."""

    _entries = MappingProxyType(
        {
            "takes_any_X": """
                Parameters
                ----------
                X : Dask array or DataFrame, array-like, sparse matrix or DataFrame of shape \
(n_samples, n_features)
                    Numbers, and categories in a DataFrame; NaN is a missing value.
                """,
            "on_workers": """
                Every worker needs this package and the XGBoost of this project.

                Attributes
                ----------
                client : distributed.Client
                    Where to train; by default the current client. It is neither copied nor pickled
                    with the estimator.
                """,
            "collections": """
                X : Dask array or DataFrame of shape (n_samples, n_features)
                    In chunks of rows: NumPy arrays, CSR matrices or DataFrames, which may have
                    categorical columns, with the same categories or not. NaN is a missing value.
                Y : Dask array, DataFrame or Series of shape (n_samples, n_labels)
                    In the same chunks: 0, 1, or NaN for unknown. One dimension is a single label.
                sample_weight : Dask array, Series or DataFrame of shape (n_samples,) or \
(n_samples, n_labels), optional
                    Weights of the rows or entries, in the same chunks.
                """,
            "groups_in_chunks": """
                groups : Dask array or Series of shape (n_samples,) or str, optional
                    Group of each row, such as a patient, in the same chunks, or the name of the
                    column of X that has it: all rows of a group are in the same fold, whichever
                    workers have them.
                """,
            "coll_cfg": """
                coll_cfg : xgboost.collective.Config, optional
                    Addresses, ports and timeouts of the workers' connections. A worker that freezes
                    is noticed after `timeout` (by default half an hour), or when Dask gives it up.
                """,
            "errors_on_workers": """
                WorkerLostError
                    If a worker disappears during training. The estimator is left as it was.
                PluginMissingError
                    If the installed XGBoost has no multi-label plugin.
                """,
        }
    )
    _local: ClassVar[type[Any]]
    """Class of the local estimator, which has the same parameters."""

    _proba_type: ClassVar[type[np.floating]]
    """Type of the local estimator's probabilities."""

    _client: distributed.Client | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take the domains of the local estimator's parameters, and the class's own."""
        own = vars(cls).get("_domains", {})
        cls._domains = MappingProxyType({**cls._local._domains, **own})
        super().__init_subclass__(**kwargs)

    @property
    def client(self) -> distributed.Client:
        """The Dask client that was set, otherwise the current one."""
        if self._client is not None:
            return self._client
        try:
            return distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client: create one, for example with "
                "distributed.Client(), or set the estimator's `client`."
            ) from error

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        if not isinstance(client, distributed.Client | None):
            raise TypeError(f"client is a {type(client).__name__}, not a distributed.Client.")
        self._client = client

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without the client of this process."""
        return {name: v for name, v in super().__getstate__().items() if name != "_client"}

    def to_local(self) -> Any:
        """Return the fitted estimator as one that needs no Dask.

        Returns
        -------
        xdcc.chain.DynamicChainClassifier or xdcc.MultiLabelClassifier
            With the same parameters and attributes. It predicts the same.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        local = self._local(**self.get_params())
        become_fitted(local, self)
        return local

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of every label.

        {takes_any_X}

        Returns
        -------
        float array of shape (n_samples, n_labels)
            A Dask array, not computed yet, if X is a Dask collection; the same holds for
            `predict`.

        {raises_in_predict}
        """
        if not is_collection(X):
            return super().predict_proba(X)
        return self._map(_proba, X, (self._n_labels(),), self._proba_type)

    def predict(self, X: Any) -> Any:
        """Predict labels; for a Dask collection a Dask array, as `predict_proba` returns."""
        if not is_collection(X):
            return super().predict(X)
        return self._map(_labels, X, (self._n_labels(),), np.int64)

    def _n_labels(self) -> int:
        check_is_fitted(self)
        return self.n_labels_

    def _map(self, function: ChunkFunction, X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        self._check_params()
        local = self.to_local()
        return map_rows(
            function, local, X, n_features=local.n_features_in_, shape=shape, dtype=dtype
        )

    def _training_client(self) -> distributed.Client:
        client = self.client
        if client.asynchronous:
            raise ValueError("The client is asynchronous; fit needs a synchronous one.")
        return client

    def _place(
        self,
        local: MultiLabelEstimator,
        sparse_zeros: SparseZeros,
        X: Any,
        Y: Any,
        sample_weight: Any,
        groups: Any = None,
    ) -> PlacedRows:
        """Let workers check their rows, and a local estimator see a summary of all of them."""
        rows, summaries = place_rows(
            self._training_client(), X, Y, sample_weight, sparse_zeros, groups
        )
        learned = check_fit_data(local, *stand_ins(summaries))
        form = settle_on_workers(self._training_client(), local._input_form, rows)
        local._learn_from(learned := learned._replace(input_form=form))
        places = [summary.place for summary in summaries]
        return PlacedRows(rows, places, absent_labels(summaries), learned)

    def _deal_folds(
        self, placed: PlacedRows, n_folds: int, seed: int | None, *, by_groups: bool = False
    ) -> list[Future]:
        """Let a worker divide the rows into folds; the fold numbers stay on the workers.

        It gets which labels are positive in each row, or the groups, and nothing else.
        """
        client, rows, absent = self.client, placed.rows, placed.absent
        if by_groups:
            groups = client.map(_groups, rows, pure=False)
            dealt = client.submit(deal_groups, groups, n_folds, pure=False)
        else:
            bits = client.map(_positive_bits, rows, absent=absent, pure=False)
            dealt = client.submit(deal_folds, bits, len(absent), n_folds, seed, pure=False)
        return [client.submit(getitem, dealt, i, pure=False) for i in range(len(rows))]


def absent_labels(summaries: Sequence[Summary]) -> NDArray[np.bool_]:
    """Tell which labels are unknown in all rows, `(n_labels,)`."""
    return np.asarray(~np.any([summary.is_known for summary in summaries], axis=0))


def threads_of_worker(n_jobs: int | None) -> int:
    """Return the number of threads for this worker, from those that it has for its tasks."""
    available = min(distributed.get_worker().state.nthreads, available_cpus())
    return n_threads(n_jobs, available)


def put_together(
    parts: Sequence[FitData], estimator: MultiLabelEstimator, absent: NDArray[np.bool_]
) -> FitData:
    """Put rows together for training, with an estimator that has seen a summary of all rows."""
    data = concatenate(parts)
    if isinstance(data.X, pd.DataFrame):
        data = data._replace(X=estimator._input_form.check(data.X, type(estimator).__name__))
    weight = None if data.sample_weight is None else data.sample_weight.copy()
    data = data._replace(
        Y=data.Y.copy(),
        sample_weight=weight,
        input_form=estimator._input_form,
        output_form=estimator._output_form,
    )
    data.settle_absent(absent)
    return data


def become_fitted(estimator: MultiLabelEstimator, fitted: MultiLabelEstimator) -> None:
    """Replace the fitted attributes of an estimator by those of another one."""
    params = {*estimator.get_params(), "booster_params", "_client"}
    for name in [name for name in vars(estimator) if name not in params]:
        delattr(estimator, name)
    for name, value in vars(fitted).items():
        if name not in params:
            setattr(estimator, name, value)


def _positive_bits(rows: WorkerRows, absent: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return positive_bits(rows.data.Y, absent)


def _groups(rows: WorkerRows) -> NDArray[Any]:
    return rows.groups


def _proba(model: MultiLabelEstimator, X: Any) -> NDArray[np.floating]:
    return model.predict_proba(X)


def _labels(model: MultiLabelEstimator, X: Any) -> NDArray[np.int64]:
    return model.predict(X)
