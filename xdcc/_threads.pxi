# Every kernel module asks the OpenMP that it is linked to.

def n_threads(n_jobs):
    """Number of threads for ``n_jobs``: what OpenMP offers if it is None."""
    return openmp.omp_get_max_threads() if n_jobs is None else n_jobs
