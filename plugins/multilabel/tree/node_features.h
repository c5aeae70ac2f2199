/**
 * @brief Which features a node may be split on: those sampled for it that interactions allow.
 */
#ifndef XDCC_MULTILABEL_NODE_FEATURES_H_
#define XDCC_MULTILABEL_NODE_FEATURES_H_

#include <cstdint>  // for uint8_t
#include <vector>   // for vector

#include "../../../src/tree/constraints.h"  // for FeatureInteractionConstraintHost
#include "xgboost/base.h"                   // for bst_feature_t, bst_node_t
#include "xgboost/span.h"                   // for Span

namespace xgboost::multilabel {
/**
 * @brief By feature: whether a node may be split on it; empty: on all.
 *
 * @param interactions Null where nothing constrains them.
 */
inline std::vector<std::uint8_t> AllowedFeatures(
    common::Span<bst_feature_t const> sampled, bst_feature_t n_features,
    FeatureInteractionConstraintHost const* interactions, bst_node_t nid) {
  if (sampled.size() == n_features && !interactions) {
    return {};
  }
  std::vector<std::uint8_t> allowed(n_features, 0);
  for (auto f : sampled) {
    allowed[f] = !interactions || interactions->Query(nid, f);
  }
  return allowed;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_NODE_FEATURES_H_
