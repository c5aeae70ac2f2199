/**
 * @brief The tree updater `grow_multilabel_hist`: what a tree is searched on, and its registration.
 *
 * A tree is searched on the gradients of all labels, of a group of them, or on a sketch
 * (`sketch.h`), and grown by `grower.h`.
 */
#include <algorithm>  // for any_of, copy, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint64_t
#include <memory>     // for make_unique, unique_ptr
#include <numeric>    // for iota
#include <string>     // for string
#include <utility>    // for as_const, exchange, move
#include <vector>     // for vector

#include "../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../src/common/categorical.h"           // for IsCat
#include "../../../src/common/random.h"                // for ColumnSampler
#include "../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../../src/tree/param.h"                   // for TrainParam
#include "../objective/logistic_loss.h"                // for LossOf, OffersLogisticLoss
#include "../param/param.h"                            // for MultiLabelTrainParam
#include "gradient_source.h"  // for DerivedGradients, DivideByUnits, GivenGradients, GradientSource
#include "grower.h"           // for TreeGrower, Workspace
#include "leaf_values.h"      // for BoundsOf, LabelGradients
#include "margins.h"          // for AddToMargins, GrownTree
#include "search/sketch_search.h"  // for SketchSearch
#include "sketch.h"                // for Sketch, TreeKey
#include "split_score.h"           // for Regularisation
#include "stock_rules.h"           // for StockRules
#include "xgboost/base.h"          // for GradientPair, bst_node_t
#include "xgboost/context.h"       // for Context
#include "xgboost/data.h"          // for DMatrix
#include "xgboost/gradient.h"      // for GradientContainer
#include "xgboost/json.h"          // for Json
#include "xgboost/linalg.h"        // for Matrix, MatrixView
#include "xgboost/logging.h"       // for CHECK
#include "xgboost/objective.h"     // for ObjFunction
#include "xgboost/task.h"          // for ObjInfo
#include "xgboost/tree_model.h"    // for RegTree
#include "xgboost/tree_updater.h"  // for TreeUpdater

namespace xgboost::multilabel {
namespace {
using tree::TrainParam;

constexpr char kUpdaterName[] = "grow_multilabel_hist";

class MultiLabelHistMaker : public TreeUpdater {
 public:
  MultiLabelHistMaker(Context const* ctx, ObjInfo const* task) : TreeUpdater{ctx}, task_{task} {
    ml_param_.Configure({});
  }

  void Configure(Args const& args) override { ml_param_.Configure(args, task_->name); }
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
    this->CheckSupported(*param, *in_gpair, p_fmat->Info(), trees);
    Regularisation const of_labels{*param, ml_param_, true};
    std::vector<GrownTree> grown(trees.size());
    Round const round{in_gpair->iteration, p_fmat, out_position, trees, &grown};
    auto* margins = trees.front()->IsMultiTarget() ? in_gpair->margins : nullptr;
    if (auto const* loss = LossOf(*in_gpair)) {
      CHECK(margins);
      DerivedGradients source{ctx_, *param, *loss, *margins, &workspace_.source};
      this->GrowOnSketches(*param, of_labels, round, &source);
    } else {
      auto gpair = std::as_const(*in_gpair).Grad()->HostView();
      auto const reg = task_->updater ? of_labels : StockRules(ctx_, *param, ml_param_, gpair);
      if (auto const& units = ml_param_.target_scale; !units.empty()) {
        auto* scaled = &workspace_.source.scaled;
        DivideByUnits(ctx_, gpair, units.Get(), scaled);
        gpair = std::as_const(*scaled).HostView();
      }
      GivenGradients source{ctx_, *param, gpair, &workspace_.source};
      if (!in_gpair->HasValueGrad() && this->HasSketch(source.NumLabels())) {
        this->GrowOnSketches(*param, reg, round, &source);
      } else {
        this->GrowOnGiven(*param, reg, *in_gpair, round, &source);
      }
    }
    for (std::size_t i = 0; i < trees.size(); ++i) {
      grown[i].tree = trees[i];
      grown[i].position = out_position[i].ConstHostSpan();
    }
    // After all trees: if one cannot be grown, the margins stay as they were.
    if (margins) {
      AddToMargins(ctx_, grown, *margins);
      in_gpair->margins = nullptr;
    }
  }

  void* TakeLoss(TrainParam const& param, ObjFunction* obj, MetaInfo const& info) override {
    auto* offers = dynamic_cast<OffersLogisticLoss*>(obj);
    if (!offers) {
      return nullptr;
    }
    std::size_t const n_labels = obj->Targets(info);
    bool const is_uniform =
        param.subsample == 1.0f || param.sampling_method == TrainParam::kUniform;
    bool const supports = ctx_->IsCPU() && is_uniform && ml_param_.target_scale.empty() &&
                          ml_param_.sketch_method == kProjection &&
                          this->IsSketched(n_labels / ml_param_.NumGroups(n_labels));
    auto* loss = supports ? offers->LossOn(info) : nullptr;
    // Gradients are derived for trees of all labels only.
    bool const has_groups = ml_param_.NumGroups(n_labels) > 1;
    return loss && (loss->HasSignedProbabilities() || !has_groups) ? loss : nullptr;
  }

  [[nodiscard]] std::int32_t NumTargetGroups(bst_target_t n_targets) const override {
    return ml_param_.NumGroups(n_targets);
  }

 private:
  /** @brief The trees of a round. */
  struct Round {
    bst_layer_t number;
    DMatrix* p_fmat;
    common::Span<HostDeviceVector<bst_node_t>> position;
    std::vector<RegTree*> const& trees;
    /** @brief Their labels are set where trees are for groups. */
    std::vector<GrownTree>* grown;
  };

  /** @brief Whether trees are searched on anything else than all labels. */
  [[nodiscard]] bool HasSketch(std::size_t n_labels) const {
    return this->IsSketched(n_labels) || ml_param_.NumGroups(n_labels) > 1;
  }
  /** @brief Whether a tree for this number of labels is searched on fewer dimensions. */
  [[nodiscard]] bool IsSketched(std::size_t n_labels) const {
    auto const k = static_cast<std::size_t>(ml_param_.sketch_size);
    return k > 0 && k < n_labels;
  }

  /** @brief A tree that is yet to be grown on a sketch. */
  struct PlannedTree {
    std::size_t index;  // among those of the round
    Sketch::Labels labels;
    LabelGradients gradients;  // of its labels
    common::ColumnSampler columns;
  };

  /**
   * @brief Grow trees, which do not depend on each other: one per thread if possible.
   *
   * @param planned The n-th on `workspace_.sketched[n]`.
   */
  void GrowPlanned(TrainParam const& param, Regularisation const& reg, Round const& round,
                   std::vector<PlannedTree>* planned) {
    bool const is_sketched = std::any_of(planned->cbegin(), planned->cend(), [&](auto const& plan) {
      return this->IsSketched(plan.labels.size());
    });
    TreeRules const rules{param, ml_param_, reg, !is_sketched};
    auto grow = [&](Context const* ctx, Workspace* workspace, std::size_t n) {
      auto& plan = (*planned)[n];
      TreeGrower grower{ctx, rules, std::move(plan.columns), workspace};
      auto* tree = round.trees[plan.index];
      grower.Grow(std::as_const(workspace_.sketched[n]).HostView(), true, round.p_fmat,
                  &round.position[plan.index], tree);
      grower.SetLeafValues(plan.gradients, plan.labels, tree);
    };
    // Not if workers communicate or random numbers are drawn while a tree grows.
    bool const may_share = ctx_->Threads() > 1 && !collective::IsDistributed() &&
                           param.colsample_bylevel == 1.0f && param.colsample_bynode == 1.0f;
    std::vector<std::size_t> side_by_side, one_by_one;
    for (std::size_t n = 0; n < planned->size(); ++n) {
      // Groups can differ in size, and a search can support some of them only.
      TreeData const data{std::as_const(workspace_.sketched[n]).HostView(), round.p_fmat};
      bool const supports = may_share && SketchSearch::Supports(ctx_, rules, data);
      (supports ? side_by_side : one_by_one).push_back(n);
    }
    if (side_by_side.size() == 1) {
      one_by_one.push_back(side_by_side.front());
      side_by_side.clear();
    }
    for (auto n : one_by_one) {
      grow(ctx_, &workspace_, n);
    }
    if (side_by_side.empty()) {
      return;
    }
    auto const n_threads = std::min<std::size_t>(ctx_->Threads(), side_by_side.size());
    std::vector<Context> contexts(n_threads, *ctx_);
    for (auto& ctx : contexts) {
      ctx.nthread = 1;
    }
    while (of_threads_.size() < n_threads) {
      of_threads_.push_back(std::make_unique<Workspace>());
    }
    auto const page = workspace_.sketch_search.Index(ctx_, rules, round.p_fmat);
    common::ParallelFor(side_by_side.size(), static_cast<std::int32_t>(n_threads),
                        common::Sched::Dyn(1), [&](auto i) {
                          auto const t = omp_get_thread_num();
                          workers::TeamOfOne const alone;
                          of_threads_[t]->sketch_search.UseIndexOf(workspace_.sketch_search, page);
                          grow(&contexts[t], of_threads_[t].get(), side_by_side[i]);
                        });
  }

  [[nodiscard]] TreeKey KeyOf(Round const& round, std::size_t i, std::uint64_t n_groups) const {
    return {static_cast<std::uint64_t>(ctx_->seed), static_cast<std::uint64_t>(round.number),
            i / n_groups, i % n_groups};
  }
  [[nodiscard]] common::ColumnSampler DrawColumns(TrainParam const& param, DMatrix* p_fmat) const {
    common::ColumnSampler columns;
    columns.Init(ctx_, p_fmat->Info().num_col_, p_fmat->Info().feature_weights,
                 param.colsample_bynode, param.colsample_bylevel, param.colsample_bytree);
    return columns;
  }

  /** @brief Grow trees on sketches of the gradients, or on groups of labels. */
  void GrowOnSketches(TrainParam const& param, Regularisation const& reg, Round const& round,
                      GradientSource* source) {
    bool const own_rows = source->SamplesRows();
    std::uint64_t const n_groups = this->NumTargetGroups(source->NumLabels());
    auto groups = Sketch::DrawGroups({}, source->NumLabels(), 1);  // of labels
    workspace_.sketched.resize(own_rows ? 1 : n_groups);
    std::vector<PlannedTree> planned;
    for (std::size_t i = 0; i < round.trees.size(); ++i) {
      auto const key = this->KeyOf(round, i, n_groups);
      if (own_rows) {
        source->SampleRows();
      }
      if (n_groups > 1) {
        if (key.group == 0) {
          groups = Sketch::DrawGroups(key, source->NumLabels(), n_groups);
        }
        source->Separate(groups, key.group);
        (*round.grown)[i].labels = groups[key.group];
      }
      auto const& labels = groups[key.group];
      auto const gradients =
          source->Project(ml_param_, key, labels, &workspace_.sketched[planned.size()]);
      planned.push_back({i, labels, gradients, this->DrawColumns(param, round.p_fmat)});
      if (own_rows || key.group + 1 == n_groups) {
        this->GrowPlanned(param, reg, round, &planned);
        planned.clear();
      }
    }
  }

  /** @brief Grow trees on the gradients of all labels, or on reduced ones: a sketch by the user. */
  void GrowOnGiven(TrainParam const& param, Regularisation const& reg,
                   GradientContainer const& gpair, Round const& round, GivenGradients* source) {
    bool const is_reduced = gpair.HasValueGrad();
    TreeRules const rules{param, ml_param_, reg, !is_reduced};
    for (std::size_t i = 0; i < round.trees.size(); ++i) {
      if (source->SamplesRows()) {
        source->SampleRows();
      }
      auto* tree = round.trees[i];
      TreeGrower grower{ctx_, rules, this->DrawColumns(param, round.p_fmat), &workspace_};
      grower.Grow(source->OfTree(), is_reduced, round.p_fmat, &round.position[i], tree);
      if (is_reduced) {
        CopyMatrix(gpair.value_gpair.HostView(), &workspace_.of_leaves);
        source->SampleLike(&workspace_.of_leaves);
        auto const of_leaves = std::as_const(workspace_.of_leaves).HostView();
        std::vector<std::uint32_t> labels(of_leaves.Shape(1));
        std::iota(labels.begin(), labels.end(), 0);
        grower.SetLeafValues({of_leaves, BoundsOf(ctx_, of_leaves)}, labels, tree);
      } else if (tree->IsMultiTarget()) {
        tree->GetMultiTargetTree()->SetLeaves();
      }
    }
  }

  void CheckSupported(TrainParam const& param, GradientContainer const& gpair, MetaInfo const& info,
                      std::vector<RegTree*> const& trees) const {
    auto const what = std::string{"The tree updater `"} + kUpdaterName + "` does not support ";
    CHECK(ctx_->IsCPU()) << what << "GPUs yet. Set `device` to `cpu`.";
    for (auto share : {param.colsample_bytree, param.colsample_bylevel, param.colsample_bynode}) {
      CHECK(share > 0.0f) << "colsample_bytree, colsample_bylevel and colsample_bynode must be in "
                             "(0, 1]. Got: "
                          << share;
    }
    auto const& orders = param.monotone_constraints;
    CHECK_LE(orders.size(), info.num_col_) << "monotone_constraints has " << orders.size()
                                           << " entries for " << info.num_col_ << " features.";
    auto const types = info.feature_types.ConstHostSpan();
    for (std::size_t f = 0; f < orders.size(); ++f) {
      CHECK(orders[f] == 0 || !common::IsCat(types, f))
          << "monotone_constraints constrains feature " << f
          << ", which is categorical: its values have no order.";
    }
    bool const has_sketch = ml_param_.sketch_size > 0 || ml_param_.labels_per_tree > 0;
    CHECK(!has_sketch || !gpair.HasValueGrad())
        << what << "sketch_size and labels_per_tree with reduced gradients, which are a sketch.";
    CHECK(!has_sketch || task_->updater || trees.front()->IsMultiTarget())
        << "sketch_size and labels_per_tree need the gradients of all labels at once: an objective "
           "`multilabel:*`, or multi_strategy=`multi_output_tree`.";
    if (!ml_param_.target_scale.empty()) {
      CHECK(!gpair.HasValueGrad()) << what << "target_scale with reduced gradients.";
      ml_param_.CheckTargetScale(trees.front()->NumTargets());
    }
  }

  ObjInfo const* task_;
  MultiLabelTrainParam ml_param_;
  Workspace workspace_;
  std::vector<std::unique_ptr<Workspace>> of_threads_;  // where each grows a tree
};
}  // namespace

XGBOOST_REGISTER_TREE_UPDATER(MultiLabelHistMaker, kUpdaterName)
    .describe("Grow one tree for all labels using quantized histograms.")
    .set_body([](Context const* ctx, ObjInfo const* task) {
      return new MultiLabelHistMaker{ctx, task};
    });
}  // namespace xgboost::multilabel
