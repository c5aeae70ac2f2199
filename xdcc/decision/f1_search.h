/** @brief The search for the labelset of the highest expected F-beta; see ``f1_maximiser.py``. */
#ifndef XDCC_DECISION_F1_SEARCH_H_
#define XDCC_DECISION_F1_SEARCH_H_

#include <algorithm>  // for max, max_element, min
#include <cstdint>    // for int64_t
#include <limits>     // for numeric_limits
#include <utility>    // for move
#include <vector>     // for vector

#include "multiversion.h"
#include "row_lanes.h"

namespace xdcc {
/** @brief Sizes of labelsets, and what a label that is in one of them adds to the F-beta. */
class F1Gains {
 public:
  F1Gains() = default;
  /** @brief Take sizes and the square of beta. */
  F1Gains(std::vector<std::int64_t> sizes, double b) : sizes_{std::move(sizes)}, b_{b} {}

  std::int64_t NSizes() const { return static_cast<std::int64_t>(sizes_.size()); }
  double Squared() const { return b_; }
  std::int64_t Greatest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

  /** @brief Get the gain of the smallest size, which is the largest, if k labels are predicted. */
  double Largest(std::int64_t k) {
    auto const* gains = this->Of(k);
    return *std::max_element(gains, gains + this->NSizes());
  }

  /** @brief Get the gains of all sizes if k labels are predicted, which are kept. */
  double const* Of(std::int64_t k) {
    auto const n_sizes = this->NSizes();
    for (; n_known_ < k; ++n_known_) {
      for (auto const size : sizes_) {
        auto const total = b_ * static_cast<double>(size) + static_cast<double>(n_known_ + 1);
        gain_.push_back((1.0 + b_) / total);
      }
    }
    return gain_.data() + (k - 1) * n_sizes;
  }

 private:
  std::vector<std::int64_t> sizes_;
  double b_{1.0};
  std::int64_t n_known_{0};
  std::vector<double> gain_;
};

/** @brief Finds the labelset of the highest expected F-beta, for one row or several at once. */
template <int kRows>
class F1Search {
 public:
  using Real = typename Lanes<kRows>::Real;
  using Whole = typename Lanes<kRows>::Whole;

  /**
   * @brief Find it.
   *
   * @param joint [n_labels, n_sizes] P(y_j = 1, |y| = s)
   * @param empty P(|y| = 0)
   * @param labels [kRows, n_labels] zeros, which become ones for the labels of the labelset
   * @param score What it is expected to score.
   */
  template <typename Label>
  void Find(Real const* joint, std::int64_t n_labels, Real const& empty, F1Gains* gains,
            Label* labels, Real* score) {
    *score = empty;
    if (gains->NSizes() == 0) {
      return;
    }
    auto const largest = this->Limit(joint, n_labels, empty, gains);
    auto const n_sizes = gains->NSizes();
    auto const n = static_cast<std::int64_t>(possible_.size());
    auto const* possible = possible_.data();
    auto* gain = gain_.Resize(n);
    auto* sorted = sorted_.Resize(n);
    auto* likely = likely_.Resize(n);
    Sort(proba_.Data(), n, largest, likely);
    Real best = empty, least = Real{}, likeliest = Real{};
    Whole best_size = Whole{};
    for (std::int64_t k = 1; k <= largest; ++k) {
      likeliest += likely[k - 1];
      // A label adds most if its labelset has the smallest size.
      Real const most = likeliest * gains->Largest(k) * (1.0 + kMargin);
      if (!Lanes<kRows>::Any(most >= best)) {
        continue;
      }
      auto const* of_size = gains->Of(k);
      for (std::int64_t i = 0; i < n; ++i) {
        Gain(joint + possible[i] * n_sizes, of_size, n_sizes, gain + i);
      }
      Sort(gain, n, k, sorted);
      Real sum = Real{};
      for (std::int64_t i = 0; i < k; ++i) {
        sum += sorted[i];
      }
      auto const is_better = sum > best;
      best = is_better ? sum : best;
      least = is_better ? sorted[k - 1] : least;
      best_size = is_better ? Whole{} + k : best_size;
    }
    for (int row = 0; row < kRows; ++row) {
      auto const size = Lanes<kRows>::At(best_size, row);
      if (size > 0) {
        this->Write(joint, row, size, Lanes<kRows>::At(least, row), gains, labels + row * n_labels);
      }
    }
    *score = best;
  }

 private:
  static constexpr double kMargin = 1e-9;  // for rounding

  /** @brief Compute what a label adds to labelsets of a size. */
  static void Gain(Real const* joint, double const* gains, std::int64_t n_sizes, Real* gain) {
    Real sum = Real{};
    for (std::int64_t s = 0; s < n_sizes; ++s) {
      sum += gains[s] * joint[s];
    }
    *gain = sum;
  }

  /** @brief Find the k largest of n numbers, in descending order. */
  static void Sort(Real const* numbers, std::int64_t n, std::int64_t k, Real* sorted) {
    for (std::int64_t i = 0; i < n; ++i) {
      Real here = numbers[i];
      auto const n_sorted = std::min(i, k);
      if (n_sorted == k && !Lanes<kRows>::Any(here > sorted[k - 1])) {
        continue;
      }
      for (std::int64_t at = 0; at < n_sorted; ++at) {
        Real const there = sorted[at];
        sorted[at] = there > here ? there : here;
        here = there > here ? here : there;
      }
      if (i < k) {
        sorted[i] = here;
      }
    }
  }

  /** @brief Find the labels that can be in the best labelset, and how many at most. */
  std::int64_t Limit(Real const* joint, std::int64_t n_labels, Real const& empty, F1Gains* gains) {
    auto const n_sizes = gains->NSizes();
    auto const b = gains->Squared();
    auto const* first = gains->Of(1);
    auto* proba = proba_.Resize(n_labels);
    Real total = Real{}, least = empty;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      Real sum = Real{};
      for (std::int64_t s = 0; s < n_sizes; ++s) {
        sum += joint[j * n_sizes + s];
      }
      Real score;
      Gain(joint + j * n_sizes, first, n_sizes, &score);
      least = least > score ? least : score;
      total += sum;
      proba[j] = sum;
    }
    least *= 1.0 - kMargin;
    auto const greatest = static_cast<double>(gains->Greatest());
    Real const lowest = least * ((b + 2.0) / ((1.0 + b) * (b * greatest + 3.0)));
    possible_.clear();
    for (std::int64_t j = 0; j < n_labels; ++j) {
      if (Lanes<kRows>::Any(proba[j] >= lowest)) {
        proba[possible_.size()] = proba[j];
        possible_.push_back(j);
      }
    }
    double most = 1.0;
    for (int row = 0; row < kRows; ++row) {
      auto const score = std::max(Lanes<kRows>::At(least, row), std::numeric_limits<double>::min());
      most = std::max(most, (1.0 + b) * Lanes<kRows>::At(total, row) / score - b);
    }
    auto const n = static_cast<std::int64_t>(possible_.size());
    return static_cast<std::int64_t>(std::min(most, static_cast<double>(n)));
  }

  /** @brief Write the labels of a row that add most; `least` is the smallest number of them. */
  template <typename Label>
  void Write(Real const* joint, int row, std::int64_t size, double least, F1Gains* gains,
             Label* labels) {
    auto const n_sizes = gains->NSizes();
    auto const* of_size = gains->Of(size);
    auto const n = static_cast<std::int64_t>(possible_.size());
    auto const* possible = possible_.data();
    auto* gain = gain_.Data();
    auto n_equal = size;  // that are taken
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::int64_t s = 0; s < n_sizes; ++s) {
        sum += of_size[s] * Lanes<kRows>::At(joint[possible[i] * n_sizes + s], row);
      }
      Lanes<kRows>::At(gain[i], row) = sum;
      n_equal -= sum > least;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      auto const sum = Lanes<kRows>::At(gain[i], row);
      if (sum > least || (sum == least && n_equal-- > 0)) {
        labels[possible[i]] = 1;
      }
    }
  }

  LaneArray<kRows> proba_, likely_, gain_, sorted_;
  std::vector<std::int64_t> possible_;
};

/** @brief Search for some rows: joint is [kRows, n_labels, n_sizes]. */
template <int kRows>
inline void FindSome(F1Search<kRows>* search, LaneArray<kRows>* lanes, double const* joint,
                     std::int64_t n_labels, double const* empty, F1Gains* gains,
                     std::int64_t* labels, double* score) {
  auto const n_entries = n_labels * gains->NSizes();
  auto* of_rows = lanes->Resize(n_entries);
  typename Lanes<kRows>::Real none;
  for (int row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < n_entries; ++i) {
      Lanes<kRows>::At(of_rows[i], row) = joint[row * n_entries + i];
    }
    Lanes<kRows>::At(none, row) = empty[row];
  }
  typename Lanes<kRows>::Real found;
  search->Find(of_rows, n_labels, none, gains, labels, &found);
  for (int row = 0; row < kRows; ++row) {
    score[row] = Lanes<kRows>::At(found, row);
  }
}

/**
 * @brief Find the labelset of the highest expected F-beta for each row.
 *
 * @param joint [n_rows, n_labels, n_sizes] P(y_j = 1, |y| = s)
 * @param empty [n_rows] P(|y| = 0)
 * @param labels [n_rows, n_labels] zeros, which become ones for the labels of the labelsets
 * @param score [n_rows] what they are expected to score
 */
XDCC_MULTIVERSION
static void MaximiseF1(double const* joint, std::int64_t n_rows, std::int64_t n_labels,
                       double const* empty, F1Gains* gains, std::int64_t* labels, double* score) {
  F1Search<kManyRows> of_many;
  F1Search<1> of_one;
  LaneArray<kManyRows> many;
  LaneArray<1> one;
  auto const n_entries = n_labels * gains->NSizes();
  std::int64_t row = 0;
  for (; row + kManyRows <= n_rows; row += kManyRows) {
    FindSome(&of_many, &many, joint + row * n_entries, n_labels, empty + row, gains,
             labels + row * n_labels, score + row);
  }
  for (; row < n_rows; ++row) {
    FindSome(&of_one, &one, joint + row * n_entries, n_labels, empty + row, gains,
             labels + row * n_labels, score + row);
  }
}

}  // namespace xdcc
#endif  // XDCC_DECISION_F1_SEARCH_H_
