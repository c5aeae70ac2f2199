/**
 * @brief See `workers.h`.
 *
 * A worker has an atomic variable, its offer: 0, or the address of a region with marks. The owner
 * of a region writes the address into the offers of free workers. A worker marks it as taken when
 * it begins to help, and as done when no task is left. The owner takes back what was not taken, so
 * it does not wait for workers that sleep or are not running, waits for those that have taken it,
 * and frees them. Regions are on the owner's stack; until it is freed, a worker is the owner's.
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
#include <utility>             // for exchange, move
#include <vector>              // for vector

#include "caller_settings.h"  // for CallerSettings
#include "cpu_quota.h"        // for CpuQuota
#include "helper_rule.h"      // for HelpRecord, IdleProcessors, SiteCost, SpinTime, WakingDebt
#include "system_load.h"      // for NumProcessors, RunnableThreads

#if !defined(_WIN32)
#include <pthread.h>  // for pthread_atfork, pthread_sigmask
#include <signal.h>   // for sigfillset
#include <time.h>     // for clock_gettime
#endif

namespace xdcc {
namespace {
constexpr int kMaxWorkers = 255;
/** @brief Least time that an owner spins for a claimed task before it sleeps. */
constexpr Nanoseconds kWait = 50'000;
/** @brief Time after which an owner that works alone asks for help, and asks again. */
constexpr Nanoseconds kLongerThanExpected = 50'000;
/** @brief Time after which a thread's affinity and priority are read again. */
constexpr Nanoseconds kSettingsAge = 10'000'000;
/** @brief Time for which no thread is started after the system refused one. */
constexpr Nanoseconds kAfterRefusal = 1'000'000'000;
/** @brief Help of at least this time is measured in processor time, which takes a microsecond. */
constexpr Nanoseconds kLongHelp = 50'000;

Nanoseconds Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/** @brief CPU time of this thread; wall-clock time if it is unknown, so that none seems lost. */
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

struct Region;

/** @brief A thread that helps. What is not atomic belongs to the owner that holds it. */
struct alignas(64) Worker {
  explicit Worker(int settings) : settings{settings} {}
  int const settings;  // number of the affinity and priority that it has
  std::atomic<std::uintptr_t> offer{0};
  std::atomic<bool> sleeps{false};
  std::atomic<Nanoseconds> rests_until{0};
  HelpRecord record;
  Nanoseconds worked{0};  // processor time in the tasks of the last region
  std::mutex mutex;
  std::condition_variable wake, done;
};

thread_local Team current_team;
thread_local Region* alone{nullptr};  // the region of this thread that could still get help

constexpr std::uintptr_t kTaken = 1, kDone = 2, kAwaited = 4, kMarks = 7;

struct alignas(8) Region {
  int n_tasks;
  Task task;
  void* data;
  Team team;
  std::atomic<int> next{0};
  /** @brief Helpers, and those of them that sleep and were not woken yet. */
  std::array<Worker*, kMaxWorkers> helpers, sleepers;
  int n_helpers{0};
  std::atomic<int> n_sleepers{0}, next_sleeper{0};  // 0 until all of them are known
  Nanoseconds begin{0}, offered_at{0};

  [[nodiscard]] std::uintptr_t Address() const { return reinterpret_cast<std::uintptr_t>(this); }
  [[nodiscard]] bool HasMore() const { return next.load(std::memory_order_relaxed) < n_tasks; }

  /** @brief Do tasks until none is left to claim. */
  void Work() {
    InTeam const inside{team};
    for (int t; (t = next.fetch_add(1, std::memory_order_acq_rel)) < n_tasks;) {
      current_team.number = t;
      task(data, t);
      AskForHelp();
    }
  }

  /** @brief Wake two sleepers, each of which wakes two more: all wake in logarithmic time. */
  void WakeSleepers() {
    int const n = n_sleepers.load(std::memory_order_acquire);
    for (int i = 0; i < 2 && n > 0; ++i) {
      auto const s = next_sleeper.fetch_add(1, std::memory_order_relaxed);
      if (s >= n) {
        return;
      }
      {
        std::lock_guard<std::mutex> guard{sleepers[s]->mutex};
      }
      sleepers[s]->wake.notify_one();
    }
  }
};
static_assert(alignof(Region) > kMarks, "Marks need the low bits of a region's address.");

/** @brief The thread of a worker. */
class Helping {
 public:
  explicit Helping(Worker* worker) : worker_{worker} {}

  /** @brief Help one region after the other. Never ends. */
  [[noreturn]] void Run() {
    this->Synchronise(Now());
    for (;;) {
      if (!this->SpinForOffer()) {
        this->Sleep();
      }
      this->Help(worker_->offer.load(std::memory_order_acquire));
    }
  }

 private:
  static bool IsNew(std::uintptr_t offer) { return offer != 0 && (offer & kMarks) == 0; }

  /** @brief From now on, compare processor time with the time that passes. */
  void Synchronise(Nanoseconds now) {
    time_ = now;
    cpu_ = CpuTime();
  }

  /** @brief Wait awake; return whether there is an offer. */
  bool SpinForOffer() {
    auto before = Now();
    auto const end = before + spin_.Now();
    for (;;) {
      if (IsNew(worker_->offer.load(std::memory_order_acquire))) {
        spin_.Found();
        return true;
      }
      for (int i = 0; i < 8; ++i) {
        Pause();
      }
      auto const now = Now();
      if (now - before > kInterruption) {
        spin_.Interrupted();
        this->Synchronise(now);
        return false;
      }
      if (now > end) {
        return false;
      }
      before = now;
    }
  }

  void Sleep() {
    {
      std::unique_lock<std::mutex> lock{worker_->mutex};
      worker_->sleeps.store(true);
      worker_->wake.wait(lock, [&] { return IsNew(worker_->offer.load()); });
      worker_->sleeps.store(false);
    }
    this->Synchronise(Now());
  }

  void Help(std::uintptr_t offer) {
    if (!IsNew(offer) || !worker_->offer.compare_exchange_strong(offer, offer | kTaken)) {
      return;
    }
    auto* region = reinterpret_cast<Region*>(offer);
    region->WakeSleepers();
    auto const begin = Now();
    region->Work();
    auto const end = Now();
    worker_->worked = end - begin;
    if (end - begin > kLongHelp) {
      auto const time = time_, cpu = cpu_;
      this->Synchronise(end);
      auto const lost = std::max(Nanoseconds{0}, end - time - (cpu_ - cpu));
      worker_->worked = std::max(Nanoseconds{0}, end - begin - lost);
    }
    if (worker_->offer.exchange(offer | kDone) & kAwaited) {
      {
        std::lock_guard<std::mutex> guard{worker_->mutex};
      }
      worker_->done.notify_one();
    }
  }

  Worker* worker_;
  SpinTime spin_;
  Nanoseconds time_{0}, cpu_{0};  // when they were compared last
};

std::atomic<int> pretended_processors{0};

class Pool {
 public:
  static Pool* Get();

  int UsefulThreads(int n) {
    auto const& caller = this->Settings();
    auto const now = Now();
    return now < caller.none_idle_until
               ? 1
               : std::clamp(caller.n_processors - this->NumResting(caller.number, now), 1, n);
  }

  void Run(Region* region, std::int64_t size, void const* site) {
    if (region->n_tasks <= 1 || current_team.in_parallel) {
      RunAlone(region);
      return;
    }
    region->begin = region->offered_at = Now();
    auto* cost = this->CostAt(site);
    auto const per_iteration = cost->load(std::memory_order_relaxed);
    this->Offer(region, SiteCost::Work(per_iteration, size));
    auto const ready = Now();
    alone = region->n_helpers == 0 ? region : nullptr;
    region->Work();
    alone = nullptr;
    auto const done = Now();
    auto work = done - ready;
    for (int i = 0; i < region->n_helpers; ++i) {
      auto* helper = region->helpers[i];
      auto offer = region->Address();
      if (helper->offer.compare_exchange_strong(offer, 0)) {
        continue;  // it did not come
      }
      auto const waited = WaitFor(helper, region->Address(), done - region->begin);
      auto const loss = helper->record.Loss(helper->worked, waited);
      if (loss && PretendedProcessors() == 0) {
        auto const now = Now();
        helper->rests_until.store(now + RestAfter(loss, this->NumResting(helper->settings, now)),
                                  std::memory_order_relaxed);
      }
      work += helper->worked;
      helper->offer.store(0, std::memory_order_release);
    }
    cost->store(SiteCost::Learn(per_iteration, size, work), std::memory_order_relaxed);
  }

  /** @brief Offer a region that was expected to be short, or for which no worker was free. */
  void OfferLate(Region* region) {
    auto const now = Now();
    if (now - region->offered_at > kLongerThanExpected) {
      region->offered_at = now;
      this->Offer(region, kUnknownWork);
      alone = region->n_helpers == 0 ? region : nullptr;
    }
  }

 private:
  /** @brief State of a thread that begins regions. */
  struct Caller {
    Pool* pool{nullptr};  // that of the parent in a forked process
    CallerSettings settings{{}, 0, 0};
    int number{-1};  // of the settings
    int n_processors{1}, pretended{0};
    Nanoseconds read_at{0};
    int first{0};  // worker that helped first the last time
    Nanoseconds none_idle_until{0};
    WakingDebt debt;
  };
  static thread_local Caller caller_;

  /** @brief Return the number of processors that the quota of a container allows. */
  static int QuotaProcessors() {
    auto const cpus = std::ceil(std::min<double>(CpuQuota("/proc/self"), kMaxWorkers));
    return std::max(1, static_cast<int>(cpus));
  }

  static void RunAlone(Region* region) {
    InTeam const inside{region->team};
    for (int t = 0; t < region->n_tasks; ++t) {
      current_team.number = t;
      region->task(region->data, t);
    }
  }

  /** @brief Look up the affinity and priority of this thread. */
  Caller const& Settings() {
    auto const now = Now();
    auto const pretended = PretendedProcessors();
    if (caller_.pool == this && caller_.pretended == pretended &&
        now - caller_.read_at < kSettingsAge) {
      return caller_;
    }
    auto settings = ReadCallerSettings();
    if (caller_.pool != this || !(settings == caller_.settings)) {
      std::lock_guard<std::mutex> guard{hiring_};
      auto const found = std::find(settings_.cbegin(), settings_.cend(), settings);
      caller_.number = static_cast<int>(found - settings_.cbegin());
      if (found == settings_.cend()) {
        settings_.push_back(settings);
      }
      caller_.settings = std::move(settings);
      caller_.pool = this;
    }
    caller_.pretended = pretended;
    caller_.n_processors =
        pretended > 0 ? pretended : std::min(caller_.settings.n_processors, quota_);
    caller_.read_at = now;
    return caller_;
  }

  /** @brief Offer a region to free workers, those that are awake first. */
  void Offer(Region* region, Nanoseconds work) {
    auto const& caller = this->Settings();
    int const most = std::min(region->n_tasks, caller.n_processors) - 1;
    int const n_worth = WorthHelpers(work, most);
    if (n_worth == 0) {
      return;
    }
    int n_sleepers = 0;
    this->OfferTo(region, n_worth, &n_sleepers, /*asleep=*/false);
    if (caller_.debt.Wakes(region->offered_at, work, region->n_helpers, n_worth) &&
        region->offered_at >= caller_.none_idle_until) {
      int const n_most = std::min(n_worth, region->n_helpers + this->NumWorthWaking());
      int const n_resting = this->OfferTo(region, n_most, &n_sleepers, /*asleep=*/true);
      int const n_missing = n_most - region->n_helpers - n_resting;
      if (n_missing > 0 && this->Hire(caller, n_missing)) {
        this->OfferTo(region, n_most, &n_sleepers, /*asleep=*/true);
      }
    }
    region->n_sleepers.store(n_sleepers, std::memory_order_release);
    region->WakeSleepers();
  }

  /** @brief How many workers can be woken without one of them taking this thread's processor. */
  static int NumWorthWaking() {
    static int const n_processors = NumProcessors();
    if (caller_.pretended > 0) {
      return caller_.n_processors;
    }
    int const n_idle = IdleProcessors(n_processors, caller_.settings.n_processors,
                                      RunnableThreads("/proc/loadavg"));
    if (n_idle == 0) {
      caller_.none_idle_until = Now() + kNoneIdle;
    }
    return n_idle < 0 ? caller_.n_processors : n_idle;
  }

  /**
   * @brief Offer a region to free workers with the caller's settings until it has `n` helpers.
   *
   * @return Number of workers that rest.
   */
  int OfferTo(Region* region, int n, int* n_sleepers, bool asleep) {
    int const n_workers = n_workers_.load(std::memory_order_acquire);
    int n_resting = 0, w = caller_.first;
    for (int i = 0; i < n_workers && region->n_helpers < n; ++i, ++w) {
      w = w < n_workers ? w : 0;
      auto* worker = workers_[w].get();
      if (worker->settings != caller_.number) {
        continue;
      }
      if (worker->rests_until.load(std::memory_order_relaxed) > region->offered_at) {
        ++n_resting;
        continue;
      }
      std::uintptr_t none = 0;
      if (worker->offer.load(std::memory_order_relaxed) != 0 ||
          (!asleep && worker->sleeps.load(std::memory_order_relaxed)) ||
          !worker->offer.compare_exchange_strong(none, region->Address())) {
        continue;
      }
      if (region->n_helpers == 0) {
        caller_.first = w;
      }
      region->helpers[region->n_helpers++] = worker;
      if (worker->sleeps.load()) {
        region->sleepers[(*n_sleepers)++] = worker;
      }
    }
    return n_resting;
  }

  /**
   * @brief Wait until a worker has ended its task.
   *
   * @param worked Time that the owner has worked in the region.
   * @return Time that the owner waited, less that in which it was interrupted itself.
   */
  static Nanoseconds WaitFor(Worker* worker, std::uintptr_t address, Nanoseconds worked) {
    if (worker->offer.load(std::memory_order_acquire) & kDone) {
      return 0;
    }
    Nanoseconds waited = 0;
    for (auto before = Now(); !(worker->offer.load(std::memory_order_acquire) & kDone);) {
      Pause();
      auto const now = Now();
      waited += now - before < kInterruption ? now - before : 0;
      before = now;
      if (waited > kWait + worked / 8) {
        {
          std::unique_lock<std::mutex> lock{worker->mutex};
          auto offer = address | kTaken;
          if (worker->offer.compare_exchange_strong(offer, offer | kAwaited)) {
            worker->done.wait(lock, [&] { return worker->offer.load() & kDone; });
          }
        }
        return waited + Now() - before;
      }
    }
    return waited;
  }

  /** @brief Number of workers with these settings that rest. */
  int NumResting(int settings, Nanoseconds now) const {
    int const n_workers = n_workers_.load(std::memory_order_acquire);
    int n_resting = 0;
    for (int w = 0; w < n_workers; ++w) {
      n_resting += workers_[w]->settings == settings &&
                   workers_[w]->rests_until.load(std::memory_order_relaxed) > now;
    }
    return n_resting;
  }

  /** @brief Start up to `n` threads with the settings of this one; return whether there are any. */
  bool Hire(Caller const& caller, int n) {
    std::lock_guard<std::mutex> guard{hiring_};
    auto const begin = n_workers_.load();
    auto const alike =
        std::count_if(workers_.cbegin(), workers_.cbegin() + begin,
                      [&](auto const& worker) { return worker->settings == caller.number; });
    auto const end =
        std::min({begin + n, kMaxWorkers, begin + caller.n_processors - static_cast<int>(alike)});
    if (Now() < refused_until_) {
      return false;
    }
#if !defined(_WIN32)
    // Signals are for the threads of the program, except those that a task of the worker causes.
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (int caused : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) {
      sigdelset(&blocked, caused);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
#endif
    try {
      for (int w = begin; w < end; ++w) {
        workers_[w] = std::make_unique<Worker>(caller.number);
        std::thread{[worker = workers_[w].get()] { Helping{worker}.Run(); }}.detach();
        n_workers_.store(w + 1, std::memory_order_release);
      }
    } catch (std::exception const&) {
      refused_until_ = Now() + kAfterRefusal;  // the system has no more threads or memory
    }
#if !defined(_WIN32)
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
    return n_workers_.load() > begin;
  }

  /** @brief Time of an iteration at a call site; sites with the same hash share it. */
  std::atomic<double>* CostAt(void const* site) {
    auto const hash = reinterpret_cast<std::uintptr_t>(site) / 16 * 0x9E3779B97F4A7C15u;
    return &costs_[hash >> 54];
  }

  std::array<std::unique_ptr<Worker>, kMaxWorkers> workers_;
  std::atomic<int> n_workers_{0};
  std::mutex hiring_;  // guards what follows, and changes of the number of workers
  std::vector<CallerSettings> settings_;
  Nanoseconds refused_until_{0};
  int const quota_{QuotaProcessors()};
  std::array<std::atomic<double>, 1024> costs_;

  Pool() {
    for (auto& cost : costs_) {
      cost.store(SiteCost::kUnknown, std::memory_order_relaxed);
    }
  }
};

thread_local Pool::Caller Pool::caller_;

/** @brief Never deleted, since workers outlive the end of `main`; anew in a forked process. */
std::atomic<Pool*> the_pool{nullptr};
std::mutex making;  // held during a fork, so that no child has a half-made pool

#if !defined(_WIN32)
[[maybe_unused]] int const fork_handlers =
    pthread_atfork([] { making.lock(); }, [] { making.unlock(); },
                   [] {
                     the_pool.store(nullptr);
                     making.unlock();
                   });
#endif

Pool* Pool::Get() {
  auto* pool = the_pool.load(std::memory_order_acquire);
  if (pool != nullptr) {
    return pool;
  }
  std::lock_guard<std::mutex> guard{making};
  if ((pool = the_pool.load()) == nullptr) {
    pool = new Pool;
    the_pool.store(pool, std::memory_order_release);
  }
  return pool;
}
}  // namespace

void RunTasks(int n_tasks, Task task, void* data, std::int64_t size, void const* site, Team team) {
  team.size = team.size == 0 ? n_tasks : team.size;
  team.in_parallel = current_team.in_parallel || team.size > 1;
  Region region;
  region.n_tasks = n_tasks;
  region.task = task;
  region.data = data;
  region.team = team;
  Pool::Get()->Run(&region, std::max<std::int64_t>(size, 1),
                   site != nullptr ? site : reinterpret_cast<void const*>(task));
}

void AskForHelp() {
  if (alone != nullptr && alone->HasMore()) {
    Pool::Get()->OfferLate(alone);
  }
}

int UsefulThreads(int n) { return n == 1 ? 1 : Pool::Get()->UsefulThreads(n); }

Team const& CurrentTeam() { return current_team; }

InTeam::InTeam(Team const& team) : outer_{std::exchange(current_team, team)} {}
InTeam::~InTeam() { current_team = outer_; }
Team InTeam::OfOne() { return {0, 1, current_team.in_parallel, current_team.max_threads}; }

void PretendProcessors(int n) { pretended_processors.store(n); }
int PretendedProcessors() { return pretended_processors.load(std::memory_order_relaxed); }
}  // namespace xdcc
