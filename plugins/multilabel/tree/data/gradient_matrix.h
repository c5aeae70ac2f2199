/**
 * @brief The gradients of one tree, rounded where they are read so that sums are exact.
 *
 * They stay where the objective put them: row i holds a gradient and a Hessian of each label in
 * turn. Sums over rows have all gradients first, then all Hessians.
 *
 * Gradients and Hessians are rounded to a grid of step 2^(e - 52), with 2^e at least the sum of
 * their absolute values over the rows (bounded by n_rows * maximum). Every sum over rows is then a
 * multiple of the step below 2^53 steps, so double precision represents it without error: sums do
 * not depend on their order (the same model for any number of threads), a child is exactly its
 * parent minus its sibling, and the sums of a label that is masked in all rows of a node are
 * exactly 0. The error is below 2^-52 n_rows max per entry, less than single precision loses anyway
 * up to about 2^28 rows. Workers of a distributed training agree on the grid and so on every sum.
 */
#ifndef XDCC_MULTILABEL_GRADIENT_MATRIX_H_
#define XDCC_MULTILABEL_GRADIENT_MATRIX_H_

#include <algorithm>  // for find_if, max, min
#include <array>      // for array
#include <cmath>      // for ilogb, isnan, ldexp
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint8_t
#include <cstring>    // for memcpy
#include <string>     // for string, to_string
#include <vector>     // for vector

#include "../../reductions.h"  // for Add, ForEachRun, MaxOverWorkers, NumRuns, SumOverWorkers
#include "../../vectorised.h"  // for XDCC_TARGET_CLONES, Int8
#include "xgboost/base.h"      // for GradientPair, bst_idx_t
#include "xgboost/context.h"   // for Context
#include "xgboost/linalg.h"    // for MatrixView
#include "xgboost/logging.h"   // for CHECK

namespace xgboost::multilabel {
/** @brief Rounds to the grid by adding and subtracting a number of the right magnitude. */
class GridRounding {
  double shift_{0.0};

 public:
  GridRounding() = default;
  GridRounding(float max_abs, double n_rows) {
    auto const bound = static_cast<double>(max_abs) * n_rows;
    if (bound > 0.0) {
      auto const e = std::ilogb(bound) + 1;  // bound < 2^e
      shift_ = std::ldexp(1.5, e);           // its last bit has the value 2^(e - 52)
    }
  }
  [[nodiscard]] double Shift() const { return shift_; }
  float operator()(float v) const {
    // XGBoost is compiled without -ffast-math, so this is not simplified to v.
    return static_cast<float>((static_cast<double>(v) + shift_) - shift_);
  }
};

/** @brief Places of the rows of a `GradientMatrix`, and their rounding. */
struct GradientView {
  /** @brief A gradient and a Hessian for each label. [n_rows, n_labels, 2] */
  float const* pairs;
  std::size_t n_labels;
  GridRounding grad_rounding, hess_rounding;

  [[nodiscard]] float const* Row(std::size_t row) const { return pairs + row * 2 * n_labels; }
};

/** @brief The largest absolute gradient and Hessian; NaN or infinite values make `probe` NaN. */
struct GradientRange {
  float grad{0.0f}, hess{0.0f}, probe{0.0f};
  bool has_negative_hess{false};
};

/** @brief Whether a lane of a Hessian is negative; lanes of gradients alternate with them. */
inline bool HasNegativeHessian(Int8 const& lanes) {
  return (lanes[1] | lanes[3] | lanes[5] | lanes[7]) < 0;
}

// Bits of non-negative floats have the order of the floats; clang vectorises the maximum of
// integers, but not that of floats that could be NaN.
XDCC_TARGET_CLONES static GradientRange RangeOf(GradientPair const* gpair, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  auto const* values = reinterpret_cast<float const*>(gpair);
  Int8 bits, largest{}, negative{};
  std::size_t k = 0;
  for (; k + kLanes <= 2 * n; k += kLanes) {
    std::memcpy(&bits, values + k, sizeof(bits));
    Int8 const size = bits & 0x7fffffff;
    negative |= bits & (0 - size);  // its sign bit is set by numbers below 0
    largest = size > largest ? size : largest;
  }
  bits = Int8{};
  std::memcpy(&bits, values + k, (2 * n - k) * sizeof(float));
  Int8 const size = bits & 0x7fffffff;
  negative |= bits & (0 - size);
  largest = size > largest ? size : largest;
  float by_lane[kLanes];
  std::memcpy(by_lane, &largest, sizeof(by_lane));
  GradientRange range;
  range.has_negative_hess = HasNegativeHessian(negative);
  for (std::size_t l = 0; l < kLanes; l += 2) {
    range.grad = std::max(range.grad, by_lane[l]);
    range.hess = std::max(range.hess, by_lane[l + 1]);
    range.probe += 0.0f * by_lane[l] + 0.0f * by_lane[l + 1];
  }
  return range;
}

/** @brief Largest absolute gradient and Hessian, on all workers. */
struct GradientBounds {
  float grad{0.0f}, hess{0.0f};
};

/** @brief Name the first negative Hessian of these labels, or of all; empty: there is none. */
inline std::string NameNegativeHessian(linalg::MatrixView<GradientPair const> gpair,
                                       std::vector<std::uint32_t> const& labels) {
  auto const pairs = gpair.Values();
  auto const n = gpair.Shape(1);
  auto const bad = std::find_if(pairs.cbegin(), pairs.cend(),
                                [](auto const& pair) { return pair.GetHess() < 0.0f; });
  if (bad == pairs.cend()) {  // NaN can have a sign
    return {};
  }
  std::size_t const at = bad - pairs.cbegin();
  return "The Hessian of row " + std::to_string(at / n) + ", label " +
         std::to_string(labels.empty() ? at % n : labels[at % n]) + " is " +
         std::to_string(bad->GetHess()) + ". It must not be negative.";
}

/**
 * @brief The bounds of all workers; an error if values are invalid on one of them.
 *
 * @param negative Names a negative Hessian; empty if there is none.
 */
inline GradientBounds BoundsOverWorkers(Context const* ctx, GradientBounds const& here,
                                        bool is_finite, std::string const& negative = {}) {
  std::array<float, 4> largest{here.grad, here.hess, is_finite ? 0.0f : 1.0f,
                               negative.empty() ? 0.0f : 1.0f};
  MaxOverWorkers(ctx, &largest);
  CHECK_EQ(largest[2], 0.0f)
      << "A gradient is infinite or not a number. Are sample weights, base_margin and base_score "
         "finite?";
  CHECK_EQ(largest[3], 0.0f) << (negative.empty() ? "A Hessian is negative." : negative);
  return {largest[0], largest[1]};
}

/** @brief The bounds of some gradients; an error if any is invalid. [n_rows, n_columns] */
inline GradientBounds BoundsOf(Context const* ctx, linalg::MatrixView<GradientPair const> gpair) {
  constexpr std::size_t kRun = std::size_t{1} << 11;  // gradients that a thread takes at a time
  CHECK(gpair.CContiguous());
  std::vector<GradientRange> ranges(NumRuns(gpair.Size(), kRun));
  ForEachRun(gpair.Size(), kRun, ctx->Threads(), [&](auto r, auto begin, auto end) {
    ranges[r] = XDCC_BEST_CLONE(RangeOf)(gpair.Values().data() + begin, end - begin);
  });
  GradientRange all;
  for (auto const& range : ranges) {
    all.grad = std::max(all.grad, range.grad);
    all.hess = std::max(all.hess, range.hess);
    all.probe += range.probe;
    all.has_negative_hess |= range.has_negative_hess;
  }
  return BoundsOverWorkers(ctx, {all.grad, all.hess}, !std::isnan(all.probe),
                           all.has_negative_hess ? NameNegativeHessian(gpair, {}) : "");
}

/** @brief Number of rows on all workers. */
inline double NumAllRows(Context const* ctx, std::size_t n_rows) {
  std::array<double, 1> n{static_cast<double>(n_rows)};
  SumOverWorkers(ctx, &n);
  return n.front();
}

/** @brief Whether any entry of a row is not rounded to zero. */
XDCC_TARGET_CLONES static bool IsActive(GradientView gradients, std::size_t row) {
  auto const* pairs = gradients.Row(row);
  std::int32_t any{0};
#pragma omp simd reduction(| : any)
  for (std::size_t j = 0; j < gradients.n_labels; ++j) {
    any |= gradients.grad_rounding(pairs[2 * j]) != 0.0f;
    any |= gradients.hess_rounding(pairs[2 * j + 1]) != 0.0f;
  }
  return any != 0;
}

/**
 * @brief Add rows to sums, exactly. [n_rows, n_labels, 2] -> [2 * n_labels]
 *
 * @param rows Which; null: the first ones.
 */
XDCC_TARGET_CLONES static void AddRowsExactly(GradientView gradients, bst_idx_t const* rows,
                                              std::size_t n_rows, double* out) {
  constexpr std::size_t kAhead = 4, kLabels = 64;
  auto const n_labels = gradients.n_labels;
  double shifts[2 * kLabels];
  for (std::size_t k = 0; k < 2 * kLabels; k += 2) {
    shifts[k] = gradients.grad_rounding.Shift();
    shifts[k + 1] = gradients.hess_rounding.Shift();
  }
  // Gradients and Hessians alternate as in memory, so vectors need no shuffling.
  for (std::size_t begin = 0; begin < n_labels; begin += kLabels) {
    auto const n = std::min(kLabels, n_labels - begin);
    double sums[2 * kLabels] = {};
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (rows && i + kAhead < n_rows) {
        Prefetch(gradients.Row(rows[i + kAhead]) + 2 * begin, 2 * n * sizeof(float));
      }
      auto const* pairs = gradients.Row(rows ? rows[i] : i) + 2 * begin;
      for (std::size_t k = 0; k < 2 * n; ++k) {
        sums[k] += (pairs[k] + shifts[k]) - shifts[k];
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      out[begin + j] += sums[2 * j];
      out[n_labels + begin + j] += sums[2 * j + 1];
    }
  }
}

class GradientMatrix {
 public:
  /**
   * @brief Take the gradients of one tree, which have to stay until it is grown.
   *
   * @param gpair Gradients after masks and sampling. [n_rows, n_labels]
   */
  void Assign(Context const* ctx, linalg::MatrixView<GradientPair const> gpair) {
    n_rows_ = gpair.Shape(0);
    // Every worker must round to the same grid.
    auto const bounds = BoundsOf(ctx, gpair);
    auto const n_all_rows = NumAllRows(ctx, n_rows_);
    view_ = {reinterpret_cast<float const*>(gpair.Values().data()), gpair.Shape(1),
             GridRounding{bounds.grad, n_all_rows}, GridRounding{bounds.hess, n_all_rows}};
    active_.resize(n_rows_);
    ForEachRun(n_rows_, kRun, ctx->Threads(), [&](auto, auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        active_[i] = XDCC_BEST_CLONE(IsActive)(view_, i);
      }
    });
  }

  /** @brief Sums over the rows of all workers, gradients then Hessians. [2 * n_labels] */
  [[nodiscard]] std::vector<double> Sum(Context const* ctx) const {
    std::vector<std::vector<double>> parts(ctx->Threads(), std::vector<double>(this->Width()));
    ForEachRun(n_rows_, kRun, ctx->Threads(), [&](auto, auto begin, auto end) {
      auto of_run = view_;
      of_run.pairs = view_.Row(begin);
      XDCC_BEST_CLONE(AddRowsExactly)(of_run, nullptr, end - begin,
                                      parts[omp_get_thread_num()].data());
    });
    auto& sum = parts.front();
    for (std::size_t t = 1; t < parts.size(); ++t) {
      Add(parts[t], &sum);
    }
    SumOverWorkers(ctx, &sum);
    return sum;
  }

  [[nodiscard]] std::size_t NumLabels() const { return view_.n_labels; }
  /** @brief Length of a row's sums: gradients and Hessians. */
  [[nodiscard]] std::size_t Width() const { return 2 * view_.n_labels; }
  [[nodiscard]] GradientView const& View() const { return view_; }
  /** @brief Whether any label of the row carries a gradient; other rows add nothing anywhere. */
  [[nodiscard]] bool Active(bst_idx_t ridx) const { return active_[ridx]; }

 private:
  /** @brief Number of rows that a thread takes at a time. */
  static constexpr std::size_t kRun = 256;

  bst_idx_t n_rows_{0};
  GradientView view_{};
  std::vector<std::uint8_t> active_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_GRADIENT_MATRIX_H_
