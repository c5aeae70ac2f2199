/**
 * @brief The entries of a small node, feature by feature, sorted by bin.
 *
 * A *list* holds the rows of a node that are stored for a feature (see `bin_index.h`), in the order
 * of their bins, rows of the same bin in their own order. Lists are made once, where a node becomes
 * a row set, by counting; the children's lists come from their parent's by a stable partition
 * that overwrites it. A feature that no longer varies in a node is dropped there: none of the
 * node's descendants can split on it.
 */
#ifndef XDCC_MULTILABEL_ROW_LISTS_H_
#define XDCC_MULTILABEL_ROW_LISTS_H_

#include <algorithm>  // for copy, copy_if
#include <cstddef>    // for size_t
#include <cstdint>    // for uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <numeric>    // for partial_sum
#include <vector>     // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../data/bin_index.h"                 // for BinIndex, FeatureBlock
#include "approximate_scan.h"                  // for ListEntry
#include "quantised_rows.h"                    // for QuantisedRows, ForEachBin
#include "xgboost/base.h"                      // for bst_feature_t
#include "xgboost/span.h"                      // for Span

namespace xgboost::multilabel {
/** @brief The list of one feature: entries [begin, end) of its block. */
struct RowList {
  bst_feature_t feature;
  std::uint32_t begin, end;
  /** @brief Position among the parent's lists of the block. */
  std::uint32_t origin;
  /** @brief Position of its sum in the block (`FeatureSums`); `kNone` unless it has one bin. */
  std::uint32_t sum{kNone};

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
};

/**
 * @brief The lists of a node by block, in one piece of memory.
 *
 * Threads may work on different blocks.
 */
class BlockLists {
  struct Block {
    std::size_t begin{0};
    std::uint32_t n{0};
  };
  std::vector<RowList> lists_;
  std::vector<Block> blocks_;

 public:
  using ConstSpan = common::Span<RowList const>;

  /** @brief Make room for `n_most(b)` lists in block b. */
  template <typename Fn>
  void Reserve(std::size_t n_blocks, Fn&& n_most) {
    std::size_t n{0};
    blocks_.resize(n_blocks);
    for (std::size_t b = 0; b < n_blocks; ++b) {
      blocks_[b] = {n, 0};
      n += n_most(b);
    }
    lists_.resize(n);
  }
  /** @brief Where the lists of a block go; `SetSize` says how many there are. */
  [[nodiscard]] RowList* Room(std::size_t b) { return lists_.data() + blocks_[b].begin; }
  void SetSize(std::size_t b, std::size_t n) { blocks_[b].n = static_cast<std::uint32_t>(n); }
  [[nodiscard]] ConstSpan operator[](std::size_t b) const {
    return {lists_.data() + blocks_[b].begin, blocks_[b].n};
  }
  [[nodiscard]] common::Span<RowList> operator[](std::size_t b) {
    return {lists_.data() + blocks_[b].begin, blocks_[b].n};
  }
};

/** @brief Whether all entries of a list are in one bin. */
inline bool HasOneBin(ListEntry const* entries, RowList const& list) {
  return (entries[list.begin] ^ entries[list.end - 1]) >> kBinShift == 0;
}

/** @brief Whether a list says nothing: no entry, or all `n_rows` rows in one bin. */
inline bool IsConstant(ListEntry const* entries, RowList const& list, std::size_t n_rows) {
  return list.begin == list.end || (list.end - list.begin == n_rows && HasOneBin(entries, list));
}

/** @brief Working memory of one thread. */
struct ListBuffer {
  std::vector<std::uint32_t> ends;  // by bin
  std::vector<ListEntry> entries;
};

/**
 * @brief Make the lists of a block for all rows of a row set.
 *
 * @param entries The entries. Bins are counted from the block's first one.
 * @param lists   Gets where each feature's entries are; constant features are left out.
 */
inline void MakeLists(QuantisedRows const& quantised, BinIndex const& index, std::size_t block_id,
                      FeatureBlock const& block, common::HistogramCuts const& cuts,
                      ListBuffer* buffer, std::vector<ListEntry>* entries, BlockLists* lists) {
  auto& ends = buffer->ends;
  ends.assign(block.n_bins + 1, 0);
  auto for_each_bin = [&](auto&& fn) {
    ForEachBin(
        quantised, index, block_id, block, quantised.NumRows(), [](auto i) { return i; }, fn);
  };
  for_each_bin([&](std::size_t, std::uint32_t bin) { ++ends[bin + 1]; });
  std::partial_sum(ends.cbegin(), ends.cend(), ends.begin());
  entries->resize(ends.back());
  std::vector<RowList> all;
  auto const& ptrs = cuts.Ptrs();
  for (auto f = block.begin; f < block.end; ++f) {
    all.push_back({f, ends[ptrs[f] - block.first_bin], ends[ptrs[f + 1] - block.first_bin], 0,
                   RowList::kNone});
  }
  auto* out = entries->data();
  for_each_bin([&](std::size_t row, std::uint32_t bin) {
    out[ends[bin]++] = static_cast<ListEntry>(row | bin << kBinShift);
  });
  auto* const first = lists->Room(block_id);
  auto const* last = std::copy_if(all.cbegin(), all.cend(), first, [&](RowList const& list) {
    return !IsConstant(out, list, quantised.NumRows());
  });
  lists->SetSize(block_id, last - first);
}

/**
 * @brief Part a node's lists of block `b` between its children.
 *
 * @param from     Entries of the block.
 * @param to       Where to put the children's entries; may be `from`.
 * @param is_right Whether a row of the row set goes to the right, 0 or 1. [n_rows]
 * @param n_left   Number of rows of the left child, and of the right one.
 */
inline void PartitionLists(BlockLists::ConstSpan lists, ListEntry const* from, ListEntry* to,
                           std::uint8_t const* is_right, std::size_t n_left, std::size_t n_right,
                           ListBuffer* buffer, std::size_t b, BlockLists* of_left,
                           BlockLists* of_right) {
  auto *left_end = of_left->Room(b), *right_end = of_right->Room(b);
  for (std::uint32_t origin = 0; origin < lists.size(); ++origin) {
    auto const& list = lists[origin];
    auto const n = list.end - list.begin;
    if (buffer->entries.size() < n + 1) {
      buffer->entries.resize(n + 1);
    }
    auto* left = to + list.begin;
    auto* right = buffer->entries.data();
    for (auto e = list.begin; e < list.end; ++e) {
      // Written to both ends, kept at one: no branch to guess wrong.
      auto const entry = from[e];
      std::size_t const goes_right = is_right[entry & kRowMask];
      *left = entry;
      *right = entry;
      left += 1 - goes_right;
      right += goes_right;
    }
    auto const middle = static_cast<std::uint32_t>(left - to);
    std::copy(buffer->entries.data(), right, left);
    RowList const left_list{list.feature, list.begin, middle, origin, RowList::kNone};
    RowList const right_list{list.feature, middle, list.end, origin, RowList::kNone};
    if (!IsConstant(to, left_list, n_left)) {
      *left_end++ = left_list;
    }
    if (!IsConstant(to, right_list, n_right)) {
      *right_end++ = right_list;
    }
  }
  of_left->SetSize(b, left_end - of_left->Room(b));
  of_right->SetSize(b, right_end - of_right->Room(b));
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_ROW_LISTS_H_
