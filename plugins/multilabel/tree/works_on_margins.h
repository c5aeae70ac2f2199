/**
 * @brief What the booster asks an updater that works on the training rows' margins itself.
 */
#ifndef XDCC_MULTILABEL_WORKS_ON_MARGINS_H_
#define XDCC_MULTILABEL_WORKS_ON_MARGINS_H_

#include <memory>  // for shared_ptr

#include "../../../src/tree/param.h"  // for TrainParam
#include "xgboost/data.h"             // for MetaInfo
#include "xgboost/linalg.h"           // for MatrixView
#include "xgboost/objective.h"        // for ObjFunction

namespace xgboost::multilabel {
struct LogisticLoss;

class WorksOnMargins {
 public:
  virtual ~WorksOnMargins() = default;
  /** @brief The loss that the next `Update` derives gradients of; null: it needs gradients. */
  [[nodiscard]] virtual std::shared_ptr<LogisticLoss const> LossToDerive(
      tree::TrainParam const& param, ObjFunction const* obj, MetaInfo const& info) const = 0;
  /** @brief Add the trees of the next `Update` to these margins. [n_rows, n_labels] */
  virtual void UseMargins(linalg::MatrixView<float> margins) = 0;
  /** @brief Whether the last `Update` did. */
  [[nodiscard]] virtual bool HasAdded() const = 0;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_WORKS_ON_MARGINS_H_
