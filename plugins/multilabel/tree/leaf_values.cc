/**
 * @brief The loop of `leaf_values.h` that derives gradients. Compiled without fused multiply-add.
 */
#include "leaf_values.h"

#include <algorithm>  // for min
#include <cstddef>    // for size_t
#include <cstring>    // for memcpy

#include "../objective/logistic_loss.h"  // for XDCC_GRADIENTS
#include "../vectorised.h"               // for XDCC_TARGET_CLONES, Float8, Int8

namespace xgboost::multilabel {
namespace {
XDCC_TARGET_CLONES void AddVectors(DerivedRows const& rows, double grad_shift, double hess_shift,
                                   double* __restrict grads, double* __restrict hessians) {
  constexpr std::size_t kLanes = 8, kColumns = 128, kRows = DerivedRows::kRows, kLine = 16;
  // Two loops: compilers convert plain arrays to double precision better than vectors.
  alignas(64) float grad_of[kRows][kColumns], hess_of[kRows][kColumns];
  for (std::size_t begin = 0; begin < rows.n_labels; begin += kColumns) {
    auto const n = std::min(kColumns, (rows.n_labels - begin + kLanes - 1) / kLanes * kLanes);
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
      bool const has_weight = rows.weights[r] != 1.0f || rows.positive_weight != 1.0f;
      for (std::size_t j = 0; j < n; j += kLine) {
        __builtin_prefetch(rows.next[r] + begin + j);
      }
      for (std::size_t j = 0; j < n; j += kLanes) {
        Float8 p;
        std::memcpy(&p, rows.values[r] + begin + j, sizeof(p));
        XDCC_GRADIENTS(p, is_positive, grad, hess)
        if (has_weight) {
          Float8 const w = is_positive ? Float8{} + rows.weights[r] * rows.positive_weight
                                       : Float8{} + rows.weights[r];
          grad *= w;
          hess *= w;
        }
        std::memcpy(grad_of[r] + j, &grad, sizeof(grad));
        std::memcpy(hess_of[r] + j, &hess, sizeof(hess));
      }
    }
    auto *g = grads + begin, *h = hessians + begin;
    if (rows.n_rows == kRows) {
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j) {
        g[j] += (((grad_of[0][j] + grad_shift) - grad_shift) +
                 ((grad_of[1][j] + grad_shift) - grad_shift)) +
                (((grad_of[2][j] + grad_shift) - grad_shift) +
                 ((grad_of[3][j] + grad_shift) - grad_shift));
      }
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j) {
        h[j] += (((hess_of[0][j] + hess_shift) - hess_shift) +
                 ((hess_of[1][j] + hess_shift) - hess_shift)) +
                (((hess_of[2][j] + hess_shift) - hess_shift) +
                 ((hess_of[3][j] + hess_shift) - hess_shift));
      }
      continue;
    }
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j) {
        g[j] += (grad_of[r][j] + grad_shift) - grad_shift;
        h[j] += (hess_of[r][j] + hess_shift) - hess_shift;
      }
    }
  }
}
}  // namespace

void AddDerived(DerivedRows const& rows, double grad_shift, double hess_shift, double* grads,
                double* hessians) {
  XDCC_BEST_CLONE(AddVectors)(rows, grad_shift, hess_shift, grads, hessians);
}
}  // namespace xgboost::multilabel
