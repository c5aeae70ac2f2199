/**
 * @brief Workers do every task once, whatever the number of threads that ask
 * for it at once.
 */
#include <algorithm>   // for stable_sort
#include <array>       // for array
#include <atomic>      // for atomic
#include <chrono>      // for microseconds, milliseconds, steady_clock
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, int64_t
#include <cstdlib>     // for exit
#include <functional>  // for function
#include <iostream>    // for cerr
#include <thread>      // for sleep_for, thread, yield
#include <utility>     // for pair
#include <vector>      // for vector

#if defined(__linux__)
#include <sched.h>         // for sched_getaffinity, sched_setaffinity
#include <signal.h>        // for pthread_sigmask, sigismember
#include <sys/resource.h>  // for getpriority, setpriority
#include <sys/wait.h>      // for waitpid
#include <unistd.h>        // for _exit, alarm, fork
#endif

#include "src/common/threading_utils.h"  // for ParallelFor, Sched
#include "testing.h"                     // for ExpectError, XDCC_TEST
#include "threads/loops.h"               // for LoopByDemand, LoopByNumber, TeamOfOne
#include "threads/workers.h"             // for CurrentTeam, PretendProcessors, RunTasks

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
    tasks[i] = omp_get_thread_num();
  }
  void CheckOnce() const {
    for (auto const &n : times) {
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
  CHECK_EQ(xdcc::CurrentTeam().size, 0);
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
      auto const less = [](auto const &l, auto const &r) { return l.first > r.first; };
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

/** @brief What OpenMP's functions say in an iteration: number, threads, in
 * parallel, maximum. */
using Answers = std::vector<std::array<int, 4>>;

/** @brief A loop within a loop, on OpenMP. */
Answers OnOpenMP(std::size_t n_outer, int outer, std::size_t n_inner, int inner) {
  Answers answers(n_outer * (n_inner + 2));
  auto const answer = [&](std::size_t i) {
    answers[i] = {::omp_get_thread_num(), ::omp_get_num_threads(), ::omp_in_parallel(),
                  ::omp_get_max_threads()};
  };
#pragma omp parallel for num_threads(outer) schedule(static)
  for (std::size_t i = 0; i < n_outer; ++i) {
    auto const first = i * (n_inner + 2);
    answer(first);
#pragma omp parallel for num_threads(inner) schedule(static)
    for (std::size_t j = 0; j < n_inner; ++j) {
      answer(first + 1 + j);
    }
    answer(first + n_inner + 1);
  }
  return answers;
}

/** @brief The same loops on workers. */
Answers OnWorkers(std::size_t n_outer, int outer, std::size_t n_inner, int inner) {
  Answers answers(n_outer * (n_inner + 2));
  auto const answer = [&](std::size_t i) {
    answers[i] = {omp_get_thread_num(), omp_get_num_threads(), omp_in_parallel(),
                  omp_get_max_threads()};
  };
  common::ParallelFor(n_outer, outer, [&](auto i) {
    auto const first = i * (n_inner + 2);
    answer(first);
    common::ParallelFor(n_inner, inner, [&](auto j) { answer(first + 1 + j); });
    answer(first + n_inner + 1);
  });
  return answers;
}

XDCC_TEST(workers, LoopsWithinLoopsAreThoseOfOpenMP) {
  auto const levels = omp_get_max_active_levels();
  auto const max_threads = ::omp_get_max_threads();
  omp_set_num_threads(5);
  for (int outer : {1, 2, 3, 16}) {
    for (int inner : {1, 2, 3}) {
      // Without nested parallelism, OpenMP has teams of one there.
      omp_set_max_active_levels(inner == 1 ? 1 : 2);
      for (std::size_t n_outer : {1, 2, 7}) {
        for (std::size_t n_inner : {0, 1, 2, 7}) {
          CHECK(OnWorkers(n_outer, outer, n_inner, inner) ==
                OnOpenMP(n_outer, outer, n_inner, inner));
        }
      }
    }
  }
  omp_set_max_active_levels(levels);
  omp_set_num_threads(max_threads);
  CHECK_EQ(xdcc::CurrentTeam().size, 0);
}

XDCC_TEST(workers, SumsOfOneThreadHaveOnePart) {
  common::ParallelFor(8, 4, [](auto) {
    std::vector<int> parts(1);
    common::ParallelFor(5, 1, [&](auto) { ++parts.at(omp_get_thread_num()); });
    common::ParallelFor2d(common::BlockedSpace2d{3, [](auto) { return 2; }, 1}, 1,
                          [&](auto, auto) { ++parts.at(omp_get_thread_num()); });
    workers::TeamOfOne const alone;
    ++parts.at(omp_get_thread_num());
    CHECK_EQ(parts.front(), 12);
    CHECK_EQ(common::OmpGetNumThreads(4), 1);
  });
}

XDCC_TEST(workers, ALoopOnOneThreadStartsRegions) {
  std::vector<int> seen(3);
  common::ParallelFor(1, 1, [&](auto) {
    CHECK(!omp_in_parallel());
    common::ParallelFor(seen.size(), 3, [&](auto i) { seen[i] = omp_get_thread_num(); });
  });
  CHECK(seen == (std::vector<int>{0, 1, 2}));
  testing::ExpectError("stop",
                       [] { common::ParallelFor(1, 1, [](auto) { LOG(FATAL) << "stop"; }); });
  CHECK_EQ(xdcc::CurrentTeam().size, 0);
}

/** @brief Acts as if there were enough processors for several threads. */
struct FourProcessors {
  FourProcessors() { xdcc::PretendProcessors(4); }
  ~FourProcessors() { xdcc::PretendProcessors(0); }
};

/** @brief Whether something happens in one of many trials: on a busy machine
 * workers may rest. */
bool InOneTrial(std::function<bool()> const &happens) {
  for (int trial = 0; trial < 60; ++trial) {
    if (happens()) {
      return true;
    }
  }
  return false;
}

/** @brief Tasks that wait for one another, so each needs a thread of its own.
 */
class Meeting {
 public:
  explicit Meeting(int n) : n_tasks_{n} {}
  /** @brief Wait until all have arrived, for half a second at most. */
  void Arrive() {
    ++n_arrived_;
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
    while (n_arrived_ < n_tasks_) {
      if (std::chrono::steady_clock::now() > end) {
        return;
      }
      std::this_thread::yield();
    }
    ++n_met_;
  }
  [[nodiscard]] bool AllMet() const { return n_met_ == n_tasks_; }

 private:
  int const n_tasks_;
  std::atomic<int> n_arrived_{0}, n_met_{0};
};

constexpr std::int64_t kLarge = 1'000'000'000;

/** @brief Hold a meeting in a region; return whether each task had a thread of
 * its own. */
bool Meet(int n, std::function<void()> const &then = [] {}) {
  struct Call {
    Meeting meeting;
    std::function<void()> const &then;
  } call{Meeting{n}, then};
  xdcc::RunTasks(
      n,
      [](void *data, int) {
        auto *call = static_cast<Call *>(data);
        std::this_thread::sleep_for(std::chrono::microseconds{500});  // worth a worker
        call->meeting.Arrive();
        call->then();
      },
      &call, kLarge);
  return call.meeting.AllMet();
}

/** @brief A place in the program whose regions are short, until one is not. */
struct Site {
  std::function<void(int)> long_task;
  static void Do(void *data, int number) {
    if (auto const &task = static_cast<Site *>(data)->long_task) {
      task(number);
    }
  }
  void RunShort() {
    for (int i = 0; i < 100; ++i) {
      xdcc::RunTasks(3, &Do, this, 3);
    }
  }
};

XDCC_TEST(workers, ALongRegionGetsHelpAfterShortOnes) {
  FourProcessors pretended;
  CHECK(InOneTrial([] {
    Site{}.RunShort();
    Meeting meeting{3};
    Site site{[&](int) { meeting.Arrive(); }};
    xdcc::RunTasks(3, &Site::Do, &site, kLarge);
    return meeting.AllMet();
  }));
}

XDCC_TEST(workers, ARegionThatTakesLongerThanExpectedGetsHelpLate) {
  FourProcessors pretended;
  CHECK(InOneTrial([] {
    Site{}.RunShort();
    Meeting meeting{2};
    Site site{[&](int number) {
      if (number == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
      } else {
        meeting.Arrive();
      }
    }};
    xdcc::RunTasks(3, &Site::Do, &site, 3);
    return meeting.AllMet();
  }));
}

XDCC_TEST(workers, ARegionForWhichNoWorkerIsFreeGetsHelpLater) {
  FourProcessors pretended;
  CHECK(InOneTrial([] {
    std::atomic<bool> is_over{false};
    Meeting busy{7}, meeting{2};  // two callers with four workers, and this thread
    std::thread callers[2];
    for (int c = 0; c < 2; ++c) {
      callers[c] = std::thread{[&, n_tasks = 4 - 2 * c] {
        Site site{[&](int) {
          busy.Arrive();
          while (!is_over) {
            std::this_thread::yield();
          }
        }};
        xdcc::RunTasks(n_tasks, &Site::Do, &site, kLarge);
      }};
    }
    busy.Arrive();
    Site site{[&](int number) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      if (number == 1) {  // help was sought after the first task
        is_over = true;
        for (auto &caller : callers) {
          caller.join();
        }
      } else if (number > 1) {
        meeting.Arrive();
      }
    }};
    xdcc::RunTasks(4, &Site::Do, &site, kLarge);
    return meeting.AllMet();
  }));
}

XDCC_TEST(workers, EachCallerHasWorkersOfItsOwn) {
  FourProcessors pretended;
  CHECK(InOneTrial([] {
    Meeting outer{4};  // both callers and their workers are in a task at the same time
    std::thread callers[2];
    for (auto &caller : callers) {
      caller = std::thread{[&] { Meet(2, [&] { outer.Arrive(); }); }};
    }
    for (auto &caller : callers) {
      caller.join();
    }
    return outer.AllMet();
  }));
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
  for (auto &thread : threads) {
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
/** @brief Run code in a forked process, and check that it ends within a minute,
 * without an error.
 */
void InChild(std::function<void()> const &code) {
  auto const child = fork();
  if (child == 0) {
    alarm(60);
    try {
      code();
    } catch (dmlc::Error const &error) {
      std::cerr << error.what() << "\n";
      _exit(1);
    }
    _exit(0);
  }
  int status{-1};
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

XDCC_TEST(workers, WorkersHaveTheAffinityAndPriorityOfTheCaller) {
  FourProcessors pretended;
  CHECK(InOneTrial([] { return Meet(2); }));  // there are workers with other settings
  std::thread{[] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, 7), 0);
    std::atomic<int> n_other{0};
    CHECK(InOneTrial([&] {
      return Meet(2, [&] {
        cpu_set_t own;
        n_other += sched_getaffinity(0, sizeof(own), &own) != 0 || !CPU_EQUAL(&one, &own) ||
                   getpriority(PRIO_PROCESS, 0) != 7;
      });
    }));
    CHECK_EQ(n_other.load(), 0);
  }}.join();
}

XDCC_TEST(workers, SignalsThatATaskCausesReachItsThread) {
  FourProcessors pretended;
  std::atomic<int> n_blocked{0}, n_interrupted{0};
  CHECK(InOneTrial([&] {
    n_interrupted = 0;
    return Meet(2, [&] {
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      for (int caused : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        n_blocked += sigismember(&blocked, caused);
      }
      n_interrupted += !sigismember(&blocked, SIGINT);
    });
  }));
  CHECK_EQ(n_blocked.load(), 0);
  CHECK_EQ(n_interrupted.load(), 1);  // the caller
}

XDCC_TEST(workers, AForkAtAnyMomentIsSafe) {
  for (int i = 0; i < 60; ++i) {
    InChild([i] {  // a process without workers
      xdcc::PretendProcessors(4);
      std::thread other{[] { Meet(3); }};
      std::this_thread::sleep_for(std::chrono::microseconds{5 * i});
      InChild([] { CHECK(InOneTrial([] { return Meet(3); })); });
      other.join();
    });
  }
}

XDCC_TEST(workers, AProcessEndsWhileRegionsRun) {
  for (int i = 0; i < 10; ++i) {
    InChild([i] {
      xdcc::PretendProcessors(4);
      std::thread{[] {
        for (;;) {
          common::ParallelFor(100, 3, Sched::Dyn(1), [](auto) {});
        }
      }}.detach();
      std::this_thread::sleep_for(std::chrono::microseconds{200 * i});
      std::exit(0);
    });
  }
}

XDCC_TEST(workers, AForkedProcessHasItsOwn) {
  common::ParallelFor(100, 2, [](auto) {});
  auto const child = fork();
  if (child == 0) {
    Visits visits{100};
    common::ParallelFor(100, 2, [&](auto i) { visits.Add(i); });
    int wrong = 0;
    for (auto const &n : visits.times) {
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
