/**
 * @brief Nodes of a cluster: their rows, lists or histograms, and the sums that scores need.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_NODE_H_
#define XDCC_MULTILABEL_CLUSTER_NODE_H_

#include <algorithm>  // for min
#include <cmath>      // for abs, ldexp, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <memory>     // for shared_ptr
#include <vector>     // for vector

#include "../../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../param/split_method.h"                // for SplitMethod
#include "../data/aligned_array.h"                   // for AlignedArray
#include "../split_score.h"                          // for Regularisation
#include "evaluator.h"                               // for NodeStats
#include "integer_histogram.h"                       // for IntegerHistogram, SubtractIntegers
#include "list_scan.h"                               // for ListEntry, ListSumOfWidth
#include "row_cluster.h"                             // for RowCluster, LabelChunk, SumClusterRows
#include "row_lists.h"                               // for RowList
#include "split_candidate.h"                         // for ScoreError
#include "xgboost/base.h"                            // for bst_idx_t

namespace xgboost::multilabel {
/** @brief Settings of a `ClusterEvaluator`. */
struct ClusterParam {
  Regularisation reg;
  SplitMethod method{SplitMethod::kSumGain};
  /** @brief Nodes with more rows use histograms. */
  std::size_t max_list_rows{0};
  /** @brief For sums that are kept for the sake of siblings. */
  std::size_t max_bytes{0};
};

/** @brief The entries of a cluster, by block. */
using BlockEntries = std::vector<std::vector<ListEntry>>;

/** @brief The lists of a root, which are the same for every tree with the same rows. */
struct RootLists {
  /** @brief Those that carry a gradient, by global index. */
  std::vector<bst_idx_t> rows;
  std::shared_ptr<BlockEntries> entries;
  std::vector<std::vector<RowList>> lists;
};

/** @brief A cluster, and what its nodes share. */
struct Cluster {
  RowCluster rows;
  bool has_lists;
  std::vector<std::uint8_t> is_right;   // of the last partition, by row
  AlignedArray<float> lambda, padding;  // by padded label
};
/** @brief Sums over the lists with one bin: the only split that such a feature offers. */
struct FeatureSums {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::size_t n{0};
  std::size_t kept_bytes{0};
  std::vector<std::uint32_t> position;  // by list: position among the sums
  AlignedArray<std::int32_t> values;    // chunk by chunk: [n, 2 * width]

  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk) {
    return values.Data() + 2 * chunk.padded_begin * n;
  }
  [[nodiscard]] std::int32_t const* Of(LabelChunk const& chunk) const {
    return values.Data() + 2 * chunk.padded_begin * n;
  }
  [[nodiscard]] bool Has(std::uint32_t list) const {
    return list < position.size() && position[list] != kNone;
  }
};
/** @brief A node's histogram of one block. */
struct NodeHistogram {
  IntegerHistogram sums;
  std::size_t kept_bytes{0};
};
/** @brief A node of a cluster. */
struct ClusterNode {
  std::shared_ptr<Cluster> cluster;
  std::size_t n_rows{0};
  std::shared_ptr<BlockEntries> entries;    // of the cluster
  std::vector<std::vector<RowList>> lists;  // by block
  std::vector<FeatureSums> sums;            // by block
  std::vector<NodeHistogram> histograms;    // by block
  AlignedArray<std::int32_t> totals;        // [2 * padded], chunk by chunk
  AlignedArray<float> mean, total;          // by padded label
  ScoreError error;
};

/** @brief Sum up the rows of a node. */
inline void SumTotals(std::int32_t n_threads, std::vector<std::uint32_t> const& node_rows,
                      ClusterNode* node) {
  auto const& rows = node->cluster->rows;
  node->n_rows = node_rows.size();
  node->totals.Assign(2 * rows.PaddedLabels(), 0);
  constexpr std::size_t kRun = 1024;
  auto sum = [&](std::size_t run, AlignedArray<std::int32_t>* out) {
    for (auto const& chunk : rows.Chunks()) {
      SumClusterRows(rows.Values(chunk), chunk.width, node_rows.data() + run * kRun,
                     std::min(kRun, node_rows.size() - run * kRun),
                     out->Data() + 2 * chunk.padded_begin);
    }
  };
  auto const n_runs = (node_rows.size() + kRun - 1) / kRun;
  if (n_threads == 1) {
    for (std::size_t run = 0; run < n_runs; ++run) {
      sum(run, &node->totals);
    }
    return;
  }
  std::vector<AlignedArray<std::int32_t>> parts(n_threads, node->totals);
  common::ParallelFor(n_runs, n_threads, [&](auto run) { sum(run, &parts[omp_get_thread_num()]); });
  for (auto const& part : parts) {
    for (std::size_t k = 0; k < 2 * rows.PaddedLabels(); ++k) {
      node->totals.Data()[k] += part.Data()[k];
    }
  }
}
/** @brief The same for the sibling of a node. */
inline void SubtractTotals(ClusterNode const& parent, ClusterNode const& part, ClusterNode* node) {
  node->n_rows = parent.n_rows - part.n_rows;
  node->totals = parent.totals;
  SubtractIntegers(part.totals.Data(), 2 * node->cluster->rows.PaddedLabels(), node->totals.Data());
}

/** @brief Derive what the scores of a node need from its sums. */
inline void SetConstants(ClusterParam const& param, std::size_t n_labels, NodeStats const& stats,
                         ClusterNode* node) {
  auto const& rows = node->cluster->rows;
  auto const n_padded = rows.PaddedLabels();
  node->mean.Assign(n_padded, 0.0f);
  node->total.Assign(n_padded, 2.0f);
  double sum_total{0.0}, sum_absolute{0.0};
  for (auto const& chunk : rows.Chunks()) {
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      auto const at = chunk.padded_begin + k;
      double const grad = stats.sums[j], hess = stats.sums[n_labels + j];
      double const total = hess + 2.0 * param.reg.lambda;
      if (auto const scale = rows.GradScale()[at]; scale > 0.0f) {
        node->mean.Data()[at] = static_cast<float>(grad / total / scale);
      }
      node->total.Data()[at] = static_cast<float>(total);
      sum_total += grad * grad / total;
      sum_absolute += std::abs(grad) / (hess + param.reg.lambda);
    }
  }
  // Errors of single precision and of integers that are sums of n rounded ones. Where one row is
  // parted from n others, G - m a is small against G: that error grows with n, but it is rare.
  auto const n = std::sqrt(static_cast<float>(node->n_rows));
  if (param.method == SplitMethod::kSumGain) {
    node->error = {1e-5f + std::min(std::ldexp(n * n, -23), std::ldexp(n, -18)), 0.0f,
                   sum_total - stats.score};
  } else {
    auto const relative = 2e-6f + std::ldexp(n, -24);
    auto const size =
        param.method == SplitMethod::kMaxGain ? std::abs(stats.score) : 4.0 * sum_absolute;
    node->error = {relative, relative * static_cast<float>(size), -stats.score};
  }
}

/** @brief Add up the rows of a list with one bin. */
inline void SumOfList(ClusterNode const& node, std::size_t b, std::uint32_t i,
                      LabelChunk const& chunk, FeatureSums* sums) {
  auto const& list = node.lists[b][i];
  ListSumOfWidth(chunk.width)((*node.entries)[b].data() + list.begin, list.end - list.begin,
                              node.cluster->rows.Values(chunk),
                              sums->Of(chunk) + sums->position[i] * 2 * chunk.width);
}

/** @brief Sum the shorter list of each feature; the longer one is what the parent has left. */
inline void SumSiblings(std::size_t b, LabelChunk const& chunk, ClusterNode const& parent,
                        ClusterNode* left, ClusterNode* right) {
  auto const &of_left = left->lists[b], &of_right = right->lists[b];
  auto const& from = parent.sums[b];
  std::uint32_t l{0}, r{0};
  while (l < of_left.size() || r < of_right.size()) {
    auto const origin = std::min(l < of_left.size() ? of_left[l].origin : FeatureSums::kNone,
                                 r < of_right.size() ? of_right[r].origin : FeatureSums::kNone);
    bool const in_left = l < of_left.size() && of_left[l].origin == origin;
    bool const in_right = r < of_right.size() && of_right[r].origin == origin;
    bool const sum_left = in_left && left->sums[b].Has(l);
    bool const sum_right = in_right && right->sums[b].Has(r);
    if (sum_left && sum_right && from.Has(origin)) {
      auto const length = [](RowList const& list) { return list.end - list.begin; };
      bool const left_is_short = length(of_left[l]) <= length(of_right[r]);
      auto* node = left_is_short ? left : right;
      auto* other = left_is_short ? right : left;
      auto const i = left_is_short ? l : r, other_i = left_is_short ? r : l;
      SumOfList(*node, b, i, chunk, &node->sums[b]);
      auto const size = 2 * chunk.width;
      auto const* all = from.Of(chunk) + from.position[origin] * size;
      auto const* part = node->sums[b].Of(chunk) + node->sums[b].position[i] * size;
      auto* rest = other->sums[b].Of(chunk) + other->sums[b].position[other_i] * size;
      for (std::size_t k = 0; k < size; ++k) {
        rest[k] = all[k] - part[k];
      }
    } else {
      if (sum_left) {
        SumOfList(*left, b, l, chunk, &left->sums[b]);
      }
      if (sum_right) {
        SumOfList(*right, b, r, chunk, &right->sums[b]);
      }
    }
    l += in_left;
    r += in_right;
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_NODE_H_
