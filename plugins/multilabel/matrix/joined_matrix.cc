/**
 * @brief Features that are quantised once and joined with other columns in each round of a chain.
 *
 * A classifier chain trains each round on [X | P], where X stays and P, the propagated labels,
 * changes. `XDCCQuantiseFeatures` makes the bins of X, `XDCCJoinFeatures` the matrix of a round:
 * the bins of X are copied, those of P found anew where P changed (`extra_columns.h`). Cuts and
 * bins are those that XGBoost would make of [X | P], and so are the trees. Features of X may be
 * categorical; the columns of P are numbers.
 *
 * The memory of a new page costs more than filling it, in page faults. What a joined page uses is
 * therefore kept, and used for the next one if the last one is gone by then.
 */
#include <algorithm>   // for copy_n, count_if, transform
#include <cmath>       // for isnan
#include <cstddef>     // for size_t
#include <cstdint>     // for int64_t, uint8_t, uint32_t
#include <functional>  // for plus
#include <memory>      // for make_shared, shared_ptr
#include <numeric>     // for partial_sum
#include <utility>     // for move
#include <vector>      // for vector

#include "../../../src/c_api/c_api_error.h"           // for API_BEGIN, API_END, CHECK_HANDLE
#include "../../../src/c_api/c_api_utils.h"           // for CastDMatrixHandle
#include "../../../src/common/error_msg.h"            // for InvalidMaxBin
#include "../../../src/common/hist_util.h"            // for HistogramCuts, Index, DispatchBinType
#include "../../../src/common/io.h"                   // for MallocResource
#include "../../../src/common/json_utils.h"           // for OptionalArg
#include "../../../src/common/ref_resource_view.h"    // for MakeFixedVecWithMalloc
#include "../../../src/common/threading_utils.h"      // for ParallelFor
#include "../../../src/data/array_interface.h"        // for ArrayInterface
#include "../../../src/data/batch_utils.h"            // for CheckParam
#include "../../../src/data/gradient_index.h"         // for GHistIndexMatrix
#include "../../../src/data/quantile_dmatrix.h"       // for QuantileDMatrix
#include "../../../src/data/simple_batch_iterator.h"  // for SimpleBatchIteratorImpl
#include "../../../src/tree/param.h"                  // for TrainParam
#include "extra_columns.h"                            // for ExtraColumns, ExtraView
#include "joined_columns.h"                           // for JoinedColumns, PageMemory, IsFree
#include "xgboost/base.h"                             // for Args, bst_bin_t
#include "xgboost/c_api.h"                            // for XGB_DLL, DMatrixHandle
#include "xgboost/context.h"                          // for Context
#include "xgboost/data.h"                             // for DMatrix, MetaInfo, BatchParam, BatchSet
#include "xgboost/json.h"                             // for Json, Integer
#include "xgboost/logging.h"                          // for CHECK, LOG
#include "xgboost/string_view.h"                      // for StringView

namespace xgboost::multilabel {
namespace {
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

/** @brief The bins of X, to be joined with further columns. */
class QuantisedFeatures : public QuantisedMatrix {
 public:
  QuantisedFeatures(Context const& ctx, MetaInfo&& info, BatchParam const& batch,
                    std::shared_ptr<GHistIndexMatrix const> page)
      : QuantisedMatrix{ctx, std::move(info), batch, std::move(page)},
        extra_{&fmat_ctx_, batch.max_bin} {}

  /** @brief Make the bins of a matrix, unless it has them already. */
  static std::shared_ptr<DMatrix> Make(DMatrix* p_fmat, bst_bin_t max_bin) {
    auto const& info = p_fmat->Info();
    CHECK_GE(max_bin, 2) << error::InvalidMaxBin();
    CHECK(p_fmat->SingleColBlock()) << "Features in external memory cannot be joined.";
    CHECK(info.feature_names.empty() && info.feature_weights.Empty() && info.Cats()->Empty())
        << "Features with names, weights or names of categories cannot be joined: the columns that "
           "they are joined with have none.";
    BatchParam const batch{max_bin, tree::TrainParam::DftSparseThreshold()};
    auto const ctx = p_fmat->Ctx()->MakeCPU();
    auto pages = p_fmat->GetBatches<GHistIndexMatrix>(&ctx, batch);
    auto copy = info.Copy();
    copy.num_nonzero_ = info.num_nonzero_;
    return std::make_shared<QuantisedFeatures>(ctx, std::move(copy), batch, pages.begin().Page());
  }

  /** @brief Make a matrix of the features and further columns after them. */
  std::shared_ptr<DMatrix> Join(ExtraView extra) {
    CHECK_EQ(extra.n_rows, info_.num_row_)
        << "The columns to join have " << extra.n_rows << " rows, the features " << info_.num_row_;
    auto info = info_.Copy();
    auto const kept = columns_.Reset(*page_, extra.n_columns);
    extra_.Update(extra, kept, &info, &columns_);

    auto page = std::make_shared<GHistIndexMatrix>();
    page->max_numeric_bins_per_feat = page_->max_numeric_bins_per_feat;
    this->JoinCuts(page.get());
    this->JoinRows(extra, page.get());
    columns_.GiveTo(page.get());

    info.num_col_ = info_.num_col_ + extra.n_columns;
    info.num_nonzero_ = page->row_ptr.back();
    if (!info_.feature_type_names.empty()) {
      std::vector<char const*> types(info.num_col_, "float");
      std::transform(info_.feature_type_names.cbegin(), info_.feature_type_names.cend(),
                     types.begin(), [](auto const& type) { return type.c_str(); });
      info.SetFeatureInfo("feature_type", types.data(), types.size());
    }
    return std::make_shared<QuantisedMatrix>(fmat_ctx_, std::move(info), batch_, std::move(page));
  }

 private:
  void JoinCuts(GHistIndexMatrix* page) const {
    page->cut = page_->cut;
    auto& values = page->cut.cut_values_.HostVector();
    auto& ptrs = page->cut.cut_ptrs_.HostVector();
    for (auto const& column : extra_.Columns()) {
      values.insert(values.end(), column.cuts.cbegin(), column.cuts.cend());
      ptrs.push_back(values.size());
    }
    page->hit_count = common::MakeFixedVecWithMalloc(values.size(), std::size_t{0});
    auto hits =
        std::copy_n(page_->hit_count.cbegin(), page_->hit_count.size(), page->hit_count.begin());
    for (auto const& column : extra_.Columns()) {
      hits = std::copy_n(column.hits.cbegin(), column.hits.size(), hits);
    }
  }

  void JoinRows(ExtraView extra, GHistIndexMatrix* page) {
    auto const n_threads = fmat_ctx_.Threads();
    page->row_ptr = common::MakeFixedVecWithMalloc(extra.n_rows + 1, std::size_t{0});
    common::ParallelFor(extra.n_rows, n_threads, [&](auto i) {
      auto const n_known =
          std::count_if(extra.Row(i), extra.Row(i + 1), [](float v) { return !std::isnan(v); });
      page->row_ptr[i + 1] = page_->row_ptr[i + 1] - page_->row_ptr[i] + n_known;
    });
    std::partial_sum(page->row_ptr.cbegin(), page->row_ptr.cend(), page->row_ptr.begin());

    page->SetDense(page->row_ptr.back() == extra.n_rows * page->Features());
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
    common::DispatchBinType(columns_.BinType(), [&](auto t) {
      using BinT = decltype(t);  // of columns, and of rows where nothing is missing
      if (page->IsDense()) {
        this->FillRows<BinT, BinT>(extra, *page, page->index.template data<BinT>());
      } else if (page_->IsDense()) {
        this->FillRows<BinT, BinT>(extra, *page, page->index.template data<std::uint32_t>());
      } else {
        this->FillRows<std::uint32_t, BinT>(extra, *page,
                                            page->index.template data<std::uint32_t>());
      }
    });
  }

  template <typename XBinT, typename PBinT, typename BinT>
  void FillRows(ExtraView extra, GHistIndexMatrix const& page, BinT* index) const {
    // Bins are counted within their feature where nothing is missing, else over all features.
    std::vector<std::uint32_t> first_bin(page.Features(), 0);
    if (!page.IsDense()) {
      std::copy_n(page.cut.Ptrs().cbegin(), first_bin.size(), first_bin.begin());
    }
    auto const* p_bins = columns_.Bins<PBinT>();
    auto const n_features = page_->Features();
    common::ParallelFor(extra.n_rows, fmat_ctx_.Threads(), [&](auto i) {
      auto const* x = page_->index.template data<XBinT>() + page_->row_ptr[i];
      auto const n = page_->row_ptr[i + 1] - page_->row_ptr[i];
      auto* out = index + page.row_ptr[i];
      out = page_->IsDense() ? std::transform(x, x + n, first_bin.cbegin(), out, std::plus<BinT>{})
                             : std::copy_n(x, n, out);
      auto const* row = extra.Row(i);
      for (std::size_t j = 0; j < extra.n_columns; ++j) {
        if (!std::isnan(row[j])) {
          *out++ = static_cast<BinT>(first_bin[n_features + j] + p_bins[j * extra.n_rows + i]);
        }
      }
    });
  }

  JoinedColumns columns_;
  PageMemory rows_;
  ExtraColumns extra_;
};
}  // namespace
}  // namespace xgboost::multilabel

/**
 * @brief Quantise features, to join them with further columns later.
 *
 * With several workers, all of them have to call this together, and `XDCCJoinFeatures` too: cuts
 * are found from the rows of all.
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
 * @brief Join quantised features with further columns.
 *
 * The new matrix has the features' labels, weights and so on. It uses the memory of the matrix that
 * was made last from the same features, if that was freed.
 *
 * @param handle  The handle from `XDCCQuantiseFeatures`.
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
  ArrayInterface<2> const array{StringView{columns}};
  *out = new std::shared_ptr<DMatrix>{features->Join(multilabel::ExtraView{array})};
  API_END();
}
