/**
 * @brief The loops of sumAbsG and maxAbsG.
 */
#include "list_scan_loops.h"

namespace xgboost::multilabel {
template ListScanFn ListScanOf<SplitMethod::kSumAbsG>(ScanRule, std::size_t);
template ListScanFn ListScanOf<SplitMethod::kMaxAbsG>(ScanRule, std::size_t);
}  // namespace xgboost::multilabel
