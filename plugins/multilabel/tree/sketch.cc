/**
 * @brief Draws sketches and projects gradients; see `sketch.h`.
 *
 * Products are added in single precision over runs of 64 labels, and these sums in double
 * precision, in an order that no instruction set changes (CMakeLists.txt compiles this file without
 * fused multiply-add): the same model on any machine.
 */
#include "sketch.h"

#include <algorithm>  // for all_of, clamp, copy, copy_n, max, min, sort, stable_sort, upper_bound
#include <array>      // for array
#include <cmath>      // for abs, isfinite, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint64_t, uint8_t
#include <cstring>    // for memcpy
#include <numeric>    // for iota, partial_sum
#include <optional>   // for optional
#include <utility>    // for as_const, move
#include <vector>     // for vector

#include "../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../reductions.h"                        // for Add, ForEachRun, NumRuns, SumOverWorkers
#include "../vectorised.h"                        // for XDCC_TARGET_CLONES, Double4, Float4, ...
#include "data/aligned_array.h"                   // for AlignedArray
#include "data/gradient_matrix.h"                 // for BoundsOverWorkers, HasNegativeHessian, ...
#include "sketch_random.h"                        // for SketchRandom
#include "xgboost/logging.h"                      // for CHECK

namespace xgboost::multilabel {
namespace {
/** @brief The purposes of a tree's random numbers. */
enum Purpose : std::uint64_t { kGroups = 0, kCoefficients = 1 };

constexpr std::size_t kRun = 1024;      // rows that a thread takes at a time
constexpr std::size_t kInCache = 4096;  // probabilities that stay in cache until they are read
constexpr std::size_t kLabels = 8;  // two vectors hold their gradients and Hessians, alternating

/** @brief Sums of squared gradients by label, in an order that threads do not change. */
std::vector<double> SquaredNorms(Context const* ctx, linalg::MatrixView<GradientPair const> gpair) {
  std::size_t const n_rows = gpair.Shape(0), n_labels = gpair.Shape(1);
  auto const* pairs = gpair.Values().data();
  std::vector<std::vector<double>> parts(NumRuns(n_rows, kRun), std::vector<double>(n_labels));
  ForEachRun(n_rows, kRun, ctx->Threads(), [&](auto r, auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < n_labels; ++j) {
        double const g = pairs[i * n_labels + j].GetGrad();
        parts[r][j] += g * g;
      }
    }
  });
  std::vector<double> norms(n_labels);
  for (auto const& part : parts) {
    Add(part, &norms);
  }
  SumOverWorkers(ctx, &norms);
  return norms;
}

/** @brief The matrix that projects rows. */
struct SketchMatrix {
  float const* coefficients;  // [n_dims, 2 * n_padded]
  std::size_t n_dims;
  std::size_t n_padded;
};

/**
 * @brief By lane: the bits of the largest absolute value, and those of negative ones together.
 *
 * Non-negative floats have the order of their bits; infinity and NaN are above all others.
 */
struct alignas(64) RowBounds {
  Int8 largest{}, negative{};
};

/**
 * @brief Project rows.
 *
 * @param rows Gradients and Hessians, alternating. A row is read up to `n_padded` labels, past its
 *             end, where coefficients are 0. [n_rows, 2 * n_labels]
 * @param out  [n_rows, n_dims]
 */
XDCC_TARGET_CLONES void ProjectRows(float const* rows, std::size_t n_rows, std::size_t n_labels,
                                    SketchMatrix by, GradientPair* out, RowBounds* bounds) {
  constexpr std::size_t kLanes = 8, kInSingle = 8 * 2 * kLabels;
  auto const width = 2 * by.n_padded;
  Int8 largest = bounds->largest, negative = bounds->negative;
  for (std::size_t i = 0; i < n_rows; ++i) {
    float const* row = rows + i * 2 * n_labels;
    for (std::size_t j = 0; j < width; j += kLanes) {
      Int8 bits;
      std::memcpy(&bits, row + j, sizeof(bits));
      Int8 const size = bits & 0x7fffffff;
      negative |= bits & (0 - size);  // its sign bit is set by numbers below 0
      largest = size > largest ? size : largest;
    }
    for (std::size_t d = 0; d < by.n_dims; ++d) {
      float const* coefficients = by.coefficients + d * width;
      Double4 sum{};
      for (std::size_t begin = 0; begin < width; begin += kInSingle) {
        Float8 parts[2]{};
        for (std::size_t j = begin, end = std::min(width, begin + kInSingle); j < end;
             j += 2 * kLanes) {
          Float8 x, c;
          std::memcpy(&x, row + j, sizeof(x));
          std::memcpy(&c, coefficients + j, sizeof(c));
          parts[0] += x * c;
          std::memcpy(&x, row + j + kLanes, sizeof(x));
          std::memcpy(&c, coefficients + j + kLanes, sizeof(c));
          parts[1] += x * c;
        }
        Float8 const part = parts[0] + parts[1];
        Float4 halves[2];
        std::memcpy(halves, &part, sizeof(part));
        sum += __builtin_convertvector(halves[0], Double4) +
               __builtin_convertvector(halves[1], Double4);
      }
      out[i * by.n_dims + d] =
          GradientPair{static_cast<float>(sum[0] + sum[2]), static_cast<float>(sum[1] + sum[3])};
    }
  }
  bounds->largest = largest;
  bounds->negative = negative;
}

/** @brief Rows of signed probabilities, and their weights. */
struct ProbabilityRows {
  /** @brief A row is read up to `n_padded` labels, past its end. [n_rows, n_labels] */
  float const* values;
  std::size_t n_rows, n_labels;
  float const* weights;  // null if all are 1
  float positive_weight;
};

/**
 * @brief Project gradients that are derived from signed probabilities, in the order of
 * `ProjectRows`.
 *
 * @param by Coefficients [n_dims, 2, n_padded]: C and its squares.
 */
XDCC_TARGET_CLONES void ProjectProbabilities(ProbabilityRows rows, SketchMatrix by,
                                             GradientPair* out) {
  constexpr std::size_t kInSingle = 8 * kLabels;
  bool const has_weight = rows.weights || rows.positive_weight != 1.0f;
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    auto const weight = rows.weights ? rows.weights[i] : 1.0f;
    auto const* row = rows.values + i * rows.n_labels;
    for (std::size_t d = 0; d < by.n_dims; ++d) {
      auto const* columns = by.coefficients + 2 * d * by.n_padded;
      Double4 sum{};
      for (std::size_t begin = 0; begin < by.n_padded; begin += kInSingle) {
        Float8 grads{}, hessians{};
        for (std::size_t j = begin, end = std::min(by.n_padded, begin + kInSingle); j < end;
             j += kLabels) {
          Float8 p, c, squares;
          std::memcpy(&p, row + j, sizeof(p));
          std::memcpy(&c, columns + j, sizeof(c));
          std::memcpy(&squares, columns + by.n_padded + j, sizeof(squares));
          XDCC_GRADIENTS(p, is_positive, grad, hess)
          if (has_weight) {
            Float8 const w =
                is_positive ? Float8{} + weight * rows.positive_weight : Float8{} + weight;
            grad *= w;
            hess *= w;
          }
          grads += grad * c;
          hessians += hess * squares;
        }
        Float4 halves[2];
        std::memcpy(halves, &grads, sizeof(grads));
        Float4 const g = halves[0] + halves[1];
        std::memcpy(halves, &hessians, sizeof(hessians));
        Float4 const h = halves[0] + halves[1];
        sum += Double4{g[0], h[0], g[1], h[1]} + Double4{g[2], h[2], g[3], h[3]};
      }
      out[i * by.n_dims + d] =
          GradientPair{static_cast<float>(sum[0] + sum[2]), static_cast<float>(sum[1] + sum[3])};
    }
  }
}

}  // namespace

std::vector<Sketch::Labels> Sketch::DrawGroups(TreeKey const& key, std::size_t n_labels,
                                               std::size_t n_groups) {
  Labels labels(n_labels);
  std::iota(labels.begin(), labels.end(), 0);
  if (n_groups == 1) {
    return {labels};
  }
  SketchRandom const random{key.seed, key.round, key.tree, kGroups};
  std::stable_sort(labels.begin(), labels.end(),
                   [&](auto l, auto r) { return random.Bits(l) < random.Bits(r); });
  std::vector<Labels> groups;
  for (std::size_t g = 0; g < n_groups; ++g) {
    auto& group = groups.emplace_back(labels.cbegin() + n_labels * g / n_groups,
                                      labels.cbegin() + n_labels * (g + 1) / n_groups);
    std::sort(group.begin(), group.end());
  }
  return groups;
}

void Sketch::GatherGroups(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                          std::vector<Labels> const& groups,
                          std::vector<linalg::Matrix<GradientPair>>* out) {
  std::size_t const n_rows = gpair.Shape(0), width = gpair.Shape(1);
  out->resize(groups.size());
  std::vector<GradientPair*> gathered;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    (*out)[g].Reshape(n_rows, groups[g].size());
    gathered.push_back((*out)[g].Data()->HostPointer());
  }
  auto const* pairs = gpair.Values().data();
  constexpr std::size_t kTogether = 64;  // rows
  ForEachRun(n_rows, kTogether, ctx->Threads(), [&](auto, auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      for (std::size_t g = 0; g < groups.size(); ++g) {
        auto* to = gathered[g] + i * groups[g].size();
        for (auto label : groups[g]) {
          *to++ = pairs[i * width + label];
        }
      }
    }
  });
}

Sketch::Sketch(Context const* ctx, MultiLabelTrainParam const& param, TreeKey const& key,
               std::vector<std::uint32_t> labels,
               std::optional<linalg::MatrixView<GradientPair const>> gpair)
    : labels_{std::move(labels)}, n_padded_{(labels_.size() + kLabels - 1) / kLabels * kLabels} {
  std::size_t const n = labels_.size();
  std::size_t const k = param.sketch_size;
  n_dims_ = k == 0 ? n : std::min(k, n);
  std::vector<double> coefficients(n_dims_ * n, 0.0);  // column by column
  auto at = [&](std::size_t j, std::size_t d) -> double& { return coefficients[d * n + j]; };
  if (n_dims_ == n) {  // the labels themselves
    for (std::size_t j = 0; j < n; ++j) {
      at(j, j) = 1.0;
    }
  } else if (param.sketch_method == kProjection) {
    SketchRandom const random{key.seed, key.round, key.tree, kCoefficients};
    for (std::size_t d = 0; d < k; ++d) {
      for (std::size_t j = 0; j < n; ++j) {
        at(j, d) = random.Normal(labels_[j] * k + d) / std::sqrt(static_cast<double>(k));
      }
    }
  } else if (param.sketch_method == kSampling) {
    SketchRandom const random{key.seed, key.round, key.tree, kCoefficients, key.group};
    auto cumulated = SquaredNorms(ctx, *gpair);
    auto const norms = cumulated;
    std::partial_sum(norms.cbegin(), norms.cend(), cumulated.begin());
    auto const total = cumulated.back();
    for (std::size_t d = 0; d < k; ++d) {
      std::size_t const j = std::min<std::size_t>(
          n - 1, std::upper_bound(cumulated.cbegin(), cumulated.cend(), random.Uniform(d) * total) -
                     cumulated.cbegin());
      at(j, d) = total > 0.0 ? std::sqrt(total / (static_cast<double>(k) * norms[j])) : 1.0;
    }
  } else {
    auto const norms = SquaredNorms(ctx, *gpair);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto l, auto r) { return norms[l] > norms[r]; });
    for (std::size_t d = 0; d < k; ++d) {
      at(order[d], d) = 1.0;
    }
  }
  this->SetCoefficients(coefficients);
}

void Sketch::SetCoefficients(std::vector<double> const& coefficients) {
  std::size_t const n = labels_.size();
  coefficients_.assign(n_dims_ * 2 * n_padded_, 0.0f);
  for (std::size_t d = 0; d < n_dims_; ++d) {
    for (std::size_t j = 0; j < n; ++j) {
      auto const c = coefficients[d * n + j];
      auto* out = coefficients_.data() + 2 * (d * n_padded_ + j);
      out[0] = static_cast<float>(c);
      out[1] = static_cast<float>(c * c);
    }
  }
}

template <typename Derive>
GradientBounds Sketch::ProjectPairs(Context const* ctx,
                                    linalg::MatrixView<GradientPair const> gpair,
                                    linalg::Matrix<GradientPair>* out, Derive&& derive) const {
  CHECK(gpair.CContiguous());
  std::size_t const n_rows = gpair.Shape(0), n = labels_.size();
  CHECK_EQ(gpair.Shape(1), n);
  bool const exact = n_dims_ == n;
  out->Reshape(n_rows, n_dims_);
  auto* projected = out->Data()->HostPointer();
  auto const* pairs = gpair.Values().data();
  std::vector<RowBounds> bounds(NumRuns(n_rows, kRun));
  SketchMatrix const by{coefficients_.data(), exact ? 0 : n_dims_, n_padded_};
  auto const n_together = std::max<std::size_t>(1, kInCache / n);
  ForEachRun(n_rows, kRun, ctx->Threads(), [&](auto r, auto begin, auto end) {
    // Rows at the end are read from a copy with padding: what follows them may not exist yet.
    auto const n_last = (n_padded_ - 1) / n;
    std::vector<GradientPair> last(n_last * n + n_padded_, GradientPair{});
    auto project = [&](GradientPair const* rows, std::size_t from, std::size_t n_here) {
      XDCC_BEST_CLONE(ProjectRows)(reinterpret_cast<float const*>(rows), n_here, n, by,
                                   projected + from * n_dims_, &bounds[r]);
    };
    for (auto i = begin; i < end; i += n_together) {
      auto const n_here = std::min(n_together, end - i);
      auto const* rows = pairs + i * n;
      auto const n_first = n_here - std::min(n_here, n_last);
      derive(i, i + n_here);
      project(rows, i, n_first);
      std::copy_n(rows + n_first * n, (n_here - n_first) * n, last.begin());
      project(last.data(), i + n_first, n_here - n_first);
    }
    if (exact) {
      std::copy(pairs + begin * n, pairs + end * n, projected + begin * n);
    }
  });
  std::array<std::int32_t, 2> bits{};  // gradient, Hessian
  Int8 negative{};
  for (auto const& part : bounds) {
    negative |= part.negative;
    for (std::size_t l = 0; l < kLabels; ++l) {
      bits[l % 2] = std::max(bits[l % 2], part.largest[l]);
    }
  }
  GradientBounds largest;
  std::memcpy(&largest.grad, &bits[0], sizeof(float));
  std::memcpy(&largest.hess, &bits[1], sizeof(float));
  return BoundsOverWorkers(ctx, largest, std::isfinite(largest.grad) && std::isfinite(largest.hess),
                           HasNegativeHessian(negative) ? NameNegativeHessian(gpair, labels_) : "");
}

GradientBounds Sketch::Project(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                               linalg::Matrix<GradientPair>* out) const {
  return this->ProjectPairs(ctx, gpair, out, [](auto, auto) {});
}

GradientBounds Sketch::DeriveAndProject(Context const* ctx, LogisticLoss const& loss,
                                        linalg::MatrixView<float const> margins,
                                        linalg::Matrix<GradientPair>* gpair,
                                        linalg::Matrix<GradientPair>* out) const {
  CHECK(margins.CContiguous());
  loss.CheckSize(margins.Size());
  gpair->Reshape(loss.n_rows, loss.n_labels);
  auto* pairs = gpair->Data()->HostPointer();
  return this->ProjectPairs(ctx, std::as_const(*gpair).HostView(), out, [&](auto begin, auto end) {
    loss.Gradients(margins.Values().data(), begin, end, pairs + begin * loss.n_labels);
  });
}

template <typename Derive>
GradientBounds Sketch::ProjectDerived(Context const* ctx, LogisticLoss const& loss,
                                      AlignedArray<float>* probabilities,
                                      linalg::Matrix<GradientPair>* out, Derive&& derive) const {
  // Gradients are projected while they are in the cache; a thread takes several runs at a time.
  constexpr std::size_t kMostRuns = 16, kTasksPerThread = 4;
  std::size_t const n_rows = loss.n_rows, n = labels_.size(), k = n_dims_;
  CHECK_LT(k, n);
  out->Reshape(n_rows, k);
  auto* projected = out->Data()->HostPointer();
  std::vector<float> columns(2 * k * n_padded_);  // C and its squares, apart
  for (std::size_t c = 0; c < coefficients_.size(); ++c) {
    auto const d = c / (2 * n_padded_), j = c % (2 * n_padded_);
    columns[(2 * d + j % 2) * n_padded_ + j / 2] = coefficients_[c];
  }
  SketchMatrix const by{columns.data(), k, n_padded_};
  auto const* row_weights = loss.weights.Empty() ? nullptr : loss.weights.Data();
  auto const n_together = std::max<std::size_t>(1, kInCache / n);
  auto const n_runs = std::clamp<std::size_t>(
      NumRuns(n_rows, n_together) / (kTasksPerThread * ctx->Threads()), 1, kMostRuns);
  auto const n_task_rows = n_runs * n_together, n_tasks = NumRuns(n_rows, n_task_rows);
  std::vector<std::uint8_t> is_finite(n_tasks);
  common::ParallelFor(n_tasks, ctx->Threads(), common::Sched::Dyn(1), [&](auto t) {
    // Rows at the end are read from a copy with padding: what follows them may not exist yet.
    auto const n_last = (n_padded_ - 1) / n;
    std::vector<float> last(n_last * n + n_padded_);
    auto const begin = t * n_task_rows, end = std::min(n_rows, begin + n_task_rows);
    auto project = [&](float const* rows, std::size_t from, std::size_t n_here) {
      XDCC_BEST_CLONE(ProjectProbabilities)(
          {rows, n_here, n, row_weights ? row_weights + from : nullptr, loss.positive_weight}, by,
          projected + from * k);
    };
    for (auto i = begin; i < end; i += n_together) {
      auto const n_here = std::min(n_together, end - i);
      auto* rows = probabilities->Data() + i * n;
      auto const n_first = n_here - std::min(n_here, n_last);
      derive(i, i + n_here);
      project(rows, i, n_first);
      std::copy_n(rows + n_first * n, (n_here - n_first) * n, last.begin());
      project(last.data(), i + n_first, n_here - n_first);
    }
    is_finite[t] = std::all_of(projected + begin * k, projected + end * k, [](GradientPair pair) {
      return std::isfinite(pair.GetGrad()) && std::isfinite(pair.GetHess());
    });
  });
  float weight{row_weights ? 0.0f : 1.0f};
  for (std::size_t i = 0; i < loss.weights.Size(); ++i) {
    weight = std::max(weight, std::abs(row_weights[i]));
  }
  weight *= std::max(1.0f, loss.positive_weight);
  bool const all_finite =
      std::all_of(is_finite.cbegin(), is_finite.cend(), [](auto here) { return here != 0; });
  return BoundsOverWorkers(ctx, {weight, 0.25f * weight}, all_finite);
}

GradientBounds Sketch::Project(Context const* ctx, LogisticLoss const& loss,
                               AlignedArray<float>* probabilities,
                               linalg::Matrix<GradientPair>* out) const {
  CHECK_GE(probabilities->Size(), loss.n_rows * labels_.size() + kLabels);
  return this->ProjectDerived(ctx, loss, probabilities, out, [](auto, auto) {});
}

GradientBounds Sketch::DeriveAndProject(Context const* ctx, LogisticLoss const& loss,
                                        linalg::MatrixView<float const> margins,
                                        AlignedArray<float>* probabilities,
                                        linalg::Matrix<GradientPair>* out) const {
  CHECK(margins.CContiguous());
  loss.CheckSize(margins.Size());
  CHECK_EQ(labels_.size(), loss.n_labels);
  probabilities->Resize(loss.n_rows * loss.n_labels + kLabels);
  return this->ProjectDerived(ctx, loss, probabilities, out, [&](auto begin, auto end) {
    loss.Probabilities(margins.Values().data(), begin, end,
                       probabilities->Data() + begin * loss.n_labels);
  });
}

void Sketch::DeriveGroups(Context const* ctx, LogisticLoss const& loss,
                          linalg::MatrixView<float const> margins,
                          std::vector<Labels> const& groups,
                          std::vector<AlignedArray<float>>* probabilities) {
  CHECK(margins.CContiguous());
  loss.CheckSize(margins.Size());
  std::size_t const n_rows = loss.n_rows, width = loss.n_labels;
  probabilities->resize(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    (*probabilities)[g].Resize(n_rows * groups[g].size() + kLabels);
  }
  auto const n_together = std::max<std::size_t>(1, kInCache / width);
  ForEachRun(n_rows, n_together, ctx->Threads(), [&](auto, auto begin, auto end) {
    std::vector<float> of_all((end - begin) * width);
    loss.Probabilities(margins.Values().data(), begin, end, of_all.data());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      auto* to = (*probabilities)[g].Data() + begin * groups[g].size();
      for (std::size_t i = 0; i < end - begin; ++i) {
        for (auto label : groups[g]) {
          *to++ = of_all[i * width + label];
        }
      }
    }
  });
}
}  // namespace xgboost::multilabel
