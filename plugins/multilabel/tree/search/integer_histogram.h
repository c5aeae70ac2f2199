/**
 * @brief Histograms of a large node in integers, for a block of features.
 *
 * Rows are taken in tiles. The entries of a tile are sorted by bin, and then the integers of each
 * bin's rows (`quantised_rows.h`) are added up in registers, chunk by chunk of labels. Integer sums
 * are exact: a child's histogram is its parent's less its sibling's.
 */
#ifndef XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_
#define XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_

#include <algorithm>   // for clamp, lower_bound, min, transform
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, uint32_t
#include <functional>  // for plus
#include <numeric>     // for exclusive_scan
#include <utility>     // for move
#include <vector>      // for vector

#include "../../reductions.h"   // for Add, SubtractArray
#include "../../vectorised.h"   // for XDCC_TARGET_CLONES, Int8, Prefetch
#include "../data/bin_index.h"  // for BinIndex, FeatureBlock
#include "approximate_scan.h"   // for RowValues, VisitVectors, ChunkSums
#include "quantised_rows.h"     // for QuantisedRows, LabelChunk, ForEachBin
#include "xgboost/base.h"       // for bst_idx_t
#include "xgboost/span.h"       // for Span

namespace xgboost::multilabel {
/**
 * @brief Add rows, sorted by bin, to the histogram of one chunk.
 *
 * A bin's rows are added up in registers: half the work of adding each of them to memory.
 *
 * @param rows   The rows, and `kRowsAhead` more that are not added.
 * @param counts Number of rows in each bin. [n_bins]
 */
template <int kVectors>
XDCC_TARGET_CLONES static void AddSortedToBins(std::uint32_t const* rows,
                                               std::uint32_t const* counts, std::size_t n_bins,
                                               RowValues values, std::int32_t* out) {
  constexpr std::size_t kWidth = 8 * kVectors;
  for (std::size_t b = 0; b < n_bins; ++b) {
    auto const* end = rows + counts[b];
    if (rows == end) {
      continue;
    }
    auto* bin = out + b * 2 * kWidth;
    ChunkSums<kVectors> sums;
    sums.Load(bin);
    if (values.is_packed) {
      for (; rows != end; ++rows) {
        Prefetch(values.data + rows[kRowsAhead] * kWidth, 4 * kWidth);
        sums.AddPacked(reinterpret_cast<Int8 const*>(values.data + *rows * kWidth));
      }
    } else {
      for (; rows != end; ++rows) {
        Prefetch(values.data + rows[kRowsAhead] * 2 * kWidth, 8 * kWidth);
        sums.Add(reinterpret_cast<Int8 const*>(values.data + *rows * 2 * kWidth));
      }
    }
    sums.Store(bin);
  }
}

/** @brief The function for chunks of a width. */
inline auto AddSortedToBins(std::size_t width) {
  return VisitVectors(width, [](auto n) { return XDCC_BEST_CLONE(AddSortedToBins<n>); });
}

/** @brief Those of a node's rows, which ascend, that a page has. */
inline common::Span<std::uint32_t const> RowsOfPage(QuantisedRows const& quantised,
                                                    BinIndex const& index,
                                                    common::Span<std::uint32_t const> rows) {
  auto const *first = rows.data(), *last = first + rows.size();
  auto find = [&](bst_idx_t global) {
    return std::lower_bound(first, last, global, [&](std::uint32_t row, bst_idx_t that) {
      return quantised.GlobalRow(row) < that;
    });
  };
  auto const* begin = find(index.BaseRow());
  return {begin, static_cast<std::size_t>(find(index.BaseRow() + index.NumRows()) - begin)};
}

/** @brief Working memory of one thread: rows sorted by bin. */
struct BinSortBuffer {
  std::vector<std::uint32_t> counts, next;  // by bin
  std::vector<std::uint32_t> rows;
};

class IntegerHistogram {
 public:
  IntegerHistogram() = default;
  /** @param memory Room for the sums; may have been used before. */
  IntegerHistogram(std::size_t n_bins, std::size_t padded_labels, AlignedArray<std::int32_t> memory)
      : sums_{std::move(memory)}, counts_(n_bins, 0) {
    sums_.Assign(2 * padded_labels * n_bins, 0);
  }

  [[nodiscard]] bool Empty() const { return counts_.empty(); }
  /** @brief Number of sums and counts. */
  [[nodiscard]] std::size_t NumIntegers() const { return sums_.Size() + counts_.size(); }
  [[nodiscard]] std::size_t NumBytes() const { return this->NumIntegers() * sizeof(std::int32_t); }

  /** @param rows Rows of the row set that the index knows. */
  void Add(QuantisedRows const& quantised, BinIndex const& index, std::size_t block_id,
           FeatureBlock const& block, common::Span<std::uint32_t const> rows,
           BinSortBuffer* buffer) {
    auto &counts = buffer->counts, &next = buffer->next, &sorted = buffer->rows;
    auto const wanted = kTileEntries / index.EntriesPerRow(block_id);  // infinite without entries
    auto const n_tile = static_cast<std::size_t>(std::clamp(wanted, 1.0, rows.size() + 1.0));
    for (std::size_t begin = 0; begin < rows.size(); begin += n_tile) {
      auto const n = std::min(n_tile, rows.size() - begin);
      auto for_each_bin = [&](auto&& fn) {
        auto const* tile = rows.data() + begin;
        ForEachBin(quantised, index, block_id, block, n, [&](auto i) { return tile[i]; }, fn);
      };
      counts.assign(counts_.size(), 0);
      for_each_bin([&](std::uint32_t, std::uint32_t bin) { ++counts[bin]; });
      next.resize(counts.size());
      std::exclusive_scan(counts.cbegin(), counts.cend(), next.begin(), 0u);
      sorted.resize(next.back() + counts.back() + kRowsAhead);
      for_each_bin([&](std::uint32_t row, std::uint32_t bin) { sorted[next[bin]++] = row; });
      multilabel::Add(counts, &counts_);
      for (auto const& chunk : quantised.Chunks()) {
        auto const add = AddSortedToBins(chunk.width);
        add(sorted.data(), counts.data(), counts.size(), quantised.Values(chunk), this->Of(chunk));
      }
    }
  }
  /** @brief Add another histogram of the same block: of other rows. */
  void Add(IntegerHistogram const& that) {
    XDCC_BEST_CLONE(AddArray<std::int32_t>)(that.sums_.Data(), sums_.Size(), sums_.Data());
    multilabel::Add(that.counts_, &counts_);
  }
  /** @brief Take away another histogram of the same block. */
  void Subtract(IntegerHistogram const& part, std::size_t padded_labels) {
    XDCC_BEST_CLONE(SubtractArray<std::int32_t>)(part.sums_.Data(),
                                                 2 * padded_labels * counts_.size(), sums_.Data());
    multilabel::Subtract(counts_, part.counts_, &counts_);
  }

  /** @brief Append sums and counts, to be added to another worker's. */
  void Write(std::vector<std::int32_t>* out) const {
    out->insert(out->end(), sums_.Data(), sums_.Data() + sums_.Size());
    out->insert(out->end(), counts_.cbegin(), counts_.cend());
  }
  /** @brief Add the sums that `Write` wrote; return their end. */
  std::int32_t const* Add(std::int32_t const* in) {
    XDCC_BEST_CLONE(AddArray<std::int32_t>)(in, sums_.Size(), sums_.Data());
    in += sums_.Size();
    std::transform(counts_.cbegin(), counts_.cend(), in, counts_.begin(), std::plus<>{});
    return in + counts_.size();
  }

  /** @brief Number of rows in a bin. */
  [[nodiscard]] std::uint32_t Count(std::size_t bin) const { return counts_[bin]; }
  /** @brief Sums of a chunk: gradients, then Hessians, of each bin. [n_bins, 2 * width] */
  [[nodiscard]] std::int32_t const* Sums(LabelChunk const& chunk) const {
    return sums_.Data() + 2 * chunk.padded_begin * counts_.size();
  }
  /** @brief Take the room back. */
  [[nodiscard]] AlignedArray<std::int32_t> Release() {
    counts_.clear();
    return std::move(sums_);
  }

 private:
  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk) {
    return sums_.Data() + 2 * chunk.padded_begin * counts_.size();
  }

  /**
   * @brief Entries that are sorted at a time.
   *
   * So many that a bin has some 16 of them, with blocks of 2048 bins, and so few that the rows'
   * values of one chunk stay in the second-level cache where a row has 8 entries or more.
   */
  static constexpr double kTileEntries = 1 << 15;

  AlignedArray<std::int32_t> sums_;
  std::vector<std::uint32_t> counts_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_
