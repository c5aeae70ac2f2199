/**
 * @brief The scan of `list_scan.h` by the rule `kBounded`: monotone constraints bound weights.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_BOUNDED_H_
#define XDCC_MULTILABEL_LIST_SCAN_BOUNDED_H_

#include <cstdint>  // for int32_t, uint32_t

#include "list_scan_steps.h"

namespace xgboost::multilabel {
#define XDCC_CLIP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanBounded(ListRange range, ChunkView chunk,
                                                    ScanOutput out) {
  // On the left and on the right: g, r are gradients, a, b are H + lambda, w, u are weights, p, q
  // are scores.
  using Traits = MethodTraits<kMethod>;
  Float8 const zero{}, alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Float8 const least = zero + kLeastDenominator;
  Float8 const order = zero + static_cast<float>(range.order);
  Float8 const relative = zero + chunk.relative_error;
  Int8 const all_must = Int8{} + chunk.all_must;
  XDCC_LOAD(Int8, may)
  XDCC_LOAD(Int8, does)
  XDCC_LOAD(Float8, padding)
  XDCC_BEGIN_SPLITS
  XDCC_STORE_HESSIANS
  Int8 left_does{}, right_does{}, in_doubt{}, disordered{}, maybe{};
  Float8 sum{}, doubt{}, error{}, largest = zero - kInfinity, largest_right = zero - kInfinity;
  XDCC_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    XDCC_BOTH_SIDES
    Float8 const g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
    Float8 const r = __builtin_convertvector(right_grad, Float8) * grad_scale[v];
    Float8 const lower = reinterpret_cast<Float8 const*>(chunk.lower)[v];
    Float8 const upper = reinterpret_cast<Float8 const*>(chunk.upper)[v];
    Float8 const grad_error = reinterpret_cast<Float8 const*>(chunk.grad_error)[v];
    Float8 const hess_error = reinterpret_cast<Float8 const*>(chunk.hess_error)[v];
    a = a < least ? least : a;
    b = b < least ? least : b;
    XDCC_COUNT_LABELS
    // -soft(G) / H within max_delta_step
    Float8 w = XDCC_CLIP((XDCC_CLIP(g, -alpha, alpha) - g) / a, -max_step, max_step);
    Float8 u = XDCC_CLIP((XDCC_CLIP(r, -alpha, alpha) - r) / b, -max_step, max_step);
    w = may_a ? w : zero;
    u = may_b ? u : zero;
    Float8 const w_size = Float8(Int8(w) & kAbsolute), u_size = Float8(Int8(u) & kAbsolute);
    Float8 const w_error =
        relative * w_size + (grad_error + relative * alpha + w_size * hess_error) / a;
    Float8 const u_error =
        relative * u_size + (grad_error + relative * alpha + u_size * hess_error) / b;
    if (range.order != 0) {
      Float8 const w_most = w + order * w_error, u_least = u - order * u_error;
      Float8 const w_least = w - order * w_error, u_most = u + order * u_error;
      maybe |= (XDCC_CLIP(w_most, lower, upper) - XDCC_CLIP(u_least, lower, upper)) * order > zero;
      disordered |=
          (XDCC_CLIP(w_least, lower, upper) - XDCC_CLIP(u_most, lower, upper)) * order > zero;
      Float8 const s = g + r, twice = alpha + alpha;
      Float8 const common =
          XDCC_CLIP((XDCC_CLIP(s, -twice, twice) - s) / (a + b), -max_step, max_step);
      Int8 const pools = (XDCC_CLIP(w, lower, upper) - XDCC_CLIP(u, lower, upper)) * order > zero;
      w = pools ? common : w;
      u = pools ? common : u;
    }
    w = XDCC_CLIP(w, lower, upper);
    u = XDCC_CLIP(u, lower, upper);
    Float8 const w_abs = Float8(Int8(w) & kAbsolute), u_abs = Float8(Int8(u) & kAbsolute);
    Float8 p = w, q = u, p_error = w_error + u_error, q_error = p_error;
    if constexpr (Traits::kGain) {
      Float8 const g_abs = Float8(Int8(g) & kAbsolute), r_abs = Float8(Int8(r) & kAbsolute);
      p = -w * (g + g + a * w) - (alpha + alpha) * w_abs;
      q = -u * (r + r + b * u) - (alpha + alpha) * u_abs;
      p_error = w_abs * (relative * (g_abs + g_abs + a * w_abs + alpha + alpha) + grad_error +
                         grad_error + w_abs * hess_error) +
                a * p_error * p_error;
      q_error = u_abs * (relative * (r_abs + r_abs + b * u_abs + alpha + alpha) + grad_error +
                         grad_error + u_abs * hess_error) +
                b * q_error * q_error;
    } else if constexpr (!Traits::kWeight) {
      p = w_abs;
      q = u_abs;
    }
    // Labels that may not count may be left out.
    doubt += does_a ? zero : may_a ? Float8(Int8(p) & kAbsolute) : zero;
    doubt += does_b ? zero : may_b ? Float8(Int8(q) & kAbsolute) : zero;
    p = does_a ? p : (may_a & (p > zero)) ? p : zero;
    q = does_b ? q : (may_b & (q > zero)) ? q : zero;
    error += (may_a ? p_error : zero) + (may_b ? q_error : zero);
    if constexpr (Traits::kSum) {
      sum += p + q;
    } else {
      p += padding[v];
      q += padding[v];
      largest = p > largest ? p : largest;
      largest_right = q > largest_right ? q : largest_right;
    }
  }
  Int8 const out_of_order = Int8{} + chunk.must_be_ordered;
  Int8 bits = (left_does & ReachBits::kLeft) | (right_does & ReachBits::kRight) |
              (in_doubt & ReachBits::kInDoubt) |
              (disordered & out_of_order & ReachBits::kDisordered) |
              (maybe & ~disordered & out_of_order & ReachBits::kMaybeDisordered);
  XDCC_OR_LANES(bits)
  XDCC_SUM_LANES(error)
  XDCC_SUM_LANES(doubt)
  XDCC_COMBINE_LANES
  out.bits[n_splits] = bits[0];
  out.score[n_splits] = (Traits::kSum ? sum[0] : largest[0]) + error[0];
  if constexpr (!Traits::kSum) {
    out.right[n_splits] = largest_right[0] + error[0];
  }
  out.doubt[n_splits] = doubt[0] + 4.0f * error[0];
  XDCC_END_SPLITS
  return n_splits;
}
#undef XDCC_CLIP
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_BOUNDED_H_
