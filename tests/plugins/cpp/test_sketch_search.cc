/**
 * @brief The search on few numbers per row, node by node, against slow code.
 */
#include <algorithm>  // for max
#include <cmath>      // for abs, isnan
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <limits>     // for numeric_limits
#include <memory>     // for shared_ptr
#include <string>     // for to_string
#include <vector>     // for vector

#include "src/tree/param.h"             // for TrainParam
#include "src/tree/sample_position.h"   // for SamplePosition
#include "testing.h"                    // for MakeGradients, MakeMatrix, Random, XDCC_TEST
#include "tree/leaf_values.h"           // for BoundsOf, LabelGradients
#include "tree/search/sketch_search.h"  // for SketchSearch
#include "xgboost/context.h"            // for Context
#include "xgboost/tree_model.h"         // for RegTree

namespace xgboost::multilabel {
namespace {
using testing::ExpectNear;
using testing::MakeGradients;
using testing::Random;
using testing::WithThreads;

constexpr std::size_t kFeatures = 9;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr double kLambda = 1.0;

/** @brief Features of all kinds that the index lays out apart; the last one is constant. */
std::vector<float> MakeValues(std::size_t n_rows) {
  Random rng{21};
  std::vector<float> values(n_rows * kFeatures);
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto* row = values.data() + i * kFeatures;
    auto draw = [&] { return rng.Float(-1.0f, 1.0f); };
    row[0] = draw();                                   // dense
    row[1] = static_cast<float>(rng.Int(0, 3));        // dense, few bins
    row[2] = rng.Int(0, 9) < 3 ? kMissing : draw();    // dense, missing values
    row[3] = rng.Int(0, 19) == 0 ? 1.0f : 0.0f;        // sparse, a single slot
    row[4] = rng.Int(0, 19) == 0 ? -1.0f : 0.0f;       // the same below the default bin
    row[5] = rng.Int(0, 19) == 0 ? 1.0f : kMissing;    // the same, missing values
    row[6] = rng.Int(0, 19) == 0 ? draw() : 0.0f;      // sparse
    row[7] = rng.Int(0, 19) == 0 ? draw() : kMissing;  // sparse, missing values
    row[8] = 5.0f;
  }
  return values;
}

bool GoesLeft(float value, Split const& split) {
  return std::isnan(value) ? split.default_left : value < split.split_value;
}

/** @brief Gradients, then Hessians, of rows. [2 * n_dims] */
std::vector<double> SlowSums(linalg::MatrixView<GradientPair const> gpair,
                             std::vector<std::size_t> const& rows) {
  auto const n_dims = gpair.Shape(1);
  std::vector<double> sums(2 * n_dims);
  for (auto i : rows) {
    for (std::size_t d = 0; d < n_dims; ++d) {
      sums[d] += gpair(i, d).GetGrad();
      sums[n_dims + d] += gpair(i, d).GetHess();
    }
  }
  return sums;
}

double SlowScore(std::vector<double> const& sums) {
  double score{0.0};
  for (std::size_t d = 0; d < sums.size() / 2; ++d) {
    score += sums[d] * sums[d] / (sums[sums.size() / 2 + d] + kLambda);
  }
  return score;
}

/** @brief What a split gains. */
double SlowGain(linalg::MatrixView<GradientPair const> gpair, std::vector<float> const& values,
                std::vector<std::size_t> const& rows, Split const& split) {
  std::vector<std::size_t> left, right;
  for (auto i : rows) {
    (GoesLeft(values[i * kFeatures + split.feature], split) ? left : right).push_back(i);
  }
  return SlowScore(SlowSums(gpair, left)) + SlowScore(SlowSums(gpair, right)) -
         SlowScore(SlowSums(gpair, rows));
}

/** @brief The largest gain of a node's splits on some features. */
double LargestGain(linalg::MatrixView<GradientPair const> gpair, std::vector<float> const& values,
                   common::HistogramCuts const& cuts, std::vector<std::size_t> const& rows,
                   std::vector<std::uint8_t> const& allowed) {
  double largest{0.0};
  for (bst_feature_t f = 0; f < kFeatures; ++f) {
    for (auto bin = cuts.Ptrs()[f]; bin < cuts.Ptrs()[f + 1] && allowed[f]; ++bin) {
      for (bool default_left : {false, true}) {
        Split const split{0.0f, f, cuts.Values()[bin], default_left, {}};
        largest = std::max(largest, SlowGain(gpair, values, rows, split));
      }
    }
  }
  return largest;
}

/** @brief A tree that is grown level by level, every node of it. */
struct Grower {
  struct Node {
    bst_node_t nid, parent;
    std::vector<std::size_t> rows;
    NodeStats stats;
    Split split;
  };

  std::shared_ptr<DMatrix> matrix;
  std::vector<float> values;
  testing::Pairs gradients;
  tree::TrainParam param;
  MultiLabelTrainParam ml_param;
  SketchSearch search;

  Grower(std::size_t n_rows, std::size_t n_dims, bst_bin_t max_bin)
      : values{MakeValues(n_rows)}, gradients{MakeGradients(n_rows, n_dims)} {
    matrix = testing::MakeMatrix(values, kFeatures);
    param.UpdateAllowUnknown(Args{{"max_bin", std::to_string(max_bin)}});
    ml_param.Configure({});
  }
  [[nodiscard]] linalg::MatrixView<GradientPair const> Pairs() const {
    return gradients.HostView();
  }

  /**
   * @brief Grow a tree. Returns its nodes.
   *
   * @param keeps Whether histograms may be kept to compute those of siblings.
   * @param check Called with each node whose best split was searched.
   */
  template <typename Check>
  std::vector<Node> Grow(std::int32_t n_threads, bool keeps, std::size_t max_depth,
                         std::vector<std::uint8_t> const& allowed, Check&& check) {
    auto const ctx = WithThreads(n_threads);
    TreeRules const rules{param, ml_param, Regularisation{param, ml_param, true}, true};
    TreeData const data{this->Pairs(), matrix.get()};
    CHECK(SketchSearch::Supports(&ctx, rules, data));
    search.Begin(&ctx, rules, data);
    std::vector<Node> nodes(1);
    nodes[0] = {RegTree::kRoot, RegTree::kInvalidNodeId, {}, {}, {}};
    for (std::size_t i = 0; i < data.gpair.Shape(0); ++i) {
      nodes[0].rows.push_back(i);
    }
    std::vector<std::size_t> level{0};
    for (std::size_t depth = 0; depth < max_depth && !level.empty(); ++depth) {
      std::vector<NodeRequest> requests;
      for (auto n : level) {
        requests.push_back(
            {nodes[n].nid, nodes[n].parent, allowed, keeps, &nodes[n].stats, &nodes[n].split});
      }
      search.Evaluate(requests);
      std::vector<AppliedSplit> applied;
      std::vector<Node> children;
      for (auto n : level) {
        check(nodes[n]);
        if (nodes[n].split.gain > 0.0f) {
          auto const left = static_cast<bst_node_t>(nodes.size() + children.size());
          applied.push_back({nodes[n].nid, left, left + 1, nodes[n].split});
          children.push_back({left, nodes[n].nid, {}, {}, {}});
          children.push_back({left + 1, nodes[n].nid, {}, {}, {}});
          for (auto i : nodes[n].rows) {
            auto const value = values[i * kFeatures + nodes[n].split.feature];
            auto const right = GoesLeft(value, nodes[n].split) ? 0 : 1;
            children[children.size() - 2 + right].rows.push_back(i);
          }
        }
      }
      search.Partition(RegTree{}, applied);
      level.clear();
      for (auto& child : children) {
        level.push_back(nodes.size());
        nodes.push_back(std::move(child));
      }
    }
    return nodes;
  }
};

std::vector<std::uint8_t> AllFeatures() { return std::vector<std::uint8_t>(kFeatures, 1); }

XDCC_TEST(sketch_search, SplitsAreThoseOfSlowCode) {
  for (std::size_t n_dims : {1, 2, 3, 4}) {
    for (bst_bin_t max_bin : {16, 400}) {  // slots of one byte, and of two
      Grower grower{500, n_dims, max_bin};
      auto const gpair = grower.Pairs();
      Context const ctx;
      auto const page = grower.matrix->GetBatches<GHistIndexMatrix>(&ctx, {max_bin, 0.2}).begin();
      auto allowed = AllFeatures();
      allowed[1] = n_dims != 2;
      std::size_t n_searched{0};
      auto check = [&](Grower::Node const& node) {
        ++n_searched;
        auto const sums = SlowSums(gpair, node.rows);
        auto const size = 1.0 + SlowScore(sums);
        auto const largest = LargestGain(gpair, grower.values, (*page).cut, node.rows, allowed);
        ExpectNear(node.split.gain, largest, 1e-5 * size);
        if (node.split.gain == 0.0f) {
          return;
        }
        CHECK(allowed[node.split.feature]);
        ExpectNear(SlowGain(gpair, grower.values, node.rows, node.split), node.split.gain,
                   1e-5 * size);
        std::vector<std::size_t> left;
        for (auto i : node.rows) {
          if (GoesLeft(grower.values[i * kFeatures + node.split.feature], node.split)) {
            left.push_back(i);
          }
        }
        auto const left_sums = SlowSums(gpair, left);
        CHECK_EQ(node.stats.left_sums.size(), left_sums.size());
        for (std::size_t k = 0; k < left_sums.size(); ++k) {
          ExpectNear(node.stats.left_sums[k], left_sums[k], 2e-5);
        }
      };
      grower.Grow(1, true, 5, allowed, check);
      CHECK_GT(n_searched, 20);
    }
  }
}

XDCC_TEST(sketch_search, SubtractionAndThreadsChangeNothing) {
  for (std::size_t n_dims : {1, 4}) {
    Grower grower{6000, n_dims, 64};
    auto ignore = [](auto const&) {};
    auto const nodes = grower.Grow(1, true, 7, AllFeatures(), ignore);
    for (std::int32_t n_threads : {1, 2}) {
      for (bool keeps : {true, false}) {
        auto const others = grower.Grow(n_threads, keeps, 7, AllFeatures(), ignore);
        CHECK_EQ(nodes.size(), others.size());
        for (std::size_t n = 0; n < nodes.size(); ++n) {
          CHECK_EQ(nodes[n].split.gain, others[n].split.gain);
          CHECK_EQ(nodes[n].split.feature, others[n].split.feature);
          CHECK_EQ(nodes[n].split.split_value, others[n].split.split_value);
          CHECK_EQ(nodes[n].split.default_left, others[n].split.default_left);
          CHECK(nodes[n].stats.left_sums == others[n].stats.left_sums);
        }
      }
    }
  }
}

XDCC_TEST(sketch_search, RowsArriveInTheirLeaves) {
  Grower grower{1000, 2, 32};
  auto const nodes = grower.Grow(2, true, 6, AllFeatures(), [](auto const&) {});
  auto const gpair = grower.Pairs();
  auto const ctx = WithThreads(2);
  auto const leaves = grower.search.SumOverLeaves({gpair, BoundsOf(&ctx, gpair)});
  std::vector<bst_node_t> position(1000);
  grower.search.End(common::Span{position});
  std::size_t n_leaves{0}, n_rows{0};
  for (auto const& node : nodes) {
    if (node.split.gain > 0.0f) {
      continue;
    }
    CHECK_EQ(leaves.leaves[n_leaves], node.nid);
    auto const sums = SlowSums(gpair, node.rows);
    for (std::size_t d = 0; d < 2; ++d) {
      ExpectNear(leaves.sums[4 * n_leaves + 2 * d], sums[d], 1e-4);
      ExpectNear(leaves.sums[4 * n_leaves + 2 * d + 1], sums[2 + d], 1e-4);
    }
    for (auto i : node.rows) {
      CHECK_EQ(tree::SamplePosition::Decode(position[i]), node.nid);
      CHECK_EQ(tree::SamplePosition::IsValid(position[i]), i % 17 != 3);
    }
    ++n_leaves;
    n_rows += node.rows.size();
  }
  CHECK_EQ(n_leaves, leaves.leaves.size());
  CHECK_EQ(n_rows, 1000);
}

XDCC_TEST(sketch_search, WhatItDoesNotSupportIsLeftToTheOtherSearch) {
  Context const ctx;
  Grower grower{100, 2, 16};
  auto supports = [&](Args const& args, Args const& ml_args) {
    auto param = grower.param;
    param.UpdateAllowUnknown(args);
    MultiLabelTrainParam ml_param;
    ml_param.Configure(ml_args);
    return SketchSearch::Supports(&ctx, {param, ml_param, {param, ml_param, true}, true},
                                  {grower.Pairs(), grower.matrix.get()});
  };
  CHECK(supports({}, {}));
  CHECK(!supports({{"lambda", "0"}}, {}));
  CHECK(!supports({{"alpha", "0.1"}}, {}));
  CHECK(!supports({{"max_delta_step", "1"}}, {}));
  CHECK(!supports({{"monotone_constraints", "(1)"}}, {}));
  CHECK(!supports({}, {{"min_child_weight", "1"}}));
  CHECK(!supports({}, {{"split_method", "maxGain"}}));
}
}  // namespace
}  // namespace xgboost::multilabel
