"""Parallel loops of the kernels on one shared pool of threads."""

from libc.stdint cimport int64_t

# An iteration receives the data of the loop, its number, and a thread number below `n_threads` to
# select working memory: no two concurrent iterations have the same. It must catch its exceptions.
ctypedef void (*Iteration)(void* data, int64_t number, int thread) noexcept nogil


# Run the iterations 0 to n - 1 and return when all have ended. Threads claim `chunk` iterations at
# a time. A loop inside a parallel loop runs in one thread.
cdef void run_loop(
    int64_t n, int64_t chunk, int n_threads, Iteration iteration, void* data
) noexcept nogil


cdef inline int threads_worth(int n_threads, double work, double least) noexcept nogil:
    """Return all threads if there is enough work, else 1: waking a thread takes microseconds."""
    return n_threads if work >= least else 1
