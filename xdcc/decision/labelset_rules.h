/**
 * @brief Decision rules on the posterior over known labelsets.
 *
 * ``labelsets.py`` has the posterior. Rows are decided eight at a time, the others one by one.
 */
#ifndef XDCC_DECISION_LABELSET_RULES_H_
#define XDCC_DECISION_LABELSET_RULES_H_

#include <algorithm>  // for fill_n, max_element
#include <cstdint>    // for int8_t, int32_t, int64_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "f1_search.h"
#include "multiversion.h"
#include "row_lanes.h"

namespace xdcc {
/** @brief Known labelsets, in the order in which ties between them are decided. */
struct LabelsetTable {
  std::int64_t n_sets{0}, n_labels{0};
  std::int64_t const* start{nullptr};  // [n_sets + 1]: of the labels of a labelset
  std::int32_t const* label{nullptr};  // ascending in a labelset
  double const* log_count{nullptr};    // [n_sets]
  std::vector<std::int64_t> sizes{};   // that occur, without 0
  std::vector<std::int64_t> place{};   // of a label and the size of the labelset, in a matrix

  void Count() {
    std::vector<std::int64_t> of_size(n_labels + 1, 0);
    for (std::int64_t i = 0; i < n_sets; ++i) {
      of_size[start[i + 1] - start[i]] = 1;
    }
    for (std::int64_t size = 1; size <= n_labels; ++size) {
      if (of_size[size]) {
        of_size[size] = static_cast<std::int64_t>(sizes.size());
        sizes.push_back(size);
      }
    }
    auto const n_sizes = static_cast<std::int64_t>(sizes.size());
    for (std::int64_t i = 0; i < n_sets; ++i) {
      for (auto at = start[i]; at < start[i + 1]; ++at) {
        place.push_back(label[at] * n_sizes + of_size[start[i + 1] - start[i]]);
      }
    }
  }
};

/** @brief A rule: the most probable labelset, or the one of the highest expected F-beta. */
struct LabelsetRule {
  bool maximises_f1;
  double temperature, prior, b;
  std::vector<double> weight{};  // [n_sets]: counts to the power of the prior, at most 1
  F1Gains gains{};

  void Prepare(LabelsetTable const& known) {
    if (!maximises_f1) {
      return;
    }
    gains = F1Gains(known.sizes, b);
    double const most = *std::max_element(known.log_count, known.log_count + known.n_sets);
    weight.resize(known.n_sets);
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      weight[i] = prior * (known.log_count[i] - most);
    }
    ExpOfNegative(weight.data(), known.n_sets);
  }
};

/** @brief The posterior of some rows, shared by all rules. */
template <int kRows>
class RowPosterior {
 public:
  using Real = typename Lanes<kRows>::Real;
  using Whole = typename Lanes<kRows>::Whole;

  /** @brief Take the log-odds of the labels, [kRows, n_labels]: the likelihood of each labelset. */
  void Begin(LabelsetTable const& known, double const* margins) {
    auto* of_label = margins_.Resize(known.n_labels);
    for (std::int64_t j = 0; j < known.n_labels; ++j) {
      for (int row = 0; row < kRows; ++row) {
        Lanes<kRows>::At(of_label[j], row) = margins[row * known.n_labels + j];
      }
    }
    auto* log_odds = log_odds_.Resize(known.n_sets);
    highest_ = Real{} - std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      Real sum = Real{};
      for (auto at = known.start[i]; at < known.start[i + 1]; ++at) {
        sum += of_label[known.label[at]];
      }
      log_odds[i] = sum;
      highest_ = sum > highest_ ? sum : highest_;
    }
    temperature_ = std::numeric_limits<double>::quiet_NaN();
  }

  /** @brief Write the labels that a rule predicts, [kRows, n_labels]. */
  void Decide(LabelsetTable const& known, LabelsetRule* rule, std::int8_t* labels) {
    std::fill_n(labels, kRows * known.n_labels, static_cast<std::int8_t>(0));
    if (rule->maximises_f1) {
      this->MaximiseF1(known, rule, labels);
      return;
    }
    auto const* log_odds = log_odds_.Data();
    Real highest = Real{} - std::numeric_limits<double>::infinity();
    Whole best = Whole{};
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      Real const score = log_odds[i] + rule->prior * known.log_count[i];
      auto const is_better = score > highest;
      highest = is_better ? score : highest;
      best = is_better ? Whole{} + i : best;
    }
    for (int row = 0; row < kRows; ++row) {
      auto const set = Lanes<kRows>::At(best, row);
      for (auto at = known.start[set]; at < known.start[set + 1]; ++at) {
        labels[row * known.n_labels + known.label[at]] = 1;
      }
    }
  }

 private:
  void MaximiseF1(LabelsetTable const& known, LabelsetRule* rule, std::int8_t* labels) {
    auto* tempered = tempered_.Resize(known.n_sets);
    if (rule->temperature != temperature_) {
      temperature_ = rule->temperature;
      auto const* log_odds = log_odds_.Data();
      for (std::int64_t i = 0; i < known.n_sets; ++i) {
        tempered[i] = temperature_ * (log_odds[i] - highest_);
      }
      ExpOfNegative(reinterpret_cast<double*>(tempered), known.n_sets * kRows);
    }
    auto const n_sizes = static_cast<std::int64_t>(known.sizes.size());
    auto const n_entries = known.n_labels * n_sizes;
    auto* joint = joint_.Resize(n_entries);
    for (std::int64_t i = 0; i < n_entries; ++i) {
      joint[i] = Real{};
    }
    // Probabilities times their total, which changes no labelset.
    auto const* weight = rule->weight.data();
    auto const* place = known.place.data();
    Real total = Real{}, empty = Real{};
    for (std::int64_t i = 0; i < known.n_sets; ++i) {
      Real const share = tempered[i] * weight[i];
      total += share;
      if (known.start[i] == known.start[i + 1]) {
        empty += share;
      }
      for (auto at = known.start[i]; at < known.start[i + 1]; ++at) {
        joint[place[at]] += share;
      }
    }
    auto const is_infinite = total - total != 0.0;
    if (Lanes<kRows>::Any(is_infinite)) {  // a margin is: nothing is predicted for the row
      empty = is_infinite ? Real{} : empty;
      for (std::int64_t i = 0; i < n_entries; ++i) {
        joint[i] = is_infinite ? Real{} : joint[i];
      }
    }
    Real score;
    search_.Find(joint, known.n_labels, empty, &rule->gains, labels, &score);
  }

  LaneArray<kRows> margins_, log_odds_, tempered_, joint_;
  Real highest_;
  F1Search<kRows> search_;
  double temperature_{0.0};
};

/** @brief Predict some rows by all rules; the labels of each rule are `stride` apart. */
template <int kRows>
inline void DecideSome(RowPosterior<kRows>* posterior, LabelsetTable const& known,
                       std::vector<LabelsetRule>* rules, double const* margins, std::int64_t stride,
                       std::int8_t* labels) {
  posterior->Begin(known, margins);
  for (auto& rule : *rules) {
    posterior->Decide(known, &rule, labels);
    labels += stride;
  }
}

/** @brief Predict rows by all rules: labels is [n_rules, n_rows, n_labels]. */
XDCC_MULTIVERSION
static void DecideRows(LabelsetTable const& known, std::vector<LabelsetRule>* rules,
                       double const* margins, std::int64_t n_rows, std::int8_t* labels) {
  RowPosterior<kManyRows> several;
  RowPosterior<1> one;
  for (auto& rule : *rules) {
    rule.Prepare(known);
  }
  std::int64_t row = 0;
  auto const stride = n_rows * known.n_labels;
  for (; row + kManyRows <= n_rows; row += kManyRows) {
    auto const at = row * known.n_labels;
    DecideSome(&several, known, rules, margins + at, stride, labels + at);
  }
  for (; row < n_rows; ++row) {
    auto const at = row * known.n_labels;
    DecideSome(&one, known, rules, margins + at, stride, labels + at);
  }
}

}  // namespace xdcc
#endif  // XDCC_DECISION_LABELSET_RULES_H_
