/**
 * @brief Which rows of a matrix's pages are in which node.
 */
#ifndef XDCC_MULTILABEL_PAGE_ROWS_H_
#define XDCC_MULTILABEL_PAGE_ROWS_H_

#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "../../../../src/data/gradient_index.h"          // for GHistIndexMatrix
#include "../../../../src/tree/common_row_partitioner.h"  // for CommonRowPartitioner
#include "xgboost/base.h"                                 // for bst_idx_t, bst_node_t
#include "xgboost/context.h"                              // for Context
#include "xgboost/span.h"                                 // for Span
#include "xgboost/tree_model.h"                           // for RegTree

namespace xgboost::multilabel {
class PageRows {
  std::vector<tree::CommonRowPartitioner> pages_;
  std::size_t n_pages_{0};

 public:
  /** @brief Begin a tree: no pages, whose memory is kept. */
  void Clear() { n_pages_ = 0; }
  /** @brief Put the rows of the next page into the root. */
  void AddPage(Context const* ctx, GHistIndexMatrix const& page) {
    if (n_pages_ == pages_.size()) {
      pages_.emplace_back();
    }
    pages_[n_pages_++].Reset(ctx, page.Size(), page.base_rowid);
  }
  [[nodiscard]] std::size_t NumPages() const { return n_pages_; }

  /** @brief Global indices of a node's rows, page by page, ascending. */
  [[nodiscard]] std::vector<common::Span<bst_idx_t const>> Of(bst_node_t nid) const {
    std::vector<common::Span<bst_idx_t const>> rows;
    for (std::size_t page_id = 0; page_id < n_pages_; ++page_id) {
      auto const& of_page = pages_[page_id][nid];
      rows.emplace_back(of_page.begin(), of_page.Size());
    }
    return rows;
  }
  /** @brief Nodes that rows are in. */
  [[nodiscard]] std::vector<bst_node_t> Leaves() const {
    std::vector<bst_node_t> leaves;
    for (auto const& node : pages_.front().Partitions()) {
      if (node.node_id != RegTree::kInvalidNodeId) {
        leaves.push_back(node.node_id);
      }
    }
    return leaves;
  }

  /**
   * @brief Send the rows of a page's nodes to their children.
   *
   * @param applied Splits with their nodes, in the form that `CommonRowPartitioner` takes.
   */
  template <typename Applied>
  void Partition(Context const* ctx, std::size_t page_id, GHistIndexMatrix const& page,
                 RegTree const& tree, std::vector<Applied> const& applied) {
    auto& rows = pages_[page_id];
    if (tree.IsMultiTarget()) {
      rows.UpdatePosition(ctx, page, applied, tree.HostMtView());
    } else {  // of a single label
      rows.UpdatePosition(ctx, page, applied, tree.HostScView());
    }
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_PAGE_ROWS_H_
