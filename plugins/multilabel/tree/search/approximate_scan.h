/**
 * @brief Scores all splits along a sorted list of rows, approximately and fast.
 *
 * A list holds the rows of a node in the order of one feature's bins. The scan adds up the rows'
 * quantised gradients (`quantised_rows.h`) and, wherever the bin changes, scores the split there in
 * single precision. Sums of integers are exact, so the error of a score comes from the integers'
 * own rounding and from a few float operations. `score_error.h` bounds it, and the splits that may
 * be the best are scored again in double precision (`exact_decision.h`).
 *
 * *Left* is the side of the rows that were scanned, *right* that of the node's other rows. A range
 * that is scanned downwards is a mirrored feature: its left side holds the higher bins.
 *
 * For sumGain, with a = H_L + lambda, b = H_R + lambda, S = a + b and m = G / S,
 *
 *   G_L^2 / a + G_R^2 / b = S (G_L - m a)^2 / (a b) + G^2 / S,
 *
 * which needs one division and does not cancel. The last term is the same for all splits of a node
 * and is left to the caller.
 *
 * Where labels may not count (`split_score.h`), a label's Hessian is compared with two bounds: up
 * to the lower one the label does not count, above the upper one it does. Between them the scan
 * cannot know: the score is the highest possible one, and the scan reports how much lower the true
 * score may be. In the same way it reports whether enough labels count for a child to be allowed.
 *
 * With monotone constraints (`monotone.h`) a score may be much smaller than its terms: the scan
 * adds up the errors of the terms, and gives the highest possible score.
 *
 * Labels are divided into chunks. The loops are compiled for each width of a chunk, so that sums
 * stay in registers.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_H_

#include <cstddef>      // for ptrdiff_t, size_t
#include <cstdint>      // for int32_t, uint32_t
#include <type_traits>  // for integral_constant

#include "../../param/split_method.h"  // for SplitMethod
#include "../../vectorised.h"          // for Int8, Prefetch, XDCC_INLINE, XDCC_UNROLL

namespace xgboost::multilabel {
/** @brief An entry of a list: a row of the row set in the low half, its bin in the high half. */
using ListEntry = std::uint32_t;
constexpr std::uint32_t kBinShift = 16;
constexpr std::uint32_t kRowMask = (1u << kBinShift) - 1;

/** @brief Consecutive entries, scanned upwards (`step` 1) or downwards (-1). */
struct ListRange {
  ListEntry const* first;
  std::ptrdiff_t step;
  std::uint32_t n;
  /** @brief Whether there are rows on the right of the last entry. */
  bool with_last;
  /** @brief Whether each entry alone is the left side of a split: its "row" is a sum of rows. */
  bool separate;
  /** @brief A monotone constraint: 1 if the left side must not weigh more than the right. */
  int order{0};
};

/**
 * @brief The parameters that the scan considers, beside lambda; each rule has its own loops.
 *
 * Only with the last three may labels not count.
 */
enum class ScanRule {
  kPlain,           // none
  kMeanHessian,     // `min_child_weight`, of the labels' mean Hessian
  kAlpha,           // `reg_alpha`
  kMinChildWeight,  // `min_child_weight`, of single labels or of the mean, and `reg_alpha`
  kMaxDeltaStep,    // also `max_delta_step`, and lambda may be 0
  kMonotone,        // also monotone constraints
};

/** @brief Flags of a scan about the children of a split, one bit each. */
struct SplitFlags {
  /** @brief A label surely counts on the left; if all must: one may not. */
  static constexpr std::int32_t kLeft = 1;
  /** @brief The same on the right. */
  static constexpr std::int32_t kRight = 2;
  static constexpr std::int32_t kBoth = kLeft | kRight;
  /** @brief A label may or may not count. */
  static constexpr std::int32_t kInDoubt = 4;
  /** @brief A single label's weights violate the monotone constraint, or may. */
  static constexpr std::int32_t kViolates = 8;
  static constexpr std::int32_t kMayViolate = 16;
};

/** @brief A packed integer has the gradient above these bits, and the Hessian, never below 0, in
 * them. */
constexpr int kPackedShift = 16;
constexpr std::int32_t kPackedMask = (1 << kPackedShift) - 1;

/** @brief Quantised gradients and Hessians of rows in one chunk of labels. */
struct RowValues {
  /** @brief Gradients, then Hessians. [n_rows, 2 * width]; packed, both in one. [n_rows, width] */
  std::int32_t const* data;
  bool is_packed;
  /** @brief Whether there are too many rows for a near cache. */
  bool is_far;
};

/** @brief Call `fn` with the number of vectors that a chunk of `width` labels fills, as a constant.
 */
template <typename Fn>
auto VisitVectors(std::size_t width, Fn&& fn) {
  switch (width) {
    case 8:
      return fn(std::integral_constant<int, 1>{});
    case 16:
      return fn(std::integral_constant<int, 2>{});
    case 24:
      return fn(std::integral_constant<int, 3>{});
    default:
      return fn(std::integral_constant<int, 4>{});
  }
}

/** @brief Prefetch distance in rows, whose values are scattered in memory. */
constexpr std::size_t kRowsAhead = 16;

/** @brief Sums over rows of a chunk of labels, in registers. */
template <int kVectors>
struct ChunkSums {
  Int8 grad[kVectors], hess[kVectors];

  XDCC_INLINE void Add(Int8 const* row) {
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      grad[v] += row[v];
      hess[v] += row[kVectors + v];
    }
  }
  /** @brief The same if the row is packed. */
  XDCC_INLINE void AddPacked(Int8 const* row) {
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      Int8 const both = row[v];
      grad[v] += both >> kPackedShift;
      hess[v] += both & kPackedMask;
    }
  }
  XDCC_INLINE void Clear() {
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      grad[v] = hess[v] = Int8{};
    }
  }
  /** @brief Read sums, gradients, then Hessians. [2 * width] */
  XDCC_INLINE void Load(std::int32_t const* from) {
    auto const* vectors = reinterpret_cast<Int8 const*>(from);
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      grad[v] = vectors[v];
      hess[v] = vectors[kVectors + v];
    }
  }
  XDCC_INLINE void Store(std::int32_t* to) const {
    auto* vectors = reinterpret_cast<Int8*>(to);
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = grad[v];
      vectors[kVectors + v] = hess[v];
    }
  }
};

/** @brief A chunk of the labels of a node. Every array has one element per label of the chunk. */
struct ChunkView {
  /** @brief Values of each row of the row set. */
  RowValues rows;
  /** @brief Sums over the node, gradients then Hessians. [2 * width] */
  std::int32_t const* totals;
  float const* grad_scale;
  float const* hess_scale;
  float const* lambda;
  /** @brief With sumGain m / grad_scale and S; else not read. */
  float const* mean;
  float const* total;
  /** @brief With a maximum: 0, or minus infinity where the lane holds no label. */
  float const* padding;
  /** @brief Where labels may not count: see `HessianLimits`. */
  std::int32_t const* may_count{nullptr};
  std::int32_t const* counts{nullptr};
  /** @brief -1 where all labels must count, 0 where one is enough. */
  std::int32_t all_must{0};
  float alpha{0.0f};
  /** @brief With `kMaxDeltaStep` and `kMonotone`: `max_delta_step`. */
  float max_step{0.0f};
  /** @brief With `kMonotone`: bounds of weights, and how far sums are off. */
  float const* lower{nullptr};
  float const* upper{nullptr};
  float const* grad_error{nullptr};
  float const* hess_error{nullptr};
  float relative_error{0.0f};
  /** @brief -1 where weights must have the order by themselves: with a single label. */
  std::int32_t must_be_ordered{0};
};

/** @brief Where scores go, one per candidate, in the order of the range. */
struct ScanOutput {
  /** @brief The sum over the chunk's labels; with a maximum, that on the left. */
  float* score;
  /** @brief With a maximum: that on the right. */
  float* right;
  /** @brief Where labels may not count: how far the score may be too high, and `SplitFlags`. */
  float* doubt;
  std::int32_t* flags;
  /** @brief With a mean (else null): the labels' Hessians on the left. */
  float* hess;
};

/**
 * @brief Add up the rows of each bin of a list, for a chunk of `width` labels.
 *
 * @param rows Rows of the row set.
 * @param out  The sums of one bin after the other. [number of bins in the list, 2 * width]
 */
using ListSumFn = void (*)(ListEntry const* entries, std::size_t n, RowValues rows,
                           std::int32_t* out);
ListSumFn ListSumOfWidth(std::size_t width);

/**
 * @brief Score the candidates of a range, by one split method and rule for a chunk of `width`
 *        labels.
 *
 * @return Number of candidates.
 */
using ScanFn = std::uint32_t (*)(ListRange range, ChunkView chunk, ScanOutput out);
ScanFn ChooseScan(SplitMethod method, ScanRule rule, std::size_t width);
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_H_
