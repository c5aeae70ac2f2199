/**
 * @brief The rules of XGBoost's own updaters, for objectives that are not of this plugin.
 *
 * Their Hessians are not p (1 - p): they can be constant, larger than 1, or 0 beside a gradient.
 * One pass over them finds out which conditions the search has to check.
 */
#ifndef XDCC_MULTILABEL_STOCK_RULES_H_
#define XDCC_MULTILABEL_STOCK_RULES_H_

#include <algorithm>  // for max, min
#include <array>      // for array
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../../src/tree/param.h"  // for TrainParam
#include "../param/param.h"           // for MultiLabelTrainParam
#include "../reductions.h"            // for ForEachRun, MaxOverWorkers, NumRuns
#include "../vectorised.h"            // for XDCC_TARGET_CLONES, XDCC_BEST_CLONE
#include "split_score.h"              // for Regularisation
#include "xgboost/base.h"             // for GradientPair
#include "xgboost/context.h"          // for Context
#include "xgboost/linalg.h"           // for MatrixView
#include "xgboost/logging.h"          // for CHECK

namespace xgboost::multilabel {
/** @brief What is known of some Hessians. */
struct HessianFacts {
  /** @brief The least in rows with a Hessian or a gradient. */
  float least{std::numeric_limits<float>::infinity()};
  /** @brief Not 0 if one is 0 beside a gradient. */
  std::int32_t has_bare_gradients{0};
};

/** @brief Map a float to an integer of the same order: compilers vectorise minima of integers. */
inline std::int32_t OrderedBits(float value) {
  std::int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits ^ ((bits >> 31) & std::numeric_limits<std::int32_t>::max());
}

inline float FromOrderedBits(std::int32_t ordered) {
  std::int32_t const bits = ordered ^ ((ordered >> 31) & std::numeric_limits<std::int32_t>::max());
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/** @param pairs Gradients and Hessians, alternating. [n_rows, 2 * n_targets] */
XDCC_TARGET_CLONES static HessianFacts FactsOf(float const* pairs, std::size_t n_rows,
                                               std::size_t n_targets) {
  HessianFacts all;
  for (std::size_t i = 0; i < n_rows; ++i) {
    float const* row = pairs + 2 * i * n_targets;
    std::int32_t lowest = OrderedBits(row[1]), highest = lowest, bare{0};
#pragma omp simd reduction(min : lowest) reduction(max : highest) reduction(| : bare)
    for (std::size_t j = 0; j < n_targets; ++j) {
      float const grad = row[2 * j], hess = row[2 * j + 1];
      std::int32_t const bits = OrderedBits(hess);
      lowest = bits < lowest ? bits : lowest;
      highest = bits > highest ? bits : highest;
      bare |= (hess == 0.0f) & (grad != 0.0f);
    }
    float const least = FromOrderedBits(lowest), most = FromOrderedBits(highest);
    if (most != 0.0f || least != 0.0f || bare != 0) {
      all.least = least < all.least ? least : all.least;
      all.has_bare_gradients |= bare;
    }
  }
  return all;
}

/**
 * @brief The rules of a round.
 *
 * Without a floor if every row reaches it by itself, as with squared error: the trees are the same.
 *
 * @param gpair Of all rows, before any are drawn. [n_rows, n_targets]
 */
inline Regularisation StockRules(Context const* ctx, tree::TrainParam const& param,
                                 MultiLabelTrainParam const& ml_param,
                                 linalg::MatrixView<GradientPair const> gpair) {
  constexpr std::size_t kRun = 256;  // rows that a thread takes at a time
  CHECK(gpair.CContiguous());
  std::size_t const n_rows = gpair.Shape(0), n_targets = gpair.Shape(1);
  auto const* pairs = reinterpret_cast<float const*>(gpair.Values().data());
  std::vector<HessianFacts> facts(NumRuns(n_rows, kRun));
  ForEachRun(n_rows, kRun, ctx->Threads(), [&](auto r, auto begin, auto end) {
    facts[r] = XDCC_BEST_CLONE(FactsOf)(pairs + 2 * begin * n_targets, end - begin, n_targets);
  });
  HessianFacts all;
  for (auto const& part : facts) {
    all.least = std::min(all.least, part.least);
    all.has_bare_gradients |= part.has_bare_gradients;
  }
  std::array<float, 2> most{-all.least, static_cast<float>(all.has_bare_gradients)};
  MaxOverWorkers(ctx, &most);
  Regularisation reg{param, ml_param, false};
  reg.has_bare_gradients = most[1] != 0.0f;
  if (-most[0] >= reg.min_child_weight) {
    reg.min_child_weight = 0.0;
  }
  return reg;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_STOCK_RULES_H_
