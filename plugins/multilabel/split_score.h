/**
 * @brief Scores of a node under the six split methods.
 *
 * With G_j and H_j the sums of gradients and Hessians of label j over the node's rows, w_j the
 * weight that minimises the second-order loss and q_j the loss that it saves (twice),
 *
 *   w_j = -soft(G_j, alpha) / (H_j + lambda),  clipped to +-max_delta_step if that is set
 *   q_j = -(2 G_j w_j + (H_j + lambda) w_j^2 + 2 alpha |w_j|)     [= G_j^2 / (H_j + lambda)]
 *
 * the score is the sum or the maximum over the labels of q_j (sumGain, maxGain), of w_j (sumWeight,
 * maxWeight) or of |w_j| (sumAbsG, maxAbsG): Table 1 of the XDCC paper. The gain of a split is
 * score(left) + score(right) - score(node).
 *
 * A label without Hessian in the node (masked or unknown in all rows) counts 0, in the maxima too.
 * `min_child_weight` has three readings: `any`, a label below it counts 0 and has weight 0 in
 * that node, and a child needs one label that reaches it; `all`, the same but every label of a
 * child must reach it; `mean`, the labels' mean Hessian must, as in stock XGBoost.
 */
#ifndef XDCC_MULTILABEL_SPLIT_SCORE_H_
#define XDCC_MULTILABEL_SPLIT_SCORE_H_

#include <algorithm>  // for max, min
#include <cmath>      // for abs, copysign
#include <cstddef>    // for size_t
#include <limits>     // for numeric_limits

#include "../../src/tree/param.h"  // for TrainParam, ThresholdL1
#include "param.h"                 // for MultiLabelTrainParam, MinChildWeightScope
#include "split_method.h"          // for SplitMethod

namespace xgboost::multilabel {
/** @brief What shrinks a label's weight, in the precision of the sums. */
struct Regularisation {
  double lambda;
  double alpha;
  double max_delta_step;
  double min_child_weight;
  MinChildWeightScope scope;

  Regularisation(tree::TrainParam const& p, MultiLabelTrainParam const& m)
      : lambda{p.reg_lambda},
        alpha{p.reg_alpha},
        max_delta_step{p.max_delta_step},
        min_child_weight{m.min_child_weight},
        scope{static_cast<MinChildWeightScope>(m.min_child_weight_scope)} {}

  /** @brief Neither alpha nor max_delta_step is set: the formulas lose two branches. */
  [[nodiscard]] bool Plain() const { return alpha == 0.0 && max_delta_step == 0.0; }
  /** @brief The Hessian that a single label must reach to count. */
  [[nodiscard]] double LabelFloor() const {
    return scope == kMeanOfLabels ? 0.0 : min_child_weight;
  }
};

/** @brief Weight w_j of one label, without the learning rate. */
inline double LabelWeight(Regularisation const& r, double grad, double hess) {
  if (hess <= 0.0 || hess < r.LabelFloor()) {
    return 0.0;
  }
  double w = -tree::ThresholdL1(grad, r.alpha) / (hess + r.lambda);
  if (r.max_delta_step != 0.0 && std::abs(w) > r.max_delta_step) {
    w = std::copysign(r.max_delta_step, w);
  }
  return w;
}

/**
 * @brief What one label that counts adds to the score.
 *
 * @tparam kPlain No alpha and no max_delta_step.
 */
template <SplitMethod kMethod, bool kPlain>
inline double LabelScore(Regularisation const& r, double grad, double hess) {
  constexpr bool kGain = kMethod == SplitMethod::kSumGain || kMethod == SplitMethod::kMaxGain;
  constexpr bool kWeight = kMethod == SplitMethod::kSumWeight || kMethod == SplitMethod::kMaxWeight;
  if constexpr (kPlain) {
    double const numerator = kGain ? grad * grad : kWeight ? -grad : std::abs(grad);
    return numerator / (hess + r.lambda);
  } else {
    double const w = LabelWeight(r, grad, hess);
    if constexpr (kGain) {
      return -(2.0 * grad * w + (hess + r.lambda) * w * w + 2.0 * r.alpha * std::abs(w));
    }
    return kWeight ? w : std::abs(w);
  }
}

struct NodeScore {
  double score;
  /** @brief Whether the node has enough Hessian to be the child of a split. */
  bool allowed;
};

/**
 * @brief Score of a node.
 *
 * @param sums     Sums over the node's rows, gradients then Hessians. [2 * n_labels]
 */
template <SplitMethod kMethod, bool kPlain>
inline NodeScore ScoreNode(Regularisation const& r, double const* sums, std::size_t n_labels) {
  constexpr bool kSum = kMethod == SplitMethod::kSumGain || kMethod == SplitMethod::kSumWeight ||
                        kMethod == SplitMethod::kSumAbsG;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double const* grad = sums;
  double const* hess = sums + n_labels;
  double const floor = r.LabelFloor();

  double sum = 0.0, largest = -kInf;
  double sum_hess = 0.0, min_hess = kInf, max_hess = 0.0;
#pragma omp simd reduction(+ : sum, sum_hess) reduction(max : largest, max_hess) \
    reduction(min : min_hess)
  for (std::size_t j = 0; j < n_labels; ++j) {
    double const h = hess[j];
    bool const counts = h > 0.0 && h >= floor;
    // A label that does not count may have h + lambda = 0.
    double const s = LabelScore<kMethod, kPlain>(r, grad[j], counts ? h : 1.0);
    double const s_j = counts ? s : 0.0;
    if constexpr (kSum) {
      sum += s_j;
    } else {
      largest = std::max(largest, s_j);
    }
    sum_hess += h;
    min_hess = std::min(min_hess, h);
    max_hess = std::max(max_hess, h);
  }

  double reached{max_hess};
  if (r.scope == kAllLabels) {
    reached = min_hess;
  } else if (r.scope == kMeanOfLabels) {
    reached = sum_hess / static_cast<double>(n_labels);
  }
  return {kSum ? sum : largest, max_hess > 0.0 && reached >= r.min_child_weight};
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_SCORE_H_
