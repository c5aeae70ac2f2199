/**
 * @brief Threads that share the tasks of a parallel region, and are waited for only within a task.
 *
 * The thread that begins a region claims its tasks one after the other, and so do workers that are
 * free. At the end only claimed tasks are waited for: a worker that the system keeps from running
 * delays nobody, unless it was stopped within a task. An OpenMP region, in contrast, ends when
 * every thread has arrived, which on a busy machine takes a time slice of another process.
 *
 * A worker without work spins for some tens of microseconds, since the next region usually comes
 * sooner than that, then sleeps. Where workers lose time to other processes, regions do without
 * them for a while (`Pool::Busy`), the longer the more often it happens.
 *
 * Standard C++17, no XGBoost: the kernels in Cython use it too (`xdcc/kernels`).
 */
#ifndef XDCC_MULTILABEL_THREADS_WORKERS_H_
#define XDCC_MULTILABEL_THREADS_WORKERS_H_

namespace xdcc {
/** @brief What a region does: called with its data and the number of the task. Must not throw. */
using Task = void (*)(void* data, int number);

/**
 * @brief Call `task` once for each number in [0, n_tasks), and return when all calls have ended.
 *
 * Which thread makes which call is open, the numbers are not: what is computed by number does not
 * depend on the load. A region within a task runs on the thread of the task.
 *
 * @param n_tasks Number of tasks, and the most threads that work on them.
 * @param site    By what the region is known again, so that short ones do without workers; by
 *                default the task.
 */
void RunTasks(int n_tasks, Task task, void* data, void const* site = nullptr);

/** @brief How many threads, of `n`, a region would get now: 1 on a busy machine. */
int UsefulThreads(int n);

/** @brief Number of the task that this thread is in; -1: in none. */
int TaskNumber();
/** @brief Say that this thread is in a task from now on (-1: in none); return where it was. */
int EnterTask(int number);
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_WORKERS_H_
