/**
 * @brief Histograms of a large node in integers, for a block of features.
 *
 * The rows' integers (`row_cluster.h`) are added up chunk by chunk of labels, so that the part of
 * the histogram that is being filled stays in a core's second-level cache. Integer sums are exact:
 * a child's histogram is its parent's less its sibling's.
 */
#ifndef XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_
#define XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_

#include <algorithm>  // for min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <utility>    // for move
#include <vector>     // for vector

#include "bin_index.h"     // for BinIndex, BlockRowsView, FeatureBlock
#include "row_cluster.h"   // for RowCluster, LabelChunk, AlignedArray
#include "vectorised.h"    // for XDCC_TARGET_CLONES, Int16
#include "xgboost/base.h"  // for bst_idx_t

namespace xgboost::multilabel {
/** @brief Add rows to the histogram of one chunk. [n_bins, 16 * kVectors] */
template <int kVectors>
XDCC_TARGET_CLONES static void AddToBins(BlockRowsView index, bst_idx_t const* global_rows,
                                         std::uint32_t const* rows, std::size_t n_rows,
                                         std::int32_t const* values, std::int32_t* out) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const* row = reinterpret_cast<Int16 const*>(values + rows[i] * (16ul * kVectors));
    Int16 sums[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = row[v];
    }
    auto const* row_ptr = index.row_ptr + (global_rows[rows[i]] - index.base_rowid);
    for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
      auto* bin = reinterpret_cast<Int16*>(out + index.bins[e] * (16ul * kVectors));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        bin[v] += sums[v];
      }
    }
  }
}

/** @brief Add rows to the histogram of one chunk and one feature, whose bins are a column. */
template <int kVectors>
XDCC_TARGET_CLONES static void AddColumnToBins(std::uint16_t const* column,
                                               bst_idx_t const* global_rows,
                                               std::uint32_t const* rows, std::size_t n_rows,
                                               std::int32_t const* values, std::int32_t* out) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const* row = reinterpret_cast<Int16 const*>(values + rows[i] * (16ul * kVectors));
    auto* bin = reinterpret_cast<Int16*>(out + column[global_rows[rows[i]]] * (16ul * kVectors));
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      bin[v] += row[v];
    }
  }
}

XDCC_TARGET_CLONES static void SubtractIntegers(std::int32_t const* part, std::size_t n,
                                                std::int32_t* from) {
  for (std::size_t i = 0; i < n; ++i) {
    from[i] -= part[i];
  }
}

class IntegerHistogram {
 public:
  IntegerHistogram() = default;
  /** @param memory Room for the sums; may have been used before. */
  IntegerHistogram(std::size_t n_bins, std::size_t padded_labels, AlignedArray<std::int32_t> memory)
      : sums_{std::move(memory)}, counts_(n_bins, 0) {
    sums_.Assign(2 * padded_labels * n_bins, 0);
  }

  [[nodiscard]] bool Empty() const { return counts_.empty(); }
  [[nodiscard]] static std::size_t Bytes(std::size_t n_bins, std::size_t padded_labels) {
    return n_bins * (2 * padded_labels * sizeof(std::int32_t) + sizeof(std::uint32_t));
  }

  /** @param rows Rows of the cluster. */
  void Add(RowCluster const& cluster, BinIndex const& index, std::size_t block_id,
           FeatureBlock const& block, std::vector<std::uint32_t> const& rows) {
    auto const* global = cluster.GlobalRows().data();
    if (index.HasColumns(block_id)) {
      this->AddColumns(cluster, index, block_id, block.end - block.begin, rows);
      return;
    }
    auto const view = index.Rows(block_id);
    for (auto row : rows) {
      auto const* row_ptr = view.row_ptr + (global[row] - view.base_rowid);
      for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
        ++counts_[view.bins[e]];
      }
    }
    for (auto const& chunk : cluster.Chunks()) {
      auto const add = chunk.width == 8 ? &AddToBins<1> : &AddToBins<2>;
      add(view, global, rows.data(), rows.size(), cluster.Values(chunk), this->Of(chunk));
    }
  }
  /** @brief Take away another histogram of the same block. */
  void Subtract(IntegerHistogram const& part, std::size_t padded_labels) {
    SubtractIntegers(part.sums_.Data(), 2 * padded_labels * counts_.size(), sums_.Data());
    for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
      counts_[bin] -= part.counts_[bin];
    }
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

  void AddColumns(RowCluster const& cluster, BinIndex const& index, std::size_t block_id,
                  std::size_t n_features, std::vector<std::uint32_t> const& rows) {
    auto const* global = cluster.GlobalRows().data();
    for (std::size_t f = 0; f < n_features; ++f) {
      auto const* column = index.Column(block_id, f);
      for (auto row : rows) {
        ++counts_[column[global[row]]];
      }
    }
    for (auto const& chunk : cluster.Chunks()) {
      auto const add = chunk.width == 8 ? &AddColumnToBins<1> : &AddColumnToBins<2>;
      for (std::size_t begin = 0; begin < rows.size(); begin += kTileRows) {
        auto const n = std::min(kTileRows, rows.size() - begin);
        for (std::size_t f = 0; f < n_features; ++f) {
          add(index.Column(block_id, f), global, rows.data() + begin, n, cluster.Values(chunk),
              this->Of(chunk));
        }
      }
    }
  }

  /** @brief Rows whose values of one chunk stay in the second-level cache. */
  static constexpr std::size_t kTileRows = 2048;

  AlignedArray<std::int32_t> sums_;
  std::vector<std::uint32_t> counts_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_INTEGER_HISTOGRAM_H_
