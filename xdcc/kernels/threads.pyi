def n_threads(n_jobs: int | None) -> int:
    """Return `n_jobs`, or the number of threads that OpenMP offers if it is None."""
