/**
 * @brief What searches on a matrix's pages share: gradients, blocks of features, rows of nodes.
 */
#ifndef XDCC_MULTILABEL_PAGED_SEARCH_H_
#define XDCC_MULTILABEL_PAGED_SEARCH_H_

#include <algorithm>  // for max_element, min
#include <cmath>      // for ceil
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <memory>     // for make_unique, shared_ptr, unique_ptr, weak_ptr
#include <vector>     // for vector

#include "../../../../src/data/gradient_index.h"   // for GHistIndexMatrix
#include "../../../../src/tree/sample_position.h"  // for SamplePosition
#include "../data/bin_index.h"                     // for BinIndex, FeatureBlock, MakeFeatureBlocks
#include "../data/gradient_matrix.h"               // for GradientMatrix
#include "../data/page_rows.h"                     // for PageRows
#include "split_search.h"                          // for SplitSearch
#include "xgboost/data.h"                          // for BatchParam, DMatrix
#include "xgboost/logging.h"                       // for CHECK_LE

namespace xgboost::multilabel {
class PagedSearch : public SplitSearch {
 public:
  [[nodiscard]] std::vector<double> RootSums() override { return gradients_.Sum(ctx_); }

  void Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) override {
    std::size_t page_id{0};
    for (auto const& page : this->Pages()) {
      rows_.Partition(ctx_, page_id++, page, tree, applied);
    }
  }

  void End(common::Span<bst_node_t> out) override {
    p_fmat_ = nullptr;
    // As `CommonRowPartitioner::LeafPartition`, which asks every label of every row again.
    for (auto nid : rows_.Leaves()) {
      for (auto const& of_page : rows_.Of(nid)) {
        for (auto row : of_page) {
          out[row] = tree::SamplePosition::Encode(nid, gradients_.Active(row));
        }
      }
    }
  }

  [[nodiscard]] LeafSums SumOverLeaves(linalg::MatrixView<GradientPair const> gpair,
                                       GradientBounds const& bounds) const override {
    LeafSums out;
    out.leaves = rows_.Leaves();
    std::vector<std::vector<common::Span<bst_idx_t const>>> rows;
    for (auto nid : out.leaves) {
      rows.push_back(rows_.Of(nid));
    }
    out.sums = SumLeaves(ctx_, gpair, bounds, rows);
    return out;
  }

 protected:
  /** @brief Size of a task's histogram; it shares a core's second-level cache with gradients. */
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
  /** @brief With several threads: number of blocks for each. */
  static constexpr std::size_t kBlocksPerThread = 4;

  /** @brief Read the gradients and the pages. Returns the first page. */
  std::shared_ptr<GHistIndexMatrix const> Read(Context const* ctx, TreeRules const& rules,
                                               TreeData const& data) {
    ctx_ = ctx;
    n_threads_ = ctx->Threads();
    p_fmat_ = data.p_fmat;
    batch_ = rules.Batch();
    max_bytes_ = rules.MaxBytes();
    gradients_.Assign(ctx_, data.gpair);
    rows_.Clear();
    std::shared_ptr<GHistIndexMatrix const> first;
    auto pages = this->Pages();
    for (auto it = pages.begin(); !it.AtEnd(); ++it) {
      rows_.AddPage(ctx_, *it);
      if (!first) {
        first = it.Page();
      }
    }
    return first;
  }

  /** @brief Cut the features into blocks, smaller ones where there are too few for all threads. */
  void MakeBlocks(common::HistogramCuts const& cuts, std::size_t bin_bytes) {
    auto const share = cuts.TotalBins() * bin_bytes / (kBlocksPerThread * n_threads_);
    blocks_ = MakeFeatureBlocks(cuts, bin_bytes,
                                n_threads_ == 1 ? kBlockBytes : std::min(kBlockBytes, share));
  }

  /**
   * @brief Lay out the only page, unless that was done for the tree before.
   *
   * @return Whether the page is another one.
   */
  bool UpdateIndex(std::shared_ptr<GHistIndexMatrix const> const& page, bool columns) {
    if (index_ && indexed_page_.lock() == page && indexed_blocks_ == blocks_) {
      return false;
    }
    index_ = std::make_unique<BinIndex>(ctx_, *page, blocks_, true, columns);
    indexed_page_ = page;
    indexed_blocks_ = blocks_;
    return true;
  }

  [[nodiscard]] BatchSet<GHistIndexMatrix> Pages() const {
    return p_fmat_->GetBatches<GHistIndexMatrix>(ctx_, batch_);
  }

  /** @brief The largest number of bins of a block. */
  [[nodiscard]] std::size_t MaxBlockBins() const {
    return std::max_element(blocks_.cbegin(), blocks_.cend(),
                            [](auto const& l, auto const& r) { return l.n_bins < r.n_bins; })
        ->n_bins;
  }
  /**
   * @brief Check that every thread can have the histogram of a block of features.
   *
   * @param bytes Size of the largest one.
   */
  void CheckMemory(std::size_t bytes) const {
    constexpr double kMiB = 1 << 20;
    auto const needed = static_cast<std::size_t>(std::ceil(bytes * n_threads_ / kMiB));
    CHECK_LE(needed << 20, max_bytes_)
        << "max_histogram_mib=" << (max_bytes_ >> 20) << " is too little: a block of features with "
        << this->MaxBlockBins() << " bins and " << gradients_.NumLabels() << " labels takes "
        << bytes / kMiB << " MiB for each of " << n_threads_ << " threads. Raise it to " << needed
        << ", or lower max_bin or nthread.";
  }

  Context const* ctx_{nullptr};
  std::int32_t n_threads_{1};  // asking the context is a system call
  DMatrix* p_fmat_{nullptr};   // while a tree grows
  BatchParam batch_;
  std::size_t max_bytes_{0};
  GradientMatrix gradients_;
  PageRows rows_;
  std::vector<FeatureBlock> blocks_;
  std::unique_ptr<BinIndex> index_;  // of the only page

 private:
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::vector<FeatureBlock> indexed_blocks_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_PAGED_SEARCH_H_
