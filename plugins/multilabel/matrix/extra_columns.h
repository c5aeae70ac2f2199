/**
 * @brief Cuts and bins of the columns that are joined with features in each round.
 *
 * Each time, only the columns that changed since the last time are sketched and searched; a round
 * of a classifier chain changes few of many labels. Cuts and bins are those that XGBoost would make
 * of a matrix with these columns.
 */
#ifndef XDCC_MULTILABEL_EXTRA_COLUMNS_H_
#define XDCC_MULTILABEL_EXTRA_COLUMNS_H_

#include <algorithm>  // for copy, min, none_of
#include <array>      // for array
#include <cmath>      // for isinf, isnan
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../src/common/error_msg.h"      // for InfInData
#include "../../../src/common/quantile.h"       // for HostSketchContainer
#include "../../../src/data/array_interface.h"  // for ArrayInterface
#include "../reductions.h"                      // for ForEachRun, MaxOverWorkers
#include "joined_columns.h"                     // for JoinedColumns
#include "xgboost/base.h"                       // for bst_bin_t, bst_feature_t, bst_idx_t
#include "xgboost/context.h"                    // for Context
#include "xgboost/data.h"                       // for Entry, MetaInfo, SparsePage
#include "xgboost/linalg.h"                     // for MakeVec
#include "xgboost/logging.h"                    // for CHECK
#include "xgboost/span.h"                       // for Span

namespace xgboost::multilabel {
/** @brief The columns: floats row by row, NaN where a value is missing. */
struct ExtraView {
  float const* values;
  std::size_t n_rows;
  std::size_t n_columns;

  explicit ExtraView(ArrayInterface<2> const& array)
      : values{static_cast<float const*>(array.data)},
        n_rows{array.Shape<0>()},
        n_columns{array.Shape<1>()} {
    CHECK(array.type == ArrayInterfaceHandler::kF4 && array.is_contiguous)
        << "The columns to join must be a contiguous array of 32-bit floats in row-major order.";
    CHECK_GT(n_columns, 0) << "There are no columns to join.";
    CHECK(std::none_of(values, values + n_rows * n_columns, [](float value) {
      return std::isinf(value);
    })) << error::InfInData();
  }

  [[nodiscard]] float const* Row(std::size_t i) const { return values + i * n_columns; }
};

class ExtraColumns {
 public:
  struct Column {
    std::vector<float> cuts;
    std::vector<std::size_t> hits;  // number of values by bin
  };

  ExtraColumns(Context const* ctx, bst_bin_t max_bin) : ctx_{ctx}, max_bin_{max_bin} {}

  /**
   * @brief Find cuts and bins. With several workers, all must call this together.
   *
   * @param kept Whether `bins` are still those of the last time.
   * @param info Weights of the rows and so on; its size is set to that of the columns.
   * @param bins Where to write the bins.
   */
  void Update(ExtraView extra, bool kept, MetaInfo* info, JoinedColumns* bins) {
    auto last = std::move(last_);  // empty after an exception
    this->Requantise(extra, this->FindChanged(extra, kept, &last), info, bins);
    last_ = std::move(last);
  }

  [[nodiscard]] std::vector<Column> const& Columns() const { return columns_; }

 private:
  /** @brief To compare values, NaN being equal to NaN. */
  static std::uint32_t Bits(float value) {
    std::uint32_t bits;
    static_assert(sizeof(bits) == sizeof(value));
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }

  /**
   * @brief Find the bin of each value: the first one whose cut is above it, else the last.
   *
   * XGBoost's own search takes the values one by one. Here the steps of the binary searches of a
   * block of values are interleaved: they do not wait for each other, and do not branch.
   */
  [[nodiscard]] std::vector<std::uint32_t> FindBins(common::Span<Entry const> values) const {
    std::size_t n_places{1};  // for the cuts of a column: a power of two
    for (auto const& column : columns_) {
      while (n_places < column.cuts.size()) {
        n_places *= 2;
      }
    }
    std::vector<float> places(columns_.size() * n_places, std::numeric_limits<float>::infinity());
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      std::copy(columns_[j].cuts.cbegin(), columns_[j].cuts.cend(), places.begin() + j * n_places);
    }

    std::vector<std::uint32_t> bins(values.size());
    constexpr std::size_t kBlock = 64;
    ForEachRun(bins.size(), kBlock, ctx_->Threads(), [&](auto, auto begin, auto end) {
      std::array<std::size_t, kBlock> place;
      for (auto k = begin; k < end; ++k) {
        place[k - begin] = values.data()[k].index * n_places;
      }
      for (auto step = n_places / 2; step > 0; step /= 2) {
        for (auto k = begin; k < end; ++k) {
          auto const is_above = places[place[k - begin] + step - 1] <= values.data()[k].fvalue;
          place[k - begin] += step * static_cast<std::size_t>(is_above);
        }
      }
      for (auto k = begin; k < end; ++k) {
        auto const j = values.data()[k].index;
        bins[k] = std::min(place[k - begin] - j * n_places, columns_[j].cuts.size() - 1);
      }
    });
    return bins;
  }

  /** @brief Find the columns that changed on any worker, and replace the values of last time. */
  [[nodiscard]] std::vector<bst_feature_t> FindChanged(ExtraView extra, bool kept,
                                                       std::vector<float>* last) const {
    auto const n = extra.n_rows * extra.n_columns;
    std::vector<std::uint32_t> differs(extra.n_columns, !kept || last->size() != n);
    last->resize(n);
    for (std::size_t i = 0; i < extra.n_rows; ++i) {
      auto const* now = extra.Row(i);
      auto* before = last->data() + i * extra.n_columns;
      for (std::size_t j = 0; j < extra.n_columns; ++j) {
        differs[j] |= Bits(now[j]) ^ Bits(before[j]);
        before[j] = now[j];
      }
    }
    for (auto& bits : differs) {
      bits = bits != 0;
    }
    MaxOverWorkers(ctx_, &differs);
    std::vector<bst_feature_t> changed;
    for (bst_feature_t j = 0; j < differs.size(); ++j) {
      if (differs[j]) {
        changed.push_back(j);
      }
    }
    return changed;
  }

  void Requantise(ExtraView extra, std::vector<bst_feature_t> const& changed, MetaInfo* info,
                  JoinedColumns* out) {
    SparsePage page;
    auto& values = page.data.HostVector();
    auto& row_ptr = page.offset.HostVector();
    std::vector<bst_idx_t> sizes(extra.n_columns, 0);
    for (std::size_t i = 0; i < extra.n_rows; ++i) {
      auto const* row = extra.Row(i);
      for (auto j : changed) {
        if (!std::isnan(row[j])) {
          values.emplace_back(j, row[j]);
          ++sizes[j];
        }
      }
      row_ptr.push_back(values.size());
    }

    // Columns that did not change are empty here; their cuts are not used.
    info->num_col_ = extra.n_columns;
    info->num_nonzero_ = values.size();
    common::HostSketchContainer sketch{
        ctx_, max_bin_, {}, std::move(sizes), common::HostSketchContainer::UseGroup(*info)};
    sketch.PushRowPage(page, *info);
    auto const cuts = sketch.MakeCuts(ctx_, *info);
    columns_.resize(extra.n_columns);
    for (auto j : changed) {
      auto const begin = cuts.Values().cbegin();
      columns_[j].cuts.assign(begin + cuts.Ptrs()[j], begin + cuts.Ptrs()[j + 1]);
      columns_[j].hits.assign(columns_[j].cuts.size(), 0);
      out->Clear(j);
    }

    auto const bins = this->FindBins(page.data.ConstHostSpan());
    for (std::size_t k = 0; k < bins.size(); ++k) {
      ++columns_[values[k].index].hits[bins[k]];
    }
    out->Set(page.GetView(), bins);
  }

  Context const* ctx_;
  bst_bin_t max_bin_;
  std::vector<Column> columns_;
  std::vector<float> last_;  // the values that columns_ and the bins were made of
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_EXTRA_COLUMNS_H_
