/**
 * @brief Computes signed probabilities; see `logistic_loss.h`. Compiled without fused multiply-add.
 */
#include "logistic_loss.h"

#include <algorithm>  // for copy_n, find_if, min
#include <cmath>      // for isnan
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy, memset

#include "logistic.h"         // for XDCC_LOGISTIC, kLogisticLanes
#include "xgboost/logging.h"  // for LOG

namespace xgboost::multilabel {
namespace {
/** @brief Signed probabilities of some entries. Returns whether all labels are 0, 1 or NaN. */
XDCC_TARGET_CLONES bool SignedLogistic(float const* margins, float const* labels, std::size_t n,
                                       float* out) {
  Int8 bad{};
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    auto const n_here = std::min(kLogisticLanes, n - i);
    float rest[3][kLogisticLanes];
    auto const *z = margins + i, *y = labels + i;
    auto* to = out + i;
    if (n_here < kLogisticLanes) {
      std::memset(rest, 0, sizeof(rest));
      z = std::copy_n(z, n_here, rest[0]) - n_here;
      y = std::copy_n(y, n_here, rest[1]) - n_here;
      to = rest[2];
    }
    XDCC_LOGISTIC(z)
#define XDCC_SIGN(k)                                              \
  Float8 y##k;                                                    \
  std::memcpy(&y##k, y + 8 * k, sizeof(y##k));                    \
  Int8 const known##k = y##k == y##k, positive##k = y##k == 1.0f; \
  bad |= known##k & ~positive##k & (y##k != 0.0f);                \
  p##k = Float8((Int8(p##k) | (positive##k << 31)) & known##k);   \
  std::memcpy(to + 8 * k, &p##k, sizeof(p##k));
    XDCC_FOUR(XDCC_SIGN)
#undef XDCC_SIGN
    if (n_here < kLogisticLanes) {
      std::copy_n(to, n_here, out + i);
    }
  }
  std::int32_t any{0};
  for (std::size_t l = 0; l < sizeof(bad) / sizeof(any); ++l) {
    any |= bad[l];
  }
  return any == 0;
}
}  // namespace

void LogisticLoss::Probabilities(float const* margins, std::size_t begin, std::size_t end,
                                 float* out) const {
  auto const at = begin * n_labels;
  if (!XDCC_BEST_CLONE(SignedLogistic)(margins + at, labels + at, (end - begin) * n_labels, out)) {
    auto const* bad = std::find_if(labels, labels + n_rows * n_labels, [](float y) {
      return !std::isnan(y) && y != 0.0f && y != 1.0f;
    });
    LOG(FATAL) << "A label of `" << objective << "` must be 0, 1, or NaN if it is unknown; row "
               << (bad - labels) / n_labels << " holds another value.";
  }
}
}  // namespace xgboost::multilabel
