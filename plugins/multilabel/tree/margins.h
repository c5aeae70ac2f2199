/**
 * @brief Adds the trees of a round to the margins of the training rows, in one pass over these.
 *
 * XGBoost adds tree by tree, all labels of each. A tree that is for a group of labels has zeros for
 * the others: added by its labels only, the trees of a round read and write each margin once.
 */
#ifndef XDCC_MULTILABEL_MARGINS_H_
#define XDCC_MULTILABEL_MARGINS_H_

#include <algorithm>  // for min
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <vector>     // for vector

#include "../../../src/tree/sample_position.h"  // for SamplePosition
#include "../reductions.h"                      // for AddArray, ForEachRun
#include "xgboost/base.h"                       // for bst_node_t
#include "xgboost/context.h"                    // for Context
#include "xgboost/linalg.h"                     // for MatrixView
#include "xgboost/span.h"                       // for Span
#include "xgboost/tree_model.h"                 // for RegTree

namespace xgboost::multilabel {
/** @brief A tree and where the rows are in it. */
struct GrownTree {
  RegTree const* tree;
  common::Span<bst_node_t const> position;
  /** @brief The labels that it has values for; empty means all. */
  std::vector<std::uint32_t> labels;
};

/** @brief Add trees with vector leaves. */
inline void AddToMargins(Context const* ctx, std::vector<GrownTree> const& trees,
                         linalg::MatrixView<float> margins) {
  constexpr std::size_t kRun = 64;  // rows that a thread takes at a time
  std::size_t const n_rows = margins.Shape(0), n_labels = margins.Shape(1);
  struct Leaves {
    float const* weights;                    // [n_leaves, n_labels]
    std::vector<std::size_t> first_of_node;  // of a leaf's weights
  };
  std::vector<Leaves> leaves;
  for (auto const& grown : trees) {
    auto const& tree = *grown.tree->GetMultiTargetTree();
    auto& of_tree = leaves.emplace_back();
    of_tree.weights = tree.LeafWeights(ctx->Device()).data();
    of_tree.first_of_node.resize(tree.Size());
    for (std::size_t nid = 0; nid < tree.Size(); ++nid) {
      if (tree.IsLeaf(nid)) {  // there the right child is the position of the weights
        of_tree.first_of_node[nid] = tree.RightChild(nid) * n_labels;
      }
    }
  }
  auto* out = margins.Values().data();
  ForEachRun(n_rows, kRun, ctx->Threads(), [&](auto, auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      auto* row = out + i * n_labels;
      for (std::size_t t = 0; t < trees.size(); ++t) {
        auto const nid = tree::SamplePosition::Decode(trees[t].position[i]);
        auto const* weights = leaves[t].weights + leaves[t].first_of_node[nid];
        if (trees[t].labels.empty()) {
          XDCC_BEST_CLONE(AddArray<float>)(weights, n_labels, row);
        }
        for (auto label : trees[t].labels) {
          row[label] += weights[label];
        }
      }
    }
  });
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_MARGINS_H_
