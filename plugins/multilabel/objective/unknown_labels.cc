/**
 * @brief Whether labels are unknown (NaN), which only some objectives and metrics support.
 *
 * Weights of entries count as unknown labels: who supports one supports the other.
 */
#include <algorithm>  // for any_of
#include <cmath>      // for isnan
#include <string>     // for string

#include "entry_weights.h"    // for Any
#include "xgboost/data.h"     // for MetaInfo
#include "xgboost/logging.h"  // for CHECK

namespace xgboost {
bool MetaInfo::HasUnknownLabels() const {
  if (has_unknown_labels_ < 0) {
    auto const& values = labels.Data()->ConstHostVector();
    has_unknown_labels_ =
        std::any_of(values.cbegin(), values.cend(), [](float y) { return std::isnan(y); });
  }
  return has_unknown_labels_ == 1 || entry_weights::Any(*this);
}

void MetaInfo::CheckLabelsKnown(bool supported, std::string const& objective) const {
  CHECK((supported && objective != "custom") || !entry_weights::Any(*this))
      << "`weight` is a matrix, but the objective `" << objective
      << "` takes a weight for each row. `multilabel:*` supports weights of entries.";
  CHECK(supported || !this->HasUnknownLabels())
      << "Label contains NaN, infinity or a value too large. The objective `" << objective
      << "` does not support unknown (NaN) labels. `multilabel:*` does; so does a custom one with "
         "the parameter `allow_unknown_labels`.";
}
}  // namespace xgboost
