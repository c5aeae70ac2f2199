/**
 * @brief Evaluates the trees of a compiled model for many rows, in vectors of bytes where it can.
 *
 * A booster or a forest is evaluated by *lines* if its trees are small, which is said here, packed
 * (``packed_trees.h``) if they are large, and else walked as single rows are.
 *
 * All tests of a tree are evaluated for 64 rows together, from the last to the first, without a
 * branch: a test's *line* has for each row the number of the leaf below the test. It takes each
 * byte from the line of the left or of the right child; the line of a leaf has the leaf's number.
 * So a test costs a few instructions for all rows, and a tree of depth 6 less than six steps of
 * each row.
 *
 * A byte is enough for the value of a slot, too: the number of thresholds in a *page*, at most 255
 * thresholds of the slot, that it reaches. A test asks whether it reaches the test's own. A slot
 * with more thresholds has several pages.
 */
#ifndef XDCC_PREDICTION_BATCH_H_
#define XDCC_PREDICTION_BATCH_H_

#include <algorithm>  // for all_of, lower_bound, max, min, sort, unique, upper_bound
#include <cmath>      // for isnan
#include <cstdint>    // for int32_t, int64_t, uint8_t, uint16_t
#include <cstring>    // for memcpy, memset
#include <utility>    // for pair
#include <vector>     // for vector

#include "flat_model.h"
#include "logistic.h"  // for XDCC_TARGET_CLONES, Int8
#include "packed_trees.h"

namespace xdcc {
using xgboost::multilabel::Int8;

constexpr std::int64_t kLine = 64;         // rows of a line
constexpr std::int32_t kMostLeaves = 256;  // of a tree; these lines come first, then its tests'

struct Test {
  std::int32_t page;
  std::uint16_t left, right;  // lines
  std::uint8_t cut;           // right if the bin is at least this
};

struct Page {
  float const* thresholds;  // ascending
  std::int32_t n_thresholds;
  std::int32_t slot;
};

/** @brief A tree whose tests are grouped by cache lines. */
struct LineTree {
  std::int64_t tests_begin;
  std::int32_t n_tests;
  std::int32_t root;         // line
  std::int64_t leaf_offset;  // in `leaf_value`, of its first leaf
};

/** @brief How the trees of a part are evaluated. */
enum class Way : char { kWalked, kPacked, kLines };

/** @brief Further parts of a compiled model, for batches. */
struct Batch {
  std::vector<float> thresholds;
  std::vector<Page> pages;
  std::vector<std::int32_t> page_start;  // [n_features + 1] first page of a feature
  std::vector<std::uint8_t> absent;  // [n_pages] bin of a value that a sparse row does not store
  std::vector<Test> tests;
  std::vector<LineTree> trees;  // of the parts with `kLines`, in the model's order
  PackedTrees packed;
  std::vector<double> dense_share;  // [n_leaves, width] of forests, if lists take longer
  std::vector<Way> ways;            // of each booster or forest
  bool walks{false};                // whether a part is walked
  bool is_useful{false};            // whether a part is not
};

inline std::uint8_t BinOf(Page const& page, float value) {
  std::int32_t n = 0;
  if (page.n_thresholds <= 4) {
    for (std::int32_t i = 0; i < page.n_thresholds; ++i) {
      n += value >= page.thresholds[i];
    }
    return static_cast<std::uint8_t>(n);
  }
  return static_cast<std::uint8_t>(
      std::upper_bound(page.thresholds, page.thresholds + page.n_thresholds, value) -
      page.thresholds);
}

/** @brief Whether the trees of a booster have tests of numbers only, and few leaves. */
inline bool FitsLines(Compiled const& model, Tree const& part) {
  if (part.start == nullptr) {
    return false;
  }
  for (auto number = part.begin; number < part.end; ++number) {
    auto const [begin, end] = model.TestsOf(number);
    std::int32_t least = model.n_leaves, most = -1;
    for (auto i = begin; i < end; ++i) {
      if (model.nodes[i].slot < 0) {
        return false;
      }
      for (auto next : model.nodes[i].next) {
        if (next < 0) {
          least = std::min(least, ~next);
          most = std::max(most, ~next);
        }
      }
    }
    if (end - begin >= kMostLeaves || most - least >= kMostLeaves) {
      return false;
    }
  }
  return true;
}

inline void AddLineTree(Compiled const& model, std::int64_t number,
                        std::vector<std::int32_t> const& first_page,
                        std::vector<std::vector<float>> const& thresholds, Batch* batch) {
  auto const [begin, end] = model.TestsOf(number);
  LineTree tree{static_cast<std::int64_t>(batch->tests.size()),
                static_cast<std::int32_t>(end - begin), kMostLeaves, 0};
  if (begin == end) {
    tree.root = 0;
    tree.leaf_offset = ~model.root[number] * model.width;
    batch->trees.push_back(tree);
    return;
  }
  std::int32_t least = model.n_leaves;
  for (auto i = begin; i < end; ++i) {
    for (auto next : model.nodes[i].next) {
      least = next < 0 ? std::min(least, ~next) : least;
    }
  }
  auto const line = [&, first = begin](std::int32_t next) {
    return static_cast<std::uint16_t>(next < 0 ? ~next - least : kMostLeaves + next - first);
  };
  for (auto i = begin; i < end; ++i) {
    Node const& node = model.nodes[i];
    auto const& of_slot = thresholds[node.slot];
    auto const rank = static_cast<std::int32_t>(
        std::lower_bound(of_slot.begin(), of_slot.end(), node.threshold) - of_slot.begin());
    batch->tests.push_back(Test{first_page[node.slot] + rank / 255, line(node.next[0]),
                                line(node.next[1]), static_cast<std::uint8_t>(rank % 255 + 1)});
  }
  tree.leaf_offset = static_cast<std::int64_t>(least) * model.width;
  batch->trees.push_back(tree);
}

/** @brief Pack the parts that are neither in lines nor test categories, if all links fit. */
inline void PackTrees(Compiled const& model, Batch* batch) {
  std::vector<char> is_tested(model.n_slots), tests_numbers;
  for (std::size_t i = 0; i < model.trees.size(); ++i) {
    Tree const& part = model.trees[i];
    bool are_numbers = batch->ways[i] == Way::kWalked;
    for (auto number = part.begin; are_numbers && number < part.end; ++number) {
      auto const [begin, end] = model.TestsOf(number);
      are_numbers = std::all_of(model.nodes + begin, model.nodes + end,
                                [](Node const& node) { return node.slot >= 0; });
    }
    for (auto number = part.begin; are_numbers && number < part.end; ++number) {
      auto const [begin, end] = model.TestsOf(number);
      for (auto at = begin; at < end; ++at) {
        is_tested[model.nodes[at].slot] = true;
      }
    }
    tests_numbers.push_back(are_numbers);
  }
  PackedTrees* packed = &batch->packed;
  if (!packed->NumberLines(model, is_tested)) {
    return;
  }
  packed->root.assign(model.n_trees + 1, 0);
  for (std::size_t i = 0; i < model.trees.size(); ++i) {
    Tree const& part = model.trees[i];
    bool fits = tests_numbers[i];
    for (auto number = part.begin; fits && number < part.end; ++number) {
      auto const [begin, end] = model.TestsOf(number);
      fits = packed->Fits(end - begin);
    }
    for (auto number = part.begin; number < part.end; ++number) {
      packed->root[number] = static_cast<std::int64_t>(packed->nodes.size());
      if (fits) {
        packed->Add(model, number);
      }
    }
    batch->ways[i] = fits ? Way::kPacked : batch->ways[i];
  }
  packed->root.back() = static_cast<std::int64_t>(packed->nodes.size());
}

/** @brief Write the leaves of forests as rows, if these are few and not much longer than lists. */
inline void MakeDenseShares(Compiled const& model, Batch* batch) {
  constexpr std::int64_t kMostValues = std::int64_t{1} << 20, kTimesList = 8;
  auto const n_entries = model.leaf_start[model.n_forest_leaves];
  auto const n_values = model.n_forest_leaves * model.width;
  if (n_values > kMostValues || n_values > kTimesList * n_entries) {
    return;
  }
  batch->dense_share.assign(n_values, 0.0);
  for (std::int64_t leaf = 0; leaf < model.n_forest_leaves; ++leaf) {
    for (auto i = model.leaf_start[leaf]; i < model.leaf_start[leaf + 1]; ++i) {
      if (model.leaf_label[i] < model.n_labels) {
        batch->dense_share[leaf * model.width + model.leaf_label[i]] += model.leaf_share[i];
      }
    }
  }
}

/** @brief Make what batches need. */
inline void MakeBatch(Compiled const& model, Batch* batch) {
  std::vector<std::vector<float>> thresholds(model.n_slots);
  for (Tree const& part : model.trees) {
    bool const fits = !model.is_chain && FitsLines(model, part);
    batch->ways.push_back(fits ? Way::kLines : Way::kWalked);
    for (auto number = part.begin; fits && number < part.end; ++number) {
      auto const [begin, end] = model.TestsOf(number);
      for (auto i = begin; i < end; ++i) {
        thresholds[model.nodes[i].slot].push_back(model.nodes[i].threshold);
      }
    }
  }
  if (!model.is_chain) {
    PackTrees(model, batch);
    MakeDenseShares(model, batch);
  }
  for (Way const way : batch->ways) {
    (way == Way::kWalked ? batch->walks : batch->is_useful) = true;
  }
  std::size_t n_thresholds = 0;
  for (auto& of_slot : thresholds) {
    std::sort(of_slot.begin(), of_slot.end());
    of_slot.erase(std::unique(of_slot.begin(), of_slot.end()), of_slot.end());
    n_thresholds += of_slot.size();
  }
  batch->thresholds.reserve(n_thresholds);  // pages point into it
  std::vector<std::int32_t> first_page(model.n_slots);
  batch->page_start.assign(model.n_features + 1, 0);
  for (std::int32_t slot = 0; slot < model.n_slots; ++slot) {
    first_page[slot] = static_cast<std::int32_t>(batch->pages.size());
    auto const& of_slot = thresholds[slot];
    for (std::size_t at = 0; at < of_slot.size(); at += 255) {
      auto const n = std::min<std::size_t>(255, of_slot.size() - at);
      float const* first = batch->thresholds.data() + batch->thresholds.size();
      batch->thresholds.insert(batch->thresholds.end(), of_slot.begin() + at,
                               of_slot.begin() + at + n);
      batch->pages.push_back(Page{first, static_cast<std::int32_t>(n), slot});
      batch->absent.push_back(BinOf(batch->pages.back(), model.slot_absent[slot]));
    }
    batch->page_start[model.slot_feature[slot] + 1] =
        static_cast<std::int32_t>(batch->pages.size());
  }
  for (std::int64_t feature = 0; feature < model.n_features; ++feature) {
    auto* start = batch->page_start.data() + feature;
    start[1] = std::max(start[0], start[1]);
  }
  for (std::size_t i = 0; i < model.trees.size(); ++i) {
    for (auto number = model.trees[i].begin; number < model.trees[i].end; ++number) {
      if (batch->ways[i] == Way::kLines) {
        AddLineTree(model, number, first_page, thresholds, batch);
      } else {
        batch->trees.push_back(LineTree{});
      }
    }
  }
}

// Vectors at any address. Each has a variable of its own: GCC copies arrays of them in pieces of 64
// bytes, which wait for the stores of their halves.
typedef std::uint8_t Bytes __attribute__((vector_size(32), aligned(1), may_alias));
typedef std::uint8_t Bytes8 __attribute__((vector_size(8), aligned(1), may_alias));
typedef float Floats8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float Floats4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double Doubles4 __attribute__((vector_size(32), aligned(8), may_alias));

/** @brief Bins of up to 64 values by the number of thresholds that each reaches. */
XDCC_TARGET_CLONES static void FillLine(float const* thresholds, std::int32_t n_thresholds,
                                        float const* values, std::uint8_t* line) {
  for (std::int64_t begin = 0; begin < kLine; begin += 32) {
    Floats8 const* value = reinterpret_cast<Floats8 const*>(values + begin);
    Floats8 const value0 = value[0], value1 = value[1], value2 = value[2], value3 = value[3];
    Int8 number0 = {}, number1 = {}, number2 = {}, number3 = {};
    for (std::int32_t i = 0; i < n_thresholds; ++i) {
      Floats8 const threshold = Floats8{} + thresholds[i];
      number0 -= value0 >= threshold;
      number1 -= value1 >= threshold;
      number2 -= value2 >= threshold;
      number3 -= value3 >= threshold;
    }
    Bytes8* bins = reinterpret_cast<Bytes8*>(line + begin);
    bins[0] = __builtin_convertvector(number0, Bytes8);
    bins[1] = __builtin_convertvector(number1, Bytes8);
    bins[2] = __builtin_convertvector(number2, Bytes8);
    bins[3] = __builtin_convertvector(number3, Bytes8);
  }
}

/** @brief Evaluate the tests of trees for the rows of a line, and write leaf numbers. */
XDCC_TARGET_CLONES static void EvaluateTrees(LineTree const* trees, std::int64_t n_trees,
                                             Test const* tests, std::uint8_t const* bins,
                                             std::uint8_t* lines, std::uint8_t* leaves) {
  for (std::int64_t number = 0; number < n_trees; ++number) {
    LineTree const& tree = trees[number];
    Test const* test = tests + tree.tests_begin + tree.n_tests;
    std::uint8_t* line = lines + (kMostLeaves + tree.n_tests) * kLine;
    for (std::int32_t i = tree.n_tests; i-- > 0;) {
      --test;
      line -= kLine;
      Bytes const* bin = reinterpret_cast<Bytes const*>(bins + test->page * kLine);
      Bytes const* left = reinterpret_cast<Bytes const*>(lines + test->left * kLine);
      Bytes const* right = reinterpret_cast<Bytes const*>(lines + test->right * kLine);
      Bytes* out = reinterpret_cast<Bytes*>(line);
      Bytes const cut = Bytes{} + test->cut;
      Bytes const first = bin[0] >= cut ? right[0] : left[0];
      Bytes const second = bin[1] >= cut ? right[1] : left[1];
      out[0] = first;
      out[1] = second;
    }
    std::memcpy(leaves + number * kLine, lines + tree.root * kLine, kLine);
  }
}

/** @brief Add leaves of a group of trees to the margins of rows, in the order of the trees. */
XDCC_TARGET_CLONES static void AddLineLeaves(float const* leaf_value, std::int64_t width,
                                             LineTree const* trees, std::int64_t n_trees,
                                             std::uint8_t const* leaves, std::int64_t n_rows,
                                             float* values) {
  for (std::int64_t row = 0; row < n_rows; ++row, values += width) {
    float const* of_leaf[kGroup];
    for (std::int64_t i = 0; i < n_trees; ++i) {
      of_leaf[i] = leaf_value + trees[i].leaf_offset + leaves[i * kLine + row] * width;
    }
    std::int64_t j = 0;
    for (; j + 32 <= width; j += 32) {
      Floats8* sums = reinterpret_cast<Floats8*>(values + j);
      Floats8 sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
      for (std::int64_t i = 0; i < n_trees; ++i) {
        Floats8 const* leaf = reinterpret_cast<Floats8 const*>(of_leaf[i] + j);
        sum0 += leaf[0];
        sum1 += leaf[1];
        sum2 += leaf[2];
        sum3 += leaf[3];
      }
      sums[0] = sum0;
      sums[1] = sum1;
      sums[2] = sum2;
      sums[3] = sum3;
    }
    for (; j + 8 <= width; j += 8) {
      Floats8* sums = reinterpret_cast<Floats8*>(values + j);
      Floats8 sum = *sums;
      for (std::int64_t i = 0; i < n_trees; ++i) {
        sum += *reinterpret_cast<Floats8 const*>(of_leaf[i] + j);
      }
      *sums = sum;
    }
    for (; j < width; j += 4) {
      Floats4* sums = reinterpret_cast<Floats4*>(values + j);
      Floats4 sum = *sums;
      for (std::int64_t i = 0; i < n_trees; ++i) {
        sum += *reinterpret_cast<Floats4 const*>(of_leaf[i] + j);
      }
      *sums = sum;
    }
  }
}

/** @brief Add leaves of a group of trees to the frequencies of rows, in the order of the trees. */
XDCC_TARGET_CLONES static void AddDenseShares(double const* shares, std::int64_t width,
                                              std::int64_t n_trees, std::int32_t const* leaves,
                                              std::int64_t n_rows, double* frequencies) {
  for (std::int64_t row = 0; row < n_rows; ++row, leaves += kGroup, frequencies += 2 * width) {
    std::int64_t j = 0;
    for (; j + 16 <= width; j += 16) {
      Doubles4* sums = reinterpret_cast<Doubles4*>(frequencies + j);
      Doubles4 sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
      for (std::int64_t i = 0; i < n_trees; ++i) {
        Doubles4 const* of_leaf = reinterpret_cast<Doubles4 const*>(shares + leaves[i] * width + j);
        sum0 += of_leaf[0];
        sum1 += of_leaf[1];
        sum2 += of_leaf[2];
        sum3 += of_leaf[3];
      }
      sums[0] = sum0;
      sums[1] = sum1;
      sums[2] = sum2;
      sums[3] = sum3;
    }
    for (; j < width; j += 4) {
      Doubles4* sums = reinterpret_cast<Doubles4*>(frequencies + j);
      Doubles4 sum = *sums;
      for (std::int64_t i = 0; i < n_trees; ++i) {
        sum += *reinterpret_cast<Doubles4 const*>(shares + leaves[i] * width + j);
      }
      *sums = sum;
    }
  }
}
}  // namespace xdcc
#endif  // XDCC_PREDICTION_BATCH_H_
