/**
 * @brief Nodes of a local row set: their rows, lists or histograms, and the sums that scores need.
 */
#ifndef XDCC_MULTILABEL_LABEL_NODE_H_
#define XDCC_MULTILABEL_LABEL_NODE_H_

#include <algorithm>   // for min, transform
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, uint8_t, uint32_t
#include <functional>  // for minus
#include <limits>      // for numeric_limits
#include <memory>      // for shared_ptr
#include <vector>      // for vector

#include "../../vectorised.h"       // for XDCC_BEST_CLONE, XDCC_INLINE
#include "../data/aligned_array.h"  // for AlignedArray
#include "approximate_scan.h"       // for ListEntry, ListSumFn, ListSumOfWidth
#include "integer_histogram.h"      // for IntegerHistogram
#include "quantised_rows.h"         // for QuantisedRows, LabelChunk, SumRows
#include "row_lists.h"              // for RowList
#include "score_error.h"            // for ScanConstants
#include "xgboost/base.h"           // for bst_idx_t
#include "xgboost/span.h"           // for Span

namespace xgboost::multilabel {
/** @brief The entries of a row set, by block. */
using BlockEntries = std::vector<std::vector<ListEntry>>;

/** @brief The lists of a root, which are the same for every tree with the same rows. */
struct RootLists {
  /** @brief Those that carry a gradient, by global index. */
  std::vector<bst_idx_t> rows;
  std::shared_ptr<BlockEntries> entries;
  BlockLists lists;
};

/** @brief A local row set, and what its nodes share. */
struct RowSet {
  QuantisedRows rows;
  /** @brief Number of rows on all workers. */
  std::size_t n_all_rows;
  bool has_lists;
  std::vector<std::uint8_t> is_right;   // of the last partition, by row
  AlignedArray<float> lambda, padding;  // by padded label
};
/** @brief Sums of a block over the lists with one bin: the only split that such a feature offers.
 */
struct FeatureSums {
  std::size_t n{0};
  /** @brief Chunk by chunk [n, 2 * width], in `LabelNode::sum_memory`; null: not kept. */
  std::int32_t* values{nullptr};

  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk) const {
    return values + 2 * chunk.padded_begin * n;
  }
  /** @brief The sums of a list. */
  [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk, RowList const& list) const {
    return this->Of(chunk) + list.sum * 2 * chunk.width;
  }
};
/** @brief Sums of a task. */
struct SumMemory {
  AlignedArray<std::int32_t> values;
  std::size_t kept_bytes{0};
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
/** @brief A node of a row set. */
struct LabelNode {
  std::shared_ptr<RowSet> row_set;
  /** @brief Number of rows on all workers. */
  std::size_t n_rows{0};
  std::shared_ptr<BlockEntries> entries;  // of the row set
  BlockLists lists;
  std::vector<FeatureSums> sums;          // by block
  std::vector<SumMemory> sum_memory;      // by block; that of a task at its first one
  std::vector<CategorySlots> categories;  // by block; empty where there are none
  std::vector<NodeHistogram> histograms;  // by block
  AlignedArray<std::int32_t> totals;      // [2 * padded], chunk by chunk
  ScanConstants scan;

  /** @brief Whether `list` is the position of a list with a sum. */
  [[nodiscard]] bool HasSum(std::size_t b, std::uint32_t list) const {
    return list != RowList::kNone && sums[b].values && lists[b][list].sum != RowList::kNone;
  }
};

/** @brief Sum up rows of a row set. [2 * padded], chunk by chunk */
inline AlignedArray<std::int32_t> SumTotals(QuantisedRows const& rows,
                                            common::Span<std::uint32_t const> node_rows) {
  AlignedArray<std::int32_t> totals;
  totals.Assign(2 * rows.PaddedLabels(), 0);
  constexpr std::size_t kRun = 256;  // their values stay in cache
  for (std::size_t begin = 0; begin < node_rows.size(); begin += kRun) {
    for (auto const& chunk : rows.Chunks()) {
      XDCC_BEST_CLONE(SumRows)(rows.Values(chunk), chunk.width, node_rows.data() + begin,
                               std::min(kRun, node_rows.size() - begin),
                               totals.Data() + 2 * chunk.padded_begin);
    }
  }
  return totals;
}

/** @brief Add up the rows of a list with one bin by `sum`, the function for the chunk's width. */
inline void SumOfList(ListSumFn sum, LabelNode const& node, std::size_t b, std::uint32_t i,
                      LabelChunk const& chunk) {
  auto const& list = node.lists[b][i];
  sum((*node.entries)[b].data() + list.begin, list.end - list.begin,
      node.row_set->rows.Values(chunk), node.sums[b].Of(chunk, list));
}

/** @brief A feature's lists in two siblings: positions, `RowList::kNone` where there is none.
 */
struct ListPair {
  /** @brief In the parent. */
  std::uint32_t origin;
  std::uint32_t left, right;
};

/** @brief Call `fn(pair)` for each feature that has a list in one of two siblings. */
template <typename Fn>
XDCC_INLINE void ForEachPair(BlockLists::ConstSpan of_left, BlockLists::ConstSpan of_right,
                             Fn&& fn) {
  constexpr auto kNone = RowList::kNone;
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
XDCC_INLINE void SumPairs(std::size_t b, LabelNode const& parent, LabelNode* left, LabelNode* right,
                          Has&& has, Sum&& sum, Subtract&& subtract) {
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
      b, parent, left, right, [&](auto const& node, auto i) { return node.HasSum(b, i); },
      [&](auto* node, auto i) { SumOfList(sum, *node, b, i, chunk); },
      [&](auto origin, auto const& node, auto i, auto* other, auto other_i) {
        auto const* all = parent.sums[b].Of(chunk, parent.lists[b][origin]);
        auto const* part = node.sums[b].Of(chunk, node.lists[b][i]);
        std::transform(all, all + size, part, other->sums[b].Of(chunk, other->lists[b][other_i]),
                       std::minus<>{});
      });
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LABEL_NODE_H_
