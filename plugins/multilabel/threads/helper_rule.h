/**
 * @brief Rules for how much help a parallel region gets: functions of observations, no threads.
 *
 * - `SiteCost` predicts the work of a region from its number of iterations and from what iterations
 *   took before at the same place of the program.
 * - `WakingDebt` wakes sleeping workers once regions have lost as much by doing without them as
 *   waking takes.
 * - `IdleProcessors` limits how many are woken: where none is idle, a woken worker would take the
 *   processor of the thread that it is to help.
 * - `HelpRecord` finds workers that have cost more than they gave. They rest for a time in
 *   proportion to the loss (`RestAfter`), then try again. So waiting for them costs at most a
 *   small share of the time where others compete for the processors, and one that loses its
 *   processor does not stop those that keep theirs.
 * - `SpinTime` decides how long a worker without work spins before it sleeps.
 *
 * `tests/plugins/cpp/test_helper_rule.cc` runs them on simulated machines of 2 to 64 processors.
 */
#ifndef XDCC_MULTILABEL_THREADS_HELPER_RULE_H_
#define XDCC_MULTILABEL_THREADS_HELPER_RULE_H_

#include <algorithm>  // for max, min
#include <cstdint>    // for int64_t

namespace xdcc {
using Nanoseconds = std::int64_t;

/** @brief Work for each thread that is worth handing it to a worker that is awake. */
inline constexpr Nanoseconds kWorthHanding = 5'000;
/** @brief Time that regions must have lost without workers before more of them are woken. */
inline constexpr Nanoseconds kWorthWaking = 50'000;
/** @brief An interruption longer than the system's own work: the thread has lost its processor. */
inline constexpr Nanoseconds kInterruption = 50'000;
/** @brief Work of a region of which nothing is known: enough for any number of workers. */
inline constexpr Nanoseconds kUnknownWork = 1'000'000'000;

/** @brief Time of an iteration at one call site, learned from its regions. */
class SiteCost {
 public:
  /** @brief Expected time of all threads together in a region of `size` iterations. */
  static Nanoseconds Work(double per_iteration, std::int64_t size) {
    return per_iteration < 0 ? kUnknownWork
                             : static_cast<Nanoseconds>(per_iteration * static_cast<double>(size));
  }
  /** @brief Time of an iteration after a region took `work`; negative: nothing is known. */
  static double Learn(double per_iteration, std::int64_t size, Nanoseconds work) {
    auto const now = static_cast<double>(work) / static_cast<double>(size);
    return per_iteration < 0 ? now : (per_iteration + now) / 2;
  }
  static constexpr double kUnknown = -1.0;
};

/** @brief Number of workers that pay off for this much work, `most` at most. */
inline int WorthHelpers(Nanoseconds work, int most) {
  auto const threads = work / kWorthHanding;
  return static_cast<int>(std::clamp<Nanoseconds>(threads - 1, 0, most));
}

/**
 * @brief Time that the regions of one caller have lost because workers slept.
 *
 * Waking takes a constant time, and a woken worker is awake for the regions that follow. As in
 * the ski-rental problem, the loss is at most twice that of the best decision in hindsight.
 */
class WakingDebt {
 public:
  /**
   * @brief Whether to wake workers for a region.
   *
   * @param now     Time.
   * @param work    Expected work of the region.
   * @param n_awake Number of workers that help without being woken.
   * @param n_worth Number that the region is worth.
   */
  bool Wakes(Nanoseconds now, Nanoseconds work, int n_awake, int n_worth) {
    if (now - last_ > kForgotten) {
      debt_ = 0;
    }
    last_ = now;
    if (n_awake >= n_worth) {
      return false;
    }
    debt_ += work / (n_awake + 1) - work / (n_worth + 1);
    if (debt_ < kWorthWaking) {
      return false;
    }
    debt_ = 0;
    return true;
  }

 private:
  /** @brief Time without regions after which a woken worker would sleep again. */
  static constexpr Nanoseconds kForgotten = 500'000;
  Nanoseconds debt_{0}, last_{0};
};

/**
 * @brief Number of processors that woken workers can have to themselves; negative: not known.
 *
 * @param n_processors Processors of the system; 0 if not known.
 * @param n_usable     Processors that the caller may use. Other processes may be on the others.
 * @param n_runnable   Threads that run or could run, with the caller; negative if not known.
 */
inline int IdleProcessors(int n_processors, int n_usable, int n_runnable) {
  bool const is_known = n_processors > 0 && n_usable == n_processors && n_runnable >= 0;
  return is_known ? std::max(0, n_processors - n_runnable) : -1;
}

/** @brief Time for which workers are not woken after no processor was idle. */
inline constexpr Nanoseconds kNoneIdle = 5'000'000;

/** @brief The recent balance of one worker's help. */
class HelpRecord {
 public:
  /**
   * @brief Note the worker's part in a region.
   *
   * @param worked Processor time of the worker in tasks.
   * @param waited Time that the caller, without tasks left, waited for it. A worker that the system
   *               does not interrupt has worked at least that long in the same region, so only
   *               interruptions make the balance fall.
   *
   * @return Time that the worker cost beyond the time that it gave; 0 if it gave more.
   */
  Nanoseconds Loss(Nanoseconds worked, Nanoseconds waited) {
    balance_ = std::min(balance_ + worked - waited, kMostCredit);
    auto const loss = std::max(Nanoseconds{0}, -balance_);
    balance_ += loss;
    return loss;
  }

 private:
  /** @brief Largest credit from earlier gains. */
  static constexpr Nanoseconds kMostCredit = 300'000;
  Nanoseconds balance_{0};
};

/**
 * @brief Return how long a worker rests after a loss, when `n_resting` others rest.
 *
 * The time is proportional to both, so all workers together cost at most a twentieth of the time.
 */
inline Nanoseconds RestAfter(Nanoseconds loss, int n_resting) {
  constexpr Nanoseconds kRestPerLoss = 20, kLongest = 1'000'000'000;
  return std::min(std::min(loss, kLongest) * kRestPerLoss * (n_resting + 1), kLongest);
}

/** @brief How long a worker spins for the next region. */
class SpinTime {
 public:
  [[nodiscard]] Nanoseconds Now() const { return spin_; }
  /** @brief A region came while it spun. */
  void Found() { spin_ = std::min(2 * spin_, kLongest); }
  /** @brief Another thread took the processor while it spun: somebody has use for it. */
  void Interrupted() { spin_ = kShortest; }

 private:
  static constexpr Nanoseconds kShortest = 20'000, kLongest = 500'000;
  Nanoseconds spin_{kLongest};
};
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_HELPER_RULE_H_
