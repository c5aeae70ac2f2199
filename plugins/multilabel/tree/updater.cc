/**
 * @brief The tree updater `grow_multilabel_hist`: what a tree is searched on, and its registration.
 *
 * A tree is searched on the gradients of all labels, of a group of them, or on a sketch
 * (`sketch.h`), and grown by `grower.h`.
 */
#include <algorithm>  // for copy
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint64_t
#include <memory>     // for make_shared, shared_ptr
#include <numeric>    // for iota
#include <string>     // for string
#include <utility>    // for as_const
#include <vector>     // for vector

#include "../../../src/common/linalg_op.h"   // for begin, cbegin, cend
#include "../../../src/common/random.h"      // for ColumnSampler
#include "../../../src/tree/hist/sampler.h"  // for Sampler
#include "../../../src/tree/param.h"         // for TrainParam
#include "../param/param.h"                  // for MultiLabelTrainParam
#include "grower.h"                          // for TreeGrower, Workspace
#include "leaf_values.h"                     // for BoundsOf
#include "sketch.h"                          // for Sketch, TreeKey
#include "xgboost/base.h"                    // for GradientPair, bst_node_t
#include "xgboost/context.h"                 // for Context
#include "xgboost/data.h"                    // for DMatrix
#include "xgboost/gradient.h"                // for GradientContainer
#include "xgboost/json.h"                    // for Json
#include "xgboost/linalg.h"                  // for Matrix, MatrixView
#include "xgboost/logging.h"                 // for CHECK
#include "xgboost/task.h"                    // for ObjInfo
#include "xgboost/tree_model.h"              // for RegTree
#include "xgboost/tree_updater.h"            // for TreeUpdater

namespace xgboost::multilabel {
namespace {
using tree::TrainParam;

constexpr char kUpdaterName[] = "grow_multilabel_hist";

class MultiLabelHistMaker : public TreeUpdater {
 public:
  MultiLabelHistMaker(Context const* ctx, ObjInfo const* task)
      : TreeUpdater{ctx}, task_{task}, column_sampler_{std::make_shared<common::ColumnSampler>()} {
    ml_param_.Configure({});
  }

  void Configure(Args const& args) override { ml_param_.Configure(args); }
  void LoadConfig(Json const& in) override {
    FromJson(get<Object const>(in).at("multilabel_train_param"), &ml_param_);
  }
  void SaveConfig(Json* p_out) const override {
    (*p_out)["multilabel_train_param"] = ToJson(ml_param_);
  }
  [[nodiscard]] char const* Name() const override { return kUpdaterName; }

  void Update(TrainParam const* param, GradientContainer* in_gpair, DMatrix* p_fmat,
              common::Span<HostDeviceVector<bst_node_t>> out_position,
              std::vector<RegTree*> const& trees) override {
    this->CheckSupported(*param, *in_gpair, trees);
    auto const gpair = std::as_const(*in_gpair->Grad()).HostView();
    TreeGrower grower{ctx_, param, ml_param_, column_sampler_, &workspace_};
    tree::cpu_impl::Sampler sampler{*param};
    auto copy = [](linalg::MatrixView<GradientPair const> from, linalg::Matrix<GradientPair>* to) {
      to->Reshape(from.Shape());
      auto out = to->HostView();
      std::copy(linalg::cbegin(from), linalg::cend(from), linalg::begin(out));
    };
    for (std::size_t i = 0; i < trees.size(); ++i) {
      auto tree_gpair = gpair;
      if (param->subsample < 1.0f) {
        copy(gpair, &workspace_.sampled);
        sampler.Sample(ctx_, workspace_.sampled.HostView());
        tree_gpair = std::as_const(workspace_.sampled).HostView();
      }
      if (in_gpair->HasValueGrad()) {  // whoever made the gradients brings a sketch
        auto const value_gpair = std::as_const(in_gpair->value_gpair).HostView();
        copy(value_gpair, &workspace_.of_leaves);
        sampler.ApplySampling(ctx_, gpair, &workspace_.of_leaves);
        std::vector<std::uint32_t> labels(value_gpair.Shape(1));
        std::iota(labels.begin(), labels.end(), 0);
        grower.Grow(tree_gpair, true, p_fmat, &out_position[i], trees[i]);
        auto const leaf_gpair = std::as_const(workspace_.of_leaves).HostView();
        grower.SetLeafValues(leaf_gpair, BoundsOf(ctx_, leaf_gpair), labels, trees[i]);
      } else if (this->HasSketch(gpair.Shape(1))) {
        std::uint64_t const n_groups = this->NumTargetGroups(gpair.Shape(1));
        TreeKey const key{static_cast<std::uint64_t>(ctx_->seed),
                          static_cast<std::uint64_t>(in_gpair->iteration), i / n_groups,
                          i % n_groups};
        this->GrowOnSketch(key, n_groups, tree_gpair, p_fmat, &grower, &out_position[i], trees[i]);
      } else {
        grower.Grow(tree_gpair, false, p_fmat, &out_position[i], trees[i]);
        if (trees[i]->IsMultiTarget()) {
          trees[i]->GetMultiTargetTree()->SetLeaves();
        }
      }
    }
  }

  [[nodiscard]] std::int32_t NumTargetGroups(bst_target_t n_targets) const override {
    return ml_param_.NumGroups(n_targets);
  }

 private:
  /** @brief Whether trees are searched on anything else than all labels. */
  [[nodiscard]] bool HasSketch(std::size_t n_labels) const {
    auto const k = static_cast<std::size_t>(ml_param_.sketch_size);
    return (k > 0 && k < n_labels) || ml_param_.NumGroups(n_labels) > 1;
  }

  void GrowOnSketch(TreeKey const& key, std::uint64_t n_groups,
                    linalg::MatrixView<GradientPair const> gpair, DMatrix* p_fmat,
                    TreeGrower* grower, HostDeviceVector<bst_node_t>* out_position,
                    RegTree* p_tree) {
    auto const labels = Sketch::DrawGroup(key, gpair.Shape(1), n_groups);
    if (n_groups > 1) {
      Sketch::GatherGroup(ctx_, gpair, labels, &workspace_.of_leaves);
      gpair = std::as_const(workspace_.of_leaves).HostView();
    }
    Sketch const sketch{ctx_, ml_param_, key, labels, gpair};
    auto const bounds = sketch.Project(ctx_, gpair, &workspace_.combined);
    grower->Grow(std::as_const(workspace_.combined).HostView(), true, p_fmat, out_position, p_tree);
    grower->SetLeafValues(gpair, bounds, labels, p_tree);
  }

  void CheckSupported(TrainParam const& param, GradientContainer const& gpair,
                      std::vector<RegTree*> const& trees) const {
    auto const what = std::string{"The tree updater `"} + kUpdaterName + "` does not support ";
    CHECK(ctx_->IsCPU()) << what << "GPUs yet. Set `device` to `cpu`.";
    CHECK(!param.HasMonotone()) << what << "monotone constraints yet.";
    bool const has_sketch = ml_param_.sketch_size > 0 || ml_param_.labels_per_tree > 0;
    CHECK(!has_sketch || !gpair.HasValueGrad())
        << what << "sketch_size and labels_per_tree with reduced gradients, which are a sketch.";
    CHECK(!has_sketch || task_->vector_leaf || trees.front()->IsMultiTarget())
        << "sketch_size and labels_per_tree need the gradients of all labels at once: an objective "
           "`multilabel:*`, or multi_strategy=`multi_output_tree`.";
  }

  ObjInfo const* task_;
  MultiLabelTrainParam ml_param_;
  std::shared_ptr<common::ColumnSampler> column_sampler_;
  Workspace workspace_;
};
}  // namespace

XGBOOST_REGISTER_TREE_UPDATER(MultiLabelHistMaker, kUpdaterName)
    .describe("Grow one tree for all labels using quantized histograms.")
    .set_body([](Context const* ctx, ObjInfo const* task) {
      return new MultiLabelHistMaker{ctx, task};
    });
}  // namespace xgboost::multilabel
