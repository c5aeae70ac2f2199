/**
 * @brief Monotone constraints: what weights the labels may have in a node and its children.
 *
 * As in XGBoost's own updaters, a node has bounds for each label's weight, and weights are clipped
 * to them. A split on a feature with the constraint 1 asks that no label weigh more on the left
 * than on the right (-1: the other way round). With m in the middle between a label's weights in
 * the children, m is the upper bound on the left and the lower bound on the right: whatever is
 * split below, the order stays.
 *
 * A label whose weights are out of order gets the same weight in both children, the one that
 * minimises their losses together:
 *
 *   w = -soft(G_L + G_R, 2 alpha) / (H_L + H_R + 2 lambda), clipped
 *
 * so that one of many labels does not rule out a split, and a split scores what its children are
 * worth. With a single label it would gain nothing: such a split is not taken.
 */
#ifndef XDCC_MULTILABEL_MONOTONE_H_
#define XDCC_MULTILABEL_MONOTONE_H_

#include <algorithm>  // for max, min
#include <cstddef>    // for size_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "split_score.h"  // for LabelWeight, Regularisation

namespace xgboost::multilabel {
/** @brief Bounds of a node's label weights; empty where nothing is constrained. [n_labels] */
struct WeightBounds {
  std::vector<float> lower, upper;

  WeightBounds() = default;
  /** @brief No bounds yet. */
  explicit WeightBounds(std::size_t n_labels)
      : lower(n_labels, std::numeric_limits<float>::lowest()),
        upper(n_labels, std::numeric_limits<float>::max()) {}

  [[nodiscard]] bool Empty() const { return lower.empty(); }
  [[nodiscard]] float Clip(std::size_t label, double weight) const {
    return std::min(std::max(static_cast<float>(weight), lower[label]), upper[label]);
  }
};

/** @brief A label's weights on two sides of a split. */
struct SideWeights {
  float first, second;
  /** @brief Whether they had the right order by themselves. */
  bool in_order;
};

/**
 * @brief Weights of a label on two sides of a node.
 *
 * @param order         1: the first must not exceed the second; -1: nor the second the first.
 * @param first, second Sums of the sides, gradients then Hessians. [2 * n_labels]
 */
inline SideWeights OrderWeights(Regularisation const& reg, WeightBounds const& bounds, int order,
                                std::size_t label, double const* first, double const* second) {
  auto const n_labels = bounds.lower.size();
  auto const *hess = first + n_labels, *other_hess = second + n_labels;
  auto const w = bounds.Clip(label, LabelWeight(reg, first[label], hess[label]));
  auto const u = bounds.Clip(label, LabelWeight(reg, second[label], other_hess[label]));
  if (order == 0 || (order > 0 ? w <= u : w >= u)) {
    return {w, u, true};
  }
  auto of_both = reg;
  of_both.lambda *= 2.0;
  of_both.alpha *= 2.0;
  auto const common = bounds.Clip(
      label, LabelWeight(of_both, first[label] + second[label], hess[label] + other_hess[label]));
  return {common, common, false};
}

/** @brief The constraints below a split. */
struct ChildBounds {
  std::vector<float> left_weights, right_weights;
  WeightBounds left, right;
};

/** @brief Weights and bounds of the children of a node. */
inline ChildBounds BoundChildren(Regularisation const& reg, WeightBounds const& bounds, int order,
                                 double const* left_sums, double const* right_sums) {
  ChildBounds out{bounds.lower, bounds.lower, bounds, bounds};
  for (std::size_t j = 0; j < bounds.lower.size(); ++j) {
    auto const [l, r, _] = OrderWeights(reg, bounds, order, j, left_sums, right_sums);
    out.left_weights[j] = l;
    out.right_weights[j] = r;
    if (order != 0) {
      auto const middle = l + 0.5f * (r - l);
      (order > 0 ? out.left.upper : out.left.lower)[j] = middle;
      (order > 0 ? out.right.lower : out.right.upper)[j] = middle;
    }
  }
  return out;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_MONOTONE_H_
