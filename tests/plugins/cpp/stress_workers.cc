/**
 * @brief Several threads begin regions at once, some within tasks: for ThreadSanitizer.
 *
 * A program of its own, without XGBoost (`tests/plugins/test_thread_races.py`).
 */
#include <chrono>   // for microseconds
#include <cstdio>   // for printf
#include <numeric>  // for accumulate
#include <thread>   // for sleep_for, thread
#include <vector>   // for vector

#include "workers.h"  // for AskForHelp, PretendProcessors, RunTasks, UsefulThreads

namespace {
struct Sum {
  std::vector<long> parts;  // not atomic: each task has its own
  long spin;                // work of a task
};

void Add(void* data, int number) {
  auto* sum = static_cast<Sum*>(data);
  for (long i = 0; i < sum->spin; ++i) {
    sum->parts[number] += i % 7;
  }
  xdcc::AskForHelp();
  if (number == 0 && sum->spin > 0) {  // a region within a task
    Sum inner{std::vector<long>(2), 0};
    xdcc::RunTasks(2, Add, &inner, 2);
    sum->parts[number] += inner.parts[1];
  }
}

bool Caller(int c) {
  bool right = true;
  for (int i = 0; i < 400; ++i) {
    int const n_tasks = 2 + (c + i) % 7;
    Sum sum{std::vector<long>(n_tasks), (i * 37 + c) % 50 == 0 ? 200'000 : 20 * (i % 100)};
    xdcc::RunTasks(xdcc::UsefulThreads(n_tasks) > 0 ? n_tasks : 1, Add, &sum, n_tasks * sum.spin);
    Sum alone{std::vector<long>(1), sum.spin};
    for (long k = 0; k < alone.spin; ++k) {
      alone.parts[0] += k % 7;
    }
    auto const total = std::accumulate(sum.parts.cbegin() + 1, sum.parts.cend(), 0L);
    right = right && total == (n_tasks - 1) * alone.parts[0];
    if (i % 50 == 0) {  // long enough for workers to sleep
      std::this_thread::sleep_for(std::chrono::microseconds{1500});
    }
  }
  return right;
}
}  // namespace

int main() {
  xdcc::PretendProcessors(6);
  bool right[5] = {};
  std::vector<std::thread> callers;
  for (int c = 0; c < 5; ++c) {
    callers.emplace_back([c, &right] { right[c] = Caller(c); });
  }
  int n_right = 0;
  for (int c = 0; c < 5; ++c) {
    callers[c].join();
    n_right += right[c];
  }
  std::printf("%d of 5 callers had the right sums\n", n_right);
  return n_right == 5 ? 0 : 1;
}
