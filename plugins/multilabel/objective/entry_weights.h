/**
 * @brief Weights of single entries: a matrix as the field `weight` of a DMatrix.
 *
 * MetaInfo has no field for a matrix of weights. Its values are kept, row by row, where survival
 * objectives have lower bounds of labels, which no other objective reads: there they are sliced,
 * stacked and stored with the rows. The weight of a row is the largest of its entries; XGBoost
 * makes the bins of X with it.
 */
#ifndef XDCC_ENTRY_WEIGHTS_H_
#define XDCC_ENTRY_WEIGHTS_H_

#include "xgboost/context.h"  // for Context
#include "xgboost/data.h"     // for MetaInfo
#include "xgboost/linalg.h"   // for Matrix
#include "xgboost/span.h"     // for Span

namespace xgboost::entry_weights {
/**
 * @brief Set weights of rows, or of entries; a fatal error if one of an entry is not a weight.
 *
 * @param given [n_rows, 1] or [n_rows, n_labels]; what it holds is moved.
 */
void Set(linalg::Matrix<float>* given, MetaInfo* info);

/** @brief Whether the entries of any row have different weights. */
[[nodiscard]] bool Any(MetaInfo const& info);

/** @brief Weights of entries; empty if those of rows say it all. [n_rows * n_labels] */
[[nodiscard]] common::Span<float const> Of(Context const* ctx, MetaInfo const& info);
}  // namespace xgboost::entry_weights
#endif  // XDCC_ENTRY_WEIGHTS_H_
