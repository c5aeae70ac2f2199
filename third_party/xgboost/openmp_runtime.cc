/*!
 * OpenMP for the thread sanitizer: `sanitized.py thread` puts it before GCC's own runtime.
 *
 * In GCC's runtime threads wait for each other by system calls that the sanitizer does not see, so
 * that it reports what is in order. This one uses threads and barriers that it does see. Between
 * the chunks of a loop there is no order, so that it reports what only luck keeps in order.
 *
 * XGBoost's parallel sorts and scikit-learn's loops need it; the loops of XGBoost, of the plugin
 * and of xdcc's kernels do not use OpenMP. It is slow: each parallel region makes its threads anew.
 * A region within a region has one thread.
 */
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {
using Count = unsigned long long;  // as in GCC's runtime

struct Loop {
  std::atomic<Count> next{0};
  Count end{0};
  Count chunk{1};
};

/*! \brief Threads that run the same region, and the loops and single blocks they have come to. */
struct Team {
  explicit Team(unsigned n_threads) : n_threads{n_threads} {
    pthread_barrier_init(&barrier, nullptr, n_threads);
  }
  ~Team() { pthread_barrier_destroy(&barrier); }

  unsigned n_threads;
  pthread_barrier_t barrier;
  std::mutex mutex;
  std::deque<Loop> loops;  // keeps its elements where they are
  std::size_t n_singles{0};
};

/*! \brief A thread's place in its team, and how far it has come. */
struct Place {
  Team* team{nullptr};
  unsigned number{0};
  std::size_t n_loops{0};
  std::size_t n_singles{0};
  Loop* loop{nullptr};
};

thread_local Place self;
std::atomic<int> max_threads{0};  // 0: as many as there are processors

int Processors() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

int MaxThreads() { return max_threads != 0 ? max_threads.load() : Processors(); }

void Run(void (*region)(void*), void* data, Team* team, unsigned number) {
  auto outer = self;
  self = Place{team, number};
  region(data);
  self = outer;
}

template <typename Number>
bool Next(Number* from, Number* to) {
  // Relaxed: who takes a chunk does not wait for what was done in the ones before.
  Count begin = self.loop->next.fetch_add(self.loop->chunk, std::memory_order_relaxed);
  if (begin >= self.loop->end) {
    return false;
  }
  *from = static_cast<Number>(begin);
  *to = static_cast<Number>(std::min(begin + self.loop->chunk, self.loop->end));
  return true;
}

template <typename Number>
bool Start(Number begin, Number end, Number step, Number chunk, Number* from, Number* to) {
  if (step != 1 || begin < 0 || self.team == nullptr) {
    std::abort();  // no loop that is tested has another step or is outside of a region
  }
  {
    std::lock_guard<std::mutex> guard{self.team->mutex};
    if (self.n_loops == self.team->loops.size()) {
      auto& loop = self.team->loops.emplace_back();
      loop.next = static_cast<Count>(begin);
      loop.end = static_cast<Count>(std::max(begin, end));
      loop.chunk = static_cast<Count>(std::max(chunk, Number{1}));
    }
    self.loop = &self.team->loops[self.n_loops++];
  }
  return Next(from, to);
}
}  // namespace

extern "C" {
void GOMP_parallel(void (*region)(void*), void* data, unsigned n_threads, unsigned /*flags*/) {
  n_threads = n_threads == 0 ? MaxThreads() : n_threads;
  Team team{self.team != nullptr ? 1 : n_threads};
  std::vector<std::thread> threads;
  for (unsigned number = 1; number < team.n_threads; ++number) {
    threads.emplace_back(Run, region, data, &team, number);
  }
  Run(region, data, &team, 0);
  for (auto& thread : threads) {
    thread.join();
  }
}

void GOMP_barrier() {
  if (self.team != nullptr) {
    pthread_barrier_wait(&self.team->barrier);
  }
}

bool GOMP_single_start() {
  std::lock_guard<std::mutex> guard{self.team->mutex};
  bool is_first = self.n_singles++ == self.team->n_singles;
  self.team->n_singles += is_first;
  return is_first;
}

void GOMP_loop_end() { GOMP_barrier(); }
void GOMP_loop_end_nowait() {}

#define XDCC_LOOP(KIND)                                                                    \
  bool GOMP_loop_##KIND##_start(long begin, long end, long step, long chunk, long* from,   \
                                long* to) {                                                \
    return Start(begin, end, step, chunk, from, to);                                       \
  }                                                                                        \
  bool GOMP_loop_##KIND##_next(long* from, long* to) { return Next(from, to); }            \
  bool GOMP_loop_ull_##KIND##_start(bool, Count begin, Count end, Count step, Count chunk, \
                                    Count* from, Count* to) {                              \
    return Start(begin, end, step, chunk, from, to);                                       \
  }                                                                                        \
  bool GOMP_loop_ull_##KIND##_next(Count* from, Count* to) { return Next(from, to); }
XDCC_LOOP(dynamic)
XDCC_LOOP(guided)
XDCC_LOOP(nonmonotonic_dynamic)
XDCC_LOOP(nonmonotonic_guided)

int omp_get_max_threads() { return MaxThreads(); }
int omp_get_num_procs() { return Processors(); }
int omp_get_num_threads() { return self.team != nullptr ? self.team->n_threads : 1; }
int omp_get_thread_limit() { return Processors() * 64; }
int omp_get_thread_num() { return self.number; }
int omp_in_parallel() { return self.team != nullptr && self.team->n_threads > 1; }
void omp_set_num_threads(int n_threads) { max_threads = n_threads; }
}
