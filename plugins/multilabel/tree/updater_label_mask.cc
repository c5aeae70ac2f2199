/**
 * @brief The tree updater `mask_known_labels`: separate-and-conquer for classifier chains.
 *
 * Stands before the updater that grows the tree. Where the label feature of label j is present in
 * row i, the label is known there, and its gradient and Hessian are set to zero (section 3.3 of the
 * XDCC paper). Without `label_feature_begin` it does nothing.
 */
#include <algorithm>  // for lower_bound
#include <string>     // for string
#include <vector>     // for vector

#include "../../../src/common/hist_util.h"        // for DispatchBinType
#include "../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../../src/data/gradient_index.h"     // for GHistIndexMatrix
#include "../../../src/tree/param.h"              // for TrainParam
#include "../param/param.h"                       // for LabelFeatureParam
#include "xgboost/base.h"                         // for GradientPair, bst_target_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for DMatrix
#include "xgboost/gradient.h"                     // for GradientContainer
#include "xgboost/json.h"                         // for Json
#include "xgboost/linalg.h"                       // for MatrixView
#include "xgboost/logging.h"                      // for CHECK
#include "xgboost/tree_model.h"                   // for RegTree
#include "xgboost/tree_updater.h"                 // for TreeUpdater

namespace xgboost::multilabel {
namespace {
constexpr char kUpdaterName[] = "mask_known_labels";

class LabelMask : public TreeUpdater {
 public:
  explicit LabelMask(Context const* ctx) : TreeUpdater{ctx} { param_.UpdateAllowUnknown(Args{}); }

  void Configure(Args const& args) override {
    param_.UpdateAllowUnknown(args);
    for (auto const& [key, value] : args) {
      CHECK(key != "updater" || value.find(kUpdaterName) == std::string::npos ||
            param_.HasLabelFeatures())
          << "The tree updater `" << kUpdaterName << "` needs `label_feature_begin`, the column at "
          << "which the label features begin.";
    }
  }
  void LoadConfig(Json const& in) override {
    FromJson(get<Object const>(in).at("label_feature_param"), &param_);
  }
  void SaveConfig(Json* p_out) const override { (*p_out)["label_feature_param"] = ToJson(param_); }
  [[nodiscard]] char const* Name() const override { return kUpdaterName; }

  void Update(tree::TrainParam const* param, GradientContainer* gpair, DMatrix* p_fmat,
              common::Span<HostDeviceVector<bst_node_t>>, std::vector<RegTree*> const&) override {
    if (!param_.HasLabelFeatures()) {
      return;
    }
    CHECK(ctx_->IsCPU()) << "The tree updater `" << kUpdaterName
                         << "` does not support GPUs yet. Set `device` to `cpu`.";
    CHECK(!gpair->HasValueGrad()) << "The tree updater `" << kUpdaterName
                                  << "` does not support reduced gradients.";
    auto h_gpair = gpair->Grad()->HostView();
    CHECK_EQ(h_gpair.Shape(1), p_fmat->Info().labels.Shape(1))
        << "The tree updater `" << kUpdaterName
        << "` needs trees for all labels at once, multi_strategy=`multi_output_tree`.";
    auto const begin = static_cast<bst_feature_t>(param_.label_feature_begin);
    auto const n_labels = h_gpair.Shape(1);
    CHECK_LE(begin + n_labels, p_fmat->Info().num_col_)
        << "With label_feature_begin=" << begin << " and " << n_labels
        << " labels the label features would end at column " << begin + n_labels
        << ", but the matrix has " << p_fmat->Info().num_col_ << " columns.";

    BatchParam const batch{param->max_bin, param->sparse_threshold};
    for (auto const& page : p_fmat->GetBatches<GHistIndexMatrix>(ctx_, batch)) {
      this->MaskPage(page, begin, h_gpair);
    }
  }

 private:
  void MaskPage(GHistIndexMatrix const& page, bst_feature_t begin,
                linalg::MatrixView<GradientPair> gpair) const {
    auto const n_labels = gpair.Shape(1);
    if (page.IsDense()) {  // nothing is missing
      common::ParallelFor(page.Size(), ctx_->Threads(), [&](auto i) {
        for (std::size_t j = 0; j < n_labels; ++j) {
          gpair(page.base_rowid + i, j) = {};
        }
      });
      return;
    }
    auto const& ptrs = page.cut.Ptrs();
    auto const first_bin = ptrs[begin];
    std::vector<bst_target_t> label_of_bin;  // counted from first_bin
    for (std::size_t j = 0; j < n_labels; ++j) {
      label_of_bin.resize(ptrs[begin + j + 1] - first_bin, j);
    }
    common::DispatchBinType(page.index.GetBinTypeSize(), [&](auto t) {
      using BinT = decltype(t);
      auto const* index = page.index.data<BinT>();
      common::ParallelFor(page.Size(), ctx_->Threads(), [&](auto i) {
        auto const* row_end = index + page.row_ptr[i + 1];
        auto const* entry = std::lower_bound(index + page.row_ptr[i], row_end, first_bin);
        for (; entry != row_end && *entry - first_bin < label_of_bin.size(); ++entry) {
          gpair(page.base_rowid + i, label_of_bin[*entry - first_bin]) = {};
        }
      });
    });
  }

  LabelFeatureParam param_;
};
}  // namespace

XGBOOST_REGISTER_TREE_UPDATER(LabelMask, kUpdaterName)
    .describe("Set the gradients of labels that are known as features to zero.")
    .set_body([](Context const* ctx, ObjInfo const*) { return new LabelMask{ctx}; });
}  // namespace xgboost::multilabel
