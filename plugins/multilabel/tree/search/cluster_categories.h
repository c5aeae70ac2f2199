/**
 * @brief Lists the splits on categorical features of a cluster's node, to be scored like others.
 *
 * A category's rows are added up as integers, and its sums are the "row" of an entry. The entries
 * stand in the order in which `category_scan.h` parts categories, so that the loops of
 * `list_scan.h` score the splits. The keys of that order are known up to rounding here: where this
 * leaves the order open, all splits of the feature are left to exact sums.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_CATEGORIES_H_
#define XDCC_MULTILABEL_CLUSTER_CATEGORIES_H_

#include <algorithm>  // for copy_n, equal, min, sort
#include <cmath>      // for abs, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <limits>     // for numeric_limits
#include <numeric>    // for iota
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"  // for UseOneHot
#include "../../vectorised.h"                    // for XDCC_TARGET_CLONES
#include "../data/aligned_array.h"               // for AlignedArray
#include "../split_score.h"                      // for LabelWeight
#include "cluster_node.h"                        // for ClusterNode, ClusterParam
#include "evaluator.h"                           // for NodeStats
#include "list_scan.h"                           // for ListEntry, ListRange, ListSumOfWidth
#include "row_cluster.h"                         // for LabelChunk
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
  std::size_t first_slot{0}, n_slots{0};

  /** @brief Whether rows of the default category are in a node with so many rows. */
  [[nodiscard]] bool HasRest(std::size_t n_rows) const { return has_default && n < n_rows; }
};

/** @brief By what a category is sorted, up to rounding. */
struct CategoryKey {
  float key{0.0f};
  /** @brief Sum of what was added and subtracted. */
  float size{0.0f};
  /** @brief By how much the key changes if all integers do by one; the same squared, by label. */
  float unit{0.0f}, square{0.0f};
  std::uint32_t n_rows{0};

  /** @brief How far the key is off at most, all but surely: rows' integers by a unit each. */
  [[nodiscard]] float Error() const {
    auto const n = static_cast<float>(n_rows);
    return 1e-6f * size + std::min(n * unit, 4.0f * std::sqrt(n * square));
  }
};

/** @brief Working memory of one thread: a slot for each category that has rows. */
struct CategoryBuffer {
  std::vector<CategoryList> lists;
  std::size_t n_slots{0};
  AlignedArray<std::int32_t> sums;  // chunk by chunk: [n_slots, 2 * width]
  std::vector<CategoryKey> keys;    // by slot
  std::vector<ListEntry> entries;

  [[nodiscard]] std::int32_t* Sums(LabelChunk const& chunk, std::size_t slot) {
    return sums.Data() + 2 * (chunk.padded_begin * n_slots + slot * chunk.width);
  }
};

/** @param weights Of the node. [n_labels] */
XDCC_TARGET_CLONES static void AddChunkToKey(std::int32_t const* sums, LabelChunk chunk,
                                             float const* grad_scale, float const* hess_scale,
                                             float const* weights, float lambda, float alpha,
                                             float max_step, CategoryKey* out) {
  float key{0.0f}, size{0.0f}, unit{0.0f}, square{0.0f};
#pragma omp simd reduction(+ : key, size, unit, square)
  for (std::size_t j = 0; j < chunk.n_labels; ++j) {
    float const grad = static_cast<float>(sums[j]) * grad_scale[j];
    float const total = static_cast<float>(sums[chunk.width + j]) * hess_scale[j] + lambda;
    float const inverse = 1.0f / total, weight = weights[j] * inverse;
    float const absolute = weight < 0.0f ? -weight : weight;
    float const pull = grad < 0.0f ? -grad : grad;
    float const shrunk = pull > alpha ? pull - alpha : 0.0f;
    float const most = max_step * total, step = shrunk < most ? shrunk : most;
    key += grad < 0.0f ? weight * step : -weight * step;
    size += absolute * (pull + alpha);
    // A unit of the gradient, and one of the Hessian, which changes the step.
    float const of_label = absolute * (grad_scale[j] + pull * inverse * hess_scale[j]);
    unit += of_label;
    square += of_label * of_label;
  }
  out->key += key;
  out->size += size;
  out->unit += unit;
  out->square += square;
}

/** @brief Add up the rows of each list's categories. */
inline void SumCategories(ClusterNode const& node, CategoryBuffer* buffer) {
  auto& keys = buffer->keys;
  keys.clear();
  for (auto& list : buffer->lists) {
    list.first_slot = keys.size();
    for (std::uint32_t begin = 0, i = 1; i <= list.n; ++i) {
      if (i == list.n || (list.first[i] ^ list.first[i - 1]) >> kBinShift != 0) {
        keys.emplace_back();
        keys.back().n_rows = i - begin;
        begin = i;
      }
    }
    list.n_slots = keys.size() - list.first_slot;
    if (list.HasRest(node.n_rows)) {
      keys.emplace_back();
      keys.back().n_rows = static_cast<std::uint32_t>(node.n_rows);  // whose roundings add up
      ++list.n_slots;
    }
  }
  buffer->n_slots = keys.size();
  buffer->sums.Resize(2 * node.cluster->rows.PaddedLabels() * buffer->n_slots);
  for (auto const& chunk : node.cluster->rows.Chunks()) {
    auto const add = ListSumOfWidth(chunk.width);
    auto const size = 2 * chunk.width;
    auto const values = node.cluster->rows.Values(chunk);
    for (auto const& list : buffer->lists) {
      add(list.first, list.n, values, buffer->Sums(chunk, list.first_slot));
      if (list.HasRest(node.n_rows)) {
        auto const last = list.first_slot + list.n_slots - 1;
        auto* rest = buffer->Sums(chunk, last);
        std::copy_n(node.totals.Data() + 2 * chunk.padded_begin, size, rest);
        for (auto slot = list.first_slot; slot < last; ++slot) {
          SubtractIntegers(buffer->Sums(chunk, slot), size, rest);
        }
      }
    }
  }
}

/** @brief Whether each of a list's categories is parted from all others; else they are sorted. */
inline bool IsOneHot(ClusterParam const& param, CategoryList const& list) {
  return common::UseOneHot(list.n_categories, param.max_cat_to_onehot);
}

/** @brief Compute the keys of all slots of categories that are to be sorted. */
inline void SetKeys(ClusterParam const& param, ClusterNode const& node, NodeStats const& stats,
                    CategoryBuffer* buffer) {
  auto const& rows = node.cluster->rows;
  auto const n_labels = stats.sums.size() / 2;
  auto reg = param.reg;
  reg.min_child_weight = 0.0;
  auto const max_step = param.reg.max_delta_step != 0.0
                            ? static_cast<float>(param.reg.max_delta_step)
                            : std::numeric_limits<float>::infinity();
  std::vector<float> weights;
  for (auto const& chunk : rows.Chunks()) {
    weights.assign(chunk.n_labels, 1.0f);
    for (std::size_t k = 0; n_labels > 1 && k < chunk.n_labels; ++k) {
      auto const j = rows.Labels()[chunk.begin + k];
      weights[k] = static_cast<float>(LabelWeight(reg, stats.sums[j], stats.sums[n_labels + j]));
    }
    for (auto const& list : buffer->lists) {
      auto const end = list.first_slot + (IsOneHot(param, list) ? 0 : list.n_slots);
      for (auto slot = list.first_slot; slot < end; ++slot) {
        AddChunkToKey(buffer->Sums(chunk, slot), chunk, rows.GradScale() + chunk.padded_begin,
                      rows.HessScale() + chunk.padded_begin, weights.data(),
                      static_cast<float>(reg.lambda), static_cast<float>(reg.alpha), max_step,
                      &buffer->keys[slot]);
      }
    }
  }
}

/** @brief Whether two slots have the same sums: then it is all one which comes first. */
inline bool SameSums(ClusterNode const& node, std::size_t l, std::size_t r,
                     CategoryBuffer* buffer) {
  for (auto const& chunk : node.cluster->rows.Chunks()) {
    auto const *of_l = buffer->Sums(chunk, l), *of_r = buffer->Sums(chunk, r);
    if (!std::equal(of_l, of_l + 2 * chunk.width, of_r)) {
      return false;
    }
  }
  return true;
}

/**
 * @brief Call `push(range)` for the splits of a list, whose entries are slots of the list.
 *
 * @return Whether the order of the categories is sure; nothing is pushed otherwise.
 */
template <typename Push>
bool PushCategoryRanges(ClusterParam const& param, ClusterNode const& node,
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
  auto const key = [&](std::uint32_t k) { return buffer->keys[list.first_slot + k].key; };
  auto const error = [&](std::uint32_t k) { return buffer->keys[list.first_slot + k].Error(); };
  std::sort(order.begin(), order.end(), [&](auto l, auto r) { return key(l) < key(r); });
  for (std::uint32_t k = 0; k + 1 < n; ++k) {
    auto const l = order[k], r = order[k + 1];
    if (!(key(r) - key(l) > error(l) + error(r)) &&
        !SameSums(node, list.first_slot + l, list.first_slot + r, buffer)) {
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
#endif  // XDCC_MULTILABEL_CLUSTER_CATEGORIES_H_
