"""Parallel loops on the plugin's workers (``plugins/multilabel/threads``), compiled in here."""

import os

from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic, memory_order_relaxed

cdef extern from "workers.h" namespace "xdcc" nogil:
    ctypedef void (*Task)(void* data, int number) noexcept
    void RunTasks(int n_tasks, Task task, void* data)

cdef extern from "cpu_quota.h" namespace "xdcc" nogil:
    int QuotaCpus()


cdef cppclass Loop:
    int64_t n
    int64_t chunk
    Iteration iteration
    void* data
    atomic[int64_t] next           # the first iteration that is not claimed


cdef void claim_iterations(void* data, int thread) noexcept nogil:
    """Run chunk after chunk until all are claimed."""
    cdef Loop* loop = <Loop*>data
    cdef int64_t begin, i
    while True:
        begin = loop.next.fetch_add(loop.chunk, memory_order_relaxed)
        if begin >= loop.n:
            return
        for i in range(begin, min(begin + loop.chunk, loop.n)):
            loop.iteration(loop.data, i, thread)


cdef void run_loop(
    int64_t n, int64_t chunk, int n_threads, Iteration iteration, void* data
) noexcept nogil:
    cdef Loop loop
    cdef int n_tasks = <int>min(<int64_t>n_threads, (n + chunk - 1) // chunk)
    loop.n = n
    loop.chunk = chunk
    loop.iteration = iteration
    loop.data = data
    loop.next.store(0)
    if n_tasks > 1:
        RunTasks(n_tasks, claim_iterations, &loop)
    else:
        claim_iterations(&loop, 0)


QUOTA = QuotaCpus()


def n_threads(n_jobs):
    """Number of threads for `n_jobs`; see ``threads.pyi``."""
    if n_jobs is not None and n_jobs != -1:
        return n_jobs
    asked, _, _ = os.environ.get("OMP_NUM_THREADS", "").partition(",")
    if asked.strip().isdecimal() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), QUOTA)
    return min(os.cpu_count() or 1, QUOTA)
