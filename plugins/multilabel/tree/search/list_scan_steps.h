/**
 * @brief The steps that all scans of `list_scan.h` share: walk along a range and add up rows.
 *
 * These are macros, since a function would be compiled without the wide vectors. They use the names
 * `range`, `chunk`, `out` and `kVectors` of the scan.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_STEPS_H_
#define XDCC_MULTILABEL_LIST_SCAN_STEPS_H_

#include <cstddef>  // for ptrdiff_t, size_t
#include <cstdint>  // for int32_t, uint32_t
#include <limits>   // for numeric_limits

#include "../../vectorised.h"  // for Float8, Int8, XDCC_TARGET_CLONES, XDCC_UNROLL
#include "../split_score.h"    // for MethodTraits, XDCC_SUM_OF_FRACTIONS
#include "list_scan.h"

/** @brief Declare `name`, the chunk's numbers of that name as vectors of a type. */
// Copies, because the compiler must take it that writing a score may change what is pointed to.
#define XDCC_LOAD(Vector, name)                               \
  Vector name[kVectors];                                      \
  XDCC_UNROLL(8)                                              \
  for (int v = 0; v < kVectors; ++v) {                        \
    name[v] = reinterpret_cast<Vector const*>(chunk.name)[v]; \
  }

/**
 * @brief Begin a loop over the splits of a range, ended by `XDCC_END_SPLITS`.
 *
 * In the loop, `grad` and `hess` are the sums on the left of the split, `totals` those of the node,
 * and `n_splits` is the number of splits before this one.
 */
#define XDCC_BEGIN_SPLITS                                                                        \
  constexpr std::size_t kWidth = 8 * kVectors;                                                   \
  Int8 totals[2 * kVectors], grad[kVectors], hess[kVectors];                                     \
  XDCC_UNROLL(8)                                                                                 \
  for (int v = 0; v < kVectors; ++v) {                                                           \
    grad[v] = hess[v] = Int8{};                                                                  \
    totals[v] = reinterpret_cast<Int8 const*>(chunk.totals)[v];                                  \
    totals[kVectors + v] = reinterpret_cast<Int8 const*>(chunk.totals)[kVectors + v];            \
  }                                                                                              \
  XDCC_LOAD(Float8, grad_scale)                                                                  \
  XDCC_LOAD(Float8, hess_scale)                                                                  \
  XDCC_LOAD(Float8, lambda)                                                                      \
  std::uint32_t n_splits{0};                                                                     \
  auto const* const rows = chunk.rows.data;                                                      \
  bool const is_packed = chunk.rows.is_packed;                                                   \
  std::uint32_t const n_fetched = chunk.rows.is_far ? range.n : 0;                               \
  auto const* it = range.first;                                                                  \
  ListEntry entry = *it;                                                                         \
  for (std::uint32_t i = 1; i <= range.n; ++i) {                                                 \
    bool const fetches = i + kRowsAhead <= n_fetched;                                            \
    auto const ahead = static_cast<std::ptrdiff_t>(kRowsAhead) * range.step;                     \
    if (is_packed) {                                                                             \
      if (fetches) {                                                                             \
        Prefetch(rows + (it[ahead] & kRowMask) * kWidth, kWidth * sizeof(std::int32_t));         \
      }                                                                                          \
      auto const* row = reinterpret_cast<Int8 const*>(rows + (entry & kRowMask) * kWidth);       \
      XDCC_ADD_PACKED_ROW(row)                                                                   \
    } else {                                                                                     \
      if (fetches) {                                                                             \
        Prefetch(rows + (it[ahead] & kRowMask) * 2 * kWidth, 2 * kWidth * sizeof(std::int32_t)); \
      }                                                                                          \
      auto const* row = reinterpret_cast<Int8 const*>(rows + (entry & kRowMask) * (2 * kWidth)); \
      XDCC_ADD_ROW(row)                                                                          \
    }                                                                                            \
    ListEntry next;                                                                              \
    if (i < range.n) {                                                                           \
      it += range.step;                                                                          \
      next = *it;                                                                                \
    } else {                                                                                     \
      next = range.with_last ? ~entry : entry;                                                   \
    }                                                                                            \
    bool const same_bin = ((next ^ entry) >> kBinShift) == 0 && !range.separate;                 \
    entry = next;                                                                                \
    if (same_bin) {                                                                              \
      continue;                                                                                  \
    }

#define XDCC_END_SPLITS                  \
  ++n_splits;                            \
  if (range.separate) {                  \
    XDCC_UNROLL(8)                       \
    for (int v = 0; v < kVectors; ++v) { \
      grad[v] = hess[v] = Int8{};        \
    }                                    \
  }                                      \
  }

/** @brief Give each lane the sum, the largest or the bits of all lanes. */
#define XDCC_SUM_LANES(x)            \
  XDCC_UNROLL(4)                     \
  for (int k = 0; k < 3; ++k) {      \
    x += XDCC_SWAP_LANES(x, 4 >> k); \
  }
#define XDCC_MAX_LANES(x)                              \
  XDCC_UNROLL(4)                                       \
  for (int k = 0; k < 3; ++k) {                        \
    Float8 const swapped = XDCC_SWAP_LANES(x, 4 >> k); \
    x = swapped > x ? swapped : x;                     \
  }
#define XDCC_OR_LANES(x)             \
  XDCC_UNROLL(4)                     \
  for (int k = 0; k < 3; ++k) {      \
    x |= XDCC_SWAP_LANES(x, 4 >> k); \
  }

/** @brief Store the labels' Hessians on the left if they are asked for. */
#define XDCC_STORE_HESSIANS                                                 \
  if (out.hess) {                                                           \
    Float8 sum_hess{};                                                      \
    XDCC_UNROLL(8)                                                          \
    for (int v = 0; v < kVectors; ++v) {                                    \
      sum_hess += __builtin_convertvector(hess[v], Float8) * hess_scale[v]; \
    }                                                                       \
    XDCC_SUM_LANES(sum_hess)                                                \
    out.hess[n_splits] = sum_hess[0];                                       \
  }

/** @brief Declare the sums of one vector of labels on the right, and H + lambda on both sides. */
#define XDCC_BOTH_SIDES                                                            \
  Int8 const right_hess = totals[kVectors + v] - hess[v];                          \
  [[maybe_unused]] Int8 const right_grad = totals[v] - grad[v];                    \
  Float8 a = __builtin_convertvector(hess[v], Float8) * hess_scale[v] + lambda[v]; \
  Float8 b = __builtin_convertvector(right_hess, Float8) * hess_scale[v] + lambda[v];

/** @brief Declare in which children a vector's labels may count, and surely do, and note both. */
#define XDCC_COUNT_LABELS                                                \
  Int8 const may_a = hess[v] > may[v], does_a = hess[v] > does[v];       \
  Int8 const may_b = right_hess > may[v], does_b = right_hess > does[v]; \
  left_does |= does_a ^ all_must;                                        \
  right_does |= does_b ^ all_must;                                       \
  in_doubt |= (may_a ^ does_a) | (may_b ^ does_b);

/** @brief Combine the lanes' scores: their sum, or the largest on the left and on the right. */
#define XDCC_COMBINE_LANES        \
  if constexpr (Traits::kSum) {   \
    XDCC_SUM_LANES(sum)           \
  } else {                        \
    XDCC_MAX_LANES(largest)       \
    XDCC_MAX_LANES(largest_right) \
  }

namespace xgboost::multilabel {
/** @brief All but the sign of a float. */
inline constexpr std::int32_t kAbsolute = std::numeric_limits<std::int32_t>::max();
/** @brief Minimum of a denominator. */
inline constexpr float kLeastDenominator = std::numeric_limits<float>::min() * 1e6f;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_STEPS_H_
