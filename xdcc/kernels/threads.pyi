def n_threads(n_jobs: int | None) -> int:
    """Return `n_jobs`, or as many threads as OpenMP offers if it is None or -1."""
