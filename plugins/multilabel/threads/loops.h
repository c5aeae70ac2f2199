/**
 * @brief XGBoost's parallel loops on the plugin's workers (`workers.h`).
 *
 * A loop with a static schedule has as many tasks as OpenMP would have threads, each with the same
 * iterations as there: what a thread adds up, and so every model, is the same for a given number of
 * threads. In the loop, `omp_get_thread_num` is the number of the task.
 */
#ifndef XDCC_MULTILABEL_THREADS_LOOPS_H_
#define XDCC_MULTILABEL_THREADS_LOOPS_H_

#include <dmlc/common.h>  // for OMPException
#include <dmlc/omp.h>     // for omp_get_thread_num, omp_in_parallel

#include <algorithm>    // for inplace_merge, max, min, stable_sort
#include <atomic>       // for atomic
#include <cstddef>      // for size_t
#include <cstdint>      // for int32_t, int64_t
#include <type_traits>  // for remove_reference_t

#include "workers.h"  // for AskForHelp, RunTasks, TaskNumber

namespace xgboost {
// In this namespace these two hide OpenMP's functions of the same name.
inline int omp_get_thread_num() {  // NOLINT
  auto const number = xdcc::TaskNumber();
  return number < 0 ? ::omp_get_thread_num() : number;
}
inline int omp_in_parallel() {  // NOLINT
  return xdcc::TaskNumber() >= 0 || ::omp_in_parallel();
}

namespace workers {
/**
 * @brief Call `fn` with each number in [0, n), and rethrow the first exception.
 *
 * @param size Number of iterations of all calls together.
 */
template <typename Func>
void RunTasks(std::int32_t n, std::size_t size, Func&& fn) {
  struct Call {
    std::remove_reference_t<Func>* fn;
    dmlc::OMPException exc;
  } call{&fn, {}};
  xdcc::RunTasks(
      n,
      [](void* data, int number) {
        auto* call = static_cast<Call*>(data);
        call->exc.Run([&] { (*call->fn)(number); });
      },
      &call, static_cast<std::int64_t>(size));
  call.exc.Rethrow();
}

/** @brief The number of threads, unless there are fewer chunks of a loop. */
inline std::int32_t NumTasks(std::size_t size, std::int32_t n_threads, std::size_t chunk) {
  auto const n_chunks = size / chunk + (size % chunk > 0);
  return static_cast<std::int32_t>(std::min<std::size_t>(n_threads, n_chunks));
}

/** @brief A loop whose iterations are taken `chunk` at a time by whichever thread comes first. */
template <typename Index, typename Func>
void LoopByDemand(Index size, std::int32_t n_threads, std::size_t chunk, Func&& fn) {
  std::atomic<std::size_t> next{0};
  std::size_t const n = size;
  RunTasks(NumTasks(n, n_threads, chunk), n, [&](std::int32_t) {
    for (std::size_t begin; (begin = next.fetch_add(chunk, std::memory_order_relaxed)) < n;) {
      for (auto i = begin; i < std::min(begin + chunk, n); ++i) {
        fn(static_cast<Index>(i));
      }
      xdcc::AskForHelp();
    }
  });
}

/** @brief A loop of whose iterations each task has the same as OpenMP's thread of that number. */
template <typename Index, typename Func>
void LoopByNumber(Index size, std::int32_t n_threads, std::size_t chunk, Func&& fn) {
  std::size_t const n = size, n_tasks = n_threads;
  auto const n_with_iterations = NumTasks(n, n_threads, std::max(chunk, std::size_t{1}));
  RunTasks(n_with_iterations, n, [&](std::int32_t t) {
    if (chunk == 0) {  // one block for each; the first n % n_tasks have one iteration more
      std::size_t const number = t, more = n % n_tasks;
      auto const begin = n / n_tasks * number + std::min(number, more);
      auto const end = begin + n / n_tasks + (number < more);
      for (auto i = begin; i < end; ++i) {
        fn(static_cast<Index>(i));
      }
      return;
    }
    for (auto begin = t * chunk; begin < n; begin += n_tasks * chunk) {
      for (auto i = begin; i < std::min(begin + chunk, n); ++i) {
        fn(static_cast<Index>(i));
      }
    }
  });
}

/**
 * @brief A loop of XGBoost's.
 *
 * @param sched Its schedule, a `common::Sched`.
 */
template <typename Index, typename Sched, typename Func>
void Loop(Index size, std::int32_t n_threads, Sched sched, Func&& fn) {
  if (sched.sched == Sched::kDynamic || sched.sched == Sched::kGuided) {
    LoopByDemand(size, n_threads, std::max(sched.chunk, std::size_t{1}), fn);
  } else {
    LoopByNumber(size, n_threads, sched.chunk, fn);
  }
}

/** @brief Sort, equal elements in the order in which they were. */
template <typename Iter, typename Comp>
void StableSort(Iter begin, Iter end, Comp const& comp, std::int32_t n_threads) {
  constexpr std::size_t kFewest = 1 << 12;  // elements that are worth a task
  std::size_t const n = end - begin;
  std::size_t const n_tasks = std::min<std::size_t>(n_threads, n / kFewest + 1);
  auto const bound = [&](std::size_t t) { return begin + n * std::min(t, n_tasks) / n_tasks; };
  RunTasks(n_tasks, n, [&](auto t) { std::stable_sort(bound(t), bound(t + 1), comp); });
  for (std::size_t width = 1; width < n_tasks; width *= 2) {
    RunTasks((n_tasks + 2 * width - 1) / (2 * width), n, [&](auto k) {
      auto const t = 2 * width * k;
      std::inplace_merge(bound(t), bound(t + width), bound(t + 2 * width), comp);
    });
  }
}
}  // namespace workers
}  // namespace xgboost
#endif  // XDCC_MULTILABEL_THREADS_LOOPS_H_
