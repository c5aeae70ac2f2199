/**
 * @brief Search on one to four numbers per row: a sketch of the labels, or a small group of them.
 *
 * Wraps `direction_search.h`. Its trees differ by rounding from those of `cluster_search.h`.
 */
#ifndef XDCC_MULTILABEL_SKETCH_SEARCH_H_
#define XDCC_MULTILABEL_SKETCH_SEARCH_H_

#include <cstdint>  // for uint32_t
#include <memory>   // for make_shared, shared_ptr, weak_ptr
#include <mutex>    // for lock_guard, mutex
#include <vector>   // for vector

#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/data/gradient_index.h"          // for GHistIndexMatrix
#include "../../../../src/tree/sample_position.h"         // for SamplePosition
#include "../data/direction_index.h"                      // for DirectionIndex
#include "direction_search.h"                             // for DirectionSearch
#include "split_search.h"                                 // for SplitSearch
#include "xgboost/data.h"                                 // for DMatrix

namespace xgboost::multilabel {
class SketchSearch : public SplitSearch {
 public:
  /** @brief Whether it can do what is asked for. */
  [[nodiscard]] static bool Serves(TreeRules const& rules, TreeData const& data) {
    return !collective::IsDistributed() && rules.reg.Rule() == LabelRule::kPlain &&
           rules.reg.min_child_weight == 0.0 && rules.ml_param.Method() == SplitMethod::kSumGain &&
           data.gpair.Shape(1) <= DirectionSearch::kMaxDirections &&
           data.p_fmat->SingleColBlock() && !data.p_fmat->Info().HasCategorical();
  }

  /** @brief Make the index of a matrix, unless it is there. */
  void Index(Context const* ctx, TreeRules const& rules, DMatrix* p_fmat) {
    static std::mutex of_matrices;  // which several searches may ask at the same time
    std::lock_guard const lock{of_matrices};
    auto pages = p_fmat->GetBatches<GHistIndexMatrix>(ctx, rules.Batch());
    page_ = pages.begin().Page();
    if (!index_ || indexed_page_.lock() != page_) {
      index_ = std::make_shared<DirectionIndex const>(ctx, *page_);
      indexed_page_ = page_;
    }
  }
  /** @brief Take over what another search has made. */
  void UseIndexOf(SketchSearch const& other) {
    index_ = other.index_;
    indexed_page_ = other.indexed_page_;
  }

  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override {
    ctx_ = ctx;
    this->Index(ctx, rules, data.p_fmat);
    search_.Reset(ctx, index_.get(), data.gpair, rules.reg.lambda, rules.MaxBytes());
  }

  [[nodiscard]] std::vector<double> RootSums() override { return search_.Sums(RegTree::kRoot); }

  void Evaluate(std::vector<NodeRequest> const& nodes) override {
    std::vector<DirectionSearch::Request> requests;
    for (auto const& node : nodes) {
      requests.push_back({node.nid, node.parent, node.Allowed(), node.goes_on, node.split,
                          &node.stats->left_sums});
    }
    search_.Evaluate(page_->cut, requests);
  }

  void Partition(RegTree const&, std::vector<AppliedSplit> const& applied) override {
    std::vector<DirectionSearch::Applied> nodes;
    for (auto const& split : applied) {
      nodes.push_back({split.nid, split.left, split.right});
    }
    search_.Partition(nodes);
  }

  void End(common::Span<bst_node_t> out) override {
    page_.reset();
    search_.ForEachRow([&](bst_node_t leaf, auto row, bool active) {
      out[row] = tree::SamplePosition::Encode(leaf, active);
    });
  }

  [[nodiscard]] LeafSums SumOverLeaves(linalg::MatrixView<GradientPair const> gpair,
                                       GradientBounds const& bounds) const override {
    LeafSums out;
    std::vector<std::vector<common::Span<std::uint32_t const>>> rows;
    for (bst_node_t nid = 0; nid < static_cast<bst_node_t>(search_.NumNodes()); ++nid) {
      if (search_.IsLeaf(nid)) {
        out.leaves.push_back(nid);
        rows.push_back({search_.Rows(nid)});
      }
    }
    out.sums = SumLeaves(ctx_, gpair, bounds, rows);
    return out;
  }

 private:
  Context const* ctx_{nullptr};
  /** @brief While a tree grows. */
  std::shared_ptr<GHistIndexMatrix const> page_;
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::shared_ptr<DirectionIndex const> index_;
  DirectionSearch search_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_SEARCH_H_
