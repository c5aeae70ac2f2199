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

#include "split_method.h"  // for SplitMethod
#include "split_score.h"   // for MethodTraits
#include "vectorised.h"    // for Lanes, XDCC_TARGET_CLONES

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
  /** @brief The sum over labels; with a maximum, that of the rows passed. */
  float* passed;
  /** @brief With a maximum: that of the other rows. */
  float* rest;
  /** @brief Whether to combine with what is there: the scores of other chunks. */
  bool combine;
};

/**
 * @brief Score the candidates of a range.
 *
 * @return Number of candidates.
 */
template <SplitMethod kMethod, int kLanes, int kVectors>
XDCC_TARGET_CLONES static std::uint32_t ScanList(ListRange range, ChunkView chunk,
                                                 ScanOutput out) {
  // Everything stands in this one body: a helper would be compiled without the wide vectors.
  using Ints = typename Lanes<kLanes>::Ints;
  using Floats = typename Lanes<kLanes>::Floats;
  using Traits = MethodTraits<kMethod>;
  constexpr std::size_t kWidth = kLanes * kVectors;
  auto const* totals = reinterpret_cast<Ints const*>(chunk.totals);
  auto const* grad_scale = reinterpret_cast<Floats const*>(chunk.grad_scale);
  auto const* hess_scale = reinterpret_cast<Floats const*>(chunk.hess_scale);
  auto const* lambda = reinterpret_cast<Floats const*>(chunk.lambda);
  auto const* mean = reinterpret_cast<Floats const*>(chunk.mean);
  auto const* total = reinterpret_cast<Floats const*>(chunk.total);
  auto const* padding = reinterpret_cast<Floats const*>(chunk.padding);

  Ints grad[kVectors], hess[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    grad[v] = Ints{};
    hess[v] = Ints{};
  }
  std::uint32_t n_candidates{0};
  auto const* it = range.first;
  ListEntry entry = *it;
  for (std::uint32_t i = 1; i <= range.n; ++i) {
    auto const* row =
        reinterpret_cast<Ints const*>(chunk.rows + (entry & kRowMask) * (2 * kWidth));
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
    bool const same_bin = ((next ^ entry) >> kBinShift) == 0;
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
      if constexpr (kLanes == 16) {
        sum += __builtin_shuffle(
            sum, Int16{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
        sum += __builtin_shuffle(
            sum, Int16{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
        sum += __builtin_shuffle(
            sum, Int16{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13});
        sum += __builtin_shuffle(
            sum, Int16{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14});
      } else {
        sum += __builtin_shuffle(sum, Int8{4, 5, 6, 7, 0, 1, 2, 3});
        sum += __builtin_shuffle(sum, Int8{2, 3, 0, 1, 6, 7, 4, 5});
        sum += __builtin_shuffle(sum, Int8{1, 0, 3, 2, 5, 4, 7, 6});
      }
      out.passed[n_candidates] = out.combine ? out.passed[n_candidates] + sum[0] : sum[0];
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
        Floats const p =
            (Traits::kGain ? g * g : Traits::kWeight ? -g : g < zero ? -g : g) / a + padding[v];
        Floats const q =
            (Traits::kGain ? r * r : Traits::kWeight ? -r : r < zero ? -r : r) / b + padding[v];
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
      float passed = largest[0], rest = largest_rest[0];
      for (int l = 1; l < kLanes; ++l) {
        passed = passed > largest[l] ? passed : largest[l];
        rest = rest > largest_rest[l] ? rest : largest_rest[l];
      }
      if (out.combine) {
        auto const p = out.passed[n_candidates], q = out.rest[n_candidates];
        passed = passed > p ? passed : p;
        rest = rest > q ? rest : q;
      }
      out.passed[n_candidates] = passed;
      out.rest[n_candidates] = rest;
    }
    ++n_candidates;
  }
  return n_candidates;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_H_
