/**
 * @brief The interface between growing a tree and searching its splits.
 *
 * `grower.h` asks a search for the best splits; the search keeps track of which rows are in which
 * node. There is one for any number of labels (`label_search.h`) and one for few numbers per row
 * (`sketch_search.h`).
 */
#ifndef XDCC_MULTILABEL_SPLIT_SEARCH_H_
#define XDCC_MULTILABEL_SPLIT_SEARCH_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for uint8_t
#include <vector>   // for vector

#include "../../../../src/tree/param.h"  // for TrainParam
#include "../../param/param.h"           // for MultiLabelTrainParam
#include "../leaf_values.h"              // for LabelGradients
#include "../split_score.h"              // for Regularisation
#include "split_evaluator.h"             // for NodeStats, Split, SplitEvaluator
#include "xgboost/base.h"                // for GradientPair, bst_node_t
#include "xgboost/context.h"             // for Context
#include "xgboost/data.h"                // for BatchParam, DMatrix
#include "xgboost/linalg.h"              // for MatrixView
#include "xgboost/span.h"                // for Span
#include "xgboost/tree_model.h"          // for RegTree

namespace xgboost::multilabel {
/** @brief The parameters of a tree. */
struct TreeRules {
  tree::TrainParam const& param;
  MultiLabelTrainParam const& ml_param;
  Regularisation reg;
  /** @brief Whether the search follows monotone constraints: not on a sketch. */
  bool is_monotone;
  SplitEvaluator::Kernels kernels;

  /** @param on_labels Whether the gradients are those of labels. */
  TreeRules(tree::TrainParam const& param, MultiLabelTrainParam const& ml_param,
            Regularisation const& reg, bool on_labels)
      : param{param},
        ml_param{ml_param},
        reg{reg},
        is_monotone{on_labels && param.HasMonotone()},
        kernels{SplitEvaluator::Choose(ml_param.Method(),
                                       is_monotone ? LabelRule::kBounded : reg.Rule())} {}

  /** @brief Return the parameters by which pages of the matrix are binned. */
  [[nodiscard]] BatchParam Batch() const { return {param.max_bin, param.sparse_threshold}; }
  /** @brief The monotone constraint of a feature. */
  [[nodiscard]] int OrderOf(bst_feature_t feature) const {
    auto const& orders = param.monotone_constraints;
    return feature < orders.size() ? orders[feature] : 0;
  }
  /** @brief Limit on the memory of histograms. */
  [[nodiscard]] std::size_t MaxBytes() const {
    return static_cast<std::size_t>(ml_param.max_histogram_mib) << 20;
  }
};

/** @brief The data that a tree grows on. */
struct TreeData {
  /** @brief Gradients after masks and sampling. [n_rows, n_targets] */
  linalg::MatrixView<GradientPair const> gpair;
  DMatrix* p_fmat;
  /** @brief The only features that any node may be split on; empty: not known. */
  common::Span<bst_feature_t const> columns{};
};

/** @brief A node to evaluate. */
struct NodeRequest {
  bst_node_t nid;
  /** @brief `RegTree::kInvalidNodeId` for the root. */
  bst_node_t parent;
  /** @brief By feature: whether the node may be split on it; empty: on all. */
  std::vector<std::uint8_t> allowed;
  /** @brief Whether its children may be evaluated. */
  bool goes_on;
  NodeStats* stats;
  Split* split;

  [[nodiscard]] bool IsRoot() const { return parent == RegTree::kInvalidNodeId; }
  [[nodiscard]] std::uint8_t const* Allowed() const {
    return allowed.empty() ? nullptr : allowed.data();
  }
};

/** @brief A node that was split. */
struct AppliedSplit {
  bst_node_t nid, left, right;
  Split split;
};

/** @brief Sums over leaves. */
struct LeafSums {
  std::vector<bst_node_t> leaves;
  /** @brief Gradients and Hessians, alternating. [n_leaves, 2 * n_labels] */
  std::vector<double> sums;
};

class SplitSearch {
 public:
  virtual ~SplitSearch() = default;

  /** @brief Begin a tree. */
  virtual void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) = 0;
  /** @brief Sums over all rows, gradients then Hessians. [2 * n_targets] */
  [[nodiscard]] virtual std::vector<double> RootSums() = 0;
  /**
   * @brief Find the best split of each node, and the sums of its left child.
   *
   * @param requests The root, or pairs of siblings, the left one first.
   */
  virtual void Evaluate(std::vector<NodeRequest> const& requests) = 0;
  /**
   * @brief Partition the rows of nodes among their children.
   *
   * @param tree The tree, with these splits.
   */
  virtual void Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) = 0;
  /**
   * @brief End a tree.
   *
   * @param out Each row's leaf, and whether the row carries a gradient, encoded. [n_rows]
   */
  virtual void End(common::Span<bst_node_t> out) = 0;
  /** @brief Sum up other gradients over the leaves of the last tree. */
  [[nodiscard]] virtual LeafSums SumOverLeaves(LabelGradients const& gradients) const = 0;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_SEARCH_H_
