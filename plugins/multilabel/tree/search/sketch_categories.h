/**
 * @brief The best split of a node on a categorical feature, from packed sums of its categories.
 *
 * The splits are those of `category_scan.h`, in the same order. As in that file, categories without
 * rows in the node share one key. They are sorted among the others by it, and go left or right with
 * the smaller or larger keys.
 */
#ifndef XDCC_MULTILABEL_SKETCH_CATEGORIES_H_
#define XDCC_MULTILABEL_SKETCH_CATEGORIES_H_

#include <algorithm>  // for any_of, copy_n, fill_n, max, min, sort
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"  // for CatBitField, UseOneHot
#include "category_rules.h"                      // for NoiseShare
#include "sketch_kernels.h"                      // for NodeScoring, PackedSum, ScoreSplit
#include "xgboost/base.h"                        // for bst_bin_t
#include "xgboost/span.h"                        // for Span

namespace xgboost::multilabel {
/** @brief `CategoryRules` in the units of a sketch's integers; every array by dimension. */
struct SketchCategoryRules {
  std::uint32_t max_to_onehot{0};
  std::size_t max_threshold{0};
  /** @brief Penalty of `category_rules.h`, for each unit of `NoiseShare`. */
  double penalty[kMaxDimensions]{};
  double smoothing[kMaxDimensions]{};
};

/** @brief A category that holds rows of a node. */
struct SketchCategory {
  bst_bin_t code;
  PackedSum const* sums;
  /** @brief By what categories are sorted. */
  double key{0.0};
};

template <std::size_t kWidth>
class SketchCategoryScan {
 public:
  /**
   * @param direction  By dimension: the factor of a category's weight G / (H + lambda) in its key.
   * @param categories Those that hold rows, by ascending code; sorted by their keys afterwards.
   * @param missing    Sums of the rows without a category.
   */
  SketchCategoryScan(SketchCategoryRules const& rules, NodeScoring const& by,
                     double const* direction, std::uint32_t n_categories, PackedSum const* missing,
                     std::vector<SketchCategory>* categories)
      : by_{by},
        categories_{*categories},
        n_empty_{n_categories - categories->size()},
        n_categories_{n_categories} {
    if (common::UseOneHot(n_categories, rules.max_to_onehot)) {
      this->ScanOneHot(missing, nullptr);
    } else {
      auto const penalty = this->PenaltyOfSets(rules.penalty);
      if (penalty > 0.0f) {
        PackedSum const none[kWidth]{};
        score_ = ScoreSplit<kWidth>(none, by_);  // to be exceeded
        this->ScanOneHot(missing, rules.penalty);
      }
      penalty_ = penalty;
      this->Sort(direction, rules.smoothing);
      this->ScanPartitions(std::min<std::size_t>(n_categories, rules.max_threshold), missing);
    }
  }

  /** @brief Score of the best split less its penalty; 0 if there is none that gains more. */
  [[nodiscard]] float Score() const { return is_found_ ? score_ : 0.0f; }
  [[nodiscard]] bool DefaultLeft() const { return default_left_; }
  [[nodiscard]] PackedSum const* LeftSum() const { return left_; }
  /** @brief A bit for each category that goes right. */
  [[nodiscard]] std::vector<std::uint32_t> RightCategories() const {
    std::vector<std::uint32_t> words(common::CatBitField::ComputeStorageSize(n_categories_), 0);
    common::CatBitField bits{common::Span{words}};
    if (only_ != kNone) {
      bits.Set(only_);
      return words;
    }
    if (empty_right_) {
      for (std::uint32_t code = 0; code < n_categories_; ++code) {
        bits.Set(code);
      }
      for (auto i = n_right_; i < categories_.size(); ++i) {
        bits.Clear(categories_[i].code);
      }
    } else {
      for (std::size_t i = 0; i < n_right_; ++i) {
        bits.Set(categories_[i].code);
      }
    }
    return words;
  }

 private:
  static constexpr bst_bin_t kNone = -1;

  /** @brief Whether a split is the best so far; takes its sums then. */
  bool Offer(PackedSum const* left, bool default_left) {
    auto const score = ScoreSplit<kWidth>(left, by_) - penalty_;
    if (!(score > score_)) {
      return false;
    }
    is_found_ = true;
    score_ = score;
    default_left_ = default_left;
    std::copy_n(left, kWidth, left_);
    return true;
  }

  /** @param penalty_of_share By dimension; null without a penalty. */
  void ScanOneHot(PackedSum const* missing, double const* penalty_of_share) {
    PackedSum const none[kWidth]{};
    auto next = categories_.cbegin();
    bool has_empty{false};
    for (bst_bin_t code = 0; code < static_cast<bst_bin_t>(n_categories_); ++code) {
      bool const is_empty = next == categories_.cend() || next->code != code;
      if (is_empty && has_empty) {
        continue;
      }
      has_empty = has_empty || is_empty;
      auto const* sums = is_empty ? none : (next++)->sums;
      PackedSum left[kWidth];
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] = by_.total[d] - sums[d];
      }
      if (penalty_of_share) {
        penalty_ = this->PenaltyOfTwo(penalty_of_share, sums, left);
      }
      if (!is_empty && this->Offer(left, true)) {
        only_ = code;
      }
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] -= missing[d];
      }
      if (this->Offer(left, false)) {
        only_ = code;
      }
    }
  }

  static double Grad(PackedSum sum) { return static_cast<double>(sum >> 32); }
  static double Hess(PackedSum sum) { return static_cast<double>(sum & 0xffffffff); }

  [[nodiscard]] float PenaltyOfSets(double const* of_share) const {
    double penalty{0.0};
    for (std::size_t d = 0; d < kWidth && of_share[d] > 0.0; ++d) {
      auto share = -this->ShareOf(by_.total, d);
      for (auto const& category : categories_) {
        share += this->ShareOf(category.sums, d);
      }
      penalty += of_share[d] * share;
    }
    return static_cast<float>(std::max(penalty, 0.0));
  }

  [[nodiscard]] float PenaltyOfTwo(double const* of_share, PackedSum const* one,
                                   PackedSum const* others) const {
    double penalty{0.0};
    for (std::size_t d = 0; d < kWidth; ++d) {
      penalty += of_share[d] *
                 (this->ShareOf(one, d) + this->ShareOf(others, d) - this->ShareOf(by_.total, d));
    }
    return static_cast<float>(penalty);
  }

  [[nodiscard]] double ShareOf(PackedSum const* sums, std::size_t d) const {
    return NoiseShare(Hess(sums[d]), by_.lambda[d]);
  }

  void Sort(double const* direction, double const* smoothing) {
    auto key_of = [&](PackedSum const* sums) {
      double key{0.0};
      for (std::size_t d = 0; d < kWidth; ++d) {
        auto const total_hess = Hess(by_.total[d]);
        auto const of_node =
            total_hess > 0.0 ? smoothing[d] * Grad(by_.total[d]) / total_hess : 0.0;
        key += direction[d] * (Grad(sums[d]) + of_node) /
               (Hess(sums[d]) + smoothing[d] + by_.lambda[d]);
      }
      return key;
    };
    PackedSum const none[kWidth]{};
    empty_key_ = key_of(none);
    for (auto& category : categories_) {
      category.key = key_of(category.sums);
    }
    std::sort(categories_.begin(), categories_.end(), [](auto const& l, auto const& r) {
      return l.key < r.key || (l.key == r.key && l.code < r.code);
    });
  }

  void ScanPartitions(std::size_t n_parted, PackedSum const* missing) {
    auto const n = categories_.size();
    PackedSum left[kWidth];
    std::copy_n(by_.total, kWidth, left);
    // How many categories come before one, those without rows included.
    auto is_below = [&](std::size_t i) { return categories_[i].key < empty_key_; };
    auto position = [&](std::size_t i) { return is_below(i) ? i : i + n_empty_; };
    for (std::size_t i = 0; i < n && position(i) + 1 < n_parted; ++i) {
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] -= categories_[i].sums[d];
      }
      if (this->Offer(left, true)) {
        only_ = kNone;
        n_right_ = i + 1;
        empty_right_ = !is_below(i);
      }
    }
    bool const misses = std::any_of(missing, missing + kWidth, [](auto sum) { return sum != 0; });
    if (!misses && n_parted == n_categories_) {
      return;  // the same splits again
    }
    std::fill_n(left, kWidth, 0);
    for (std::size_t i = n; i-- > 0 && n_categories_ - position(i) < n_parted;) {
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] += categories_[i].sums[d];
      }
      if (this->Offer(left, false)) {
        only_ = kNone;
        n_right_ = i;
        empty_right_ = !is_below(i);
      }
    }
  }

  NodeScoring by_;
  std::vector<SketchCategory>& categories_;
  /** @brief Number of categories without rows, and of all. */
  std::size_t n_empty_, n_categories_;
  double empty_key_{0.0};
  float penalty_{0.0f};
  bool is_found_{false};
  float score_{0.0f};
  bool default_left_{false};
  PackedSum left_[kWidth]{};
  /** @brief The category on the right, if it is one against all others. */
  bst_bin_t only_{kNone};
  /** @brief Else how many of those with rows, and whether all without go right. */
  std::size_t n_right_{0};
  bool empty_right_{false};
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_CATEGORIES_H_
