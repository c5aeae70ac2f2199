/**
 * @brief The scan of `list_scan.h` by the rules `kPlain` and `kMean`: all labels count as they are.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_PLAIN_H_
#define XDCC_MULTILABEL_LIST_SCAN_PLAIN_H_

#include <cstdint>  // for int32_t, uint32_t

#include "list_scan_steps.h"

namespace xgboost::multilabel {
/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanPlain(ListRange range, ChunkView chunk,
                                                  ScanOutput out) {
  // On the left and on the right: g, r are gradients, a, b are H + lambda, p, q are scores.
  using Traits = MethodTraits<kMethod>;
  XDCC_LOAD(Float8, mean)
  XDCC_LOAD(Float8, total)
  XDCC_LOAD(Float8, padding)
  XDCC_BEGIN_SPLITS
  if constexpr (kRule == ScanRule::kMean) {
    XDCC_STORE_HESSIANS
  }
  if constexpr (Traits::kSum) {
    Float8 sum{};
    XDCC_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      XDCC_BOTH_SIDES
      Float8 const g = __builtin_convertvector(grad[v], Float8);
      if constexpr (kMethod == SplitMethod::kSumGain) {
        Float8 const t = (g - mean[v] * a) * grad_scale[v];
        sum += total[v] * t * t / (a * b);
      } else {
        Float8 const r = __builtin_convertvector(right_grad, Float8);
        Float8 const p = XDCC_NUMERATOR(Traits, g), q = XDCC_NUMERATOR(Traits, r);
        sum += grad_scale[v] * XDCC_SUM_OF_FRACTIONS(p, a, q, b);
      }
    }
    XDCC_SUM_LANES(sum)
    out.score[n_splits] = sum[0];
  } else {
    Float8 left = Float8{} - kInfinity, right = left;
    XDCC_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      XDCC_BOTH_SIDES
      Float8 const g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
      Float8 const r = __builtin_convertvector(right_grad, Float8) * grad_scale[v];
      Float8 const p = XDCC_NUMERATOR(Traits, g) / a + padding[v];
      Float8 const q = XDCC_NUMERATOR(Traits, r) / b + padding[v];
      left = p > left ? p : left;
      right = q > right ? q : right;
    }
    XDCC_MAX_LANES(left)
    XDCC_MAX_LANES(right)
    out.score[n_splits] = left[0];
    out.right[n_splits] = right[0];
  }
  XDCC_END_SPLITS
  return n_splits;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_PLAIN_H_
