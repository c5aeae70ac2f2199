/**
 * @brief Which features a node may be split on: those sampled for it that interactions allow.
 */
#ifndef XDCC_MULTILABEL_NODE_FEATURES_H_
#define XDCC_MULTILABEL_NODE_FEATURES_H_

#include <algorithm>  // for copy_if, lower_bound
#include <cstddef>    // for size_t
#include <iterator>   // for back_inserter
#include <memory>     // for shared_ptr
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../src/tree/constraints.h"  // for FeatureInteractionConstraintHost
#include "data/bin_index.h"                 // for FeatureBlock
#include "xgboost/base.h"                   // for bst_feature_t, bst_node_t
#include "xgboost/host_device_vector.h"     // for HostDeviceVector
#include "xgboost/span.h"                   // for Span

namespace xgboost::multilabel {
/** @brief The features that a node may be split on, ascending. */
class NodeFeatures {
  std::shared_ptr<HostDeviceVector<bst_feature_t> const> sampled_;
  std::vector<bst_feature_t> chosen_;  // of the sampled ones, if `restricted_`
  bool restricted_;

 public:
  NodeFeatures(std::shared_ptr<HostDeviceVector<bst_feature_t> const> sampled,
               FeatureInteractionConstraintHost const& interactions, bool restricted,
               bst_node_t nidx)
      : sampled_{std::move(sampled)}, restricted_{restricted} {
    if (restricted_) {
      auto const all = sampled_->ConstHostSpan();
      std::copy_if(all.cbegin(), all.cend(), std::back_inserter(chosen_),
                   [&](bst_feature_t f) { return interactions.Query(nidx, f); });
    }
  }
  [[nodiscard]] common::Span<bst_feature_t const> All() const {
    return restricted_ ? common::Span<bst_feature_t const>{chosen_} : sampled_->ConstHostSpan();
  }
  /** @brief Those of a block. */
  [[nodiscard]] common::Span<bst_feature_t const> Of(FeatureBlock const& block) const {
    auto const all = this->All();
    auto const* begin = std::lower_bound(all.data(), all.data() + all.size(), block.begin);
    auto const* end = std::lower_bound(begin, all.data() + all.size(), block.end);
    return {begin, static_cast<std::size_t>(end - begin)};
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_NODE_FEATURES_H_
