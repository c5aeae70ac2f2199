/**
 * @brief The logistic function, compiled to vectors.
 *
 * If trees are fast, a call of `expf` per row and label is a tenth of the training time.
 * This exponential is accurate to about one unit in the last place. It has the same result with
 * every instruction set: CMakeLists.txt compiles objectives without fused multiply-add.
 */
#ifndef XDCC_MULTILABEL_LOGISTIC_H_
#define XDCC_MULTILABEL_LOGISTIC_H_

#include <cstddef>  // for size_t
#include <cstring>  // for memcpy

#include "../vectorised.h"  // for Float8, Int8

namespace xgboost::multilabel {
/** @brief Numbers that `XDCC_LOGISTIC` takes. */
inline constexpr std::size_t kLogisticLanes = 32;

// Macros, since functions would be compiled without the wide vectors. Each operation is done for
// four vectors before the next one, which waits for it.
#define XDCC_FOUR(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
// e^x, of x brought into [-87, 88]; NaN stays NaN.
#define XDCC_LOWEST(k) x##k = x##k < -87.0f ? Float8{} - 87.0f : x##k;
#define XDCC_HIGHEST(k) x##k = x##k > 88.0f ? Float8{} + 88.0f : x##k;
// 1.5 * 2^23: adding it rounds to an integer.
#define XDCC_ROUND(k) Float8 const n##k = (x##k * 1.44269504f + 12582912.0f) - 12582912.0f;
// ln 2 in two parts, the first with few bits, so that n times it is exact.
#define XDCC_REST(k) Float8 const r##k = (x##k - n##k * 0.693359375f) + n##k * 2.12194440e-4f;
// Taylor: |r| <= ln(2) / 2, the error is below 1e-8.
#define XDCC_TERM7(k) Float8 e##k = Float8{} + 1.0f / 5040.0f;
#define XDCC_TERM6(k) e##k = e##k * r##k + 1.0f / 720.0f;
#define XDCC_TERM5(k) e##k = e##k * r##k + 1.0f / 120.0f;
#define XDCC_TERM4(k) e##k = e##k * r##k + 1.0f / 24.0f;
#define XDCC_TERM3(k) e##k = e##k * r##k + 1.0f / 6.0f;
#define XDCC_TERM2(k) e##k = e##k * r##k + 0.5f;
#define XDCC_TERM1(k) e##k = e##k * r##k * r##k + r##k + 1.0f;
#define XDCC_SCALE(k) e##k *= Float8((__builtin_convertvector(n##k, Int8) + 127) << 23);
#define XDCC_NEGATIVE(k)                                  \
  Float8 x##k;                                            \
  std::memcpy(&x##k, margins_here + 8 * k, sizeof(x##k)); \
  x##k = -x##k;
#define XDCC_INVERSE(k) Float8 p##k = 1.0f / (1.0f + e##k);

/** @brief Declare p0 to p3, the probabilities of 32 margins. */
#define XDCC_LOGISTIC(margins)         \
  float const* margins_here = margins; \
  XDCC_FOUR(XDCC_NEGATIVE);            \
  XDCC_FOUR(XDCC_LOWEST);              \
  XDCC_FOUR(XDCC_HIGHEST);             \
  XDCC_FOUR(XDCC_ROUND);               \
  XDCC_FOUR(XDCC_REST);                \
  XDCC_FOUR(XDCC_TERM7);               \
  XDCC_FOUR(XDCC_TERM6);               \
  XDCC_FOUR(XDCC_TERM5);               \
  XDCC_FOUR(XDCC_TERM4);               \
  XDCC_FOUR(XDCC_TERM3);               \
  XDCC_FOUR(XDCC_TERM2);               \
  XDCC_FOUR(XDCC_TERM1);               \
  XDCC_FOUR(XDCC_SCALE);               \
  XDCC_FOUR(XDCC_INVERSE)
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LOGISTIC_H_
