/**
 * @brief The loops of methods with a sum.
 */
#include "approximate_scan_choice.h"

namespace xgboost::multilabel {
template ScanFn ScanOf<true>(SplitMethod, ScanRule, std::size_t);
}  // namespace xgboost::multilabel
