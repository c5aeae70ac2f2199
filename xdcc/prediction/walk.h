/**
 * @brief The loops of a compiled model: rows through trees, leaves and coefficients to margins.
 *
 * A node tests a *slot*: the value of a feature, or, where that is missing, an infinity that sends
 * the row to the side where the node sends missing values. So a test is one comparison, and missing
 * values cost nothing. Eight walks go on side by side until all have reached leaves, so that they
 * hide each other's waiting for memory: one row walks eight trees at a time, of a block of rows
 * eight walk through a tree that stays in the cache.
 */
#ifndef XDCC_PREDICTION_WALK_H_
#define XDCC_PREDICTION_WALK_H_

#include <algorithm>  // for copy_n, fill_n, max, min, transform
#include <atomic>     // for atomic
#include <cmath>      // for fabs, isnan, log, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint32_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <memory>     // for unique_ptr
#include <vector>     // for vector

#include "batch.h"
#include "flat_model.h"
#include "logistic.h"  // for XDCC_LOGISTIC, kLogisticLanes

namespace xdcc {
/** @brief Working memory of a thread, for a block of rows. */
struct Memory {
  std::vector<float> features, slots, values, proba, propagated, running;
  std::vector<double> frequencies, sums, totals;
  std::vector<std::int32_t> leaves, packed_leaves;
  // Of eight rows, `PackedTrees::NLines` times `kLanes`; lines that no row needs are never written.
  std::unique_ptr<std::uint32_t[]> packed_lines;
  std::vector<char> is_missing;  // whether eight rows have missing values
  std::vector<std::int64_t> row_numbers;
  std::vector<std::uint8_t> of_lines;  // for the three that follow, from a cache line's begin
  std::uint8_t *lines{nullptr}, *line_leaves{nullptr}, *bins{nullptr};

  Memory(Compiled const& model, Batch const* batch, Rows const& rows, std::int64_t n) {
    std::int64_t const n_labels = model.n_labels;
    auto const n_kept = KeepsFeatures(model) ? n : std::min(n, kLine);
    features.resize(rows.dense == nullptr ? 0 : n_kept * model.n_features,
                    std::numeric_limits<float>::quiet_NaN());
    slots.resize(batch == nullptr || batch->walks ? n * model.n_slots : 0);
    values.resize(n * model.width);
    frequencies.resize(n * 2 * model.width);
    sums.resize(n * n_labels);
    totals.resize(n * n_labels);
    leaves.resize(std::max(n, model.most_trees) + kLanes);
    if (model.is_chain) {
      proba.resize(n * model.width);
      propagated.resize(n * model.chain.n_labels);
      running.resize(n * model.chain.n_labels);
      row_numbers.resize(n);
    }
    if (batch != nullptr) {
      auto const n_lines = (n + kLine - 1) / kLine * static_cast<std::int64_t>(batch->pages.size());
      of_lines.resize((2 * kMostLeaves + kGroup + n_lines + 1) * kLine);
      auto const begin = reinterpret_cast<std::uintptr_t>(of_lines.data());
      lines = of_lines.data() + (kLine - begin % kLine) % kLine;
      line_leaves = lines + 2 * kMostLeaves * kLine;
      bins = line_leaves + kGroup * kLine;
      for (std::int64_t leaf = 0; leaf < kMostLeaves; ++leaf) {
        std::fill_n(lines + leaf * kLine, kLine, static_cast<std::uint8_t>(leaf));
      }
      auto const n_lanes = (n + kLanes - 1) / kLanes * kLanes;
      packed_lines.reset(new std::uint32_t[n_lanes * batch->packed.NLines()]);
      packed_leaves.resize(batch->packed.NLines() == 0 ? 0 : n_lanes * kGroup);
      is_missing.resize(n_lanes / kLanes);
    }
  }

  /** @brief Whether all rows of a block have features at the same time, not only 64. */
  static bool KeepsFeatures(Compiled const& model) {
    return !model.linear.empty() || model.starts_from_features;
  }
};

/** @brief A call of `Kernel.predict`. */
struct Call {
  Compiled const* model;
  Batch const* batch{nullptr};  // for many rows
  Rows rows;
  std::int64_t block;  // rows of a block
  std::vector<Memory> memory;
  double* out{nullptr};        // [n_rows, n_labels] of a mixture
  float* single_out{nullptr};  // [n_rows, n_labels] of one booster
  std::atomic<bool> is_infinite{false};

  /** @brief Choose the size of blocks: caches hold one, and each thread gets as many. */
  void ChooseBlock(int n_threads) {
    constexpr std::int64_t kSlots = 32768, kBytes = 1 << 19, kMostPacked = 1024, kMostOthers = 256;
    if (batch == nullptr) {
      auto const n = kSlots / std::max(model->n_slots, model->n_features) / kLanes * kLanes;
      block = std::min({std::max<std::int64_t>(n, kLanes), kLine, rows.n_rows});
      return;
    }
    auto const n_kept = Memory::KeepsFeatures(*model) ? model->n_features : 0;
    auto const n_slots = batch->walks ? model->n_slots : 0;
    auto const n_lines = batch->packed.NFeatures();  // those of variants are rarely read
    auto const n_fitting = kBytes / (4 * (n_kept + n_slots + n_lines) + 16 * model->width);
    auto const most = batch->packed.nodes.empty() ? kMostOthers : kMostPacked;
    auto const n_largest = std::max(std::min(n_fitting, most) / kLine, std::int64_t{1}) * kLine;
    auto const divided = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
    auto const n_each = divided(rows.n_rows, n_threads);
    block = divided(divided(n_each, divided(n_each, n_largest)), kLine) * kLine;
  }

  void Prepare(int n_threads) {
    memory.reserve(n_threads);
    for (int i = 0; i < n_threads; ++i) {
      memory.emplace_back(*model, batch, rows, block);
    }
  }
};

inline bool IsRight(std::uint32_t const* set, float value) {
  if (!(value >= 0.0f)) {  // missing, or not a category
    return false;
  }
  if (value >= static_cast<float>(set[0])) {
    return value == kInfinity;
  }
  auto const number = static_cast<std::uint32_t>(value);
  return set[1 + number / 32] >> (number % 32) & 1;
}

template <bool kSets>
inline std::int32_t Next(Node const& node, std::uint32_t const* sets, float const* slots) {
  if (kSets && node.slot < 0) {
    std::int32_t place;
    std::memcpy(&place, &node.threshold, sizeof(place));
    return node.next[IsRight(sets + place, slots[~node.slot])];
  }
  return node.next[!(slots[node.slot] < node.threshold)];
}

/** @brief Go on from eight nodes to leaves, and write their numbers; one row, or one for each. */
template <bool kSets, bool kOneRow>
inline void WalkLanes(Compiled const& model, std::int32_t const* from, float const* const* slots,
                      std::int32_t* leaves) {
  Node const* const nodes = model.nodes;
  std::uint32_t const* const sets = model.sets;
  std::int32_t at[kLanes], all = -1;
  XDCC_UNROLL(8)
  for (int k = 0; k < kLanes; ++k) {
    at[k] = from[k];
    all &= at[k];
  }
  while (all >= 0) {
    all = -1;
    XDCC_UNROLL(8)
    for (int k = 0; k < kLanes; ++k) {
      // A lane that has arrived reads the first node and ignores it.
      std::int32_t const next =
          Next<kSets>(nodes[std::max(at[k], 0)], sets, slots[kOneRow ? 0 : k]);
      at[k] = at[k] < 0 ? at[k] : next;
      all &= at[k];
    }
  }
  for (int k = 0; k < kLanes; ++k) {
    leaves[k] = ~at[k];
  }
}

/** @brief Add leaves of trees that follow each other to the margins of a row. */
inline void AddLeaves(Compiled const& model, Tree const& tree, std::int32_t const* leaves,
                      std::int64_t n, float* __restrict values, double* __restrict frequencies) {
  if (tree.start != nullptr) {
    for (std::int64_t j = 0; j < model.width; j += 4) {
      float sums[4];
      std::copy_n(values + j, 4, sums);
      for (std::int64_t i = 0; i < n; ++i) {
        float const* of_leaf = model.leaf_value + leaves[i] * model.width + j;
        for (int k = 0; k < 4; ++k) {
          sums[k] += of_leaf[k];
        }
      }
      std::copy_n(sums, 4, values + j);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (auto at = model.leaf_start[leaves[i]]; at < model.leaf_start[leaves[i] + 1]; ++at) {
      frequencies[model.leaf_label[at]] += model.leaf_share[at];
    }
  }
}

/** @brief Add up the leaves that rows reach, in the order of the trees. */
template <bool kSets>
void WalkTrees(Compiled const& model, Tree const& tree, std::int64_t n_rows, Memory* memory) {
  std::int32_t at[kLanes], *leaves = memory->leaves.data();
  float const *slots[kLanes], *first = memory->slots.data();
  float* values = memory->values.data();
  double* frequencies = memory->frequencies.data();
  if (n_rows < kLanes) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      slots[0] = first + row * model.n_slots;
      for (std::int64_t begin = tree.begin; begin < tree.end; begin += kLanes) {
        auto* of_lanes = leaves + (begin - tree.begin);
        for (int k = 0; k < kLanes; ++k) {
          at[k] = model.root[std::min(begin + k, tree.end - 1)];
          auto const later = model.root[std::min(begin + kLanes + k, tree.end - 1)];
          __builtin_prefetch(model.nodes + std::max(later, 0));
        }
        WalkLanes<kSets, true>(model, at, slots, of_lanes);
        for (int k = 0; k < kLanes && tree.start != nullptr; ++k) {
          __builtin_prefetch(model.leaf_value + of_lanes[k] * model.width);
        }
      }
      AddLeaves(model, tree, leaves, tree.end - tree.begin, values + row * model.width,
                frequencies + row * 2 * model.width);
    }
    return;
  }
  for (std::int64_t number = tree.begin; number < tree.end; ++number) {
    for (std::int64_t row = 0; row < n_rows; row += kLanes) {
      auto const begin = std::min(row, n_rows - kLanes);  // the last lanes overlap
      for (int k = 0; k < kLanes; ++k) {
        at[k] = model.root[number];
        slots[k] = first + (begin + k) * model.n_slots;
      }
      WalkLanes<kSets, false>(model, at, slots, leaves + begin);
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      AddLeaves(model, tree, leaves + row, 1, values + row * model.width,
                frequencies + row * 2 * model.width);
    }
  }
}

/** @brief Add up the leaves of a booster that rows reach, line by line. */
inline void AddLines(Compiled const& model, Batch const& batch, Tree const& part,
                     std::int64_t n_rows, Memory* memory) {
  auto const n_bins = static_cast<std::int64_t>(batch.pages.size()) * kLine;
  for (auto number = part.begin; number < part.end; number += kGroup) {
    LineTree const* trees = batch.trees.data() + number;
    auto const n_trees = std::min(kGroup, part.end - number);
    for (std::int64_t row = 0; row < n_rows; row += kLine) {
      XDCC_BEST_CLONE(EvaluateTrees)
      (trees, n_trees, batch.tests.data(), memory->bins + row / kLine * n_bins, memory->lines,
       memory->line_leaves);
      XDCC_BEST_CLONE(AddLineLeaves)
      (model.leaf_value, model.width, trees, n_trees, memory->line_leaves,
       std::min(kLine, n_rows - row), memory->values.data() + row * model.width);
    }
  }
}

/** @brief Add up the leaves of packed trees that rows reach. */
inline void AddPacked(Compiled const& model, Batch const& batch, Tree const& part,
                      std::int64_t n_rows, Memory* memory) {
  PackedTrees const& packed = batch.packed;
  auto const of_lanes = packed.NLines() * kLanes;
  bool const is_dense = part.start == nullptr && !part.has_unknown && !batch.dense_share.empty();
  constexpr int kFetched = 8, kNodesOfLine = 8;  // lines of the cache, while eight rows walk
  auto const n_nodes = static_cast<std::int64_t>(packed.nodes.size());
  bool const is_few = packed.feature_bits == PackedTrees::kFewBits;
  for (auto number = part.begin; number < part.end; number += kGroup) {
    auto const n_trees = std::min(kGroup, part.end - number);
    for (std::int64_t i = 0; i < n_trees; ++i) {
      auto const root = packed.root[number + i];
      PackedNode const* nodes = packed.nodes.data() + root;
      // The nodes that follow are those of the next tree.
      auto next = packed.root[number + i + 1];
      auto const end = std::min(next + (next - root), n_nodes);
      for (std::int64_t row = 0; row < n_rows; row += kLanes) {
        for (int line = 0; line < kFetched && next < end; ++line, next += kNodesOfLine) {
          __builtin_prefetch(packed.nodes.data() + next);
        }
        auto const* lines = memory->packed_lines.get() + row / kLanes * of_lanes;
        auto* leaves = memory->packed_leaves.data() + row * kGroup + i;
        if (memory->is_missing[row / kLanes]) {
          (is_few ? WalkPacked<PackedTrees::kFewBits, true>
                  : WalkPacked<PackedTrees::kManyBits, true>)(nodes, lines, leaves);
        } else {
          (is_few ? WalkPacked<PackedTrees::kFewBits, false>
                  : WalkPacked<PackedTrees::kManyBits, false>)(nodes, lines, leaves);
        }
      }
    }
    auto const* leaves = memory->packed_leaves.data();
    if (is_dense) {
      XDCC_BEST_CLONE(AddDenseShares)
      (batch.dense_share.data(), model.width, n_trees, leaves, n_rows, memory->frequencies.data());
      continue;
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      AddLeaves(model, part, leaves + row * kGroup, n_trees,
                memory->values.data() + row * model.width,
                memory->frequencies.data() + row * 2 * model.width);
    }
  }
}

/** @brief Compute margins of a booster, or frequencies of labels in a forest. */
inline void SumTrees(Compiled const& model, Batch const* batch, Tree const& tree,
                     std::int64_t n_rows, Memory* memory) {
  if (tree.start == nullptr) {
    std::fill_n(memory->frequencies.data(), n_rows * 2 * model.width, 0.0);
  } else {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      float* values = memory->values.data() + row * model.width;
      if (model.starts_from_features) {
        std::copy_n(memory->features.data() + row * model.n_features, model.n_labels, values);
      } else {
        std::copy_n(tree.start, model.width, values);
      }
    }
  }
  auto const way = batch == nullptr ? Way::kWalked : batch->ways[&tree - model.trees.data()];
  if (way == Way::kLines) {
    AddLines(model, *batch, tree, n_rows, memory);
  } else if (way == Way::kPacked) {
    AddPacked(model, *batch, tree, n_rows, memory);
  } else if (model.has_sets) {
    WalkTrees<true>(model, tree, n_rows, memory);
  } else {
    WalkTrees<false>(model, tree, n_rows, memory);
  }
}

/** @brief Add the margins of a booster or a forest to the sums of its member. */
inline void AddTrees(Compiled const& model, Batch const* batch, Tree const& tree,
                     std::int64_t n_rows, Memory* memory) {
  std::int64_t const n_labels = model.n_labels;
  bool const is_forest = tree.start == nullptr;
  SumTrees(model, batch, tree, n_rows, memory);
  auto const n_trees = static_cast<double>(tree.end - tree.begin);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double* sums = memory->sums.data() + row * n_labels;
    if (!is_forest) {
      float const* values = memory->values.data() + row * model.width;
      for (std::int64_t j = 0; j < n_labels; ++j) {
        sums[j] += static_cast<double>(values[j]);
      }
      continue;
    }
    double const* frequencies = memory->frequencies.data() + row * 2 * model.width;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      // As if one more tree knew the labels' frequencies and nothing else.
      double const known = n_trees - (tree.has_unknown ? frequencies[n_labels + j] : 0.0);
      double const mean =
          known > 1e-9 * n_trees ? std::min(frequencies[j] / known, 1.0) : tree.mean[j];
      double const smoothed = (n_trees * mean + tree.mean[j]) / (n_trees + 1.0);
      double const clipped = std::min(std::max(smoothed, 1e-6), 1.0 - 1e-6);
      sums[j] += std::log(clipped / (1.0 - clipped));
    }
  }
}

/** @brief The columns of a linear part, feature by feature. */
struct LinearRow {
  Linear const& linear;
  std::int64_t n_labels;
  double* __restrict sums;  // [n_labels]
  double squares;

  void AddColumn(std::int64_t column, double value) {
    double const* __restrict weight = linear.weight + column * n_labels;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      sums[j] += value * weight[j];
    }
    squares += value * value * linear.square[column];
  }

  void AddFeature(std::int64_t feature, float value) {
    bool const is_missing = std::isnan(value);
    std::int32_t const n_values = linear.n_values[feature];
    if (is_missing && linear.indicator[feature] >= 0) {
      AddColumn(linear.indicator[feature], 1.0);
    }
    if (n_values == 0) {
      double const number = is_missing ? linear.fill[feature] : static_cast<double>(value);
      if (number != 0.0) {
        AddColumn(linear.column[feature], number);
      }
    } else if (value >= 0.0f && value < static_cast<float>(n_values)) {
      AddColumn(linear.column[feature] + static_cast<std::int64_t>(value), 1.0);
    }
  }
};

inline void AddLinear(Compiled const& model, Linear const& linear, Rows const& rows,
                      std::int64_t begin, std::int64_t n_rows, Memory* memory) {
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double* products = memory->frequencies.data();
    std::fill_n(products, model.n_labels, 0.0);
    LinearRow of_row{linear, model.n_labels, products, 0.0};
    if (rows.dense != nullptr) {
      float const* features = memory->features.data() + row * model.n_features;
      for (std::int64_t feature = 0; feature < model.n_features; ++feature) {
        of_row.AddFeature(feature, features[feature]);
      }
    } else {
      for (auto i = rows.indptr[begin + row]; i < rows.indptr[begin + row + 1]; ++i) {
        of_row.AddFeature(rows.indices[i], rows.data[i]);
      }
    }
    bool const has_length = linear.text_like && of_row.squares > 0.0;
    double const length = has_length ? std::sqrt(of_row.squares) : 1.0;
    double* sums = memory->sums.data() + row * model.n_labels;
    for (std::int64_t j = 0; j < model.n_labels; ++j) {
      sums[j] += products[j] / length + linear.intercept[j];
    }
  }
}

/** @brief Copy a row to single precision; return whether an entry is infinite. */
template <typename T>
inline bool CopyRow(char const* row, std::int64_t stride, std::int64_t n, float* features) {
  T value;
  if (stride == static_cast<std::int64_t>(sizeof(T))) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::memcpy(&value, row + i * sizeof(T), sizeof(T));
      features[i] = static_cast<float>(value);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      std::memcpy(&value, row + i * stride, sizeof(T));
      features[i] = static_cast<float>(value);
    }
  }
  int is_infinite = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    is_infinite |= static_cast<int>(std::fabs(features[i]) == kInfinity);
  }
  return is_infinite != 0;
}

/** @brief Whether sparse rows are inside their arrays, in order, without duplicates and infinity.
 */
inline bool IsCanonical(Rows const& rows, std::int64_t n_entries, std::int64_t n_features) {
  if (rows.indptr[0] != 0) {
    return false;
  }
  for (std::int64_t row = 0; row < rows.n_rows; ++row) {
    auto const begin = rows.indptr[row], end = rows.indptr[row + 1];
    if (end < begin || end > n_entries) {
      return false;
    }
    std::int64_t last = -1;
    bool fits = true;
    for (auto i = begin; i < end; ++i) {
      fits &= rows.indices[i] > last && std::fabs(rows.data[i]) != kInfinity;
      last = rows.indices[i];
    }
    if (!fits || last >= n_features) {
      return false;
    }
  }
  return true;
}

/** @brief Fill the slots of a row. */
inline void FillSlots(Compiled const& model, Rows const& rows, std::int64_t row,
                      float const* features, float* slots) {
  if (rows.dense == nullptr) {
    std::copy_n(model.slot_absent, model.n_slots, slots);
    for (auto i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
      float const value = rows.data[i];
      auto const feature = rows.indices[i];
      for (auto s = model.slot_start[feature]; s < model.slot_start[feature + 1]; ++s) {
        slots[s] = std::isnan(value) ? model.slot_missing[s] : value;
      }
    }
    return;
  }
  for (std::int64_t s = 0; s < model.n_slots; ++s) {
    float const value = features[model.slot_feature[s]];
    slots[s] = std::isnan(value) ? model.slot_missing[s] : value;
  }
}

/** @brief Fill the bins of up to 64 rows from dense features, page by page. */
inline void FillBins(Compiled const& model, Batch const& batch, float const* features,
                     std::int64_t n_rows, std::uint8_t* bins) {
  float values[kLine] = {};
  std::int32_t slot = -1;
  for (Page const& page : batch.pages) {
    if (page.slot != slot) {
      slot = page.slot;
      float const* column = features + model.slot_feature[slot];
      float const missing = model.slot_missing[slot];
      for (std::int64_t row = 0; row < n_rows; ++row) {
        float const value = column[row * model.n_features];
        values[row] = std::isnan(value) ? missing : value;
      }
    }
    XDCC_BEST_CLONE(FillLine)(page.thresholds, page.n_thresholds, values, bins);
    bins += kLine;
  }
}

/** @brief Fill the bins of up to 64 sparse rows. */
inline void FillSparseBins(Compiled const& model, Batch const& batch, Rows const& rows,
                           std::int64_t begin, std::int64_t n_rows, std::uint8_t* bins) {
  for (std::size_t i = 0; i < batch.pages.size(); ++i) {
    std::memset(bins + i * kLine, batch.absent[i], kLine);
  }
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (auto i = rows.indptr[begin + row]; i < rows.indptr[begin + row + 1]; ++i) {
      float const value = rows.data[i];
      auto const feature = rows.indices[i];
      for (auto p = batch.page_start[feature]; p < batch.page_start[feature + 1]; ++p) {
        Page const& page = batch.pages[p];
        bins[p * kLine + row] =
            BinOf(page, std::isnan(value) ? model.slot_missing[page.slot] : value);
      }
    }
  }
}

/** @brief Fill the lines of up to 64 rows for packed trees. */
inline void FillPackedLines(Call const& call, float const* features, std::int64_t begin,
                            std::int64_t place, std::int64_t n_rows, Memory* memory) {
  Compiled const& model = *call.model;
  PackedTrees const& packed = call.batch->packed;
  auto const n_lines = packed.NLines();
  for (std::int64_t row = 0; n_lines > 0 && row < n_rows; row += kLanes) {
    auto* lines = memory->packed_lines.get() + (place + row) * n_lines;
    char* is_missing = memory->is_missing.data() + (place + row) / kLanes;
    auto const n_here = std::min<std::int64_t>(kLanes, n_rows - row);
    if (call.rows.dense == nullptr) {
      packed.FillSparseLines(model, call.rows, begin + row, n_here, lines);
      *is_missing = 1;
      continue;
    }
    float const* of_lanes[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      of_lanes[k] = features + (row + std::min<std::int64_t>(k, n_here - 1)) * model.n_features;
    }
    *is_missing = packed.FillLines(model, of_lanes, lines);
  }
}

/** @brief Load up to 64 rows of a block, the first one of it `place`; return whether one is
 * infinite. */
inline bool LoadRows(Call const& call, std::int64_t begin, std::int64_t place, std::int64_t n_rows,
                     Memory* memory) {
  Compiled const& model = *call.model;
  Rows const& rows = call.rows;
  bool const fills_slots = call.batch == nullptr || call.batch->walks;
  bool const keeps_all = rows.dense != nullptr && Memory::KeepsFeatures(model);
  float* const first_features =
      memory->features.data() + (keeps_all ? place * model.n_features : 0);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    float* features = first_features + row * model.n_features;
    if (rows.dense != nullptr) {
      char const* first = rows.dense + (begin + row) * rows.row_stride;
      if (rows.is_double ? CopyRow<double>(first, rows.column_stride, model.NGiven(), features)
                         : CopyRow<float>(first, rows.column_stride, model.NGiven(), features)) {
        return true;
      }
    }
    if (fills_slots) {
      FillSlots(model, rows, begin + row, features,
                memory->slots.data() + (place + row) * model.n_slots);
    }
  }
  if (call.batch != nullptr) {
    auto const n_pages = static_cast<std::int64_t>(call.batch->pages.size());
    auto* bins = memory->bins + place * n_pages;
    if (rows.dense != nullptr) {
      FillBins(model, *call.batch, first_features, n_rows, bins);
    } else {
      FillSparseBins(model, *call.batch, rows, begin, n_rows, bins);
    }
    FillPackedLines(call, first_features, begin, place, n_rows, memory);
  }
  return false;
}

/** @brief Call `take` with the probabilities of up to 32 margins, their place and number. */
template <typename Take>
inline void ForLogistic(float const* margins, std::size_t n, Take take) {
  using namespace xgboost::multilabel;  // NOLINT: of the macros below
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    auto const n_here = std::min(kLogisticLanes, n - i);
    float here[kLogisticLanes] = {};
    std::copy_n(margins + i, n_here, here);
    XDCC_LOGISTIC(here)
#define XDCC_STORE(k) std::memcpy(here + 8 * k, &p##k, sizeof(p##k));
    XDCC_FOUR(XDCC_STORE)
#undef XDCC_STORE
    take(here, i, n_here);
  }
}

/** @brief Turn margins into probabilities, in place, with the plugin's rounding. */
inline void ApplyLogistic(float* values, std::size_t n) {
  ForLogistic(values, n, [&](float const* proba, std::size_t begin, std::size_t n_here) {
    std::copy_n(proba, n_here, values + begin);
  });
}

/** @brief Tell where probabilities are at least 0.5. */
inline void DecideLogistic(float const* margins, std::size_t n, std::int64_t* labels) {
  ForLogistic(margins, n, [&](float const* proba, std::size_t begin, std::size_t n_here) {
    std::transform(proba, proba + n_here, labels + begin,
                   [](float value) { return std::int64_t{value >= 0.5f}; });
  });
}

/** @brief A row in a chain. */
struct ChainRow {
  Compiled const& model;
  float const* proba;         // [n_labels] of this round, and of the end label
  float* __restrict slots;    // [n_slots]
  float* __restrict known;    // [n_labels] what was propagated, NaN for none
  float* __restrict running;  // [n_labels] largest probability while the label was open

  /** @brief Take the probabilities of a round; return whether this row is at its end. */
  bool Advance() {
    Chain const& chain = model.chain;
    float largest = 0.0f;
    for (std::int64_t j = 0; j < chain.n_labels; ++j) {
      if (std::isnan(known[j])) {
        running[j] = std::max(running[j], proba[j]);
        largest = std::max(largest, proba[j]);
      }
    }
    if (model.n_labels > chain.n_labels) {
      float const end = proba[chain.n_labels];
      if (end >= 0.5f && end >= largest) {
        return true;
      }
    }
    if (chain.all_compete) {
      PropagateAmongAll();
      return false;
    }
    for (std::int64_t i = 0; i < chain.labels_per_round; ++i) {
      auto const label = chain.by_certainty ? MostCertain() : PositiveOrLeast();
      if (label < 0) {
        return true;
      }
      Write(label);
    }
    return false;
  }

 private:
  void Write(std::int64_t label) {
    known[label] = proba[label];
    auto const feature = model.chain.n_given + label;
    for (auto s = model.slot_start[feature]; s < model.slot_start[feature + 1]; ++s) {
      slots[s] = proba[label];
    }
  }

  /** @brief The first open label for which `is_better(its probability, that of the best)`. */
  template <typename IsBetter>
  std::int64_t Best(IsBetter is_better) const {
    std::int64_t best = -1;
    for (std::int64_t j = 0; j < model.chain.n_labels; ++j) {
      if (std::isnan(known[j]) && (best < 0 || is_better(proba[j], proba[best]))) {
        best = j;
      }
    }
    return best;
  }

  std::int64_t MostCertain() const {
    return Best(
        [](float one, float best) { return std::fabs(one - 0.5f) > std::fabs(best - 0.5f); });
  }

  std::int64_t PositiveOrLeast() const {
    auto const label = Best([](float one, float best) { return one > best; });
    return label < 0 || proba[label] >= 0.5f
               ? label
               : Best([](float one, float best) { return one < best; });
  }

  void PropagateAmongAll() {
    std::int64_t largest = 0, smallest = 0;
    for (std::int64_t j = 1; j < model.chain.n_labels; ++j) {
      largest = proba[j] >= proba[largest] ? j : largest;
      smallest = proba[j] < proba[smallest] ? j : smallest;
    }
    bool const positive = proba[largest] >= 0.5f;
    auto const label = positive ? largest : smallest;
    float const value = proba[label], stored = known[label];
    if (std::isnan(stored) || (positive && stored >= 0.5f && value > stored) ||
        (!positive && stored < 0.5f && value < stored)) {
      Write(label);
    }
  }
};

/** @brief Mean probabilities of the boosters of a round, `memory->proba`. */
inline void PredictRound(Compiled const& model, Member const& round, std::int64_t n_rows,
                         Memory* memory) {
  auto const n = n_rows * model.width;
  float *proba = memory->proba.data(), *values = memory->values.data();
  std::fill_n(proba, n, 0.0f);
  for (auto i = round.trees_begin; i < round.trees_end; ++i) {
    SumTrees(model, nullptr, model.trees[i], n_rows, memory);
    ApplyLogistic(values, n);
    for (std::int64_t k = 0; k < n; ++k) {
      proba[k] += values[k];
    }
  }
  auto const n_boosters = static_cast<float>(round.n_estimators);
  for (std::int64_t k = 0; k < n; ++k) {
    proba[k] /= n_boosters;
  }
}

/** @brief Predict probabilities of a block of rows whose slots are filled. */
inline void RunChain(Compiled const& model, std::int64_t n_rows, Memory* memory, float* out) {
  Chain const& chain = model.chain;
  auto const n_labels = chain.n_labels;
  std::fill_n(memory->propagated.data(), n_rows * n_labels,
              std::numeric_limits<float>::quiet_NaN());
  std::fill_n(memory->running.data(), n_rows * n_labels, 0.0f);
  auto const at = [&](std::int64_t place) {
    return ChainRow{model, memory->proba.data() + place * model.width,
                    memory->slots.data() + place * model.n_slots,
                    memory->propagated.data() + place * n_labels,
                    memory->running.data() + place * n_labels};
  };
  auto const finish = [&](std::int64_t place) {
    ChainRow const row = at(place);
    float* of_row = out + memory->row_numbers[place] * n_labels;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      bool const is_open = std::isnan(row.known[j]);
      float const standard = is_open ? 0.0f : row.known[j];
      bool const takes_maximum = chain.cumulated && (is_open || chain.keeps_maximum);
      of_row[j] = takes_maximum ? row.running[j] : standard;
    }
  };
  for (std::int64_t row = 0; row < n_rows; ++row) {
    memory->row_numbers[row] = row;
  }
  auto n_going = n_rows;
  for (Member const& round : model.members) {
    if (n_going == 0) {
      break;
    }
    PredictRound(model, round, n_going, memory);
    for (auto place = n_going; place-- > 0;) {
      if (at(place).Advance()) {
        finish(place);
        --n_going;  // the last row that goes on, which has advanced already, takes its place
        ChainRow const from = at(n_going), to = at(place);
        std::copy_n(from.slots, model.n_slots, to.slots);
        std::copy_n(from.known, n_labels, to.known);
        std::copy_n(from.running, n_labels, to.running);
        memory->row_numbers[place] = memory->row_numbers[n_going];
      }
    }
  }
  for (std::int64_t place = 0; place < n_going; ++place) {
    finish(place);
  }
}

/** @brief Predict a block of rows; an iteration of the kernels' loops. */
inline void PredictBlock(void* data, std::int64_t number, int thread) noexcept {
  auto* call = static_cast<Call*>(data);
  Compiled const& model = *call->model;
  Memory* memory = &call->memory[thread];
  std::int64_t const begin = number * call->block, n_labels = model.n_labels;
  std::int64_t const n_rows = std::min(call->block, call->rows.n_rows - begin);
  for (std::int64_t place = 0; place < n_rows; place += kLine) {
    if (LoadRows(*call, begin + place, place, std::min(kLine, n_rows - place), memory)) {
      call->is_infinite.store(true, std::memory_order_relaxed);
      return;
    }
  }
  if (model.is_chain) {
    RunChain(model, n_rows, memory, call->single_out + begin * model.chain.n_labels);
    return;
  }
  if (model.is_single) {
    SumTrees(model, call->batch, model.trees[0], n_rows, memory);
    for (std::int64_t row = 0; row < n_rows; ++row) {
      std::copy_n(memory->values.data() + row * model.width, n_labels,
                  call->single_out + (begin + row) * n_labels);
    }
    return;
  }
  std::fill_n(memory->totals.data(), n_rows * n_labels, 0.0);
  for (Member const& member : model.members) {
    std::fill_n(memory->sums.data(), n_rows * n_labels, 0.0);
    for (auto i = member.trees_begin; i < member.trees_end; ++i) {
      AddTrees(model, call->batch, model.trees[i], n_rows, memory);
    }
    for (auto i = member.linear_begin; i < member.linear_end; ++i) {
      AddLinear(model, model.linear[i], call->rows, begin, n_rows, memory);
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      double const* sums = memory->sums.data() + row * n_labels;
      double* totals = memory->totals.data() + row * n_labels;
      for (std::int64_t j = 0; j < n_labels; ++j) {
        double const mean = sums[j] / member.n_estimators;
        totals[j] += member.share * (member.slope[j] * mean + member.intercept[j]);
      }
    }
  }
  double* out = call->out + begin * n_labels;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double const* totals = memory->totals.data() + row * n_labels;
    for (std::int64_t j = 0; j < n_labels; ++j) {
      out[row * n_labels + j] = model.slope[j] * totals[j] + model.intercept[j];
    }
  }
}

}  // namespace xdcc
#endif  // XDCC_PREDICTION_WALK_H_
