/**
 * @brief Lists the splits on categorical features of a row set's node, to be scored like others.
 *
 * A category's rows are added up as integers, and its sums are the "row" of an entry. The entries
 * are in the order in which `category_scan.h` splits categories, so that the loops of
 * `approximate_scan.h` score the splits. The keys of that order are known up to rounding here: if
 * this leaves the order open, all splits of the feature are left to exact sums.
 */
#ifndef XDCC_MULTILABEL_CATEGORY_LISTS_H_
#define XDCC_MULTILABEL_CATEGORY_LISTS_H_

#include <algorithm>  // for copy_n, equal, min, sort
#include <array>      // for array
#include <cmath>      // for abs, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <numeric>    // for iota
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"  // for UseOneHot
#include "../../vectorised.h"                    // for XDCC_TARGET_CLONES
#include "../data/aligned_array.h"               // for AlignedArray
#include "../split_score.h"                      // for LabelWeight
#include "approximate_scan.h"                    // for ListEntry, ListRange, ListSumOfWidth
#include "label_node.h"                          // for LabelNode
#include "label_search_param.h"                  // for LabelSearchParam
#include "quantised_rows.h"                      // for LabelChunk
#include "split_evaluator.h"                     // for NodeStats
#include "xgboost/base.h"                        // for bst_feature_t

namespace xgboost::multilabel {
/** @brief A categorical feature's list in a node. */
struct CategoryList {
  bst_feature_t feature;
  std::size_t block;
  ListEntry const* first;
  std::uint32_t n;
  std::uint32_t n_categories;
  /** @brief Whether rows that are not stored are of the default category, and not missing. */
  bool has_default;
  /** @brief Among those of its block. */
  std::size_t first_slot, n_slots;
  std::size_t first_key{0};
};

/** @brief By what a category is sorted, up to rounding. */
struct CategoryKey {
  float key{0.0f};
  /** @brief Sum of what was added and subtracted. */
  float size{0.0f};
  /** @brief By how much the key changes if all integers do by one; the same squared, by label. */
  float unit{0.0f}, square{0.0f};
  std::uint32_t n_rows{0};

  /** @brief Bound of the error of the key, with high probability: a unit for each row. */
  [[nodiscard]] float Error() const {
    auto const n = static_cast<float>(n_rows);
    return 1e-6f * size + std::min(n * unit, 4.0f * std::sqrt(n * square));
  }
};

/** @brief Working memory of one thread. */
struct CategoryBuffer {
  std::vector<CategoryList> lists;
  std::vector<CategoryKey> keys;  // by slot
  std::vector<ListEntry> entries;
};

/** @brief Inputs of the keys of a chunk's labels; every array by padded label. */
struct KeyParam {
  float const* grad_scale;
  float const* hess_scale;
  /** @brief Weights of the node. */
  float const* weights;
  float lambda, alpha, max_step;
};

/** @param sums Sums of slots. [n, 2 * width] */
template <int kVectors>
XDCC_TARGET_CLONES static void AddChunkToKeys(std::int32_t const* sums, std::size_t n, KeyParam by,
                                              CategoryKey* out) {
  Float8 const zero{}, lambda = zero + by.lambda, alpha = zero + by.alpha;
  Float8 grad_scale[kVectors], hess_scale[kVectors], weights[kVectors];
  std::memcpy(grad_scale, by.grad_scale, sizeof(grad_scale));
  std::memcpy(hess_scale, by.hess_scale, sizeof(hess_scale));
  std::memcpy(weights, by.weights, sizeof(weights));
  for (std::size_t i = 0; i < n; ++i) {
    Int8 of_slot[2 * kVectors];
    std::memcpy(of_slot, sums + i * 16 * kVectors, sizeof(of_slot));
    Float8 key{}, size{}, unit{}, square{};
    XDCC_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      Float8 const grad = __builtin_convertvector(of_slot[v], Float8) * grad_scale[v];
      Float8 const total =
          __builtin_convertvector(of_slot[kVectors + v], Float8) * hess_scale[v] + lambda;
      Float8 const inverse = 1.0f / total, weight = weights[v] * inverse;
      Float8 const absolute = weight < zero ? -weight : weight;
      Float8 const pull = grad < zero ? -grad : grad;
      Float8 const shrunk = pull > alpha ? pull - alpha : zero;
      Float8 const most = by.max_step * total, step = shrunk < most ? shrunk : most;
      key += grad < zero ? weight * step : -weight * step;
      size += absolute * (pull + alpha);
      // A unit of the gradient, and one of the Hessian, which changes the step.
      Float8 const of_label = absolute * (grad_scale[v] + pull * inverse * hess_scale[v]);
      unit += of_label;
      square += of_label * of_label;
    }
    XDCC_UNROLL(4)
    for (int k = 0; k < 3; ++k) {
      key += XDCC_SWAP_LANES(key, 4 >> k);
      size += XDCC_SWAP_LANES(size, 4 >> k);
      unit += XDCC_SWAP_LANES(unit, 4 >> k);
      square += XDCC_SWAP_LANES(square, 4 >> k);
    }
    out[i].key += key[0];
    out[i].size += size[0];
    out[i].unit += unit[0];
    out[i].square += square[0];
  }
}

/** @brief Give slots to the categories of a list that have rows. */
inline void NumberCategories(ListEntry const* entries, RowList const& list, CategorySlots* slots) {
  for (auto i = list.begin + 1, begin = list.begin; i <= list.end; ++i) {
    if (i == list.end || (entries[i] ^ entries[i - 1]) >> kBinShift != 0) {
      slots->codes.push_back(entries[begin] >> kBinShift);
      slots->n_rows.push_back(static_cast<std::uint32_t>(i - begin));
      begin = i;
    }
  }
}

/** @brief The same for what a list of the parent has left beside the last list of `part`. */
inline void NumberOthers(CategorySlots const& all, std::uint32_t origin, CategorySlots const& part,
                         CategorySlots* slots) {
  auto q = static_cast<std::size_t>(part.first.back());
  for (auto p = all.first[origin]; p < all.first[origin + 1]; ++p) {
    auto const code = all.codes[p];
    bool const in_part = q < part.codes.size() && part.codes[q] == code;
    auto const n_rows = all.n_rows[p] - (in_part ? part.n_rows[q] : 0);
    q += in_part;
    if (n_rows > 0 && code != CategorySlots::kDefault) {
      slots->codes.push_back(code);
      slots->n_rows.push_back(n_rows);
    }
  }
}

/**
 * @brief Give slots to the categories of a block that have rows, in a root or two siblings.
 *
 * @param parent   Null for a root.
 * @param right    Null for a root.
 * @param takes    By node and list: whether its feature's categories are to be added up.
 * @param has_default By the same: whether rows that are not stored have a category.
 */
template <typename Takes, typename HasDefault>
void NumberCategories(std::size_t b, LabelNode const* parent, LabelNode* left, LabelNode* right,
                      Takes&& takes, HasDefault&& has_default) {
  constexpr auto kNone = RowList::kNone;
  std::array<LabelNode*, 2> const nodes{left, right};
  for (auto* node : nodes) {
    if (node) {
      node->categories[b].first.assign(1, 0);
      node->categories[b].codes.clear();
      node->categories[b].n_rows.clear();
    }
  }
  auto scan = [&](std::size_t k, std::uint32_t i) {
    NumberCategories((*nodes[k]->entries)[b].data(), nodes[k]->lists[b][i],
                     &nodes[k]->categories[b]);
  };
  auto const of_right = right ? BlockLists::ConstSpan{right->lists[b]} : BlockLists::ConstSpan{};
  ForEachPair(left->lists[b], of_right, [&](ListPair const& pair) {
    std::array<std::uint32_t, 2> const at{pair.left, pair.right};
    auto is_in = [&](std::size_t k) {
      return at[k] != kNone && takes(k, nodes[k]->lists[b][at[k]]);
    };
    bool const in_left = is_in(0), in_right = is_in(1);
    if (in_left && in_right && !parent->categories.empty() &&
        parent->categories[b].Has(pair.origin)) {
      std::size_t const small = LeftIsShort(*left, *right, b, pair) ? 0 : 1;
      scan(small, at[small]);
      NumberOthers(parent->categories[b], pair.origin, nodes[small]->categories[b],
                   &nodes[1 - small]->categories[b]);
    } else {
      for (std::size_t k = 0; k < 2; ++k) {
        if (is_in(k)) {
          scan(k, at[k]);
        }
      }
    }
    for (std::size_t k = 0; k < 2; ++k) {
      if (at[k] == kNone) {
        continue;
      }
      auto& slots = nodes[k]->categories[b];
      if (is_in(k) && has_default(k, nodes[k]->lists[b][at[k]])) {
        slots.codes.push_back(CategorySlots::kDefault);
        slots.n_rows.push_back(static_cast<std::uint32_t>(nodes[k]->n_rows));  // roundings add up
      }
      slots.first.push_back(static_cast<std::uint32_t>(slots.codes.size()));
    }
  });
}

/** @brief Add up the rows of a list's categories. */
inline void SumCategories(std::size_t b, std::uint32_t i, LabelChunk const& chunk,
                          LabelNode* node) {
  auto const& list = node->lists[b][i];
  auto& slots = node->categories[b];
  ListSumOfWidth(chunk.width)((*node->entries)[b].data() + list.begin, list.end - list.begin,
                              node->row_set->rows.Values(chunk), slots.Of(chunk, slots.first[i]));
}

/** @brief Sums of the categories of a parent's list less those of a child. */
inline void SubtractCategories(LabelChunk const& chunk, CategorySlots const& all,
                               std::uint32_t origin, CategorySlots const& part,
                               std::uint32_t part_list, CategorySlots* other,
                               std::uint32_t other_list) {
  auto const size = 2 * chunk.width;
  auto p = all.first[origin], q = part.first[part_list];
  auto const q_end = part.first[part_list + 1];
  for (auto s = other->first[other_list]; s < other->first[other_list + 1]; ++s) {
    auto const code = other->codes[s];
    if (code == CategorySlots::kDefault) {
      return;
    }
    while (all.codes[p] != code) {
      ++p;
    }
    auto* out = other->Of(chunk, s);
    auto const* of_all = all.Of(chunk, p);
    while (q < q_end && part.codes[q] < code) {
      ++q;
    }
    if (q == q_end || part.codes[q] != code) {
      std::copy_n(of_all, size, out);
      continue;
    }
    auto const* of_part = part.Of(chunk, q);
    for (std::size_t k = 0; k < size; ++k) {
      out[k] = of_all[k] - of_part[k];
    }
  }
}

/** @brief Sums of the rows that are not stored: the node's less all others. */
inline void SumDefault(std::size_t b, LabelChunk const& chunk, LabelNode* node) {
  auto& slots = node->categories[b];
  auto const size = 2 * chunk.width;
  for (std::size_t i = 0; i + 1 < slots.first.size(); ++i) {
    auto const end = slots.first[i + 1];
    if (end == slots.first[i] || slots.codes[end - 1] != CategorySlots::kDefault) {
      continue;
    }
    auto* sums = slots.Of(chunk, end - 1);
    std::copy_n(node->totals.Data() + 2 * chunk.padded_begin, size, sums);
    for (auto s = slots.first[i]; s < end - 1; ++s) {
      XDCC_BEST_CLONE(SubtractArray<std::int32_t>)(slots.Of(chunk, s), size, sums);
    }
  }
}

/** @brief Sum up the categories of two siblings, as `SumSiblings` does lists with one bin. */
inline void SumCategorySiblings(std::size_t b, LabelChunk const& chunk, LabelNode const& parent,
                                LabelNode* left, LabelNode* right) {
  SumPairs(
      b, parent, left, right,
      [&](auto const& node, auto i) {
        return !node.categories.empty() && node.categories[b].Has(i);
      },
      [&](auto* node, auto i) { SumCategories(b, i, chunk, node); },
      [&](auto origin, auto const& node, auto i, auto* other, auto other_i) {
        SubtractCategories(chunk, parent.categories[b], origin, node.categories[b], i,
                           &other->categories[b], other_i);
      });
}

/** @brief Whether each of a list's categories is split from all others; else they are sorted. */
inline bool IsOneHot(LabelSearchParam const& param, CategoryList const& list) {
  return common::UseOneHot(list.n_categories, param.max_cat_to_onehot);
}

/** @brief Compute the keys of all categories that are to be sorted. */
inline void SetKeys(LabelSearchParam const& param, LabelNode const& node, NodeStats const& stats,
                    CategoryBuffer* buffer) {
  auto const& rows = node.row_set->rows;
  auto const n_labels = stats.sums.size() / 2;
  auto reg = param.reg;
  reg.min_child_weight = 0.0;
  auto const max_step = param.reg.max_delta_step != 0.0
                            ? static_cast<float>(param.reg.max_delta_step)
                            : std::numeric_limits<float>::infinity();
  auto& keys = buffer->keys;
  keys.clear();
  for (auto& list : buffer->lists) {
    list.first_key = keys.size();
    auto const& slots = node.categories[list.block];
    for (std::size_t k = 0; k < list.n_slots; ++k) {
      keys.emplace_back();
      keys.back().n_rows = slots.n_rows[list.first_slot + k];
    }
  }
  std::vector<float> weights;
  for (auto const& chunk : rows.Chunks()) {
    weights.assign(chunk.width, 0.0f);
    for (std::size_t k = 0; k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      weights[k] =
          n_labels == 1
              ? 1.0f
              : static_cast<float>(LabelWeight(reg, stats.sums[j], stats.sums[n_labels + j]));
    }
    KeyParam const by{rows.GradScale() + chunk.padded_begin,
                      rows.HessScale() + chunk.padded_begin,
                      weights.data(),
                      static_cast<float>(reg.lambda),
                      static_cast<float>(reg.alpha),
                      max_step};
    for (auto const& list : buffer->lists) {
      if (!IsOneHot(param, list)) {
        VisitVectors(chunk.width, [&](auto n) {
          XDCC_BEST_CLONE(AddChunkToKeys<n>)(node.categories[list.block].Of(chunk, list.first_slot),
                                             list.n_slots, by, keys.data() + list.first_key);
        });
      }
    }
  }
}

/** @brief Whether two slots have the same sums: then their order does not matter. */
inline bool SameSums(LabelNode const& node, CategoryList const& list, std::size_t l,
                     std::size_t r) {
  auto const& slots = node.categories[list.block];
  for (auto const& chunk : node.row_set->rows.Chunks()) {
    auto const* of_l = slots.Of(chunk, list.first_slot + l);
    auto const* of_r = slots.Of(chunk, list.first_slot + r);
    if (!std::equal(of_l, of_l + 2 * chunk.width, of_r)) {
      return false;
    }
  }
  return true;
}

/**
 * @brief Call `push(range)` for the splits of a list, whose entries are slots of the list.
 *
 * @return Whether the order of the categories is certain; nothing is pushed otherwise.
 */
template <typename Push>
bool PushCategoryRanges(LabelSearchParam const& param, LabelNode const& node,
                        CategoryList const& list, CategoryBuffer* buffer, Push&& push) {
  auto& entries = buffer->entries;
  auto const begin = entries.size();
  auto const n = static_cast<std::uint32_t>(list.n_slots);
  bool const misses = !list.has_default && list.n < node.n_rows;
  if (IsOneHot(param, list)) {
    if (misses) {
      return false;
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      entries.push_back(k | k << kBinShift);
    }
    push(ListRange{entries.data() + begin, 1, n, true, true});
    return true;
  }
  if (list.n_categories > param.max_cat_threshold) {
    return false;
  }
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  auto const key = [&](std::uint32_t k) { return buffer->keys[list.first_key + k].key; };
  auto const error = [&](std::uint32_t k) { return buffer->keys[list.first_key + k].Error(); };
  std::sort(order.begin(), order.end(), [&](auto l, auto r) { return key(l) < key(r); });
  for (std::uint32_t k = 0; k + 1 < n; ++k) {
    auto const l = order[k], r = order[k + 1];
    if (!(key(r) - key(l) > error(l) + error(r)) && !SameSums(node, list, l, r)) {
      return false;
    }
  }
  // Categories without rows have the key 0.
  bool const has_empty = n < list.n_categories;
  bool has_below{false}, has_above{false};
  if (misses && has_empty) {
    auto const least = order.front(), most = order.back();
    if (std::abs(key(least)) <= error(least) || std::abs(key(most)) <= error(most)) {
      return false;
    }
    has_below = key(least) > 0.0f;
    has_above = key(most) < 0.0f;
  }
  for (auto k : order) {
    entries.push_back(k | k << kBinShift);
  }
  if (n > 1 || has_above) {
    push(ListRange{entries.data() + begin, 1, n, has_above, false});
  }
  if (misses && (n > 1 || has_below)) {
    push(ListRange{entries.data() + begin + n - 1, -1, n, has_below, false});
  }
  return true;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CATEGORY_LISTS_H_
