/** @brief The arrays of a compiled model, and the rows that it predicts. */
#ifndef XDCC_PREDICTION_FLAT_MODEL_H_
#define XDCC_PREDICTION_FLAT_MODEL_H_

#include <cstdint>  // for int32_t, int64_t, uint32_t
#include <limits>   // for numeric_limits
#include <utility>  // for pair
#include <vector>   // for vector

namespace xdcc {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Node {
  float threshold;       // of a test for categories, the bits of its place in `sets`
  std::int32_t slot;     // what is tested; ~slot if the test is for categories
  std::int32_t next[2];  // for smaller values, or none of the set, and others; ~ number of a leaf
};

struct Tree {               // a booster or a forest
  std::int64_t begin, end;  // of its trees
  float const* start;       // [width] margins without trees; NULL: it is a forest
  double const* mean;       // [n_labels] frequencies in the training of a forest
  bool has_unknown;         // whether leaves of a forest have entries for unknown labels
};

struct Linear {
  std::int32_t const* column;     // [n_features] first column of a feature
  std::int32_t const* n_values;   // [n_features] categories; 0: it is a number
  std::int32_t const* indicator;  // [n_features] column that marks missing values, or -1
  double const* fill;             // [n_features] in place of a missing number
  double const* weight;           // [n_columns, n_labels]
  double const* square;           // [n_columns] squares of the scales
  double const* intercept;        // [n_labels]
  bool text_like;
};

struct Member {
  std::int64_t trees_begin, trees_end;    // of `Compiled::trees`
  std::int64_t linear_begin, linear_end;  // of `Compiled::linear`
  double n_estimators, share;
  double const* slope;      // [n_labels]
  double const* intercept;  // [n_labels]
};

struct Chain {            // of rounds, which are members; features end in the labels'
  std::int64_t n_given;   // features of X
  std::int64_t n_labels;  // without the end label, which follows them if there is one
  std::int64_t labels_per_round;
  bool all_compete;    // candidates="all"
  bool by_certainty;   // order="certainty"
  bool cumulated;      // what is predicted; else "standard"
  bool keeps_maximum;  // cumulation="authors"
};

struct Compiled {
  std::int64_t n_features, n_labels, n_slots, n_nodes, n_trees;
  std::int32_t n_leaves;             // of boosters
  std::int64_t n_forest_leaves;      // that are distinct
  std::int64_t width;                // n_labels, rounded up to a multiple of 4
  std::int64_t most_trees;           // of a booster or forest
  std::int32_t const* slot_feature;  // [n_slots] ascending
  std::int32_t const* slot_start;    // [n_features + 1] first slot of a feature
  float const* slot_missing;         // [n_slots] for a missing value
  float const* slot_absent;          // [n_slots] for a value that a sparse row does not store
  Node const* nodes;
  std::int32_t const* root;        // [n_trees] first node, or ~ number of a leaf
  std::uint32_t const* sets;       // number of categories, then a bit for each, set by set
  float const* leaf_value;         // [n_leaves, width] of boosters
  std::int64_t const* leaf_start;  // [n_leaves + 1] entries of a forest's leaf
  std::int32_t const* leaf_label;  // labels; n_labels + j: label j is unknown
  double const* leaf_share;        // in the leaf's weight
  std::vector<Tree> trees;
  std::vector<Linear> linear;
  std::vector<Member> members;
  double const *slope, *intercept;  // [n_labels] of the whole
  bool has_sets, is_single;         // single: the margins of one booster
  bool starts_from_features;        // the margins to start from are the first features
  bool is_chain;
  Chain chain;

  /** @brief The first test of a tree and the one after its last. */
  std::pair<std::int64_t, std::int64_t> TestsOf(std::int64_t number) const {
    if (root[number] < 0) {
      return {0, 0};
    }
    auto next = number + 1;
    while (next < n_trees && root[next] < 0) {
      ++next;
    }
    return {root[number], next < n_trees ? root[next] : n_nodes};
  }
  std::int64_t NGiven() const { return is_chain ? chain.n_given : n_features; }
  std::int64_t NOutputs() const { return is_chain ? chain.n_labels : n_labels; }
};

struct Rows {
  std::int64_t n_rows, row_stride, column_stride;  // strides in bytes
  char const* dense;                               // NULL: CSR
  bool is_double;
  float const* data;
  std::int32_t const* indices;
  std::int64_t const* indptr;
};
}  // namespace xdcc
#endif  // XDCC_PREDICTION_FLAT_MODEL_H_
