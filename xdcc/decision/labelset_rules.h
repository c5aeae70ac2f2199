/**
 * @brief Decision rules on the posterior over known labelsets, row by row.
 *
 * ``labelsets.py`` has the posterior, ``f1_maximiser.py`` the algorithm and its bounds.
 */
#ifndef XDCC_DECISION_LABELSET_RULES_H_
#define XDCC_DECISION_LABELSET_RULES_H_

#include <algorithm>   // for fill_n, max, max_element, min, minmax_element, partial_sort, sort
#include <cmath>       // for exp, isfinite
#include <cstddef>     // for size_t
#include <cstdint>     // for int8_t, int32_t, int64_t
#include <functional>  // for greater
#include <limits>      // for numeric_limits
#include <vector>      // for vector

namespace xdcc {
/** @brief Finds the labelset of the highest expected F-beta; b is the square of beta. */
class F1Search {
 public:
  /**
   * @brief Find it for a row.
   *
   * @param joint [n_labels, n_sizes] P(y_j = 1, |y| = s)
   * @param sizes [n_sizes] the sizes s
   * @param empty P(|y| = 0)
   * @param labels [n_labels] zeros, which become ones for the labels of the labelset
   * @return What it is expected to score.
   */
  template <typename Label>
  double Find(double const* joint, std::int64_t n_labels, std::vector<std::int64_t> const& sizes,
              double empty, double b, Label* labels) {
    n_sizes_ = static_cast<std::int64_t>(sizes.size());
    auto const largest = this->Limit(joint, n_labels, sizes, empty, b);
    auto const n = static_cast<std::int64_t>(possible_.size());
    values_.resize(n_sizes_ * n);
    for (std::int64_t s = 0; s < n_sizes_; ++s) {
      for (std::int64_t i = 0; i < n; ++i) {
        values_[s * n + i] = joint[possible_[i] * n_sizes_ + s];
      }
    }
    double best = empty, likeliest = 0.0;
    std::int64_t best_size = 0;
    std::sort(proba_.begin(), proba_.end(), std::greater<>{});
    for (std::int64_t k = 1; k <= std::min(n, largest); ++k) {
      likeliest += proba_[k - 1];
      // A label adds most if its labelset has the smallest size.
      if (likeliest * Gain(smallest_, b, k) * (1.0 + kMargin) < best) {
        continue;
      }
      this->Gains(sizes, b, k);
      std::partial_sort(gain_.begin(), gain_.begin() + k, gain_.end(), std::greater<>{});
      double sum = 0.0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += gain_[i];
      }
      if (sum > best) {
        best = sum;
        best_size = k;
      }
    }
    if (best_size > 0) {
      this->Gains(sizes, b, best_size);
      order_.resize(n);
      for (std::int64_t i = 0; i < n; ++i) {
        order_[i] = i;
      }
      auto const is_first = [this](std::int64_t one, std::int64_t other) {
        return gain_[one] > gain_[other] || (gain_[one] == gain_[other] && one < other);
      };
      std::partial_sort(order_.begin(), order_.begin() + best_size, order_.end(), is_first);
      for (std::int64_t i = 0; i < best_size; ++i) {
        labels[possible_[order_[i]]] = 1;
      }
    }
    return best;
  }

 private:
  static constexpr double kMargin = 1e-9;  // for rounding

  static double Gain(std::int64_t size, double b, std::int64_t k) {
    return (1.0 + b) / (b * static_cast<double>(size) + static_cast<double>(k));
  }

  /** @brief Find the labels that can be in the best labelset, and how many at most. */
  std::int64_t Limit(double const* joint, std::int64_t n_labels,
                     std::vector<std::int64_t> const& sizes, double empty, double b) {
    proba_.assign(n_labels, 0.0);
    possible_.clear();
    double total = 0.0, single = 0.0;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      double score = 0.0;
      for (std::int64_t s = 0; s < n_sizes_; ++s) {
        double const p = joint[j * n_sizes_ + s];
        proba_[j] += p;
        score += p * Gain(sizes[s], b, 1);
      }
      single = std::max(single, score);
      total += proba_[j];
    }
    if (n_sizes_ == 0) {
      return 0;
    }
    double const least = (1.0 - kMargin) * std::max(single, empty);
    auto const [least_size, greatest] = std::minmax_element(sizes.begin(), sizes.end());
    smallest_ = *least_size;
    double const share = (b + 2.0) / ((1.0 + b) * (b * static_cast<double>(*greatest) + 3.0));
    for (std::int64_t j = 0; j < n_labels; ++j) {
      if (proba_[j] >= share * least) {
        possible_.push_back(j);
      }
    }
    double const most = (1.0 + b) * total / std::max(least, std::numeric_limits<double>::min()) - b;
    return static_cast<std::int64_t>(std::min(std::max(most, 1.0), static_cast<double>(n_labels)));
  }

  /** @brief Compute what each possible label adds to a labelset of size k. */
  void Gains(std::vector<std::int64_t> const& sizes, double b, std::int64_t k) {
    auto const n = static_cast<std::int64_t>(possible_.size());
    gain_.assign(n, 0.0);
    for (std::int64_t s = 0; s < n_sizes_; ++s) {
      double const gain = Gain(sizes[s], b, k);
      for (std::int64_t i = 0; i < n; ++i) {
        gain_[i] += gain * values_[s * n + i];
      }
    }
  }

  std::int64_t n_sizes_{0}, smallest_{0};
  std::vector<double> proba_, values_, gain_;
  std::vector<std::int64_t> possible_, order_;
};

/** @brief Known labelsets, in the order in which ties between them are decided. */
struct LabelsetTable {
  std::int64_t n_sets{0}, n_labels{0};
  std::int64_t const* start{nullptr};  // [n_sets + 1]: of the labels of a labelset
  std::int32_t const* label{nullptr};  // ascending in a labelset
  double const* log_count{nullptr};    // [n_sets]
  std::vector<std::int64_t> sizes;     // that occur, without 0
  std::vector<std::int64_t> of_set;    // [n_sets]: place of its size

  void Count() {
    std::vector<std::int64_t> place(n_labels + 1, 0);
    of_set.resize(n_sets);
    for (std::int64_t i = 0; i < n_sets; ++i) {
      place[start[i + 1] - start[i]] = 1;
    }
    for (std::int64_t size = 1; size <= n_labels; ++size) {
      if (place[size]) {
        place[size] = static_cast<std::int64_t>(sizes.size());
        sizes.push_back(size);
      }
    }
    for (std::int64_t i = 0; i < n_sets; ++i) {
      of_set[i] = place[start[i + 1] - start[i]];
    }
  }
};

/** @brief A rule: the most probable labelset, or the one of the highest expected F-beta. */
struct LabelsetRule {
  bool maximises_f1;
  double temperature, prior, b;
  std::vector<double> weight{};  // [n_sets]: counts to the power of the prior, at most 1

  void Prepare(LabelsetTable const& known) {
    double const most = *std::max_element(known.log_count, known.log_count + known.n_sets);
    for (std::int64_t i = 0; maximises_f1 && i < known.n_sets; ++i) {
      weight.push_back(std::exp(prior * (known.log_count[i] - most)));
    }
  }
};

/** @brief The posterior of a row, shared by all rules. */
struct RowPosterior {
  std::vector<double> log_odds, tempered, joint;
  F1Search search;

  /** @brief Take the log-odds of the labels: the likelihood of each labelset. */
  void Begin(LabelsetTable const& known, double const* margins) {
    log_odds.resize(known.n_sets);
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      double sum = 0.0;
      for (auto at = known.start[i]; at < known.start[i + 1]; ++at) {
        sum += margins[known.label[at]];
      }
      log_odds[i] = sum;
    }
    temperature_ = std::numeric_limits<double>::quiet_NaN();
  }

  void Decide(LabelsetTable const& known, LabelsetRule const& rule, std::int8_t* labels) {
    std::fill_n(labels, known.n_labels, static_cast<std::int8_t>(0));
    if (rule.maximises_f1) {
      this->MaximiseF1(known, rule, labels);
      return;
    }
    double highest = -std::numeric_limits<double>::infinity();
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      double const score = log_odds[i] + rule.prior * known.log_count[i];
      if (score > highest) {
        highest = score;
        best = i;
      }
    }
    for (auto at = known.start[best]; at < known.start[best + 1]; ++at) {
      labels[known.label[at]] = 1;
    }
  }

 private:
  void MaximiseF1(LabelsetTable const& known, LabelsetRule const& rule, std::int8_t* labels) {
    if (rule.temperature != temperature_) {
      temperature_ = rule.temperature;
      double const highest = *std::max_element(log_odds.begin(), log_odds.end());
      tempered.resize(known.n_sets);
      for (std::int64_t i = 0; i < known.n_sets; ++i) {
        tempered[i] = std::exp(temperature_ * (log_odds[i] - highest));
      }
    }
    double total = 0.0, empty = 0.0;
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      total += tempered[i] * rule.weight[i];
    }
    if (!std::isfinite(total)) {  // a margin is not finite, and NaN cannot be sorted
      return;
    }
    auto const n_sizes = static_cast<std::int64_t>(known.sizes.size());
    joint.assign(known.n_labels * n_sizes, 0.0);
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      double const p = tempered[i] * rule.weight[i] / total;
      if (known.start[i] == known.start[i + 1]) {
        empty += p;
      }
      for (auto at = known.start[i]; p > 0.0 && at < known.start[i + 1]; ++at) {
        joint[known.label[at] * n_sizes + known.of_set[i]] += p;
      }
    }
    search.Find(joint.data(), known.n_labels, known.sizes, empty, rule.b, labels);
  }

  double temperature_{0.0};
};

/** @brief Predict rows by all rules: labels is [n_rules, n_rows, n_labels]. */
inline void DecideRows(LabelsetTable const& known, std::vector<LabelsetRule>* rules,
                       double const* margins, std::int64_t n_rows, std::int8_t* labels) {
  RowPosterior posterior;
  for (auto& rule : *rules) {
    rule.Prepare(known);
  }
  for (std::int64_t row = 0; row < n_rows; ++row) {
    posterior.Begin(known, margins + row * known.n_labels);
    for (std::size_t i = 0; i < rules->size(); ++i) {
      auto const place = static_cast<std::int64_t>(i) * n_rows + row;
      posterior.Decide(known, (*rules)[i], labels + place * known.n_labels);
    }
  }
}

}  // namespace xdcc
#endif  // XDCC_DECISION_LABELSET_RULES_H_
