/**
 * @brief Targets that are unknown (NaN) with XGBoost's own objectives.
 *
 * Where a loss is a sum over targets, each target is given to its objective by itself, with the
 * rows in which it is known. An unknown entry has neither gradient nor Hessian.
 */
#ifndef XDCC_MULTILABEL_UNKNOWN_LABELS_H_
#define XDCC_MULTILABEL_UNKNOWN_LABELS_H_

#include <cstdint>  // for int32_t

#include "xgboost/base.h"                // for GradientPair
#include "xgboost/context.h"             // for Context
#include "xgboost/data.h"                // for MetaInfo
#include "xgboost/host_device_vector.h"  // for HostDeviceVector
#include "xgboost/linalg.h"              // for Matrix, Vector
#include "xgboost/objective.h"           // for ObjFunction

namespace xgboost::unknown_labels {
/** @param allowed Whether the user allows unknown targets. */
bool SupportsUnknown(ObjFunction const& obj, bool allowed);
/** @brief `ObjFunction::InitEstimation` from the known entries of each target. */
void InitEstimation(Context const* ctx, ObjFunction const& obj, MetaInfo const& info,
                    linalg::Vector<float>* base_score);
/** @brief `ObjFunction::GetGradient` of the known entries of each target. */
void GetGradient(Context const* ctx, HostDeviceVector<float> const& preds, MetaInfo const& info,
                 std::int32_t iter, ObjFunction* obj, linalg::Matrix<GradientPair>* out);
}  // namespace xgboost::unknown_labels
#endif  // XDCC_MULTILABEL_UNKNOWN_LABELS_H_
