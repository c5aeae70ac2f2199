/**
 * @brief The loops of `direction_search.h`.
 *
 * Compiled without fused multiply-add, so that scores are the same on every machine.
 */
#include "direction_search.h"

#include <algorithm>    // for all_of, any_of, copy_n, fill_n, lower_bound, max, min, transform
#include <array>        // for array
#include <cmath>        // for abs, ilogb, ldexp
#include <cstddef>      // for size_t
#include <cstdint>      // for int32_t, int64_t, uint16_t, uint32_t, uint8_t
#include <cstring>      // for memcpy
#include <functional>   // for plus
#include <limits>       // for numeric_limits
#include <type_traits>  // for integral_constant
#include <utility>      // for exchange, move
#include <vector>       // for vector

#include "../../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../../src/collective/allreduce.h"         // for Allreduce, Op
#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../threads/workers.h"                        // for UsefulThreads
#include "../../vectorised.h"                             // for XDCC_TARGET_CLONES, Float8, Int8
#include "../data/direction_index.h"                      // for DirectionIndex
#include "../leaf_values.h"                               // for BoundsOf
#include "xgboost/logging.h"                              // for CHECK_LE, CHECK_LT
#include "xgboost/tree_model.h"                           // for RegTree

namespace xgboost::multilabel {
namespace {
constexpr std::size_t kRun = 4096;  // rows that a thread takes at a time
constexpr auto kLanes = DirectionIndex::kLanes;
constexpr auto kMaxDirections = DirectionSearch::kMaxDirections;

/** @brief What scores of a node are made from. */
struct ScoreParam {
  std::int64_t const* total;
  float const* lambda;
  float const* weight;
  /** @brief What a child's Hessian and lambda must reach; of a single direction. */
  float floor;
};

/** @brief By lane: the best scores, with missing values on the right and on the left. */
struct LaneBest {
  Float8 score[2]{};
  /** @brief The last slot on the left. */
  Int8 slot[2]{};
};

// Vectors of 32 bytes hold four sums, so the eight lanes are two halves. Gradients and Hessians are
// taken apart by one instruction if their lanes may stand in the order of XDCC_DIRECTION_LANES,
// which is its own inverse.
#define XDCC_DIRECTION_LANES 0, 1, 4, 5, 2, 3, 6, 7
#define XDCC_DIRECTION_GRADS(words)                                                                \
  __builtin_convertvector(XDCC_SHUFFLE(Int8(words[0]), Int8(words[1]), 1, 3, 9, 11, 5, 7, 13, 15), \
                          Float8)
#define XDCC_DIRECTION_HESSIANS(words)                                                             \
  __builtin_convertvector(XDCC_SHUFFLE(Int8(words[0]), Int8(words[1]), 0, 2, 8, 10, 4, 6, 12, 14), \
                          Float8)

// A macro, since a function would be compiled without the wide vectors. LEFT: packed sums of a
// direction's half `k`.
#define XDCC_DIRECTION_SCORES(score, LEFT)                                          \
  XDCC_UNROLL(4) for (int d = 0; d < kWidth; ++d) {                                 \
    Long4 left[2], right[2];                                                        \
    XDCC_UNROLL(2) for (int k = 0; k < 2; ++k) {                                    \
      left[k] = (LEFT);                                                             \
      right[k] = by.total[d] - left[k];                                             \
    }                                                                               \
    Float8 const gl = XDCC_DIRECTION_GRADS(left), gr = XDCC_DIRECTION_GRADS(right); \
    Float8 const a = XDCC_DIRECTION_HESSIANS(left) + by.lambda[d];                  \
    Float8 const b = XDCC_DIRECTION_HESSIANS(right) + by.lambda[d];                 \
    Float8 const part = (gl * gl * b + gr * gr * a) / (a * b);                      \
    if (kWidth == 1) {                                                              \
      score += ((a >= by.floor) & (b >= by.floor)) ? part : Float8{};               \
    } else {                                                                        \
      score += part * by.weight[d];                                                 \
    }                                                                               \
  }

/**
 * @brief Score the splits of a block.
 *
 * @param histogram [n_slots, kWidth, 8]
 * @param slots     Which slot each lane's sums are of, in the order of XDCC_DIRECTION_LANES; null:
 *                  the position, for all lanes. [n_slots]
 */
template <int kWidth, bool kMissing>
XDCC_TARGET_CLONES static void ScanBlock(std::int64_t const* histogram, std::size_t n_slots,
                                         Int8 const* slots, ScoreParam by, LaneBest* out) {
  Long4 missing[kWidth][2], passed[kWidth][2]{};
  if (kMissing) {
    std::memcpy(missing, histogram, sizeof(missing));
  }
  Float8 best{}, best_left{};
  Int8 best_slot{}, best_slot_left{};
  for (std::size_t slot = kMissing; slot < n_slots; ++slot) {
    auto const* bin = histogram + slot * kWidth * kLanes;
    std::int64_t any{0};
    for (std::size_t l = 0; l < kWidth * kLanes; ++l) {
      any |= bin[l];
    }
    if (any == 0) {
      continue;
    }
    XDCC_UNROLL(4)
    for (int d = 0; d < kWidth; ++d) {
      XDCC_UNROLL(2)
      for (int k = 0; k < 2; ++k) {
        Long4 words;
        std::memcpy(&words, bin + d * kLanes + k * kLanes / 2, sizeof(words));
        passed[d][k] += words;
      }
    }
    Int8 const here = slots ? slots[slot] : Int8{} + static_cast<std::int32_t>(slot);
    Float8 score{};
    XDCC_DIRECTION_SCORES(score, passed[d][k])
    Int8 const better = score > best;
    best = better ? score : best;
    best_slot = better ? here : best_slot;
    if (kMissing) {
      Float8 score_left{};
      XDCC_DIRECTION_SCORES(score_left, passed[d][k] + missing[d][k])
      Int8 const better_left = score_left >= best_left;
      best_left = better_left ? score_left : best_left;
      best_slot_left = better_left ? here : best_slot_left;
    }
  }
  out->score[0] = XDCC_SHUFFLE(best, best, XDCC_DIRECTION_LANES);
  out->score[1] = XDCC_SHUFFLE(best_left, best_left, XDCC_DIRECTION_LANES);
  out->slot[0] = XDCC_SHUFFLE(best_slot, best_slot, XDCC_DIRECTION_LANES);
  out->slot[1] = XDCC_SHUFFLE(best_slot_left, best_slot_left, XDCC_DIRECTION_LANES);
}

/**
 * @brief Score the splits of features with a single slot: its rows against all others.
 *
 * @param histogram [n / 8, kWidth, 8]
 * @param penalties Added to the scores, unless null. [n]
 * @param out       Eight lanes; `slot` is the position of the eight slots that a lane's is among.
 */
template <int kWidth>
XDCC_TARGET_CLONES static void ScanSingles(std::int64_t const* histogram, std::size_t n,
                                           float const* penalties, ScoreParam by, LaneBest* out) {
  Float8 best{};
  Int8 best_slot{};
  for (std::size_t at = 0; at < n; at += kLanes) {
    Long4 words[kWidth][2];
    std::memcpy(words, histogram + at * kWidth, sizeof(words));
    Float8 score{};
    XDCC_DIRECTION_SCORES(score, words[d][k])
    if (penalties) {
      Float8 penalty;
      std::memcpy(&penalty, penalties + at, sizeof(penalty));
      score += XDCC_SHUFFLE(penalty, penalty, XDCC_DIRECTION_LANES);
    }
    Int8 const better = score > best;
    best = better ? score : best;
    best_slot = better ? Int8{} + static_cast<std::int32_t>(at) : best_slot;
  }
  out->score[0] = XDCC_SHUFFLE(best, best, XDCC_DIRECTION_LANES);
  out->slot[0] = XDCC_SHUFFLE(best_slot, best_slot, XDCC_DIRECTION_LANES);
}
/** @brief Where a lane stands in scores. */
constexpr std::size_t kPlaceOfLane[kLanes]{XDCC_DIRECTION_LANES};
#undef XDCC_DIRECTION_SCORES
#undef XDCC_DIRECTION_HESSIANS
#undef XDCC_DIRECTION_GRADS
#undef XDCC_DIRECTION_LANES

/** @brief Add rows to the histogram of a block. */
template <int kWidth, typename SlotT>
void AddRows(SlotT const* slots, std::size_t stride, std::uint32_t const* rows,
             std::int64_t const* words, std::size_t n_rows, std::int64_t* __restrict out) {
  constexpr std::size_t kAhead = 16;  // rows of a small node lie apart
  for (std::size_t i = 0; i < n_rows; ++i) {
    __builtin_prefetch(slots + rows[std::min(i + kAhead, n_rows - 1)] * stride);
    SlotT const* row = slots + rows[i] * stride;
    XDCC_UNROLL(4)
    for (int d = 0; d < kWidth; ++d) {
      auto const word = words[i * kWidth + d];
      XDCC_UNROLL(8)
      for (std::size_t l = 0; l < kLanes; ++l) {
        out[(row[l] * kWidth + d) * kLanes + l] += word;
      }
    }
  }
}

/**
 * @brief A block's histogram of a small node without its empty slots.
 *
 * Of eight features' slots most hold few rows of such a node, each another feature's. Here each
 * lane has its own slots one after the other, so that there are no more entries to score than rows.
 */
struct FewRows {
  static constexpr std::size_t kMost = 64, kMostSlots = 320;
  alignas(64) std::int64_t words[(kMost + 2) * kMaxDirections * kLanes];
  /** @brief As `ScanBlock` takes them. */
  alignas(64) std::int32_t slots[kMost + 2][kLanes];
  /** @brief Number of entries. */
  std::size_t n;

  /**
   * @brief Add up rows.
   *
   * As in a histogram, where splits are tried at the slots of all lanes, a lane that begins later
   * than others has an entry without rows first.
   *
   * @param has_missing Whether slot 0, which comes first, holds the rows without a value.
   * @param histogram   Memory of the block's histogram; all zero before and afterwards.
   */
  template <int kWidth, typename SlotT>
  void Fill(SlotT const* of_rows, std::size_t stride, std::uint32_t const* rows,
            std::int64_t const* row_words, std::size_t n_rows, bool has_missing,
            std::size_t n_slots, std::int64_t* __restrict histogram) {
    constexpr std::size_t kBits = 64;
    std::uint64_t marks[kMostSlots / kBits][kLanes]{};  // slots with rows
    AddRows<kWidth>(of_rows, stride, rows, row_words, n_rows, histogram);
    for (std::size_t i = 0; i < n_rows; ++i) {
      auto const* row = of_rows + rows[i] * stride;
      auto const* of_row = row_words + i * kWidth;
      bool const is_active = std::any_of(of_row, of_row + kWidth, [](auto w) { return w != 0; });
      for (std::size_t l = 0; l < kLanes && is_active; ++l) {
        marks[row[l] / kBits][l] |= std::uint64_t{1} << row[l] % kBits;
      }
    }
    auto take = [&](std::size_t slot, std::size_t lane, std::size_t to) {
      for (int d = 0; d < kWidth; ++d) {
        words[(to * kWidth + d) * kLanes + lane] =
            std::exchange(histogram[(slot * kWidth + d) * kLanes + lane], 0);
      }
      slots[to][kPlaceOfLane[lane]] = static_cast<std::int32_t>(slot);
    };
    std::size_t const begin = has_missing;
    if (has_missing) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        take(0, l, 0);
        marks[0][l] &= ~std::uint64_t{1};
      }
    }
    auto const n_masks = (n_slots + kBits - 1) / kBits;
    std::size_t first = n_slots;
    for (std::size_t m = 0; m < n_masks && first == n_slots; ++m) {
      std::uint64_t any{0};
      for (auto mask : marks[m]) {
        any |= mask;
      }
      first = any == 0 ? first : m * kBits + __builtin_ctzll(any);
    }
    n = begin;
    if (first == n_slots) {
      return;
    }
    std::size_t ends[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      auto& end = ends[l] = begin;
      if ((marks[first / kBits][l] >> first % kBits & 1) == 0) {
        take(first, l, end++);  // holds no row of this lane
      }
      for (std::size_t m = 0; m < n_masks; ++m) {
        for (auto mask = marks[m][l]; mask != 0; mask &= mask - 1) {
          take(m * kBits + __builtin_ctzll(mask), l, end++);
        }
      }
      n = std::max(n, end);
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      for (auto i = ends[l]; i < n; ++i) {
        for (int d = 0; d < kWidth; ++d) {
          words[(i * kWidth + d) * kLanes + l] = 0;
        }
        slots[i][kPlaceOfLane[l]] = slots[i - 1][kPlaceOfLane[l]];
      }
    }
  }
};

/** @brief The same score, of one split. */
float ScoreSplit(std::int64_t const* left, std::size_t width, ScoreParam by) {
  float score{0.0f};
  for (std::size_t d = 0; d < width; ++d) {
    auto const right = by.total[d] - left[d];
    auto const gl = static_cast<float>(left[d] >> 32), gr = static_cast<float>(right >> 32);
    auto const hl = static_cast<float>(left[d] & 0xffffffff);
    auto const hr = static_cast<float>(right & 0xffffffff);
    auto const a = hl + by.lambda[d], b = hr + by.lambda[d];
    auto const part = (gl * gl * b + gr * gr * a) / (a * b);
    if (width > 1) {
      score += part * by.weight[d];
    } else if (a >= by.floor && b >= by.floor) {
      score = part;
    }
  }
  return score;
}

/** @brief Add the stored slots of rows. */
template <int kWidth>
void AddSlots(std::size_t const* row_ptr, std::uint32_t const* row_slots, std::uint32_t const* rows,
              std::int64_t const* words, std::size_t n_rows, std::int64_t* __restrict out) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::int64_t word[kWidth];
    std::copy_n(words + i * kWidth, kWidth, word);
    for (auto e = row_ptr[rows[i]], end = row_ptr[rows[i] + 1]; e < end; ++e) {
      std::size_t const slot = row_slots[e];
      XDCC_UNROLL(4)
      for (int d = 0; d < kWidth; ++d) {
        out[kWidth == 1 ? slot : slot / kLanes * kLanes * kWidth + d * kLanes + slot % kLanes] +=
            word[d];
      }
    }
  }
}

XDCC_TARGET_CLONES void AddWords(std::int64_t const* part, std::size_t n, std::int64_t* to) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += part[i];
  }
}

XDCC_TARGET_CLONES void SubtractWords(std::int64_t const* part, std::size_t n, std::int64_t* from) {
  for (std::size_t i = 0; i < n; ++i) {
    from[i] -= part[i];
  }
}

/** @brief The nearest integer of a number below 2^51, without a call. */
std::int64_t Rounded(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer
  return static_cast<std::int64_t>((x + kShift) - kShift);
}

/** @brief Call `fn` with the width, known when it is compiled. */
template <typename Fn>
void VisitWidth(std::size_t width, Fn&& fn) {
  switch (width) {
    case 1:
      return fn(std::integral_constant<int, 1>{});
    case 2:
      return fn(std::integral_constant<int, 2>{});
    default:
      return fn(std::integral_constant<int, 4>{});
  }
}
}  // namespace

void DirectionSearch::Reset(Context const* ctx, DirectionIndex const* index,
                            linalg::MatrixView<GradientPair const> gpair, Param const& param) {
  ctx_ = ctx;
  n_threads_ = xdcc::UsefulThreads(ctx->Threads());
  is_shared_ = collective::IsDistributed();
  n_directions_ = gpair.Shape(1);
  CHECK_LE(n_directions_, kMaxDirections);
  width_ = n_directions_ == 3 ? 4 : n_directions_;
  param_ = param;
  for (auto& node : nodes_) {
    if (node.histogram.Data()) {
      spare_.push_back(std::move(node.histogram));
    }
  }
  nodes_.assign(1, {});
  kept_bytes_ = 0;
  if (index != index_) {
    index_ = index;
    spare_.clear();
    buffers_.clear();
  }
  buffers_.resize(std::max<std::size_t>(buffers_.size(), n_threads_));
  this->SetUnits(gpair);
  this->SetRoot(gpair);
}

void DirectionSearch::SetUnits(linalg::MatrixView<GradientPair const> gpair) {
  // Sums of absolute values, as integers of up to 2^30: no order of rows changes them.
  auto const bounds = BoundsOf(ctx_, gpair);
  auto exponent_of = [](float largest) { return largest > 0.0f ? 29 - std::ilogb(largest) : 0; };
  std::array<int, 2> const exponents{exponent_of(bounds.grad), exponent_of(bounds.hess)};
  std::array<double, 2> const factors{std::ldexp(1.0, exponents[0]), std::ldexp(1.0, exponents[1])};
  using Sums = std::array<std::int64_t, 2 * kMaxDirections + 1>;  // the last: number of rows
  auto const* pairs = gpair.Values().data();
  std::size_t const n_rows = gpair.Shape(0), n_runs = (n_rows + kRun - 1) / kRun;
  std::vector<Sums> parts(n_runs);
  common::ParallelFor(n_runs, n_threads_, [&](auto r) {
    auto& sums = parts[r];
    sums.fill(0);
    for (std::size_t i = r * kRun; i < std::min<std::size_t>(n_rows, (r + 1) * kRun); ++i) {
      for (std::size_t d = 0; d < n_directions_; ++d) {
        auto const pair = pairs[i * n_directions_ + d];
        sums[2 * d] += Rounded(std::abs(pair.GetGrad() * factors[0]));
        sums[2 * d + 1] += Rounded(pair.GetHess() * factors[1]);
      }
    }
  });
  Sums sums{};
  for (auto const& part : parts) {
    std::transform(sums.cbegin(), sums.cend(), part.cbegin(), sums.begin(), std::plus<>{});
  }
  sums.back() = static_cast<std::int64_t>(n_rows);
  collective::SafeColl(collective::GlobalSum(ctx_, linalg::MakeVec(sums.data(), sums.size())));
  auto const n_all_rows = sums.back();
  CHECK_LT(n_all_rows, std::int64_t{1} << 29) << "There are too many rows.";
  nodes_.front().n_all_rows = n_all_rows;
  for (std::size_t d = 0; d < kMaxDirections; ++d) {
    for (std::size_t k = 0; k < 2; ++k) {
      // The sum is below 2^30, or of what is rounded to 0 below 2^29 more; of so many rows, each
      // rounded up to 1, below 2^31.
      auto const sum = static_cast<double>(std::max(sums[2 * d + k], n_all_rows));
      auto const exponent = sum > 0.0 ? 29 - std::ilogb(sum) + exponents[k] : 0;
      (k == 0 ? grad_unit_ : hess_unit_)[d] = std::ldexp(1.0, -exponent);
    }
    scaled_lambda_[d] = static_cast<float>(std::min(param_.lambda / hess_unit_[d], 0x1p60));
    weight_[d] = static_cast<float>(grad_unit_[d] * grad_unit_[d] / hess_unit_[d]);
  }
  floor_ = static_cast<float>(std::min(param_.min_child_weight / hess_unit_[0], 0x1p60)) +
           scaled_lambda_[0];
}

void DirectionSearch::SetRoot(linalg::MatrixView<GradientPair const> gpair) {
  auto const* pairs = gpair.Values().data();
  std::size_t const n_rows = gpair.Shape(0), n_runs = (n_rows + kRun - 1) / kRun;
  std::array<std::array<double, 2>, kMaxDirections> factors;  // powers of two
  for (std::size_t d = 0; d < kMaxDirections; ++d) {
    factors[d] = {1.0 / grad_unit_[d], 1.0 / hess_unit_[d]};
  }
  rows_.resize(n_rows);
  words_.resize(n_rows * width_);
  std::vector<std::array<Words, kMaxDirections>> totals(n_runs);
  common::ParallelFor(n_runs, n_threads_, [&](auto r) {
    totals[r].fill(0);
    for (std::size_t i = r * kRun; i < std::min<std::size_t>(n_rows, (r + 1) * kRun); ++i) {
      rows_[i] = static_cast<std::uint32_t>(i);
      for (std::size_t d = 0; d < width_; ++d) {
        Words word{0};
        if (auto const pair = d < n_directions_ ? pairs[i * n_directions_ + d] : GradientPair{};
            pair.GetGrad() != 0.0f || pair.GetHess() != 0.0f) {
          auto const grad = Rounded(pair.GetGrad() * factors[d][0]);
          auto const hess = Rounded(pair.GetHess() * factors[d][1]);
          word = grad * (Words{1} << 32) + std::max(hess, Words{1});
        }
        words_[i * width_ + d] = word;
        totals[r][d] += word;
      }
    }
  });
  auto& root = nodes_.front();
  root.end = n_rows;
  root.is_leaf = true;
  for (auto const& part : totals) {
    for (std::size_t d = 0; d < width_; ++d) {
      root.total[d] += part[d];
    }
  }
  collective::SafeColl(collective::GlobalSum(ctx_, linalg::MakeVec(root.total, kMaxDirections)));
}

std::vector<double> DirectionSearch::Sums(bst_node_t nid) const {
  std::vector<double> sums(2 * n_directions_);
  for (std::size_t d = 0; d < n_directions_; ++d) {
    sums[d] = this->Grad(nodes_[nid].total[d], d);
    sums[n_directions_ + d] = this->Hess(nodes_[nid].total[d], d);
  }
  return sums;
}

double DirectionSearch::Score(Words const* sums) const {
  double score{0.0};
  for (std::size_t d = 0; d < n_directions_; ++d) {
    auto const grad = this->Grad(sums[d], d);
    score += sums[d] == 0 ? 0.0 : grad * grad / (this->Hess(sums[d], d) + param_.lambda);
  }
  return score;
}

bool DirectionSearch::WorthKeeping(Node const& node) const {
  if (is_shared_) {  // half as much to send
    return true;
  }
  // Adding up a row takes about a step for each feature stored; reading a histogram half a step for
  // each of its vectors, several times.
  auto const per_row = static_cast<double>(index_->Blocks().size() * kLanes) +
                       static_cast<double>(index_->SlotPtr()[index_->NumSlots()]) /
                           static_cast<double>(std::max<std::size_t>(1, index_->NumRows()));
  auto const of_histogram = static_cast<double>(4 * index_->NumBlockSlots() + index_->NumSlots());
  return static_cast<double>(node.NumRows()) * per_row > of_histogram;
}

void DirectionSearch::MakeJobs(std::vector<Request> const& requests, std::vector<Job>* jobs) {
  auto const n_values = this->HistogramSize();
  auto keep = [&](Request const& request) {
    auto& node = nodes_[request.nid];
    auto const bytes = n_values * sizeof(Words);
    if (node.histogram.Data() || !request.goes_on || !this->WorthKeeping(node) ||
        kept_bytes_ + bytes > param_.max_bytes) {
      return;
    }
    kept_bytes_ += bytes;
    if (!spare_.empty()) {
      node.histogram = std::move(spare_.back());
      spare_.pop_back();
    }
    node.histogram.Resize(n_values);
  };
  for (std::size_t i = 0; i < requests.size();) {
    if (requests[i].parent == RegTree::kInvalidNodeId) {
      keep(requests[i]);
      jobs->push_back({i, 1, false, 0});
      ++i;
      continue;
    }
    auto& parent = nodes_[requests[i].parent];
    auto const n_left = nodes_[requests[i].nid].n_all_rows;
    Job job{i, 2, parent.histogram.Data() != nullptr,
            n_left <= nodes_[requests[i + 1].nid].n_all_rows ? std::size_t{0} : std::size_t{1}};
    if (job.from_parent) {
      nodes_[requests[i + 1 - job.small].nid].histogram = std::move(parent.histogram);
      parent.histogram = {};
    }
    keep(requests[i]);
    keep(requests[i + 1]);
    jobs->push_back(job);
    i += 2;
  }
}

bool DirectionSearch::IsFew(Node const& node) const {
  auto is_narrow = [](auto const& block) { return block.n_slots <= FewRows::kMostSlots; };
  auto const& blocks = index_->Blocks();
  return node.NumRows() <= FewRows::kMost && !node.summed && !node.histogram.Data() &&
         std::all_of(blocks.cbegin(), blocks.cend(), is_narrow);
}

std::size_t DirectionSearch::GroupEnd(std::size_t part, std::size_t end) const {
  auto const n_blocks = index_->Blocks().size();
  if (part >= n_blocks) {
    return end;
  }
  constexpr auto kChunk = DirectionIndex::kChunkBlocks;
  return std::min({end, n_blocks, (part / kChunk + 1) * kChunk});
}

void DirectionSearch::FillBlocks(Node const& node, std::size_t begin, std::size_t end,
                                 Words* out) const {
  constexpr std::size_t kTogether = 1024;  // rows, whose bins in a chunk stay in cache
  VisitWidth(width_, [&](auto width) {
    auto fill = [&](auto slot) {
      using SlotT = decltype(slot);
      for (auto from = node.begin; from < node.end; from += kTogether) {
        for (auto b = begin; b < end; ++b) {
          AddRows<width>(index_->Slots<SlotT>(b), index_->Stride(b), rows_.data() + from,
                         words_.data() + from * width_, std::min(kTogether, node.end - from),
                         out + this->PartBegin(b) - this->PartBegin(begin));
        }
      }
    };
    if (index_->IsWide()) {
      fill(std::uint16_t{});
    } else {
      fill(std::uint8_t{});
    }
  });
}

void DirectionSearch::FillSlots(std::size_t begin, std::size_t end, Words* out) const {
  VisitWidth(width_, [&](auto width) {
    AddSlots<width>(index_->RowPtr(), index_->RowSlots(), rows_.data() + begin,
                    words_.data() + begin * width_, end - begin, out);
  });
}

void DirectionSearch::FillParts(Node const& node, std::size_t begin, std::size_t end,
                                Words* out) const {
  if (node.summed) {
    std::copy(node.summed + this->PartBegin(begin), node.summed + this->PartEnd(end - 1), out);
    return;
  }
  if (begin < index_->Blocks().size()) {
    this->FillBlocks(node, begin, end, out);
    return;
  }
  if (auto const it = shared_.find(static_cast<bst_node_t>(&node - nodes_.data()));
      it != shared_.cend()) {
    std::copy_n(it->second.front().Data(), this->PartSize(begin), out);
    return;
  }
  this->FillSlots(node.begin, node.end, out);
}

void DirectionSearch::ShareSlots(common::Span<Job const> jobs,
                                 std::vector<Request> const& requests) {
  constexpr std::size_t kLarge = std::size_t{1} << 15;  // entries
  shared_.clear();
  if (n_threads_ == 1 || index_->NumSlots() == 0) {
    return;
  }
  auto const per_row = static_cast<double>(index_->SlotPtr()[index_->NumSlots()]) /
                       static_cast<double>(index_->NumRows());
  std::vector<bst_node_t> large;
  for (auto const& job : jobs) {
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto const nid = requests[job.begin + k].nid;
      if (job.IsFilled(k) && static_cast<double>(nodes_[nid].NumRows()) * per_row > kLarge) {
        large.push_back(nid);
        shared_[nid].resize(n_threads_);
      }
    }
  }
  auto const n_values = (index_->NumSlots() + kLanes - 1) / kLanes * kLanes * width_;
  std::size_t const n_runs = n_threads_;
  common::ParallelFor(large.size() * n_runs, n_threads_, common::Sched::Dyn(1), [&](auto i) {
    auto const& node = nodes_[large[i / n_runs]];
    auto& sums = shared_.at(large[i / n_runs])[i % n_runs];
    sums.Assign(n_values, 0);
    this->FillSlots(node.begin + node.NumRows() * (i % n_runs) / n_runs,
                    node.begin + node.NumRows() * (i % n_runs + 1) / n_runs, sums.Data());
  });
  for (auto& [nid, runs] : shared_) {
    for (std::size_t r = 1; r < runs.size(); ++r) {
      XDCC_BEST_CLONE(AddWords)(runs[r].Data(), n_values, runs.front().Data());
    }
  }
}

void DirectionSearch::SumOverWorkers(common::Span<Job const> jobs,
                                     std::vector<Request> const& requests) {
  std::vector<bst_node_t> filled;
  for (auto const& job : jobs) {
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      if (job.IsFilled(k)) {
        filled.push_back(requests[job.begin + k].nid);
      }
    }
  }
  std::vector<std::size_t> groups{0};
  while (groups.back() < this->NumParts()) {
    groups.push_back(this->GroupEnd(groups.back(), this->NumParts()));
  }
  auto const n_values = this->HistogramSize(), n_groups = groups.size() - 1;
  message_.Resize(filled.size() * n_values);
  common::ParallelFor(filled.size() * n_groups, n_threads_, common::Sched::Dyn(1), [&](auto i) {
    auto const begin = groups[i % n_groups], end = groups[i % n_groups + 1];
    auto* out = message_.Data() + i / n_groups * n_values + this->PartBegin(begin);
    std::fill_n(out, this->PartEnd(end - 1) - this->PartBegin(begin), 0);
    this->FillParts(nodes_[filled[i / n_groups]], begin, end, out);
  });
  collective::SafeColl(
      collective::GlobalSum(ctx_, linalg::MakeVec(message_.Data(), filled.size() * n_values)));
  for (std::size_t i = 0; i < filled.size(); ++i) {
    nodes_[filled[i]].summed = message_.Data() + i * n_values;
  }
}

void DirectionSearch::ScoreBlock(Node const& node, std::size_t b, std::uint8_t const* allowed,
                                 Histogram kind, Words* histogram, Best* best) const {
  auto const& block = index_->Blocks()[b];
  LaneBest lanes;
  ScoreParam const by{node.total, scaled_lambda_, weight_, floor_};
  FewRows few;
  bool const is_few = kind == Histogram::kToBeMade;
  VisitWidth(width_, [&](auto width) {
    if (is_few) {
      auto fill = [&](auto slot) {
        few.Fill<width>(index_->Slots<decltype(slot)>(b), index_->Stride(b),
                        rows_.data() + node.begin, words_.data() + node.begin * width_,
                        node.NumRows(), block.has_missing, block.n_slots, histogram);
      };
      if (index_->IsWide()) {
        fill(std::uint16_t{});
      } else {
        fill(std::uint8_t{});
      }
    }
    auto const* sums = is_few ? few.words : histogram;
    auto const n = is_few ? few.n : block.n_slots;
    auto const* slots = is_few ? reinterpret_cast<Int8 const*>(few.slots) : nullptr;
    if (block.has_missing) {
      XDCC_BEST_CLONE(ScanBlock<width, true>)(sums, n, slots, by, &lanes);
    } else {
      XDCC_BEST_CLONE(ScanBlock<width, false>)(sums, n, slots, by, &lanes);
    }
  });
  auto best_lane = kLanes;
  for (std::size_t l = 0; l < kLanes; ++l) {
    auto const f = block.features[l];
    if (f == DirectionIndex::kNoFeature || (allowed && !allowed[f])) {
      continue;
    }
    bool const left = lanes.score[1][l] > lanes.score[0][l];
    if (!(lanes.score[left][l] > 0.0f)) {
      continue;
    }
    Best const of_lane{lanes.score[left][l], f, lanes.slot[left][l] - block.has_missing, left, {}};
    if (of_lane.Beats(*best)) {
      *best = of_lane;
      best_lane = l;
    }
  }
  if (best_lane < kLanes) {  // add up its left side
    std::int64_t const last = best->bin + block.has_missing;
    auto add = [&](Words const* sums) {
      for (std::size_t d = 0; d < width_; ++d) {
        best->left[d] += sums[d * kLanes + best_lane];
      }
    };
    std::int64_t const begin = block.has_missing && !best->default_left;
    if (is_few) {
      for (std::size_t i = begin; i < few.n; ++i) {
        if (few.slots[i][kPlaceOfLane[best_lane]] <= last) {
          add(few.words + i * width_ * kLanes);
        }
      }
    } else {
      for (auto slot = begin; slot <= last; ++slot) {
        add(histogram + slot * width_ * kLanes);
      }
    }
  }
  if (kind == Histogram::kCleared) {
    std::fill_n(histogram, block.n_slots * width_ * kLanes, 0);
  }
}

void DirectionSearch::ScoreSlots(Node const& node, std::uint8_t const* allowed,
                                 Words const* histogram, Best* best) {
  auto const n = index_->NumSingles();
  auto const& sparse = index_->Sparse();
  ScoreParam const by{node.total, scaled_lambda_, weight_, floor_};
  if (n > 0) {
    // Lanes past the last single belong to other features.
    auto& penalties = this->OfThread().penalties;
    auto const n_full = n / kLanes * kLanes, n_padded = (n + kLanes - 1) / kLanes * kLanes;
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    penalties.assign(n_padded, 0.0f);
    std::fill(penalties.begin() + n, penalties.end(), kNever);
    for (std::size_t i = 0; allowed && i < n; ++i) {
      penalties[i] = allowed[sparse[i].feature] ? 0.0f : kNever;
    }
    LaneBest lanes;
    VisitWidth(width_, [&](auto width) {
      auto const n_plain = allowed ? 0 : n_full;
      XDCC_BEST_CLONE(ScanSingles<width>)(histogram, n_plain, nullptr, by, &lanes);
      LaneBest others;
      XDCC_BEST_CLONE(ScanSingles<width>)(histogram + n_plain * width, n_padded - n_plain,
                                          penalties.data() + n_plain, by, &others);
      for (std::size_t l = 0; l < kLanes; ++l) {
        if (others.score[0][l] > lanes.score[0][l]) {
          lanes.score[0][l] = others.score[0][l];
          lanes.slot[0][l] = others.slot[0][l] + static_cast<std::int32_t>(n_plain);
        }
      }
    });
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (lanes.score[0][l] > 0.0f) {
        auto const& feature = sparse[lanes.slot[0][l] + l];
        auto const bin = index_->Bin(feature.begin);
        bool const below =
            feature.default_bin != DirectionIndex::kMissing && feature.default_bin < bin;
        Best of_slot{
            lanes.score[0][l], feature.feature, below ? feature.default_bin : bin, false, {}};
        if (of_slot.Beats(*best)) {
          for (std::size_t d = 0; d < width_; ++d) {
            auto const words = histogram[lanes.slot[0][l] * width_ + d * kLanes + l];
            of_slot.left[d] = below ? node.total[d] - words : words;
          }
          *best = of_slot;
        }
      }
    }
  }
  for (std::size_t i = n; i < sparse.size(); ++i) {
    if (!allowed || allowed[sparse[i].feature]) {
      this->ScoreList(node, sparse[i], histogram, best);
    }
  }
}

void DirectionSearch::ScoreList(Node const& node, DirectionIndex::SparseFeature const& feature,
                                Words const* histogram, Best* best) {
  ScoreParam const by{node.total, scaled_lambda_, weight_, floor_};
  Words others[kMaxDirections];  // in the default bin, or missing
  std::copy_n(node.total, kMaxDirections, others);
  // Of a feature's many slots few hold rows of a small node.
  auto& filled = this->OfThread().filled;
  std::size_t n_filled{0};
  VisitWidth(width_, [&](auto width) {
    filled.resize((feature.end - feature.begin) * (1 + width));
    for (auto slot = feature.begin; slot < feature.end; ++slot) {
      auto const* words = histogram + slot / kLanes * kLanes * width + slot % kLanes;
      if (slot % kLanes == 0 && slot + kLanes <= feature.end) {
        Words any{0};
        for (std::size_t i = 0; i < kLanes * width; ++i) {
          any |= words[i];
        }
        if (any == 0) {
          slot += kLanes - 1;
          continue;
        }
      }
      auto* to = filled.data() + n_filled * (1 + width);
      to[0] = slot;
      Words any{0};
      for (std::size_t d = 0; d < width; ++d) {
        to[1 + d] = words[d * kLanes];
        others[d] -= to[1 + d];
        any |= to[1 + d];
      }
      n_filled += any != 0;
    }
  });
  Best of_feature;
  of_feature.feature = feature.feature;
  auto scan = [&](bool default_left) {
    Words passed[kMaxDirections]{};
    auto try_split = [&](bst_bin_t bin) {
      auto const score = ScoreSplit(passed, width_, by);
      if (score > of_feature.score || (default_left && score == of_feature.score)) {
        of_feature = {score, feature.feature, bin, default_left, {}};
        std::copy_n(passed, kMaxDirections, of_feature.left);
      }
    };
    bool const is_missing = feature.default_bin == DirectionIndex::kMissing;
    bool others_passed = is_missing && !default_left;
    auto pass_others = [&](bst_bin_t bin) {
      others_passed = true;
      for (std::size_t d = 0; d < width_; ++d) {
        passed[d] += others[d];
      }
      if (!is_missing) {
        try_split(bin);
      }
    };
    if (is_missing && default_left) {
      pass_others(0);
    }
    for (std::size_t i = 0; i < n_filled; ++i) {
      auto const* words = filled.data() + i * (1 + width_);
      auto const bin = index_->Bin(words[0]);
      if (!others_passed && bin > feature.default_bin) {
        pass_others(feature.default_bin);
      }
      for (std::size_t d = 0; d < width_; ++d) {
        passed[d] += words[1 + d];
      }
      try_split(bin);
    }
  };
  scan(false);
  if (feature.default_bin == DirectionIndex::kMissing) {
    auto const missing_right = of_feature;
    of_feature.score = 0.0f;
    scan(true);
    if (!(of_feature.score > missing_right.score)) {
      of_feature = missing_right;
    }
  }
  if (of_feature.Beats(*best)) {
    *best = of_feature;
  }
}

void DirectionSearch::Work(Task const& task, Job const& job, std::vector<Request> const& requests,
                           Best* best) {
  auto& buffer = this->OfThread();
  auto const& blocks = index_->Blocks();
  auto const first = job.n_nodes == 1 ? std::size_t{0} : job.small;
  auto node_of = [&](std::size_t k) -> Node& { return nodes_[requests[job.begin + k].nid]; };
  auto allowed_of = [&](std::size_t k) { return requests[job.begin + k].allowed; };

  auto const end = std::min(task.block_end, blocks.size());
  for (auto begin = task.block_begin; begin < end; begin = this->GroupEnd(begin, end)) {
    auto const group_end = this->GroupEnd(begin, end);
    auto fill = [&](Node& node) {
      auto* out = buffer.blocks.Data();
      if (node.histogram.Data()) {
        out = node.histogram.Data() + this->PartBegin(begin);
        std::fill_n(out, this->PartEnd(group_end - 1) - this->PartBegin(begin), 0);
      }
      this->FillParts(node, begin, group_end, out);
      return out;
    };
    auto score = [&](std::size_t k, std::size_t b, Histogram kind, Words* histogram) {
      this->ScoreBlock(node_of(k), b, allowed_of(k), kind,
                       histogram + this->PartBegin(b) - this->PartBegin(begin), &best[k]);
    };
    auto score_alone = [&](std::size_t k) {
      auto& node = node_of(k);
      auto const kind = this->IsFew(node)       ? Histogram::kToBeMade
                        : node.histogram.Data() ? Histogram::kKept
                                                : Histogram::kCleared;
      auto* histogram = kind == Histogram::kToBeMade ? buffer.blocks.Data() : fill(node);
      for (auto b = begin; b < group_end; ++b) {
        score(k, b, kind, histogram);
      }
    };
    if (!job.from_parent) {
      score_alone(first);
      if (job.n_nodes == 2) {
        score_alone(1 - first);
      }
      continue;
    }
    auto& small = node_of(first);
    auto const kind = small.histogram.Data() ? Histogram::kKept : Histogram::kCleared;
    auto* histogram = fill(small);
    auto* of_large = node_of(1 - first).histogram.Data() + this->PartBegin(begin);
    for (auto b = begin; b < group_end; ++b) {
      auto const at = this->PartBegin(b) - this->PartBegin(begin);
      XDCC_BEST_CLONE(SubtractWords)(histogram + at, this->PartSize(b), of_large + at);
      score(1 - first, b, Histogram::kKept, of_large);
      score(first, b, kind, histogram);
    }
  }
  if (task.block_end <= blocks.size() || index_->NumSlots() == 0) {
    return;
  }
  auto const n_values = this->PartSize(blocks.size());
  auto of_slots = [&](Node& node) {
    return node.histogram.Data() + this->PartBegin(blocks.size());
  };
  auto fill = [&](Node& node) {
    auto* out = node.histogram.Data() ? of_slots(node) : buffer.slots.Data();
    std::fill_n(out, n_values, 0);
    this->FillParts(node, blocks.size(), blocks.size() + 1, out);
    return out;
  };
  auto& small = node_of(first);
  auto const* histogram = fill(small);
  this->ScoreSlots(small, allowed_of(first), histogram, &best[first]);
  if (job.n_nodes == 2) {
    auto& large = node_of(1 - first);
    auto* of_large = large.histogram.Data() ? of_slots(large) : nullptr;
    if (job.from_parent) {
      XDCC_BEST_CLONE(SubtractWords)(histogram, n_values, of_large);
    } else {
      of_large = fill(large);
    }
    this->ScoreSlots(large, allowed_of(1 - first), of_large, &best[1 - first]);
  }
}

void DirectionSearch::Evaluate(common::HistogramCuts const& cuts,
                               std::vector<Request> const& requests) {
  if (requests.empty()) {
    return;
  }
  std::vector<Job> jobs;
  this->MakeJobs(requests, &jobs);
  auto const n_blocks = index_->Blocks().size();
  std::size_t n_values{0};  // of the largest group of blocks
  for (std::size_t b = 0; b < n_blocks; b = this->GroupEnd(b, n_blocks)) {
    auto const end = this->GroupEnd(b, n_blocks);
    n_values = std::max(n_values, this->PartEnd(end - 1) - this->PartBegin(b));
  }
  for (auto& buffer : buffers_) {
    if (buffer.blocks.Size() < n_values) {
      buffer.blocks.Assign(n_values, 0);
    }
    buffer.slots.Resize(this->PartSize(n_blocks));
  }
  constexpr std::size_t kMessageBytes = std::size_t{1} << 26;
  auto const node_bytes = this->HistogramSize() * sizeof(Words);
  auto const n_together =
      is_shared_ ? std::max<std::size_t>(1, kMessageBytes / (2 * node_bytes + 1)) : jobs.size();
  for (std::size_t j = 0; j < jobs.size(); j += n_together) {
    common::Span<Job const> const some{jobs.data() + j, std::min(n_together, jobs.size() - j)};
    this->ShareSlots(some, requests);
    if (is_shared_) {
      this->SumOverWorkers(some, requests);
    }
    this->Search(some, requests);
  }

  auto const next = this->NextBins(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    this->Finish(cuts, requests[i], next[i]);
  }
  for (auto const& request : requests) {
    auto& node = nodes_[request.nid];
    node.summed = nullptr;
    // What was made for the larger sibling's sake only.
    if (node.histogram.Data() && (!request.goes_on || !this->WorthKeeping(node))) {
      kept_bytes_ -= this->HistogramSize() * sizeof(Words);
      spare_.push_back(std::move(node.histogram));
      node.histogram = {};
    }
  }
}

void DirectionSearch::Search(common::Span<Job const> jobs, std::vector<Request> const& requests) {
  // Several tasks for each thread.
  auto const n_parts = this->NumParts();
  std::size_t const n_group =
      n_threads_ == 1 ? n_parts
                      : std::max<std::size_t>(1, jobs.size() * n_parts / (8 * n_threads_));
  std::vector<Task> tasks;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (std::size_t b = 0; b < n_parts; b += n_group) {
      tasks.push_back({j, b, std::min(n_parts, b + n_group)});
    }
  }
  std::vector<std::array<Best, 2>> best(tasks.size());
  common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto t) {
    this->Work(tasks[t], jobs[tasks[t].job], requests, best[t].data());
  });
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    auto const& job = jobs[tasks[t].job];
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto& of_node = nodes_[requests[job.begin + k].nid].best;
      if (best[t][k].Beats(of_node)) {
        of_node = best[t][k];
      }
    }
  }
}

template <typename Fn>
void DirectionSearch::ForEachSide(Node const& node, Fn&& fn) {
  auto const& best = node.best;
  auto const place = index_->PlaceOf(best.feature);
  if (place.kind == DirectionIndex::Kind::kDense) {
    auto const b = place.at / kLanes;
    auto const& block = index_->Blocks()[b];
    auto const stride = index_->Stride(b);
    // With missing values on the right, slot 0 wraps around to the largest number.
    std::uint32_t const from = block.has_missing && !best.default_left;
    auto const last = static_cast<std::uint32_t>(best.bin) + block.has_missing - from;
    auto visit = [&](auto const* slots) {
      slots += place.at % kLanes;
      for (auto i = node.begin; i < node.end; ++i) {
        fn(i, slots[rows_[i] * stride] - from <= last);
      }
    };
    if (index_->IsWide()) {
      visit(index_->Slots<std::uint16_t>(b));
    } else {
      visit(index_->Slots<std::uint8_t>(b));
    }
    return;
  }
  auto const& feature = index_->Sparse()[place.at];
  bool const others_left = feature.default_bin == DirectionIndex::kMissing
                               ? best.default_left
                               : feature.default_bin <= best.bin;
  // The slots whose rows go to the other side than the rows that are not stored.
  auto begin = feature.begin, end = feature.end;
  auto middle = begin;
  while (middle < feature.end && index_->Bin(middle) <= best.bin) {
    ++middle;
  }
  (others_left ? begin : end) = middle;
  auto const *slot_ptr = index_->SlotPtr(), *row_ptr = index_->RowPtr();
  auto const n_stored = slot_ptr[end] - slot_ptr[begin];
  if (n_stored > 16 * node.NumRows()) {
    for (auto i = node.begin; i < node.end; ++i) {
      auto const* row_end = index_->RowSlots() + row_ptr[rows_[i] + 1];
      auto const* slot = std::lower_bound(index_->RowSlots() + row_ptr[rows_[i]], row_end, begin);
      fn(i, (slot != row_end && *slot < end) != others_left);
    }
    return;
  }
  auto& marks = this->OfThread().marks;
  marks.resize(index_->NumRows(), 0);
  auto const* stored = index_->SlotRows();
  for (auto e = slot_ptr[begin]; e < slot_ptr[end]; ++e) {
    marks[stored[e]] = 1;
  }
  for (auto i = node.begin; i < node.end; ++i) {
    fn(i, static_cast<bool>(marks[rows_[i]]) != others_left);
  }
  for (auto e = slot_ptr[begin]; e < slot_ptr[end]; ++e) {
    marks[stored[e]] = 0;
  }
}

bst_bin_t DirectionSearch::NextBin(Node const& node) const {
  auto const& best = node.best;
  auto const place = index_->PlaceOf(best.feature);
  auto next = std::numeric_limits<bst_bin_t>::max();
  if (place.kind == DirectionIndex::Kind::kDense) {
    auto const b = place.at / kLanes;
    auto const stride = index_->Stride(b);
    bst_bin_t const offset = index_->Blocks()[b].has_missing;
    auto visit = [&](auto const* slots) {
      for (auto i = node.begin; i < node.end; ++i) {
        auto const bin = static_cast<bst_bin_t>(slots[rows_[i] * stride]) - offset;
        next = bin > best.bin && this->IsActive(i) ? std::min(next, bin) : next;
      }
    };
    if (index_->IsWide()) {
      visit(index_->Slots<std::uint16_t>(b) + place.at % kLanes);
    } else {
      visit(index_->Slots<std::uint8_t>(b) + place.at % kLanes);
    }
    return next;
  }
  auto const& feature = index_->Sparse()[place.at];
  auto const* row_ptr = index_->RowPtr();
  for (auto i = node.begin; i < node.end; ++i) {
    for (auto e = row_ptr[rows_[i]]; e < row_ptr[rows_[i] + 1]; ++e) {
      auto const slot = index_->RowSlots()[e];
      if (slot >= feature.begin && slot < feature.end && index_->Bin(slot) > best.bin &&
          this->IsActive(i)) {
        next = std::min(next, index_->Bin(slot));
      }
    }
  }
  return next;
}

std::vector<bst_bin_t> DirectionSearch::NextBins(std::vector<Request> const& requests) const {
  auto const n = requests.size();
  std::vector<bst_bin_t> next(n, std::numeric_limits<bst_bin_t>::max());
  auto needs = [&](auto const& request) { return nodes_[request.nid].best.default_left; };
  common::ParallelFor(n, n_threads_, common::Sched::Dyn(1), [&](auto i) {
    if (needs(requests[i])) {
      next[i] = this->NextBin(nodes_[requests[i].nid]);
    }
  });
  if (is_shared_ && std::any_of(requests.cbegin(), requests.cend(), needs)) {
    collective::SafeColl(
        collective::Allreduce(ctx_, linalg::MakeVec(next.data(), n), collective::Op::kMin));
  }
  return next;
}

void DirectionSearch::Finish(common::HistogramCuts const& cuts, Request const& request,
                             bst_bin_t next) {
  auto& node = nodes_[request.nid];
  auto const& best = node.best;
  if (best.feature == DirectionIndex::kNoFeature) {
    return;
  }
  Words right[kMaxDirections]{};
  for (std::size_t d = 0; d < width_; ++d) {
    right[d] = node.total[d] - best.left[d];
  }
  auto const gain = this->Score(best.left) + this->Score(right) - this->Score(node.total);
  if (!(gain > 0.0)) {
    return;
  }
  if (best.default_left) {  // the highest value that splits the rows so
    node.best.bin = next - 1;
  }
  *request.split = {static_cast<float>(gain),
                    best.feature,
                    cuts.Values()[cuts.Ptrs()[best.feature] + best.bin],
                    best.default_left,
                    {}};
  request.left_sums->resize(2 * n_directions_);
  for (std::size_t d = 0; d < n_directions_; ++d) {
    (*request.left_sums)[d] = this->Grad(best.left[d], d);
    (*request.left_sums)[n_directions_ + d] = this->Hess(best.left[d], d);
  }
}

void DirectionSearch::Partition(std::vector<Applied> const& applied) {
  for (auto const& split : applied) {
    auto const n = static_cast<std::size_t>(std::max(split.left, split.right)) + 1;
    if (nodes_.size() < n) {
      nodes_.resize(n);
    }
  }
  std::vector<std::int64_t> n_left(applied.size());  // on all workers
  common::ParallelFor(applied.size(), n_threads_, common::Sched::Dyn(1), [&](auto a) {
    auto& node = nodes_[applied[a].nid];
    auto& buffer = this->OfThread();
    if (buffer.rows.size() < node.NumRows()) {
      buffer.rows.resize(node.NumRows());
      buffer.words.resize(node.NumRows() * width_);
    }
    buffer.words.resize(std::max(buffer.words.size(), node.NumRows() * width_));
    auto left = node.begin;
    std::size_t right{0};
    VisitWidth(width_, [&](auto width) {
      constexpr std::size_t kWidth = width;
      this->ForEachSide(node, [&](std::size_t i, bool goes_left) {
        // Both are written; the next row overwrites the wrong one.
        auto const row = rows_[i];
        rows_[left] = row;
        buffer.rows[right] = row;
        for (std::size_t d = 0; d < kWidth; ++d) {
          auto const word = words_[i * kWidth + d];
          words_[left * kWidth + d] = word;
          buffer.words[right * kWidth + d] = word;
        }
        left += goes_left;
        right += !goes_left;
      });
    });
    std::copy_n(buffer.rows.cbegin(), right, rows_.begin() + left);
    std::copy_n(buffer.words.cbegin(), right * width_, words_.begin() + left * width_);
    auto &l = nodes_[applied[a].left], &r = nodes_[applied[a].right];
    l.begin = node.begin;
    l.end = r.begin = left;
    r.end = node.end;
    for (std::size_t d = 0; d < width_; ++d) {
      l.total[d] = node.best.left[d];
      r.total[d] = node.total[d] - node.best.left[d];
    }
    n_left[a] = static_cast<std::int64_t>(l.NumRows());
    node.is_leaf = false;
    l.is_leaf = r.is_leaf = true;
  });
  collective::SafeColl(collective::GlobalSum(ctx_, linalg::MakeVec(n_left.data(), n_left.size())));
  for (std::size_t a = 0; a < applied.size(); ++a) {
    nodes_[applied[a].left].n_all_rows = n_left[a];
    nodes_[applied[a].right].n_all_rows = nodes_[applied[a].nid].n_all_rows - n_left[a];
  }
}
}  // namespace xgboost::multilabel
