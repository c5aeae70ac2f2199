/**
 * @brief The scan of `approximate_scan.h` by the rule `kMonotone`: monotone constraints bound
 *        weights.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_MONOTONE_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_MONOTONE_H_

#include <cstdint>  // for uint32_t

#include "approximate_scan_loop.h"

namespace xgboost::multilabel {
/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanMonotone(ListRange range, ChunkView chunk,
                                                     ScanOutput out) {
  using Method = MethodTraits<kMethod>;
  Float8 const zero{}, alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Float8 const least = zero + kLeastDenominator;
  Float8 const order = zero + static_cast<float>(range.order);
  Float8 const relative = zero + chunk.relative_error;
  Int8 const must_be_ordered = Int8{} + chunk.must_be_ordered;
  NodeSums<kVectors> const node{chunk};
  CountLimits<kVectors> const limits{chunk};
  Float8 padding[kVectors];
  Load(chunk.padding, padding);
  auto const score_split = [&](std::uint32_t i,
                               ChunkSums<kVectors> const& left) XDCC_INLINE_LAMBDA {
    if (out.hess) {
      out.hess[i] = node.Hessian(left);
    }
    SplitScore<Method::kSum> score;
    FlagLanes flags;
    Int8 violates{}, may_violate{};
    Float8 doubt{}, error{};
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      // On the left and on the right: g, r are gradients, a, b are H + lambda, w, u are weights, p,
      // q are scores.
      auto const sides = node.Sides(left, v);
      Float8 const g = sides.left_grad, r = sides.right_grad;
      Float8 const a = sides.left_total < least ? least : sides.left_total;
      Float8 const b = sides.right_total < least ? least : sides.right_total;
      Float8 const lower = reinterpret_cast<Float8 const*>(chunk.lower)[v];
      Float8 const upper = reinterpret_cast<Float8 const*>(chunk.upper)[v];
      Float8 const grad_error = reinterpret_cast<Float8 const*>(chunk.grad_error)[v];
      Float8 const hess_error = reinterpret_cast<Float8 const*>(chunk.hess_error)[v];
      SideCounts const counts{limits, sides, v};
      flags.Add(counts, limits.all_must);
      // -soft(G) / H within max_delta_step
      Float8 w = Clip((Clip(g, -alpha, alpha) - g) / a, -max_step, max_step);
      Float8 u = Clip((Clip(r, -alpha, alpha) - r) / b, -max_step, max_step);
      w = counts.left_may ? w : zero;
      u = counts.right_may ? u : zero;
      Float8 const w_size = Abs(w), u_size = Abs(u);
      Float8 const w_error =
          relative * w_size + (grad_error + relative * alpha + w_size * hess_error) / a;
      Float8 const u_error =
          relative * u_size + (grad_error + relative * alpha + u_size * hess_error) / b;
      if (range.order != 0) {
        Float8 const w_most = w + order * w_error, u_least = u - order * u_error;
        Float8 const w_least = w - order * w_error, u_most = u + order * u_error;
        may_violate |= (Clip(w_most, lower, upper) - Clip(u_least, lower, upper)) * order > zero;
        violates |= (Clip(w_least, lower, upper) - Clip(u_most, lower, upper)) * order > zero;
        Float8 const s = g + r, twice = alpha + alpha;
        Float8 const common = Clip((Clip(s, -twice, twice) - s) / (a + b), -max_step, max_step);
        Int8 const pools = (Clip(w, lower, upper) - Clip(u, lower, upper)) * order > zero;
        w = pools ? common : w;
        u = pools ? common : u;
      }
      w = Clip(w, lower, upper);
      u = Clip(u, lower, upper);
      Float8 p, q, p_error = w_error + u_error, q_error = p_error;
      if constexpr (Method::kGain) {
        Float8 const w_abs = Abs(w), u_abs = Abs(u), g_abs = Abs(g), r_abs = Abs(r);
        p = -w * (g + g + a * w) - (alpha + alpha) * w_abs;
        q = -u * (r + r + b * u) - (alpha + alpha) * u_abs;
        p_error = w_abs * (relative * (g_abs + g_abs + a * w_abs + alpha + alpha) + grad_error +
                           grad_error + w_abs * hess_error) +
                  a * p_error * p_error;
        q_error = u_abs * (relative * (r_abs + r_abs + b * u_abs + alpha + alpha) + grad_error +
                           grad_error + u_abs * hess_error) +
                  b * q_error * q_error;
      } else {
        p = Method::OfWeight(w);
        q = Method::OfWeight(u);
      }
      // Labels that may not count may be left out.
      doubt += counts.left_does ? zero : counts.left_may ? Abs(p) : zero;
      doubt += counts.right_does ? zero : counts.right_may ? Abs(q) : zero;
      p = counts.left_does ? p : (counts.left_may & (p > zero)) ? p : zero;
      q = counts.right_does ? q : (counts.right_may & (q > zero)) ? q : zero;
      error += (counts.left_may ? p_error : zero) + (counts.right_may ? q_error : zero);
      score.Add(p, q, padding[v]);
    }
    float const total_error = SumOfLanes(error);
    out.flags[i] =
        BitsOfLanes(flags.Flags() | (violates & must_be_ordered & SplitFlags::kViolates) |
                    (may_violate & ~violates & must_be_ordered & SplitFlags::kMayViolate));
    out.score[i] = score.Left() + total_error;
    if constexpr (!Method::kSum) {
      out.right[i] = score.Right() + total_error;
    }
    out.doubt[i] = SumOfLanes(doubt) + 4.0f * total_error;
  };
  return ForEachSplit<kVectors>(range, chunk.rows, score_split);
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_MONOTONE_H_
