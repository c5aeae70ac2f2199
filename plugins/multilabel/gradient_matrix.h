/**
 * @brief The gradients of one tree, laid out for histograms and rounded so that sums are exact.
 *
 * Row i holds its n_labels gradients, then its n_labels Hessians: one contiguous vector that is
 * added to a histogram bin at once.
 *
 * Gradients and Hessians are rounded to a grid of step 2^(e - 52), with 2^e at least the sum of
 * their absolute values over the rows (bounded by n_rows * maximum). Every sum over rows is then a
 * multiple of the step below 2^53 steps, so double precision represents it without error: sums do
 * not depend on their order (the same model for any number of threads), a child is exactly its
 * parent minus its sibling, and a label that is masked in all rows of a node sums to exactly 0.
 * The error is below 2^-52 n_rows max per entry, less than single precision loses anyway up to
 * about 2^28 rows.
 */
#ifndef XDCC_MULTILABEL_GRADIENT_MATRIX_H_
#define XDCC_MULTILABEL_GRADIENT_MATRIX_H_

#include <algorithm>  // for max, max_element
#include <atomic>     // for atomic
#include <cmath>      // for abs, ilogb, isfinite, ldexp
#include <cstddef>    // for size_t
#include <cstdint>    // for uint8_t
#include <vector>     // for vector

#include "../../src/common/threading_utils.h"  // for ParallelFor
#include "xgboost/base.h"                      // for GradientPair, bst_idx_t
#include "xgboost/context.h"                   // for Context
#include "xgboost/linalg.h"                    // for MatrixView
#include "xgboost/logging.h"                   // for CHECK

namespace xgboost::multilabel {
/** @brief Where the rows of a `GradientMatrix` lie. */
struct GradientView {
  /** @brief A row's gradients, then its Hessians. [n_rows, width] */
  float const* values;
  /** @brief Whether any label of the row carries a gradient. [n_rows] */
  std::uint8_t const* active;
  std::size_t width;
};

class GradientMatrix {
 public:
  /**
   * @brief Copy and round the gradients of one tree.
   *
   * @param gpair Gradients after masks and sampling. [n_rows, n_labels]
   */
  void Assign(Context const* ctx, linalg::MatrixView<GradientPair const> gpair) {
    n_rows_ = gpair.Shape(0);
    n_labels_ = gpair.Shape(1);
    auto const n_threads = ctx->Threads();

    std::atomic<bool> finite{true};
    std::vector<float> max_grad(n_threads, 0.0f), max_hess(n_threads, 0.0f);
    common::ParallelFor(n_rows_, n_threads, [&](auto i) {
      auto tid = omp_get_thread_num();
      for (std::size_t j = 0; j < n_labels_; ++j) {
        auto const& g = gpair(i, j);
        max_grad[tid] = std::max(max_grad[tid], std::abs(g.GetGrad()));
        max_hess[tid] = std::max(max_hess[tid], std::abs(g.GetHess()));
        if (!std::isfinite(g.GetGrad()) || !std::isfinite(g.GetHess())) {
          finite = false;
        }
      }
    });
    CHECK(finite) << "A gradient is infinite or not a number. Are sample weights, base_margin and "
                     "base_score finite?";
    Rounding const grad_rounding{*std::max_element(max_grad.cbegin(), max_grad.cend()), n_rows_};
    Rounding const hess_rounding{*std::max_element(max_hess.cbegin(), max_hess.cend()), n_rows_};

    values_.resize(n_rows_ * this->Width());
    active_.resize(n_rows_);
    common::ParallelFor(n_rows_, n_threads, [&](auto i) {
      float* row = values_.data() + i * this->Width();
      bool active{false};
      for (std::size_t j = 0; j < n_labels_; ++j) {
        auto const& g = gpair(i, j);
        row[j] = grad_rounding(g.GetGrad());
        row[n_labels_ + j] = hess_rounding(g.GetHess());
        active = active || row[j] != 0.0f || row[n_labels_ + j] != 0.0f;
      }
      active_[i] = active;
    });
  }

  /** @brief Sums over all rows, gradients then Hessians. [2 * n_labels] */
  [[nodiscard]] std::vector<double> Sum() const {
    std::vector<double> sum(this->Width(), 0.0);
    for (bst_idx_t i = 0; i < n_rows_; ++i) {
      float const* row = values_.data() + i * this->Width();
      for (std::size_t k = 0; k < sum.size(); ++k) {
        sum[k] += row[k];
      }
    }
    return sum;
  }

  [[nodiscard]] std::size_t NumLabels() const { return n_labels_; }
  /** @brief Length of a row: gradients and Hessians. */
  [[nodiscard]] std::size_t Width() const { return 2 * n_labels_; }
  [[nodiscard]] GradientView View() const {
    return {values_.data(), active_.data(), this->Width()};
  }
  /** @brief Whether any label of the row carries a gradient; other rows add nothing anywhere. */
  [[nodiscard]] bool Active(bst_idx_t ridx) const { return active_[ridx]; }

 private:
  /** @brief Rounds to the grid by adding and subtracting a number of the right magnitude. */
  class Rounding {
    double shift_{0.0};

   public:
    Rounding(float max_abs, bst_idx_t n_rows) {
      auto const bound = static_cast<double>(max_abs) * static_cast<double>(n_rows);
      if (bound > 0.0) {
        auto const e = std::ilogb(bound) + 1;  // bound < 2^e
        shift_ = std::ldexp(1.5, e);           // its last bit has the value 2^(e - 52)
      }
    }
    float operator()(float v) const {
      // XGBoost is compiled without -ffast-math, so this is not simplified to v.
      return static_cast<float>((static_cast<double>(v) + shift_) - shift_);
    }
  };

  bst_idx_t n_rows_{0};
  std::size_t n_labels_{0};
  std::vector<float> values_;
  std::vector<std::uint8_t> active_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_GRADIENT_MATRIX_H_
