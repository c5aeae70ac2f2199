/**
 * @brief Logistic function and gradients of the logistic loss, compiled to vectors.
 *
 * With trees that cost little, a call of `expf` per row and label is a tenth of the training time.
 * `XDCC_EXP` is accurate to about one unit in the last place. It has the same result with every
 * instruction set: CMakeLists.txt compiles the objective without fused multiply-add.
 */
#ifndef XDCC_MULTILABEL_LOGISTIC_H_
#define XDCC_MULTILABEL_LOGISTIC_H_

#include <algorithm>  // for copy, copy_n, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy

#include "../vectorised.h"  // for XDCC_TARGET_CLONES, Float8, Int8
#include "xgboost/base.h"   // for GradientPair

namespace xgboost::multilabel {
/**
 * @brief Put e^x in the place of x, a vector; x is brought into [-87, 88], and NaN stays NaN.
 *
 * A macro, since a function would be compiled without the wide vectors.
 */
#define XDCC_EXP(x)                                                                \
  {                                                                                \
    x = x < -87.0f ? Float8{} - 87.0f : x;                                         \
    x = x > 88.0f ? Float8{} + 88.0f : x;                                          \
    /* 1.5 * 2^23: adding it rounds to an integer. */                              \
    Float8 const n_ = (x * 1.44269504f + 12582912.0f) - 12582912.0f;               \
    /* ln 2 in two parts, the first with few bits, so that n times it is exact. */ \
    Float8 const r_ = (x - n_ * 0.693359375f) + n_ * 2.12194440e-4f;               \
    /* Taylor: |r| <= ln(2) / 2, the error is below 1e-8. */                       \
    Float8 p_ = Float8{} + 1.0f / 5040.0f;                                         \
    p_ = p_ * r_ + 1.0f / 720.0f;                                                  \
    p_ = p_ * r_ + 1.0f / 120.0f;                                                  \
    p_ = p_ * r_ + 1.0f / 24.0f;                                                   \
    p_ = p_ * r_ + 1.0f / 6.0f;                                                    \
    p_ = p_ * r_ + 0.5f;                                                           \
    p_ = p_ * r_ * r_ + r_ + 1.0f;                                                 \
    x = p_ * Float8((__builtin_convertvector(n_, Int8) + 127) << 23);              \
  }

/** @brief Turn margins into probabilities, in place. */
XDCC_TARGET_CLONES static void ApplyLogistic(float* values, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  for (std::size_t i = 0; i < n; i += kLanes) {
    Float8 x{};
    auto const n_here = std::min(kLanes, n - i);
    if (n_here == kLanes) {
      std::memcpy(&x, values + i, sizeof(x));
    } else {
      std::memcpy(&x, values + i, n_here * sizeof(float));
    }
    x = -x;
    XDCC_EXP(x)
    x = 1.0f / (1.0f + x);
    if (n_here == kLanes) {
      std::memcpy(values + i, &x, sizeof(x));
    } else {
      std::memcpy(values + i, &x, n_here * sizeof(float));
    }
  }
}

/**
 * @brief Gradients of one weight's worth of entries; `Logistic` written out in vectors.
 *
 * @param labels 0, 1, or NaN for unknown, which has no gradient.
 * @return Whether all labels are one of these.
 */
XDCC_TARGET_CLONES static bool LogisticGradients(float const* margins, float const* labels,
                                                 std::size_t n, float weight, float positive_weight,
                                                 GradientPair* out) {
  constexpr std::size_t kLanes = 8;
  constexpr float kMinHessian = 1e-16f;  // as in XGBoost
  Float8 constexpr kZero{};
  bool const has_weight = weight != 1.0f || positive_weight != 1.0f;
  auto* pairs = reinterpret_cast<float*>(out);
  Int8 bad{};
  std::size_t i{0};
  for (; i + kLanes <= n; i += kLanes) {
    Float8 x, y;
    std::memcpy(&x, margins + i, sizeof(x));
    std::memcpy(&y, labels + i, sizeof(y));
    x = -x;
    XDCC_EXP(x)
    Float8 const p = 1.0f / (1.0f + x);
    Int8 const known = y == y;
    bad |= known & (y * y != y);
    Float8 grad = p - y, hess = p * (1.0f - p);
    hess = hess < kMinHessian ? kZero + kMinHessian : hess;
    if (has_weight) {
      Float8 const w = y == 1.0f ? kZero + positive_weight : kZero + weight;
      grad *= w;
      hess *= w;
    }
    grad = Float8(Int8(grad) & known);
    hess = Float8(Int8(hess) & known);
    Float8 const low = __builtin_shufflevector(grad, hess, 0, 8, 1, 9, 2, 10, 3, 11);
    Float8 const high = __builtin_shufflevector(grad, hess, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(pairs + 2 * i, &low, sizeof(low));
    std::memcpy(pairs + 2 * i + kLanes, &high, sizeof(high));
  }
  bool valid{true};
  if (i < n) {  // what is left, filled up
    float rest[2][kLanes]{};
    GradientPair of_rest[kLanes];
    std::copy(margins + i, margins + n, rest[0]);
    std::copy(labels + i, labels + n, rest[1]);
    valid = LogisticGradients(rest[0], rest[1], kLanes, weight, positive_weight, of_rest);
    std::copy_n(of_rest, n - i, out + i);
  }
  std::int32_t any{0};
  for (std::size_t l = 0; l < kLanes; ++l) {
    any |= bad[l];
  }
  return valid && any == 0;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LOGISTIC_H_
