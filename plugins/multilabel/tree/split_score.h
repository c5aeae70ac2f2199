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
 * `min_child_weight` has three scopes. `any`: a label below it counts 0 and has weight 0 in that
 * node, and a child needs one label that reaches it. `all`: the same, but every label of a child
 * must reach it. `mean`: the labels' mean Hessian must reach it, as in stock XGBoost.
 */
#ifndef XDCC_MULTILABEL_SPLIT_SCORE_H_
#define XDCC_MULTILABEL_SPLIT_SCORE_H_

#include <algorithm>    // for max, max_element, min, min_element
#include <cmath>        // for abs, copysign
#include <cstddef>      // for nullptr_t, size_t
#include <cstring>      // for memcpy
#include <limits>       // for numeric_limits
#include <numeric>      // for accumulate
#include <type_traits>  // for conditional_t

#include "../../../src/tree/param.h"  // for TrainParam, ThresholdL1
#include "../param/param.h"           // for MultiLabelTrainParam, MinChildWeightScope
#include "../param/split_method.h"    // for InfoOf, LabelTerm, SplitMethod
#include "../vectorised.h"            // for Double2, XDCC_INLINE

namespace xgboost::multilabel {
/** @brief Score of a split, p / a + q / b, with one division; of numbers or of vectors. */
template <typename T>
XDCC_INLINE T SumOfFractions(T const& p, T const& a, T const& q, T const& b) {
  return (p * b + q * a) / (a * b);
}

/** @brief The conditions that the loops over labels consider; each rule has its own loops. */
enum class LabelRule {
  kPlain,    // nothing: a label without Hessian has no gradient and adds 0
  kFloored,  // labels that do not count
  kClipped,  // also weights that alpha or max_delta_step change
  kBounded,  // also weights that monotone constraints bound
};

/** @brief Shrinkage of a label's weight, in the precision of the sums. */
struct Regularisation {
  double lambda{1.0};
  double alpha{0.0};
  double max_delta_step{0.0};
  double min_child_weight{0.0};
  MinChildWeightScope scope{kAnyLabel};
  /** @brief Whether a label may have a gradient where it has no Hessian. */
  bool has_bare_gradients{false};

  Regularisation() = default;
  /** @param own Whether the objective is one of this plugin; else the rules of XGBoost hold. */
  Regularisation(tree::TrainParam const& p, MultiLabelTrainParam const& m, bool own)
      : lambda{p.reg_lambda},
        alpha{p.reg_alpha},
        max_delta_step{p.max_delta_step},
        min_child_weight{own ? m.min_child_weight : p.min_child_weight},
        scope{m.min_child_weight_scope != kScopeOfObjective
                  ? static_cast<MinChildWeightScope>(m.min_child_weight_scope)
              : own ? kAnyLabel
                    : kMeanOfLabels} {}

  /** @brief The Hessian that a single label must reach to count. */
  [[nodiscard]] double LabelFloor() const {
    return scope == kMeanOfLabels ? 0.0 : min_child_weight;
  }
  /** @brief Whether every label of a child must reach it. */
  [[nodiscard]] bool AllMustCount() const { return scope == kAllLabels && min_child_weight > 0.0; }
  /** @brief The Hessian that the labels' mean must reach. */
  [[nodiscard]] double MeanFloor() const { return scope == kMeanOfLabels ? min_child_weight : 0.0; }
  /** @brief The loops that these parameters need. */
  [[nodiscard]] LabelRule Rule() const {
    if (alpha != 0.0 || max_delta_step != 0.0) {
      return LabelRule::kClipped;
    }
    bool const is_plain = this->LabelFloor() == 0.0 && lambda > 0.0 && !has_bare_gradients;
    return is_plain ? LabelRule::kPlain : LabelRule::kFloored;
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

/** @brief The score of a label by a split method, and how the method combines the labels. */
template <SplitMethod kMethod>
struct MethodTraits {
  static constexpr LabelTerm kTerm = InfoOf(kMethod).term;
  static constexpr bool kSum = InfoOf(kMethod).is_sum;
  static constexpr bool kGain = kTerm == LabelTerm::kGain;

  /**
   * @brief The score of a label with a weight; not for gains.
   *
   * For numbers and for vectors. Of c w with c > 0 it must be c times that of w, and of two weights
   * it must not differ by more than they do: on this, the loops and their error bounds depend.
   */
  template <typename T>
  static XDCC_INLINE T OfWeight(T const& w) {
    static_assert(!kGain);
    if constexpr (kTerm == LabelTerm::kAbsG) {
      return w < T{} ? -w : w;
    }
    return w;
  }
  /** @brief The score of a label times H + lambda, if nothing changes its weight. */
  template <typename T>
  static XDCC_INLINE T Numerator(T const& grad) {
    if constexpr (kGain) {
      return grad * grad;
    } else {
      return OfWeight<T>(-grad);
    }
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
    } else {
      return OfWeight(w);
    }
  }
};

/** @brief The score of a label, or of two, as a fraction; not for `LabelRule::kClipped`. */
template <typename T>
struct Fraction {
  T numerator;
  T denominator;
};

template <SplitMethod kMethod, LabelRule kRule, typename T>
inline Fraction<T> LabelFraction(double lambda, double floor, T grad, T hess) {
  if constexpr (kRule == LabelRule::kPlain) {
    return {MethodTraits<kMethod>::Numerator(grad), hess + lambda};
  } else {
    bool const counts = hess > 0.0 && hess >= floor;
    return {counts ? MethodTraits<kMethod>::Numerator(grad) : 0.0, counts ? hess + lambda : 1.0};
  }
}

/**
 * @brief Call `fn(Double2{}, j)` for labels j and j + 1, and `fn(0.0, j)` for one that is left.
 *
 * Rules with branches take all labels one by one.
 */
template <LabelRule kRule, typename Fn>
inline void ForEachLabel(std::size_t n_labels, Fn&& fn) {
  std::size_t j = 0;
  if constexpr (kRule == LabelRule::kPlain) {
    for (; j + 2 <= n_labels; j += 2) {
      fn(Double2{}, j);
    }
  }
  for (; j < n_labels; ++j) {
    fn(0.0, j);
  }
}

template <typename T>
inline T Load(double const* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/** @brief Adds up numbers of labels, in an order that no compiler changes: models depend on it. */
class LabelSum {
  Double2 pairs_{};
  double singles_{0.0};

 public:
  void Add(Double2 pair) { pairs_ += pair; }
  void Add(double single) { singles_ += single; }
  [[nodiscard]] double Value() const { return (pairs_[0] + singles_) + pairs_[1]; }
};

/** @brief The largest of numbers of labels. */
class LabelMax {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  Double2 pairs_{-kInf, -kInf};
  double singles_{-kInf};

 public:
  void Add(Double2 pair) { pairs_ = pair > pairs_ ? pair : pairs_; }
  void Add(double single) { singles_ = std::max(singles_, single); }
  [[nodiscard]] double Value() const { return std::max({pairs_[0], pairs_[1], singles_}); }
};

/**
 * @brief Score of a node.
 *
 * @param sums Sums over the node's rows, gradients then Hessians. [2 * n_labels]
 * @param clip By `LabelRule::kBounded`: gives a label and its weight the weight within its bounds.
 */
template <SplitMethod kMethod, LabelRule kRule, typename Clip = std::nullptr_t>
inline double ScoreNode(Regularisation const& r, double const* sums, std::size_t n_labels,
                        [[maybe_unused]] Clip const& clip = {}) {
  using Traits = MethodTraits<kMethod>;
  double const lambda = r.lambda, floor = r.LabelFloor();
  std::conditional_t<Traits::kSum, LabelSum, LabelMax> all;
  ForEachLabel<kRule>(n_labels, [&](auto kind, std::size_t j) {
    using T = decltype(kind);
    auto const grad = Load<T>(sums + j), hess = Load<T>(sums + n_labels + j);
    if constexpr (kRule == LabelRule::kBounded) {
      all.Add(Traits::LabelScore(r, grad, hess, clip(j, LabelWeight(r, grad, hess))));
    } else if constexpr (kRule == LabelRule::kClipped) {
      all.Add(Traits::LabelScore(r, grad, hess));
    } else {
      auto const f = LabelFraction<kMethod, kRule>(lambda, floor, grad, hess);
      all.Add(f.numerator / f.denominator);
    }
  });
  return all.Value();
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
