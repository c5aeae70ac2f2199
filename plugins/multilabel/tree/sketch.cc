/**
 * @brief Draws sketches and combines gradients; see `sketch.h`.
 *
 * Products are added in single precision over runs of 64 labels, and these sums in double
 * precision, in an order that no instruction set changes (CMakeLists.txt compiles this file without
 * fused multiply-add): the same model on any machine.
 */
#include "sketch.h"

#include <algorithm>  // for copy, copy_n, max, min, sort, stable_sort, upper_bound
#include <array>      // for array
#include <cmath>      // for isfinite, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint64_t
#include <cstring>    // for memcpy
#include <numeric>    // for iota, partial_sum
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../src/collective/aggregator.h"   // for GlobalSum, SafeColl
#include "../../../src/collective/allreduce.h"    // for Allreduce, Op
#include "../../../src/common/threading_utils.h"  // for ParallelFor
#include "../vectorised.h"                        // for XDCC_TARGET_CLONES, Double4, Float4, ...
#include "data/gradient_matrix.h"                 // for kNotFinite
#include "sketch_random.h"                        // for SketchRandom
#include "xgboost/logging.h"                      // for CHECK

namespace xgboost::multilabel {
namespace {
/** @brief What the numbers of a tree are drawn for. */
enum Purpose : std::uint64_t { kGroups = 0, kDirections = 1 };

constexpr std::size_t kRun = 1024;  // rows that a thread takes at a time
constexpr std::size_t kLabels = 8;  // whose gradients and Hessians two vectors hold, alternating

/** @brief Sums of squared gradients by label, in an order that threads do not change. */
std::vector<double> SquaredNorms(Context const* ctx, linalg::MatrixView<GradientPair const> gpair) {
  std::size_t const n_rows = gpair.Shape(0), n_labels = gpair.Shape(1);
  auto const* pairs = gpair.Values().data();
  std::size_t const n_runs = (n_rows + kRun - 1) / kRun;
  std::vector<std::vector<double>> parts(n_runs, std::vector<double>(n_labels));
  common::ParallelFor(n_runs, ctx->Threads(), [&](auto r) {
    for (std::size_t i = r * kRun; i < std::min(n_rows, (r + 1) * kRun); ++i) {
      for (std::size_t j = 0; j < n_labels; ++j) {
        double const g = pairs[i * n_labels + j].GetGrad();
        parts[r][j] += g * g;
      }
    }
  });
  std::vector<double> norms(n_labels);
  for (auto const& part : parts) {
    for (std::size_t j = 0; j < n_labels; ++j) {
      norms[j] += part[j];
    }
  }
  collective::SafeColl(collective::GlobalSum(ctx, linalg::MakeVec(norms.data(), norms.size())));
  return norms;
}

/** @brief What rows are combined with. */
struct Combination {
  float const* coefficients;  // [n_directions, 2 * n_padded]
  std::size_t n_directions;
  std::size_t n_padded;
};

/**
 * @brief By lane: the bits of the largest absolute value.
 *
 * Numbers without a sign are ordered as their bits are, and infinity and NaN stand above all.
 */
struct alignas(64) RowBounds {
  Int8 largest{};
};

/**
 * @brief Combine rows.
 *
 * @param rows Gradients and Hessians, alternating. A row is read up to `n_padded` labels, past its
 *             end: what stands there has coefficients of 0. [n_rows, 2 * n_labels]
 * @param out  The combinations. [n_rows, n_directions]
 */
XDCC_TARGET_CLONES void CombineRows(float const* rows, std::size_t n_rows, std::size_t n_labels,
                                    Combination by, GradientPair* out, RowBounds* bounds) {
  constexpr std::size_t kLanes = 8, kInSingle = 8 * 2 * kLabels;
  auto const width = 2 * by.n_padded;
  Int8 largest = bounds->largest;
  for (std::size_t i = 0; i < n_rows; ++i) {
    float const* row = rows + i * 2 * n_labels;
    for (std::size_t j = 0; j < width; j += kLanes) {
      Int8 bits;
      std::memcpy(&bits, row + j, sizeof(bits));
      bits &= 0x7fffffff;
      largest = bits > largest ? bits : largest;
    }
    for (std::size_t d = 0; d < by.n_directions; ++d) {
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
      out[i * by.n_directions + d] =
          GradientPair{static_cast<float>(sum[0] + sum[2]), static_cast<float>(sum[1] + sum[3])};
    }
  }
  bounds->largest = largest;
}
}  // namespace

std::vector<std::uint32_t> Sketch::DrawGroup(TreeKey const& key, std::size_t n_labels,
                                             std::size_t n_groups) {
  std::vector<std::uint32_t> labels(n_labels);
  std::iota(labels.begin(), labels.end(), 0);
  if (n_groups == 1) {
    return labels;
  }
  SketchRandom const random{key.seed, key.round, key.tree, kGroups};
  std::stable_sort(labels.begin(), labels.end(),
                   [&](auto l, auto r) { return random.Bits(l) < random.Bits(r); });
  std::vector<std::uint32_t> group(labels.cbegin() + n_labels * key.group / n_groups,
                                   labels.cbegin() + n_labels * (key.group + 1) / n_groups);
  std::sort(group.begin(), group.end());
  return group;
}

void Sketch::GatherGroup(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                         std::vector<std::uint32_t> const& labels,
                         linalg::Matrix<GradientPair>* out) {
  std::size_t const n_rows = gpair.Shape(0), width = gpair.Shape(1), n = labels.size();
  out->Reshape(n_rows, n);
  auto* gathered = out->Data()->HostPointer();
  auto const* pairs = gpair.Values().data();
  common::ParallelFor((n_rows + kRun - 1) / kRun, ctx->Threads(), [&](auto r) {
    for (std::size_t i = r * kRun; i < std::min(n_rows, (r + 1) * kRun); ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        gathered[i * n + j] = pairs[i * width + labels[j]];
      }
    }
  });
}

Sketch::Sketch(Context const* ctx, MultiLabelTrainParam const& param, TreeKey const& key,
               std::vector<std::uint32_t> labels, linalg::MatrixView<GradientPair const> gpair)
    : labels_{std::move(labels)}, n_padded_{(labels_.size() + kLabels - 1) / kLabels * kLabels} {
  std::size_t const n = labels_.size();
  std::size_t const k = param.sketch_size;
  n_directions_ = k == 0 ? n : std::min(k, n);
  std::vector<double> coefficients(n_directions_ * n, 0.0);  // column by column
  auto at = [&](std::size_t j, std::size_t d) -> double& { return coefficients[d * n + j]; };
  if (n_directions_ == n) {  // the labels themselves
    for (std::size_t j = 0; j < n; ++j) {
      at(j, j) = 1.0;
    }
  } else if (param.sketch_method == kProjection) {
    SketchRandom const random{key.seed, key.round, key.tree, kDirections};
    for (std::size_t d = 0; d < k; ++d) {
      for (std::size_t j = 0; j < n; ++j) {
        at(j, d) = random.Normal(labels_[j] * k + d) / std::sqrt(static_cast<double>(k));
      }
    }
  } else if (param.sketch_method == kSampling) {
    SketchRandom const random{key.seed, key.round, key.tree, kDirections, key.group};
    auto cumulated = SquaredNorms(ctx, gpair);
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
    auto const norms = SquaredNorms(ctx, gpair);
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
  coefficients_.assign(n_directions_ * 2 * n_padded_, 0.0f);
  for (std::size_t d = 0; d < n_directions_; ++d) {
    for (std::size_t j = 0; j < n; ++j) {
      auto const c = coefficients[d * n + j];
      auto* out = coefficients_.data() + 2 * (d * n_padded_ + j);
      out[0] = static_cast<float>(c);
      out[1] = static_cast<float>(c * c);
    }
  }
}

GradientBounds Sketch::Project(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                               linalg::Matrix<GradientPair>* out) const {
  CHECK(gpair.CContiguous());
  std::size_t const n_rows = gpair.Shape(0), n = labels_.size();
  CHECK_EQ(gpair.Shape(1), n);
  bool const exact = n_directions_ == n;
  out->Reshape(n_rows, n_directions_);
  auto* combined = out->Data()->HostPointer();
  auto const* pairs = gpair.Values().data();
  std::size_t const n_runs = (n_rows + kRun - 1) / kRun;
  std::vector<RowBounds> bounds(n_runs);
  Combination const by{coefficients_.data(), exact ? 0 : n_directions_, n_padded_};
  // The last rows are read where they have paddings.
  std::size_t const n_last = std::min(n_rows, (n_padded_ - 1) / n + 1);
  std::vector<GradientPair> last(n_last * n + n_padded_, GradientPair{});
  std::copy_n(pairs + (n_rows - n_last) * n, n_last * n, last.begin());
  common::ParallelFor(n_runs, ctx->Threads(), [&](auto r) {
    auto const begin = r * kRun, end = std::min(n_rows, begin + kRun);
    auto combine = [&](GradientPair const* rows, std::size_t from, std::size_t n_here) {
      CombineRows(reinterpret_cast<float const*>(rows), n_here, n, by,
                  combined + from * n_directions_, &bounds[r]);
    };
    auto const middle = std::min(end, std::max(begin, n_rows - n_last));
    combine(pairs + begin * n, begin, middle - begin);
    if (middle < end) {
      combine(last.data() + (middle - (n_rows - n_last)) * n, middle, end - middle);
    }
    if (exact) {
      std::copy(pairs + begin * n, pairs + end * n, combined + begin * n);
    }
  });
  std::array<std::int32_t, 2> bits{};  // gradient, Hessian
  for (auto const& part : bounds) {
    for (std::size_t l = 0; l < kLabels; ++l) {
      bits[l % 2] = std::max(bits[l % 2], part.largest[l]);
    }
  }
  std::array<float, 3> largest{};  // the last: whether any value is not finite
  std::memcpy(largest.data(), bits.data(), sizeof(bits));
  if (!std::isfinite(largest[0]) || !std::isfinite(largest[1])) {
    largest = {0.0f, 0.0f, 1.0f};
  }
  collective::SafeColl(collective::Allreduce(ctx, linalg::MakeVec(largest.data(), largest.size()),
                                             collective::Op::kMax));
  CHECK_EQ(largest[2], 0.0f) << kNotFinite;
  return {largest[0], largest[1]};
}
}  // namespace xgboost::multilabel
