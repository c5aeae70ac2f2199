/**
 * @brief Sums of arrays, over runs of rows and over workers.
 */
#ifndef XDCC_MULTILABEL_REDUCTIONS_H_
#define XDCC_MULTILABEL_REDUCTIONS_H_

#include <algorithm>   // for min, transform
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t
#include <functional>  // for minus, plus
#include <iterator>    // for begin

#include "../../src/collective/aggregator.h"   // for GlobalSum, SafeColl
#include "../../src/collective/allreduce.h"    // for Allreduce, Op
#include "../../src/common/threading_utils.h"  // for ParallelFor
#include "vectorised.h"                        // for XDCC_TARGET_CLONES
#include "xgboost/context.h"                   // for Context
#include "xgboost/linalg.h"                    // for MakeVec

namespace xgboost::multilabel {
/** @brief Number of runs of `size` items, the last of which may be shorter. */
inline std::size_t NumRuns(std::size_t n, std::size_t size) { return (n + size - 1) / size; }

/** @brief Call `fn(run, begin, end)` for runs of `size` items, in parallel. */
template <typename Fn>
void ForEachRun(std::size_t n, std::size_t size, std::int32_t n_threads, Fn&& fn) {
  common::ParallelFor(NumRuns(n, size), n_threads,
                      [&](auto run) { fn(run, run * size, std::min(n, (run + 1) * size)); });
}

/** @brief Add numbers to others, at each position. */
template <typename From, typename To>
void Add(From const& from, To* to) {
  std::transform(to->cbegin(), to->cend(), std::begin(from), to->begin(), std::plus<>{});
}
/** @brief Set `out` to what is left of a whole when a part is taken away, at each position. */
template <typename Sums>
void Subtract(Sums const& whole, Sums const& part, Sums* out) {
  std::transform(whole.cbegin(), whole.cend(), part.cbegin(), out->begin(), std::minus<>{});
}

template <typename T>
XDCC_TARGET_CLONES static void AddArray(T const* values, std::size_t n, T* __restrict to) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += values[i];
  }
}
template <typename T>
XDCC_TARGET_CLONES static void SubtractArray(T const* values, std::size_t n, T* from) {
  for (std::size_t i = 0; i < n; ++i) {
    from[i] -= values[i];
  }
}

/** @brief Replace numbers by their sums over all workers. */
template <typename Values>
void SumOverWorkers(Context const* ctx, Values* values) {
  collective::SafeColl(collective::GlobalSum(ctx, linalg::MakeVec(values->data(), values->size())));
}
/** @brief Replace numbers by the largest ones of all workers. */
template <typename Values>
void MaxOverWorkers(Context const* ctx, Values* values) {
  collective::SafeColl(collective::Allreduce(ctx, linalg::MakeVec(values->data(), values->size()),
                                             collective::Op::kMax));
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_REDUCTIONS_H_
