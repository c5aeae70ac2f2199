/**
 * @brief A thread that records runs the tasks of any number of threads, and
 * says how long each took.
 */
#include <omp.h>  // for omp_get_num_procs
#if defined(__linux__)
#include <sys/prctl.h>  // for prctl
#endif

#include <algorithm>  // for count
#include <chrono>     // for milliseconds, steady_clock
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t
#include <string>     // for string
#include <thread>     // for sleep_for
#include <vector>     // for vector

#include "src/common/threading_utils.h"  // for OmpGetNumThreads, ParallelFor, Sched
#include "testing.h"                     // for ExpectError, XDCC_TEST
#include "threads/loops.h"               // for UsefulThreads
#include "threads/span_recorder.h"       // for BusyClock, CurrentRecorder
#include "threads/workers.h"             // for CurrentTeam
#include "xgboost/json.h"                // for Json

extern "C" {
void XDCCBeginSpans(int n_threads);
char const *XDCCEndSpans();
double XDCCRegionCost(int n_threads);
}

namespace xgboost::multilabel {
namespace {
using common::Sched;

constexpr std::int32_t kThreads = 16;  // more than a machine of the tests may have

template <typename Fn>
Json Record(Fn &&fn) {
  XDCCBeginSpans(kThreads);
  fn();
  return Json::Load(StringView{XDCCEndSpans()});
}

std::vector<Json> Regions(Json const &recorded) { return get<Array const>(recorded["regions"]); }

void Spin(std::chrono::microseconds time) {
  for (auto const end = std::chrono::steady_clock::now() + time;
       std::chrono::steady_clock::now() < end;) {
  }
}

XDCC_TEST(span_recorder, ThreadsMayExceedProcessors) {
  auto const before = common::OmpGetNumThreads(kThreads);
  Record([&] {
    CHECK_EQ(common::OmpGetNumThreads(kThreads), kThreads);
    CHECK_EQ(common::OmpGetNumThreads(0), kThreads);
    CHECK_EQ(workers::UsefulThreads(kThreads), kThreads);
  });
  CHECK(!xdcc::CurrentRecorder());
  CHECK_EQ(common::OmpGetNumThreads(kThreads), before);
}

XDCC_TEST(span_recorder, TasksOfASchedule) {
  std::vector<int> tasks(100);
  auto const recorded = Record([&] {
    common::ParallelFor(tasks.size(), kThreads, [&](auto i) { tasks[i] = omp_get_thread_num(); });
  });
  CHECK_EQ(Regions(recorded).size(), 1);
  CHECK_EQ(get<Array const>(Regions(recorded).front()[3]).size(), kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {  // the first 100 % 16 have one more
    CHECK_EQ(std::count(tasks.cbegin(), tasks.cend(), t), t < 4 ? 7 : 6);
  }
  CHECK_EQ(xdcc::CurrentTeam().size, 0);
}

/** @brief Sleep shortly, which the clock takes for work until it has slept for
 * longer. */
void Nap(std::size_t i) {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1);
#endif
  std::this_thread::sleep_for(std::chrono::microseconds{i % 8 == 7 ? 200 : 10});
}

XDCC_TEST(span_recorder, TasksThatDoNothingKeepTheirNumbers) {
  std::vector<int> tasks(kThreads);
  Record([&] {
    common::ParallelFor(tasks.size(), kThreads, [&](auto i) {
      tasks[i] = omp_get_thread_num();
      Nap(i);
    });
  });
  for (std::int32_t t = 0; t < kThreads; ++t) {
    CHECK_EQ(tasks[t], t);
  }
}

XDCC_TEST(span_recorder, ChunksGoToTheThreadThatIsFree) {
  constexpr std::int32_t kTwo = 2;
  std::vector<int> tasks(4);
  auto const recorded = Record([&] {
    common::ParallelFor(tasks.size(), kTwo, Sched::Dyn(1), [&](auto i) {
      tasks[i] = omp_get_thread_num();
      Spin(std::chrono::microseconds{i == 0 ? 20'000 : 1'000});
    });
  });
  // The second thread takes the three short ones while the first has the long
  // one.
  CHECK(tasks == (std::vector<int>{0, 1, 1, 1}));
  auto const times = get<Array const>(Regions(recorded).front()[3]);
  CHECK_EQ(times.size(), tasks.size());
  CHECK_GT(get<Integer const>(times[0]), 2 * get<Integer const>(times[1]));
}

XDCC_TEST(span_recorder, RegionsWithinATaskArePartOfIt) {
  std::vector<int> inner;
  auto const recorded = Record([&] {
    common::ParallelFor(2, kThreads, Sched::Dyn(1), [&](auto) {
      CHECK_EQ(common::OmpGetNumThreads(kThreads), 1);
      common::ParallelFor(3, kThreads, [&](auto) { inner.push_back(omp_get_thread_num()); });
    });
  });
  CHECK_EQ(Regions(recorded).size(), 1);
  CHECK_EQ(inner.size(), 6);
}

XDCC_TEST(span_recorder, ExceptionsEndTheRegion) {
  XDCCBeginSpans(kThreads);
  testing::ExpectError("task 3", [] {
    common::ParallelFor(8, kThreads, Sched::Dyn(1), [](auto i) { CHECK_NE(i, 3) << "task " << i; });
  });
  CHECK_EQ(xdcc::CurrentTeam().size, 0);
  CHECK_EQ(Regions(Json::Load(StringView{XDCCEndSpans()})).size(), 1);
}

XDCC_TEST(span_recorder, SleepIsNoWork) {
  xdcc::BusyClock clock;
  auto const begin = clock.Now();
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK_LT(clock.Now() - begin, 25'000'000);
  Spin(std::chrono::microseconds{30'000});
  CHECK_GT(clock.Now() - begin, 1'000'000);
}

XDCC_TEST(span_recorder, TheClockDoesNotGoBack) {
  xdcc::BusyClock clock;
  std::int64_t before{0};
  for (std::size_t i = 0; i < 100; ++i) {
    auto const now = clock.Now();
    CHECK_GE(now, before);
    before = now;
    Nap(i);
  }
}

XDCC_TEST(span_recorder, BeginningARegionCosts) { CHECK_LT(XDCCRegionCost(2), 20'000.0); }
}  // namespace
}  // namespace xgboost::multilabel
