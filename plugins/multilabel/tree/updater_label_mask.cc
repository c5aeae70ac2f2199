/**
 * @brief The tree updater `mask_known_labels`: separate-and-conquer for classifier chains.
 *
 * It runs before the updater that grows the tree. If the label feature of label j is present in
 * row i, the label is known there, and its gradient and Hessian are set to zero (section 3.3 of the
 * XDCC paper). If gradients are yet to be derived, the label is passed on as unknown. Without
 * `label_feature_begin` it does nothing.
 */
#include <algorithm>  // for copy_n, lower_bound
#include <cstddef>    // for size_t
#include <limits>     // for numeric_limits
#include <string>     // for string
#include <vector>     // for vector

#include "../../../src/common/hist_util.h"        // for DispatchBinType
#include "../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../../src/data/gradient_index.h"     // for GHistIndexMatrix
#include "../../../src/tree/param.h"              // for TrainParam
#include "../objective/logistic_loss.h"           // for LossOf
#include "../param/param.h"                       // for LabelFeatureParam
#include "xgboost/base.h"                         // for bst_feature_t, bst_target_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for DMatrix
#include "xgboost/gradient.h"                     // for GradientContainer
#include "xgboost/json.h"                         // for Json
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
    auto const& info = p_fmat->Info();
    std::size_t const n_labels = info.labels.Shape(1);
    CHECK(gpair->loss || gpair->Grad()->Shape(1) == n_labels)
        << "The tree updater `" << kUpdaterName
        << "` needs trees for all labels at once, multi_strategy=`multi_output_tree`.";
    auto const begin = static_cast<bst_feature_t>(param_.label_feature_begin);
    CHECK_LE(begin + n_labels, info.num_col_)
        << "With label_feature_begin=" << begin << " and " << n_labels
        << " labels the label features would end at column " << begin + n_labels
        << ", but the matrix has " << info.num_col_ << " columns.";

    BatchParam const batch{param->max_bin, param->sparse_threshold};
    auto mask = [&](auto&& hide) {
      for (auto const& page : p_fmat->GetBatches<GHistIndexMatrix>(ctx_, batch)) {
        this->MaskPage(page, begin, n_labels, hide);
      }
    };
    if (!gpair->loss) {
      auto pairs = gpair->Grad()->HostView();
      mask([&](std::size_t i, std::size_t j) { pairs(i, j) = {}; });
      return;
    }
    auto const& labels = info.labels.Data()->ConstHostVector();
    labels_.resize(labels.size());
    common::ParallelFor(info.num_row_, ctx_->Threads(), [&](auto i) {
      std::copy_n(labels.cbegin() + i * n_labels, n_labels, labels_.begin() + i * n_labels);
    });
    mask([&](std::size_t i, std::size_t j) {
      labels_[i * n_labels + j] = std::numeric_limits<float>::quiet_NaN();
    });
    LossOf(*gpair)->labels = labels_.data();
  }

 private:
  /** @brief Call `hide(row, label)` for the labels that are known. */
  template <typename Hide>
  void MaskPage(GHistIndexMatrix const& page, bst_feature_t begin, std::size_t n_labels,
                Hide&& hide) const {
    if (page.IsDense()) {  // nothing is missing
      common::ParallelFor(page.Size(), ctx_->Threads(), [&](auto i) {
        for (std::size_t j = 0; j < n_labels; ++j) {
          hide(page.base_rowid + i, j);
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
          hide(page.base_rowid + i, label_of_bin[*entry - first_bin]);
        }
      });
    });
  }

  LabelFeatureParam param_;
  std::vector<float> labels_;  // NaN where they are known, for the next updater
};
}  // namespace

XGBOOST_REGISTER_TREE_UPDATER(LabelMask, kUpdaterName)
    .describe("Set the gradients of labels that are known as features to zero.")
    .set_body([](Context const* ctx, ObjInfo const*) { return new LabelMask{ctx}; });
}  // namespace xgboost::multilabel
