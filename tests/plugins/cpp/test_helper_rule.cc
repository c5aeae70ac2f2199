/**
 * @brief The rule of what help a region gets, on simulated machines of 2 to 64 processors.
 *
 * A simulation draws when each worker loses its processor, and to whom, and replays what the pool
 * does with fake clocks. Three workloads have the regions of boosting rounds: of 4 to 300
 * microseconds of work, and ten and a hundred times as large. The times of the same rounds on one
 * thread, and with workers that never rest, are what the rule is compared with.
 */
#include <algorithm>  // for clamp, count_if, max, min, shuffle
#include <limits>     // for numeric_limits
#include <queue>      // for priority_queue
#include <random>     // for exponential_distribution, mt19937_64, uniform_real_distribution
#include <string>     // for to_string
#include <utility>    // for pair
#include <vector>     // for vector

#include "testing.h"              // for XDCC_TEST
#include "threads/helper_rule.h"  // for HelpRecord, RestAfter, SiteCost, SpinTime, WakingDebt, …

namespace xgboost::multilabel {
namespace {
using xdcc::Nanoseconds;

/** @brief Who else uses the processors. */
enum class Others { kNobody, kOneProcess, kHalf, kAllAtHigherPriority, kQuotaOfHalf };

class Draws {
 public:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(bits_);
  }
  double Exponential(double mean) {
    return std::exponential_distribution<double>{1.0 / mean}(bits_);
  }
  std::mt19937_64* Bits() { return &bits_; }

 private:
  std::mt19937_64 bits_{1};
};

/** @brief When a thread does not run. */
class Interruptions {
 public:
  Interruptions(Others others, bool shares_processor, Draws* draws)
      : others_{others}, shares_{shares_processor}, draws_{draws} {
    this->Next(0);
  }
  /** @brief When `work` nanoseconds are done that begin at `now`, or a moment before. */
  double Finish(double now, double work) {
    while (end_ <= now) {
      this->Next(end_);
    }
    for (double t = now;;) {
      if (begin_ <= t) {
        t = std::max(t, end_);
      } else if (begin_ >= t + work) {
        return t + work;
      } else {
        work -= begin_ - t;
        t = end_;
      }
      this->Next(end_);
    }
  }

 private:
  void Next(double from) {
    if (others_ == Others::kQuotaOfHalf) {  // all threads stop for the second half of each period
      begin_ = from == 0 ? 50e6 : begin_ + 100e6;
      end_ = begin_ + 50e6;
    } else if (!shares_) {  // the system's own work
      begin_ = from + draws_->Exponential(1e6);
      end_ = begin_ + draws_->Exponential(3e3);
    } else if (others_ == Others::kAllAtHigherPriority) {
      begin_ = from + draws_->Exponential(1e6);
      end_ = begin_ + draws_->Uniform(5e6, 20e6);
    } else {  // turns of some milliseconds
      begin_ = from + draws_->Exponential(4e6);
      end_ = begin_ + draws_->Uniform(2e6, 6e6);
    }
  }

  Others others_;
  bool shares_;
  Draws* draws_;
  double begin_{0}, end_{0};
};

struct Worker {
  xdcc::HelpRecord record;
  xdcc::SpinTime spin;
  Interruptions interruptions;
  double free_since{-1e9}, rests_until{0};
};

struct Outcome {
  double time{0}, alone{0}, rest{0};  // `rest`: share of the time, mean of the workers
  std::vector<double> rests;          // of each worker
};

/** @brief Seconds of boosting rounds. */
class Simulation {
 public:
  Simulation(int n_workers, double scale, Others others, bool rests)
      : rests_{rests}, owner_{others, false, &draws_} {
    for (int w = 0; w < n_workers; ++w) {
      bool const shares = others == Others::kAllAtHigherPriority ||
                          (others == Others::kHalf && w % 2 == 0) ||
                          (others == Others::kOneProcess && w == 0);
      workers_.push_back(Worker{{}, {}, {others, shares, &draws_}});
    }
    for (auto [n, work] : {std::pair{30, 4e3}, {15, 3e4}, {5, 3e5}}) {
      works_.insert(works_.end(), n, work * scale);
    }
    std::shuffle(works_.begin(), works_.end(), *draws_.Bits());
  }

  Outcome Run() {
    Outcome outcome;
    outcome.rests.resize(workers_.size());
    double now = 0;
    while (now < 1e9) {
      for (auto mean : works_) {
        auto const gap = draws_.Uniform(2e3, 2e4), work = mean * draws_.Uniform(0.5, 1.5);
        outcome.alone += gap + work;
        auto const begin = owner_.Finish(now, gap);
        now = this->Region(begin, mean, work);
        for (std::size_t w = 0; w < workers_.size(); ++w) {
          outcome.rests[w] += std::clamp(workers_[w].rests_until - begin, 0.0, now - begin);
        }
      }
      auto const gap = draws_.Uniform(5e4, 2e5);  // between rounds
      outcome.alone += gap;
      now = owner_.Finish(now, gap);
    }
    outcome.time = now;
    for (auto& rest : outcome.rests) {
      rest /= now;
      outcome.rest += rest / static_cast<double>(workers_.size());
    }
    return outcome;
  }

 private:
  struct Event {
    double time;
    int who;  // -1: the owner
    friend bool operator<(Event const& l, Event const& r) { return l.time > r.time; }
  };

  /** @brief Which workers are offered a region, and when they begin with it. */
  std::vector<Event> Helpers(double begin, double expected) {
    int const n = static_cast<int>(workers_.size());
    int const n_worth = xdcc::WorthHelpers(static_cast<Nanoseconds>(expected), n);
    std::vector<Event> events;
    auto offer = [&](bool asleep) {
      for (int w = 0; w < n && static_cast<int>(events.size()) < n_worth; ++w) {
        auto& worker = workers_[w];
        if (rests_ && worker.rests_until > begin) {
          continue;
        }
        bool const sleeps = begin - worker.free_since > static_cast<double>(worker.spin.Now());
        if (sleeps != asleep) {
          continue;
        }
        auto const delay = asleep ? draws_.Uniform(5e4, 3e5) : 300;
        if (!asleep) {
          worker.spin.Found();
        }
        events.push_back({worker.interruptions.Finish(begin + delay, 0), w});
      }
    };
    offer(false);
    auto const n_awake = static_cast<int>(events.size());
    if (debt_.Wakes(static_cast<Nanoseconds>(begin), static_cast<Nanoseconds>(expected), n_awake,
                    n_worth)) {
      offer(true);
    }
    return events;
  }

  /** @brief When a region ends. */
  double Region(double begin, double expected, double work) {
    auto const helpers = this->Helpers(begin, expected);
    std::priority_queue<Event> events{helpers.cbegin(), helpers.cend()};
    events.push({begin, -1});
    int const n_tasks = static_cast<int>(workers_.size()) + 1;
    int next = 0;
    double done = std::numeric_limits<double>::infinity();
    std::vector<double> worked(workers_.size()), ends(workers_.size(), -1);
    while (!events.empty()) {
      auto const [t, who] = events.top();
      events.pop();
      if (who >= 0 && t > done && ends[who] < 0) {
        continue;  // the offer was taken back
      }
      if (next < n_tasks) {
        ++next;
        auto const task = work / n_tasks * draws_.Uniform(0.9, 1.1);
        auto* own = who < 0 ? &owner_ : &workers_[who].interruptions;
        auto const end = own->Finish(t, task);
        if (who >= 0) {
          worked[who] += task;
          ends[who] = end;
        }
        events.push({end, who});
      } else if (who < 0) {
        done = t;
      } else {
        workers_[who].free_since = ends[who] = t;
      }
    }
    auto now = done;
    for (auto const& helper : helpers) {
      if (ends[helper.who] < 0) {
        continue;
      }
      auto& worker = workers_[helper.who];
      auto const end = std::max(now, ends[helper.who]);
      // The owner notices its own interruptions while it spins.
      auto const spins = std::min(5e4 + (done - begin) / 8, end - now);
      auto const interrupted = owner_.Finish(now, spins) - now - spins;
      auto const waited = std::max(0.0, end - now - (interrupted > 5e4 ? interrupted : 0));
      if (auto const loss = worker.record.Loss(static_cast<Nanoseconds>(worked[helper.who]),
                                               static_cast<Nanoseconds>(waited))) {
        auto const n_resting =
            std::count_if(workers_.cbegin(), workers_.cend(),
                          [&](auto const& other) { return other.rests_until > end; });
        worker.rests_until =
            end + static_cast<double>(xdcc::RestAfter(loss, static_cast<int>(n_resting)));
      }
      now = end;
    }
    return now;
  }

  bool rests_;
  Draws draws_;
  Interruptions owner_;
  std::vector<Worker> workers_;
  std::vector<double> works_;
  xdcc::WakingDebt debt_;
};

Outcome Simulate(int n_workers, double scale, Others others, bool rests = true) {
  return Simulation{n_workers, scale, others, rests}.Run();
}

double SpeedUp(Outcome const& outcome) { return outcome.alone / outcome.time; }

constexpr int kWorkers[] = {1, 3, 7, 15, 63};
constexpr double kScales[] = {1, 10, 100};

XDCC_TEST(helper_rule, NobodyRestsOnAnIdleMachine) {
  for (int n : kWorkers) {
    for (double scale : kScales) {
      auto const found = Simulate(n, scale, Others::kNobody);
      auto const never = Simulate(n, scale, Others::kNobody, false);
      CHECK_LT(found.rest, 0.01) << n << " workers, scale " << scale;
      CHECK_GT(SpeedUp(found), 0.98 * SpeedUp(never)) << n << " workers, scale " << scale;
      CHECK_GT(SpeedUp(found), 0.98) << n << " workers, scale " << scale;
    }
  }
}

XDCC_TEST(helper_rule, OneThatLosesItsProcessorRestsAlone) {
  for (int n : {3, 7, 15, 63}) {
    for (double scale : kScales) {
      for (auto others : {Others::kOneProcess, Others::kHalf}) {
        auto const found = Simulate(n, scale, others);
        double others_rest = 0;
        for (int w = 1; w < n; w += 2) {
          others_rest = std::max(others_rest, found.rests[w]);
        }
        CHECK_LT(others_rest, 0.02) << n << " workers, scale " << scale;
      }
    }
  }
}

XDCC_TEST(helper_rule, WorkersCostLittleOnABusyMachine) {
  for (int n : kWorkers) {
    for (double scale : kScales) {
      for (auto others : {Others::kOneProcess, Others::kHalf, Others::kAllAtHigherPriority}) {
        auto const found = SpeedUp(Simulate(n, scale, others));
        auto const never = SpeedUp(Simulate(n, scale, others, false));
        // Workers that have a twelfth of their processors are expensive to try in large regions.
        auto const least = others == Others::kAllAtHigherPriority ? 0.7 : 0.95;
        CHECK_GT(found, least) << n << " workers, scale " << scale;
        CHECK_GT(found, 0.85 * never) << n << " workers, scale " << scale;
      }
    }
  }
}

XDCC_TEST(helper_rule, AQuotaThatStopsAllThreadsIsNobodysFault) {
  for (int n : kWorkers) {
    for (double scale : kScales) {
      auto const found = Simulate(n, scale, Others::kQuotaOfHalf);
      auto const never = Simulate(n, scale, Others::kQuotaOfHalf, false);
      CHECK_GT(SpeedUp(found), 0.6 * SpeedUp(never)) << n << " workers, scale " << scale;
      CHECK_LT(found.rest, 0.3) << n << " workers, scale " << scale;
    }
  }
}

XDCC_TEST(helper_rule, ARestIsInProportionToTheLoss) {
  xdcc::HelpRecord record;
  CHECK_EQ(record.Loss(50'000, 20'000), 0);
  CHECK_EQ(record.Loss(10'000, 140'000), 100'000);  // 30 + 10 - 140 microseconds
  CHECK_EQ(record.Loss(20'000, 10'000), 0);         // that loss is forgotten
  CHECK_EQ(record.Loss(60'000'000, 0), 0);
  CHECK_EQ(record.Loss(0, 5'000'000), 4'700'000);  // a credit of .3 milliseconds is the most
  CHECK_EQ(xdcc::RestAfter(100'000, 0), 2'000'000);
  CHECK_EQ(xdcc::RestAfter(100'000, 3), 8'000'000);
  CHECK_EQ(xdcc::RestAfter(3'600'000'000'000, 63), 1'000'000'000);
}

XDCC_TEST(helper_rule, TheWorkOfARegionFollowsFromItsSize) {
  CHECK_EQ(xdcc::SiteCost::Work(xdcc::SiteCost::kUnknown, 3), xdcc::kUnknownWork);
  auto cost = xdcc::SiteCost::Learn(xdcc::SiteCost::kUnknown, 1, 1'000);
  for (int i = 0; i < 100; ++i) {
    cost = xdcc::SiteCost::Learn(cost, 1, 1'000);  // short regions
  }
  CHECK_EQ(xdcc::SiteCost::Work(cost, 900), 900'000);
  CHECK_EQ(xdcc::WorthHelpers(xdcc::SiteCost::Work(cost, 3), 15), 0);
  CHECK_EQ(xdcc::WorthHelpers(xdcc::SiteCost::Work(cost, 20), 15), 3);
  CHECK_EQ(xdcc::WorthHelpers(xdcc::SiteCost::Work(cost, 900), 15), 15);
}

XDCC_TEST(helper_rule, WorkersAreWokenWhenRegionsHaveLostAsMuch) {
  xdcc::WakingDebt debt;
  CHECK(!debt.Wakes(1'000'000, 30'000, 0, 5));  // a loss of 25 microseconds
  CHECK(!debt.Wakes(1'040'000, 30'000, 5, 5));  // all are awake
  CHECK(debt.Wakes(1'080'000, 30'000, 0, 5));
  CHECK(!debt.Wakes(1'120'000, 30'000, 0, 5));
  CHECK(!debt.Wakes(9'000'000, 30'000, 0, 5));  // woken workers would sleep again by now
  CHECK(!xdcc::WakingDebt{}.Wakes(1'000'000, 60'000, 0, 1));
  CHECK(xdcc::WakingDebt{}.Wakes(1'000'000, 110'000, 0, 1));
}

XDCC_TEST(helper_rule, WokenWorkersGetIdleProcessors) {
  CHECK_EQ(xdcc::IdleProcessors(2, 2, 1), 1);
  CHECK_EQ(xdcc::IdleProcessors(2, 2, 2), 0);
  CHECK_EQ(xdcc::IdleProcessors(16, 16, 40), 0);
  CHECK_EQ(xdcc::IdleProcessors(16, 16, 5), 11);
  CHECK_LT(xdcc::IdleProcessors(16, 4, 5), 0);  // which of the 16 do the five threads want?
  CHECK_LT(xdcc::IdleProcessors(16, 16, -1), 0);
  CHECK_LT(xdcc::IdleProcessors(0, 1, 1), 0);
}
}  // namespace
}  // namespace xgboost::multilabel
