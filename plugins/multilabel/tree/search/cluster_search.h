/**
 * @brief Search for any number of labels, by clusters: see `cluster_evaluator.h`.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_SEARCH_H_
#define XDCC_MULTILABEL_CLUSTER_SEARCH_H_

#include <algorithm>  // for adjacent_find
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <vector>     // for vector

#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/data/gradient_index.h"          // for GHistIndexMatrix
#include "category_scan.h"                                // for CategoryScanner
#include "cluster_evaluator.h"                            // for ClusterEvaluator
#include "paged_search.h"                                 // for PagedSearch
#include "split_candidate.h"                              // for ThreadScanners
#include "split_search.h"                                 // for TreeRules, TreeData, NodeRequest

namespace xgboost::multilabel {
class ClusterSearch : public PagedSearch {
 public:
  /** @brief Whether it can do what is asked for. */
  [[nodiscard]] static bool Serves(Context const* ctx, TreeRules const& rules,
                                   TreeData const& data) {
    if (collective::IsDistributed() || !data.p_fmat->SingleColBlock()) {
      return false;
    }
    auto pages = data.p_fmat->GetBatches<GHistIndexMatrix>(ctx, rules.Batch());
    auto const& ptrs = (*pages.begin()).cut.Ptrs();  // categories may be more than `max_bin`
    return std::adjacent_find(ptrs.cbegin(), ptrs.cend(), [](auto begin, auto end) {
             return end - begin >= ClusterEvaluator::kMaxListRows;
           }) == ptrs.cend();
  }

  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override {
    auto const page = this->Read(ctx, rules, data);
    this->MakeBlocks(page->cut, 2 * RowCluster::kNarrow * sizeof(std::int32_t));
    if (this->UpdateIndex(page, true)) {
      root_lists_ = {};
    }
    auto const n_rows = data.gpair.Shape(0);
    auto const max_list_rows = rules.ml_param.MaxListRows(n_rows);
    clusters_.Reset(ctx, {rules.reg, rules.ml_param.Method(), max_list_rows, max_bytes_},
                    blocks_.size(), n_rows, gradients_.NumLabels());
    if (n_rows > max_list_rows) {
      this->CheckMemory(this->MaxBlockBins() * gradients_.Width() * sizeof(std::int32_t));
    }
    kernels_ = rules.kernels;
    types_ = data.p_fmat->Info().feature_types.ConstHostSpan();
    auto const n_labels = gradients_.NumLabels();
    scanners_.assign(n_threads_, {SplitScanner{rules.reg, n_labels},
                                  CategoryScanner{rules.param, rules.reg, kernels_, n_labels}});
  }

  void Evaluate(std::vector<NodeRequest> const& nodes) override {
    std::vector<ClusterEvaluator::Request> requests;
    for (auto const& node : nodes) {
      requests.push_back(
          {node.nid, node.parent, rows_.Of(0, node.nid), node.Allowed(), node.stats, node.split});
    }
    for (auto const& page : this->Pages()) {
      clusters_.Evaluate({*index_, page.cut, blocks_, gradients_, kernels_, types_}, requests,
                         &scanners_, &root_lists_);
    }
  }

 private:
  ClusterEvaluator clusters_;
  RootLists root_lists_;
  SplitScanner::Kernels kernels_{};
  common::Span<FeatureType const> types_;
  std::vector<ThreadScanners> scanners_;  // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_SEARCH_H_
