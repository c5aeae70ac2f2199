/**
 * @brief Sums of all labels' gradients over the leaves of a tree that was searched on a sketch.
 *
 * Values are rounded to the grid of `gradient_matrix.h`, so that sums are exact: threads may share
 * out a leaf's rows, and workers add up theirs, in any order.
 */
#ifndef XDCC_MULTILABEL_LEAF_VALUES_H_
#define XDCC_MULTILABEL_LEAF_VALUES_H_

#include <algorithm>  // for clamp, min
#include <cstddef>    // for size_t
#include <cstring>    // for memcpy
#include <vector>     // for vector

#include "../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../objective/logistic_loss.h"           // for LogisticLoss
#include "../reductions.h"                        // for AddArray, SumOverWorkers
#include "../vectorised.h"                        // for XDCC_TARGET_CLONES, Double8, Float8
#include "data/gradient_matrix.h"                 // for GradientBounds, GridRounding, NumAllRows
#include "xgboost/base.h"                         // for GradientPair, bst_idx_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/linalg.h"                       // for MakeVec, MatrixView
#include "xgboost/logging.h"                      // for CHECK
#include "xgboost/span.h"                         // for Span

namespace xgboost::multilabel {
/** @brief Gradients of a tree's labels, which its leaves' values come from. */
struct LabelGradients {
  /** @brief Null if they are derived. [n_rows, n_labels] */
  GradientPair const* pairs{nullptr};
  /** @brief Signed probabilities of a loss; see `logistic_loss.h`. [n_rows, n_labels] */
  float const* probabilities{nullptr};
  LogisticLoss const* loss{nullptr};
  std::size_t n_rows{0}, n_labels{0};
  GradientBounds bounds;

  LabelGradients(linalg::MatrixView<GradientPair const> gpair, GradientBounds bounds)
      : pairs{gpair.Values().data()},
        n_rows{gpair.Shape(0)},
        n_labels{gpair.Shape(1)},
        bounds{bounds} {}
  LabelGradients(LogisticLoss const& loss, std::size_t n_labels, float const* probabilities,
                 GradientBounds bounds)
      : probabilities{probabilities},
        loss{&loss},
        n_rows{loss.n_rows},
        n_labels{n_labels},
        bounds{bounds} {}
};

/**
 * @brief Round and add neighbouring columns of some rows, four rows at a time.
 *
 * @param values Gradients and Hessians, alternating. [n_all_rows, width]
 * @param n      Number of columns, even.
 * @param out    [n]
 */
template <typename Index>
XDCC_TARGET_CLONES static void AddRounded(float const* values, std::size_t width, Index const* rows,
                                          std::size_t n_rows, std::size_t n, double grad_shift,
                                          double hess_shift, double* __restrict out) {
  constexpr std::size_t kRows = 4, kLanes = 8;
  Double8 const shift{grad_shift, hess_shift, grad_shift, hess_shift,
                      grad_shift, hess_shift, grad_shift, hess_shift};
  auto const n_vectors = n / kLanes * kLanes;
  for (std::size_t i = 0; i < n_rows;) {
    auto const n_here = n_rows - i < kRows ? 1 : kRows;
    float const *row[kRows]{}, *next[kRows]{};  // and those that are read afterwards
    for (std::size_t r = 0; r < n_here; ++r) {
      row[r] = values + rows[i + r] * width;
      next[r] = values + rows[std::min(i + kRows + r, n_rows - 1)] * width;
    }
    for (std::size_t j = 0; j < n_vectors; j += kLanes) {
      Double8 sum;
      std::memcpy(&sum, out + j, sizeof(sum));
      Float8 x;
      if (n_here == kRows) {
        XDCC_UNROLL(4)
        for (std::size_t r = 0; r < kRows; ++r) {
          std::memcpy(&x, row[r] + j, sizeof(x));
          __builtin_prefetch(next[r] + j);
          sum += (__builtin_convertvector(x, Double8) + shift) - shift;
        }
      } else {
        std::memcpy(&x, row[0] + j, sizeof(x));
        sum += (__builtin_convertvector(x, Double8) + shift) - shift;
      }
      std::memcpy(out + j, &sum, sizeof(sum));
    }
    for (std::size_t r = 0; r < n_here; ++r) {
      for (auto j = n_vectors; j < n; ++j) {
        auto const s = j % 2 == 0 ? grad_shift : hess_shift;
        out[j] += (static_cast<double>(row[r][j]) + s) - s;
      }
    }
    i += n_here;
  }
}

/** @brief Some rows of signed probabilities. */
struct DerivedRows {
  static constexpr std::size_t kRows = 4;
  /** @brief Read in whole vectors, up to seven numbers past their end. [n_labels] */
  float const* values[kRows];
  /** @brief Rows that are read next, as many. */
  float const* next[kRows];
  float weights[kRows], positive_weight;
  std::size_t n_rows, n_labels;
};
/**
 * @brief Round and add gradients that are computed from signed probabilities.
 *
 * @param grads, hessians Sums by label, for the labels that fill whole vectors.
 */
void AddDerived(DerivedRows const& rows, double grad_shift, double hess_shift, double* grads,
                double* hessians);

/**
 * @brief The same of many rows.
 *
 * @param out Gradients and Hessians, alternating. [2 * n_labels]
 */
template <typename Index>
void AddDerived(LabelGradients const& gradients, common::Span<Index const> indices,
                double grad_shift, double hess_shift, double* out) {
  constexpr auto kRows = DerivedRows::kRows;
  auto const& loss = *gradients.loss;
  std::size_t const n = gradients.n_labels, n_padded = (n + 7) / 8 * 8;
  std::vector<double> sums(2 * n_padded);
  DerivedRows rows;
  rows.positive_weight = loss.positive_weight;
  rows.n_labels = n;
  for (std::size_t i = 0; i < indices.size(); i += kRows) {
    rows.n_rows = std::min(kRows, indices.size() - i);
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
      auto const next = indices[std::min(i + kRows + r, indices.size() - 1)];
      rows.values[r] = gradients.probabilities + indices[i + r] * n;
      rows.next[r] = gradients.probabilities + next * n;
      rows.weights[r] = loss.weights[indices[i + r]];
    }
    AddDerived(rows, grad_shift, hess_shift, sums.data(), sums.data() + n_padded);
  }
  for (std::size_t j = 0; j < n; ++j) {
    out[2 * j] += sums[j];
    out[2 * j + 1] += sums[n_padded + j];
  }
}

/**
 * @brief Sum up all labels' gradients and Hessians, alternating, by leaf.
 *
 * @param leaves The rows of each leaf.
 * @return       [n_leaves, 2 * n_labels]
 */
template <typename Index>
std::vector<double> SumLeaves(Context const* ctx, LabelGradients const& gradients,
                              std::vector<std::vector<common::Span<Index const>>> const& leaves) {
  constexpr std::size_t kColumns = 2048;  // of a task: its sums stay in cache
  // Rows of a task: several tasks for each thread, but sums are not made and added for few rows.
  constexpr std::size_t kMostRows = 2048, kFewestRows = 256, kTasksPerThread = 4;
  auto const n_rows_of_task = std::clamp<std::size_t>(
      gradients.n_rows / (kTasksPerThread * ctx->Threads()), kFewestRows, kMostRows);
  std::size_t const width = 2 * gradients.n_labels;
  auto const& bounds = gradients.bounds;
  auto const n_all_rows = NumAllRows(ctx, gradients.n_rows);
  auto const grad_shift = GridRounding{bounds.grad, n_all_rows}.Shift();
  auto const hess_shift = GridRounding{bounds.hess, n_all_rows}.Shift();

  struct Task {
    std::size_t leaf;
    common::Span<Index const> rows;
    bool in_place;             // the first run of a leaf
    std::vector<double> sums;  // of other runs
  };
  std::vector<double> sums(leaves.size() * width, 0.0);
  std::vector<Task> tasks;
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    bool first{true};
    for (auto rows : leaves[l]) {
      for (std::size_t begin = 0; begin < rows.size(); begin += n_rows_of_task) {
        auto const n = std::min(n_rows_of_task, rows.size() - begin);
        tasks.push_back({l, rows.subspan(begin, n), first, {}});
        first = false;
      }
    }
  }
  common::ParallelFor(tasks.size(), ctx->Threads(), common::Sched::Dyn(1), [&](auto t) {
    auto& task = tasks[t];
    task.sums.resize(task.in_place ? 0 : width);
    auto* out = task.in_place ? sums.data() + task.leaf * width : task.sums.data();
    if (!gradients.pairs) {
      AddDerived(gradients, task.rows, grad_shift, hess_shift, out);
      return;
    }
    auto const* values = reinterpret_cast<float const*>(gradients.pairs);
    for (std::size_t j = 0; j < width; j += kColumns) {
      XDCC_BEST_CLONE(AddRounded<Index>)(values + j, width, task.rows.data(), task.rows.size(),
                                         std::min(kColumns, width - j), grad_shift, hess_shift,
                                         out + j);
    }
  });
  for (auto const& task : tasks) {
    XDCC_BEST_CLONE(AddArray<double>)(task.sums.data(), task.sums.size(),
                                      sums.data() + task.leaf * width);
  }
  SumOverWorkers(ctx, &sums);
  return sums;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LEAF_VALUES_H_
