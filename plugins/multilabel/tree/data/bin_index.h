/**
 * @brief The bins of a page, cut into blocks of neighbouring features.
 *
 * A block keeps its own rows, one behind the other, so that filling its histogram reads memory in
 * order. It leaves out what need not be added up: where a feature has no missing values and at
 * least half of the page's rows fall into one bin (the zeros of a sparse feature, say), that
 * *default bin* is not stored. Its sums are the node's sums less those of the other bins, exactly,
 * since sums are exact (see `gradient_matrix.h`).
 *
 * On request a block in which every feature has a bin to store in every row keeps its bins column
 * by column instead: the histogram of one feature then stays in the first-level cache.
 */
#ifndef XDCC_MULTILABEL_BIN_INDEX_H_
#define XDCC_MULTILABEL_BIN_INDEX_H_

#include <algorithm>  // for all_of, lower_bound, max, max_element
#include <cstddef>    // for size_t
#include <cstdint>    // for uint16_t, uint32_t, uint8_t
#include <limits>     // for numeric_limits
#include <numeric>    // for accumulate
#include <vector>     // for vector

#include "../../../../src/common/hist_util.h"        // for HistogramCuts, DispatchBinType
#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../../../../src/data/gradient_index.h"     // for GHistIndexMatrix
#include "xgboost/base.h"                            // for bst_bin_t, bst_feature_t, bst_idx_t
#include "xgboost/context.h"                         // for Context
#include "xgboost/logging.h"                         // for CHECK

namespace xgboost::multilabel {
/** @brief Neighbouring features [begin, end) and their bins [first_bin, first_bin + n_bins). */
struct FeatureBlock {
  bst_feature_t begin;
  bst_feature_t end;
  std::uint32_t first_bin;
  std::uint32_t n_bins;

  bool operator==(FeatureBlock const& that) const { return begin == that.begin && end == that.end; }
};

/**
 * @brief Cut the features into blocks whose histograms have about `max_bytes`.
 *
 * A block has at least one feature.
 *
 * @param bin_bytes Size of a bin of these histograms.
 */
inline std::vector<FeatureBlock> MakeFeatureBlocks(common::HistogramCuts const& cuts,
                                                   std::size_t bin_bytes, std::size_t max_bytes) {
  auto const& ptrs = cuts.Ptrs();
  auto const max_bins = std::max<std::size_t>(1, max_bytes / bin_bytes);
  std::vector<FeatureBlock> blocks;
  for (bst_feature_t f = 0, n = cuts.NumFeatures(); f < n; ++f) {
    if (blocks.empty() || ptrs[f + 1] - blocks.back().first_bin > max_bins) {
      blocks.push_back({f, f, ptrs[f], 0});
    }
    blocks.back().end = f + 1;
    blocks.back().n_bins = ptrs[f + 1] - blocks.back().first_bin;
  }
  return blocks;
}

/** @brief The rows of a block: row r has the bins [row_ptr[r - base_rowid], next). */
struct BlockRowsView {
  /** @brief Null where the block keeps columns. */
  std::uint32_t const* row_ptr;
  /** @brief Ascending within a row, counted from the block's first bin. */
  std::uint32_t const* bins;
  bst_idx_t base_rowid;
};

class BinIndex {
 public:
  static constexpr bst_bin_t kNoBin = -1;

  /**
   * @brief Read a page.
   *
   * @param default_bins Whether to leave out default bins. Only where the page is all of the data:
   *                     other pages may have other ones.
   * @param columns      Whether to keep columns where that is possible.
   */
  BinIndex(Context const* ctx, GHistIndexMatrix const& page,
           std::vector<FeatureBlock> const& blocks, bool default_bins, bool columns)
      : base_rowid_{page.base_rowid},
        n_rows_{page.Size()},
        default_bin_(page.Features(), bst_bin_t{kNoBin}),
        blocks_(blocks.size()) {
    if (default_bins) {
      this->FindDefaultBins(page);
    }
    common::ParallelFor(blocks.size(), ctx->Threads(), common::Sched::Dyn(1), [&](auto b) {
      common::DispatchBinType(page.index.GetBinTypeSize(), [&](auto t) {
        using BinT = decltype(t);
        if (columns && page.IsDense() && this->StoresAll(blocks[b])) {
          this->ReadColumns<BinT>(page, blocks[b], &blocks_[b]);
        } else if (page.IsDense()) {
          this->ReadDense<BinT>(page, blocks[b], &blocks_[b]);
        } else {
          this->ReadSparse<BinT>(page, blocks[b], &blocks_[b]);
        }
      });
    });
  }

  [[nodiscard]] BlockRowsView Rows(std::size_t block) const {
    return {blocks_[block].row_ptr.data(), blocks_[block].bins.data(), base_rowid_};
  }
  /** @brief Whether a block keeps columns. */
  [[nodiscard]] bool HasColumns(std::size_t block) const { return !blocks_[block].columns.empty(); }
  /** @brief Mean number of a row's entries in a block. */
  [[nodiscard]] double EntriesPerRow(std::size_t block) const {
    auto const n_entries = blocks_[block].bins.size() + blocks_[block].columns.size();
    return static_cast<double>(n_entries) / static_cast<double>(n_rows_);
  }
  /** @brief The bins of a block's feature, by row. [n_rows] */
  [[nodiscard]] std::uint16_t const* Column(std::size_t block, std::size_t feature) const {
    return blocks_[block].columns.data() + feature * n_rows_;
  }
  /** @brief The bin of a feature that is not stored, `kNoBin` if all are. */
  [[nodiscard]] bst_bin_t DefaultBin(bst_feature_t fidx) const { return default_bin_[fidx]; }

 private:
  struct BlockRows {
    std::vector<std::uint32_t> row_ptr;
    std::vector<std::uint32_t> bins;
    std::vector<std::uint16_t> columns;

    void EndRow() {
      CHECK_LE(bins.size(), std::numeric_limits<std::uint32_t>::max())
          << "A block of features has too many entries. Use external memory.";
      row_ptr.push_back(static_cast<std::uint32_t>(bins.size()));
    }
  };

  void FindDefaultBins(GHistIndexMatrix const& page) {
    auto const& ptrs = page.cut.Ptrs();
    for (bst_feature_t f = 0; f < page.Features(); ++f) {
      auto const begin = page.hit_count.begin() + ptrs[f],
                 end = page.hit_count.begin() + ptrs[f + 1];
      bool const misses_none = std::accumulate(begin, end, std::size_t{0}) == page.Size();
      auto const largest = std::max_element(begin, end);
      if (misses_none && largest != end && *largest >= page.Size() - page.Size() / 2) {
        default_bin_[f] = static_cast<bst_bin_t>(ptrs[f] + (largest - begin));
      }
    }
  }

  [[nodiscard]] bool StoresAll(FeatureBlock const& block) const {
    return std::all_of(default_bin_.cbegin() + block.begin, default_bin_.cbegin() + block.end,
                       [](bst_bin_t bin) { return bin == kNoBin; });
  }

  template <typename BinT>
  void ReadColumns(GHistIndexMatrix const& page, FeatureBlock const& block, BlockRows* out) const {
    CHECK_LE(block.n_bins, std::size_t{1} << 16);
    auto const& ptrs = page.cut.Ptrs();
    auto const* row = page.index.data<BinT>();
    out->columns.resize(static_cast<std::size_t>(block.end - block.begin) * n_rows_);
    for (bst_idx_t i = 0; i < n_rows_; ++i, row += page.Features()) {
      for (auto f = block.begin; f < block.end; ++f) {
        out->columns[(f - block.begin) * n_rows_ + i] =
            static_cast<std::uint16_t>(ptrs[f] + row[f] - block.first_bin);
      }
    }
  }

  template <typename BinT>
  void ReadDense(GHistIndexMatrix const& page, FeatureBlock const& block, BlockRows* out) const {
    auto const& ptrs = page.cut.Ptrs();
    auto const* row = page.index.data<BinT>();
    out->row_ptr.reserve(page.Size() + 1);
    out->row_ptr.push_back(0);
    for (bst_idx_t i = 0; i < page.Size(); ++i, row += page.Features()) {
      for (auto f = block.begin; f < block.end; ++f) {
        auto const bin = ptrs[f] + row[f];  // dense pages store the bin within its feature
        if (static_cast<bst_bin_t>(bin) != default_bin_[f]) {
          out->bins.push_back(bin - block.first_bin);
        }
      }
      out->EndRow();
    }
  }

  template <typename BinT>
  void ReadSparse(GHistIndexMatrix const& page, FeatureBlock const& block, BlockRows* out) const {
    std::vector<std::uint8_t> is_default(block.n_bins, 0);
    for (auto f = block.begin; f < block.end; ++f) {
      if (default_bin_[f] != kNoBin) {
        is_default[default_bin_[f] - block.first_bin] = 1;
      }
    }
    auto const* index = page.index.data<BinT>();
    auto const last_bin = block.first_bin + block.n_bins;
    out->row_ptr.reserve(page.Size() + 1);
    out->row_ptr.push_back(0);
    for (bst_idx_t i = 0; i < page.Size(); ++i) {
      auto const* end = index + page.row_ptr[i + 1];
      auto const* entry = std::lower_bound(index + page.row_ptr[i], end, block.first_bin);
      for (; entry != end && *entry < last_bin; ++entry) {
        if (auto const bin = *entry - block.first_bin; !is_default[bin]) {
          out->bins.push_back(bin);
        }
      }
      out->EndRow();
    }
  }

  bst_idx_t base_rowid_;
  bst_idx_t n_rows_;
  std::vector<bst_bin_t> default_bin_;  // by feature
  std::vector<BlockRows> blocks_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_BIN_INDEX_H_
