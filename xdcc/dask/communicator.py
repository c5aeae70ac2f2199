"""One function on several Dask workers at once, connected by XGBoost's collective.

:func:`run_together` starts a tracker on the scheduler, as ``xgboost.dask`` does, submits a task to
every worker, and watches them. Tasks of one communicator need each other. So when a worker is gone
or fails, nothing is repeated and no worker is left waiting; the call raises an error instead.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from distributed import Client, Future, KilledWorker, MultiLock, futures_of, get_worker
from distributed.comm import get_address_host
from xgboost import collective
from xgboost.core import XGBoostError
from xgboost.tracker import RabitTracker

_POLL_SECONDS = 0.2
_SHORT_POLL_SECONDS = 0.02
_GRACE_SECONDS = 3.0
"""Time that the other workers have to notice a failure themselves."""

_trackers: dict[str, RabitTracker] = {}
"""On the scheduler: the trackers of running trainings."""


class WorkerLostError(RuntimeError):
    """A Dask worker disappeared while training together with others."""


@dataclass(frozen=True)
class Place:
    """A worker process.

    Attributes
    ----------
    address : str
        Address of the worker.
    process : str
        Identity of the process: a restarted worker can have the same address.
    """

    address: str
    process: str

    @classmethod
    def here(cls) -> Self:
        """Return the worker that runs the current task."""
        worker = get_worker()
        return cls(worker.address, worker.id)


def run_together(
    client: Client,
    function: Callable[[Any], Any],
    arguments: Mapping[Place, Any],
    coll_cfg: collective.Config | None = None,
) -> Any:
    """Call a function on several workers at once, inside one communicator.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one.
    function : callable
        Called with its argument on every worker. It can use `xgboost.collective`.
    arguments : mapping from Place to Future or list of Future
        The argument of each worker. Their order is that of the ranks.
    coll_cfg : xgboost.collective.Config, optional
        Addresses, ports and timeouts of the communicator.

    Returns
    -------
    object
        Result of the function on the worker with rank 0.

    Raises
    ------
    WorkerLostError
        If a worker disappeared before all were done, or lost the connection to the others.
    Exception
        Any exception of the function on a worker.
    """
    config = collective.Config() if coll_cfg is None else coll_cfg
    addresses = [place.address for place in arguments]
    _await_arguments(client, arguments)
    # The lock is the one of xgboost.dask. Without it, two trainings could wait forever for a thread
    # that the other one occupies.
    with (
        MultiLock(addresses, client=client),
        _tracker(client, len(addresses), config) as tracker_args,
    ):
        tasks = {
            # Only on this worker: with a mere preference, an idle worker could steal the task.
            place: client.submit(
                _call,
                place,
                function,
                argument,
                {**tracker_args, "dmlc_task_id": f"{number:08d} {place.address}"},
                config,
                workers=[place.address],
                pure=False,
            )
            for number, (place, argument) in enumerate(arguments.items())
        }
        while not _all_done(tasks) and not _lost(client, tasks) and not _failed(tasks):
            time.sleep(_POLL_SECONDS)
        # Keep the tracker for a while: a worker cannot leave the communicator without it, and would
        # report that instead of its own error.
        _let_end(client, tasks)
    # Workers that still wait for others to connect fail now.
    _let_end(client, tasks)

    failed = _failed(tasks)
    if not failed and all(task.status == "finished" for task in tasks.values()):
        return dict(client.gather(list(tasks.values())))[0]
    lost = _lost(client, tasks)
    silent = [place.address for place, task in tasks.items() if not task.done()]
    if lost or all(_is_consequence(task) for task in failed):
        what = "disappeared" if lost else "do not answer" if silent else "lost their connections"
        raise WorkerLostError(
            f"Of the {len(tasks)} workers that trained together, some {what}: "
            f"{', '.join(lost or silent or addresses)}. The training was stopped and there is no "
            "model. The logs of the workers may say more; a common reason is too little memory."
        ) from next((task.exception() for task in failed), None)
    return min(failed, key=_is_consequence).result()  # raises, with the worker's traceback


def _call(
    place: Place,
    function: Callable[[Any], Any],
    argument: Any,
    tracker_args: dict[str, Any],
    config: collective.Config,
) -> tuple[int, Any]:
    """Run on a worker; return its rank and, on rank 0, the result of the function."""
    if Place.here() != place:
        raise WorkerLostError(f"The worker at {place.address} was restarted.")
    with collective.CommunicatorContext(**config.update_worker_args(dict(tracker_args))):
        rank = collective.get_rank()
        result = function(argument)
        return rank, result if rank == 0 else None


@contextmanager
def _tracker(client: Client, n_workers: int, config: collective.Config) -> Iterator[dict[str, Any]]:
    """Run a tracker on the scheduler; yield the arguments that connect workers to it."""
    host = config.tracker_host_ip
    if host is None:
        host = get_address_host(client.scheduler_info()["address"])
    name = uuid.uuid4().hex
    tracker_args = client.run_on_scheduler(
        _start_tracker, name, n_workers, host, config.tracker_port, config.tracker_timeout
    )
    try:
        yield config.get_comm_config(tracker_args)
    finally:
        client.run_on_scheduler(_stop_tracker, name)


def _start_tracker(
    name: str, n_workers: int, host: str, port: int | None, timeout: int | None
) -> dict[str, Any]:
    try:
        tracker = RabitTracker(
            n_workers=n_workers, host_ip=host, port=port or 0, sortby="task", timeout=timeout or 0
        )
    except (XGBoostError, OSError) as error:
        raise RuntimeError(
            f"XGBoost's tracker cannot listen on {host!r}, port {port or 'any'}, on the machine of "
            "the Dask scheduler: set another `tracker_host_ip` or `tracker_port` in coll_cfg."
        ) from error
    tracker.start()
    _trackers[name] = tracker
    return tracker.worker_args()


def _stop_tracker(name: str) -> None:
    # In a thread, since the scheduler must not wait for connections to end.
    threading.Thread(target=_free, args=(_trackers.pop(name),), daemon=True).start()


def _free(tracker: RabitTracker) -> None:
    # After a failure the tracker reports that not all workers have left.
    with suppress(XGBoostError):
        tracker.free()


def _await_arguments(client: Client, arguments: Mapping[Place, Any]) -> None:
    """Wait until all arguments have been computed, unless a worker is gone.

    Otherwise a worker could start and wait for the others with its only thread, although it has to
    compute an argument of another worker.
    """
    futures = futures_of(list(arguments.values()))
    while any(future.status == "pending" for future in futures):
        alive = client.nthreads()
        if any(place.address not in alive for place in arguments):
            return  # the caller reports it
        time.sleep(_SHORT_POLL_SECONDS)


def _all_done(tasks: Mapping[Place, Future]) -> bool:
    return all(task.done() for task in tasks.values())


def _let_end(client: Client, tasks: Mapping[Place, Future]) -> None:
    """Wait for a limited time for the workers that are still there."""
    end = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < end:
        alive = client.nthreads()
        if all(task.done() for place, task in tasks.items() if place.address in alive):
            return
        time.sleep(_POLL_SECONDS)


def _failed(tasks: Mapping[Place, Future]) -> list[Future]:
    return [task for task in tasks.values() if task.status == "error"]


def _lost(client: Client, tasks: Mapping[Place, Future]) -> list[str]:
    alive = client.nthreads()
    return [
        place.address
        for place, task in tasks.items()
        if place.address not in alive
        or task.status in ("cancelled", "lost")
        or (task.status == "error" and isinstance(task.exception(), WorkerLostError | KilledWorker))
    ]


def _is_consequence(task: Future) -> bool:
    """Tell whether a task failed because another worker failed first and could not be reached."""
    error = task.exception()
    return isinstance(error, XGBoostError) and "src/collective/" in str(error)
