/**
 * @brief The choice between the scans of `approximate_scan.h`, which are compiled for each split
 *        method, rule, width and instruction set.
 *
 * That takes long, so methods with a sum and those with a maximum have a file each
 * (`approximate_scan_sum.cc`, `approximate_scan_max.cc`), which are compiled at once.
 */
#ifndef XDCC_MULTILABEL_APPROXIMATE_SCAN_CHOICE_H_
#define XDCC_MULTILABEL_APPROXIMATE_SCAN_CHOICE_H_

#include <cstddef>  // for size_t

#include "../../vectorised.h"              // for XDCC_BEST_CLONE
#include "approximate_scan_monotone.h"     // for ScanMonotone
#include "approximate_scan_plain.h"        // for ScanPlain
#include "approximate_scan_regularised.h"  // for ScanRegularised
#include "xgboost/logging.h"               // for LOG

namespace xgboost::multilabel {
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
ScanFn ScanOf() {
  if constexpr (kRule == ScanRule::kPlain || kRule == ScanRule::kMeanHessian) {
    return XDCC_BEST_CLONE(ScanPlain<kMethod, kRule, kVectors>);
  } else if constexpr (kRule == ScanRule::kMonotone) {
    return XDCC_BEST_CLONE(ScanMonotone<kMethod, kVectors>);
  } else {
    return XDCC_BEST_CLONE(ScanRegularised<kMethod, kRule, kVectors>);
  }
}

template <SplitMethod kMethod, ScanRule kRule>
ScanFn ScanOf(std::size_t width) {
  return VisitVectors(width, [](auto n) { return ScanOf<kMethod, kRule, n>(); });
}

template <SplitMethod kMethod>
ScanFn ScanOf(ScanRule rule, std::size_t width) {
  switch (rule) {
    case ScanRule::kPlain:
      return ScanOf<kMethod, ScanRule::kPlain>(width);
    case ScanRule::kMeanHessian:
      return ScanOf<kMethod, ScanRule::kMeanHessian>(width);
    case ScanRule::kAlpha:
      return ScanOf<kMethod, ScanRule::kAlpha>(width);
    case ScanRule::kMinChildWeight:
      return ScanOf<kMethod, ScanRule::kMinChildWeight>(width);
    case ScanRule::kMaxDeltaStep:
      return ScanOf<kMethod, ScanRule::kMaxDeltaStep>(width);
    case ScanRule::kMonotone:
      return ScanOf<kMethod, ScanRule::kMonotone>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}

/** @brief A scan of a method with a sum (`kSum`) or with a maximum. */
template <bool kSum>
ScanFn ScanOf(SplitMethod method, ScanRule rule, std::size_t width) {
  return VisitMethod(method, [&](auto constant) -> ScanFn {
    if constexpr (MethodTraits<constant>::kSum == kSum) {
      return ScanOf<constant>(rule, width);
    }
    return nullptr;
  });
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_APPROXIMATE_SCAN_CHOICE_H_
