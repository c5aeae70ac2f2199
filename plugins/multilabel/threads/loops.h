/**
 * @brief XGBoost's parallel loops on the plugin's workers (`workers.h`).
 *
 * A loop with a static schedule has as many tasks as OpenMP would have threads, each with the
 * iterations of one of these threads: the sums of a thread, and so every model, are the same for a
 * given number of threads. In the loop, `omp_get_thread_num` is the number of the task.
 *
 * A thread that records (`span_recorder.h`) runs all tasks, those of any number of threads.
 */
#ifndef XDCC_MULTILABEL_THREADS_LOOPS_H_
#define XDCC_MULTILABEL_THREADS_LOOPS_H_

#include <dmlc/common.h>  // for OMPException
#include <dmlc/omp.h>     // for omp_get_max_threads, omp_get_num_procs, omp_get_thread_num, ...

#include <algorithm>    // for inplace_merge, max, min, stable_sort
#include <array>        // for array
#include <atomic>       // for atomic
#include <cstddef>      // for size_t
#include <cstdint>      // for int32_t, int64_t
#include <string_view>  // for string_view
#include <type_traits>  // for remove_reference_t

#include "span_recorder.h"  // for CurrentRecorder
#include "workers.h"        // for AskForHelp, RunTasks, TaskNumber, UsefulThreads

namespace xgboost {
// In this namespace these hide OpenMP's functions of the same name.
inline int omp_get_thread_num() {  // NOLINT
  auto const& team = xdcc::CurrentTeam();
  return team.size == 0 ? ::omp_get_thread_num() : team.number;
}
inline int omp_get_num_threads() {  // NOLINT
  auto const& team = xdcc::CurrentTeam();
  return team.size == 0 ? ::omp_get_num_threads() : team.size;
}
inline int omp_in_parallel() {  // NOLINT
  return xdcc::CurrentTeam().in_parallel || ::omp_in_parallel();
}
inline int omp_get_num_procs() {  // NOLINT
  if (auto const* recorder = xdcc::CurrentRecorder()) {
    return recorder->NumThreads();
  }
  auto const pretended = xdcc::PretendedProcessors();
  return pretended > 0 ? pretended : ::omp_get_num_procs();
}
inline int omp_get_max_threads() {  // NOLINT
  auto const& team = xdcc::CurrentTeam();
  if (team.max_threads > 0) {
    return team.max_threads;
  }
  if (auto const* recorder = xdcc::CurrentRecorder()) {
    return recorder->NumThreads();
  }
  auto const pretended = xdcc::PretendedProcessors();
  return pretended > 0 ? pretended : ::omp_get_max_threads();
}

namespace workers {
/** @brief While it lives, this thread is thread 0 of a team of one, whatever its task. */
class TeamOfOne : xdcc::InTeam {
 public:
  TeamOfOne() : InTeam{OfOne()} {}
};

/** @brief How many threads, of `n`, a region would get now. */
inline std::int32_t UsefulThreads(std::int32_t n) {
  return xdcc::CurrentRecorder() ? n : xdcc::UsefulThreads(n);
}

template <typename Func>
constexpr std::string_view FullName() {
#if defined(_MSC_VER)
  return __FUNCSIG__;
#else
  return __PRETTY_FUNCTION__;
#endif
}

/** @brief Position of the bracket that the one at `end` closes. */
constexpr std::size_t Opening(std::string_view text, std::size_t end) {
  char const close = text[end], open = close == ')' ? '(' : '<';
  int depth{0};
  for (auto at = end;; --at) {
    depth += (text[at] == close) - (text[at] == open);
    if (depth == 0 || at == 0) {
      return at;
    }
  }
}

/** @brief The function around the first lambda in the name of a template, if GCC names it. */
constexpr std::string_view OwnerOf(std::string_view name) {
  constexpr std::string_view kBegin = "Func = ", kConst = " const";
  auto const from = name.find(kBegin), lambda = name.find("::<lambda");
  if (from == name.npos || lambda == name.npos) {
    constexpr std::size_t kLongest = 100;
    return name.substr(0, kLongest);
  }
  auto text = name.substr(from + kBegin.size(), lambda - from - kBegin.size());
  if (text.size() > kConst.size() && text.substr(text.size() - kConst.size()) == kConst) {
    text.remove_suffix(kConst.size());
  }
  for (char close : {')', '>'}) {  // parameters, and arguments of a template
    if (!text.empty() && text.back() == close) {
      text = text.substr(0, Opening(text, text.size() - 1));
    }
  }
  return text.substr(text.find_last_of(" <,(") + 1);
}

/** @brief Shortened name of a function, for the regions whose tasks call it. */
template <typename Func>
inline constexpr auto kRegionName = [] {
  constexpr auto owner = OwnerOf(FullName<Func>());
  std::array<char, owner.size() + 1> name{};
  for (std::size_t i = 0; i < owner.size(); ++i) {
    name[i] = owner[i];
  }
  return name;
}();

/**
 * @brief Call `fn` with each number in [0, n), and rethrow the first exception.
 *
 * @param size      Number of iterations of all calls together.
 * @param n_threads Number of threads that were asked for; 0: as many as calls.
 */
template <typename Func>
void RunTasks(std::size_t n, std::size_t size, Func&& fn, std::int32_t n_threads = 0) {
  struct Call {
    std::remove_reference_t<Func>* fn;
    dmlc::OMPException exc;
  } call{&fn, {}};
  auto const task = [](void* data, int number) {
    auto* call = static_cast<Call*>(data);
    call->exc.Run([&] { (*call->fn)(number); });
  };
  auto const n_tasks = static_cast<std::int32_t>(n);
  xdcc::Team const team{0, n_threads == 0 ? n_tasks : n_threads, false, omp_get_max_threads()};
  if (auto* recorder = xdcc::CurrentRecorder()) {
    recorder->Run(kRegionName<Func>.data(), n, team, task, &call);
  } else {
    xdcc::RunTasks(n_tasks, task, &call, static_cast<std::int64_t>(size), nullptr, team);
  }
  call.exc.Rethrow();
}

/** @brief Number of chunks of a loop. */
inline std::size_t NumChunks(std::size_t size, std::size_t chunk) {
  return size / chunk + (size % chunk > 0);
}

/** @brief A loop whose iterations are taken `chunk` at a time by whichever thread comes first. */
template <typename Index, typename Func>
void LoopByDemand(Index size, std::int32_t n_threads, std::size_t chunk, Func&& fn) {
  std::size_t const n = size, n_chunks = NumChunks(n, chunk);
  if (n_chunks == 0) {
    return;
  }
  if (xdcc::CurrentRecorder()) {  // each chunk is a task
    RunTasks(
        n_chunks, n,
        [&](std::size_t c) {
          for (auto i = c * chunk; i < std::min((c + 1) * chunk, n); ++i) {
            fn(static_cast<Index>(i));
          }
        },
        n_threads);
    return;
  }
  std::atomic<std::size_t> next{0};
  RunTasks(
      std::min<std::size_t>(n_threads, n_chunks), n,
      [&](std::int32_t) {
        for (std::size_t begin; (begin = next.fetch_add(chunk, std::memory_order_relaxed)) < n;) {
          for (auto i = begin; i < std::min(begin + chunk, n); ++i) {
            fn(static_cast<Index>(i));
          }
          xdcc::AskForHelp();
        }
      },
      n_threads);
}

/** @brief A loop whose task k gets the iterations of OpenMP's thread k. */
template <typename Index, typename Func>
void LoopByNumber(Index size, std::int32_t n_threads, std::size_t chunk, Func&& fn) {
  std::size_t const n = size, n_tasks = n_threads;
  if (n == 0) {
    return;
  }
  auto const n_chunks = NumChunks(n, std::max(chunk, std::size_t{1}));
  RunTasks(
      std::min(n_tasks, n_chunks), n,
      [&](std::int32_t t) {
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
      },
      n_threads);
}

/**
 * @brief A loop of XGBoost's.
 *
 * @param sched Its schedule, a `common::Sched`.
 */
template <typename Index, typename Sched, typename Func>
void Loop(Index size, std::int32_t n_threads, Sched sched, Func&& fn) {
  if (n_threads == 1) {
    TeamOfOne const alone;
    for (Index i = 0; i < size; ++i) {
      fn(i);
    }
  } else if (sched.sched == Sched::kDynamic || sched.sched == Sched::kGuided) {
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
