/**
 * @brief Logistic function and gradients of the logistic loss, compiled to vectors.
 *
 * With trees that cost little, a call of `expf` per row and label is a tenth of the training time.
 * `Exp` is accurate to about one unit in the last place. It has the same result with every
 * instruction set: CMakeLists.txt compiles the objective without fused multiply-add.
 */
#ifndef XDCC_MULTILABEL_LOGISTIC_H_
#define XDCC_MULTILABEL_LOGISTIC_H_

#include <algorithm>  // for max
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy

#include "../vectorised.h"  // for XDCC_TARGET_CLONES
#include "xgboost/base.h"   // for GradientPair

namespace xgboost::multilabel {
/** @brief e^x; x is brought into [-87, 88], and NaN stays NaN. */
inline float Exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  float const n = (x * 1.44269504f + kRound) - kRound;
  // ln 2 in two parts, the first with few bits, so that n times it is exact.
  float const r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040.0f;  // Taylor: |r| <= ln(2) / 2, the error is below 1e-8
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  std::int32_t const exponent = (static_cast<std::int32_t>(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &exponent, sizeof(scale));
  return p * scale;
}

inline float Logistic(float margin) { return 1.0f / (1.0f + Exp(-margin)); }

/** @brief Turn margins into probabilities, in place. */
XDCC_TARGET_CLONES static void ApplyLogistic(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = Logistic(values[i]);
  }
}

/**
 * @brief Gradients of one weight's worth of entries.
 *
 * @param labels 0, 1, or NaN for unknown, which has no gradient.
 * @return Number of labels that are something else.
 */
XDCC_TARGET_CLONES static std::int32_t LogisticGradients(float const* margins, float const* labels,
                                                         std::size_t n, float weight,
                                                         float positive_weight, GradientPair* out) {
  constexpr float kMinHessian = 1e-16f;  // as in XGBoost
  auto* pairs = reinterpret_cast<float*>(out);
  std::int32_t n_bad{0};
#pragma omp simd reduction(+ : n_bad)
  for (std::size_t i = 0; i < n; ++i) {
    float const y = labels[i];
    float const p = Logistic(margins[i]);
    float const w = y == 1.0f ? positive_weight : weight;
    bool const known = y == y;
    n_bad += static_cast<std::int32_t>(known) & (y != 0.0f) & (y != 1.0f);
    pairs[2 * i] = known ? (p - y) * w : 0.0f;
    pairs[2 * i + 1] = known ? std::max(p * (1.0f - p), kMinHessian) * w : 0.0f;
  }
  return n_bad;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LOGISTIC_H_
