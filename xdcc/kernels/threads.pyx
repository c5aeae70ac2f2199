"""How many threads there are, from the OpenMP that every kernel is linked to."""

cimport openmp


def n_threads(n_jobs):
    """Number of threads for `n_jobs`; see ``threads.pyi``."""
    return openmp.omp_get_max_threads() if n_jobs is None or n_jobs == -1 else n_jobs
