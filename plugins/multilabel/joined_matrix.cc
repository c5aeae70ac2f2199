/**
 * @brief Features that are quantised once and joined with further columns again and again.
 *
 * A classifier chain trains each round on [X | P], where X stays and P, the propagated labels,
 * changes. `XDCCQuantiseFeatures` makes the bins of X, `XDCCJoinFeatures` the matrix of a round: the
 * bins of X are copied, and only P is sketched and searched. Cuts and bins are those that XGBoost
 * would make of [X | P], and so are the trees.
 *
 * The memory of a new page costs more than filling it, in page faults. What a joined page uses is
 * therefore kept, and used for the next one if the last one is gone by then; of the bins by
 * columns, those of X are in their place already (`JoinedColumns`).
 */
#include <algorithm>   // for copy_n, count_if, fill, min, transform
#include <atomic>     // for atomic
#include <cmath>      // for isinf, isnan
#include <cstddef>    // for byte, size_t
#include <cstdint>    // for int64_t, uint8_t, uint32_t
#include <functional>  // for minus, plus
#include <iterator>    // for back_inserter
#include <memory>     // for make_shared, shared_ptr
#include <numeric>    // for partial_sum
#include <string>     // for string
#include <utility>    // for move
#include <vector>     // for vector

#include "../../src/c_api/c_api_error.h"           // for API_BEGIN, API_END, CHECK_HANDLE
#include "../../src/c_api/c_api_utils.h"           // for CastDMatrixHandle
#include "../../src/common/bitfield.h"             // for LBitField32
#include "../../src/common/column_matrix.h"        // for ColumnType
#include "../../src/common/common.h"               // for DivRoundUp
#include "../../src/common/error_msg.h"            // for InfInData
#include "../../src/common/hist_util.h"            // for HistogramCuts, Index, DispatchBinType
#include "../../src/common/io.h"                   // for MallocResource, AlignedMemWriteStream
#include "../../src/common/json_utils.h"           // for OptionalArg
#include "../../src/common/quantile.h"             // for HostSketchContainer
#include "../../src/common/ref_resource_view.h"    // for MakeFixedVecWithMalloc, ReadVec, WriteVec
#include "../../src/common/threading_utils.h"      // for ParallelFor
#include "../../src/data/array_interface.h"        // for ArrayInterface
#include "../../src/data/batch_utils.h"            // for CheckParam
#include "../../src/data/gradient_index.h"         // for GHistIndexMatrix
#include "../../src/data/quantile_dmatrix.h"       // for QuantileDMatrix
#include "../../src/data/simple_batch_iterator.h"  // for SimpleBatchIteratorImpl
#include "../../src/tree/param.h"                  // for TrainParam
#include "xgboost/base.h"                          // for bst_bin_t, bst_feature_t, bst_idx_t
#include "xgboost/c_api.h"                         // for XGB_DLL, DMatrixHandle
#include "xgboost/context.h"                       // for Context
#include "xgboost/data.h"                          // for DMatrix, MetaInfo, SparsePage, Entry
#include "xgboost/json.h"                          // for Json, Integer
#include "xgboost/logging.h"                       // for CHECK, LOG
#include "xgboost/span.h"                          // for Span
#include "xgboost/string_view.h"                   // for StringView

namespace xgboost::multilabel {
namespace {
using Memory = std::shared_ptr<common::MallocResource>;

/** @brief Whether no page uses the memory any more. */
bool IsFree(Memory const& memory) { return memory.use_count() == 1; }

/**
 * @brief Find the bin of a value: the first whose cut is above it, else the last.
 *
 * XGBoost's own search branches, which for values in no order takes several times as long.
 */
std::uint32_t FindBin(std::vector<std::uint32_t> const& ptrs, std::vector<float> const& cuts,
                      Entry value) {
  auto first = ptrs[value.index];
  for (auto n = ptrs[value.index + 1] - first; n > 1;) {
    auto const half = n / 2;
    first += half * static_cast<std::uint32_t>(cuts[first + half - 1] <= value.fvalue);
    n -= half;
  }
  return first;
}

/** @brief A matrix of a single page of bins that is at hand. */
class QuantisedMatrix : public data::QuantileDMatrix {
 public:
  QuantisedMatrix(Context const& ctx, MetaInfo&& info, BatchParam const& batch,
                  std::shared_ptr<GHistIndexMatrix const> page)
      : batch_{batch}, page_{std::move(page)} {
    this->fmat_ctx_ = ctx;
    this->info_ = std::move(info);
  }

  [[nodiscard]] bool EllpackExists() const override { return false; }
  [[nodiscard]] bool GHistIndexExists() const override { return true; }

  BatchSet<GHistIndexMatrix> GetGradientIndex(Context const*, BatchParam const& param) override {
    if (param.Initialized()) {  // a prediction has no parameters
      data::detail::CheckParam(batch_, param);
    }
    return BatchSet{BatchIterator<GHistIndexMatrix>{
        new data::SimpleBatchIteratorImpl<GHistIndexMatrix>{page_}}};
  }
  BatchSet<EllpackPage> GetEllpackBatches(Context const*, BatchParam const&) override {
    LOG(FATAL) << "Joined features do not support GPUs. Set `device` to `cpu`.";
    return BatchSet{BatchIterator<EllpackPage>{nullptr}};
  }
  BatchSet<ExtSparsePage> GetExtBatches(Context const*, BatchParam const&) override {
    LOG(FATAL) << "Joined features hold bins, not the values that the bins were made of.";
    return BatchSet{BatchIterator<ExtSparsePage>{nullptr}};
  }

 protected:
  BatchParam const batch_;
  std::shared_ptr<GHistIndexMatrix const> const page_;
};

/**
 * @brief The bins of [X | P] by columns; trees need them to send rows to the left or right.
 *
 * Laid out as a page writes and reads its columns, so that a page can use them where they are. The
 * columns of X are as in the page of X, sparse or dense. Those of P come last and are dense, with
 * flags where values are missing: nothing else changes from one page to the next.
 */
class JoinedColumns {
 public:
  /**
   * @brief Prepare columns in which all of P is missing.
   *
   * @param features The page of X.
   * @param n_extra  Number of columns of P.
   */
  void Reset(GHistIndexMatrix const& features, bst_feature_t n_extra) {
    if (!IsFree(memory_) || n_extra != n_extra_) {
      this->Build(features, n_extra);
    }
    // Flag by flag up to the next word, the last flags of X being in the same one; then by words.
    auto const words = missing_.Bits();
    auto const first_word = common::DivRoundUp(begin_, LBitField32::kValueSize);
    for (auto pos = begin_; pos < std::min(end_, first_word * LBitField32::kValueSize); ++pos) {
      missing_.Set(pos);
    }
    std::fill(words.begin() + first_word, words.end(), ~std::uint32_t{0});
  }

  /**
   * @brief Set the values of P that are known.
   *
   * @param values The known values of P by rows.
   * @param bins   Bin of each value, counted from the first bin of P.
   * @param ptrs   First bin of each column of P, counted so too.
   */
  void Set(HostSparsePageView values, std::vector<std::uint32_t> const& bins,
           std::vector<std::uint32_t> const& ptrs) {
    common::DispatchBinType(bin_type_, [&](auto t) {
      auto* out = reinterpret_cast<decltype(t)*>(bins_);
      auto bin = bins.cbegin();
      for (std::size_t i = 0; i < values.Size(); ++i) {
        for (auto const& entry : values[i]) {
          auto const pos = begin_ + entry.index * values.Size() + i;
          out[pos] = static_cast<decltype(t)>(*bin++ - ptrs[entry.index]);
          missing_.Clear(pos);
        }
      }
    });
  }

  /** @brief Give the columns to a page, whose cuts are set already. */
  void GiveTo(GHistIndexMatrix* page) {
    *any_missing_ = !page->IsDense();
    common::AlignedResourceReadStream stream{memory_};
    CHECK(page->ReadColumnPage(&stream));
  }

 private:
  static Memory CopyToMemory(std::string const& buffer) {
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
    std::vector<std::size_t> rows, offsets;  // rows of the values of sparse columns
    std::vector<std::uint32_t> missing;
    CHECK(common::ReadVec(&in, &bins) && common::ReadVec(&in, &types) &&
          common::ReadVec(&in, &rows) && common::ReadVec(&in, &offsets) &&
          common::ReadVec(&in, &missing) && in.Read(&bin_type_));

    n_extra_ = n_extra;
    begin_ = offsets.back();
    for (bst_feature_t f = 0; f < n_extra; ++f) {
      types.push_back(common::kDenseColumn);
      offsets.push_back(offsets.back() + features.Size());
    }
    end_ = offsets.back();
    bins.resize(end_ * bin_type_);
    missing.resize(LBitField32::ComputeStorageSize(end_));

    buffer.clear();
    common::AlignedMemWriteStream out{&buffer};
    n_bytes = common::WriteVec(&out, bins) + common::WriteVec(&out, types) +
              common::WriteVec(&out, rows) + common::WriteVec(&out, offsets);
    auto const missing_begin = n_bytes + sizeof(std::uint64_t);  // behind its length
    n_bytes += common::WriteVec(&out, missing) + out.Write(bin_type_);
    auto const any_missing_begin = n_bytes;
    n_bytes += out.Write(true);
    CHECK_EQ(n_bytes, buffer.size());

    memory_ = CopyToMemory(buffer);
    bins_ = memory_->DataAs<std::byte>() + sizeof(std::uint64_t);
    auto* words = reinterpret_cast<std::uint32_t*>(memory_->DataAs<std::byte>() + missing_begin);
    missing_ = LBitField32{{words, missing.size()}};
    any_missing_ = reinterpret_cast<bool*>(memory_->DataAs<std::byte>() + any_missing_begin);
  }

  Memory memory_;
  bst_feature_t n_extra_{0};
  common::BinTypeSize bin_type_;
  // In memory_: bins, flags of missing values, whether there are any. The bins of P are those from
  // begin_ to end_.
  std::byte* bins_{nullptr};
  LBitField32 missing_;
  bool* any_missing_{nullptr};
  std::size_t begin_{0};
  std::size_t end_{0};
};

/** @brief The bins of X, to be joined with further columns. */
class QuantisedFeatures : public QuantisedMatrix {
 public:
  /** @brief Make the bins of a matrix, unless it has them already. */
  static std::shared_ptr<DMatrix> Make(DMatrix* p_fmat, bst_bin_t max_bin) {
    auto const& info = p_fmat->Info();
    CHECK(p_fmat->SingleColBlock()) << "Features in external memory cannot be joined.";
    CHECK(info.feature_names.empty() && info.feature_types.Empty() && info.feature_weights.Empty())
        << "Features with names, types or weights cannot be joined: the columns that they are "
           "joined with have none.";
    BatchParam const batch{max_bin, tree::TrainParam::DftSparseThreshold()};
    auto const ctx = p_fmat->Ctx()->MakeCPU();
    auto pages = p_fmat->GetBatches<GHistIndexMatrix>(&ctx, batch);
    auto copy = info.Copy();
    copy.num_nonzero_ = info.num_nonzero_;
    return std::make_shared<QuantisedFeatures>(ctx, std::move(copy), batch, pages.begin().Page());
  }

  using QuantisedMatrix::QuantisedMatrix;

  /**
   * @brief Make a matrix of the features and further columns behind them.
   *
   * @param extra The columns, NaN where a value is missing. [n_rows, n_columns]
   */
  std::shared_ptr<DMatrix> Join(ArrayInterface<2> const& extra) {
    auto const n_rows = info_.num_row_;
    CHECK(extra.type == ArrayInterfaceHandler::kF4 && extra.is_contiguous)
        << "The columns to join have to be an array of 32-bit floats, row by row without gaps.";
    CHECK_EQ(extra.Shape<0>(), n_rows)
        << "The columns to join have " << extra.Shape<0>() << " rows, the features " << n_rows;
    CHECK_GT(extra.Shape<1>(), 0) << "There are no columns to join.";

    SparsePage known;
    this->FindKnown(extra, &known);
    auto const view = known.GetView();
    auto info = info_.Copy();
    info.num_col_ = extra.Shape<1>();
    info.num_nonzero_ = known.data.Size();
    auto const cuts = this->Sketch(known, info);

    std::vector<std::uint32_t> bins(known.data.Size());
    common::ParallelFor(bins.size(), fmat_ctx_.Threads(), [&](auto k) {
      bins[k] = FindBin(cuts.Ptrs(), cuts.Values(), view.data[k]);
    });
    auto page = std::make_shared<GHistIndexMatrix>();
    page->max_numeric_bins_per_feat = page_->max_numeric_bins_per_feat;
    page->SetDense(page_->IsDense() && info.IsDense());
    this->JoinCuts(cuts, &page->cut);
    this->CountHits(bins, page.get());
    this->JoinRows(view, bins, cuts.Ptrs(), page.get());
    columns_.Reset(*page_, cuts.NumFeatures());
    columns_.Set(view, bins, cuts.Ptrs());
    columns_.GiveTo(page.get());

    info.num_col_ += info_.num_col_;
    info.num_nonzero_ += info_.num_nonzero_;
    return std::make_shared<QuantisedMatrix>(fmat_ctx_, std::move(info), batch_, std::move(page));
  }

 private:
  /** @brief Collect the values that are not missing, by rows. */
  void FindKnown(ArrayInterface<2> const& extra, SparsePage* out) const {
    auto const n_columns = extra.Shape<1>();
    auto const* values = static_cast<float const*>(extra.data);
    auto& row_ptr = out->offset.HostVector();
    row_ptr.resize(info_.num_row_ + 1);
    common::ParallelFor(info_.num_row_, fmat_ctx_.Threads(), [&](auto i) {
      row_ptr[i + 1] = std::count_if(values + i * n_columns, values + (i + 1) * n_columns,
                                     [](float v) { return !std::isnan(v); });
    });
    std::partial_sum(row_ptr.cbegin(), row_ptr.cend(), row_ptr.begin());
    auto& known = out->data.HostVector();
    known.resize(row_ptr.back());
    std::atomic<bool> any_inf{false};
    common::ParallelFor(info_.num_row_, fmat_ctx_.Threads(), [&](auto i) {
      auto* entry = known.data() + row_ptr[i];
      for (std::size_t j = 0; j < n_columns; ++j) {
        auto const value = values[i * n_columns + j];
        if (!std::isnan(value)) {
          *entry++ = {static_cast<bst_feature_t>(j), value};
          if (std::isinf(value)) {
            any_inf = true;
          }
        }
      }
    });
    CHECK(!any_inf) << error::InfInData();
  }

  /** @brief Find the cuts of columns as XGBoost does for a matrix. */
  [[nodiscard]] common::HistogramCuts Sketch(SparsePage const& columns,
                                             MetaInfo const& info) const {
    std::vector<bst_idx_t> sizes(info.num_col_, 0);
    for (auto const& entry : columns.data.ConstHostVector()) {
      ++sizes[entry.index];
    }
    common::HostSketchContainer sketch{&fmat_ctx_, batch_.max_bin, {}, std::move(sizes),
                                       common::HostSketchContainer::UseGroup(info)};
    sketch.PushRowPage(columns, info);
    return sketch.MakeCuts(&fmat_ctx_, info);
  }

  void JoinCuts(common::HistogramCuts const& extra, common::HistogramCuts* out) const {
    *out = page_->cut;
    auto& values = out->cut_values_.HostVector();
    values.insert(values.end(), extra.Values().cbegin(), extra.Values().cend());
    auto& ptrs = out->cut_ptrs_.HostVector();
    auto const n_bins = ptrs.back();
    std::transform(extra.Ptrs().cbegin() + 1, extra.Ptrs().cend(), std::back_inserter(ptrs),
                   [&](std::uint32_t ptr) { return n_bins + ptr; });
  }

  void CountHits(std::vector<std::uint32_t> const& bins, GHistIndexMatrix* page) const {
    page->hit_count = common::MakeFixedVecWithMalloc(page->cut.TotalBins(), std::size_t{0});
    auto* extra = std::copy_n(page_->hit_count.cbegin(), page_->hit_count.size(),
                              page->hit_count.begin());
    for (auto bin : bins) {
      ++extra[bin];
    }
  }

  /**
   * @brief Write the rows of [X | P].
   *
   * @param values The known values of P by rows.
   * @param bins   Bin of each value, counted from the first bin of P.
   * @param ptrs   First bin of each column of P, counted so too.
   */
  void JoinRows(HostSparsePageView values, std::vector<std::uint32_t> const& bins,
                std::vector<std::uint32_t> const& ptrs, GHistIndexMatrix* page) {
    auto const n_rows = values.Size();
    page->row_ptr = common::MakeFixedVecWithMalloc(n_rows + 1, std::size_t{0});
    std::transform(page_->row_ptr.cbegin(), page_->row_ptr.cend(), values.offset.cbegin(),
                   page->row_ptr.begin(), std::plus{});
    auto const type = page->IsDense() ? page_->index.GetBinTypeSize() : common::kUint32BinsTypeSize;
    auto const n_bytes = page->row_ptr.back() * type;
    if (!IsFree(rows_) || rows_->Size() < n_bytes) {
      // The rows of a chain grow a little in every round.
      rows_ = std::make_shared<common::MallocResource>(n_bytes + n_bytes / 4);
    }
    page->data = {rows_->DataAs<std::uint8_t>(), n_bytes, rows_};
    page->index = common::Index{page->data.ToSpan(), type};
    if (page->IsDense()) {
      page->index.SetBinOffset(page->cut.Ptrs());
    }

    auto const& x_ptrs = page_->cut.Ptrs();
    common::DispatchBinType(page_->index.GetBinTypeSize(), [&](auto t) {
      using BinT = decltype(t);
      common::ParallelFor(n_rows, fmat_ctx_.Threads(), [&](auto i) {
        auto const n = page_->row_ptr[i + 1] - page_->row_ptr[i];
        auto const* x = page_->index.template data<BinT>() + page_->row_ptr[i];
        auto const begin = values.offset[i], end = values.offset[i + 1];
        if (page->IsDense()) {  // bins are counted within their feature
          auto* out = std::copy_n(x, n, page->index.template data<BinT>() + page->row_ptr[i]);
          std::transform(bins.cbegin() + begin, bins.cbegin() + end, ptrs.cbegin(), out,
                         std::minus{});
          return;
        }
        auto* out = page->index.template data<std::uint32_t>() + page->row_ptr[i];
        out = page_->IsDense() ? std::transform(x, x + n, x_ptrs.cbegin(), out, std::plus{})
                               : std::copy_n(x, n, out);
        std::transform(bins.cbegin() + begin, bins.cbegin() + end, out,
                       [&](std::uint32_t bin) { return x_ptrs.back() + bin; });
      });
    });
  }

  Memory rows_;
  JoinedColumns columns_;
};
}  // namespace
}  // namespace xgboost::multilabel

/**
 * @brief Quantise features, to join them with further columns later.
 *
 * @param handle Matrix of the features, with labels, weights and so on. It is not needed later.
 * @param config JSON: `max_bin` as the booster that is trained on it has it.
 * @param out    Matrix of the features.
 * @return 0 when success, -1 when failure happens
 */
XGB_DLL int XDCCQuantiseFeatures(DMatrixHandle handle, char const* config, DMatrixHandle* out) {
  API_BEGIN();
  using namespace xgboost;  // NOLINT
  CHECK_HANDLE();
  xgboost_CHECK_C_ARG_PTR(config);
  xgboost_CHECK_C_ARG_PTR(out);
  tree::TrainParam param;
  param.UpdateAllowUnknown(Args{});
  auto const j_config = Json::Load(StringView{config});
  auto const max_bin = OptionalArg<Integer, std::int64_t>(j_config, "max_bin", param.max_bin);
  *out = new std::shared_ptr<DMatrix>{
      multilabel::QuantisedFeatures::Make(CastDMatrixHandle(handle).get(), max_bin)};
  API_END();
}

/**
 * @brief Join quantised features with columns behind them.
 *
 * The new matrix has the features' labels, weights and so on. Uses the memory of the matrix that
 * was made last from the same features, if that was freed. With several workers, all of them have to
 * call this together: the columns' cuts are found from the rows of all.
 *
 * @param handle  What `XDCCQuantiseFeatures` made.
 * @param columns Array interface of the columns: 32-bit floats, row by row, NaN where missing.
 * @param out     Matrix of the features and the columns.
 * @return 0 when success, -1 when failure happens
 */
XGB_DLL int XDCCJoinFeatures(DMatrixHandle handle, char const* columns, DMatrixHandle* out) {
  API_BEGIN();
  using namespace xgboost;  // NOLINT
  CHECK_HANDLE();
  xgboost_CHECK_C_ARG_PTR(columns);
  xgboost_CHECK_C_ARG_PTR(out);
  auto const p_fmat = CastDMatrixHandle(handle);
  auto* features = dynamic_cast<multilabel::QuantisedFeatures*>(p_fmat.get());
  CHECK(features) << "Only features from `XDCCQuantiseFeatures` can be joined.";
  *out = new std::shared_ptr<DMatrix>{features->Join(ArrayInterface<2>{StringView{columns}})};
  API_END();
}
