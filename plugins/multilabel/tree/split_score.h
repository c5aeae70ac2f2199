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

#include <algorithm>  // for max, max_element, min, min_element
#include <cmath>      // for abs, copysign
#include <cstddef>    // for size_t
#include <limits>     // for numeric_limits
#include <numeric>    // for accumulate

#include "../../../src/tree/param.h"  // for TrainParam, ThresholdL1
#include "../param/param.h"           // for MultiLabelTrainParam, MinChildWeightScope
#include "../param/split_method.h"    // for SplitMethod

namespace xgboost::multilabel {
/** @brief What the loops over labels must look out for; each rule has loops of its own. */
enum class LabelRule {
  kPlain,    // nothing: a label without Hessian has no gradient and adds 0
  kFloored,  // labels that do not count
  kClipped,  // weights that alpha or max_delta_step change, too
  kBounded,  // weights that monotone constraints bound, too
};

/** @brief What shrinks a label's weight, in the precision of the sums. */
struct Regularisation {
  double lambda{1.0};
  double alpha{0.0};
  double max_delta_step{0.0};
  double min_child_weight{0.0};
  MinChildWeightScope scope{kAnyLabel};

  Regularisation() = default;
  Regularisation(tree::TrainParam const& p, MultiLabelTrainParam const& m)
      : lambda{p.reg_lambda},
        alpha{p.reg_alpha},
        max_delta_step{p.max_delta_step},
        min_child_weight{m.min_child_weight},
        scope{static_cast<MinChildWeightScope>(m.min_child_weight_scope)} {}

  /** @brief The Hessian that a single label must reach to count. */
  [[nodiscard]] double LabelFloor() const {
    return scope == kMeanOfLabels ? 0.0 : min_child_weight;
  }
  /** @brief Whether every label of a child must reach it. */
  [[nodiscard]] bool AllMustCount() const { return scope == kAllLabels && min_child_weight > 0.0; }
  /** @brief The Hessian that the labels' mean must reach. */
  [[nodiscard]] double MeanFloor() const { return scope == kMeanOfLabels ? min_child_weight : 0.0; }
  /** @brief Which loops these parameters need. */
  [[nodiscard]] LabelRule Rule() const {
    if (alpha != 0.0 || max_delta_step != 0.0) {
      return LabelRule::kClipped;
    }
    return this->LabelFloor() > 0.0 || lambda == 0.0 ? LabelRule::kFloored : LabelRule::kPlain;
  }
};

/** @brief Whether a label counts in a node. */
inline bool Counts(Regularisation const& r, double hess) {
  return hess > 0.0 && hess >= r.LabelFloor();
}

/** @brief Weight w_j of one label, without the learning rate. */
inline double LabelWeight(Regularisation const& r, double grad, double hess) {
  if (!Counts(r, hess)) {
    return 0.0;
  }
  double w = -tree::ThresholdL1(grad, r.alpha) / (hess + r.lambda);
  if (r.max_delta_step != 0.0 && std::abs(w) > r.max_delta_step) {
    w = std::copysign(r.max_delta_step, w);
  }
  return w;
}

/** @brief What a split method takes from a label, and how it combines the labels. */
template <SplitMethod kMethod>
struct MethodTraits {
  static constexpr bool kGain =
      kMethod == SplitMethod::kSumGain || kMethod == SplitMethod::kMaxGain;
  static constexpr bool kWeight =
      kMethod == SplitMethod::kSumWeight || kMethod == SplitMethod::kMaxWeight;
  static constexpr bool kSum = kMethod == SplitMethod::kSumGain ||
                               kMethod == SplitMethod::kSumWeight ||
                               kMethod == SplitMethod::kSumAbsG;

  /** @brief The score of a label times H_j + lambda, if nothing clips its weight. */
  static double Numerator(double grad) {
    return kGain ? grad * grad : kWeight ? -grad : std::abs(grad);
  }
  /** @brief The score of a label. */
  static double LabelScore(Regularisation const& r, double grad, double hess) {
    return LabelScore(r, grad, hess, LabelWeight(r, grad, hess));
  }
  /** @brief The score of a label with another weight than the best. */
  static double LabelScore(Regularisation const& r, double grad, double hess, double w) {
    if (!Counts(r, hess)) {
      return 0.0;
    }
    if constexpr (kGain) {
      return -(2.0 * grad * w + (hess + r.lambda) * w * w + 2.0 * r.alpha * std::abs(w));
    }
    return kWeight ? w : std::abs(w);
  }
};

/** @brief The score of a label as a fraction; not for `LabelRule::kClipped`. */
struct Fraction {
  double numerator;
  double denominator;
};

template <SplitMethod kMethod, LabelRule kRule>
inline Fraction LabelFraction(double lambda, double floor, double grad, double hess) {
  bool const counts = kRule == LabelRule::kPlain || (hess > 0.0 && hess >= floor);
  return {counts ? MethodTraits<kMethod>::Numerator(grad) : 0.0, counts ? hess + lambda : 1.0};
}

/**
 * @brief Add up a number of each label, in an order that no compiler changes: models depend on it.
 *
 * With `kPlain`, labels of even and of odd position are added up apart.
 */
template <LabelRule kRule, typename OfLabel>
inline double SumOverLabels(std::size_t n_labels, OfLabel&& of_label) {
  constexpr std::size_t kRun = 64;
  double parts[kRun], sum{0.0}, odd{0.0};
  for (std::size_t begin = 0; begin < n_labels; begin += kRun) {
    auto const n = std::min(kRun, n_labels - begin);
#pragma omp simd
    for (std::size_t k = 0; k < n; ++k) {
      parts[k] = of_label(begin + k);
    }
    if constexpr (kRule == LabelRule::kPlain) {
      for (std::size_t k = 0; k + 1 < n; k += 2) {
        sum += parts[k];
        odd += parts[k + 1];
      }
      sum += n % 2 == 1 ? parts[n - 1] : 0.0;
    } else {
      for (std::size_t k = 0; k < n; ++k) {
        sum += parts[k];
      }
    }
  }
  return sum + odd;
}

/**
 * @brief Score of a node.
 *
 * @param sums Sums over the node's rows, gradients then Hessians. [2 * n_labels]
 */
template <SplitMethod kMethod, LabelRule kRule>
inline double ScoreNode(Regularisation const& r, double const* sums, std::size_t n_labels) {
  using Traits = MethodTraits<kMethod>;
  double const lambda = r.lambda, floor = r.LabelFloor();
  auto of_label = [&](std::size_t j) {
    double const grad = sums[j], hess = sums[n_labels + j];
    if constexpr (kRule == LabelRule::kClipped) {
      return Traits::LabelScore(r, grad, hess);
    } else {
      auto const f = LabelFraction<kMethod, kRule>(lambda, floor, grad, hess);
      return f.numerator / f.denominator;
    }
  };
  if constexpr (Traits::kSum) {
    return SumOverLabels<kRule>(n_labels, of_label);
  }
  double largest = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::size_t j = 0; j < n_labels; ++j) {
    largest = std::max(largest, of_label(j));
  }
  return largest;
}

/**
 * @brief Whether a node has enough Hessian to be the child of a split.
 *
 * @param sums Sums over the node's rows, gradients then Hessians. [2 * n_labels]
 */
inline bool EnoughHessian(Regularisation const& r, double const* sums, std::size_t n_labels) {
  double const *begin = sums + n_labels, *end = begin + n_labels;
  double const largest = *std::max_element(begin, end);
  double reached{largest};
  if (r.scope == kAllLabels) {
    reached = *std::min_element(begin, end);
  } else if (r.scope == kMeanOfLabels) {
    reached = std::accumulate(begin, end, 0.0) / static_cast<double>(n_labels);
  }
  return largest > 0.0 && reached >= r.min_child_weight;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_SCORE_H_
