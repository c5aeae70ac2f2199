"""``DaskDynamicChainClassifier``: the chain of ``xdcc.chain``, trained on several workers.

The workers run the loop of ``xdcc.chain`` together. The loop sums label frequencies and what early
stopping measures, while each worker propagates labels in its own rows.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import xgboost as xgb
from distributed import Future
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from xgboost import collective

from xdcc import chain
from xdcc.base.estimator import EvalSet, checked_pairs
from xdcc.base.fit_data import FitData
from xdcc.base.plugin import require_plugin
from xdcc.boosting.sketch_choice import AUTO, RACE_ROWS, choose_sketch
from xdcc.chain.propagation import ChainOrder
from xdcc.chain.training import ChainPlan, RoundCallback, train_chain
from xdcc.dask.client_rows import (
    draw_positions,
    is_collection,
    place_measured_rows,
)
from xdcc.dask.communicator import Place, run_together
from xdcc.dask.estimator import (
    DaskEstimator,
    PlacedRows,
    become_fitted,
    put_together,
    threads_of_worker,
)
from xdcc.dask.worker_rows import WorkerRows

type WorkerParts = tuple[list[Any], list[Any]]
"""Input of a worker: pairs of `WorkerRows` and folds (or None), and rows of the evaluation set."""


class DaskDynamicChainClassifier(DaskEstimator, chain.DynamicChainClassifier):
    """A dynamic chain that is trained on the workers of a Dask cluster.

    Has the parameters and attributes of :class:`xdcc.chain.DynamicChainClassifier`.
    Two parameters differ: `n_jobs` is the number of threads of each worker, by default as many as
    the worker has for its tasks, limited by the CPUs that its process may use; `verbose` prints on
    one of the workers.

    {on_workers}

    Notes
    -----
    The first worker gets the first chunks of rows, and so on; chunks that are elsewhere are copied
    there. With the same chunks and number of workers the model is the same, except for rounding. If
    features have at most `max_bin` values, it is the model of the local estimator, again except for
    rounding. Otherwise the quantiles of the workers are merged, and bins can differ slightly. Rows
    for `subsample` are drawn on each worker, so they differ from the local estimator's. Folds are
    those of the local estimator: one worker computes them from the labels or the groups of all
    rows.

    Examples
    --------
    >>> import dask.array
    >>> import distributed
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> X, Y = (dask.array.from_array(part, chunks=(50, -1)) for part in (data.X, data.Y))
    >>> model = DaskDynamicChainClassifier(chain_length=2, n_estimators=5)
    >>> with distributed.Client(
    ...     n_workers=1, processes=False, protocol="tcp", dashboard_address=":0"
    ... ):
    ...     model.fit(X, Y).predict(X[:2]).compute()
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    _local = chain.DynamicChainClassifier
    _proba_type = np.float32

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        eval_set: EvalSet | None = None,
        callback: RoundCallback | None = None,
        coll_cfg: collective.Config | None = None,
    ) -> Self:
        """Train the chain on the workers.

        Parameters
        ----------
        {collections}
        {groups_in_chunks}
        eval_set : sequence of pairs (X, Y) of Dask collections, optional
            Early stopping evaluates `stop_measure` on the rows of the last pair; they are not used
            for training. X and Y of a pair are in the same chunks of rows.
        callback : callable, optional
            Called on one of the workers after each chain step with its number from 1, the number of
            steps, and the seconds that it took.
        {coll_cfg}

        Returns
        -------
        {fitted_self}

        Raises
        ------
        TypeError
            If X, Y, the weights, the groups or an `eval_set` are not Dask collections.
        ValueError
            If an argument is unknown or out of range, there are fewer rows or groups than folds,
            the chunks do not fit together, the data are not as described, or there is no client.
        {errors_on_workers}

        Warns
        -----
        UserWarning
            If `chain_length` is above the number of labels, or a label is unknown in all rows.
        """
        params = self._native_booster_params()
        self._check_params()
        self._check_stopping(bool(eval_set))
        require_plugin(type(self).__name__)
        # Another estimator learns, so that this one is unchanged if training fails.
        local = chain.DynamicChainClassifier(**self.get_params())
        placed = self._place(local, self.sparse_zeros, X, Y, sample_weight, groups)
        params |= self._choose_sketch(placed, local, params)
        folds: Sequence[Future | None] = [None] * len(placed.rows)
        if self._propagates_out_of_fold():
            folds = self._deal_folds(
                placed, self.cv, params.get("seed"), by_groups=groups is not None
            )
        parts: dict[Place, WorkerParts] = {
            place: (own, []) for place, own in placed.by_place(folds).items()
        }
        measured = self._place_measured_rows(eval_set, local, [place.address for place in parts])
        for (_, of_worker), further in zip(parts.values(), measured, strict=False):
            of_worker.append(further)

        plan = local._plan(folds=None)
        params = local._settled(params, plan)
        train = partial(
            _train,
            estimator=local,
            absent=placed.absent,
            has_eval_set=bool(eval_set),
            params=params,
            n_jobs=self._n_jobs(),
            plan=plan,
            callback=local._reporter(callback),
        )
        boosters, scores = run_together(self.client, train, parts, coll_cfg)
        for booster in itertools.chain.from_iterable(boosters):
            # It was trained with the number of threads of a worker.
            booster.set_param({"nthread": params.get("nthread", 0)})
        local._learn(plan, boosters, scores)
        become_fitted(self, local)
        return self

    def _n_jobs(self) -> int | None:
        n_jobs: int | None = self.booster_params.get("nthread", self.n_jobs)
        return n_jobs

    def _place_measured_rows(
        self, eval_set: Any, local: chain.DynamicChainClassifier, addresses: Sequence[str]
    ) -> list[Future]:
        placed: list[Future] = []
        for number, (X, Y) in enumerate(checked_pairs(eval_set)):
            try:
                placed = place_measured_rows(self.client, X, Y, local, addresses)
            except (TypeError, ValueError) as error:
                raise type(error)(f"eval_set[{number}]: {error}") from error
        return placed

    def _choose_sketch(
        self,
        placed: PlacedRows,
        local: chain.DynamicChainClassifier,
        params: Mapping[str, Any],
    ) -> dict[str, int]:
        """Let a worker choose what is ``"auto"``, on a sample of the rows."""
        if AUTO not in (params.get("sketch_size"), params.get("labels_per_tree")):
            return {}
        client, rows = self.client, placed.rows
        lengths = client.gather(client.map(_length, rows, pure=False))
        positions = draw_positions(lengths, RACE_ROWS, params.get("seed", 0))
        drawn = client.map(_take, rows, positions, pure=False)
        choose = partial(
            _choose,
            local=local,
            absent=placed.absent,
            params=local._on_data(params),
            n_jobs=self._n_jobs(),
        )
        chosen: dict[str, int] = client.submit(choose, drawn, pure=False).result()
        return chosen

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Predict the probability of every label after each chain step.

        {takes_any_X}

        Yields
        ------
        float32 array of shape (n_samples, n_labels)
            A Dask array, not computed yet, if X is a Dask collection. The chain runs once if
            they are computed together, ``dask.compute(*chain.staged_predict_proba(X))``.
            The same holds for `staged_predict`.

        {raises_in_predict}
        """
        if not is_collection(X):
            return super().staged_predict_proba(X)
        check_is_fitted(self)
        stages = self._map(_stages, X, (self.n_rounds_, self.n_labels_), np.float32)
        return (stages[:, round_] for round_ in range(self.n_rounds_))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict labels after each chain step; for a Dask collection Dask arrays."""
        if not is_collection(X):
            return super().staged_predict(X)
        return (self._decide(Y_proba) for Y_proba in self.staged_predict_proba(X))

    def chain_order(self, X: Any) -> ChainOrder:
        """Return which label was propagated in which chain step, and with which value.

        {takes_any_X}

        Returns
        -------
        ChainOrder
            Arrays `labels` and `values` of shape (n_samples, n_rounds * labels_per_round): Dask
            arrays, not computed yet, if X is a Dask collection; ``dask.compute(order)[0]`` has
            them computed.

        {raises_in_predict}
        """
        if not is_collection(X):
            return super().chain_order(X)
        check_is_fitted(self)
        k = self.rule_.labels_per_round
        order = self._map(_order, X, (2, self.n_rounds_ * k), np.float64)
        return ChainOrder(order[:, 0].astype(np.intp), order[:, 1].astype(np.float32), k)


def _length(rows: WorkerRows) -> int:
    return len(rows.data.Y)


def _take(rows: WorkerRows, positions: NDArray[np.intp]) -> FitData:
    return rows.data.take(positions)


def _choose(
    drawn: Sequence[FitData],
    *,
    local: chain.DynamicChainClassifier,
    absent: NDArray[np.bool_],
    params: Mapping[str, Any],
    n_jobs: int | None,
) -> dict[str, int]:
    return choose_sketch(_with_threads(params, n_jobs), put_together(drawn, local, absent))


def _with_threads(params: Mapping[str, Any], n_jobs: int | None) -> dict[str, Any]:
    return {**params, "nthread": threads_of_worker(n_jobs)}


def _train(
    parts: WorkerParts,
    *,
    estimator: chain.DynamicChainClassifier,
    absent: NDArray[np.bool_],
    has_eval_set: bool,
    params: Mapping[str, Any],
    n_jobs: int | None,
    plan: ChainPlan,
    callback: RoundCallback,
) -> tuple[list[list[xgb.Booster]], list[float] | None]:
    """Train on a worker's rows, as one of several workers; return boosters and scores."""
    rows, measured = parts
    data = put_together([of_rows.data for of_rows, _ in rows], estimator, absent)
    folds = [of_rows for _, of_rows in rows if of_rows is not None]
    if folds:
        plan = replace(plan, folds=np.concatenate(folds))
    eval_set = [pair for pair in measured if pair is not None]
    if has_eval_set and not eval_set:
        eval_set = [(data.X[:0], data.Y[:0])]  # its rows are on other workers
    watch = estimator._watch(data.Y, eval_set, plan)
    boosters = train_chain(
        data,
        _with_threads(params, n_jobs),
        plan,
        watch=watch,
        callback=callback if collective.get_rank() == 0 else None,
    )
    return boosters, None if watch is None else watch.scores


def _stages(model: chain.DynamicChainClassifier, X: Any) -> NDArray[np.float32]:
    return np.stack(list(model.staged_predict_proba(X)), axis=1)


def _order(model: chain.DynamicChainClassifier, X: Any) -> NDArray[np.float64]:
    order = model.chain_order(X)
    return np.stack((order.labels, order.values), axis=1)
