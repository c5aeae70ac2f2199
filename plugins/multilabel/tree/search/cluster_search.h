/**
 * @brief Search for any number of labels, by clusters: see `cluster_evaluator.h`.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_SEARCH_H_
#define XDCC_MULTILABEL_CLUSTER_SEARCH_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t
#include <vector>   // for vector

#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "cluster_evaluator.h"                            // for ClusterEvaluator
#include "paged_search.h"                                 // for PagedSearch
#include "split_search.h"                                 // for TreeRules, TreeData, NodeRequest

namespace xgboost::multilabel {
class ClusterSearch : public PagedSearch {
 public:
  /** @brief Whether it can do what is asked for. */
  [[nodiscard]] static bool Serves(TreeRules const& rules, TreeData const& data) {
    return !collective::IsDistributed() && data.p_fmat->SingleColBlock() &&
           rules.reg.Rule() == LabelRule::kPlain && rules.reg.min_child_weight == 0.0 &&
           !data.p_fmat->Info().HasCategorical() &&
           static_cast<std::size_t>(rules.param.max_bin) < ClusterEvaluator::kMaxListRows;
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
    scanners_.assign(n_threads_, SplitScanner{rules.reg, gradients_.NumLabels()});
  }

  void Evaluate(std::vector<NodeRequest> const& nodes) override {
    std::vector<ClusterEvaluator::Request> requests;
    for (auto const& node : nodes) {
      requests.push_back(
          {node.nid, node.parent, rows_.Of(0, node.nid), node.Allowed(), node.stats, node.split});
    }
    for (auto const& page : this->Pages()) {
      clusters_.Evaluate({*index_, page.cut, blocks_, gradients_, kernels_}, requests, &scanners_,
                         &root_lists_);
    }
  }

 private:
  ClusterEvaluator clusters_;
  RootLists root_lists_;
  SplitScanner::Kernels kernels_{};
  std::vector<SplitScanner> scanners_;  // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_SEARCH_H_
