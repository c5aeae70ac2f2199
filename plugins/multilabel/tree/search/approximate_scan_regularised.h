/**
 * @brief The scan of `approximate_scan.h` by the rules `kAlpha`, `kMinChildWeight` and
 *        `kMaxDeltaStep`.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_REGULARISED_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_REGULARISED_H_

#include <cstdint>  // for uint32_t

#include "approximate_scan_loop.h"

namespace xgboost::multilabel {
/** @brief Score the splits of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanRegularised(ListRange range, ChunkView chunk,
                                                        ScanOutput out) {
  using Method = MethodTraits<kMethod>;
  constexpr bool kCounts = kRule != ScanRule::kAlpha, kClips = kRule == ScanRule::kMaxDeltaStep;
  bool const shrinks = kRule == ScanRule::kAlpha || chunk.alpha != 0.0f;
  Float8 const zero{}, alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Float8 const least = zero + kLeastDenominator;
  NodeSums<kVectors> const node{chunk};
  CountLimits<kVectors, kCounts> const limits{chunk};
  Float8 padding[kVectors];
  Load(chunk.padding, padding);
  auto const score_split = [&](std::uint32_t i,
                               ChunkSums<kVectors> const& left) XDCC_INLINE_LAMBDA {
    if (kCounts && out.hess) {
      out.hess[i] = node.Hessian(left);
    }
    // The highest score that labels in doubt allow; if there are any, also the lowest one.
    for (Int8 lowest{};; lowest = ~lowest) {
      SplitScore<Method::kSum> score;
      FlagLanes flags;
      XDCC_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        // On the left and on the right: g, r are gradients, a, b are H + lambda, w, u are weights,
        // p, q are scores; or, if weights are not clipped, scores times a, b.
        auto const sides = node.Sides(left, v);
        Float8 g = sides.left_grad, r = sides.right_grad;
        Float8 a = sides.left_total, b = sides.right_total;
        if (shrinks) {
          g -= Clip(g, -alpha, alpha);
          r -= Clip(r, -alpha, alpha);
        }
        Float8 p, q;
        if constexpr (kClips) {
          a = a < least ? least : a;
          b = b < least ? least : b;
          Float8 const w = Clip(-g / a, -max_step, max_step), u = Clip(-r / b, -max_step, max_step);
          if constexpr (Method::kGain) {
            p = -w * (g + g + a * w);
            q = -u * (r + r + b * u);
          } else {
            p = Method::OfWeight(w);
            q = Method::OfWeight(u);
          }
        } else {
          p = Method::Numerator(g);
          q = Method::Numerator(r);
        }
        if constexpr (kCounts) {
          SideCounts const counts{limits, sides, v};
          flags.Add(counts, limits.all_must);
          Int8 const take_p = (p > zero) ^ lowest, take_q = (q > zero) ^ lowest;
          p = (counts.left_does | (counts.left_may & take_p)) ? p : zero;
          q = (counts.right_does | (counts.right_may & take_q)) ? q : zero;
        }
        if constexpr (kClips) {
          score.Add(p, q, padding[v]);
        } else {
          score.AddFractions(p, a, q, b, padding[v]);
        }
      }
      float const score_left = score.Left(), score_right = score.Right();
      if (lowest[0] != 0) {
        out.doubt[i] =
            (out.score[i] - score_left) + (Method::kSum ? 0.0f : out.right[i] - score_right);
        return;
      }
      out.score[i] = score_left;
      if constexpr (!Method::kSum) {
        out.right[i] = score_right;
      }
      if constexpr (!kCounts) {
        return;
      }
      out.doubt[i] = 0.0f;
      out.flags[i] = BitsOfLanes(flags.Flags());
      if ((out.flags[i] & SplitFlags::kInDoubt) == 0) {
        return;
      }
    }
  };
  return ForEachSplit<kVectors>(range, chunk.rows, score_split);
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_REGULARISED_H_
