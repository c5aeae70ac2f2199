/**
 * @brief The loops of `sketch_search.h`: add up rows, and score splits eight features at a time.
 *
 * Compiled without fused multiply-add, so that scores are the same on every machine.
 */
#ifndef XDCC_MULTILABEL_SKETCH_KERNELS_H_
#define XDCC_MULTILABEL_SKETCH_KERNELS_H_

#include <algorithm>    // for any_of, copy_n, max, min
#include <cstddef>      // for size_t
#include <cstdint>      // for int32_t, int64_t, uint32_t, uint64_t
#include <cstring>      // for memcpy
#include <type_traits>  // for integral_constant
#include <utility>      // for exchange

#include "../../vectorised.h"      // for XDCC_TARGET_CLONES, Float8, Int8, Long4
#include "../data/sketch_index.h"  // for SketchIndex
#include "../split_score.h"        // for SumOfFractions

namespace xgboost::multilabel {
/** @brief A sum of gradients in the upper half, a sum of Hessians in the lower half. */
using PackedSum = std::int64_t;
constexpr std::size_t kMaxDimensions = 4;

/** @brief Inputs of a node's scores; every array by dimension. */
struct NodeScoring {
  PackedSum const* total;
  float const* lambda;
  float const* weight;
  /** @brief Minimum of a child's Hessian and lambda; of a single dimension. */
  float floor;
};

/** @brief By lane: the best scores, with missing values on the right and on the left. */
struct LaneBest {
  Float8 score[2]{};
  /** @brief The last slot on the left. */
  Int8 slot[2]{};
};

// Vectors of 32 bytes hold four sums, so the eight lanes are two halves. One instruction separates
// gradients and Hessians if their lanes may be in the order of XDCC_SKETCH_LANES, which is its
// own inverse.
#define XDCC_SKETCH_LANES 0, 1, 4, 5, 2, 3, 6, 7
#define XDCC_SKETCH_GRADS(sums)                                                                  \
  __builtin_convertvector(XDCC_SHUFFLE(Int8(sums[0]), Int8(sums[1]), 1, 3, 9, 11, 5, 7, 13, 15), \
                          Float8)
#define XDCC_SKETCH_HESSIANS(sums)                                                               \
  __builtin_convertvector(XDCC_SHUFFLE(Int8(sums[0]), Int8(sums[1]), 0, 2, 8, 10, 4, 6, 12, 14), \
                          Float8)

// A macro, since a function would be compiled without the wide vectors. LEFT: packed sums of a
// dimension's half `k`.
#define XDCC_SKETCH_SCORES(score, LEFT)                                                 \
  XDCC_UNROLL(4) for (int d = 0; d < kWidth; ++d) {                                     \
    Long4 left_half[2], right_half[2];                                                  \
    XDCC_UNROLL(2) for (int k = 0; k < 2; ++k) {                                        \
      left_half[k] = (LEFT);                                                            \
      right_half[k] = by.total[d] - left_half[k];                                       \
    }                                                                                   \
    Float8 const gl = XDCC_SKETCH_GRADS(left_half), gr = XDCC_SKETCH_GRADS(right_half); \
    Float8 const a = XDCC_SKETCH_HESSIANS(left_half) + by.lambda[d];                    \
    Float8 const b = XDCC_SKETCH_HESSIANS(right_half) + by.lambda[d];                   \
    Float8 const part = SumOfFractions(gl * gl, a, gr * gr, b);                         \
    if (kWidth == 1) {                                                                  \
      score += ((a >= by.floor) & (b >= by.floor)) ? part : Float8{};                   \
    } else {                                                                            \
      score += part * by.weight[d];                                                     \
    }                                                                                   \
  }

/**
 * @brief Score the splits of a block.
 *
 * @param histogram [n_slots, kWidth, 8]
 * @param slots     Which slot each lane's sums are of, in the order of XDCC_SKETCH_LANES; null: the
 *                  position, for all lanes. [n_slots]
 */
template <int kWidth, bool kMissing>
XDCC_TARGET_CLONES static void ScanBlock(PackedSum const* histogram, std::size_t n_slots,
                                         Int8 const* slots, NodeScoring by, LaneBest* out) {
  constexpr auto kLanes = SketchIndex::kLanes;
  Long4 missing[kWidth][2], left[kWidth][2]{};
  if (kMissing) {
    std::memcpy(missing, histogram, sizeof(missing));
  }
  Float8 best{}, best_left{};
  Int8 best_slot{}, best_slot_left{};
  for (std::size_t slot = kMissing; slot < n_slots; ++slot) {
    auto const* bin = histogram + slot * kWidth * kLanes;
    PackedSum any{0};
    for (std::size_t l = 0; l < kWidth * kLanes; ++l) {
      any |= bin[l];
    }
    if (any == 0) {
      continue;
    }
    XDCC_UNROLL(4)
    for (int d = 0; d < kWidth; ++d) {
      XDCC_UNROLL(2)
      for (int k = 0; k < 2; ++k) {
        Long4 sums;
        std::memcpy(&sums, bin + d * kLanes + k * kLanes / 2, sizeof(sums));
        left[d][k] += sums;
      }
    }
    Int8 const here = slots ? slots[slot] : Int8{} + static_cast<std::int32_t>(slot);
    Float8 score{};
    XDCC_SKETCH_SCORES(score, left[d][k])
    Int8 const better = score > best;
    best = better ? score : best;
    best_slot = better ? here : best_slot;
    if (kMissing) {
      Float8 score_left{};
      XDCC_SKETCH_SCORES(score_left, left[d][k] + missing[d][k])
      Int8 const better_left = score_left >= best_left;
      best_left = better_left ? score_left : best_left;
      best_slot_left = better_left ? here : best_slot_left;
    }
  }
  out->score[0] = XDCC_SHUFFLE(best, best, XDCC_SKETCH_LANES);
  out->score[1] = XDCC_SHUFFLE(best_left, best_left, XDCC_SKETCH_LANES);
  out->slot[0] = XDCC_SHUFFLE(best_slot, best_slot, XDCC_SKETCH_LANES);
  out->slot[1] = XDCC_SHUFFLE(best_slot_left, best_slot_left, XDCC_SKETCH_LANES);
}

/**
 * @brief Score the splits of features with a single slot: its rows against all others.
 *
 * @param histogram [n / 8, kWidth, 8]
 * @param penalties Added to the scores, unless null. [n]
 * @param out       Eight lanes; `slot` is the position of the eight slots that a lane's is among.
 */
template <int kWidth>
XDCC_TARGET_CLONES static void ScanSingles(PackedSum const* histogram, std::size_t n,
                                           float const* penalties, NodeScoring by, LaneBest* out) {
  constexpr auto kLanes = SketchIndex::kLanes;
  Float8 best{};
  Int8 best_slot{};
  for (std::size_t at = 0; at < n; at += kLanes) {
    Long4 sums[kWidth][2];
    std::memcpy(sums, histogram + at * kWidth, sizeof(sums));
    Float8 score{};
    XDCC_SKETCH_SCORES(score, sums[d][k])
    if (penalties) {
      Float8 penalty;
      std::memcpy(&penalty, penalties + at, sizeof(penalty));
      score += XDCC_SHUFFLE(penalty, penalty, XDCC_SKETCH_LANES);
    }
    Int8 const better = score > best;
    best = better ? score : best;
    best_slot = better ? Int8{} + static_cast<std::int32_t>(at) : best_slot;
  }
  out->score[0] = XDCC_SHUFFLE(best, best, XDCC_SKETCH_LANES);
  out->slot[0] = XDCC_SHUFFLE(best_slot, best_slot, XDCC_SKETCH_LANES);
}

/** @brief Index of a lane in scores. */
constexpr std::size_t kPlaceOfLane[SketchIndex::kLanes]{XDCC_SKETCH_LANES};
#undef XDCC_SKETCH_SCORES
#undef XDCC_SKETCH_HESSIANS
#undef XDCC_SKETCH_GRADS
#undef XDCC_SKETCH_LANES

/** @brief The same score, of one split. */
template <std::size_t kWidth>
float ScoreSplit(PackedSum const* left, NodeScoring const& by) {
  float score{0.0f};
  for (std::size_t d = 0; d < kWidth; ++d) {
    auto const right = by.total[d] - left[d];
    auto const gl = static_cast<float>(left[d] >> 32), gr = static_cast<float>(right >> 32);
    auto const hl = static_cast<float>(left[d] & 0xffffffff);
    auto const hr = static_cast<float>(right & 0xffffffff);
    auto const a = hl + by.lambda[d], b = hr + by.lambda[d];
    auto const part = SumOfFractions(gl * gl, a, gr * gr, b);
    if (kWidth > 1) {
      score += part * by.weight[d];
    } else if (a >= by.floor && b >= by.floor) {
      score = part;
    }
  }
  return score;
}

/**
 * @brief Add rows to the histogram of a block.
 *
 * @param packed Gradients of the rows. [n_rows, kWidth]
 */
template <int kWidth, typename SlotT>
static void AddRows(SlotT const* slots, std::size_t stride, std::uint32_t const* rows,
                    PackedSum const* packed, std::size_t n_rows, PackedSum* __restrict out) {
  constexpr auto kLanes = SketchIndex::kLanes;
  constexpr std::size_t kAhead = 16;  // rows of a small node are far apart
  for (std::size_t i = 0; i < n_rows; ++i) {
    __builtin_prefetch(slots + rows[std::min(i + kAhead, n_rows - 1)] * stride);
    SlotT const* row = slots + rows[i] * stride;
    XDCC_UNROLL(4)
    for (int d = 0; d < kWidth; ++d) {
      auto const value = packed[i * kWidth + d];
      XDCC_UNROLL(8)
      for (std::size_t l = 0; l < kLanes; ++l) {
        out[(row[l] * kWidth + d) * kLanes + l] += value;
      }
    }
  }
}

/** @brief Add the stored slots of rows. */
template <int kWidth>
static void AddSlots(std::size_t const* row_ptr, std::uint32_t const* row_slots,
                     std::uint32_t const* rows, PackedSum const* packed, std::size_t n_rows,
                     PackedSum* __restrict out) {
  constexpr auto kLanes = SketchIndex::kLanes;
  for (std::size_t i = 0; i < n_rows; ++i) {
    PackedSum value[kWidth];
    std::copy_n(packed + i * kWidth, kWidth, value);
    for (auto e = row_ptr[rows[i]], end = row_ptr[rows[i] + 1]; e < end; ++e) {
      std::size_t const slot = row_slots[e];
      XDCC_UNROLL(4)
      for (int d = 0; d < kWidth; ++d) {
        out[kWidth == 1 ? slot : slot / kLanes * kLanes * kWidth + d * kLanes + slot % kLanes] +=
            value[d];
      }
    }
  }
}

/**
 * @brief A block's histogram of a small node without its empty slots.
 *
 * In such a node, most slots of eight features are empty for most of these features. Here each lane
 * has only its own slots, one after the other, so there are at most as many entries as rows.
 */
struct FewRows {
  static constexpr std::size_t kLanes = SketchIndex::kLanes, kMost = 64, kMostSlots = 320;
  alignas(64) PackedSum sums[(kMost + 2) * kMaxDimensions * kLanes];
  /** @brief Slots of the entries, in the form that `ScanBlock` takes. */
  alignas(64) std::int32_t slots[kMost + 2][kLanes];
  /** @brief Number of entries. */
  std::size_t n;

  /**
   * @brief Add up rows.
   *
   * A histogram tries splits at the slots of all lanes. To do the same, a lane that begins later
   * than others has an entry without rows first.
   *
   * @param has_missing Whether slot 0, which comes first, holds the rows without a value.
   * @param histogram   Memory of the block's histogram; all zero before and afterwards.
   */
  template <int kWidth, typename SlotT>
  void Fill(SlotT const* of_rows, std::size_t stride, std::uint32_t const* rows,
            PackedSum const* packed, std::size_t n_rows, bool has_missing, std::size_t n_slots,
            PackedSum* __restrict histogram) {
    constexpr std::size_t kBits = 64;
    std::uint64_t marks[kMostSlots / kBits][kLanes]{};  // slots with rows
    AddRows<kWidth>(of_rows, stride, rows, packed, n_rows, histogram);
    for (std::size_t i = 0; i < n_rows; ++i) {
      auto const* row = of_rows + rows[i] * stride;
      auto const* of_row = packed + i * kWidth;
      bool const is_active = std::any_of(of_row, of_row + kWidth, [](auto x) { return x != 0; });
      for (std::size_t l = 0; l < kLanes && is_active; ++l) {
        marks[row[l] / kBits][l] |= std::uint64_t{1} << row[l] % kBits;
      }
    }
    auto take = [&](std::size_t slot, std::size_t lane, std::size_t to) {
      for (int d = 0; d < kWidth; ++d) {
        sums[(to * kWidth + d) * kLanes + lane] =
            std::exchange(histogram[(slot * kWidth + d) * kLanes + lane], 0);
      }
      slots[to][kPlaceOfLane[lane]] = static_cast<std::int32_t>(slot);
    };
    std::size_t const begin = has_missing;
    if (has_missing) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        take(0, l, 0);
        marks[0][l] &= ~std::uint64_t{1};
      }
    }
    auto const n_masks = (n_slots + kBits - 1) / kBits;
    std::size_t first = n_slots;
    for (std::size_t m = 0; m < n_masks && first == n_slots; ++m) {
      std::uint64_t any{0};
      for (auto mask : marks[m]) {
        any |= mask;
      }
      first = any == 0 ? first : m * kBits + __builtin_ctzll(any);
    }
    n = begin;
    if (first == n_slots) {
      return;
    }
    std::size_t ends[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      auto& end = ends[l] = begin;
      if ((marks[first / kBits][l] >> first % kBits & 1) == 0) {
        take(first, l, end++);  // holds no row of this lane
      }
      for (std::size_t m = 0; m < n_masks; ++m) {
        for (auto mask = marks[m][l]; mask != 0; mask &= mask - 1) {
          take(m * kBits + __builtin_ctzll(mask), l, end++);
        }
      }
      n = std::max(n, end);
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      for (auto i = ends[l]; i < n; ++i) {
        for (int d = 0; d < kWidth; ++d) {
          sums[(i * kWidth + d) * kLanes + l] = 0;
        }
        slots[i][kPlaceOfLane[l]] = slots[i - 1][kPlaceOfLane[l]];
      }
    }
  }
};

/** @brief Call `fn` with the width, known when it is compiled. */
template <typename Fn>
void VisitWidth(std::size_t width, Fn&& fn) {
  switch (width) {
    case 1:
      return fn(std::integral_constant<int, 1>{});
    case 2:
      return fn(std::integral_constant<int, 2>{});
    default:
      return fn(std::integral_constant<int, 4>{});
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_KERNELS_H_
