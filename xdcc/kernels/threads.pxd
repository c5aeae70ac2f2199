"""When a kernel uses its threads."""


cdef inline int threads_worth(int n_threads, double work, double least) noexcept nogil:
    """All threads if there are at least so many steps of work, else one.

    Threads that wait for each other cost microseconds on an idle machine but many milliseconds on
    a busy one.
    """
    return n_threads if work >= least else 1
