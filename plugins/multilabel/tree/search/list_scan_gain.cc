/**
 * @brief The loops of sumGain and maxGain.
 */
#include "list_scan_loops.h"

namespace xgboost::multilabel {
template ListScanFn ListScanOf<SplitMethod::kSumGain>(ScanRule, std::size_t);
template ListScanFn ListScanOf<SplitMethod::kMaxGain>(ScanRule, std::size_t);
}  // namespace xgboost::multilabel
