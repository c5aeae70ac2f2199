/**
 * @brief What all scans of `approximate_scan.h` share: the loop over the splits of a range, and
 *        steps of a scan on vectors of eight labels.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_LOOP_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_LOOP_H_

#include <cstddef>  // for ptrdiff_t, size_t
#include <cstdint>  // for int32_t, uint32_t
#include <limits>   // for numeric_limits

#include "../../vectorised.h"  // for Float8, Int8, XDCC_INLINE, XDCC_UNROLL
#include "../split_score.h"    // for SumOfFractions
#include "approximate_scan.h"

namespace xgboost::multilabel {
/** @brief Minimum of a denominator. */
inline constexpr float kLeastDenominator = std::numeric_limits<float>::min() * 1e6f;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/** @brief Copy numbers of a chunk into vectors. */
// A pointer would be read again after each score: the compiler cannot rule out that they overlap.
template <typename T, typename Vector, int kVectors>
XDCC_INLINE void Load(T const* from, Vector (&to)[kVectors]) {
  XDCC_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    to[v] = reinterpret_cast<Vector const*>(from)[v];
  }
}

XDCC_INLINE float SumOfLanes(Float8 const& x) {
  Float8 all = x;
  XDCC_UNROLL(4)
  for (int k = 0; k < 3; ++k) {
    all += XDCC_SWAP_LANES(all, 4 >> k);
  }
  return all[0];
}
XDCC_INLINE float LargestLane(Float8 const& x) {
  Float8 all = x;
  XDCC_UNROLL(4)
  for (int k = 0; k < 3; ++k) {
    Float8 const swapped = XDCC_SWAP_LANES(all, 4 >> k);
    all = swapped > all ? swapped : all;
  }
  return all[0];
}
XDCC_INLINE std::int32_t BitsOfLanes(Int8 const& x) {
  Int8 all = x;
  XDCC_UNROLL(4)
  for (int k = 0; k < 3; ++k) {
    all |= XDCC_SWAP_LANES(all, 4 >> k);
  }
  return all[0];
}

XDCC_INLINE Float8 Clip(Float8 const& x, Float8 const& low, Float8 const& high) {
  return x < low ? low : x > high ? high : x;
}
XDCC_INLINE Float8 Abs(Float8 const& x) {
  return Float8(Int8(x) & std::numeric_limits<std::int32_t>::max());
}

/** @brief One vector of labels on both sides of a split. */
struct SplitSides {
  /** @brief Sums of gradients. */
  Float8 left_grad, right_grad;
  Int8 left_hess, right_hess;
  /** @brief H + lambda. */
  Float8 left_total, right_total;
};

/** @brief Sums of a node in a chunk of labels, and the units of sums. */
template <int kVectors>
struct NodeSums {
  ChunkSums<kVectors> sums;
  Float8 grad_scale[kVectors], hess_scale[kVectors], lambda[kVectors];

  XDCC_INLINE explicit NodeSums(ChunkView const& chunk) {
    sums.Load(chunk.totals);
    multilabel::Load(chunk.grad_scale, grad_scale);
    multilabel::Load(chunk.hess_scale, hess_scale);
    multilabel::Load(chunk.lambda, lambda);
  }

  /**
   * @brief The v-th vector of labels on both sides of a split.
   *
   * @param scales Whether gradients are wanted in units of 1, not in those of the integers.
   */
  template <bool kScales = true>
  XDCC_INLINE SplitSides Sides(ChunkSums<kVectors> const& left, int v) const {
    Int8 const right_grad = sums.grad[v] - left.grad[v], right_hess = sums.hess[v] - left.hess[v];
    SplitSides sides{__builtin_convertvector(left.grad[v], Float8),
                     __builtin_convertvector(right_grad, Float8),
                     left.hess[v],
                     right_hess,
                     __builtin_convertvector(left.hess[v], Float8) * hess_scale[v] + lambda[v],
                     __builtin_convertvector(right_hess, Float8) * hess_scale[v] + lambda[v]};
    if constexpr (kScales) {
      sides.left_grad *= grad_scale[v];
      sides.right_grad *= grad_scale[v];
    }
    return sides;
  }

  /** @brief The labels' Hessians, added up. */
  XDCC_INLINE float Hessian(ChunkSums<kVectors> const& left) const {
    Float8 hess{};
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      hess += __builtin_convertvector(left.hess[v], Float8) * hess_scale[v];
    }
    return SumOfLanes(hess);
  }
};

/** @brief The score of a split, from the scores of vectors of labels. */
template <bool kSum>
struct SplitScore {
  Float8 sum{}, left = Float8{} - kInfinity, right = Float8{} - kInfinity;

  /**
   * @param p, q    Scores of labels on the left and on the right.
   * @param padding Minus infinity where a lane holds no label, which scores 0; else 0.
   */
  XDCC_INLINE void Add(Float8 const& p, Float8 const& q, Float8 const& padding) {
    if constexpr (kSum) {
      sum += p + q;
    } else {
      Float8 const l = p + padding, r = q + padding;
      left = l > left ? l : left;
      right = r > right ? r : right;
    }
  }
  /** @brief The same if the scores are p / a and q / b. */
  XDCC_INLINE void AddFractions(Float8 const& p, Float8 const& a, Float8 const& q, Float8 const& b,
                                Float8 const& padding) {
    if constexpr (kSum) {
      sum += SumOfFractions(p, a, q, b);
    } else {
      this->Add(p / a, q / b, padding);
    }
  }
  [[nodiscard]] XDCC_INLINE float Left() const {
    return kSum ? SumOfLanes(sum) : LargestLane(left);
  }
  [[nodiscard]] XDCC_INLINE float Right() const { return kSum ? 0.0f : LargestLane(right); }
};

/**
 * @brief Limits above which a Hessian lets a label count in a child of a split.
 *
 * @tparam kUsed Whether a label may fail to count; otherwise there are no limits.
 */
template <int kVectors, bool kUsed = true>
struct CountLimits {
  Int8 may_count[kVectors], counts[kVectors];
  Int8 all_must;

  XDCC_INLINE explicit CountLimits(ChunkView const& chunk) {
    if constexpr (kUsed) {
      Load(chunk.may_count, may_count);
      Load(chunk.counts, counts);
      all_must = Int8{} + chunk.all_must;
    }
  }
};

/** @brief The labels of one vector that count in the children of a split. */
struct SideCounts {
  Int8 left_may, left_does, right_may, right_does;

  template <int kVectors>
  XDCC_INLINE SideCounts(CountLimits<kVectors> const& limits, SplitSides const& sides, int v)
      : left_may{sides.left_hess > limits.may_count[v]},
        left_does{sides.left_hess > limits.counts[v]},
        right_may{sides.right_hess > limits.may_count[v]},
        right_does{sides.right_hess > limits.counts[v]} {}
};

/** @brief The first three `SplitFlags` of a split. */
struct FlagLanes {
  Int8 left{}, right{}, in_doubt{};

  XDCC_INLINE void Add(SideCounts const& labels, Int8 const& all_must) {
    left |= labels.left_does ^ all_must;
    right |= labels.right_does ^ all_must;
    in_doubt |= (labels.left_may ^ labels.left_does) | (labels.right_may ^ labels.right_does);
  }
  [[nodiscard]] XDCC_INLINE Int8 Flags() const {
    return (left & SplitFlags::kLeft) | (right & SplitFlags::kRight) |
           (in_doubt & SplitFlags::kInDoubt);
  }
};

/**
 * @brief Call `fn(i, left)` for the splits of a range, with the sums on the left of the i-th.
 *
 * @return Number of splits.
 */
template <int kVectors, typename Fn>
XDCC_INLINE std::uint32_t ForEachSplit(ListRange const& range, RowValues const& rows, Fn&& fn) {
  constexpr std::size_t kWidth = 8 * kVectors;
  auto const* const data = rows.data;
  bool const is_packed = rows.is_packed;
  std::uint32_t const n_fetched = rows.is_far ? range.n : 0;
  auto const ahead = static_cast<std::ptrdiff_t>(kRowsAhead) * range.step;
  ChunkSums<kVectors> left;
  left.Clear();
  std::uint32_t n_splits{0};
  auto const* it = range.first;
  ListEntry entry = *it;
  for (std::uint32_t i = 1; i <= range.n; ++i) {
    bool const fetches = i + kRowsAhead <= n_fetched;
    if (is_packed) {
      if (fetches) {
        Prefetch(data + (it[ahead] & kRowMask) * kWidth, kWidth * sizeof(std::int32_t));
      }
      left.AddPacked(reinterpret_cast<Int8 const*>(data + (entry & kRowMask) * kWidth));
    } else {
      if (fetches) {
        Prefetch(data + (it[ahead] & kRowMask) * 2 * kWidth, 2 * kWidth * sizeof(std::int32_t));
      }
      left.Add(reinterpret_cast<Int8 const*>(data + (entry & kRowMask) * (2 * kWidth)));
    }
    ListEntry next;
    if (i < range.n) {
      it += range.step;
      next = *it;
    } else {
      next = range.with_last ? ~entry : entry;
    }
    bool const same_bin = ((next ^ entry) >> kBinShift) == 0 && !range.separate;
    entry = next;
    if (same_bin) {
      continue;
    }
    fn(n_splits, left);
    ++n_splits;
    if (range.separate) {
      left.Clear();
    }
  }
  return n_splits;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_LOOP_H_
