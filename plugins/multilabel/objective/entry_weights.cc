/**
 * @brief Weights of single entries; see `entry_weights.h`.
 */
#include "entry_weights.h"

#include <algorithm>  // for all_of, find_if, max_element
#include <cmath>      // for isfinite
#include <cstddef>    // for size_t
#include <utility>    // for move

#include "xgboost/logging.h"  // for CHECK, CHECK_EQ

namespace xgboost::entry_weights {
namespace {
/** @brief Stop if the labels are of another shape. */
void CheckShape(MetaInfo const& info) {
  auto const n_weights = info.labels_lower_bound_.Size();
  CHECK_EQ(n_weights, info.labels.Size())
      << "Weights of entries have " << n_weights << " values, but the labels have shape "
      << info.labels.Shape(0) << " x " << info.labels.Shape(1)
      << ". Give `weight` a value for each row, or for each row and label.";
}
}  // namespace

void Set(linalg::Matrix<float>* given, MetaInfo* info) {
  auto const n_rows = given->Shape(0), n_labels = given->Shape(1);
  auto* entries = &info->labels_lower_bound_;
  if (n_labels <= 1) {
    if (entries->Size() > n_rows) {  // of an earlier matrix, not bounds
      entries->HostVector().clear();
    }
    info->weights_ = std::move(*given->Data());
    return;
  }
  *entries = std::move(*given->Data());
  if (info->labels.Shape(0) == n_rows) {
    CheckShape(*info);
  }
  auto const& values = entries->ConstHostVector();
  auto const bad = std::find_if(values.cbegin(), values.cend(),
                                [](float w) { return !std::isfinite(w) || w < 0.0f; });
  auto const at = static_cast<std::size_t>(bad - values.cbegin());
  CHECK(bad == values.cend()) << "A weight must be finite and not negative; row " << at / n_labels
                              << ", label " << at % n_labels << " is " << *bad << ".";
  auto& of_rows = info->weights_.HostVector();
  of_rows.resize(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const row = values.cbegin() + i * n_labels;
    of_rows[i] = *std::max_element(row, row + n_labels);
  }
}

namespace {
/** @brief Whether weights came as a matrix. */
bool HasMatrix(MetaInfo const& info) {
  auto const n_values = info.labels_lower_bound_.Size(), n_rows = info.weights_.Size();
  return n_values != 0 && n_rows != 0 && n_values != n_rows;
}
}  // namespace

bool Any(MetaInfo const& info) {
  if (!HasMatrix(info)) {
    return false;
  }
  auto const& values = info.labels_lower_bound_.ConstHostVector();
  auto const& of_rows = info.weights_.ConstHostVector();
  auto const n_labels = values.size() / of_rows.size();
  if (n_labels * of_rows.size() != values.size()) {
    return true;  // `Of` stops
  }
  for (std::size_t i = 0; i < of_rows.size(); ++i) {
    auto const row = values.cbegin() + i * n_labels;
    if (!std::all_of(row, row + n_labels, [&](float w) { return w == of_rows[i]; })) {
      return true;
    }
  }
  return false;
}

common::Span<float const> Of(Context const* ctx, MetaInfo const& info) {
  if (!HasMatrix(info)) {
    return {};
  }
  CheckShape(info);
  if (!Any(info)) {
    return {};
  }
  CHECK(!ctx->IsCUDA()) << "Weights of entries do not support GPUs. Set `device` to `cpu`.";
  return info.labels_lower_bound_.ConstHostSpan();
}
}  // namespace xgboost::entry_weights
