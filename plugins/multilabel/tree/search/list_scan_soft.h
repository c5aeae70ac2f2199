/**
 * @brief The scan of `list_scan.h` by the rules `kShrunk`, `kCounted` and `kClipped`.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_SOFT_H_
#define XDCC_MULTILABEL_LIST_SCAN_SOFT_H_

#include <cstdint>  // for int32_t, uint32_t

#include "list_scan_steps.h"

namespace xgboost::multilabel {
/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanSoft(ListRange range, ChunkView chunk, ScanOutput out) {
  // On the left and on the right: g, r are gradients, a, b are H + lambda, w, u are weights, p, q
  // are scores.
  using Traits = MethodTraits<kMethod>;
  constexpr bool kCounts = kRule != ScanRule::kShrunk, kSteps = kRule == ScanRule::kClipped;
  bool const shrinks = chunk.alpha != 0.0f;
  Float8 const zero{}, alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Float8 const least = zero + kLeastDenominator;
  Int8 const all_must = Int8{} + chunk.all_must;
  Int8 may[kVectors], does[kVectors];
  if constexpr (kCounts) {
    XDCC_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      may[v] = reinterpret_cast<Int8 const*>(chunk.may)[v];
      does[v] = reinterpret_cast<Int8 const*>(chunk.does)[v];
    }
  }
  XDCC_LOAD(Float8, padding)
  XDCC_BEGIN_SPLITS
  if constexpr (kCounts) {
    XDCC_STORE_HESSIANS
    out.doubt[n_splits] = 0.0f;
  }
  // The highest score that labels in doubt allow; if there are any, also the lowest one.
  for (Int8 lowest{};; lowest = ~lowest) {
    Int8 left_does{}, right_does{}, in_doubt{};
    Float8 sum{}, largest = zero - kInfinity, largest_right = zero - kInfinity;
    XDCC_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      XDCC_BOTH_SIDES
      Float8 g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
      Float8 r = __builtin_convertvector(right_grad, Float8) * grad_scale[v];
      if constexpr (!Traits::kWeight) {
        g = Float8(Int8(g) & kAbsolute);
        r = Float8(Int8(r) & kAbsolute);
      }
      if (kRule == ScanRule::kShrunk || shrinks) {
        if constexpr (Traits::kWeight) {
          Float8 const g_most = g > alpha ? alpha : g, r_most = r > alpha ? alpha : r;
          g -= g_most < -alpha ? -alpha : g_most;
          r -= r_most < -alpha ? -alpha : r_most;
        } else {
          g -= alpha;
          r -= alpha;
          g = g > zero ? g : zero;
          r = r > zero ? r : zero;
        }
      }
      Float8 p, q;
      if constexpr (kSteps) {
        a = a < least ? least : a;
        b = b < least ? least : b;
        Float8 w = g / a, u = r / b;
        w = w > max_step ? max_step : w;
        u = u > max_step ? max_step : u;
        if constexpr (Traits::kWeight) {
          w = w < -max_step ? -max_step : w;
          u = u < -max_step ? -max_step : u;
        }
        p = Traits::kGain ? w * (g + g - a * w) : Traits::kWeight ? -w : w;
        q = Traits::kGain ? u * (r + r - b * u) : Traits::kWeight ? -u : u;
      } else {
        p = XDCC_NUMERATOR(Traits, g);
        q = XDCC_NUMERATOR(Traits, r);
      }
      if constexpr (kCounts) {
        XDCC_COUNT_LABELS
        Int8 const take_a = Traits::kWeight ? (p > zero) ^ lowest : ~lowest;
        Int8 const take_b = Traits::kWeight ? (q > zero) ^ lowest : ~lowest;
        p = (does_a | (may_a & take_a)) ? p : zero;
        q = (does_b | (may_b & take_b)) ? q : zero;
      }
      if constexpr (Traits::kSum) {
        sum += kSteps ? p + q : XDCC_SUM_OF_FRACTIONS(p, a, q, b);
      } else {
        if constexpr (!kSteps) {
          p /= a;
          q /= b;
        }
        p += padding[v];
        q += padding[v];
        largest = p > largest ? p : largest;
        largest_right = q > largest_right ? q : largest_right;
      }
    }
    Int8 bits = (left_does & ReachBits::kLeft) | (right_does & ReachBits::kRight) |
                (in_doubt & ReachBits::kInDoubt);
    XDCC_OR_LANES(bits)
    XDCC_COMBINE_LANES
    float const score = Traits::kSum ? sum[0] : largest[0];
    float const right = Traits::kSum ? 0.0f : largest_right[0];
    if (lowest[0] != 0) {
      out.doubt[n_splits] =
          (out.score[n_splits] - score) + (Traits::kSum ? 0.0f : out.right[n_splits] - right);
      break;
    }
    out.score[n_splits] = score;
    if constexpr (!Traits::kSum) {
      out.right[n_splits] = right;
    }
    if constexpr (!kCounts) {
      break;
    }
    out.bits[n_splits] = bits[0];
    if ((bits[0] & ReachBits::kInDoubt) == 0) {
      break;
    }
  }
  XDCC_END_SPLITS
  return n_splits;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_SOFT_H_
