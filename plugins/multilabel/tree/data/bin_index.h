/**
 * @brief The bins of a page, cut into blocks of neighbouring features.
 *
 * A block keeps its own rows, one after the other, so that filling its histogram reads memory in
 * order. It leaves out what need not be added up: if a feature has no missing values and at
 * least half of all rows fall into one bin (the zeros of a sparse feature, say), that *default bin*
 * is not stored. Its sums are the node's sums less those of the other bins, exactly,
 * since sums are exact (see `gradient_matrix.h`).
 *
 * On request a block in which every feature has a bin to store in every row keeps its bins column
 * by column instead: the histogram of one feature then stays in the first-level cache.
 */
#ifndef XDCC_MULTILABEL_BIN_INDEX_H_
#define XDCC_MULTILABEL_BIN_INDEX_H_

#include <algorithm>  // for all_of, lower_bound, max, max_element, min
#include <cstddef>    // for size_t
#include <cstdint>    // for uint16_t, uint32_t, uint64_t, uint8_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <numeric>    // for accumulate
#include <utility>    // for move
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

/** @brief No bin: a feature without default bin. */
inline constexpr bst_bin_t kNoDefaultBin = -1;

/**
 * @brief Find the default bin of each feature, `kNoDefaultBin` if it has none.
 *
 * @param counts Number of rows in each bin, of all pages and workers.
 */
inline std::vector<bst_bin_t> FindDefaultBins(common::HistogramCuts const& cuts,
                                              std::vector<double> const& counts, double n_rows) {
  auto const& ptrs = cuts.Ptrs();
  std::vector<bst_bin_t> bins(cuts.NumFeatures(), kNoDefaultBin);
  for (bst_feature_t f = 0; f < bins.size(); ++f) {
    auto const begin = counts.cbegin() + ptrs[f], end = counts.cbegin() + ptrs[f + 1];
    bool const misses_none = std::accumulate(begin, end, 0.0) == n_rows;
    auto const largest = std::max_element(begin, end);
    if (misses_none && largest != end && 2.0 * *largest >= n_rows) {
      bins[f] = static_cast<bst_bin_t>(ptrs[f] + (largest - begin));
    }
  }
  return bins;
}

/** @brief The rows of a block: row r has the bins [row_ptr[r - base_rowid], next). */
struct BlockRowsView {
  /** @brief Null where the block keeps columns. */
  std::uint32_t const* row_ptr;
  /** @brief Ascending within a row, counted from the block's first bin. */
  std::uint32_t const* bins;
  bst_idx_t base_rowid;
};

/** @brief The bins of a feature, by global row. */
struct BinColumn {
  std::uint16_t const* bins;
  bst_idx_t base_rowid;

  std::uint16_t operator[](bst_idx_t row) const { return bins[row - base_rowid]; }
};

class BinIndex {
 public:
  static constexpr bst_bin_t kNoBin = kNoDefaultBin;

  /** @brief An index without rows, which says what the default bins are. */
  explicit BinIndex(std::vector<bst_bin_t> default_bins) : default_bin_{std::move(default_bins)} {}

  /**
   * @brief Read a page.
   *
   * @param default_bins By feature: the bin that is left out.
   * @param columns      Whether to keep columns where that is possible.
   */
  BinIndex(Context const* ctx, GHistIndexMatrix const& page,
           std::vector<FeatureBlock> const& blocks, std::vector<bst_bin_t> default_bins,
           bool columns)
      : base_rowid_{page.base_rowid},
        n_rows_{page.Size()},
        default_bin_{std::move(default_bins)},
        blocks_(blocks.size()) {
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
        CHECK_LE(blocks_[b].bins.size(), std::numeric_limits<std::uint32_t>::max())
            << "A block of features has too many entries. Use external memory.";
      });
    });
  }

  /** @brief The rows are [BaseRow(), BaseRow() + NumRows()). */
  [[nodiscard]] bst_idx_t BaseRow() const { return base_rowid_; }
  [[nodiscard]] bst_idx_t NumRows() const { return n_rows_; }
  [[nodiscard]] BlockRowsView Rows(std::size_t block) const {
    return {blocks_[block].row_ptr.data(), blocks_[block].bins.data(), base_rowid_};
  }
  /** @brief Whether a block keeps columns. */
  [[nodiscard]] bool HasColumns(std::size_t block) const { return !blocks_[block].columns.empty(); }
  /** @brief Mean number of a row's entries in a block. */
  [[nodiscard]] double EntriesPerRow(std::size_t block) const {
    auto const n_entries = blocks_[block].bins.size() + blocks_[block].columns.size();
    return static_cast<double>(n_entries) / static_cast<double>(std::max<bst_idx_t>(1, n_rows_));
  }
  /** @brief The bins of a block's feature. */
  [[nodiscard]] BinColumn Column(std::size_t block, std::size_t feature) const {
    return {blocks_[block].columns.data() + feature * n_rows_, base_rowid_};
  }
  /** @brief The bin of a feature that is not stored, `kNoBin` if all are. */
  [[nodiscard]] bst_bin_t DefaultBin(bst_feature_t fidx) const { return default_bin_[fidx]; }

 private:
  struct BlockRows {
    std::vector<std::uint32_t> row_ptr;
    std::vector<std::uint32_t> bins;
    std::vector<std::uint16_t> columns;

    void EndRow() { row_ptr.push_back(static_cast<std::uint32_t>(bins.size())); }
  };

  /** @brief Make room for the rows of a block. */
  void BeginRows(GHistIndexMatrix const& page, FeatureBlock const& block, BlockRows* out) const {
    auto const counts = page.hit_count.cbegin() + block.first_bin;
    auto n_entries = std::accumulate(counts, counts + block.n_bins, std::size_t{0});
    for (auto f = block.begin; f < block.end; ++f) {
      n_entries -= default_bin_[f] == kNoBin ? 0 : page.hit_count[default_bin_[f]];
    }
    out->bins.reserve(n_entries);
    out->row_ptr.reserve(page.Size() + 1);
    out->row_ptr.push_back(0);
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
    // Most entries are left out, so as many as a word holds are looked at together.
    constexpr std::size_t kTogether = sizeof(std::uint64_t) / sizeof(BinT);
    constexpr std::size_t kBits = 8 * sizeof(BinT);
    constexpr std::uint64_t kFirstBits = ~std::uint64_t{0} / static_cast<BinT>(-1);
    constexpr std::uint64_t kLastBits = kFirstBits << (kBits - 1);
    auto const& ptrs = page.cut.Ptrs();
    std::size_t const n = block.end - block.begin;
    auto const n_padded = (n + kTogether - 1) / kTogether * kTogether;
    // Dense pages store the bin within its feature. By feature of the block: which one is left out,
    // and all bits if none is left out.
    std::vector<BinT> left_out(n_padded, 0), stays(n_padded, 0);
    for (std::size_t k = 0; k < n; ++k) {
      auto const bin = default_bin_[block.begin + k];
      left_out[k] = static_cast<BinT>(bin == kNoBin ? 0 : bin - ptrs[block.begin + k]);
      stays[k] = static_cast<BinT>(bin == kNoBin ? -1 : 0);
    }
    this->BeginRows(page, block, out);
    auto const* row = page.index.data<BinT>() + block.begin;
    std::vector<std::uint32_t> found(n);
    for (bst_idx_t i = 0; i < page.Size(); ++i, row += page.Features()) {
      std::size_t n_found{0};
      auto take = [&](std::size_t k, std::uint64_t bins) {
        std::uint64_t defaults, others;
        std::memcpy(&defaults, left_out.data() + k, sizeof(defaults));
        std::memcpy(&others, stays.data() + k, sizeof(others));
        auto const differs = (bins ^ defaults) | others;
        // The last bit of each entry that has any.
        auto there = (((differs & ~kLastBits) + ~kLastBits) | differs) & kLastBits;
        for (; there != 0; there &= there - 1) {
          auto const at = k + __builtin_ctzll(there) / kBits;
          found[n_found++] = ptrs[block.begin + at] + row[at] - block.first_bin;
        }
      };
      for (std::size_t k = 0; k < n; k += kTogether) {
        std::uint64_t bins;
        if (k + kTogether <= n) {
          std::memcpy(&bins, row + k, sizeof(bins));
        } else {
          std::memcpy(&bins, left_out.data() + k, sizeof(bins));
          std::memcpy(&bins, row + k, (n - k) * sizeof(BinT));
        }
        take(k, bins);
      }
      out->bins.insert(out->bins.end(), found.cbegin(), found.cbegin() + n_found);
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
    this->BeginRows(page, block, out);
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

  bst_idx_t base_rowid_{0};
  bst_idx_t n_rows_{0};
  std::vector<bst_bin_t> default_bin_;  // by feature
  std::vector<BlockRows> blocks_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_BIN_INDEX_H_
