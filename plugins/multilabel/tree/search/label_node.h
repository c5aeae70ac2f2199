/**
 * @brief Nodes of a row set: their rows, lists or histograms, and the sums that scores need.
 */
#ifndef XDCC_MULTILABEL_LABEL_NODE_H_
#define XDCC_MULTILABEL_LABEL_NODE_H_

#include <algorithm>   // for max, min, transform
#include <cmath>       // for abs, floor, isfinite, ldexp, sqrt
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, uint8_t, uint32_t
#include <functional>  // for minus
#include <limits>      // for numeric_limits
#include <memory>      // for shared_ptr
#include <numeric>     // for accumulate
#include <vector>      // for vector

#include "../../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../param/split_method.h"                // for SplitMethod
#include "../data/aligned_array.h"                   // for AlignedArray
#include "../split_score.h"                          // for Regularisation
#include "integer_histogram.h"                       // for IntegerHistogram
#include "list_scan.h"                               // for ListEntry, ListSumOfWidth, ScanRule
#include "local_rows.h"                              // for LocalRows, LabelChunk, SumLocalRows
#include "row_lists.h"                               // for RowList
#include "split_candidate.h"                         // for ScoreError
#include "split_evaluator.h"                         // for NodeStats
#include "xgboost/base.h"                            // for bst_idx_t

namespace xgboost::multilabel {
/** @brief Settings of a `LabelSearch`. */
struct LabelSearchParam {
  Regularisation reg;
  SplitMethod method{SplitMethod::kSumGain};
  /** @brief Nodes with more rows use histograms. */
  std::size_t max_list_rows{0};
  std::uint32_t max_cat_to_onehot{0};
  std::uint32_t max_cat_threshold{0};
  /** @brief Whether categories are sorted: coarse integers often leave open how. */
  bool sorts_categories{false};
  /** @brief Whether the categories of lists are added up. */
  bool adds_categories{false};
  /** @brief Whether weights have bounds. */
  bool is_monotone{false};

  /** @brief The conditions that scans must check. */
  [[nodiscard]] ScanRule Rule() const {
    if (is_monotone) {
      return ScanRule::kBounded;
    }
    bool const steps = reg.max_delta_step != 0.0;
    if (steps || reg.lambda == 0.0) {
      return ScanRule::kClipped;
    }
    if (reg.LabelFloor() > 0.0 || reg.has_bare_gradients ||
        (reg.MeanFloor() > 0.0 && reg.alpha != 0.0)) {
      return ScanRule::kCounted;
    }
    return reg.alpha != 0.0        ? ScanRule::kShrunk
           : reg.MeanFloor() > 0.0 ? ScanRule::kMean
                                   : ScanRule::kPlain;
  }
  /** @brief Whether scans say which splits are not allowed. */
  [[nodiscard]] bool HasReach() const {
    auto const rule = this->Rule();
    return rule == ScanRule::kMean || this->HasBits();
  }
  /** @brief Whether labels may not count. */
  [[nodiscard]] bool HasBits() const {
    auto const rule = this->Rule();
    return rule == ScanRule::kCounted || rule == ScanRule::kClipped || rule == ScanRule::kBounded;
  }
};

/** @brief The entries of a local_rows, by block. */
using BlockEntries = std::vector<std::vector<ListEntry>>;

/** @brief The lists of a root, which are the same for every tree with the same rows. */
struct RootLists {
  /** @brief Those that carry a gradient, by global index. */
  std::vector<bst_idx_t> rows;
  std::shared_ptr<BlockEntries> entries;
  std::vector<std::vector<RowList>> lists;
};

/** @brief A local_rows, and what its nodes share. */
struct RowSet {
  LocalRows rows;
  /** @brief Number of rows on all workers. */
  std::size_t n_all_rows;
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

  [[nodiscard]] std::int32_t const* Of(LabelChunk const& chunk) const {
    return values.Data() + 2 * chunk.padded_begin * n;
  }
  /** @brief The sums of a list. */
  [[nodiscard]] std::int32_t const* Of(LabelChunk const& chunk, std::uint32_t list) const {
    return this->Of(chunk) + position[list] * 2 * chunk.width;
  }
  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk, std::uint32_t list) {
    return values.Data() + 2 * (chunk.padded_begin * n + position[list] * chunk.width);
  }
  [[nodiscard]] bool Has(std::uint32_t list) const {
    return list < position.size() && position[list] != kNone;
  }
};
/** @brief Sums over the categories of a block's features: a slot for each that has rows. */
struct CategorySlots {
  /** @brief Code of a feature's last slot: the default category, whose rows are not stored. */
  static constexpr std::uint32_t kDefault = std::numeric_limits<std::uint32_t>::max();

  std::size_t kept_bytes{0};
  std::vector<std::uint32_t> first;   // by list: its first slot; at the end the number of slots
  std::vector<std::uint32_t> codes;   // by slot: the category's bin
  std::vector<std::uint32_t> n_rows;  // by slot
  AlignedArray<std::int32_t> values;  // chunk by chunk: [n_slots, 2 * width]

  [[nodiscard]] bool Has(std::uint32_t list) const {
    return list < first.size() && first[list] != first[list + 1];
  }
  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk, std::size_t slot) {
    return values.Data() + 2 * (chunk.padded_begin * codes.size() + slot * chunk.width);
  }
  [[nodiscard]] std::int32_t const* Of(LabelChunk const& chunk, std::size_t slot) const {
    return values.Data() + 2 * (chunk.padded_begin * codes.size() + slot * chunk.width);
  }
};
/** @brief A node's histogram of one block. */
struct NodeHistogram {
  IntegerHistogram sums;
  std::size_t kept_bytes{0};
};
/**
 * @brief Limits for the Hessians of a node's children, below which a split is not allowed.
 *
 * Integers are sums of rounded numbers, so a limit has two bounds: a sum below the lower one is
 * surely too small, a sum above the upper one surely large enough. Between them exact sums decide.
 */
struct NodeReach {
  /** @brief By padded label: a label with a Hessian above `may` may count, above `does` it does. */
  AlignedArray<std::int32_t> may, does;
  /** @brief Hessian over all labels, and bounds for its part in a child; zero without a mean. */
  float hess{0.0f}, least_hess{0.0f}, enough_hess{0.0f};
};
/** @brief Monotone constraints: bounds of weights, and errors of the sums. By padded label. */
struct NodeBounds {
  AlignedArray<float> lower, upper, grad_error, hess_error;
  /** @brief Relative error of any value. */
  float relative{0.0f};
};
/** @brief A node of a row set. */
struct LabelNode {
  std::shared_ptr<RowSet> row_set;
  /** @brief Number of rows on all workers. */
  std::size_t n_rows{0};
  std::shared_ptr<BlockEntries> entries;    // of the row set
  std::vector<std::vector<RowList>> lists;  // by block
  std::vector<FeatureSums> sums;            // by block
  std::vector<CategorySlots> categories;    // by block; empty where there are none
  std::vector<NodeHistogram> histograms;    // by block
  AlignedArray<std::int32_t> totals;        // [2 * padded], chunk by chunk
  AlignedArray<float> mean, total;          // by padded label
  NodeReach reach;
  NodeBounds bounds;
  ScoreError error;
};

/** @brief Sum up rows of a row set. [2 * padded], chunk by chunk */
inline AlignedArray<std::int32_t> SumTotals(LocalRows const& rows,
                                            common::Span<std::uint32_t const> node_rows) {
  AlignedArray<std::int32_t> totals;
  totals.Assign(2 * rows.PaddedLabels(), 0);
  constexpr std::size_t kRun = 256;  // their values stay in cache
  for (std::size_t begin = 0; begin < node_rows.size(); begin += kRun) {
    for (auto const& chunk : rows.Chunks()) {
      XDCC_BEST_CLONE(SumLocalRows)(rows.Values(chunk), chunk.width, node_rows.data() + begin,
                                    std::min(kRun, node_rows.size() - begin),
                                    totals.Data() + 2 * chunk.padded_begin);
    }
  }
  return totals;
}

/** @brief Bound of the error of a sum of `n_rows` integers, with high probability. */
inline double RoundingOf(double sum, double n_rows, double total) {
  // Rounded up and down at random, or all alike: then by as much as an average row, or some times
  // more where rows differ.
  auto const alike = total > 0.0 ? 4.0 * sum * n_rows / total : n_rows;
  return std::min(n_rows, 4.0 * std::sqrt(n_rows) + 2.0 + alike);
}

/** @brief Set the bounds between which integers cannot tell whether a label counts. */
inline void SetReach(LabelSearchParam const& param, std::size_t n_labels, NodeStats const& stats,
                     LabelNode* node) {
  auto const& rows = node->row_set->rows;
  auto& reach = node->reach;
  constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kAlways = std::numeric_limits<std::int32_t>::min();
  auto bound = [](double value) {
    return static_cast<std::int32_t>(std::floor(std::min<double>(value, kNever)));
  };
  auto const label_floor = param.reg.LabelFloor();
  auto const n_rows = static_cast<double>(node->n_rows);
  auto const padding = param.reg.AllMustCount() ? kAlways : kNever;
  reach.may.Assign(rows.PaddedLabels(), padding);
  reach.does.Assign(rows.PaddedLabels(), padding);
  double unit_of_all{0.0};
  for (auto const& chunk : rows.Chunks()) {
    auto const* hess_totals = node->totals.Data() + 2 * chunk.padded_begin + chunk.width;
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const at = chunk.padded_begin + k;
      double const unit = rows.HessScale()[at];
      unit_of_all += unit;
      auto &may = reach.may.Data()[at], &does = reach.does.Data()[at];
      double const least = label_floor == 0.0 ? 0.0 : unit > 0.0 ? label_floor / unit : kNever;
      double const error = RoundingOf(least, n_rows, hess_totals[k]);
      may = bound(least - error - 1.0);
      // An integer above 0 is a row with half a unit at least.
      does = least < 0.5 ? 0 : bound(least + error);
      if (param.reg.lambda == 0.0) {  // what is to be divided by has to be exact enough
        does = std::max(does,
                        bound(ScoreError::kLeastExact * RoundingOf(0.0, n_rows, hess_totals[k])));
      }
    }
  }
  if (param.reg.MeanFloor() > 0.0) {
    auto const hess = std::accumulate(stats.sums.cbegin() + n_labels, stats.sums.cend(), 0.0);
    auto const least = param.reg.MeanFloor() * static_cast<double>(n_labels);
    auto const error = 1e-5 * least + 1e-6 * hess + 4.0 * std::sqrt(n_rows) * unit_of_all;
    reach.hess = static_cast<float>(hess);
    reach.least_hess = static_cast<float>(least - error);
    reach.enough_hess = static_cast<float>(least + error);
  }
}

/** @brief Lay out the bounds of weights as scans read them. */
inline void SetBounds(NodeStats const& stats, LabelNode* node) {
  auto const& rows = node->row_set->rows;
  auto& bounds = node->bounds;
  for (auto* values : {&bounds.lower, &bounds.upper, &bounds.grad_error, &bounds.hess_error}) {
    values->Assign(rows.PaddedLabels(), 0.0f);
  }
  auto const n_rows = static_cast<float>(node->n_rows);
  auto const n_units = 4.0f * std::sqrt(n_rows) + 2.0f;  // rows are rounded up and down at random
  bounds.relative = 2e-6f + std::ldexp(n_rows, -29);     // or all alike
  for (auto const& chunk : rows.Chunks()) {
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      auto const at = chunk.padded_begin + k;
      bounds.lower.Data()[at] = stats.bounds.lower[j];
      bounds.upper.Data()[at] = stats.bounds.upper[j];
      bounds.grad_error.Data()[at] = n_units * rows.GradScale()[at];
      bounds.hess_error.Data()[at] = n_units * rows.HessScale()[at];
    }
  }
}

/**
 * @brief Errors of the parts of scores from the rounding of integers, over all labels.
 *
 * A node with few of its row set's rows has coarse integers, and packed ones are coarse from the
 * beginning. An entry errs by s / sqrt(12) with a unit s, a packed one by s / 2 at most (standard
 * deviations), and n_L of them by e, three times this times sqrt(n_L). Where a = H_L + lambda is
 * small, so is n_L: about n a / H.
 */
struct NodeRounding {
  /**
   * @brief Sum of e^2 / (9 a).
   *
   * So G_L^2 / a errs by no more than 2 sqrt(9 of this) times its root, and so does G_R^2 / b.
   */
  double scores{0.0};
  /** @brief For the Hessian, with packed integers: the largest e / a. */
  double hess{0.0};
  /** @brief For both children's weights, with packed integers: sum of (2 e / a)^2. */
  double weights{0.0};

  /** @param weight The node's. */
  void AddLabel(LabelSearchParam const& param, LocalRows const& rows, std::size_t at, double weight,
                double n, double hess_sum) {
    double const lambda = param.reg.lambda;
    double const grad_unit = rows.GradScale()[at], hess_unit = rows.HessScale()[at];
    auto const n_per_hess = n / std::max(hess_sum, lambda);
    if (!std::isfinite(n_per_hess)) {
      return;
    }
    if (!rows.IsPacked()) {
      scores += grad_unit * grad_unit / 12.0 * n_per_hess;
      return;
    }
    auto const of_mean = weight * hess_unit;  // in G_L - m a
    scores += (grad_unit * grad_unit + of_mean * of_mean) / 4.0 * n_per_hess;
    if (lambda == 0.0) {
      return;  // `ScoreError::kLeastExact` bounds these
    }
    // sqrt(n_L) / (lambda + n_L H / n) is largest where both terms are equal, or with one row.
    auto const most = 1.5 * std::max(1.0 / lambda, 0.5 * std::sqrt(n_per_hess / lambda));
    hess = std::max(hess, hess_unit * most);
    weights += 4.0 * grad_unit * grad_unit * most * most;
  }
};

/** @brief Derive what the scores of a node need from its sums. */
inline void SetConstants(LabelSearchParam const& param, std::size_t n_labels,
                         NodeStats const& stats, LabelNode* node) {
  auto const& rows = node->row_set->rows;
  auto const n_padded = rows.PaddedLabels();
  node->mean.Assign(n_padded, 0.0f);
  node->total.Assign(n_padded, 2.0f);
  double sum_total{0.0}, sum_absolute{0.0};
  NodeRounding rounding;
  for (auto const& chunk : rows.Chunks()) {
    auto const* grad_totals = node->totals.Data() + 2 * chunk.padded_begin;
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      auto const at = chunk.padded_begin + k;
      // From the integer sums, so that the children's sums add up to the parent's.
      auto const total = static_cast<double>(grad_totals[chunk.width + k]) * rows.HessScale()[at] +
                         2.0 * param.reg.lambda;
      auto const mean = static_cast<double>(grad_totals[k]) / total;
      node->total.Data()[at] = static_cast<float>(total);
      if (rows.GradScale()[at] > 0.0f) {
        node->mean.Data()[at] = static_cast<float>(mean);
        rounding.AddLabel(param, rows, at, mean * rows.GradScale()[at],
                          static_cast<double>(node->n_rows), stats.sums[n_labels + j]);
      }
      double const grad = stats.sums[j], hess = stats.sums[n_labels + j];
      if (auto const weight_of = hess + param.reg.lambda; weight_of > 0.0) {
        sum_total += grad * grad / (weight_of + param.reg.lambda);
        sum_absolute += std::abs(grad) / weight_of;
      }
    }
  }
  // Errors of single precision and of integers that are sums of n rounded ones. Where one row is
  // parted from n others, G - m a is small against G: that error grows with n, but it is rare.
  auto const n = std::sqrt(static_cast<float>(node->n_rows));
  bool const is_gain =
      param.method == SplitMethod::kSumGain || param.method == SplitMethod::kMaxGain;
  auto const size = is_gain ? std::abs(stats.score) : 4.0 * sum_absolute;
  auto const rule = param.Rule();
  if (param.HasReach()) {
    SetReach(param, n_labels, stats, node);
  }
  if (rule == ScanRule::kBounded) {
    SetBounds(stats, node);
    // The scan says how far each score is off; what is left is the sum over chunks.
    node->error = {2e-6f, 2e-6f * static_cast<float>(std::abs(stats.score)), -stats.score, 0.0f};
    return;
  }
  auto const of_hess = static_cast<float>(rounding.hess);
  auto const of_weights = is_gain ? 0.0f : static_cast<float>(std::sqrt(rounding.weights));
  auto const of_root = static_cast<float>(std::sqrt(72.0 * rounding.scores));
  auto const of_packed = rows.IsPacked() && is_gain ? of_root : 0.0f;
  if (rule != ScanRule::kPlain && rule != ScanRule::kMean) {
    // Children's scores as they are; a gradient that alpha nearly cancels keeps alpha's error.
    auto relative = 2e-6f + std::ldexp(n, -24) + std::ldexp(n * n, -29) + of_hess;
    auto weight = 0.0;
    if (param.reg.lambda > 0.0) {
      weight = param.reg.alpha / param.reg.lambda;
    } else {
      relative += 1.0f / static_cast<float>(ScoreError::kLeastExact);
    }
    auto const of_alpha = static_cast<double>(n_labels) * weight * (is_gain ? param.reg.alpha : 1);
    node->error = {relative, relative * static_cast<float>(size + of_alpha) + of_weights,
                   -stats.score, of_packed};
  } else if (param.method == SplitMethod::kSumGain) {
    node->error = {1e-5f + std::min(std::ldexp(n * n, -23), std::ldexp(n, -18)) + of_hess, 0.0f,
                   sum_total - stats.score, of_root};
  } else {
    auto const relative = 2e-6f + std::ldexp(n, -24) + of_hess;
    node->error = {relative, relative * static_cast<float>(size) + of_weights, -stats.score,
                   of_packed};
  }
}

/** @brief Add up the rows of a list with one bin by `sum`, the function for the chunk's width. */
inline void SumOfList(ListSumFn sum, LabelNode const& node, std::size_t b, std::uint32_t i,
                      LabelChunk const& chunk, FeatureSums* sums) {
  auto const& list = node.lists[b][i];
  sum((*node.entries)[b].data() + list.begin, list.end - list.begin,
      node.row_set->rows.Values(chunk), sums->Of(chunk, i));
}

/** @brief A feature's lists in two siblings: positions, `FeatureSums::kNone` where there is none.
 */
struct ListPair {
  /** @brief In the parent. */
  std::uint32_t origin;
  std::uint32_t left, right;
};

/** @brief Call `fn(pair)` for each feature that has a list in one of two siblings. */
template <typename Fn>
inline __attribute__((always_inline)) void ForEachPair(std::vector<RowList> const& of_left,
                                                       std::vector<RowList> const& of_right,
                                                       Fn&& fn) {
  constexpr auto kNone = FeatureSums::kNone;
  std::uint32_t l{0}, r{0};
  while (l < of_left.size() || r < of_right.size()) {
    auto const origin = std::min(l < of_left.size() ? of_left[l].origin : kNone,
                                 r < of_right.size() ? of_right[r].origin : kNone);
    bool const in_left = l < of_left.size() && of_left[l].origin == origin;
    bool const in_right = r < of_right.size() && of_right[r].origin == origin;
    fn(ListPair{origin, in_left ? l : kNone, in_right ? r : kNone});
    l += in_left;
    r += in_right;
  }
}

/** @brief Whether the left one of two siblings has fewer rows of a feature. */
inline bool LeftIsShort(LabelNode const& left, LabelNode const& right, std::size_t b,
                        ListPair const& pair) {
  auto const length = [](RowList const& list) { return list.end - list.begin; };
  return length(left.lists[b][pair.left]) <= length(right.lists[b][pair.right]);
}

/**
 * @brief Sum the shorter list of each feature; the longer one is what the parent has left.
 *
 * @param has      `has(node, list)`: whether a node's list has sums.
 * @param sum      `sum(node, list)` adds up rows.
 * @param subtract `subtract(origin, node, list, other, other_list)` takes a node's sums away.
 */
template <typename Has, typename Sum, typename Subtract>
inline __attribute__((always_inline)) void SumPairs(std::size_t b, LabelNode const& parent,
                                                    LabelNode* left, LabelNode* right, Has&& has,
                                                    Sum&& sum, Subtract&& subtract) {
  ForEachPair(left->lists[b], right->lists[b], [&](ListPair const& pair) {
    bool const in_left = has(*left, pair.left), in_right = has(*right, pair.right);
    if (in_left && in_right && has(parent, pair.origin)) {
      bool const is_left = LeftIsShort(*left, *right, b, pair);
      auto* const node = is_left ? left : right;
      auto const list = is_left ? pair.left : pair.right;
      sum(node, list);
      subtract(pair.origin, *node, list, is_left ? right : left, is_left ? pair.right : pair.left);
      return;
    }
    if (in_left) {
      sum(left, pair.left);
    }
    if (in_right) {
      sum(right, pair.right);
    }
  });
}

/** @brief Sum the lists with one bin of two siblings. */
inline void SumSiblings(std::size_t b, LabelChunk const& chunk, LabelNode const& parent,
                        LabelNode* left, LabelNode* right) {
  auto const size = 2 * chunk.width;
  auto const sum = ListSumOfWidth(chunk.width);
  SumPairs(
      b, parent, left, right, [&](auto const& node, auto i) { return node.sums[b].Has(i); },
      [&](auto* node, auto i) { SumOfList(sum, *node, b, i, chunk, &node->sums[b]); },
      [&](auto origin, auto const& node, auto i, auto* other, auto other_i) {
        auto const* all = parent.sums[b].Of(chunk, origin);
        std::transform(all, all + size, node.sums[b].Of(chunk, i),
                       other->sums[b].Of(chunk, other_i), std::minus<>{});
      });
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LABEL_NODE_H_
