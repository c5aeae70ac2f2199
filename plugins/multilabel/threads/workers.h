/**
 * @brief Threads that share the tasks of a parallel region, and are waited for only within a task.
 *
 * The thread that begins a region claims its tasks one after the other, and so do workers that are
 * free. At the end only claimed tasks are waited for: a worker that the system keeps from running
 * delays no other thread, unless it was stopped within a task. An OpenMP region, in contrast, ends
 * when every thread has arrived, which on a busy machine takes a time slice of another process.
 *
 * How many workers a region gets follows from the work that is expected of it, and from what each
 * worker's help was worth lately (`helper_rule.h`). Several threads can begin regions at once: then
 * there are workers for each of them, as many as processors at most. Workers have the affinity and
 * the priority of the thread that they help.
 *
 * Standard C++17, no XGBoost: the kernels in Cython use it too (`xdcc/kernels`).
 */
#ifndef XDCC_MULTILABEL_THREADS_WORKERS_H_
#define XDCC_MULTILABEL_THREADS_WORKERS_H_

#include <cstdint>  // for int64_t

namespace xdcc {
/** @brief The work of a region: called with its data and the number of the task. Must not throw. */
using Task = void (*)(void* data, int number);

/**
 * @brief Call `task` once for each number in [0, n_tasks), and return when all calls have ended.
 *
 * Which thread makes which call is open, the numbers are not: what is computed by number does not
 * depend on the load. A region within a task runs on the thread of the task.
 *
 * @param n_tasks Number of tasks, and the most threads that work on them.
 * @param size    Number of iterations of all tasks together; the time of an iteration is what is
 *                remembered of a region.
 * @param site    By what the region is known again; by default the task.
 */
void RunTasks(int n_tasks, Task task, void* data, std::int64_t size, void const* site = nullptr);

/**
 * @brief Let workers join the region of this thread if it takes longer than expected.
 *
 * For tasks that claim their iterations while they run: to be called between them.
 */
void AskForHelp();

/** @brief How many threads, of `n`, a region can get now: fewer if workers rest. */
int UsefulThreads(int n);

/** @brief Number of the task that this thread is in; -1: in none. */
int TaskNumber();
/** @brief Say that this thread is in a task from now on (-1: in none); return where it was. */
int EnterTask(int number);

/** @brief For tests: act as if threads could use this many processors. */
void PretendProcessors(int n);
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_WORKERS_H_
