/**
 * @brief Units of the integers of a row set: gradients and Hessians are rounded to such units.
 *
 * A label's units are powers of two, so small that sums of absolute values stay below 2^30 units:
 * integer sums are exact, whatever their order. Integers have 32 bits each, or, *packed*, a row's
 * gradient and Hessian of a label have 16 bits each, so that half as much memory is read. Then a
 * single entry may be rounded more coarsely than it could be. It is rounded up or down by a
 * pseudo-random sequence, so that equal entries of many rows are not all rounded alike.
 */
#ifndef XDCC_MULTILABEL_ROW_UNITS_H_
#define XDCC_MULTILABEL_ROW_UNITS_H_

#include <algorithm>  // for max, min, transform
#include <cmath>      // for abs, ilogb, ldexp
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <vector>     // for vector

#include "../../reductions.h"         // for Add, ForEachRun
#include "../../vectorised.h"         // for XDCC_TARGET_CLONES
#include "../data/gradient_matrix.h"  // for GradientMatrix, GradientView
#include "xgboost/base.h"             // for bst_idx_t

namespace xgboost::multilabel {
/** @brief Number of rows that a thread takes at a time. */
inline constexpr std::size_t kRowRun = 256;

/** @brief Sizes of the gradients, then of the Hessians, of some rows, by label. [2 * n_labels] */
struct GradientSizes {
  /** @brief Sums of absolute values; exact (see `gradient_matrix.h`), in any order. */
  std::vector<double> sums;
  std::vector<float> largest;  // absolute values
};

XDCC_TARGET_CLONES static void AddSizes(GradientView gradients, bst_idx_t const* rows,
                                        std::size_t n_rows, double* sums, float* largest) {
  auto const n_labels = gradients.n_labels;
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const* pairs = gradients.Row(rows[i]);
#pragma omp simd
    for (std::size_t j = 0; j < n_labels; ++j) {
      float const grad = std::abs(gradients.grad_rounding(pairs[2 * j]));
      float const hess = gradients.hess_rounding(pairs[2 * j + 1]);
      sums[j] += grad;
      sums[n_labels + j] += hess;
      largest[j] = grad > largest[j] ? grad : largest[j];
      largest[n_labels + j] = hess > largest[n_labels + j] ? hess : largest[n_labels + j];
    }
  }
}

inline GradientSizes SizesOf(std::int32_t n_threads, GradientMatrix const& gradients,
                             std::vector<bst_idx_t> const& rows) {
  auto const width = gradients.Width();
  GradientSizes const none{std::vector<double>(width), std::vector<float>(width)};
  std::vector<GradientSizes> parts(n_threads, none);
  ForEachRun(rows.size(), kRowRun, n_threads, [&](auto, auto begin, auto end) {
    auto& part = parts[omp_get_thread_num()];
    XDCC_BEST_CLONE(AddSizes)(gradients.View(), rows.data() + begin, end - begin, part.sums.data(),
                              part.largest.data());
  });
  auto& all = parts.front();
  for (std::size_t t = 1; t < parts.size(); ++t) {
    Add(parts[t].sums, &all.sums);
    std::transform(all.largest.cbegin(), all.largest.cend(), parts[t].largest.cbegin(),
                   all.largest.begin(), [](float l, float r) { return std::max(l, r); });
  }
  return all;
}

/** @brief The units of a row set. */
struct RowUnits {
  /** @brief Number of units of 1, a power of two; gradients, then Hessians. 0: there are none. */
  std::vector<float> factors;
  bool is_packed{false};

  /** @brief Rows of smaller row sets are not fetched ahead. */
  static constexpr std::size_t kFewRows = 8192;
  /** @brief Pairs of a gradient and a Hessian that caches do not hold. */
  static constexpr std::size_t kManyPairs = std::size_t{1} << 21;
  /**
   * @brief Whether a row set has enough rows or labels to be packed into coarser units.
   *
   * Others are in caches anyway, and after many rounds, when nearly all gradients are small, coarse
   * units leave too many splits as candidates.
   */
  [[nodiscard]] static bool HasMany(std::size_t n_rows, std::size_t n_labels) {
    return n_rows >= kFewRows || n_rows * n_labels >= kManyPairs;
  }
  /** @brief Bits of a packed gradient without its sign, and of a packed Hessian. */
  static constexpr int kGradBits = 15, kHessBits = 16;

  /**
   * @param sizes    Gradient sizes of the rows on all workers.
   * @param may_pack Whether coarser units are allowed.
   */
  RowUnits(GradientSizes const& sizes, bool may_pack) : factors(sizes.sums.size(), 0.0f) {
    auto packed = factors;
    bool as_fine{true};
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (sizes.sums[k] == 0.0) {
        continue;
      }
      auto const bits = 2 * k < factors.size() ? kGradBits : kHessBits;
      // A float, and so is its inverse. The sum has less than 2^30 units, the largest 2^bits.
      auto const wide = std::min(29 - std::ilogb(sizes.sums[k]), 120);
      auto const narrow = std::min(wide, bits - 1 - std::ilogb(sizes.largest[k]));
      factors[k] = static_cast<float>(std::ldexp(1.0, wide));
      packed[k] = static_cast<float>(std::ldexp(1.0, narrow));
      as_fine = as_fine && narrow == wide;
    }
    is_packed = may_pack || as_fine;
    if (is_packed) {
      factors = packed;
    }
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_ROW_UNITS_H_
