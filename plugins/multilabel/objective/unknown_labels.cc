/**
 * @brief Whether labels are unknown (NaN), which only some objectives and metrics support.
 */
#include <algorithm>  // for any_of
#include <cmath>      // for isnan

#include "xgboost/data.h"  // for MetaInfo

namespace xgboost {
bool MetaInfo::HasUnknownLabels() const {
  if (has_unknown_labels_ < 0) {
    auto const& values = labels.Data()->ConstHostVector();
    has_unknown_labels_ =
        std::any_of(values.cbegin(), values.cend(), [](float y) { return std::isnan(y); });
  }
  return has_unknown_labels_ == 1;
}
}  // namespace xgboost
