/**
 * @brief The loops of `list_scan.h`, compiled for each split method, rule, width and instruction
 * set.
 *
 * That takes long, so each kind of method has a file (`list_scan_gain.cc`, `list_scan_weight.cc`,
 * `list_scan_gradient.cc`), and several are compiled at once. The rules are in
 * `list_scan_plain.h`, `list_scan_soft.h` and `list_scan_bounded.h`.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_
#define XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_

#include <cstddef>  // for size_t

#include "../../vectorised.h"   // for XDCC_BEST_CLONE
#include "list_scan_bounded.h"  // for ScanBounded
#include "list_scan_plain.h"    // for ScanPlain
#include "list_scan_soft.h"     // for ScanSoft
#include "xgboost/logging.h"    // for LOG

namespace xgboost::multilabel {
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
ListScanFn ListScanOf() {
  if constexpr (kRule == ScanRule::kPlain || kRule == ScanRule::kMean) {
    return XDCC_BEST_CLONE(ScanPlain<kMethod, kRule, kVectors>);
  } else if constexpr (kRule == ScanRule::kBounded) {
    return XDCC_BEST_CLONE(ScanBounded<kMethod, kVectors>);
  } else {
    return XDCC_BEST_CLONE(ScanSoft<kMethod, kRule, kVectors>);
  }
}

template <SplitMethod kMethod, ScanRule kRule>
ListScanFn ListScanOf(std::size_t width) {
  return VisitVectors(width, [](auto n) { return ListScanOf<kMethod, kRule, n>(); });
}

/** @brief The loop of a method: defined where the method is named. */
template <SplitMethod kMethod>
ListScanFn ListScanOf(ScanRule rule, std::size_t width) {
  switch (rule) {
    case ScanRule::kPlain:
      return ListScanOf<kMethod, ScanRule::kPlain>(width);
    case ScanRule::kMean:
      return ListScanOf<kMethod, ScanRule::kMean>(width);
    case ScanRule::kShrunk:
      return ListScanOf<kMethod, ScanRule::kShrunk>(width);
    case ScanRule::kCounted:
      return ListScanOf<kMethod, ScanRule::kCounted>(width);
    case ScanRule::kClipped:
      return ListScanOf<kMethod, ScanRule::kClipped>(width);
    case ScanRule::kBounded:
      return ListScanOf<kMethod, ScanRule::kBounded>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_
