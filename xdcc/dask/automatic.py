"""``DaskMultiLabelClassifier``: the classifier of ``xdcc.automatic``, trained on several workers.

All workers search together (:class:`xdcc.automatic.search.Search`), each on its own rows. Boosters
add up histograms, and linear models losses and gradients, so that both are those of all rows. A
forest has trees of each worker, as large a share of them as the worker has of the rows; they grow
on the worker's rows, and all workers get all trees. Margins out of fold stay with the rows; losses
are added up. A sample of the rows goes to all workers to calibrate a candidate, and from one of
them to the client to choose the decision rule.
"""

import time
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from xgboost import collective

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.families import FAMILIES, MemberLike, families_of
from xdcc.automatic.search import Search
from xdcc.automatic.search_result import SearchResult
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.domains import Either, Number, SomeOf
from xdcc.base.folds import Folds, require_known
from xdcc.base.plugin import require_plugin
from xdcc.base.seeds import seed_from
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.dask.communicator import run_together
from xdcc.dask.estimator import (
    DaskEstimator,
    become_fitted,
    put_together,
    threads_of_worker,
)
from xdcc.dask.worker_rows import WorkerRows
from xdcc.decision.proba_metrics import require_value


class DaskMultiLabelClassifier(DaskEstimator, MultiLabelClassifier):
    """Mixes models that are trained on the workers of a Dask cluster; keeps what is best.

    Has the parameters and attributes of :class:`xdcc.MultiLabelClassifier`, with these differences:

    * Each tree of a forest grows on the rows of one worker. Its leaves list the labels of these
      rows, so labels, but no features, go to the other workers and to the client with it.
    * `cv` is a number of folds.
    * `members` are names of families of this package.
    * `distil` is False. ``xdcc.distil(model.to_local(), X, Y)`` trains a student in this process.
    * `n_jobs` is the number of threads of each worker, by default as many as the worker has for its
      tasks, limited by the CPUs that its process may use. Linear models use one thread.
    * `verbose` shows the progress on one of the workers.
    * `oof_proba_` and `folds_` are those of the rows that the decision rule is chosen on: all rows
      if Y has at most two million entries, otherwise a sample of them.

    {on_workers}

    Notes
    -----
    The first worker gets the first chunks of rows, and so on; chunks that are elsewhere are copied
    there. Folds and candidates are those of a local search. Boosters and linear models are those of
    the local estimator, except for rounding, if no feature has more values than a booster has bins
    (64). Otherwise the quantiles of the workers are merged, and bins can differ slightly. Forests
    differ, as their trees see fewer rows. With a `time_budget` each worker can draw its own rows
    for a booster. On rows of a sample, see `oof_proba_`, the labels are calibrated, and the client
    chooses the rule; all other margins stay with the workers. One worker gets the labels of all
    rows, or their groups, to divide them into folds.

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
    _domains = MappingProxyType(
        {"cv": Number(low=2, whole=True), "members": Either(SomeOf(tuple(FAMILIES)), None)}
    )

    # Workers cannot call the client's function, and an interrupt reaches the client alone.
    def fit(  # type: ignore[override]
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        coll_cfg: collective.Config | None = None,
    ) -> Self:
        """Train the candidates on the workers, mix them, and choose the rule.

        Parameters
        ----------
        {collections}
        {groups_in_chunks}
        {coll_cfg}

        Returns
        -------
        {fitted_self}

        Raises
        ------
        TypeError
            If X, Y, the weights or the groups are not Dask collections.
        ValueError
            If an argument is out of range, there are fewer rows or groups than folds, a fold trains
            on no known label, a metric of probabilities has no value for the labels, the chunks do
            not fit together, the data are not as described, or there is no client.
        {errors_on_workers}

        Warns
        -----
        UserWarning
            If a label is unknown in all rows, memory does not suffice for a forest on one of the
            workers, or `time_budget` is too short for any candidate: the model is then a booster of
            one round for each fold.
        """
        started = time.perf_counter()
        self._check_params()
        if self.distil:
            raise ValueError("distil=True: fit without it, and give `to_local()` to xdcc.distil.")
        require_plugin(type(self).__name__)
        booster = MultiLabelXGBClassifier(unknown_categories=self.unknown_categories)
        placed = self._place(booster, "missing", X, Y, sample_weight, groups)
        local = MultiLabelClassifier(**self.get_params())
        local._learn_from(placed.learned)
        local._metric_of_labels()
        local._constraints_of_labels()
        seed = seed_from(self.random_state)
        folds = self._deal_folds(placed, int(self.cv), seed, by_groups=groups is not None)
        search = partial(
            _search,
            booster=booster,
            absent=placed.absent,
            members=self.members,
            measure=self.measure if isinstance(self.measure, str) else None,
            seed=seed,
            n_jobs=self.n_jobs,
            refit=self.refit,
            begun=time.perf_counter() - started,
            time_budget=self.time_budget,
            verbose=bool(self.verbose),
        )
        found: SearchResult = run_together(self.client, search, placed.by_place(folds), coll_cfg)
        for model in (each for member in found.all_members for each in member.estimators):
            # It was trained with the number of threads of a worker.
            model.set_params(n_jobs=self.n_jobs)
            if isinstance(model, MultiLabelXGBClassifier):
                n_threads = model._native_booster_params().get("nthread", 0)
                model.booster_.set_param({"nthread": n_threads})
        require_value(self.measure, found.data)  # of a sample, which can lack a value that all have
        # Another estimator learns, so that what this one had learned before is forgotten.
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
    members: Sequence[MemberLike] | None,
    measure: str | None,
    seed: int,
    n_jobs: int | None,
    refit: bool | Literal["auto"],
    begun: float,
    time_budget: float | None,
    verbose: bool,
) -> SearchResult:
    """Search on a worker's rows, as one of several workers; return the mixture and a sample.

    `begun` says how many seconds of the budget are over.
    """
    data = put_together([rows.data for rows, _ in parts], booster, absent)
    own_folds = Folds(np.concatenate([folds for _, folds in parts]))
    require_known(own_folds, data)
    require_value(measure, data)
    budget = TimeBudget(time.perf_counter() - begun, time_budget)
    search = Search(
        data,
        families_of(members),
        own_folds,
        refit=refit,
        seed=seed,
        n_jobs=threads_of_worker(n_jobs),
        budget=budget,
        verbose=verbose and collective.get_rank() == 0,
    )
    return search.run().sample(budget.entries)
