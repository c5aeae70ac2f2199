/**
 * @brief Records how long each task of XGBoost's parallel regions takes, all of them on one thread.
 *
 * While a thread records, its regions run on it alone, one task after the other, with as many tasks
 * as there would be with the recorded number of threads, which may exceed the number of processors.
 * From these times follows how long the regions take on any number of threads that share nothing
 * but the order in which tasks are claimed. Models are the same.
 *
 * Time in which the system ran another process does not count.
 */
#ifndef XDCC_MULTILABEL_THREADS_SPAN_RECORDER_H_
#define XDCC_MULTILABEL_THREADS_SPAN_RECORDER_H_

#include <cstddef>        // for size_t
#include <cstdint>        // for int64_t, uint32_t
#include <string>         // for string
#include <unordered_map>  // for unordered_map
#include <vector>         // for vector

#include "workers.h"  // for Task, Team

namespace xdcc {
/** @brief The CPU time of a thread, which is usually read without a system call. */
class BusyClock {
 public:
  BusyClock();
  /** @brief Nanoseconds since the clock was made; never less than before. */
  std::int64_t Now();

 private:
  std::int64_t wall_begin_, cpu_begin_, last_, lost_{0}, busy_{0};
};

class SpanRecorder {
 public:
  explicit SpanRecorder(int n_threads) : n_threads_{n_threads} {}

  [[nodiscard]] int NumThreads() const { return n_threads_; }
  /**
   * @brief Run the tasks of a region and record them.
   *
   * @param name Name of the region; must live as long as the recorder.
   * @param team The threads that share the tasks. If there are more tasks, each has the number of
   *             the thread that would be free first; else the t-th has number t.
   */
  void Run(char const* name, std::size_t n_tasks, Team team, Task task, void* data);
  /**
   * @brief Return the records until now, in nanoseconds, as JSON.
   *
   * {"total": ..., "names": [...], "regions": [[name, begin, end, [time of each task]], ...]}
   */
  [[nodiscard]] std::string ToJson();

 private:
  struct Region {
    std::uint32_t name;
    std::int64_t begin, end;
    std::vector<std::int64_t> tasks;
  };

  int n_threads_;
  BusyClock clock_;
  std::unordered_map<char const*, std::uint32_t> numbers_;
  std::vector<char const*> names_;
  std::vector<Region> regions_;
};

/** @brief This thread's recorder; null if it does not record, or is within a task. */
SpanRecorder* CurrentRecorder();
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_SPAN_RECORDER_H_
