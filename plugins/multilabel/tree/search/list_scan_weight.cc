/**
 * @brief The loops of sumWeight and maxWeight.
 */
#include "list_scan_loops.h"

namespace xgboost::multilabel {
template ListScanFn ListScanOf<SplitMethod::kSumWeight>(ScanRule, std::size_t);
template ListScanFn ListScanOf<SplitMethod::kMaxWeight>(ScanRule, std::size_t);
}  // namespace xgboost::multilabel
