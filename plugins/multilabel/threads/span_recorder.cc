/**
 * @brief See `span_recorder.h`; and the functions by which Python records.
 */
#include "span_recorder.h"

#include <time.h>  // for clock_gettime

#include <algorithm>  // for max, min_element, nth_element
#include <chrono>     // for steady_clock
#include <cstddef>    // for ptrdiff_t
#include <memory>     // for make_unique, unique_ptr
#include <string>     // for string, to_string
#include <utility>    // for move

#include "xgboost/c_api.h"  // for XGB_DLL

namespace xdcc {
namespace {
/** @brief Intervals that are shorter are not compared with CPU time: no time slice is. */
constexpr std::int64_t kShort = 50'000;

std::int64_t WallTime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t CpuTime() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) {
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  }
#endif
  return WallTime();
}

thread_local std::unique_ptr<SpanRecorder> recorder;

void Append(std::int64_t number, std::string* out) { *out += std::to_string(number); }
}  // namespace

BusyClock::BusyClock() : wall_begin_{WallTime()}, cpu_begin_{CpuTime()}, last_{wall_begin_} {}

std::int64_t BusyClock::Now() {
  auto const now = WallTime();
  if (now - last_ > kShort) {
    lost_ = std::max(lost_, now - wall_begin_ - (CpuTime() - cpu_begin_));
  }
  last_ = now;
  // Losses in short intervals are detected later, because the clock stands still meanwhile.
  busy_ = std::max(busy_, now - wall_begin_ - lost_);
  return busy_;
}

void SpanRecorder::Run(char const* name, std::size_t n_tasks, Team team, Task task, void* data) {
  auto const [it, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(name);
  }
  Region region{it->second, clock_.Now(), 0, {}};
  region.tasks.reserve(n_tasks);
  std::vector<std::int64_t> free_at(team.size, 0);
  team.in_parallel = true;
  auto before = region.begin;
  for (std::size_t t = 0; t < n_tasks; ++t) {
    auto const first = n_tasks <= free_at.size() ? free_at.begin() + t
                                                 : std::min_element(free_at.begin(), free_at.end());
    team.number = static_cast<int>(first - free_at.begin());
    {
      InTeam const inside{team};
      task(data, static_cast<int>(t));
    }
    auto const now = clock_.Now();
    region.tasks.push_back(now - before);
    *first += now - before;
    before = now;
  }
  region.end = before;
  regions_.push_back(std::move(region));
}

std::string SpanRecorder::ToJson() {
  std::string out{"{\"total\": "};
  Append(clock_.Now(), &out);
  out += ", \"names\": [";
  for (std::size_t n = 0; n < names_.size(); ++n) {
    out += (n == 0 ? "\"" : ", \"") + std::string{names_[n]} + "\"";
  }
  out += "], \"regions\": [";
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    auto const& region = regions_[r];
    out += r == 0 ? "[" : ", [";
    for (std::int64_t number : {std::int64_t{region.name}, region.begin, region.end}) {
      Append(number, &out);
      out += ", ";
    }
    out += "[";
    for (std::size_t t = 0; t < region.tasks.size(); ++t) {
      out += t == 0 ? "" : ", ";
      Append(region.tasks[t], &out);
    }
    out += "]]";
  }
  return out + "]}";
}

SpanRecorder* CurrentRecorder() { return CurrentTeam().in_parallel ? nullptr : recorder.get(); }
}  // namespace xdcc

extern "C" {
/** @brief From now on, record this thread's regions as if it had this number of threads. */
XGB_DLL void XDCCBeginSpans(int n_threads) {
  xdcc::recorder = std::make_unique<xdcc::SpanRecorder>(n_threads);
}

/** @brief End recording. The text is valid until the thread's next call. */
XGB_DLL char const* XDCCEndSpans() {
  thread_local std::string json;
  json = xdcc::recorder ? xdcc::recorder->ToJson() : "";
  xdcc::recorder.reset();
  return json.c_str();
}

/** @brief For tests: act as if this many processors were idle; 0: as the machine is. */
XGB_DLL void XDCCPretendProcessors(int n) { xdcc::PretendProcessors(n); }

/**
 * @brief Nanoseconds that a region takes longer than its tasks, of which each thread has one.
 *
 * The median of many regions, one right after the other, without those that got too few threads;
 * negative if all did.
 */
XGB_DLL double XDCCRegionCost(int n_threads) {
  constexpr std::int64_t kWork = 20'000;  // of a task
  constexpr int kTimes = 1000;
  std::vector<std::int64_t> costs;
  for (int i = 0; i < kTimes; ++i) {
    auto const begin = xdcc::WallTime();
    xdcc::RunTasks(
        n_threads,
        [](void*, int) {
          for (auto const end = xdcc::WallTime() + kWork; xdcc::WallTime() < end;) {
          }
        },
        nullptr, n_threads);
    if (auto const cost = xdcc::WallTime() - begin - kWork; cost < kWork) {
      costs.push_back(cost);
    }
  }
  if (costs.empty()) {
    return -1.0;
  }
  auto const middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  return static_cast<double>(*middle);
}
}
