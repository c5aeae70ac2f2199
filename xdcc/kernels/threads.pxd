"""Parallel loops of the kernels, which share one pool of threads, and when threads are worth it."""

from libc.stdint cimport int64_t

# An iteration: gets the loop's data, its own number, and a number below `n_threads` that no other
# iteration has at the same time, for working memory. What raises in it has to be caught there.
ctypedef void (*Iteration)(void* data, int64_t number, int thread) noexcept nogil


# Run the iterations 0 to n - 1: free threads claim the next `chunk` of them. Return when all have
# ended. A loop within a loop of several threads has one thread.
cdef void run_loop(
    int64_t n, int64_t chunk, int n_threads, Iteration iteration, void* data
) noexcept nogil


cdef inline int threads_worth(int n_threads, double work, double least) noexcept nogil:
    """All threads if there are at least so many steps of work, else one.

    Waking a thread costs microseconds, which a short loop does not save.
    """
    return n_threads if work >= least else 1
