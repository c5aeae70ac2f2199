/**
 * @brief A *local row set*: the rows of a node, numbered from 0, with their gradients as integers.
 *
 * Descendants of the node work on the same row set. For each label that carries a gradient there,
 * gradients and Hessians are rounded to integers (`row_units.h`): sums are exact, whatever their
 * order. Other labels are left out.
 *
 * Several workers have the same units, by the sums over all of their rows, and so may add up their
 * integers. Rounding adds at most 1 for a row: with fewer than 2^30 rows no sum reaches 2^31.
 *
 * Labels are divided into chunks of at most 32 (for histograms 16, the last one 24), padded to the
 * width of vectors. A chunk holds all rows before the next chunk begins.
 */
#ifndef XDCC_MULTILABEL_QUANTISED_ROWS_H_
#define XDCC_MULTILABEL_QUANTISED_ROWS_H_

#include <algorithm>  // for min
#include <array>      // for array
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <utility>    // for move
#include <vector>     // for vector

#include "../../reductions.h"         // for ForEachRun
#include "../../vectorised.h"         // for XDCC_TARGET_CLONES
#include "../data/aligned_array.h"    // for AlignedArray
#include "../data/bin_index.h"        // for BinColumn, BinIndex, FeatureBlock
#include "../data/gradient_matrix.h"  // for GradientMatrix
#include "approximate_scan.h"         // for RowValues
#include "row_units.h"                // for RowUnits, kRowRun
#include "xgboost/base.h"             // for bst_idx_t

namespace xgboost::multilabel {
/** @brief Neighbouring labels of a row set. */
struct LabelChunk {
  /** @brief Position of the first among the row set's labels; the same, paddings counted. */
  std::size_t begin, padded_begin;
  /** @brief Number of labels without and with padding. */
  std::size_t n_labels, width;
};

class QuantisedRows {
 public:
  /**
   * @param n_threads Number of threads to use; 1 within a parallel region.
   * @param rows   Global indices of the rows, all with a gradient.
   * @param units  Units of the rows on all workers.
   * @param narrow Whether chunks have `kNarrow` labels, as histograms need it.
   * @param memory Room for the integers; may have been used before.
   */
  QuantisedRows(std::int32_t n_threads, GradientMatrix const& gradients,
                std::vector<bst_idx_t> rows, RowUnits const& units, bool narrow,
                AlignedArray<std::int32_t> memory);

  static constexpr std::size_t kWide = 32, kNarrow = 16;
  /** @brief Take the room back. */
  [[nodiscard]] AlignedArray<std::int32_t> Release() { return std::move(values_); }

  [[nodiscard]] std::size_t NumRows() const { return rows_.size(); }
  /** @brief Global index of a row. */
  [[nodiscard]] bst_idx_t GlobalRow(std::size_t row) const { return rows_[row]; }
  [[nodiscard]] std::vector<bst_idx_t> const& GlobalRows() const { return rows_; }
  /** @brief Labels that carry a gradient, ascending. */
  [[nodiscard]] std::vector<std::uint32_t> const& Labels() const { return labels_; }
  [[nodiscard]] std::vector<LabelChunk> const& Chunks() const { return chunks_; }
  /** @brief Number of labels with paddings. */
  [[nodiscard]] std::size_t PaddedLabels() const { return n_padded_; }
  [[nodiscard]] RowValues Values(LabelChunk const& chunk) const {
    return {values_.Data() + this->Lanes() * chunk.padded_begin * rows_.size(), is_packed_,
            rows_.size() >= RowUnits::kFewRows};
  }
  [[nodiscard]] bool IsPacked() const { return is_packed_; }
  /** @brief Unit of the integers, by padded label; 0 for paddings. */
  [[nodiscard]] float const* GradScale() const { return grad_scale_.Data(); }
  [[nodiscard]] float const* HessScale() const { return hess_scale_.Data(); }

 private:
  /** @brief Widths that `ScanList` is compiled for. */
  static std::size_t Width(std::size_t n_labels, bool narrow) {
    for (std::size_t width : {8, 16, 24}) {
      if (n_labels <= width) {
        return width;
      }
    }
    return narrow ? kNarrow : kWide;
  }

  /** @brief Number of integers of 32 bits for a row's label. */
  [[nodiscard]] std::size_t Lanes() const { return is_packed_ ? 1 : 2; }

  std::vector<bst_idx_t> rows_;
  bool is_packed_;
  std::vector<std::uint32_t> labels_;
  std::vector<LabelChunk> chunks_;
  std::size_t n_padded_{0};
  AlignedArray<std::int32_t> values_;
  AlignedArray<float> grad_scale_, hess_scale_;
};

/** @brief Round one chunk of labels to 32 bits. */
XDCC_TARGET_CLONES static void RoundRows(GradientView gradients, bst_idx_t const* rows,
                                         std::size_t n_rows, std::uint32_t const* labels,
                                         LabelChunk chunk, float const* grad_factor,
                                         float const* hess_factor, std::int32_t* out) {
  bool const together = labels[chunk.n_labels - 1] - labels[0] + 1 == chunk.n_labels;
  for (std::size_t i = 0; i < n_rows; ++i, out += 2 * chunk.width) {
    auto const* pairs = gradients.Row(rows[i]) + (together ? 2 * labels[0] : 0);
    for (std::size_t j = 0; j < chunk.n_labels; ++j) {
      auto const from = together ? j : labels[j];
      float const g = gradients.grad_rounding(pairs[2 * from]) * grad_factor[j];
      float const h = gradients.hess_rounding(pairs[2 * from + 1]) * hess_factor[j];
      out[j] = static_cast<std::int32_t>(g + (g < 0.0f ? -0.5f : 0.5f));
      out[chunk.width + j] = static_cast<std::int32_t>(h + (h < 0.0f ? -0.5f : 0.5f));
    }
    for (auto j = chunk.n_labels; j < chunk.width; ++j) {
      out[j] = out[chunk.width + j] = 0;
    }
  }
}

/**
 * @brief Round one chunk of labels to 16 bits, up or down by the row and the label.
 *
 * @param shifts By label of the chunk, below 1.
 */
XDCC_TARGET_CLONES static void PackRows(GradientView gradients, bst_idx_t const* rows,
                                        std::size_t n_rows, std::uint32_t const* labels,
                                        LabelChunk chunk, float const* grad_factor,
                                        float const* hess_factor, float const* shifts,
                                        std::int32_t* out) {
  constexpr float kLowest = 1 << RowUnits::kGradBits, kMost = (1 << 16) - 1;
  bool const together = labels[chunk.n_labels - 1] - labels[0] + 1 == chunk.n_labels;
  for (std::size_t i = 0; i < n_rows; ++i, out += chunk.width) {
    auto const* pairs = gradients.Row(rows[i]) + (together ? 2 * labels[0] : 0);
    // Multiples of the golden ratio, without their whole part.
    float const of_row =
        static_cast<float>((static_cast<std::uint32_t>(rows[i]) * 2654435769u) >> 8) * 0x1p-24f;
    for (std::size_t j = 0; j < chunk.n_labels; ++j) {
      auto const from = together ? j : labels[j];
      float const sum = of_row + shifts[j], shift = sum - (sum < 1.0f ? 0.0f : 1.0f);
      // Positive: cut, not rounded.
      float const g = gradients.grad_rounding(pairs[2 * from]) * grad_factor[j] + kLowest + shift;
      float const h = gradients.hess_rounding(pairs[2 * from + 1]) * hess_factor[j] + shift;
      auto const high = static_cast<std::int32_t>(g < kMost ? g : kMost) - (1 << 15);
      auto const low = static_cast<std::int32_t>(h < kMost ? h : kMost);
      out[j] = high * (1 << 16) + low;
    }
    for (auto j = chunk.n_labels; j < chunk.width; ++j) {
      out[j] = 0;
    }
  }
}

/** @brief Sum of rows of one chunk, gradients and Hessians. [n_rows, ...] -> [2 * width] */
XDCC_TARGET_CLONES static void SumRows(RowValues values, std::size_t width,
                                       std::uint32_t const* rows, std::size_t n_rows,
                                       std::int32_t* out) {
  auto const n_fetched = values.is_far ? n_rows : 0;
  if (values.is_packed) {
    for (std::size_t i = 0; i < n_rows; ++i) {
      auto const* row = values.data + rows[i] * width;
      if (i + kRowsAhead < n_fetched) {
        Prefetch(values.data + rows[i + kRowsAhead] * width, 4 * width);
      }
      for (std::size_t k = 0; k < width; ++k) {
        out[k] += row[k] >> kPackedShift;
        out[width + k] += row[k] & kPackedMask;
      }
    }
    return;
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto const* row = values.data + rows[i] * 2 * width;
    if (i + kRowsAhead < n_fetched) {
      Prefetch(values.data + rows[i + kRowsAhead] * 2 * width, 8 * width);
    }
    for (std::size_t k = 0; k < 2 * width; ++k) {
      out[k] += row[k];
    }
  }
}

inline QuantisedRows::QuantisedRows(std::int32_t n_threads, GradientMatrix const& gradients,
                                    std::vector<bst_idx_t> rows, RowUnits const& units, bool narrow,
                                    AlignedArray<std::int32_t> memory)
    : rows_{std::move(rows)}, is_packed_{units.is_packed}, values_{std::move(memory)} {
  auto const n_labels = gradients.NumLabels();
  auto const *grad_factors = units.factors.data(), *hess_factors = grad_factors + n_labels;
  for (std::size_t j = 0; j < n_labels; ++j) {
    if (grad_factors[j] != 0.0f || hess_factors[j] != 0.0f) {
      labels_.push_back(static_cast<std::uint32_t>(j));
    }
  }
  for (std::size_t begin = 0; begin < labels_.size();) {
    LabelChunk chunk{begin, n_padded_, 0, Width(labels_.size() - begin, narrow)};
    chunk.n_labels = std::min(chunk.width, labels_.size() - begin);
    begin += chunk.n_labels;
    n_padded_ += chunk.width;
    chunks_.push_back(chunk);
  }

  values_.Resize(this->Lanes() * n_padded_ * rows_.size());
  grad_scale_.Assign(n_padded_, 0.0f);
  hess_scale_.Assign(n_padded_, 0.0f);
  for (auto const& chunk : chunks_) {
    std::vector<float> grad_factor(chunk.n_labels), hess_factor(chunk.n_labels);
    std::vector<float> shifts(chunk.n_labels);
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = labels_[chunk.begin + k];
      grad_factor[k] = grad_factors[j];
      hess_factor[k] = hess_factors[j];
      shifts[k] = static_cast<float>((j * 3242174889u) >> 8) * 0x1p-24f;
      auto scale = [](float f) { return f > 0.0f ? 1.0f / f : 0.0f; };
      grad_scale_.Data()[chunk.padded_begin + k] = scale(grad_factor[k]);
      hess_scale_.Data()[chunk.padded_begin + k] = scale(hess_factor[k]);
    }
    auto* out = values_.Data() + this->Lanes() * chunk.padded_begin * rows_.size();
    ForEachRun(rows_.size(), kRowRun, n_threads, [&](auto, auto begin, auto end) {
      auto const* of_run = rows_.data() + begin;
      auto const n = end - begin;
      auto* to = out + begin * this->Lanes() * chunk.width;
      auto const* labels = labels_.data() + chunk.begin;
      if (is_packed_) {
        XDCC_BEST_CLONE(PackRows)(gradients.View(), of_run, n, labels, chunk, grad_factor.data(),
                                  hess_factor.data(), shifts.data(), to);
      } else {
        XDCC_BEST_CLONE(RoundRows)(gradients.View(), of_run, n, labels, chunk, grad_factor.data(),
                                   hess_factor.data(), to);
      }
    });
  }
}

/**
 * @brief Call `fn(row, bin)` for all entries of some rows in a block, in the order of these rows
 *        for each bin.
 *
 * @param n      Number of rows.
 * @param row_at Which row of the row set the i-th is.
 */
template <typename RowAt, typename Fn>
void ForEachBin(QuantisedRows const& quantised, BinIndex const& index, std::size_t block_id,
                FeatureBlock const& block, std::size_t n, RowAt&& row_at, Fn&& fn) {
  auto const* global = quantised.GlobalRows().data();
  if (index.HasColumns(block_id)) {
    // Where rows are counted by bin, each waits for the one before; four features wait at once.
    constexpr std::size_t kAtOnce = 4;
    std::size_t const n_features = block.end - block.begin;
    std::size_t f = 0;
    for (; f + kAtOnce <= n_features; f += kAtOnce) {
      std::array<BinColumn, kAtOnce> const columns{
          index.Column(block_id, f), index.Column(block_id, f + 1), index.Column(block_id, f + 2),
          index.Column(block_id, f + 3)};
      for (std::size_t i = 0; i < n; ++i) {
        auto const row = row_at(i);
        auto const at = global[row];
        XDCC_UNROLL(4)
        for (std::size_t k = 0; k < kAtOnce; ++k) {
          fn(row, columns[k][at]);
        }
      }
    }
    for (; f < n_features; ++f) {
      auto const column = index.Column(block_id, f);
      for (std::size_t i = 0; i < n; ++i) {
        fn(row_at(i), column[global[row_at(i)]]);
      }
    }
    return;
  }
  auto const rows = index.Rows(block_id);
  for (std::size_t i = 0; i < n; ++i) {
    auto const* row_ptr = rows.row_ptr + (global[row_at(i)] - rows.base_rowid);
    for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
      fn(row_at(i), rows.bins[e]);
    }
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_QUANTISED_ROWS_H_
