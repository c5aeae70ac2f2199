/**
 * @brief How far the approximate scores of a node's splits may be off.
 *
 * Scores of `approximate_scan.h` have errors because integers were rounded (`row_units.h`) and
 * because they are in single precision. From the sums of a node follow bounds of these errors, with
 * high probability where integers are rounded up and down at random. A bound that is too small
 * changes trees, one that is too large leaves more candidates for `exact_decision.h`.
 */
#ifndef XDCC_MULTILABEL_SCORE_ERROR_H_
#define XDCC_MULTILABEL_SCORE_ERROR_H_

#include <algorithm>  // for max, min
#include <cmath>      // for abs, floor, isfinite, ldexp, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <limits>     // for numeric_limits
#include <numeric>    // for accumulate

#include "../../param/split_method.h"  // for InfoOf, LabelTerm, SplitMethod
#include "../data/aligned_array.h"     // for AlignedArray
#include "approximate_scan.h"          // for ScanRule
#include "label_search_param.h"        // for LabelSearchParam
#include "quantised_rows.h"            // for QuantisedRows
#include "split_evaluator.h"           // for NodeStats

namespace xgboost::multilabel {
/** @brief Largest error of a node's scores, and the constant between a score and a gain. */
struct ScoreError {
  /** @brief Without lambda, a divisor must be at least this many times its error. */
  static constexpr double kLeastExact = 256.0;

  /** @brief Error relative to the score. */
  float relative{0.0f};
  /** @brief Absolute error. */
  float absolute{0.0f};
  /** @brief Gain minus score. */
  double offset{0.0};
  /** @brief Error relative to the square root of the score. */
  float of_root{0.0f};

  /** @brief Scores below it cannot be the best, `best` being one. */
  [[nodiscard]] float Threshold(float best) const {
    return std::max(best - this->Of(best), std::numeric_limits<float>::lowest());
  }
  /** @brief Whether a split with this score may gain anything. */
  [[nodiscard]] bool MayGain(float score) const { return score + this->Of(score) + offset > 0.0; }

 private:
  [[nodiscard]] float Of(float score) const {
    auto const root = of_root > 0.0f ? of_root * std::sqrt(std::max(score, 0.0f)) : 0.0f;
    return relative * std::abs(score) + absolute + root;
  }
};

/**
 * @brief Limits that the Hessians of a node's children must exceed, for labels to count and for
 *        splits to be allowed.
 *
 * Integers are sums of rounded numbers, so a limit has two bounds: a sum below the lower one is
 * surely too small, a sum above the upper one surely large enough. Between them exact sums decide.
 */
struct HessianLimits {
  /** @brief Lower and upper bound of each padded label's limit, in units of its integers. */
  AlignedArray<std::int32_t> may_count, counts;
  /** @brief Hessian of the node over all labels, and the bounds of a child's part; 0 without a
   * mean.
   */
  float hess{0.0f}, may_reach{0.0f}, reaches{0.0f};
};

/** @brief Monotone constraints: bounds of weights, and errors of the sums. By padded label. */
struct PaddedWeightBounds {
  AlignedArray<float> lower, upper, grad_error, hess_error;
  /** @brief Relative error of any value. */
  float relative{0.0f};
};

/** @brief The numbers of a node that scans read, beside its rows and their sums. */
struct ScanConstants {
  AlignedArray<float> mean, total;  // by padded label: see `ChunkView`
  HessianLimits limits;
  PaddedWeightBounds bounds;
  ScoreError error;
};

/** @brief A node and its sums. */
struct NodeTotals {
  QuantisedRows const& rows;
  /** @brief Integer sums. [2 * padded labels], chunk by chunk */
  std::int32_t const* totals;
  /** @brief Number of rows on all workers. */
  std::size_t n_rows;
  NodeStats const& stats;

  [[nodiscard]] std::size_t NumLabels() const { return stats.sums.size() / 2; }
};

/** @brief Bound of the error of a sum of `n_rows` integers, with high probability. */
inline double RoundingOf(double sum, double n_rows, double total) {
  // Rounded up and down at random, or all alike: then by as much as an average row, or some times
  // more where rows differ.
  auto const alike = total > 0.0 ? 4.0 * sum * n_rows / total : n_rows;
  return std::min(n_rows, 4.0 * std::sqrt(n_rows) + 2.0 + alike);
}

/** @brief Bounds of the limits, between which integers cannot tell whether a label counts. */
inline HessianLimits LimitHessians(LabelSearchParam const& param, NodeTotals const& node) {
  auto const& rows = node.rows;
  HessianLimits limits;
  constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kAlways = std::numeric_limits<std::int32_t>::min();
  auto bound = [](double value) {
    return static_cast<std::int32_t>(std::floor(std::min<double>(value, kNever)));
  };
  auto const label_floor = param.reg.LabelFloor();
  auto const n_rows = static_cast<double>(node.n_rows);
  auto const padding = param.reg.AllMustCount() ? kAlways : kNever;
  limits.may_count.Assign(rows.PaddedLabels(), padding);
  limits.counts.Assign(rows.PaddedLabels(), padding);
  double unit_of_all{0.0};
  for (auto const& chunk : rows.Chunks()) {
    auto const* hess_totals = node.totals + 2 * chunk.padded_begin + chunk.width;
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const at = chunk.padded_begin + k;
      double const unit = rows.HessScale()[at];
      unit_of_all += unit;
      auto &may = limits.may_count.Data()[at], &counts = limits.counts.Data()[at];
      double const least = label_floor == 0.0 ? 0.0 : unit > 0.0 ? label_floor / unit : kNever;
      double const error = RoundingOf(least, n_rows, hess_totals[k]);
      may = bound(least - error - 1.0);
      // An integer above 0 is a row with half a unit at least.
      counts = least < 0.5 ? 0 : bound(least + error);
      if (param.reg.lambda == 0.0) {  // what is to be divided by has to be exact enough
        counts = std::max(counts,
                          bound(ScoreError::kLeastExact * RoundingOf(0.0, n_rows, hess_totals[k])));
      }
    }
  }
  if (param.reg.MeanFloor() > 0.0) {
    auto const hess =
        std::accumulate(node.stats.sums.cbegin() + node.NumLabels(), node.stats.sums.cend(), 0.0);
    auto const least = param.reg.MeanFloor() * static_cast<double>(node.NumLabels());
    auto const error = 1e-5 * least + 1e-6 * hess + 4.0 * std::sqrt(n_rows) * unit_of_all;
    limits.hess = static_cast<float>(hess);
    limits.may_reach = static_cast<float>(least - error);
    limits.reaches = static_cast<float>(least + error);
  }
  return limits;
}

/** @brief Lay out the bounds of weights as scans read them. */
inline PaddedWeightBounds PadBounds(NodeTotals const& node) {
  auto const& rows = node.rows;
  PaddedWeightBounds bounds;
  for (auto* values : {&bounds.lower, &bounds.upper, &bounds.grad_error, &bounds.hess_error}) {
    values->Assign(rows.PaddedLabels(), 0.0f);
  }
  auto const n_rows = static_cast<float>(node.n_rows);
  auto const n_units = 4.0f * std::sqrt(n_rows) + 2.0f;  // rows are rounded up and down at random
  bounds.relative = 2e-6f + std::ldexp(n_rows, -29);     // or all alike
  for (auto const& chunk : rows.Chunks()) {
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      auto const at = chunk.padded_begin + k;
      bounds.lower.Data()[at] = node.stats.bounds.lower[j];
      bounds.upper.Data()[at] = node.stats.bounds.upper[j];
      bounds.grad_error.Data()[at] = n_units * rows.GradScale()[at];
      bounds.hess_error.Data()[at] = n_units * rows.HessScale()[at];
    }
  }
  return bounds;
}

/**
 * @brief Errors of the parts of scores from the rounding of integers, over all labels.
 *
 * A node with few of its row set's rows has coarse integers, and packed ones are coarse from the
 * beginning. An entry errs by s / sqrt(12) with a unit s, a packed one by s / 2 at most (standard
 * deviations), and n_L of them by e, three times this times sqrt(n_L). Where a = H_L + lambda is
 * small, so is n_L: about n a / H.
 */
struct NodeRounding {
  /**
   * @brief Sum of e^2 / (9 a).
   *
   * So G_L^2 / a errs by no more than 2 sqrt(9 of this) times its root, and so does G_R^2 / b.
   */
  double scores{0.0};
  /** @brief For the Hessian, with packed integers: the largest e / a. */
  double hess{0.0};
  /** @brief For both children's weights, with packed integers: sum of (2 e / a)^2. */
  double weights{0.0};

  /** @param weight The node's. */
  void AddLabel(LabelSearchParam const& param, QuantisedRows const& rows, std::size_t at,
                double weight, double n, double hess_sum) {
    double const lambda = param.reg.lambda;
    double const grad_unit = rows.GradScale()[at], hess_unit = rows.HessScale()[at];
    auto const n_per_hess = n / std::max(hess_sum, lambda);
    if (!std::isfinite(n_per_hess)) {
      return;
    }
    if (!rows.IsPacked()) {
      scores += grad_unit * grad_unit / 12.0 * n_per_hess;
      return;
    }
    auto const of_mean = weight * hess_unit;  // in G_L - m a
    scores += (grad_unit * grad_unit + of_mean * of_mean) / 4.0 * n_per_hess;
    if (lambda == 0.0) {
      return;  // `ScoreError::kLeastExact` bounds these
    }
    // sqrt(n_L) / (lambda + n_L H / n) is largest where both terms are equal, or with one row.
    auto const most = 1.5 * std::max(1.0 / lambda, 0.5 * std::sqrt(n_per_hess / lambda));
    hess = std::max(hess, hess_unit * most);
    weights += 4.0 * grad_unit * grad_unit * most * most;
  }
};

/** @brief Values that the scans of a node need, computed from its sums. */
inline ScanConstants MakeScanConstants(LabelSearchParam const& param, NodeTotals const& node) {
  auto const& rows = node.rows;
  auto const& stats = node.stats;
  auto const n_labels = node.NumLabels();
  ScanConstants out;
  auto const n_padded = rows.PaddedLabels();
  out.mean.Assign(n_padded, 0.0f);
  out.total.Assign(n_padded, 2.0f);
  double sum_total{0.0}, sum_absolute{0.0};
  NodeRounding rounding;
  for (auto const& chunk : rows.Chunks()) {
    auto const* grad_totals = node.totals + 2 * chunk.padded_begin;
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      auto const at = chunk.padded_begin + k;
      // From the integer sums, so that the children's sums add up to the parent's.
      auto const total = static_cast<double>(grad_totals[chunk.width + k]) * rows.HessScale()[at] +
                         2.0 * param.reg.lambda;
      auto const mean = static_cast<double>(grad_totals[k]) / total;
      out.total.Data()[at] = static_cast<float>(total);
      if (rows.GradScale()[at] > 0.0f) {
        out.mean.Data()[at] = static_cast<float>(mean);
        rounding.AddLabel(param, rows, at, mean * rows.GradScale()[at],
                          static_cast<double>(node.n_rows), stats.sums[n_labels + j]);
      }
      double const grad = stats.sums[j], hess = stats.sums[n_labels + j];
      if (auto const weight_of = hess + param.reg.lambda; weight_of > 0.0) {
        sum_total += grad * grad / (weight_of + param.reg.lambda);
        sum_absolute += std::abs(grad) / weight_of;
      }
    }
  }
  // Errors of single precision and of integers that are sums of n rounded ones. Where one row is
  // parted from n others, G - m a is small against G: that error grows with n, but it is rare.
  auto const n = std::sqrt(static_cast<float>(node.n_rows));
  bool const is_gain = InfoOf(param.method).term == LabelTerm::kGain;
  auto const size = is_gain ? std::abs(stats.score) : 4.0 * sum_absolute;
  auto const rule = param.Rule();
  if (param.LimitsChildren()) {
    out.limits = LimitHessians(param, node);
  }
  if (rule == ScanRule::kMonotone) {
    out.bounds = PadBounds(node);
    // The scan says how far each score is off; what is left is the sum over chunks.
    out.error = {2e-6f, 2e-6f * static_cast<float>(std::abs(stats.score)), -stats.score, 0.0f};
    return out;
  }
  auto const of_hess = static_cast<float>(rounding.hess);
  auto const of_weights = is_gain ? 0.0f : static_cast<float>(std::sqrt(rounding.weights));
  auto const of_root = static_cast<float>(std::sqrt(72.0 * rounding.scores));
  auto const of_packed = rows.IsPacked() && is_gain ? of_root : 0.0f;
  if (rule != ScanRule::kPlain && rule != ScanRule::kMeanHessian) {
    // Children's scores as they are; a gradient that alpha nearly cancels keeps alpha's error.
    auto relative = 2e-6f + std::ldexp(n, -24) + std::ldexp(n * n, -29) + of_hess;
    auto weight = 0.0;
    if (param.reg.lambda > 0.0) {
      weight = param.reg.alpha / param.reg.lambda;
    } else {
      relative += 1.0f / static_cast<float>(ScoreError::kLeastExact);
    }
    auto const of_alpha = static_cast<double>(n_labels) * weight * (is_gain ? param.reg.alpha : 1);
    out.error = {relative, relative * static_cast<float>(size + of_alpha) + of_weights,
                 -stats.score, of_packed};
  } else if (param.method == SplitMethod::kSumGain) {
    out.error = {1e-5f + std::min(std::ldexp(n * n, -23), std::ldexp(n, -18)) + of_hess, 0.0f,
                 sum_total - stats.score, of_root};
  } else {
    auto const relative = 2e-6f + std::ldexp(n, -24) + of_hess;
    out.error = {relative, relative * static_cast<float>(size) + of_weights, -stats.score,
                 of_packed};
  }
  return out;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SCORE_ERROR_H_
