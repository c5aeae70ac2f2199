/**
 * @brief Grows one tree for all labels on bins, for the updater `grow_multilabel_hist`.
 *
 * XGBoost's own parts do what is the same for every hist updater: the order in which nodes are
 * expanded (`Driver`), row and column sampling, and interaction constraints. A search finds the
 * splits and keeps the rows of nodes (`search/split_search.h`):
 *
 * - `label_search.h` for any number of labels: sorted lists of rows or integer histograms, scored
 *   approximately and decided exactly.
 * - `sketch_search.h` on a single label, or on one to four numbers per row that are a sketch of the
 *   labels (`sketch.h`) or a small group of them, if it supports the parameters.
 *
 * The two differ by rounding. With a sketch, splits are searched on it, and leaf values come from
 * all of the tree's labels (`leaf_values.h`).
 *
 * The search on labels follows monotone constraints (`monotone.h`). A search on a sketch knows no
 * label's weights: there the weights in the nodes of the grown tree are put in order afterwards,
 * from the root down.
 */
#ifndef XDCC_MULTILABEL_GROWER_H_
#define XDCC_MULTILABEL_GROWER_H_

#include <algorithm>  // for max
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <memory>     // for shared_ptr, unique_ptr
#include <numeric>    // for accumulate
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../src/common/random.h"           // for ColumnSampler
#include "../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../../../src/tree/constraints.h"        // for FeatureInteractionConstraintHost
#include "../../../src/tree/driver.h"             // for Driver
#include "../../../src/tree/param.h"              // for TrainParam
#include "../../../src/tree/tree_view.h"          // for MultiTargetTreeView
#include "../param/param.h"                       // for MultiLabelTrainParam
#include "../reductions.h"                        // for Add, Subtract
#include "gradient_source.h"                      // for SourceMemory
#include "leaf_values.h"                          // for LabelGradients
#include "monotone.h"                             // for BoundChildren, WeightBounds
#include "node_features.h"                        // for AllowedFeatures
#include "search/label_search.h"                  // for LabelSearch
#include "search/sketch_search.h"                 // for SketchSearch
#include "search/split_search.h"  // for SplitSearch, TreeRules, TreeData, NodeRequest, LeafSums
#include "split_score.h"          // for LabelWeight
#include "xgboost/base.h"         // for GradientPair, bst_node_t
#include "xgboost/context.h"      // for Context
#include "xgboost/data.h"         // for DMatrix
#include "xgboost/linalg.h"       // for Matrix, MatrixView
#include "xgboost/multi_target_tree_model.h"  // for ExpandBatch
#include "xgboost/tree_model.h"               // for RegTree

namespace xgboost::multilabel {
/** @brief A node that may be split, as `Driver` expects it. */
struct ExpandEntry {
  bst_node_t nid{RegTree::kRoot};
  bst_node_t depth{0};
  bst_node_t parent{RegTree::kInvalidNodeId};
  Split split;

  ExpandEntry() = default;
  ExpandEntry(bst_node_t nid, bst_node_t depth, bst_node_t parent)
      : nid{nid}, depth{depth}, parent{parent} {}

  [[nodiscard]] float GetLossChange() const { return split.gain; }
  [[nodiscard]] bst_node_t GetNodeId() const { return nid; }
};

/** @brief Kept from tree to tree: memory, and data that depend only on the matrix. */
struct Workspace {
  LabelSearch label_search;
  SketchSearch sketch_search;
  SourceMemory source;
  linalg::Matrix<GradientPair> of_leaves;
  std::vector<linalg::Matrix<GradientPair>> sketched;

  /** @param is_sketch Whether the gradients are a sketch of the labels'. */
  SplitSearch* Choose(Context const* ctx, TreeRules const& rules, TreeData const& data,
                      bool is_sketch) {
    bool const is_narrow = is_sketch || data.gpair.Shape(1) == 1;
    if (is_narrow && SketchSearch::Supports(ctx, rules, data)) {
      return &sketch_search;
    }
    return &label_search;
  }
};

class TreeGrower {
 public:
  /**
   * @param rules   Rules of the tree; must live as long as it grows.
   * @param columns Drawn for it.
   */
  TreeGrower(Context const* ctx, TreeRules const& rules, common::ColumnSampler columns,
             Workspace* workspace)
      : ctx_{ctx},
        param_{rules.param},
        rules_{rules},
        columns_{std::move(columns)},
        workspace_{*workspace} {}

  /**
   * @brief Grow one tree.
   *
   * @param gpair        What splits are searched on, after masks and sampling. [n_rows, n_targets]
   * @param is_sketch    Whether that is a sketch of the labels' gradients.
   * @param out_position Leaf of each row, as `TreeUpdater::Update` returns it.
   * @param p_tree       A tree of a single leaf.
   */
  void Grow(linalg::MatrixView<GradientPair const> gpair, bool is_sketch, DMatrix* p_fmat,
            HostDeviceVector<bst_node_t>* out_position, RegTree* p_tree) {
    auto const& info = p_fmat->Info();
    TreeData data{gpair, p_fmat};
    std::shared_ptr<HostDeviceVector<bst_feature_t>> columns;
    if (param_.colsample_bylevel == 1.0f && param_.colsample_bynode == 1.0f) {
      columns = columns_.GetFeatureSet(ctx_, 0);  // of all nodes
      data.columns = columns->ConstHostSpan();
    }
    n_targets_ = gpair.Shape(1);
    n_features_ = info.num_col_;
    is_sketch_ = is_sketch;
    stats_.clear();
    interactions_.Reset();
    interactions_.Configure(param_, n_features_);
    search_ = workspace_.Choose(ctx_, rules_, data, is_sketch);
    search_->Begin(ctx_, rules_, data);

    tree::Driver<ExpandEntry> driver{param_};
    driver.Push(this->InitRoot(p_tree));
    for (auto to_apply = driver.Pop(); !to_apply.empty(); to_apply = driver.Pop()) {
      std::vector<AppliedSplit> applied;
      std::vector<ExpandEntry> children;
      this->ApplySplits(to_apply, p_tree);
      for (auto& entry : to_apply) {
        auto const left = p_tree->LeftChild(entry.nid), right = p_tree->RightChild(entry.nid);
        if (driver.IsChildValid(entry)) {
          children.emplace_back(left, entry.depth + 1, entry.nid);
          children.emplace_back(right, entry.depth + 1, entry.nid);
        }
        applied.push_back({entry.nid, left, right, std::move(entry.split)});
      }
      search_->Partition(*p_tree, applied);
      this->Evaluate(&children);
      driver.Push(children);
    }

    auto& position = out_position->HostVector();
    position.resize(gpair.Shape(0));
    search_->End(common::Span{position});
  }

  /**
   * @brief Give the leaves of the tree that was grown last values for some labels.
   *
   * @param gradients Gradients of these labels, divided by their units.
   * @param labels    Other labels have the value 0.
   */
  void SetLeafValues(LabelGradients const& gradients, std::vector<std::uint32_t> const& labels,
                     RegTree* p_tree) const {
    auto of_leaves = search_->SumOverLeaves(gradients);
    auto const bounds =
        param_.HasMonotone() ? this->BoundLeaves(of_leaves, *p_tree) : std::vector<WeightBounds>{};
    auto const n_leaves = of_leaves.leaves.size(), n_labels = labels.size();
    std::size_t const n_all_labels = p_tree->NumTargets();
    std::vector<float> weights(n_leaves * n_all_labels, 0.0f);
    common::ParallelFor(
        n_leaves, this->ThreadsFor(n_leaves, n_labels), common::Sched::Dyn(1), [&](auto l) {
          for (std::size_t j = 0; j < n_labels; ++j) {
            auto const* sum = of_leaves.sums.data() + 2 * (l * n_labels + j);
            auto const weight = LabelWeight(rules_.reg, sum[0], sum[1]);
            weights[l * n_all_labels + labels[j]] =
                (bounds.empty() ? static_cast<float>(weight) : bounds[l].Clip(j, weight)) *
                param_.learning_rate * this->UnitOf(labels[j]);
          }
        });
    p_tree->SetLeaves(std::move(of_leaves.leaves), common::Span<float const>{weights});
  }

 private:
  ExpandEntry InitRoot(RegTree* p_tree) {
    this->AddNode(RegTree::kRoot, search_->RootSums(),
                  rules_.is_monotone ? WeightBounds{n_targets_} : WeightBounds{});
    auto weight = this->Weights(stats_[RegTree::kRoot].sums, stats_[RegTree::kRoot].bounds);
    this->Rescale(&weight);
    auto sum_hess = this->SumHess(stats_[RegTree::kRoot].sums);
    if (p_tree->IsMultiTarget()) {
      for (auto& w : weight) {
        w *= param_.learning_rate;
      }
      p_tree->SetRoot(linalg::MakeVec(weight.data(), weight.size()), sum_hess);
    } else {
      p_tree->Stat(RegTree::kRoot).sum_hess = sum_hess;
      p_tree->Stat(RegTree::kRoot).base_weight = weight.front();
      (*p_tree)[RegTree::kRoot].SetLeaf(param_.learning_rate * weight.front());
    }
    std::vector<ExpandEntry> root(1);
    this->Evaluate(&root);
    return root.front();
  }

  void AddNode(bst_node_t nidx, std::vector<double> sums, WeightBounds bounds) {
    stats_.resize(std::max(stats_.size(), static_cast<std::size_t>(nidx) + 1));
    auto& stats = stats_[nidx];
    stats.sums = std::move(sums);
    stats.bounds = std::move(bounds);
    stats.score = rules_.kernels.score(rules_.reg, stats);
  }

  /**
   * @brief Return the bounds that monotone constraints set on the weights of a tree's leaves.
   *
   * @return The bounds of each leaf of `of_leaves`.
   */
  [[nodiscard]] std::vector<WeightBounds> BoundLeaves(LeafSums const& of_leaves,
                                                      RegTree const& tree) const {
    auto const width = of_leaves.sums.size() / of_leaves.leaves.size(), n_labels = width / 2;
    auto const n_nodes = static_cast<std::size_t>(tree.NumNodes());
    // Gradients, then Hessians. Children have higher indices than their parents.
    std::vector<std::vector<double>> sums(n_nodes, std::vector<double>(width, 0.0));
    for (std::size_t l = 0; l < of_leaves.leaves.size(); ++l) {
      for (std::size_t j = 0; j < n_labels; ++j) {
        auto const* sum = of_leaves.sums.data() + l * width + 2 * j;
        sums[of_leaves.leaves[l]][j] = sum[0];
        sums[of_leaves.leaves[l]][n_labels + j] = sum[1];
      }
    }
    auto const view = tree.HostMtView();
    for (auto nid = static_cast<bst_node_t>(n_nodes) - 1; nid >= 0; --nid) {
      if (!view.IsLeaf(nid)) {
        auto const &left = sums[view.LeftChild(nid)], &right = sums[view.RightChild(nid)];
        sums[nid] = left;
        Add(right, &sums[nid]);
      }
    }
    std::vector<WeightBounds> bounds(n_nodes, WeightBounds{n_labels});
    for (bst_node_t nid = 0; nid < static_cast<bst_node_t>(n_nodes); ++nid) {
      if (!view.IsLeaf(nid)) {
        auto const left = view.LeftChild(nid), right = view.RightChild(nid);
        auto children = BoundChildren(rules_.reg, bounds[nid], rules_.OrderOf(view.SplitIndex(nid)),
                                      sums[left].data(), sums[right].data());
        bounds[left] = std::move(children.left);
        bounds[right] = std::move(children.right);
      }
    }
    std::vector<WeightBounds> out;
    for (auto leaf : of_leaves.leaves) {
      out.push_back(std::move(bounds[leaf]));
    }
    return out;
  }

  /** @brief Weights of a node without the learning rate. [n_targets] */
  [[nodiscard]] std::vector<float> Weights(std::vector<double> const& sums,
                                           WeightBounds const& bounds) const {
    std::vector<float> weights(n_targets_);
    for (std::size_t j = 0; j < n_targets_; ++j) {
      auto const weight = LabelWeight(rules_.reg, sums[j], sums[n_targets_ + j]);
      weights[j] = bounds.Empty() ? static_cast<float>(weight) : bounds.Clip(j, weight);
    }
    return weights;
  }

  /** @brief The unit of a label's weights in the tree. */
  [[nodiscard]] float UnitOf(std::size_t label) const {
    auto const& units = rules_.ml_param.target_scale;
    return units.empty() ? 1.0f : units[label];
  }
  /** @brief Bring a node's weights to the units of the labels; those of a sketch have none. */
  void Rescale(std::vector<float>* weights) const {
    for (std::size_t j = 0; !is_sketch_ && j < weights->size(); ++j) {
      (*weights)[j] *= this->UnitOf(j);
    }
  }

  /** @brief Number of threads for items with divisions: one if there are few of them. */
  [[nodiscard]] std::int32_t ThreadsFor(std::size_t n_items, std::size_t n_each) const {
    constexpr std::size_t kFew = 1 << 12;
    return n_items * n_each < kFew ? 1 : ctx_->Threads();
  }

  /** @brief Hessian of a node over all labels: its `cover`. */
  [[nodiscard]] double SumHess(std::vector<double> const& sums) const {
    return std::accumulate(sums.cbegin() + n_targets_, sums.cend(), 0.0);
  }

  /** @brief Split the nodes of a level at once, since growing the tree's arrays is expensive. */
  void ApplySplits(std::vector<ExpandEntry> const& entries, RegTree* p_tree) {
    struct Children {
      std::vector<double> left_sums, right_sums;
      std::vector<float> base_weight;
      ChildBounds bounds;
    };
    std::vector<Children> children(entries.size());
    auto const eta = param_.learning_rate;
    tree::ExpandBatch batch{eta};
    auto const n_threads = this->ThreadsFor(entries.size(), 3 * n_targets_);
    common::ParallelFor(entries.size(), n_threads, common::Sched::Dyn(1), [&](auto i) {
      auto const& split = entries[i].split;
      auto& stats = stats_[entries[i].nid];
      auto& [left_sums, right_sums, base_weight, bounds] = children[i];
      left_sums = std::move(stats.left_sums);
      right_sums.resize(left_sums.size());
      Subtract(stats.sums, left_sums, &right_sums);
      base_weight = this->Weights(stats.sums, stats.bounds);
      if (rules_.is_monotone) {
        bounds = BoundChildren(rules_.reg, stats.bounds, rules_.OrderOf(split.feature),
                               left_sums.data(), right_sums.data());
      } else {
        bounds.left_weights = this->Weights(left_sums, bounds.left);
        bounds.right_weights = this->Weights(right_sums, bounds.right);
      }
      for (auto* weights : {&base_weight, &bounds.left_weights, &bounds.right_weights}) {
        this->Rescale(weights);
      }
    });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      auto const& split = entries[i].split;
      auto const& [left_sums, right_sums, base_weight, bounds] = children[i];
      auto const& [left_weight, right_weight, left_bounds, right_bounds] = bounds;
      auto const left_hess = this->SumHess(left_sums);
      auto const right_hess = this->SumHess(right_sums);
      if (p_tree->IsMultiTarget()) {
        batch.Push(entries[i].nid, split.feature, split.split_value, split.default_left,
                   common::Span<float const>{base_weight}, common::Span<float const>{left_weight},
                   common::Span<float const>{right_weight}, split.gain, left_hess, right_hess,
                   common::Span{split.right_categories});
      } else if (!split.right_categories.empty()) {
        p_tree->ExpandCategorical(
            entries[i].nid, split.feature, common::Span{split.right_categories}, split.default_left,
            base_weight.front(), eta * left_weight.front(), eta * right_weight.front(), split.gain,
            left_hess + right_hess, left_hess, right_hess);
      } else {
        p_tree->ExpandNode(entries[i].nid, split.feature, split.split_value, split.default_left,
                           base_weight.front(), eta * left_weight.front(),
                           eta * right_weight.front(), split.gain, left_hess + right_hess,
                           left_hess, right_hess);
      }
    }
    if (batch.Size() > 0) {
      p_tree->Expand(ctx_, batch);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      auto const left = p_tree->LeftChild(entries[i].nid);
      auto const right = p_tree->RightChild(entries[i].nid);
      interactions_.Split(entries[i].nid, entries[i].split.feature, left, right);
      this->AddNode(left, std::move(children[i].left_sums), std::move(children[i].bounds.left));
      this->AddNode(right, std::move(children[i].right_sums), std::move(children[i].bounds.right));
    }
  }

  /** @brief Find the best split of each node. */
  void Evaluate(std::vector<ExpandEntry>* nodes) {
    auto const* interactions = param_.interaction_constraints.empty() ? nullptr : &interactions_;
    std::vector<NodeRequest> requests;
    for (auto& node : *nodes) {
      auto const sampled = columns_.GetFeatureSet(ctx_, node.depth);
      bool const goes_on = param_.max_depth == 0 || node.depth + 1 < param_.max_depth;
      requests.push_back(
          {node.nid, node.parent,
           AllowedFeatures(sampled->ConstHostSpan(), n_features_, interactions, node.nid), goes_on,
           &stats_[node.nid], &node.split});
    }
    if (!requests.empty()) {
      search_->Evaluate(requests);
    }
  }

  Context const* ctx_;
  tree::TrainParam const& param_;
  TreeRules const& rules_;
  common::ColumnSampler columns_;
  FeatureInteractionConstraintHost interactions_;
  Workspace& workspace_;
  /** @brief The search of the current tree. */
  SplitSearch* search_{nullptr};
  /** @brief Number of columns that are searched on: labels, or dimensions of a sketch. */
  std::size_t n_targets_{0};
  bool is_sketch_{false};
  bst_feature_t n_features_{0};
  std::vector<NodeStats> stats_;  // by node index
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_GROWER_H_
