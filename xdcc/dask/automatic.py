"""``DaskMultiLabelClassifier``: the classifier of ``xdcc.automatic``, trained on several workers.

All workers search together (:class:`xdcc.automatic.search.Search`), each on its own rows, for a
mixture of boosters: forests, linear models and a second level are not trained on Dask. Margins out
of fold stay with the rows; losses are added up. A sample of the rows goes to all workers to
calibrate a candidate, and from one of them to the client to choose the decision rule.
"""

import time
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from distributed import Future
from numpy.typing import NDArray
from xgboost import collective

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.search import Search, SearchResult, TimeBudget
from xdcc.base.checks import check_fit_data
from xdcc.base.domains import Number
from xdcc.base.folds import Folds
from xdcc.base.plugin import require_plugin
from xdcc.base.seeds import seed_from
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.dask.client_rows import place_rows, stand_ins
from xdcc.dask.communicator import Place, run_together
from xdcc.dask.estimator import (
    DaskEstimator,
    absent_labels,
    become_fitted,
    put_together,
    threads_of_worker,
)
from xdcc.dask.worker_rows import WorkerRows


class DaskMultiLabelClassifier(DaskEstimator, MultiLabelClassifier):
    """Mixes boosters that are trained on the workers of a Dask cluster; keeps what is best.

    Has the parameters and attributes of :class:`xdcc.MultiLabelClassifier`, with these differences:

    * The candidates are boosters; forests, linear models and a second level are not trained on
      Dask.
    * `cv` is a number of folds, and `fit` takes no groups.
    * `n_jobs` is the number of threads of each worker, by default as many as the worker has for its
      tasks, limited by the CPUs that its process may use.
    * `verbose` shows the progress on one of the workers.
    * `oof_proba_` and `folds_` are those of the rows that the decision rule is chosen on: all rows
      if Y has at most two million entries, otherwise a sample of them.

    Every worker needs this package and the XGBoost of this project.

    Attributes
    ----------
    client : distributed.Client
        Where to train; by default the current client. It is neither copied nor pickled with the
        estimator.

    Notes
    -----
    The first worker gets the first chunks of rows, and so on; chunks that are elsewhere are copied
    there. Folds, candidates and mixture are those of a local search among boosters. The models are
    equal, except for rounding, if no feature has more values than a booster has bins (64).
    Otherwise the quantiles of the workers are merged, and bins can differ slightly. With a
    `time_budget`, or when members are trained on all rows with ``refit=True``, each worker can draw
    its own rows. On rows of a sample, see `oof_proba_`, the labels are calibrated, and the client
    chooses the rule; all other margins stay with the workers.

    Examples
    --------
    >>> import dask.array
    >>> import distributed
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> X, Y = (dask.array.from_array(part, chunks=(50, -1)) for part in (data.X, data.Y))
    >>> with distributed.Client(
    ...     n_workers=1, processes=False, protocol="tcp", dashboard_address=":0"
    ... ):
    ...     model = DaskMultiLabelClassifier("subset_accuracy", cv=2).fit(X, Y)
    ...     model.predict(X).compute().shape
    (100, 3)
    """

    _local = MultiLabelClassifier
    _proba_type = np.float64
    _domains = MappingProxyType({"cv": Number(low=2, whole=True)})

    def fit(  # type: ignore[override]
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        coll_cfg: collective.Config | None = None,
    ) -> Self:
        """Train the candidates on the workers, mix them, and choose the rule.

        Parameters
        ----------
        X : Dask array or DataFrame of shape (n_samples, n_features)
            In chunks of rows: NumPy arrays, CSR matrices or DataFrames, which may have
            categorical columns, with the same categories or not. NaN is a missing value.
        Y : Dask array, DataFrame or Series of shape (n_samples, n_labels)
            In the same chunks: 0, 1, or NaN for unknown. One dimension is a single label.
        sample_weight : Dask array or Series of shape (n_samples,), optional
            Weights of the rows, in the same chunks.
        coll_cfg : xgboost.collective.Config, optional
            Addresses, ports and timeouts of the workers' connections.

        Returns
        -------
        self : DaskMultiLabelClassifier
            The fitted estimator.

        Raises
        ------
        TypeError
            If X, Y or the weights are not Dask collections.
        ValueError
            If an argument is out of range, there are fewer rows than folds, the chunks do not fit
            together, the data are not as described, or there is no client.
        WorkerLostError
            If a worker disappears during training. The estimator is left as it was.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.

        Warns
        -----
        UserWarning
            If a label is unknown in all rows, or `time_budget` is too short for any candidate: the
            model is then a booster of one round for each fold.
        """
        started = time.perf_counter()
        self._check_params()
        require_plugin(type(self).__name__)
        client = self._training_client()
        rows, summaries = place_rows(client, X, Y, sample_weight, "missing")
        booster = MultiLabelXGBClassifier()
        learned = check_fit_data(booster, *stand_ins(summaries))
        absent = absent_labels(summaries)
        local = MultiLabelClassifier(**self.get_params())
        local._learn_from(learned)
        local._measure_of_labels()
        local._constraints_of_labels()
        seed = seed_from(self.random_state)
        parts: dict[Place, list[Sequence[Future]]] = {}
        folds = self._deal_folds(rows, absent, int(self.cv), seed)
        for summary, *part in zip(summaries, rows, folds, strict=True):
            parts.setdefault(summary.place, []).append(part)
        search = partial(
            _search,
            booster=booster,
            absent=absent,
            seed=seed,
            n_jobs=self.n_jobs,
            refit=bool(self.refit),
            begun=time.perf_counter() - started,
            time_budget=self.time_budget,
            verbose=bool(self.verbose),
        )
        found: SearchResult = run_together(client, search, parts, coll_cfg)
        for member in found.members:
            for model in member.estimators:
                # It was trained with the number of threads of a worker.
                model.set_params(n_jobs=self.n_jobs)
                n_threads = model._native_booster_params().get("nthread", 0)
                model.booster_.set_param({"nthread": n_threads})
        # Another estimator learns, so that what this one had learned before is forgotten.
        local._require_value(found.data)
        local._learn(found, seed, TimeBudget(started, self.time_budget))
        local.folds_ = found.folds
        local.oof_proba_ = found.calibration.proba(found.data.X)
        become_fitted(self, local)
        return self


def _search(
    parts: Sequence[tuple[WorkerRows, NDArray[np.intp]]],
    *,
    booster: MultiLabelXGBClassifier,
    absent: NDArray[np.bool_],
    seed: int,
    n_jobs: int | None,
    refit: bool,
    begun: float,
    time_budget: float | None,
    verbose: bool,
) -> SearchResult:
    """Search on a worker's rows, as one of several workers; return the mixture and a sample.

    `begun` says how many seconds of the budget are over.
    """
    data = put_together([rows.data for rows, _ in parts], booster, absent)
    budget = TimeBudget(time.perf_counter() - begun, time_budget)
    search = Search(
        data,
        Folds(np.concatenate([folds for _, folds in parts])),
        refit=refit,
        seed=seed,
        n_jobs=threads_of_worker(n_jobs),
        budget=budget,
        verbose=verbose and collective.get_rank() == 0,
        only_boosters=True,
    )
    return search.run().sample(budget.entries)
