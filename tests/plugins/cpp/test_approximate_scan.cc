/**
 * @brief The scan of lists, for every split method, rule and width, against slow code.
 */
#include <algorithm>  // for clamp, max, sort
#include <cmath>      // for abs, copysign
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "testing.h"                       // for Random, XDCC_TEST
#include "tree/data/aligned_array.h"       // for AlignedArray
#include "tree/search/approximate_scan.h"  // for ChooseScan, ListSumOfWidth

namespace xgboost::multilabel {
namespace {
using testing::ExpectNear;
using testing::Random;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kRows = 60, kEntries = 41;
constexpr float kLambda = 1.0f;

/** @brief A node's rows in one chunk of labels, and the list of a feature. */
struct Node {
  std::size_t width, n_labels;
  bool is_packed;
  AlignedArray<std::int32_t> values, totals, may_count, counts;
  AlignedArray<float> grad_scale, hess_scale, lambda, mean, total, padding, lower, upper, zeros;
  std::vector<std::int32_t> grad, hess;  // [kRows, width]
  std::vector<ListEntry> list;
  ChunkView chunk;

  Node(std::size_t width, ScanRule rule, bool is_packed, bool all_must, bool has_doubt, Random* rng)
      : width{width}, n_labels{width - 3}, is_packed{is_packed} {
    bool const steps = rule == ScanRule::kMaxDeltaStep;
    bool const bounds = rule == ScanRule::kMonotone;
    bool const soft = rule != ScanRule::kPlain && rule != ScanRule::kMeanHessian;
    values.Assign(2 * width * kRows, 0);
    totals.Assign(2 * width, 0);
    grad.assign(kRows * width, 0);
    hess.assign(kRows * width, 0);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < n_labels; ++j) {
        auto const g = grad[i * width + j] = rng->Int(-2000, 2000);
        auto const h = hess[i * width + j] = rng->Int(0, 3) == 0 ? 0 : rng->Int(0, 3000);
        totals.Data()[j] += g;
        totals.Data()[width + j] += h;
        if (is_packed) {
          values.Data()[i * width + j] = g * (1 << kPackedShift) + h;
        } else {
          values.Data()[i * 2 * width + j] = g;
          values.Data()[i * 2 * width + width + j] = h;
        }
      }
    }
    for (auto* numbers : {&grad_scale, &hess_scale, &mean, &total, &padding, &zeros}) {
      numbers->Assign(width, 0.0f);
    }
    lambda.Assign(width, kLambda);
    lower.Assign(width, bounds ? -0.5f : 0.0f);
    upper.Assign(width, bounds ? 0.6f : 0.0f);
    std::int32_t const of_padding = all_must ? -1 : std::numeric_limits<std::int32_t>::max();
    may_count.Assign(width, of_padding);
    counts.Assign(width, of_padding);
    for (std::size_t j = 0; j < width; ++j) {
      if (j >= n_labels) {
        padding.Data()[j] = -std::numeric_limits<float>::infinity();
        continue;
      }
      grad_scale.Data()[j] = 1.0f / 2048;
      auto const hess_unit = hess_scale.Data()[j] = 1.0f / 4096;
      total.Data()[j] = totals.Data()[width + j] * hess_unit + 2 * kLambda;
      mean.Data()[j] = totals.Data()[j] / total.Data()[j];  // in units, as sums are
      counts.Data()[j] = rng->Int(0, 40000);
      may_count.Data()[j] = has_doubt ? counts.Data()[j] - rng->Int(0, 15000) : counts.Data()[j];
    }
    for (std::size_t i = 0; i < kEntries; ++i) {
      auto const bin = static_cast<std::uint32_t>(rng->Int(0, 20));
      list.push_back(bin << kBinShift | static_cast<std::uint32_t>(i));
    }
    std::sort(list.begin(), list.end());
    for (auto& entry : list) {  // rows in any order
      entry = (entry & ~kRowMask) | ((entry & kRowMask) * 7 % kRows);
    }
    chunk = {{values.Data(), is_packed, false},
             totals.Data(),
             grad_scale.Data(),
             hess_scale.Data(),
             lambda.Data(),
             mean.Data(),
             total.Data(),
             padding.Data(),
             may_count.Data(),
             counts.Data(),
             all_must ? -1 : 0,
             soft ? 0.3f : 0.0f,
             steps || bounds ? 0.4f : 0.0f,
             lower.Data(),
             upper.Data(),
             zeros.Data(),
             zeros.Data(),
             0.0f,
             0};
  }
};

/** @brief The scores of the children. */
struct Score {
  double left, right, hess, size;
  std::int32_t flags;
};

double Shrunk(double grad, double alpha) {
  return std::copysign(std::max(0.0, std::abs(grad) - alpha), grad);
}

double LabelScore(SplitMethod method, double grad, double a, double w, double alpha) {
  auto const term = InfoOf(method).term;
  if (term == LabelTerm::kGain) {
    return -(2.0 * grad * w + a * w * w + 2.0 * alpha * std::abs(w));
  }
  return term == LabelTerm::kWeight ? w : std::abs(w);
}

/**
 * @brief The score of a split, label by label in double precision.
 *
 * @param floors A label with a Hessian above it counts. [width]
 */
Score SlowScore(Node const& node, SplitMethod method, ScanRule rule, int order,
                std::vector<std::int32_t> const& grad, std::vector<std::int32_t> const& hess,
                std::int32_t const* floors) {
  auto const& chunk = node.chunk;
  bool const bounds = rule == ScanRule::kMonotone;
  bool const steps = bounds || rule == ScanRule::kMaxDeltaStep;
  bool const counts =
      bounds || rule == ScanRule::kMinChildWeight || rule == ScanRule::kMaxDeltaStep;
  bool const sums = InfoOf(method).is_sum;
  Score score{sums ? 0.0 : -kInf, sums ? 0.0 : -kInf, 0.0, 1.0, 0};
  for (std::size_t j = 0; j < node.width; ++j) {
    auto const right_hess = chunk.totals[node.width + j] - hess[j];
    bool const left_counts = !counts || hess[j] > floors[j];
    bool const right_counts = !counts || right_hess > floors[j];
    if (counts) {
      score.flags |= left_counts != (chunk.all_must != 0) ? SplitFlags::kLeft : 0;
      score.flags |= right_counts != (chunk.all_must != 0) ? SplitFlags::kRight : 0;
    }
    if (j >= node.n_labels) {
      continue;
    }
    double const unit = chunk.grad_scale[j], hess_unit = chunk.hess_scale[j], alpha = chunk.alpha;
    double const g = grad[j] * unit, r = (chunk.totals[j] - grad[j]) * unit;
    double const a = hess[j] * hess_unit + kLambda, b = right_hess * hess_unit + kLambda;
    auto clip = [&](double w) {
      return steps ? std::clamp<double>(w, -chunk.max_step, chunk.max_step) : w;
    };
    auto bound = [&](double w) {
      return bounds ? std::clamp<double>(w, chunk.lower[j], chunk.upper[j]) : w;
    };
    double w = left_counts ? clip(-Shrunk(g, alpha) / a) : 0.0;
    double u = right_counts ? clip(-Shrunk(r, alpha) / b) : 0.0;
    if (order != 0 && (bound(w) - bound(u)) * order > 0.0) {
      w = u = clip(-Shrunk(g + r, 2.0 * alpha) / (a + b));
    }
    double const p = left_counts ? LabelScore(method, g, a, bound(w), alpha) : 0.0;
    double const q = right_counts ? LabelScore(method, r, b, bound(u), alpha) : 0.0;
    score.hess += hess[j] * hess_unit;
    score.size += std::abs(p) + std::abs(q);
    if (!sums) {
      score.left = std::max(score.left, p);
      score.right = std::max(score.right, q);
      continue;
    }
    score.left += p + q;
    if (method == SplitMethod::kSumGain &&
        (rule == ScanRule::kPlain || rule == ScanRule::kMeanHessian)) {
      score.left -= (g + r) * (g + r) / (a + b);
    }
  }
  score.right = sums ? 0.0 : score.right;
  return score;
}

/** @brief Call `check(i, slow)` for each candidate; returns their number. */
template <typename Fn>
std::uint32_t ForEachCandidate(Node const& node, SplitMethod method, ScanRule rule,
                               ListRange const& range, std::int32_t const* floors, Fn&& check) {
  std::vector<std::int32_t> grad(node.width), hess(node.width);
  std::uint32_t n{0};
  for (std::uint32_t i = 0; i < range.n; ++i) {
    auto const* entry = range.first + static_cast<std::ptrdiff_t>(i) * range.step;
    for (std::size_t j = 0; j < node.width; ++j) {
      grad[j] += node.grad[(*entry & kRowMask) * node.width + j];
      hess[j] += node.hess[(*entry & kRowMask) * node.width + j];
    }
    bool const is_last = i + 1 == range.n;
    bool const is_last_of_bin =
        is_last ? range.with_last : (*entry ^ entry[range.step]) >> kBinShift != 0;
    if (!is_last_of_bin && !range.separate) {
      continue;
    }
    check(n++, SlowScore(node, method, rule, range.order, grad, hess, floors));
    if (range.separate) {
      grad.assign(node.width, 0);
      hess.assign(node.width, 0);
    }
  }
  return n;
}

struct Output {
  std::vector<float> score, right, doubt, hess;
  std::vector<std::int32_t> flags;

  Output() : score(kEntries), right(kEntries), doubt(kEntries), hess(kEntries), flags(kEntries) {}
  ScanOutput View() {
    return {score.data(), right.data(), doubt.data(), flags.data(), hess.data()};
  }
};

std::vector<SplitMethod> AllMethods() {
  std::vector<SplitMethod> methods;
  for (std::size_t i = 0; i < kSplitMethods.size(); ++i) {
    methods.push_back(static_cast<SplitMethod>(i + 1));
  }
  return methods;
}
constexpr ScanRule kRules[] = {ScanRule::kPlain,        ScanRule::kMeanHessian,
                               ScanRule::kAlpha,        ScanRule::kMinChildWeight,
                               ScanRule::kMaxDeltaStep, ScanRule::kMonotone};
constexpr std::size_t kWidths[] = {8, 16, 24, 32};

bool TellsFlags(ScanRule rule) {
  return rule == ScanRule::kMinChildWeight || rule == ScanRule::kMaxDeltaStep ||
         rule == ScanRule::kMonotone;
}

XDCC_TEST(approximate_scan, ScoresAreThoseOfSlowCode) {
  Random rng{1};
  for (auto method : AllMethods()) {
    for (auto rule : kRules) {
      for (auto width : kWidths) {
        for (int variant = 0; variant < 8; ++variant) {
          bool const is_packed = variant % 2 == 0, upwards = variant % 4 < 2;
          Node const node{width, rule, is_packed, variant >= 6, false, &rng};
          int const order = rule == ScanRule::kMonotone ? variant % 3 - 1 : 0;
          ListRange const range{upwards ? node.list.data() : node.list.data() + kEntries - 1,
                                upwards ? 1 : -1,
                                kEntries,
                                variant % 3 == 0,
                                variant == 5,
                                order};
          Output out;
          auto const n = ChooseScan(method, rule, width)(range, node.chunk, out.View());
          auto const n_slow = ForEachCandidate(
              node, method, rule, range, node.chunk.counts, [&](auto i, Score const& slow) {
                auto const tolerance = 2e-5 * slow.size;
                ExpectNear(out.score[i], slow.left, tolerance);
                ExpectNear(out.right[i], slow.right, tolerance);
                if (TellsFlags(rule)) {
                  CHECK_EQ(out.flags[i] & SplitFlags::kBoth, slow.flags);
                  CHECK_EQ(out.flags[i] & SplitFlags::kInDoubt, 0);
                  CHECK_EQ(out.doubt[i], 0.0f);
                }
                if (TellsFlags(rule) || rule == ScanRule::kMeanHessian) {
                  ExpectNear(out.hess[i], slow.hess, 1e-5 * (1.0 + slow.hess));
                }
              });
          CHECK_EQ(n, n_slow);
        }
      }
    }
  }
}

XDCC_TEST(approximate_scan, LabelsInDoubtAreBounded) {
  Random rng{2};
  for (auto method : AllMethods()) {
    for (auto rule : {ScanRule::kMinChildWeight, ScanRule::kMaxDeltaStep, ScanRule::kMonotone}) {
      for (auto width : kWidths) {
        Node const node{width, rule, true, false, true, &rng};
        ListRange const range{node.list.data(), 1, kEntries, true, false, 0};
        Output out;
        ChooseScan(method, rule, width)(range, node.chunk, out.View());
        for (int draw = 0; draw < 20; ++draw) {  // floors that are possible
          std::vector<std::int32_t> floors(node.chunk.counts, node.chunk.counts + width);
          for (std::size_t j = 0; j < node.n_labels; ++j) {
            floors[j] = rng.Int(node.chunk.may_count[j], node.chunk.counts[j]);
          }
          ForEachCandidate(node, method, rule, range, floors.data(),
                           [&](auto i, Score const& slow) {
                             auto const highest = out.score[i] + out.right[i];
                             auto const score = slow.left + slow.right;
                             auto const tolerance = 2e-5 * slow.size;
                             CHECK_LE(score, highest + tolerance);
                             CHECK_GE(score, highest - out.doubt[i] - tolerance);
                           });
        }
      }
    }
  }
}

XDCC_TEST(approximate_scan, BinsAreSummedUp) {
  Random rng{3};
  for (auto width : kWidths) {
    for (bool is_packed : {false, true}) {
      Node const node{width, ScanRule::kPlain, is_packed, false, false, &rng};
      AlignedArray<std::int32_t> sums;
      sums.Assign(kEntries * 2 * width, 0);
      ListSumOfWidth(width)(node.list.data(), kEntries, node.chunk.rows, sums.Data());
      std::size_t bin{0};
      std::vector<std::int32_t> slow(2 * width);
      for (std::size_t i = 0; i < kEntries; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          slow[j] += node.grad[(node.list[i] & kRowMask) * width + j];
          slow[width + j] += node.hess[(node.list[i] & kRowMask) * width + j];
        }
        if (i + 1 < kEntries && (node.list[i] ^ node.list[i + 1]) >> kBinShift == 0) {
          continue;
        }
        for (std::size_t k = 0; k < 2 * width; ++k) {
          CHECK_EQ(sums.Data()[bin * 2 * width + k], slow[k]);
          slow[k] = 0;
        }
        ++bin;
      }
    }
  }
}
}  // namespace
}  // namespace xgboost::multilabel
