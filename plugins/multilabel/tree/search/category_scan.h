/**
 * @brief Finds the best split of a node on a categorical feature, from the sums of its categories.
 *
 * A split names the categories that go right; the others go left. As XGBoost's own updaters do:
 *
 * - With fewer than `max_cat_to_onehot` categories, each one is split from all others, with
 *   missing values on the left, then on the right.
 * - Otherwise the categories are sorted, and the first ones of that order go right: one, two and so
 *   on with missing values on the left; then all but one, all but two and so on with missing values
 *   on the right. Either way less than `max_cat_threshold` categories are split from the others.
 *
 * They are sorted by the leaf value that a category would have for itself: with one label by its
 * weight w_1 (see `split_score.h`), with several by sum_j v_j w_j, its projection on the weights v
 * of the node. The key is the same for every split method: it says how far the rows of a category
 * pull in the direction of the node; the method scores what the order offers. `min_child_weight`
 * plays no part in it, or rare categories would be all alike. Equal keys keep the order of codes.
 * `category_rules.h` says how keys are smoothed, what a split has to exceed, and that with such a
 * penalty both kinds of splits are tried.
 *
 * Among splits of equal gain the first one is taken, in the order above. Categories without rows in
 * the node have the key 0 and take part: where they go matters when predicting. A split that one of
 * them makes of another one gains the same, so it need not be scored.
 */
#ifndef XDCC_MULTILABEL_CATEGORY_SCAN_H_
#define XDCC_MULTILABEL_CATEGORY_SCAN_H_

#include <algorithm>   // for fill, max, min, stable_sort, transform
#include <cstddef>     // for size_t
#include <cstdint>     // for uint32_t
#include <functional>  // for minus, plus
#include <numeric>     // for iota
#include <utility>     // for exchange, move
#include <vector>      // for vector

#include "../../../../src/common/categorical.h"  // for CatBitField, UseOneHot
#include "../../reductions.h"                    // for Add, Subtract
#include "../data/bin_index.h"                   // for BinIndex
#include "../split_score.h"                      // for LabelWeight, Regularisation
#include "category_rules.h"                      // for CategoryRules, NoiseShare
#include "split_evaluator.h"  // for SearchResult, NodeStats, Split, SplitEvaluator
#include "xgboost/span.h"     // for Span

namespace xgboost::multilabel {
/** @brief Working memory of one thread. */
class CategoryScanner {
  SplitEvaluator scanner_;
  SplitEvaluator::GainFn gain_;
  Regularisation weight_reg_;  // of the weights that categories are sorted by
  std::size_t n_labels_;
  CategoryRules rules_;
  std::vector<double> noise_;  // by label; empty without a penalty

  std::vector<double const*> sums_;  // by category
  std::vector<double> zeros_;        // sums of a category without rows
  std::vector<double> default_;      // sums of the default bin
  std::vector<double> missing_;      // sums of the rows without a value
  std::vector<double> right_;        // sums of the right child
  std::vector<float> node_weights_;
  std::vector<double> keys_;               // by category
  std::vector<std::uint32_t> categories_;  // codes, in the order of keys if they are sorted

  /** @brief Find the sums of every category, and of the rows without a value. */
  void Read(CategorySums const& stored, NodeStats const& node) {
    auto const n = stored.by_category.size();
    // Rows that are stored nowhere are of the default category, or have no value.
    bool const has_default = stored.default_category != BinIndex::kNoBin;
    auto& others = has_default ? default_ : missing_;
    std::fill(missing_.begin(), missing_.end(), 0.0);
    others = node.sums;
    sums_.assign(n, zeros_.data());
    for (std::size_t c = 0; c < n; ++c) {
      if (auto const* sums = stored.by_category[c]) {
        sums_[c] = sums;
        std::transform(others.cbegin(), others.cend(), sums, others.begin(), std::minus<>{});
      }
    }
    if (has_default) {
      sums_[stored.default_category] = default_.data();
    }
    categories_.resize(n);
    std::iota(categories_.begin(), categories_.end(), 0);
  }
  [[nodiscard]] bool IsEmpty(std::uint32_t category) const {
    return sums_[category] == zeros_.data();
  }

  /** @brief Weight of a label in single precision, as leaves have it. */
  [[nodiscard]] float Weight(double const* sums, std::size_t label) const {
    return static_cast<float>(LabelWeight(weight_reg_, sums[label], sums[n_labels_ + label]));
  }
  /** @brief The same of a category that is sorted. */
  [[nodiscard]] float SmoothedWeight(NodeStats const& node, double const* sums,
                                     std::size_t label) const {
    auto const grad = node.sums[label], hess = node.sums[n_labels_ + label];
    auto const of_node = hess > 0.0 ? rules_.smoothing / hess : 0.0;
    return static_cast<float>(LabelWeight(weight_reg_, sums[label] + of_node * grad,
                                          sums[n_labels_ + label] + of_node * hess));
  }

  [[nodiscard]] double NoiseShareOf(double const* sums, std::size_t label) const {
    return NoiseShare(sums[n_labels_ + label], weight_reg_.lambda);
  }
  [[nodiscard]] float PenaltyOfSets(NodeStats const& node) const {
    double penalty{0.0};
    for (std::size_t j = 0; j < noise_.size(); ++j) {
      auto share = -this->NoiseShareOf(node.sums.data(), j);
      for (auto const* sums : sums_) {
        share += this->NoiseShareOf(sums, j);
      }
      penalty += rules_.penalty * noise_[j] * share;
    }
    return static_cast<float>(std::max(penalty, 0.0));
  }
  [[nodiscard]] float PenaltyOfTwo(NodeStats const& node, std::uint32_t category) const {
    double penalty{0.0};
    for (std::size_t j = 0; j < noise_.size(); ++j) {
      auto const hess = n_labels_ + j;
      penalty += rules_.penalty * noise_[j] *
                 (this->NoiseShareOf(sums_[category], j) +
                  NoiseShare(node.sums[hess] - sums_[category][hess], weight_reg_.lambda) -
                  this->NoiseShareOf(node.sums.data(), j));
    }
    return static_cast<float>(penalty);
  }

  void Sort(NodeStats const& node) {
    for (std::size_t j = 0; j < n_labels_; ++j) {
      node_weights_[j] = n_labels_ == 1 ? 1.0f : this->Weight(node.sums.data(), j);
    }
    keys_.assign(sums_.size(), 0.0);
    for (std::uint32_t c = 0; c < sums_.size(); ++c) {
      bool const has_key = !this->IsEmpty(c) || rules_.smoothing > 0.0;
      for (std::size_t j = 0; has_key && j < n_labels_; ++j) {
        // Products in single precision: the order is that of XGBoost's own updater.
        keys_[c] += node_weights_[j] * this->SmoothedWeight(node, sums_[c], j);
      }
    }
    std::stable_sort(categories_.begin(), categories_.end(),
                     [&](auto l, auto r) { return keys_[l] < keys_[r]; });
  }

  /** @brief Take the split with `right_` if it is the best so far. */
  void Offer(bst_feature_t feature, NodeStats const& node, bool default_left,
             common::Span<std::uint32_t const> right_categories, float penalty,
             SearchResult* best) {
    Split split{(scanner_.*gain_)(right_, node, 0), feature, 0.0f, default_left, {}, penalty};
    if (!split.IsBetter(best->split)) {
      return;
    }
    split.right_categories.resize(common::CatBitField::ComputeStorageSize(sums_.size()), 0);
    common::CatBitField bits{common::Span{split.right_categories}};
    for (auto c : right_categories) {
      bits.Set(c);
    }
    best->split = std::move(split);
    best->left_sums.resize(right_.size());
    Subtract(node.sums, right_, &best->left_sums);
  }

  void ScanOneHot(bst_feature_t feature, NodeStats const& node, bool is_penalised,
                  SearchResult* best) {
    bool has_empty{false};
    for (std::uint32_t const& c : categories_) {
      if (this->IsEmpty(c) && std::exchange(has_empty, true)) {
        continue;
      }
      right_.assign(sums_[c], sums_[c] + 2 * n_labels_);
      auto const penalty = is_penalised ? this->PenaltyOfTwo(node, c) : 0.0f;
      this->Offer(feature, node, true, {&c, 1}, penalty, best);
      Add(missing_, &right_);
      this->Offer(feature, node, false, {&c, 1}, penalty, best);
    }
  }

  void ScanPartitions(bst_feature_t feature, NodeStats const& node, SearchResult* best) {
    auto const n = categories_.size(), n_parted = std::min(n, rules_.max_threshold);
    auto const penalty = this->PenaltyOfSets(node);
    common::Span<std::uint32_t const> const sorted{categories_};
    right_.assign(2 * n_labels_, 0.0);
    for (std::size_t k = 1; k < n_parted; ++k) {
      auto const c = categories_[k - 1];
      if (!this->IsEmpty(c)) {
        std::transform(right_.cbegin(), right_.cend(), sums_[c], right_.begin(), std::plus<>{});
        this->Offer(feature, node, true, sorted.first(k), penalty, best);
      }
    }
    right_ = node.sums;
    for (std::size_t k = 1; k < n_parted; ++k) {
      auto const c = categories_[n - k];
      if (!this->IsEmpty(c)) {
        std::transform(right_.cbegin(), right_.cend(), sums_[c], right_.begin(), std::minus<>{});
        this->Offer(feature, node, false, sorted.first(n - k), penalty, best);
      }
    }
  }

 public:
  /** @param noise By label: `NoiseOf`; empty without a penalty. */
  CategoryScanner(CategoryRules const& rules, Regularisation const& reg,
                  SplitEvaluator::Kernels const& kernels, std::size_t n_labels,
                  std::vector<double> noise)
      : scanner_{reg, n_labels},
        gain_{kernels.gain},
        weight_reg_{reg},
        n_labels_{n_labels},
        rules_{rules},
        noise_{std::move(noise)},
        zeros_(2 * n_labels, 0.0),
        missing_(2 * n_labels),
        node_weights_(n_labels) {
    weight_reg_.min_child_weight = 0.0;
  }

  /** @brief Update the best split of a node with those of one feature. */
  void Scan(CategorySums const& stored, NodeStats const& node, SearchResult* best) {
    this->Read(stored, node);
    if (common::UseOneHot(sums_.size(), rules_.max_to_onehot)) {
      this->ScanOneHot(stored.feature, node, false, best);
    } else {
      if (!noise_.empty()) {
        this->ScanOneHot(stored.feature, node, true, best);
      }
      this->Sort(node);
      this->ScanPartitions(stored.feature, node, best);
    }
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CATEGORY_SCAN_H_
