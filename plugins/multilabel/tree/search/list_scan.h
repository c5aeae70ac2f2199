/**
 * @brief Scores all splits along a sorted list of rows, approximately and fast.
 *
 * A list holds the rows of a node in the order of one feature's bins. The scan adds up the rows'
 * gradients (integers, see `row_cluster.h`) and, wherever the bin changes, scores the split between
 * the rows passed and the rest, in single precision. Sums of integers are exact, so the error of a
 * score comes from the integers' own rounding and from a few float operations. The best candidates
 * are scored again in double precision (`list_evaluator.h`), so the score here has to be good, not
 * exact.
 *
 * For sumGain, with a = H_L + lambda, b = H_R + lambda, S = a + b and m = G / S,
 *
 *   G_L^2 / a + G_R^2 / b = S (G_L - m a)^2 / (a b) + G^2 / S,
 *
 * which needs one division and does not cancel. The last term is the same for all splits of a node
 * and is left to the caller.
 *
 * Labels stand in chunks of `Width` labels, each with loops of its own, in which the sums stay in
 * registers.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_H_
#define XDCC_MULTILABEL_LIST_SCAN_H_

#include <cstddef>  // for ptrdiff_t, size_t
#include <cstdint>  // for int32_t, uint32_t
#include <limits>   // for numeric_limits

#include "../../param/split_method.h"  // for SplitMethod
#include "../../vectorised.h"          // for Lanes, XDCC_TARGET_CLONES
#include "../split_score.h"            // for MethodTraits
#include "xgboost/logging.h"           // for LOG

namespace xgboost::multilabel {
/** @brief An entry of a list: a row of the cluster in the low half, its bin in the high half. */
using ListEntry = std::uint32_t;
constexpr std::uint32_t kBinShift = 16;
constexpr std::uint32_t kRowMask = (1u << kBinShift) - 1;

/** @brief Consecutive entries, visited upwards (`step` 1) or downwards (-1). */
struct ListRange {
  ListEntry const* first;
  std::ptrdiff_t step;
  std::uint32_t n;
  /** @brief Whether rows are left for the other child when all entries are passed. */
  bool with_last;
  /** @brief Whether each entry is a split of its own: the "rows" are sums over a feature's rows. */
  bool separate;
};

/** @brief A chunk of the labels of a node. Every array has one element per label of the chunk. */
struct ChunkView {
  /** @brief Gradients, then Hessians, of each row of the cluster. [n_rows, 2 * width] */
  std::int32_t const* rows;
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
};

/** @brief Where scores go, one per candidate, in the order of the range. */
struct ScanOutput {
  /** @brief The sum over the chunk's labels; with a maximum, that of the rows passed. */
  float* passed;
  /** @brief With a maximum: that of the other rows. */
  float* rest;
};

/**
 * @brief Score the candidates of a range.
 *
 * @return Number of candidates.
 */
template <SplitMethod kMethod, int kLanes, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanList(ListRange range, ChunkView chunk, ScanOutput out) {
  // Everything stands in this one body: a helper would be compiled without the wide vectors.
  using Ints = typename Lanes<kLanes>::Ints;
  using Floats = typename Lanes<kLanes>::Floats;
  using Traits = MethodTraits<kMethod>;
  constexpr std::size_t kWidth = kLanes * kVectors;
  constexpr Ints kIndex = Lanes<kLanes>::kIndex;
  // Copies, because the compiler must take it that writing a score may change what is pointed to.
  Ints totals[2 * kVectors], grad[kVectors], hess[kVectors];
  Floats grad_scale[kVectors], hess_scale[kVectors], lambda[kVectors], mean[kVectors],
      total[kVectors], padding[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    grad[v] = hess[v] = Ints{};
    totals[v] = reinterpret_cast<Ints const*>(chunk.totals)[v];
    totals[kVectors + v] = reinterpret_cast<Ints const*>(chunk.totals)[kVectors + v];
    grad_scale[v] = reinterpret_cast<Floats const*>(chunk.grad_scale)[v];
    hess_scale[v] = reinterpret_cast<Floats const*>(chunk.hess_scale)[v];
    lambda[v] = reinterpret_cast<Floats const*>(chunk.lambda)[v];
    mean[v] = reinterpret_cast<Floats const*>(chunk.mean)[v];
    total[v] = reinterpret_cast<Floats const*>(chunk.total)[v];
    padding[v] = reinterpret_cast<Floats const*>(chunk.padding)[v];
  }
  std::uint32_t n_candidates{0};
  auto const* it = range.first;
  ListEntry entry = *it;
  for (std::uint32_t i = 1; i <= range.n; ++i) {
    auto const* row = reinterpret_cast<Ints const*>(chunk.rows + (entry & kRowMask) * (2 * kWidth));
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      grad[v] += row[v];
      hess[v] += row[kVectors + v];
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

    if constexpr (Traits::kSum) {
      Floats sum{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Floats const g = __builtin_convertvector(grad[v], Floats);
        Floats const a = __builtin_convertvector(hess[v], Floats) * hess_scale[v] + lambda[v];
        Ints const rest_hess = totals[kVectors + v] - hess[v];
        Floats const b = __builtin_convertvector(rest_hess, Floats) * hess_scale[v] + lambda[v];
        if constexpr (kMethod == SplitMethod::kSumGain) {
          Floats const t = (g - mean[v] * a) * grad_scale[v];
          sum += total[v] * t * t / (a * b);
        } else {
          Ints const rest_grad = totals[v] - grad[v];
          Floats const r = __builtin_convertvector(rest_grad, Floats);
          Floats const zero{};
          Floats const p = Traits::kWeight ? -g : g < zero ? -g : g;
          Floats const q = Traits::kWeight ? -r : r < zero ? -r : r;
          sum += grad_scale[v] * (p * b + q * a) / (a * b);
        }
      }
#pragma GCC unroll 4
      for (int lane = kLanes / 2; lane > 0; lane /= 2) {
        sum += __builtin_shuffle(sum, kIndex ^ lane);
      }
      out.passed[n_candidates] = sum[0];
    } else {
      constexpr float kInf = std::numeric_limits<float>::infinity();
      Floats largest = Floats{} - kInf, largest_rest = Floats{} - kInf;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Floats const g = __builtin_convertvector(grad[v], Floats) * grad_scale[v];
        Floats const a = __builtin_convertvector(hess[v], Floats) * hess_scale[v] + lambda[v];
        Ints const rest_hess = totals[kVectors + v] - hess[v];
        Floats const b = __builtin_convertvector(rest_hess, Floats) * hess_scale[v] + lambda[v];
        Ints const rest_grad = totals[v] - grad[v];
        Floats const r = __builtin_convertvector(rest_grad, Floats) * grad_scale[v];
        Floats const zero{};
        Floats const p = (Traits::kGain     ? g * g
                          : Traits::kWeight ? -g
                          : g < zero        ? -g
                                            : g) /
                             a +
                         padding[v];
        Floats const q = (Traits::kGain     ? r * r
                          : Traits::kWeight ? -r
                          : r < zero        ? -r
                                            : r) /
                             b +
                         padding[v];
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
#pragma GCC unroll 4
      for (int lane = kLanes / 2; lane > 0; lane /= 2) {
        Floats const p = __builtin_shuffle(largest, kIndex ^ lane);
        Floats const q = __builtin_shuffle(largest_rest, kIndex ^ lane);
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
      out.passed[n_candidates] = largest[0];
      out.rest[n_candidates] = largest_rest[0];
    }
    ++n_candidates;
    if (range.separate) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        grad[v] = hess[v] = Ints{};
      }
    }
  }
  return n_candidates;
}

/**
 * @brief Add up the rows of a list.
 *
 * @param rows Gradients and Hessians of each row of the cluster. [n_rows, 16 * kVectors]
 * @param out  The sums. [16 * kVectors]
 */
template <int kVectors>
XDCC_TARGET_CLONES static void SumList(ListEntry const* entries, std::size_t n,
                                       std::int32_t const* rows, std::int32_t* out) {
  Int16 sums[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = Int16{};
  }
  for (std::size_t i = 0; i < n; ++i) {
    auto const* row =
        reinterpret_cast<Int16 const*>(rows + (entries[i] & kRowMask) * (16 * kVectors));
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += row[v];
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    reinterpret_cast<Int16*>(out)[v] = sums[v];
  }
}

/** @brief The sum over a list for a chunk of `width` labels. */
using ListSumFn = void (*)(ListEntry const* entries, std::size_t n, std::int32_t const* rows,
                           std::int32_t* out);

inline ListSumFn ListSumOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return &SumList<1>;
    case 16:
      return &SumList<2>;
    case 24:
      return &SumList<3>;
    case 32:
      return &SumList<4>;
    case 48:
      return &SumList<6>;
    case 64:
      return &SumList<8>;
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

/** @brief The scan of one split method for a chunk of `width` labels. */
using ListScanFn = std::uint32_t (*)(ListRange range, ChunkView chunk, ScanOutput out);

template <SplitMethod kMethod>
ListScanFn ListScanOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return &ScanList<kMethod, 8, 1>;
    case 16:
      return &ScanList<kMethod, 16, 1>;
    case 24:
      return &ScanList<kMethod, 8, 3>;
    case 32:
      return &ScanList<kMethod, 16, 2>;
    case 48:
      return &ScanList<kMethod, 16, 3>;
    case 64:
      return &ScanList<kMethod, 16, 4>;
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

inline ListScanFn ChooseListScan(SplitMethod method, std::size_t width) {
  switch (method) {
    case SplitMethod::kSumGain:
      return ListScanOfWidth<SplitMethod::kSumGain>(width);
    case SplitMethod::kMaxGain:
      return ListScanOfWidth<SplitMethod::kMaxGain>(width);
    case SplitMethod::kSumWeight:
      return ListScanOfWidth<SplitMethod::kSumWeight>(width);
    case SplitMethod::kMaxWeight:
      return ListScanOfWidth<SplitMethod::kMaxWeight>(width);
    case SplitMethod::kSumAbsG:
      return ListScanOfWidth<SplitMethod::kSumAbsG>(width);
    case SplitMethod::kMaxAbsG:
      return ListScanOfWidth<SplitMethod::kMaxAbsG>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_H_
