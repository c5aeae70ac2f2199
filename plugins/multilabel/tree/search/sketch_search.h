/**
 * @brief Search on one to four numbers per row: a label, a sketch, or a small group of labels.
 *
 * Wraps `direction_search.h`. Its trees differ by rounding from those of `cluster_search.h`.
 */
#ifndef XDCC_MULTILABEL_SKETCH_SEARCH_H_
#define XDCC_MULTILABEL_SKETCH_SEARCH_H_

#include <cstdint>  // for int32_t, uint32_t
#include <memory>   // for make_shared, shared_ptr, weak_ptr
#include <utility>  // for exchange, move
#include <vector>   // for vector

#include "../../../../src/collective/aggregator.h"  // for SafeColl
#include "../../../../src/collective/allreduce.h"   // for Allreduce, Op
#include "../../../../src/data/gradient_index.h"    // for GHistIndexMatrix
#include "../../../../src/tree/sample_position.h"   // for SamplePosition
#include "../data/direction_index.h"                // for DirectionIndex
#include "../node_features.h"                       // for AllowedFeatures
#include "direction_search.h"                       // for DirectionSearch
#include "split_search.h"                           // for SplitSearch
#include "xgboost/data.h"                           // for DMatrix

namespace xgboost::multilabel {
class SketchSearch : public SplitSearch {
 public:
  /** @brief Whether it can do what is asked for, on all workers. */
  [[nodiscard]] static bool Serves(Context const* ctx, TreeRules const& rules,
                                   TreeData const& data) {
    auto const& reg = rules.reg;
    auto const n = data.gpair.Shape(1);
    // A label without Hessian is no division by zero, and a floor is for one of them only.
    bool const follows_rules =
        !rules.is_monotone && reg.lambda > 0.0 && reg.Rule() != LabelRule::kClipped &&
        (n == 1 || reg.min_child_weight == 0.0) && rules.ml_param.Method() == SplitMethod::kSumGain;
    return follows_rules && n <= DirectionSearch::kMaxDirections &&
           OnAllWorkers(ctx,
                        data.p_fmat->SingleColBlock() && !data.p_fmat->Info().HasCategorical());
  }

  /** @brief Make the index of a matrix's bins, unless it is there, and return these. */
  std::shared_ptr<GHistIndexMatrix const> Index(Context const* ctx, TreeRules const& rules,
                                                DMatrix* p_fmat) {
    auto pages = p_fmat->GetBatches<GHistIndexMatrix>(ctx, rules.Batch());
    auto page = pages.begin().Page();
    // To make it, workers talk with each other.
    if (!OnAllWorkers(ctx, index_ && indexed_page_.lock() == page)) {
      index_ = std::make_shared<DirectionIndex const>(ctx, *page);
      indexed_page_ = page;
    }
    return page;
  }
  /** @brief For the next tree, use what another search has made, and ask the matrix nothing. */
  void UseIndexOf(SketchSearch const& other, std::shared_ptr<GHistIndexMatrix const> page) {
    index_ = other.index_;
    indexed_page_ = other.indexed_page_;
    given_page_ = std::move(page);
  }

  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override {
    ctx_ = ctx;
    page_ =
        given_page_ ? std::exchange(given_page_, nullptr) : this->Index(ctx, rules, data.p_fmat);
    auto const* index = index_.get();
    auto const n_features = data.p_fmat->Info().num_col_;
    if (!data.columns.empty() && data.columns.size() <= n_features / 4 * 3) {
      // Blocks of the tree's columns are read in each node, and copied once.
      columns_.TakeBlocks(ctx, *index_,
                          AllowedFeatures(data.columns, n_features, nullptr, RegTree::kRoot));
      index = &columns_;
    }
    search_.Reset(ctx, index, data.gpair,
                  {rules.reg.lambda, rules.reg.min_child_weight, rules.MaxBytes()});
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

  [[nodiscard]] LeafSums SumOverLeaves(LabelGradients const& gradients) const override {
    LeafSums out;
    std::vector<std::vector<common::Span<std::uint32_t const>>> rows;
    for (bst_node_t nid = 0; nid < static_cast<bst_node_t>(search_.NumNodes()); ++nid) {
      if (search_.IsLeaf(nid)) {
        out.leaves.push_back(nid);
        rows.push_back({search_.Rows(nid)});
      }
    }
    out.sums = SumLeaves(ctx_, gradients, rows);
    return out;
  }

 private:
  [[nodiscard]] static bool OnAllWorkers(Context const* ctx, bool here) {
    std::int32_t there{here};
    collective::SafeColl(
        collective::Allreduce(ctx, linalg::MakeVec(&there, 1), collective::Op::kMin));
    return there != 0;
  }

  Context const* ctx_{nullptr};
  /** @brief While a tree grows. */
  std::shared_ptr<GHistIndexMatrix const> page_;
  std::shared_ptr<GHistIndexMatrix const> given_page_;
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::shared_ptr<DirectionIndex const> index_;
  /** @brief The same with a tree's columns only. */
  DirectionIndex columns_;
  DirectionSearch search_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_SEARCH_H_
