/**
 * @brief See `workers.h`.
 *
 * A worker has an atomic variable, its offer: 0, the address of a region that wants help, or that
 * address with a mark. The region's owner writes the address. The worker marks it when it begins to
 * help, and writes 0 when no task is left. The owner takes an unmarked address back, so it does not
 * wait for workers that sleep or are not running. Regions are on the owner's stack.
 */
#include "workers.h"

#include <algorithm>           // for max, min
#include <array>               // for array
#include <atomic>              // for atomic
#include <chrono>              // for steady_clock
#include <cmath>               // for ceil
#include <condition_variable>  // for condition_variable
#include <cstdint>             // for int64_t, uintptr_t
#include <exception>           // for exception
#include <memory>              // for unique_ptr
#include <mutex>               // for mutex
#include <thread>              // for thread
#include <utility>             // for exchange

#include "cpu_quota.h"  // for CpuQuota

#if !defined(_WIN32)
#include <pthread.h>  // for pthread_atfork, pthread_sigmask
#include <signal.h>   // for sigfillset
#include <time.h>     // for clock_gettime
#endif

namespace xdcc {
namespace {
using Nanoseconds = std::int64_t;

constexpr int kMaxWorkers = 255;
/** @brief Work in a region, of all threads together, that is worth waking another thread for. */
constexpr Nanoseconds kWorthSharing = 10'000, kUnknown = 0;
/** @brief How long a worker spins for the next region before it sleeps. */
constexpr Nanoseconds kSpin = 100'000;
/** @brief How long an owner spins for a claimed task at least, before it sleeps. */
constexpr Nanoseconds kWait = 50'000;
/** @brief Time awake after which a worker checks whether it is useful. */
constexpr Nanoseconds kWindow = 1'000'000;
/** @brief Time that waking a thread takes on an idle machine, at most. */
constexpr Nanoseconds kWaking = 200'000;
/** @brief Shortest and longest time without workers on a busy machine. */
constexpr Nanoseconds kShortestPause = 10'000'000, kLongestPause = 400'000'000;

Nanoseconds Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/** @brief CPU time of this thread; if it is not known, the time itself, so that none seems lost. */
Nanoseconds CpuTime() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) {
    return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  }
#endif
  return Now();
}

/** @brief Tell the processor that this thread spins. */
void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
  __asm__ __volatile__("yield");
#endif
}

thread_local int task_number{-1};

struct Region {
  int n_tasks;
  Task task;
  void* data;
  void const* site;
  std::atomic<int> next{0};
  std::atomic<Nanoseconds> helped{0};  // time that workers spent in tasks

  /** @brief Do tasks until none is left to claim. */
  void Work() {
    for (int t; (t = next.fetch_add(1, std::memory_order_acq_rel)) < n_tasks;) {
      task_number = t;
      task(data, t);
    }
    task_number = -1;
  }
};

constexpr std::uintptr_t kTaken = 1, kAwaited = 2, kMarks = 3;
static_assert(alignof(Region) > kMarks, "Marks need the low bits of a region's address.");

std::uintptr_t Address(Region* region) { return reinterpret_cast<std::uintptr_t>(region); }

class Pool {
 public:
  static Pool* Get();

  int UsefulThreads(int n) const {
    bool const paused = Now() < paused_until_.load(std::memory_order_relaxed);
    return paused ? 1 : std::min(n, max_workers_.load() + 1);
  }

  void Run(Region* region) {
    if (region->n_tasks == 1 || task_number >= 0 || max_workers_ == 0) {
      RunAlone(region);
      return;
    }
    auto const begin = Now();
    auto* usual = this->UsualWork(region->site);
    auto const work = usual->load(std::memory_order_relaxed);
    if (begin < paused_until_.load(std::memory_order_relaxed) ||
        (work != kUnknown && work < kWorthSharing)) {
      RunAlone(region);
      Remember(Now() - begin, usual);
      return;
    }
    std::array<Worker*, kMaxWorkers> helpers;
    int const n_helpers = this->Offer(region, helpers.data());
    auto const ready = Now();
    region->Work();
    auto const done = Now();
    for (int i = 0; i < n_helpers; ++i) {
      Dismiss(helpers[i], Address(region), done - begin);
    }
    gained_.fetch_sub(Now() - done, std::memory_order_relaxed);
    Remember(done - ready + region->helped.load(std::memory_order_relaxed), usual);
  }

 private:
  struct alignas(64) Worker {
    std::atomic<std::uintptr_t> offer{0};
    std::atomic<bool> sleeps{false};
    Nanoseconds woken_at{0};  // 0: not woken; guarded by the mutex
    std::mutex mutex;
    std::condition_variable wake, done;
  };

  /** @brief As many as the quota of a container allows, besides the thread that begins a region. */
  static int QuotaWorkers() {
    auto const cpus = std::ceil(std::min<double>(CpuQuota("/proc/self"), kMaxWorkers));
    return std::max(1, static_cast<int>(cpus)) - 1;
  }

  static void RunAlone(Region* region) {
    int const outer = task_number;
    for (int t = 0; t < region->n_tasks; ++t) {
      task_number = t;
      region->task(region->data, t);
    }
    task_number = outer;
  }

  /** @brief Offer the region to workers without work, and return how many there are. */
  int Offer(Region* region, Worker** helpers) {
    int const n_wanted = std::min(region->n_tasks - 1, max_workers_.load());
    if (n_workers_.load(std::memory_order_acquire) < n_wanted) {
      this->Hire(n_wanted);
    }
    int n_helpers = 0;
    int const n = n_workers_.load(std::memory_order_acquire);
    for (int w = 0; w < n && n_helpers < n_wanted; ++w) {
      auto* worker = workers_[w].get();
      std::uintptr_t none = 0;
      if (worker->offer.compare_exchange_strong(none, Address(region))) {
        helpers[n_helpers++] = worker;
        if (worker->sleeps.load()) {
          std::lock_guard<std::mutex> guard{worker->mutex};
          if (worker->woken_at == 0) {
            worker->woken_at = Now();
          }
          worker->wake.notify_one();
        }
      }
    }
    return n_helpers;
  }

  /** @brief Take the offer back from a worker, or wait until it has ended its task. */
  static void Dismiss(Worker* worker, std::uintptr_t address, Nanoseconds worked) {
    auto offer = address;
    if (worker->offer.compare_exchange_strong(offer, 0)) {
      return;
    }
    auto const taken = address | kTaken;
    auto const end = Now() + kWait + worked / 8;
    while (worker->offer.load(std::memory_order_acquire) == taken) {
      Pause();
      if (Now() > end) {
        std::unique_lock<std::mutex> lock{worker->mutex};
        offer = taken;
        if (worker->offer.compare_exchange_strong(offer, taken | kAwaited)) {
          worker->done.wait(lock, [&] { return worker->offer.load() != (taken | kAwaited); });
        }
        return;
      }
    }
  }

  /** @brief Start threads until there are `n` workers. */
  void Hire(int n) {
    std::lock_guard<std::mutex> guard{hiring_};
#if !defined(_WIN32)
    sigset_t all, before;  // signals are for the threads of the program, not for workers
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    try {
      for (int w = n_workers_.load(); w < n; ++w) {
        workers_[w] = std::make_unique<Worker>();
        std::thread{[this, worker = workers_[w].get()] { this->Serve(worker); }}.detach();
        n_workers_.store(w + 1, std::memory_order_release);
      }
    } catch (std::exception const&) {
      max_workers_ = n_workers_.load();  // the system has no more threads or memory
    }
#if !defined(_WIN32)
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  }

  /** @brief The loop of a worker, which never ends. */
  void Serve(Worker* worker) {
    Nanoseconds awake = 0, lost = 0;  // since they were last looked at
    for (;;) {
      auto const begin = Now(), cpu = CpuTime();
      for (auto idle_since = begin, now = begin;; now = Now()) {
        if (auto const offer = worker->offer.load(std::memory_order_acquire)) {
          this->Help(worker, offer);
          idle_since = Now();
        } else if (now - idle_since > kSpin) {
          break;
        } else {
          for (int i = 0; i < 8; ++i) {
            Pause();
          }
        }
        if (now - begin > kWindow) {
          break;
        }
      }
      auto const end = Now();
      awake += end - begin;
      lost += end - begin - (CpuTime() - cpu);
      if (awake > kWindow) {
        this->Judge(lost);
        awake = lost = 0;
      }
      if (end - begin <= kWindow) {
        lost += this->Sleep(worker);
      }
    }
  }

  void Help(Worker* worker, std::uintptr_t offer) {
    if (!worker->offer.compare_exchange_strong(offer, offer | kTaken)) {
      return;
    }
    auto* region = reinterpret_cast<Region*>(offer);
    auto const begin = Now();
    region->Work();
    auto const helped = Now() - begin;
    gained_.fetch_add(helped, std::memory_order_relaxed);
    region->helped.fetch_add(helped, std::memory_order_relaxed);
    if (worker->offer.exchange(0) & kAwaited) {
      std::lock_guard<std::mutex> guard{worker->mutex};
      worker->done.notify_all();
    }
  }

  /** @brief Sleep until there is an offer; return how late the system let this thread run then. */
  static Nanoseconds Sleep(Worker* worker) {
    std::unique_lock<std::mutex> lock{worker->mutex};
    worker->sleeps.store(true);
    worker->wake.wait(lock, [&] { return worker->offer.load() != 0; });
    worker->sleeps.store(false);
    auto const late = worker->woken_at == 0 ? 0 : Now() - worker->woken_at - kWaking;
    worker->woken_at = 0;
    return std::max(Nanoseconds{0}, late);
  }

  /** @brief Check whether help was worth more than the time that was lost or spent waiting. */
  void Judge(Nanoseconds lost) {
    if (gained_.exchange(0, std::memory_order_relaxed) < lost) {
      this->Busy();
    } else {
      auto const pause = pause_.load(std::memory_order_relaxed);
      pause_.store(std::max(kShortestPause, pause - pause / 64), std::memory_order_relaxed);
    }
  }

  /** @brief Do without workers for a while, since they did not help. */
  void Busy() {
    auto const now = Now();
    if (now < paused_until_.load(std::memory_order_relaxed)) {
      return;
    }
    auto const pause = pause_.load(std::memory_order_relaxed);
    pause_.store(std::min(4 * pause, kLongestPause), std::memory_order_relaxed);
    paused_until_.store(now + pause, std::memory_order_relaxed);
  }

  /** @brief How long all threads together usually work in a region of this site. */
  std::atomic<Nanoseconds>* UsualWork(void const* site) {
    auto const hash = reinterpret_cast<std::uintptr_t>(site) / 16 * 0x9E3779B97F4A7C15u;
    return &usual_work_[hash >> 56];
  }
  static void Remember(Nanoseconds work, std::atomic<Nanoseconds>* usual) {
    auto const before = usual->load(std::memory_order_relaxed);
    auto const now = before == kUnknown ? work : before + (work - before) / 8;
    usual->store(std::max(now, kUnknown + 1), std::memory_order_relaxed);
  }

  std::array<std::unique_ptr<Worker>, kMaxWorkers> workers_;
  std::atomic<int> n_workers_{0};
  std::mutex hiring_;
  std::atomic<int> max_workers_{QuotaWorkers()};
  std::atomic<Nanoseconds> paused_until_{0}, pause_{kShortestPause};
  /** @brief Time that workers spent in tasks, less that which owners waited for them. */
  std::atomic<Nanoseconds> gained_{0};
  std::array<std::atomic<Nanoseconds>, 256> usual_work_{};
};

/** @brief Never deleted, since workers outlive the end of `main`; anew in a forked process. */
std::atomic<Pool*> the_pool{nullptr};

Pool* Pool::Get() {
  auto* pool = the_pool.load(std::memory_order_acquire);
  if (pool != nullptr) {
    return pool;
  }
  static std::mutex making;
  std::lock_guard<std::mutex> guard{making};
  if ((pool = the_pool.load()) == nullptr) {
#if !defined(_WIN32)
    static bool const registered =
        pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); }) == 0;
    (void)registered;
#endif
    pool = new Pool;
    the_pool.store(pool, std::memory_order_release);
  }
  return pool;
}
}  // namespace

void RunTasks(int n_tasks, Task task, void* data, void const* site) {
  Region region{n_tasks, task, data, site != nullptr ? site : reinterpret_cast<void const*>(task)};
  Pool::Get()->Run(&region);
}

int UsefulThreads(int n) { return n == 1 ? 1 : Pool::Get()->UsefulThreads(n); }

int TaskNumber() { return task_number; }

int EnterTask(int number) { return std::exchange(task_number, number); }
}  // namespace xdcc
