/**
 * @brief Workers do every task once, whatever the number of threads that ask for it at once.
 */
#include <algorithm>  // for stable_sort
#include <atomic>     // for atomic
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <thread>     // for thread
#include <utility>    // for pair
#include <vector>     // for vector

#if defined(__linux__)
#include <sys/wait.h>  // for waitpid
#include <unistd.h>    // for _exit, fork
#endif

#include "src/common/threading_utils.h"  // for ParallelFor, Sched
#include "testing.h"                     // for ExpectError, XDCC_TEST
#include "threads/loops.h"               // for LoopByDemand, LoopByNumber
#include "threads/workers.h"             // for TaskNumber

namespace xgboost::multilabel {
namespace {
using common::Sched;

/** @brief How often each iteration was done, and by which task. */
struct Visits {
  explicit Visits(std::size_t n) : times(n), tasks(n) {}
  std::vector<std::atomic<int>> times;
  std::vector<int> tasks;
  void Add(std::size_t i) {
    ++times[i];
    tasks[i] = xdcc::TaskNumber();
  }
  void CheckOnce() const {
    for (auto const& n : times) {
      CHECK_EQ(n.load(), 1);
    }
  }
};

XDCC_TEST(workers, EveryIterationOnce) {
  for (std::int32_t n_threads : {1, 2, 3, 8}) {
    for (std::size_t n : {0, 1, 2, 7, 64, 1000}) {
      for (auto sched : {Sched::Auto(), Sched::Static(), Sched::Static(3), Sched::Dyn(),
                         Sched::Dyn(5), Sched::Guided()}) {
        Visits visits{n};
        common::ParallelFor(n, n_threads, sched, [&](auto i) { visits.Add(i); });
        visits.CheckOnce();
        for (auto task : visits.tasks) {
          CHECK_LT(task, n_threads);
        }
      }
    }
  }
  CHECK_EQ(xdcc::TaskNumber(), -1);
}

XDCC_TEST(workers, StaticIterationsBelongToOpenMPsThreads) {
  for (std::int32_t n_threads : {2, 3, 5}) {
    for (std::size_t n : {1, 4, 10, 101}) {
      for (std::size_t chunk : {0, 1, 4}) {
        Visits visits{n};
        workers::LoopByNumber(n, n_threads, chunk, [&](auto i) { visits.Add(i); });
        std::vector<int> expected(n);
#pragma omp parallel num_threads(n_threads)
        {
          if (chunk == 0) {
#pragma omp for schedule(static)
            for (std::size_t i = 0; i < n; ++i) {
              expected[i] = ::omp_get_thread_num();
            }
          } else {
#pragma omp for schedule(static, chunk)
            for (std::size_t i = 0; i < n; ++i) {
              expected[i] = ::omp_get_thread_num();
            }
          }
        }
        CHECK(visits.tasks == expected);
      }
    }
  }
}

XDCC_TEST(workers, SortingIsStable) {
  testing::Random rng{3};
  for (std::size_t n : {0, 1, 100, 5000, 40000}) {
    for (std::int32_t n_threads : {1, 2, 3, 7}) {
      std::vector<std::pair<int, std::size_t>> values(n);
      for (std::size_t i = 0; i < n; ++i) {
        values[i] = {rng.Int(0, 50), i};
      }
      auto expected = values;
      auto const less = [](auto const& l, auto const& r) { return l.first > r.first; };
      std::stable_sort(expected.begin(), expected.end(), less);
      workers::StableSort(values.begin(), values.end(), less, n_threads);
      CHECK(values == expected);
    }
  }
}

XDCC_TEST(workers, RegionsWithinRegions) {
  Visits visits{16};
  common::ParallelFor(4, 2, Sched::Dyn(1), [&](auto i) {
    auto const outer = omp_get_thread_num();
    common::ParallelFor(4, 2, [&](auto j) { visits.Add(4 * i + j); });
    CHECK_EQ(omp_get_thread_num(), outer);
  });
  visits.CheckOnce();
}

XDCC_TEST(workers, ThreadsOfTheProgramShareThem) {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> sum{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&sum] {
      for (std::size_t k = 0; k < 2000; ++k) {
        common::ParallelFor(std::size_t{5}, 4, Sched::Dyn(1), [&](auto i) { sum += i; });
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK_EQ(sum.load(), 6 * 2000 * 10);
}

XDCC_TEST(workers, TheFirstExceptionArrives) {
  for (auto sched : {Sched::Static(), Sched::Dyn(1)}) {
    testing::ExpectError("iteration 7", [&] {
      common::ParallelFor(20, 2, sched, [](auto i) { CHECK_NE(i, 7) << "iteration " << i; });
    });
  }
  Visits visits{20};
  common::ParallelFor(20, 2, [&](auto i) { visits.Add(i); });
  visits.CheckOnce();
}

#if defined(__linux__)
XDCC_TEST(workers, AForkedProcessHasItsOwn) {
  common::ParallelFor(100, 2, [](auto) {});
  auto const child = fork();
  if (child == 0) {
    Visits visits{100};
    common::ParallelFor(100, 2, [&](auto i) { visits.Add(i); });
    int wrong = 0;
    for (auto const& n : visits.times) {
      wrong += n.load() != 1;
    }
    _exit(wrong);
  }
  int status{-1};
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}
#endif
}  // namespace
}  // namespace xgboost::multilabel
