/**
 * @brief Histograms of a block of neighbouring features, for all labels at once.
 *
 * A node is worked through block by block. A block is sized so that its histogram stays in a
 * core's cache, is filled by one pass over the node's rows, scanned for splits and cleared; there
 * is one buffer per thread and no histogram of a whole node. So memory does not grow with the
 * number of nodes, and bins that hold no row of the node cost a look at their row count only.
 *
 * In the buffer the label index is innermost: a bin holds n_labels gradients, then n_labels
 * Hessians, as a row of the `GradientMatrix` does.
 */
#ifndef XDCC_MULTILABEL_HISTOGRAM_H_
#define XDCC_MULTILABEL_HISTOGRAM_H_

#include <algorithm>  // for fill_n, lower_bound, max
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <vector>     // for vector

#include "../../src/common/hist_util.h"     // for HistogramCuts, DispatchBinType
#include "../../src/data/gradient_index.h"  // for GHistIndexMatrix
#include "gradient_matrix.h"                // for GradientMatrix
#include "xgboost/base.h"                   // for bst_feature_t, bst_idx_t, bst_bin_t
#include "xgboost/span.h"                   // for Span

namespace xgboost::multilabel {
/** @brief Neighbouring features [begin, end). */
struct FeatureBlock {
  bst_feature_t begin;
  bst_feature_t end;
};

/**
 * @brief Cut the features into blocks whose histograms have about `max_bytes`.
 *
 * A block has at least one feature.
 */
inline std::vector<FeatureBlock> MakeFeatureBlocks(common::HistogramCuts const& cuts,
                                                   std::size_t width, std::size_t max_bytes) {
  auto const& ptrs = cuts.Ptrs();
  auto const max_bins = std::max<std::size_t>(1, max_bytes / (width * sizeof(double)));
  std::vector<FeatureBlock> blocks;
  for (bst_feature_t f = 0, n = cuts.NumFeatures(); f < n; ++f) {
    if (blocks.empty() || ptrs[f + 1] - ptrs[blocks.back().begin] > max_bins) {
      blocks.push_back({f, f});
    }
    blocks.back().end = f + 1;
  }
  return blocks;
}

class BlockHistogram {
 public:
  /**
   * @brief Make room for a block; the histogram is empty before and after each use.
   *
   * @param n_bins Number of bins of the block.
   * @param width  Length of a row of the gradient matrix.
   */
  void Resize(std::size_t n_bins, std::size_t width) {
    if (width != width_) {
      sums_.clear();
      counts_.clear();
      width_ = width;
    }
    if (n_bins > counts_.size()) {
      sums_.resize(n_bins * width, 0.0);
      counts_.resize(n_bins, 0);
    }
  }

  /**
   * @brief Add rows of one page.
   *
   * @param features Features to add, ascending, all in the block. With sparse pages the others of
   *                 the block may be added as well.
   * @param rows     Global row indices.
   */
  void Add(GHistIndexMatrix const& page, FeatureBlock block,
           common::Span<bst_feature_t const> features, common::Span<bst_idx_t const> rows,
           GradientMatrix const& gradients) {
    common::DispatchBinType(page.index.GetBinTypeSize(), [&](auto t) {
      using BinT = decltype(t);
      if (page.IsDense()) {
        this->AddDense<BinT>(page, block, features, rows, gradients);
      } else {
        this->AddSparse<BinT>(page, block, rows, gradients);
      }
    });
  }

  /** @brief Number of rows in a bin, counted from the block's first one. */
  [[nodiscard]] std::uint32_t Count(std::size_t bin) const { return counts_[bin]; }
  /** @brief Sums of a bin, gradients then Hessians. */
  [[nodiscard]] double const* Sums(std::size_t bin) const { return sums_.data() + bin * width_; }

  /** @brief Empty the bins [begin, end). */
  void Clear(std::size_t begin, std::size_t end) {
    for (auto bin = begin; bin < end; ++bin) {
      if (counts_[bin] != 0) {
        std::fill_n(sums_.data() + bin * width_, width_, 0.0);
        counts_[bin] = 0;
      }
    }
  }

 private:
  void AddRow(std::size_t bin, float const* row) {
    double* sums = sums_.data() + bin * width_;
    for (std::size_t k = 0; k < width_; ++k) {
      sums[k] += row[k];
    }
    ++counts_[bin];
  }

  template <typename BinT>
  void AddDense(GHistIndexMatrix const& page, FeatureBlock block,
                common::Span<bst_feature_t const> features, common::Span<bst_idx_t const> rows,
                GradientMatrix const& gradients) {
    auto const& ptrs = page.cut.Ptrs();
    auto const origin = ptrs[block.begin];
    auto const* index = page.index.data<BinT>();
    auto const n_features = page.Features();
    for (auto ridx : rows) {
      if (!gradients.Active(ridx)) {
        continue;
      }
      auto const* row_index = index + (ridx - page.base_rowid) * n_features;
      auto const* row = gradients.Row(ridx);
      for (auto f : features) {
        // Dense pages store the bin within its feature.
        this->AddRow(row_index[f] + ptrs[f] - origin, row);
      }
    }
  }

  template <typename BinT>
  void AddSparse(GHistIndexMatrix const& page, FeatureBlock block,
                 common::Span<bst_idx_t const> rows, GradientMatrix const& gradients) {
    auto const& ptrs = page.cut.Ptrs();
    auto const origin = ptrs[block.begin];
    auto const end = ptrs[block.end];
    auto const* index = page.index.data<BinT>();
    for (auto ridx : rows) {
      if (!gradients.Active(ridx)) {
        continue;
      }
      auto const local = ridx - page.base_rowid;
      auto const* row_end = index + page.row_ptr[local + 1];
      auto const* entry = std::lower_bound(index + page.row_ptr[local], row_end, origin);
      auto const* row = gradients.Row(ridx);
      for (; entry != row_end && *entry < end; ++entry) {
        this->AddRow(*entry - origin, row);
      }
    }
  }

  std::size_t width_{0};
  std::vector<double> sums_;           // [n_bins, width]
  std::vector<std::uint32_t> counts_;  // [n_bins]
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_HISTOGRAM_H_
