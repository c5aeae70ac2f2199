/**
 * @brief Settings of the search for any number of labels.
 */
#ifndef XDCC_MULTILABEL_LABEL_SEARCH_PARAM_H_
#define XDCC_MULTILABEL_LABEL_SEARCH_PARAM_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for uint32_t

#include "../../param/split_method.h"  // for SplitMethod
#include "../split_score.h"            // for Regularisation
#include "approximate_scan.h"          // for ScanRule

namespace xgboost::multilabel {
/** @brief Settings of a `LabelSearch`. */
struct LabelSearchParam {
  Regularisation reg;
  SplitMethod method{SplitMethod::kSumGain};
  /** @brief Nodes with more rows use histograms. */
  std::size_t max_list_rows{0};
  std::uint32_t max_cat_to_onehot{0};
  std::uint32_t max_cat_threshold{0};
  /** @brief Whether categories are sorted: coarse integers often leave open how. */
  bool sorts_categories{false};
  /** @brief Whether the categories of lists are added up. */
  bool adds_categories{false};
  /** @brief Whether weights have bounds. */
  bool is_monotone{false};

  /** @brief The conditions that scans must check. */
  [[nodiscard]] ScanRule Rule() const {
    if (is_monotone) {
      return ScanRule::kMonotone;
    }
    bool const steps = reg.max_delta_step != 0.0;
    if (steps || reg.lambda == 0.0) {
      return ScanRule::kMaxDeltaStep;
    }
    if (reg.LabelFloor() > 0.0 || reg.has_bare_gradients ||
        (reg.MeanFloor() > 0.0 && reg.alpha != 0.0)) {
      return ScanRule::kMinChildWeight;
    }
    return reg.alpha != 0.0        ? ScanRule::kAlpha
           : reg.MeanFloor() > 0.0 ? ScanRule::kMeanHessian
                                   : ScanRule::kPlain;
  }
  /** @brief Whether a child must reach a Hessian, or may violate a monotone constraint. */
  [[nodiscard]] bool LimitsChildren() const {
    return this->Rule() == ScanRule::kMeanHessian || this->LimitsLabels();
  }
  /** @brief Whether labels may not count. */
  [[nodiscard]] bool LimitsLabels() const {
    auto const rule = this->Rule();
    return rule == ScanRule::kMinChildWeight || rule == ScanRule::kMaxDeltaStep ||
           rule == ScanRule::kMonotone;
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LABEL_SEARCH_PARAM_H_
