/**
 * @brief A node, its splits, and what a split gains, in double precision.
 *
 * The split value is the upper bound of the last bin on the left, as in XGBoost's own updaters, and
 * so is the order of preference among equal gains: the feature with the lower index, missing values
 * on the right, then the lower value (the higher one with missing values on the left). A feature
 * with a default bin has no missing values; its bins are scanned upwards to the default bin and
 * downwards to it, so that the default bin's own sums are never needed.
 */
#ifndef XDCC_MULTILABEL_SPLIT_EVALUATOR_H_
#define XDCC_MULTILABEL_SPLIT_EVALUATOR_H_

#include <algorithm>  // for max
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../reductions.h"   // for Subtract
#include "../data/bin_index.h"  // for BinIndex
#include "../monotone.h"        // for OrderWeights, WeightBounds
#include "../split_score.h"     // for ScoreNode, Regularisation
#include "xgboost/base.h"       // for bst_bin_t, bst_feature_t, bst_idx_t
#include "xgboost/logging.h"    // for LOG

namespace xgboost::multilabel {
/** @brief A split on a number or on a category. */
struct Split {
  float gain{0.0f};
  bst_feature_t feature{0};
  /** @brief Rows below it go left, if the feature is numeric. */
  float split_value{0.0f};
  bool default_left{false};
  /** @brief Rows of these categories go right, a bit for each; empty if the feature is numeric. */
  std::vector<std::uint32_t> right_categories;
  /** @brief Penalty that the gain of two sets of categories must exceed (`category_rules.h`). */
  float penalty{0.0f};

  [[nodiscard]] float Worth() const { return gain - penalty; }
  /** @brief Whether this split is to be preferred to another. */
  [[nodiscard]] bool IsBetter(Split const& that) const {
    auto const worth = this->Worth(), other = that.Worth();
    return worth > other || (worth == other && worth > 0.0f && feature < that.feature);
  }
};

/** @brief The best split so far of a node. */
struct SearchResult {
  Split split;
  /** @brief Sums of the left child, gradients then Hessians. */
  std::vector<double> left_sums;
};

/** @brief Known properties of a node. */
struct NodeStats {
  /** @brief Sums over the node's rows, gradients then Hessians. [2 * n_labels] */
  std::vector<double> sums;
  WeightBounds bounds;
  double score{0.0};
  /** @brief Number of rows that carry a gradient. */
  bst_idx_t n_active{0};
  /** @brief Sums of the left child of the node's best split. */
  std::vector<double> left_sums;
};

/** @brief A node's sums by category of a feature, gradients then Hessians. */
struct CategorySums {
  bst_feature_t feature{0};
  /** @brief Null where no row of the category is stored. */
  std::vector<double const*> by_category;
  /** @brief The category whose rows are not stored, `BinIndex::kNoBin` if all are. */
  bst_bin_t default_category{BinIndex::kNoBin};
};

/** @brief Gains of splits. Working memory of one thread. */
class SplitEvaluator {
  Regularisation reg_;
  std::size_t n_labels_;
  std::vector<double> right_;  // sums of the rows on the right

  /** @brief Whether both children have enough Hessian; sets `right_`. */
  [[nodiscard]] bool IsAllowed(std::vector<double> const& left, NodeStats const& node) {
    Subtract(node.sums, left, &right_);
    return EnoughHessian(reg_, left.data(), n_labels_) &&
           EnoughHessian(reg_, right_.data(), n_labels_);
  }

  /** @brief The gain of a split with these sums on the left, 0 if it is not allowed. */
  template <SplitMethod kMethod, LabelRule kRule>
  float GainImpl(std::vector<double> const& left, NodeStats const& node, int) {
    if (!this->IsAllowed(left, node)) {
      return 0.0f;
    }
    return static_cast<float>(this->ScoreChildren<kMethod, kRule>(left.data()) - node.score);
  }
  /** @brief The same where weights have bounds. */
  template <SplitMethod kMethod>
  float BoundedGain(std::vector<double> const& left, NodeStats const& node, int order) {
    using Traits = MethodTraits<kMethod>;
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (!this->IsAllowed(left, node)) {
      return 0.0f;
    }
    double sum = 0.0, largest = -kInf, largest_right = -kInf;
    for (std::size_t j = 0; j < n_labels_; ++j) {
      auto const [w, u, in_order] =
          OrderWeights(reg_, node.bounds, order, j, left.data(), right_.data());
      if (n_labels_ == 1 && !in_order) {
        return 0.0f;
      }
      auto const p = Traits::LabelScore(reg_, left[j], left[n_labels_ + j], w);
      auto const q = Traits::LabelScore(reg_, right_[j], right_[n_labels_ + j], u);
      sum += p + q;
      largest = std::max(largest, p);
      largest_right = std::max(largest_right, q);
    }
    return static_cast<float>((Traits::kSum ? sum : largest + largest_right) - node.score);
  }

  /** @brief Score of both children. */
  template <SplitMethod kMethod, LabelRule kRule>
  [[nodiscard]] double ScoreChildren(double const* left) const {
    auto const n = n_labels_;
    double const* right = right_.data();
    if constexpr (kRule == LabelRule::kClipped) {
      return ScoreNode<kMethod, kRule>(reg_, left, n) + ScoreNode<kMethod, kRule>(reg_, right, n);
    }
    double const lambda = reg_.lambda, floor = reg_.LabelFloor();
    LabelSum sum;
    LabelMax largest, largest_right;
    ForEachLabel<kRule>(n, [&](auto kind, std::size_t j) {
      using T = decltype(kind);
      auto const l =
          LabelFraction<kMethod, kRule>(lambda, floor, Load<T>(left + j), Load<T>(left + n + j));
      auto const r =
          LabelFraction<kMethod, kRule>(lambda, floor, Load<T>(right + j), Load<T>(right + n + j));
      if constexpr (MethodTraits<kMethod>::kSum) {
        sum.Add(SumOfFractions(l.numerator, l.denominator, r.numerator, r.denominator));
      } else {
        largest.Add(l.numerator / l.denominator);
        largest_right.Add(r.numerator / r.denominator);
      }
    });
    return MethodTraits<kMethod>::kSum ? sum.Value() : largest.Value() + largest_right.Value();
  }

  /** @brief Score of a node. */
  template <SplitMethod kMethod, LabelRule kRule>
  static double Score(Regularisation const& reg, NodeStats const& node) {
    return ScoreNode<kMethod, kRule>(
        reg, node.sums.data(), node.sums.size() / 2,
        [&](std::size_t j, double weight) { return node.bounds.Clip(j, weight); });
  }

 public:
  SplitEvaluator(Regularisation const& reg, std::size_t n_labels)
      : reg_{reg}, n_labels_{n_labels}, right_(2 * n_labels) {}

  /**
   * @brief The gain of one split.
   *
   * @param left  Sums of one side, gradients then Hessians: of the rows that were scanned.
   * @param order With a monotone constraint 1 if no label may weigh more on that side than on the
   *              other, -1 if none may weigh less; else 0.
   */
  using GainFn = float (SplitEvaluator::*)(std::vector<double> const& left, NodeStats const& node,
                                           int order);
  using ScoreFn = double (*)(Regularisation const& reg, NodeStats const& node);

  /** @brief The loops of one split method. */
  struct Kernels {
    GainFn gain;
    ScoreFn score;
  };

  /** @brief Choose the loops once, outside of them. */
  static Kernels Choose(SplitMethod method, LabelRule rule) {
    return VisitMethod(method, [&](auto constant) { return MakeKernels<constant>(rule); });
  }

 private:
  template <SplitMethod kMethod>
  static Kernels MakeKernels(LabelRule rule) {
    switch (rule) {
      case LabelRule::kPlain:
        return MakeKernels<kMethod, LabelRule::kPlain>();
      case LabelRule::kFloored:
        return MakeKernels<kMethod, LabelRule::kFloored>();
      case LabelRule::kClipped:
        return MakeKernels<kMethod, LabelRule::kClipped>();
      case LabelRule::kBounded:
        return {&SplitEvaluator::BoundedGain<kMethod>, &Score<kMethod, LabelRule::kBounded>};
    }
    LOG(FATAL) << "Unreachable";
    return {};
  }
  template <SplitMethod kMethod, LabelRule kRule>
  static Kernels MakeKernels() {
    return {&SplitEvaluator::GainImpl<kMethod, kRule>, &Score<kMethod, kRule>};
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_EVALUATOR_H_
