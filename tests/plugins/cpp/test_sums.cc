/**
 * @brief Sums of gradients: exact, in any order, and by any number of threads.
 */
#include <algorithm>  // for max, min, shuffle
#include <cmath>      // for abs
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uintptr_t
#include <limits>     // for numeric_limits
#include <numeric>    // for iota
#include <random>     // for mt19937
#include <string>     // for to_string
#include <utility>    // for as_const, move
#include <vector>     // for vector

#include "testing.h"                        // for Random, XDCC_TEST
#include "tree/data/aligned_array.h"        // for AlignedArray, MemoryPool
#include "tree/data/gradient_matrix.h"      // for GradientMatrix, GridRounding
#include "tree/leaf_values.h"               // for LabelGradients, SumLeaves
#include "tree/search/integer_histogram.h"  // for AddSortedToBins
#include "tree/search/quantised_rows.h"     // for SumRows
#include "tree/search/row_lists.h"          // for PartitionLists
#include "xgboost/context.h"                // for Context
#include "xgboost/linalg.h"                 // for Matrix

namespace xgboost::multilabel {
namespace {
using testing::ExpectError;
using testing::MakeGradients;
using testing::Pairs;
using testing::Random;
using testing::WithThreads;

XDCC_TEST(sums, RoundedNumbersHaveExactSums) {
  constexpr std::size_t kNumbers = 5000;
  for (float scale : {1e-30f, 1e-3f, 1.0f, 1e30f}) {
    Random rng{7};
    GridRounding const rounding{scale, kNumbers};
    std::vector<float> numbers(kNumbers);
    for (auto& x : numbers) {
      auto const exact = rng.Float(-scale, scale);
      x = rounding(exact);
      CHECK_LE(std::abs(x - exact), 0x1p-52 * 2.0 * kNumbers * scale);
    }
    auto sum = [&] { return std::accumulate(numbers.cbegin(), numbers.cend(), 0.0); };
    auto const first = sum();
    std::mt19937 engine{8};
    for (int i = 0; i < 5; ++i) {
      std::shuffle(numbers.begin(), numbers.end(), engine);
      CHECK_EQ(sum(), first);
    }
  }
  CHECK_EQ((GridRounding{0.0f, 10.0}(0.0f)), 0.0f);
}

XDCC_TEST(sums, GradientsAreRoundedAndSummedUp) {
  for (std::size_t n_rows : {1, 1024, 2500}) {
    for (std::size_t n_labels : {1, 5, 64, 130}) {
      auto const gradients = MakeGradients(n_rows, n_labels);
      auto const view = gradients.HostView();
      std::vector<double> first;
      for (auto n_threads : {1, 2}) {
        auto const ctx = WithThreads(n_threads);
        GradientMatrix matrix;
        matrix.Assign(&ctx, view);
        CHECK_EQ(matrix.Width(), 2 * n_labels);
        std::vector<double> slow(2 * n_labels), of_some(2 * n_labels), some(2 * n_labels);
        std::vector<bst_idx_t> rows;
        auto const& of = matrix.View();
        for (std::size_t i = 0; i < n_rows; ++i) {
          CHECK_EQ(matrix.Active(i), i % 17 != 3);
          auto const* pairs = of.Row(i);
          for (std::size_t j = 0; j < n_labels; ++j) {
            auto const grad = of.grad_rounding(pairs[2 * j]);
            auto const hess = of.hess_rounding(pairs[2 * j + 1]);
            CHECK_LE(std::abs(grad - view(i, j).GetGrad()), 1e-7f);
            CHECK_LE(std::abs(hess - view(i, j).GetHess()), 1e-7f);
            slow[j] += grad;
            slow[n_labels + j] += hess;
            of_some[j] += i % 3 == 0 ? grad : 0.0f;
            of_some[n_labels + j] += i % 3 == 0 ? hess : 0.0f;
          }
          if (i % 3 == 0) {
            rows.push_back(i);
          }
        }
        XDCC_BEST_CLONE(AddRowsExactly)(of, rows.data(), rows.size(), some.data());
        CHECK(some == of_some);
        CHECK(matrix.Sum(&ctx) == slow);
        first = n_threads == 1 ? slow : first;
        CHECK(slow == first);
      }
    }
  }
}

XDCC_TEST(sums, GradientsThatAreNotFiniteAreAnError) {
  Context const ctx;
  for (auto bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto gradients = MakeGradients(2000, 3);
    gradients.HostView()(1999, 2) = GradientPair{0.0f, bad};
    GradientMatrix matrix;
    ExpectError("infinite or not a number",
                [&] { matrix.Assign(&ctx, std::as_const(gradients).HostView()); });
  }
}

/** @brief Integers of rows, plain or packed. */
struct IntegerRows {
  std::size_t width;
  std::vector<std::int32_t> grad, hess;
  AlignedArray<std::int32_t> values;
  RowValues view;

  IntegerRows(std::size_t n_rows, std::size_t width, bool is_packed, bool is_far)
      : width{width}, grad(n_rows * width), hess(n_rows * width) {
    Random rng{9};
    values.Assign(2 * n_rows * width, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        auto const g = grad[i * width + j] = rng.Int(-(1 << 15), (1 << 15) - 1);
        auto const h = hess[i * width + j] = rng.Int(0, (1 << 16) - 1);
        if (is_packed) {
          values.Data()[i * width + j] = g * (1 << 16) + h;
        } else {
          values.Data()[i * 2 * width + j] = g;
          values.Data()[i * 2 * width + width + j] = h;
        }
      }
    }
    view = {values.Data(), is_packed, is_far};
  }
  void Add(std::size_t row, std::int32_t* sums) const {
    for (std::size_t j = 0; j < width; ++j) {
      sums[j] += grad[row * width + j];
      sums[width + j] += hess[row * width + j];
    }
  }
};

XDCC_TEST(sums, RowsOfAClusterAreSummedUp) {
  Random rng{10};
  for (std::size_t width : {8, 16, 24, 32}) {
    for (int variant = 0; variant < 4; ++variant) {
      IntegerRows const rows{100, width, variant % 2 == 0, variant < 2};
      for (std::size_t n : {0, 1, 15, 16, 17, 90}) {
        std::vector<std::uint32_t> chosen(n);
        std::vector<std::int32_t> sums(2 * width, 3), slow(2 * width, 3);
        for (auto& row : chosen) {
          row = rng.Int(0, 99);
          rows.Add(row, slow.data());
        }
        XDCC_BEST_CLONE(SumRows)(rows.view, width, chosen.data(), n, sums.data());
        CHECK(sums == slow);
      }
    }
  }
}

XDCC_TEST(sums, SortedRowsAreAddedToTheirBins) {
  Random rng{11};
  for (std::size_t width : {8, 16, 24}) {
    for (bool is_packed : {false, true}) {
      IntegerRows const rows{100, width, is_packed, false};
      std::vector<std::uint32_t> counts{3, 0, 0, 40, 1, 0}, sorted;
      AlignedArray<std::int32_t> bins;
      bins.Assign(counts.size() * 2 * width, 5);
      std::vector<std::int32_t> slow(counts.size() * 2 * width, 5);
      for (std::size_t b = 0; b < counts.size(); ++b) {
        for (std::uint32_t i = 0; i < counts[b]; ++i) {
          sorted.push_back(rng.Int(0, 99));
          rows.Add(sorted.back(), slow.data() + b * 2 * width);
        }
      }
      sorted.resize(sorted.size() + kRowsAhead);
      AddSortedToBins(width)(sorted.data(), counts.data(), counts.size(), rows.view, bins.Data());
      for (std::size_t k = 0; k < slow.size(); ++k) {
        CHECK_EQ(bins.Data()[k], slow[k]);
      }
      XDCC_BEST_CLONE(SubtractArray<std::int32_t>)(bins.Data(), slow.size(), slow.data());
      CHECK(slow == std::vector<std::int32_t>(slow.size(), 0));
    }
  }
}

XDCC_TEST(sums, LeavesAreSummedUpByAnyNumberOfThreads) {
  constexpr std::size_t kRows = 9001;
  for (std::size_t n_labels : {1, 3, 6, 1030}) {
    auto const n_rows = n_labels > 100 ? 50 : kRows;
    auto const gradients = MakeGradients(n_rows, n_labels);
    auto const view = gradients.HostView();
    std::vector<std::uint32_t> rows(n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), std::mt19937{12});
    auto const middle = n_rows / 4;
    using Rows = common::Span<std::uint32_t const>;
    std::vector<std::vector<Rows>> const leaves{
        {Rows{rows.data(), middle}, Rows{rows.data() + middle, 1}},
        {},
        {Rows{rows.data() + middle + 1, n_rows - middle - 1}}};
    auto const one = WithThreads(1), two = WithThreads(2);
    LabelGradients const labels{view, BoundsOf(&one, view)};
    auto const sums = SumLeaves(&one, labels, leaves);
    CHECK(sums == SumLeaves(&two, labels, leaves));
    auto const n = static_cast<double>(n_rows);
    GridRounding const round_grad{labels.bounds.grad, n}, round_hess{labels.bounds.hess, n};
    std::vector<double> slow(3 * 2 * n_labels);
    for (std::size_t i = 0; i < n_rows; ++i) {
      auto* leaf = slow.data() + (i <= middle ? 0 : 2) * 2 * n_labels;
      for (std::size_t j = 0; j < n_labels; ++j) {
        double const g = view(rows[i], j).GetGrad(), h = view(rows[i], j).GetHess();
        leaf[2 * j] += (g + round_grad.Shift()) - round_grad.Shift();
        leaf[2 * j + 1] += (h + round_hess.Shift()) - round_hess.Shift();
      }
    }
    CHECK(sums == slow);
  }
}

XDCC_TEST(sums, ListsArePartedInTheirOrder) {
  Random rng{13};
  constexpr std::uint32_t kN = 30;
  std::vector<ListEntry> entries;
  constexpr std::size_t kBlock = 1;  // beside an empty one
  auto const n_most = [](std::size_t b) { return b == kBlock ? 4 : 0; };
  BlockLists of_parent, of_left, of_right;
  for (auto* lists : {&of_parent, &of_left, &of_right}) {
    lists->Reserve(2, n_most);
  }
  for (bst_feature_t f = 0; f < 4; ++f) {
    auto const begin = static_cast<std::uint32_t>(entries.size());
    for (std::uint32_t row = 0; row < kN; ++row) {
      if (f < 2 || rng.Int(0, 2) > 0) {
        entries.push_back((f == 1 ? 7 : row / 10) << kBinShift | row);
      }
    }
    of_parent.Room(kBlock)[f] = {f, begin, static_cast<std::uint32_t>(entries.size()), 0,
                                 RowList::kNone};
  }
  of_parent.SetSize(kBlock, 4);
  std::vector<std::uint8_t> is_right(kN);
  std::uint32_t n_right{0};
  for (auto& side : is_right) {
    side = rng.Int(0, 1);
    n_right += side;
  }
  std::vector<std::vector<ListEntry>> expected[2];
  for (auto const& list : of_parent[kBlock]) {
    std::vector<ListEntry> parts[2];
    for (auto e = list.begin; e < list.end; ++e) {
      parts[is_right[entries[e] & kRowMask]].push_back(entries[e]);
    }
    expected[0].push_back(parts[0]);
    expected[1].push_back(parts[1]);
  }
  ListBuffer buffer;
  PartitionLists(of_parent[kBlock], entries.data(), entries.data(), is_right.data(), kN - n_right,
                 n_right, &buffer, kBlock, &of_left, &of_right);
  for (auto const* side : {&of_left, &of_right}) {
    auto const& of_side = expected[side == &of_right];
    CHECK_EQ((*side)[0].size(), 0);
    CHECK_EQ((*side)[kBlock].size(), 3);  // feature 1 has one bin
    for (auto const& list : (*side)[kBlock]) {
      CHECK_NE(list.feature, 1);
      CHECK_EQ(list.origin, list.feature);
      std::vector<ListEntry> const found(entries.begin() + list.begin, entries.begin() + list.end);
      CHECK(found == of_side[list.origin]);
    }
  }
}

XDCC_TEST(sums, MemoryIsAlignedAndUsedAgain) {
  MemoryPool<std::int32_t> pool;
  std::vector<std::size_t> capacities;
  for (std::size_t n : {1000, 100, 5000}) {
    AlignedArray<std::int32_t> array;
    array.Resize(n);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(array.Data()) % 64, 0);
    CHECK_GE(array.Size(), n);
    capacities.push_back(array.Capacity());
    pool.GiveBack(std::move(array));
  }
  CHECK_EQ(pool.Take(900).Capacity(), capacities[0]);    // the smallest that is large enough
  CHECK_EQ(pool.Take(90000).Capacity(), capacities[2]);  // else the largest
  CHECK_EQ(pool.Take(1).Capacity(), capacities[1]);
  CHECK_EQ(pool.Take(1).Capacity(), 0);  // none is left
}
}  // namespace
}  // namespace xgboost::multilabel
