"""Parallel loops on the worker threads of the plugin (``plugins/multilabel/threads``)."""

from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic, memory_order_relaxed

cdef extern from "workers.h" namespace "xdcc" nogil:
    ctypedef void (*Task)(void* data, int number) noexcept
    void RunTasks(int n_tasks, Task task, void* data, int64_t size, const void* site)
    void AskForHelp()
    void PretendProcessors(int n)

cdef extern from "cpu_quota.h" namespace "xdcc" nogil:
    double CpuQuota(const char* process)


cdef cppclass Loop:
    int64_t n
    int64_t chunk
    Iteration iteration
    void* data
    atomic[int64_t] next           # the first unclaimed iteration


cdef void claim_iterations(void* data, int thread) noexcept nogil:
    """Claim and run chunks until none is left."""
    cdef Loop* loop = <Loop*>data
    cdef int64_t begin, i
    while True:
        begin = loop.next.fetch_add(loop.chunk, memory_order_relaxed)
        if begin >= loop.n:
            return
        for i in range(begin, min(begin + loop.chunk, loop.n)):
            loop.iteration(loop.data, i, thread)
        AskForHelp()


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
        RunTasks(n_tasks, claim_iterations, &loop, n, <void*>iteration)
    else:
        claim_iterations(&loop, 0)


def cpu_quota(str process="/proc/self"):
    """Read the CPU quota of control groups; see ``threads.pyi``."""
    return CpuQuota(process.encode())


def pretend_processors(int n):
    """Run loops as if processors were idle; see ``threads.pyi``."""
    PretendProcessors(n)
