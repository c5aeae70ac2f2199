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

/** @brief The threads of a region, seen by one of them: what OpenMP promises to a thread. */
struct Team {
  /** @brief Number of the thread, which is the number of its task. */
  int number{0};
  /** @brief Number of threads; 0: the thread is in no region. */
  int size{0};
  /** @brief Whether the team, or one around it, has several threads. */
  bool in_parallel{false};
  /** @brief Maximum number of threads of a region that begins here; 0: as for any thread. */
  int max_threads{0};
};

/** @brief The team of this thread in the innermost region. */
Team const& CurrentTeam();

/** @brief While it lives, this thread is in another team. */
class InTeam {
 public:
  explicit InTeam(Team const& team);
  ~InTeam();
  InTeam(InTeam const&) = delete;
  InTeam& operator=(InTeam const&) = delete;
  /** @brief A team of one, as of a region for which one thread was asked. */
  static Team OfOne();

 private:
  Team const outer_;
};

/**
 * @brief Call `task` once for each number in [0, n_tasks), and return when all calls have ended.
 *
 * Which thread makes which call is open, the numbers are not: what is computed by number does not
 * depend on the load. A region in a task of another one runs on the thread of that task, and has
 * the numbers of a team of its own.
 *
 * @param n_tasks Number of tasks, and the most threads that work on them.
 * @param size    Number of iterations of all tasks together; the time of an iteration is what is
 *                remembered of a region.
 * @param site    By what the region is known again; by default the task.
 * @param team    Its size, if it is not the number of tasks, and the maximum number of threads.
 */
void RunTasks(int n_tasks, Task task, void* data, std::int64_t size, void const* site = nullptr,
              Team team = {});

/**
 * @brief Let workers join the region of this thread if it takes longer than expected.
 *
 * For tasks that claim their iterations while they run: to be called between them.
 */
void AskForHelp();

/** @brief How many threads, of `n`, a region can get now: fewer if workers rest. */
int UsefulThreads(int n);

/** @brief For tests: act as if there were this many idle processors, on which no worker rests. */
void PretendProcessors(int n);
/** @brief The number of these processors; 0: those of the machine. */
int PretendedProcessors();
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_WORKERS_H_
