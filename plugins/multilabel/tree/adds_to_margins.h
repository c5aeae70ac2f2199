/**
 * @brief What the booster asks an updater that adds its trees to the training rows' margins itself.
 */
#ifndef XDCC_MULTILABEL_ADDS_TO_MARGINS_H_
#define XDCC_MULTILABEL_ADDS_TO_MARGINS_H_

#include "xgboost/linalg.h"  // for MatrixView

namespace xgboost::multilabel {
class AddsToMargins {
 public:
  virtual ~AddsToMargins() = default;
  /** @brief Add the trees of the next `Update` to these margins. [n_rows, n_labels] */
  virtual void UseMargins(linalg::MatrixView<float> margins) = 0;
  /** @brief Whether the last `Update` did. */
  [[nodiscard]] virtual bool HasAdded() const = 0;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_ADDS_TO_MARGINS_H_
