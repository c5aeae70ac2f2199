/**
 * @brief Histogram of a block of neighbouring features, for all labels at once.
 *
 * A node is worked through block by block. A block is sized so that its histogram stays in a
 * core's cache, is filled by one pass over the node's rows, scanned for splits and cleared; there
 * is one buffer per thread and no histogram of a whole node. So memory does not grow with the
 * number of nodes. A bit per bin says which bins hold rows of the node: the others cost nothing,
 * neither when scanning nor when clearing.
 *
 * In the buffer the label index is innermost: a bin holds n_labels gradients, then n_labels
 * Hessians, as a row of the `GradientMatrix` does.
 */
#ifndef XDCC_MULTILABEL_HISTOGRAM_H_
#define XDCC_MULTILABEL_HISTOGRAM_H_

#include <algorithm>  // for copy_n, fill_n
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t, uint8_t
#include <vector>     // for vector

#include "../../../../src/common/bitfield.h"  // for TrailingZeroBits
#include "../../vectorised.h"                 // for XDCC_TARGET_CLONES
#include "../data/bin_index.h"                // for BinIndex
#include "../data/gradient_matrix.h"          // for GradientMatrix
#include "xgboost/base.h"                     // for bst_idx_t
#include "xgboost/span.h"                     // for Span

namespace xgboost::multilabel {
/** @brief Where a histogram's sums, counts and bits lie. */
struct HistogramView {
  double* sums;
  std::uint32_t* counts;
  std::uint32_t* touched;
};

/** @brief The loops of `BlockHistogram::Add`. */
XDCC_TARGET_CLONES static void AddRows(BlockRowsView index, bst_idx_t const* rows,
                                       std::size_t n_rows, GradientView gradients,
                                       std::uint8_t const* wanted, HistogramView out) {
  auto const width = gradients.width;
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const ridx = rows[i];
    if (!gradients.active[ridx]) {
      continue;
    }
    float const* row = gradients.values + ridx * width;
    auto const* row_ptr = index.row_ptr + (ridx - index.base_rowid);
    for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
      auto const bin = index.bins[e];
      if (wanted && !wanted[bin]) {
        continue;
      }
      double* sums = out.sums + bin * width;
      for (std::size_t k = 0; k < width; ++k) {
        sums[k] += row[k];
      }
      ++out.counts[bin];
      out.touched[bin / 32] |= std::uint32_t{1} << (bin % 32);
    }
  }
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
      touched_.clear();
      width_ = width;
    }
    if (n_bins > counts_.size()) {
      sums_.resize(n_bins * width, 0.0);
      counts_.resize(n_bins, 0);
      touched_.resize(n_bins / kWordBits + 1, 0);
    }
  }

  /**
   * @brief Add rows.
   *
   * @param block  Position of the block in the index.
   * @param rows   Global row indices.
   * @param wanted By bin of the block: whether its feature may be split on; empty: all may.
   */
  void Add(BinIndex const& index, std::size_t block, common::Span<bst_idx_t const> rows,
           GradientMatrix const& gradients, std::vector<std::uint8_t> const& wanted) {
    AddRows(index.Rows(block), rows.data(), rows.size(), gradients.View(),
            wanted.empty() ? nullptr : wanted.data(),
            {sums_.data(), counts_.data(), touched_.data()});
  }

  /** @brief Length of what `Write` writes for so many bins. */
  [[nodiscard]] std::size_t Size(std::size_t n_bins) const { return n_bins * (width_ + 1); }
  /** @brief Write the sums and counts of the first bins, to be added up over workers. */
  void Write(std::size_t n_bins, double* out) const {
    std::copy_n(sums_.data(), n_bins * width_, out);
    std::copy_n(counts_.data(), n_bins, out + n_bins * width_);
  }
  /** @brief Read what `Write` wrote. */
  void Read(std::size_t n_bins, double const* in) {
    std::copy_n(in, n_bins * width_, sums_.data());
    for (std::size_t bin = 0; bin < n_bins; ++bin) {
      counts_[bin] = static_cast<std::uint32_t>(in[n_bins * width_ + bin]);
      if (counts_[bin] != 0) {
        touched_[bin / kWordBits] |= std::uint32_t{1} << (bin % kWordBits);
      }
    }
  }

  /** @brief Number of rows in a bin, counted from the block's first one. */
  [[nodiscard]] std::uint32_t Count(std::size_t bin) const { return counts_[bin]; }
  /** @brief Sums of a bin, gradients then Hessians. */
  [[nodiscard]] double const* Sums(std::size_t bin) const { return sums_.data() + bin * width_; }

  /** @brief Find the bins in [begin, end) that hold rows, ascending. */
  void Touched(std::size_t begin, std::size_t end, std::vector<std::uint32_t>* out) const {
    out->clear();
    for (auto w = begin / kWordBits; w * kWordBits < end; ++w) {
      for (auto word = touched_[w]; word != 0; word &= word - 1) {
        auto const bin = w * kWordBits + TrailingZeroBits(word);
        if (bin >= begin && bin < end) {
          out->push_back(static_cast<std::uint32_t>(bin));
        }
      }
    }
  }

  /** @brief Empty the histogram. */
  void Clear() {
    for (std::size_t w = 0; w < touched_.size(); ++w) {
      for (; touched_[w] != 0; touched_[w] &= touched_[w] - 1) {
        auto const bin = w * kWordBits + TrailingZeroBits(touched_[w]);
        std::fill_n(sums_.data() + bin * width_, width_, 0.0);
        counts_[bin] = 0;
      }
    }
  }

 private:
  static constexpr std::size_t kWordBits = 32;  // as in `AddRows`

  std::size_t width_{0};
  std::vector<double> sums_;            // [n_bins, width]
  std::vector<std::uint32_t> counts_;   // [n_bins]
  std::vector<std::uint32_t> touched_;  // a bit per bin
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_HISTOGRAM_H_
