/**
 * @brief The loops of methods with a maximum.
 */
#include "approximate_scan_choice.h"

namespace xgboost::multilabel {
template ScanFn ScanOf<false>(SplitMethod, ScanRule, std::size_t);
}  // namespace xgboost::multilabel
