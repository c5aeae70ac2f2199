/**
 * @brief The tree updater `grow_multilabel_hist`: what a tree is searched on, and its registration.
 *
 * A tree is searched on the gradients of all labels, of a group of them, or on a sketch
 * (`sketch.h`), and grown by `grower.h`.
 */
#include <algorithm>  // for any_of, copy, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint64_t
#include <memory>     // for make_unique, shared_ptr, unique_ptr
#include <numeric>    // for iota
#include <optional>   // for nullopt, optional
#include <string>     // for string
#include <utility>    // for as_const, exchange, move
#include <vector>     // for vector

#include "../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../src/common/categorical.h"           // for IsCat
#include "../../../src/common/optional_weight.h"       // for OptionalWeights
#include "../../../src/common/random.h"                // for ColumnSampler
#include "../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../../src/tree/hist/sampler.h"            // for Sampler
#include "../../../src/tree/param.h"                   // for TrainParam
#include "../objective/logistic_loss.h"                // for LogisticLoss, OffersLogisticLoss
#include "../param/param.h"                            // for MultiLabelTrainParam
#include "grower.h"                                    // for TreeGrower, Workspace
#include "leaf_values.h"                               // for BoundsOf, LabelGradients
#include "margins.h"                                   // for AddToMargins, GrownTree
#include "search/sketch_search.h"                      // for SketchSearch
#include "sketch.h"                                    // for Sketch, TreeKey
#include "works_on_margins.h"                          // for WorksOnMargins
#include "xgboost/base.h"                              // for GradientPair, bst_node_t
#include "xgboost/context.h"                           // for Context
#include "xgboost/data.h"                              // for DMatrix
#include "xgboost/gradient.h"                          // for GradientContainer
#include "xgboost/json.h"                              // for Json
#include "xgboost/linalg.h"                            // for Matrix, MatrixView
#include "xgboost/logging.h"                           // for CHECK
#include "xgboost/objective.h"                         // for ObjFunction
#include "xgboost/task.h"                              // for ObjInfo
#include "xgboost/tree_model.h"                        // for RegTree
#include "xgboost/tree_updater.h"                      // for TreeUpdater

namespace xgboost::multilabel {
namespace {
using tree::TrainParam;

constexpr char kUpdaterName[] = "grow_multilabel_hist";

class MultiLabelHistMaker : public TreeUpdater, public WorksOnMargins {
 public:
  MultiLabelHistMaker(Context const* ctx, ObjInfo const* task) : TreeUpdater{ctx}, task_{task} {
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
    auto const margins = std::exchange(margins_, std::nullopt);
    this->CheckSupported(*param, *in_gpair, p_fmat->Info(), trees);
    std::vector<GrownTree> grown(trees.size());
    if (in_gpair->loss) {
      CHECK(margins);
      this->GrowOnMargins(*param, *in_gpair, *margins, p_fmat, out_position, trees, &grown);
    } else {
      this->GrowOnGradients(*param, *in_gpair, p_fmat, out_position, trees, &grown);
    }
    for (std::size_t i = 0; i < trees.size(); ++i) {
      grown[i].tree = trees[i];
      grown[i].position = out_position[i].ConstHostSpan();
    }
    // Behind all trees: one that cannot be grown leaves the margins as they were.
    has_added_ = margins && trees.front()->IsMultiTarget();
    if (has_added_) {
      AddToMargins(ctx_, grown, *margins);
    }
  }

  [[nodiscard]] std::shared_ptr<LogisticLoss const> LossToDerive(
      TrainParam const& param, ObjFunction const* obj, MetaInfo const& info) const override {
    auto const* offers = dynamic_cast<OffersLogisticLoss const*>(obj);
    std::size_t const n_labels = offers ? obj->Targets(info) : 0;
    std::size_t const k = ml_param_.sketch_size, n_groups = ml_param_.NumGroups(n_labels);
    bool const is_uniform =
        param.subsample == 1.0f || param.sampling_method == TrainParam::kUniform;
    bool const serves = ctx_->IsCPU() && is_uniform && ml_param_.sketch_method == kProjection &&
                        k > 0 && k < n_labels / n_groups;
    return offers && serves ? offers->LossOn(info) : nullptr;
  }
  void UseMargins(linalg::MatrixView<float> margins) override { margins_ = margins; }
  [[nodiscard]] bool HasAdded() const override { return has_added_; }

  [[nodiscard]] std::int32_t NumTargetGroups(bst_target_t n_targets) const override {
    return ml_param_.NumGroups(n_targets);
  }

 private:
  /** @brief Whether trees are searched on anything else than all labels. */
  [[nodiscard]] bool HasSketch(std::size_t n_labels) const {
    return this->Combines(n_labels) || ml_param_.NumGroups(n_labels) > 1;
  }
  /** @brief Whether trees for so many labels are searched on combinations of them. */
  [[nodiscard]] bool Combines(std::size_t n_labels) const {
    auto const k = static_cast<std::size_t>(ml_param_.sketch_size);
    return k > 0 && k < n_labels;
  }

  /** @brief A tree that is going to be grown on a sketch. */
  struct PlannedTree {
    std::size_t index;  // among those of the round
    Sketch::Labels labels;
    LabelGradients gradients;  // of its labels
    common::ColumnSampler columns;
  };

  /**
   * @brief Grow trees, which do not depend on each other: one on each thread if that can be.
   *
   * @param planned The n-th on `workspace_.combined[n]`.
   */
  void Grow(TrainParam const& param, DMatrix* p_fmat, std::vector<PlannedTree>* planned,
            common::Span<HostDeviceVector<bst_node_t>> out_position,
            std::vector<RegTree*> const& trees) {
    bool const combines = std::any_of(planned->cbegin(), planned->cend(), [&](auto const& plan) {
      return this->Combines(plan.labels.size());
    });
    TreeRules const rules{param, ml_param_, !combines};
    auto grow = [&](Context const* ctx, Workspace* workspace, std::size_t n) {
      auto& plan = (*planned)[n];
      TreeGrower grower{ctx, rules, std::move(plan.columns), workspace};
      auto const combined = std::as_const(workspace_.combined[n]).HostView();
      grower.Grow(combined, true, p_fmat, &out_position[plan.index], trees[plan.index]);
      grower.SetLeafValues(plan.gradients, plan.labels, trees[plan.index]);
    };
    auto const n_threads = std::min<std::size_t>(ctx_->Threads(), planned->size());
    // Not where workers talk or random numbers are drawn while a tree grows.
    bool const together =
        n_threads > 1 && !collective::IsDistributed() && param.colsample_bylevel == 1.0f &&
        param.colsample_bynode == 1.0f &&
        SketchSearch::Serves(ctx_, rules,
                             {std::as_const(workspace_.combined.front()).HostView(), p_fmat});
    if (!together) {
      for (std::size_t n = 0; n < planned->size(); ++n) {
        grow(ctx_, &workspace_, n);
      }
      return;
    }
    std::vector<Context> contexts(n_threads, *ctx_);
    for (auto& ctx : contexts) {
      ctx.nthread = 1;
    }
    while (of_threads_.size() < n_threads) {
      of_threads_.push_back(std::make_unique<Workspace>());
    }
    auto const page = workspace_.sketches.Index(ctx_, rules, p_fmat);
    common::ParallelFor(planned->size(), static_cast<std::int32_t>(n_threads),
                        common::Sched::Dyn(1), [&](auto n) {
                          auto const t = omp_get_thread_num();
                          of_threads_[t]->sketches.UseIndexOf(workspace_.sketches, page);
                          grow(&contexts[t], of_threads_[t].get(), n);
                        });
  }

  [[nodiscard]] TreeKey KeyOf(GradientContainer const& gpair, std::size_t i,
                              std::uint64_t n_groups) const {
    return {static_cast<std::uint64_t>(ctx_->seed), static_cast<std::uint64_t>(gpair.iteration),
            i / n_groups, i % n_groups};
  }
  [[nodiscard]] common::ColumnSampler DrawColumns(TrainParam const& param, DMatrix* p_fmat) const {
    common::ColumnSampler columns;
    columns.Init(ctx_, p_fmat->Info().num_col_, p_fmat->Info().feature_weights,
                 param.colsample_bynode, param.colsample_bylevel, param.colsample_bytree);
    return columns;
  }

  /** @brief Weights of the rows that a tree draws; 0 for the others. */
  void DrawRows(TrainParam const& param, common::OptionalWeights const& weights,
                std::size_t n_rows) {
    auto& drawn = workspace_.sampled;  // as gradients, which is what rows are drawn from
    drawn.Reshape(n_rows, 1);
    auto rows = drawn.HostView();
    for (std::size_t i = 0; i < n_rows; ++i) {
      rows(i, 0) = GradientPair{weights[i], 0.0f};
    }
    tree::cpu_impl::Sampler{param}.Sample(ctx_, rows);
    workspace_.row_weights.resize(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) {
      workspace_.row_weights[i] = rows(i, 0).GetGrad();
    }
  }

  /**
   * @brief Grow trees on sketches whose gradients are derived on the way.
   *
   * @param grown Their labels are set where trees are for groups.
   */
  void GrowOnMargins(TrainParam const& param, GradientContainer const& in_gpair,
                     linalg::MatrixView<float const> margins, DMatrix* p_fmat,
                     common::Span<HostDeviceVector<bst_node_t>> out_position,
                     std::vector<RegTree*> const& trees, std::vector<GrownTree>* grown) {
    auto loss = *in_gpair.loss;
    bool const own_rows = param.subsample < 1.0f;  // by tree
    std::uint64_t const n_groups = this->NumTargetGroups(loss.n_labels);
    auto groups = Sketch::DrawGroups({}, loss.n_labels, 1);  // of labels
    auto& probabilities = workspace_.probabilities;
    probabilities.resize(n_groups);
    workspace_.combined.resize(own_rows ? 1 : n_groups);
    std::vector<PlannedTree> planned;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      if (own_rows) {
        this->DrawRows(param, in_gpair.loss->weights, loss.n_rows);
        loss.weights = common::OptionalWeights{common::Span<float const>{workspace_.row_weights}};
      }
      auto const key = this->KeyOf(in_gpair, i, n_groups);
      if (n_groups > 1) {
        if (key.group == 0) {
          groups = Sketch::DrawGroups(key, loss.n_labels, n_groups);
          Sketch::DeriveGroups(ctx_, loss, margins, groups, &probabilities);
        }
        (*grown)[i].labels = groups[key.group];
      }
      auto const& labels = groups[key.group];
      Sketch const sketch{ctx_, ml_param_, key, labels, std::nullopt};
      auto* combined = &workspace_.combined[own_rows ? 0 : key.group];
      auto const bounds =
          n_groups > 1
              ? sketch.Project(ctx_, loss, &probabilities[key.group], combined)
              : sketch.DeriveAndProject(ctx_, loss, margins, &probabilities.front(), combined);
      planned.push_back({i,
                         labels,
                         {loss, labels.size(), probabilities[key.group].Data(), bounds},
                         this->DrawColumns(param, p_fmat)});
      if (own_rows || key.group + 1 == n_groups) {
        this->Grow(param, p_fmat, &planned, out_position, trees);
        planned.clear();
      }
    }
  }

  /** @param grown Their labels are set where trees are for groups. */
  void GrowOnGradients(TrainParam const& param, GradientContainer const& in_gpair, DMatrix* p_fmat,
                       common::Span<HostDeviceVector<bst_node_t>> out_position,
                       std::vector<RegTree*> const& trees, std::vector<GrownTree>* grown) {
    auto const gpair = in_gpair.Grad()->HostView();
    TreeRules const rules{param, ml_param_, !in_gpair.HasValueGrad()};
    auto grower = [&] {
      return TreeGrower{ctx_, rules, this->DrawColumns(param, p_fmat), &workspace_};
    };
    tree::cpu_impl::Sampler sampler{param};
    auto copy = [](linalg::MatrixView<GradientPair const> from, linalg::Matrix<GradientPair>* to) {
      CHECK(from.CContiguous());
      to->Reshape(from.Shape());
      auto const values = from.Values();
      std::copy(values.cbegin(), values.cend(), to->Data()->HostVector().begin());
    };
    std::uint64_t const n_groups = this->NumTargetGroups(gpair.Shape(1));
    bool const own_rows = param.subsample < 1.0f;             // by tree
    auto groups = Sketch::DrawGroups({}, gpair.Shape(1), 1);  // of labels
    std::vector<PlannedTree> planned;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      auto tree_gpair = gpair;
      if (own_rows) {
        copy(gpair, &workspace_.sampled);
        sampler.Sample(ctx_, workspace_.sampled.HostView());
        tree_gpair = std::as_const(workspace_.sampled).HostView();
      }
      if (in_gpair.HasValueGrad()) {  // whoever made the gradients brings a sketch
        auto const value_gpair = std::as_const(in_gpair.value_gpair).HostView();
        copy(value_gpair, &workspace_.of_leaves);
        sampler.ApplySampling(ctx_, gpair, &workspace_.of_leaves);
        std::vector<std::uint32_t> labels(value_gpair.Shape(1));
        std::iota(labels.begin(), labels.end(), 0);
        auto of_tree = grower();
        of_tree.Grow(tree_gpair, true, p_fmat, &out_position[i], trees[i]);
        auto const leaf_gpair = std::as_const(workspace_.of_leaves).HostView();
        of_tree.SetLeafValues({leaf_gpair, BoundsOf(ctx_, leaf_gpair)}, labels, trees[i]);
      } else if (this->HasSketch(gpair.Shape(1))) {
        auto const key = this->KeyOf(in_gpair, i, n_groups);
        auto const at = own_rows ? 0 : key.group;
        if (n_groups > 1) {
          if (at == 0) {  // of all groups at once, unless each tree has rows of its own
            groups = Sketch::DrawGroups(key, gpair.Shape(1), n_groups);
            auto const begin = groups.cbegin() + key.group;
            Sketch::GatherGroups(ctx_, tree_gpair, {begin, own_rows ? begin + 1 : groups.cend()},
                                 &workspace_.of_groups);
          }
          tree_gpair = std::as_const(workspace_.of_groups[at]).HostView();
          (*grown)[i].labels = groups[key.group];
        }
        Sketch const sketch{ctx_, ml_param_, key, groups[key.group], tree_gpair};
        workspace_.combined.resize(own_rows ? 1 : n_groups);
        auto const bounds = sketch.Project(ctx_, tree_gpair, &workspace_.combined[at]);
        planned.push_back(
            {i, groups[key.group], {tree_gpair, bounds}, this->DrawColumns(param, p_fmat)});
        if (own_rows || key.group + 1 == n_groups) {
          this->Grow(param, p_fmat, &planned, out_position, trees);
          planned.clear();
        }
      } else {
        grower().Grow(tree_gpair, false, p_fmat, &out_position[i], trees[i]);
        if (trees[i]->IsMultiTarget()) {
          trees[i]->GetMultiTargetTree()->SetLeaves();
        }
      }
    }
  }

  void CheckSupported(TrainParam const& param, GradientContainer const& gpair, MetaInfo const& info,
                      std::vector<RegTree*> const& trees) const {
    auto const what = std::string{"The tree updater `"} + kUpdaterName + "` does not support ";
    CHECK(ctx_->IsCPU()) << what << "GPUs yet. Set `device` to `cpu`.";
    auto const& orders = param.monotone_constraints;
    CHECK_LE(orders.size(), info.num_col_) << "monotone_constraints has " << orders.size()
                                           << " entries for " << info.num_col_ << " features.";
    auto const types = info.feature_types.ConstHostSpan();
    for (std::size_t f = 0; f < orders.size(); ++f) {
      CHECK(orders[f] == 0 || !common::IsCat(types, f))
          << "monotone_constraints names feature " << f
          << ", whose values are categories: they have no order.";
    }
    bool const has_sketch = ml_param_.sketch_size > 0 || ml_param_.labels_per_tree > 0;
    CHECK(!has_sketch || !gpair.HasValueGrad())
        << what << "sketch_size and labels_per_tree with reduced gradients, which are a sketch.";
    CHECK(!has_sketch || task_->vector_leaf || trees.front()->IsMultiTarget())
        << "sketch_size and labels_per_tree need the gradients of all labels at once: an objective "
           "`multilabel:*`, or multi_strategy=`multi_output_tree`.";
  }

  ObjInfo const* task_;
  MultiLabelTrainParam ml_param_;
  Workspace workspace_;
  std::vector<std::unique_ptr<Workspace>> of_threads_;  // where each grows a tree
  std::optional<linalg::MatrixView<float>> margins_;    // for the next trees
  bool has_added_{false};
};
}  // namespace

XGBOOST_REGISTER_TREE_UPDATER(MultiLabelHistMaker, kUpdaterName)
    .describe("Grow one tree for all labels using quantized histograms.")
    .set_body([](Context const* ctx, ObjInfo const* task) {
      return new MultiLabelHistMaker{ctx, task};
    });
}  // namespace xgboost::multilabel
