/**
 * @brief Random numbers, groups of labels and combined gradients.
 */
#include <algorithm>  // for max, min, sort
#include <cmath>      // for abs, exp, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <limits>     // for numeric_limits
#include <numeric>    // for iota
#include <optional>   // for nullopt
#include <string>     // for string, to_string
#include <utility>    // for as_const
#include <vector>     // for vector

#include "objective/logistic_loss.h"  // for LogisticLoss
#include "testing.h"                  // for Random, XDCC_TEST
#include "tree/data/aligned_array.h"  // for AlignedArray
#include "tree/sketch.h"              // for Sketch, TreeKey
#include "tree/sketch_random.h"       // for SketchRandom
#include "xgboost/context.h"          // for Context
#include "xgboost/linalg.h"           // for MakeTensorView, Matrix

namespace xgboost::multilabel {
namespace {
using testing::ExpectError;
using testing::ExpectNear;
using testing::MakeGradients;
using testing::Pairs;
using testing::Random;
using testing::WithThreads;

MultiLabelTrainParam Param(int k, std::string const& method) {
  MultiLabelTrainParam param;
  param.UpdateAllowUnknown(Args{{"sketch_size", std::to_string(k)}, {"sketch_method", method}});
  return param;
}

Sketch::Labels FirstLabels(std::size_t n) {
  Sketch::Labels labels(n);
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

XDCC_TEST(sketch, RandomBitsAreThoseOfSplitMix64) {
  SketchRandom const random{};  // a key of 0: the generator seeded with 0
  CHECK_EQ(random.Bits(0), 0xe220a8397b1dcdafull);
  CHECK_EQ(random.Bits(1), 0x6e789e6aa1b965f4ull);
  CHECK_EQ(random.Bits(2), 0x06c45d188009454full);
}

XDCC_TEST(sketch, RandomNumbersHaveTheirMoments) {
  SketchRandom const random{1, 2, 3};
  constexpr int kNumbers = 20000;
  double uniform{0.0}, normal{0.0}, squares{0.0};
  for (int i = 0; i < kNumbers; ++i) {
    auto const u = random.Uniform(i), z = random.Normal(i);
    CHECK(u > 0.0 && u < 1.0);
    uniform += u / kNumbers;
    normal += z / kNumbers;
    squares += z * z / kNumbers;
  }
  ExpectNear(uniform, 0.5, 0.01);
  ExpectNear(normal, 0.0, 0.03);
  ExpectNear(squares, 1.0, 0.04);
}

XDCC_TEST(sketch, GroupsPartTheLabels) {
  for (std::size_t n_labels : {1, 7, 64, 101}) {
    for (std::size_t n_groups = 1; n_groups <= std::min<std::size_t>(n_labels, 9); ++n_groups) {
      auto const groups = Sketch::DrawGroups({1, 2, 0, 0}, n_labels, n_groups);
      CHECK_EQ(groups.size(), n_groups);
      Sketch::Labels all;
      for (auto const& group : groups) {
        CHECK(group.size() == n_labels / n_groups || group.size() == n_labels / n_groups + 1);
        CHECK(std::is_sorted(group.cbegin(), group.cend()));
        all.insert(all.end(), group.cbegin(), group.cend());
      }
      std::sort(all.begin(), all.end());
      CHECK(all == FirstLabels(n_labels));
      CHECK(groups == Sketch::DrawGroups({1, 2, 0, 5}, n_labels, n_groups));
    }
  }
  CHECK(Sketch::DrawGroups({1, 2, 0, 0}, 101, 4) != Sketch::DrawGroups({1, 3, 0, 0}, 101, 4));
}

XDCC_TEST(sketch, GroupsAreGathered) {
  auto const ctx = WithThreads(2);
  auto const gradients = MakeGradients(131, 11);
  auto const view = gradients.HostView();
  auto const groups = Sketch::DrawGroups({1, 0, 0, 0}, 11, 3);
  std::vector<Pairs> gathered;
  Sketch::GatherGroups(&ctx, view, groups, &gathered);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const of_group = std::as_const(gathered[g]).HostView();
    for (std::size_t i = 0; i < 131; ++i) {
      for (std::size_t j = 0; j < groups[g].size(); ++j) {
        CHECK(of_group(i, j) == view(i, groups[g][j]));
      }
    }
  }
}

/** @brief C, read off what rows with a single gradient are combined to. [n_labels, n_dims] */
std::vector<std::vector<double>> Coefficients(Sketch const& sketch, std::size_t n_labels) {
  Context const ctx;
  Pairs ones, out;
  ones.Reshape(n_labels, n_labels);
  auto view = ones.HostView();
  for (std::size_t i = 0; i < n_labels; ++i) {
    for (std::size_t j = 0; j < n_labels; ++j) {
      view(i, j) = i == j ? GradientPair{1.0f, 1.0f} : GradientPair{0.0f, 0.0f};
    }
  }
  sketch.Project(&ctx, std::as_const(ones).HostView(), &out);
  auto const combined = std::as_const(out).HostView();
  std::vector<std::vector<double>> result(n_labels);
  for (std::size_t j = 0; j < n_labels; ++j) {
    for (std::size_t d = 0; d < combined.Shape(1); ++d) {
      auto const pair = combined(j, d);
      ExpectNear(pair.GetHess(), double{pair.GetGrad()} * pair.GetGrad(), 1e-6 * pair.GetHess());
      result[j].push_back(pair.GetGrad());
    }
  }
  return result;
}

XDCC_TEST(sketch, NothingIsReadBeforeItIsMade) {
  constexpr std::size_t kRows = 5000;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t n_labels : {2, 3, 4, 7, 8, 9, 15, 17}) {
    auto const ctx = WithThreads(2);
    Random rng{5};
    std::vector<float> labels(kRows * n_labels), margins(kRows * n_labels);
    for (std::size_t e = 0; e < labels.size(); ++e) {
      labels[e] = static_cast<float>(rng.Int(0, 1));
      margins[e] = rng.Float(-2.0f, 2.0f);
    }
    common::OptionalWeights const none{1.0f};
    LabelWeightParam of_labels;
    of_labels.UpdateAllowUnknown(Args{});
    LogisticLoss const loss{"multilabel:logistic",
                            labels.data(),
                            none,
                            nullptr,
                            1.0f,
                            kRows,
                            n_labels,
                            false,
                            &of_labels};
    Sketch const sketch{
        &ctx, Param(1, "projection"), {3, 1, 0, 0}, FirstLabels(n_labels), std::nullopt};
    AlignedArray<float> probabilities;
    probabilities.Assign(kRows * n_labels + 100, kNaN);
    Pairs combined, expected;
    sketch.DeriveAndProject(&ctx, loss,
                            linalg::MakeTensorView(&ctx, common::Span{margins}, kRows, n_labels),
                            &probabilities, &combined);
    Pairs gradients;
    gradients.Reshape(kRows, n_labels);
    auto view = gradients.HostView();
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < n_labels; ++j) {
        auto const p = 1.0 / (1.0 + std::exp(-margins[i * n_labels + j]));
        view(i, j) = GradientPair{static_cast<float>(p - labels[i * n_labels + j]),
                                  static_cast<float>(p * (1.0 - p))};
      }
    }
    sketch.Project(&ctx, std::as_const(gradients).HostView(), &expected);
    auto const found = std::as_const(combined).HostView();
    auto const wanted = std::as_const(expected).HostView();
    for (std::size_t i = 0; i < kRows; ++i) {
      ExpectNear(found(i, 0).GetGrad(), wanted(i, 0).GetGrad(), 1e-5);
      ExpectNear(found(i, 0).GetHess(), wanted(i, 0).GetHess(), 1e-5);
    }
  }
}

XDCC_TEST(sketch, RowsAreCombined) {
  for (std::size_t n_labels : {2, 3, 8, 9, 63, 64, 65, 130}) {
    for (int k : {1, 2, 5}) {
      if (static_cast<std::size_t>(k) >= n_labels) {
        continue;
      }
      auto const one = WithThreads(1), two = WithThreads(2);
      Sketch const sketch{
          &one, Param(k, "projection"), {3, 1, 0, 0}, FirstLabels(n_labels), std::nullopt};
      auto const coefficients = Coefficients(sketch, n_labels);
      for (std::size_t n_rows : {1, 2, 1023, 1025}) {
        auto const gradients = MakeGradients(n_rows, n_labels);
        auto const view = gradients.HostView();
        Pairs out, again;
        auto const bounds = sketch.Project(&one, view, &out);
        sketch.Project(&two, view, &again);
        CHECK(out.Data()->ConstHostVector() == again.Data()->ConstHostVector());
        auto const combined = std::as_const(out).HostView();
        float largest_grad{0.0f}, largest_hess{0.0f};
        for (std::size_t i = 0; i < n_rows; ++i) {
          for (std::size_t d = 0; d < combined.Shape(1); ++d) {
            double grad{0.0}, hess{0.0}, size{0.0};
            for (std::size_t j = 0; j < n_labels; ++j) {
              auto const c = coefficients[j][d];
              grad += c * view(i, j).GetGrad();
              hess += c * c * view(i, j).GetHess();
              size += std::abs(c) + c * c;
            }
            ExpectNear(combined(i, d).GetGrad(), grad, 1e-6 * size);
            ExpectNear(combined(i, d).GetHess(), hess, 1e-6 * size);
          }
          for (std::size_t j = 0; j < n_labels; ++j) {
            largest_grad = std::max(largest_grad, std::abs(view(i, j).GetGrad()));
            largest_hess = std::max(largest_hess, view(i, j).GetHess());
          }
        }
        CHECK_EQ(bounds.grad, largest_grad);
        CHECK_EQ(bounds.hess, largest_hess);
      }
    }
  }
}

XDCC_TEST(sketch, SampledAndTopLabelsStandAlone) {
  constexpr std::size_t kLabels = 20;
  Context const ctx;
  auto gradients = MakeGradients(50, kLabels);
  auto view = gradients.HostView();
  std::vector<double> norms(kLabels);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < kLabels; ++j) {
      view(i, j) = GradientPair{view(i, j).GetGrad() * (1.0f + static_cast<float>(j * 7 % kLabels)),
                                view(i, j).GetHess()};
      norms[j] += double{view(i, j).GetGrad()} * view(i, j).GetGrad();
    }
  }
  auto const total = std::accumulate(norms.cbegin(), norms.cend(), 0.0);
  for (std::string const method : {"sampling", "top"}) {
    Sketch const sketch{&ctx,
                        Param(3, method),
                        {1, 1, 0, 0},
                        FirstLabels(kLabels),
                        std::as_const(gradients).HostView()};
    auto const coefficients = Coefficients(sketch, kLabels);
    auto sorted = norms;
    std::sort(sorted.rbegin(), sorted.rend());
    for (std::size_t d = 0; d < 3; ++d) {
      int n_labels{0};
      for (std::size_t j = 0; j < kLabels; ++j) {
        if (auto const c = coefficients[j][d]; c != 0.0) {
          ++n_labels;
          ExpectNear(c, method == "top" ? 1.0 : std::sqrt(total / (3.0 * norms[j])), 1e-5 * c);
          CHECK(method == "sampling" || norms[j] == sorted[d]);
        }
      }
      CHECK_EQ(n_labels, 1);
    }
  }
}

XDCC_TEST(sketch, ValuesThatAreNotFiniteAreAnError) {
  Context const ctx;
  Sketch const sketch{&ctx, Param(2, "projection"), {0, 0, 0, 0}, FirstLabels(9), std::nullopt};
  for (auto bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto gradients = MakeGradients(40, 9);
    gradients.HostView()(39, 8) = GradientPair{bad, 1.0f};
    Pairs out;
    ExpectError("infinite or not a number",
                [&] { sketch.Project(&ctx, std::as_const(gradients).HostView(), &out); });
  }
}
}  // namespace
}  // namespace xgboost::multilabel
