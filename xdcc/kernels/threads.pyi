QUOTA: int
"""Processors that the quotas of this process's control groups leave it."""

def n_threads(n_jobs: int | None) -> int:
    """Return `n_jobs`; for None or -1 the number of processors that this process may use.

    These are what its CPU affinity and its control groups' quotas leave, or ``OMP_NUM_THREADS`` if
    it is set, as joblib and Dask do in their workers. The kernels do not use OpenMP, and
    threadpoolctl has no influence on them.
    """
