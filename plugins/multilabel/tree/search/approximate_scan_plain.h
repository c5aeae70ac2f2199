/**
 * @brief The scan of `approximate_scan.h` by the rules `kPlain` and `kMeanHessian`: all labels
 * count as they are.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_PLAIN_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_PLAIN_H_

#include <cstdint>  // for uint32_t

#include "approximate_scan_loop.h"

namespace xgboost::multilabel {
/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanPlain(ListRange range, ChunkView chunk,
                                                  ScanOutput out) {
  using Method = MethodTraits<kMethod>;
  NodeSums<kVectors> const node{chunk};
  Float8 mean[kVectors], total[kVectors], padding[kVectors];
  Load(chunk.mean, mean);
  Load(chunk.total, total);
  Load(chunk.padding, padding);
  auto const score_split = [&](std::uint32_t i,
                               ChunkSums<kVectors> const& left) XDCC_INLINE_LAMBDA {
    if (kRule == ScanRule::kMeanHessian && out.hess) {
      out.hess[i] = node.Hessian(left);
    }
    SplitScore<Method::kSum> score;
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      // a, b are H + lambda on the left and on the right, p, q scores times a, b.
      if constexpr (kMethod == SplitMethod::kSumGain) {
        auto const sides = node.template Sides<false>(left, v);
        Float8 const a = sides.left_total, b = sides.right_total;
        Float8 const t = (sides.left_grad - mean[v] * a) * node.grad_scale[v];
        score.sum += total[v] * t * t / (a * b);
      } else {
        auto const sides = node.Sides(left, v);
        Float8 const p = Method::Numerator(sides.left_grad), a = sides.left_total;
        Float8 const q = Method::Numerator(sides.right_grad), b = sides.right_total;
        score.AddFractions(p, a, q, b, padding[v]);
      }
    }
    out.score[i] = score.Left();
    if constexpr (!Method::kSum) {
      out.right[i] = score.Right();
    }
  };
  return ForEachSplit<kVectors>(range, chunk.rows, score_split);
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_PLAIN_H_
