/**
 * @brief The bins of [X | P] by columns; trees need them to partition rows.
 *
 * Their layout is that of a page's columns, so that a page can use them without a copy. The
 * columns of X are as in the page of X, sparse or dense. Those of P come last and are dense, with
 * flags where values are missing: nothing else changes from one page to the next.
 */
#ifndef XDCC_MULTILABEL_JOINED_COLUMNS_H_
#define XDCC_MULTILABEL_JOINED_COLUMNS_H_

#include <algorithm>  // for copy_n
#include <cstddef>    // for byte, size_t
#include <cstdint>    // for uint8_t, uint32_t, uint64_t
#include <memory>     // for make_shared, shared_ptr
#include <string>     // for string
#include <vector>     // for vector

#include "../../../src/common/bitfield.h"           // for LBitField32
#include "../../../src/common/column_matrix.h"      // for ColumnType
#include "../../../src/common/hist_util.h"          // for BinTypeSize, DispatchBinType
#include "../../../src/common/io.h"                 // for MallocResource, AlignedMemWriteStream
#include "../../../src/common/ref_resource_view.h"  // for ReadVec, WriteVec
#include "../../../src/data/gradient_index.h"       // for GHistIndexMatrix
#include "xgboost/base.h"                           // for bst_feature_t
#include "xgboost/data.h"                           // for HostSparsePageView
#include "xgboost/logging.h"                        // for CHECK

namespace xgboost::multilabel {
/** @brief Memory that a page may share with its maker. */
using PageMemory = std::shared_ptr<common::MallocResource>;

/** @brief Whether there is memory and no page uses it any more. */
inline bool IsFree(PageMemory const& memory) { return memory.use_count() == 1; }

class JoinedColumns {
 public:
  /**
   * @brief Get ready for a page.
   *
   * @param features The page of X.
   * @param n_extra  Number of columns of P.
   * @return Whether P is as it was in the last page. If not, all of P is missing.
   */
  bool Reset(GHistIndexMatrix const& features, bst_feature_t n_extra) {
    if (IsFree(memory_) && n_extra == n_extra_) {
      return true;
    }
    this->Build(features, n_extra);
    return false;
  }

  /** @brief Make all values of a column of P missing. */
  void Clear(bst_feature_t column) {
    for (std::size_t i = 0; i < n_rows_; ++i) {
      missing_.Set(begin_ + column * n_rows_ + i);
    }
  }

  /**
   * @brief Set values of P.
   *
   * @param values Values by rows; their index is their column of P.
   * @param bins   Bin of each value within its column.
   */
  void Set(HostSparsePageView values, std::vector<std::uint32_t> const& bins) {
    common::DispatchBinType(bin_type_, [&](auto t) {
      using BinT = decltype(t);
      auto* all_bins = reinterpret_cast<BinT*>(bins_);
      auto bin = bins.cbegin();
      for (std::size_t i = 0; i < n_rows_; ++i) {
        for (auto const& entry : values[i]) {
          auto const pos = begin_ + entry.index * n_rows_ + i;
          all_bins[pos] = static_cast<BinT>(*bin++);
          missing_.Clear(pos);
        }
      }
    });
  }

  [[nodiscard]] common::BinTypeSize BinType() const { return bin_type_; }

  /** @brief Bins of P within their column, column by column. [n_extra, n_rows] */
  template <typename BinT>
  [[nodiscard]] BinT const* Bins() const {
    return reinterpret_cast<BinT const*>(bins_) + begin_;
  }

  /** @brief Give the columns to a page, whose cuts are set already. */
  void GiveTo(GHistIndexMatrix* page) {
    *any_missing_ = !page->IsDense();
    common::AlignedResourceReadStream stream{memory_};
    CHECK(page->ReadColumnPage(&stream));
  }

 private:
  static PageMemory CopyToMemory(std::string const& buffer) {
    auto memory = std::make_shared<common::MallocResource>(buffer.size());
    std::copy_n(buffer.data(), buffer.size(), memory->DataAs<char>());
    return memory;
  }

  void Build(GHistIndexMatrix const& features, bst_feature_t n_extra) {
    std::string buffer;
    common::AlignedMemWriteStream of_features{&buffer};
    auto n_bytes = features.WriteColumnPage(&of_features);
    CHECK_EQ(n_bytes, buffer.size());

    common::AlignedResourceReadStream in{CopyToMemory(buffer)};
    std::vector<std::uint8_t> bins;
    std::vector<common::ColumnType> types;
    std::vector<std::size_t> sparse_rows, offsets;
    std::vector<std::uint32_t> missing;
    CHECK(common::ReadVec(&in, &bins) && common::ReadVec(&in, &types) &&
          common::ReadVec(&in, &sparse_rows) && common::ReadVec(&in, &offsets) &&
          common::ReadVec(&in, &missing) && in.Read(&bin_type_));

    n_rows_ = features.Size();
    n_extra_ = n_extra;
    begin_ = offsets.back();
    for (bst_feature_t f = 0; f < n_extra; ++f) {
      types.push_back(common::kDenseColumn);
      offsets.push_back(offsets.back() + n_rows_);
    }
    bins.resize(offsets.back() * bin_type_);
    missing.resize(LBitField32::ComputeStorageSize(offsets.back()));

    buffer.clear();
    common::AlignedMemWriteStream out{&buffer};
    n_bytes = common::WriteVec(&out, bins) + common::WriteVec(&out, types) +
              common::WriteVec(&out, sparse_rows) + common::WriteVec(&out, offsets);
    auto const missing_at = n_bytes + sizeof(std::uint64_t);  // after their number
    n_bytes += common::WriteVec(&out, missing) + out.Write(bin_type_);
    auto const any_missing_at = n_bytes;
    n_bytes += out.Write(true);
    CHECK_EQ(n_bytes, buffer.size());

    memory_ = CopyToMemory(buffer);
    auto* begin = memory_->DataAs<std::byte>();
    bins_ = begin + sizeof(std::uint64_t);
    missing_ = LBitField32{{reinterpret_cast<std::uint32_t*>(begin + missing_at), missing.size()}};
    any_missing_ = reinterpret_cast<bool*>(begin + any_missing_at);
    for (bst_feature_t f = 0; f < n_extra; ++f) {
      this->Clear(f);
    }
  }

  PageMemory memory_;
  std::size_t n_rows_{0};
  bst_feature_t n_extra_{0};
  common::BinTypeSize bin_type_{};
  std::size_t begin_{0};  // of P among the bins and among their flags
  // In memory_: bins within their column, flags of missing values, whether there are any.
  std::byte* bins_{nullptr};
  LBitField32 missing_;
  bool* any_missing_{nullptr};
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_JOINED_COLUMNS_H_
