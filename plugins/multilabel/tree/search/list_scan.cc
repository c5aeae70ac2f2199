/**
 * @brief The loops of `list_scan.h`, compiled for each split method, rule, width and instruction
 * set.
 */
#include "list_scan.h"

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t, uint32_t
#include <limits>   // for numeric_limits

#include "../../vectorised.h"  // for Int16, Lanes, XDCC_TARGET_CLONES
#include "../split_score.h"    // for MethodTraits
#include "xgboost/logging.h"   // for LOG

namespace xgboost::multilabel {
namespace {
/** @brief Score the candidates of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kLanes, int kVectors>
XDCC_TARGET_CLONES std::uint32_t ScanList(ListRange range, ChunkView chunk, ScanOutput out) {
  // Everything stands in this one body: a helper would be compiled without the wide vectors.
  using Ints = typename Lanes<kLanes>::Ints;
  using Floats = typename Lanes<kLanes>::Floats;
  using Traits = MethodTraits<kMethod>;
  constexpr std::size_t kWidth = kLanes * kVectors;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr bool kCounts = kRule == ScanRule::kCounted || kRule == ScanRule::kClipped;
  constexpr Ints kIndex = Lanes<kLanes>::kIndex;
  // Copies, because the compiler must take it that writing a score may change what is pointed to.
  Ints totals[2 * kVectors], grad[kVectors], hess[kVectors];
  Floats grad_scale[kVectors], hess_scale[kVectors], lambda[kVectors], mean[kVectors],
      total[kVectors], padding[kVectors];
  Ints may[kVectors], does[kVectors];
  Floats const zero{};
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    grad[v] = hess[v] = Ints{};
    totals[v] = reinterpret_cast<Ints const*>(chunk.totals)[v];
    totals[kVectors + v] = reinterpret_cast<Ints const*>(chunk.totals)[kVectors + v];
    grad_scale[v] = reinterpret_cast<Floats const*>(chunk.grad_scale)[v];
    hess_scale[v] = reinterpret_cast<Floats const*>(chunk.hess_scale)[v];
    lambda[v] = reinterpret_cast<Floats const*>(chunk.lambda)[v];
    mean[v] = reinterpret_cast<Floats const*>(chunk.mean)[v];
    total[v] = reinterpret_cast<Floats const*>(chunk.total)[v];
    padding[v] = reinterpret_cast<Floats const*>(chunk.padding)[v];
    if constexpr (kCounts) {
      may[v] = reinterpret_cast<Ints const*>(chunk.may)[v];
      does[v] = reinterpret_cast<Ints const*>(chunk.does)[v];
    }
  }
  Ints const all_must = Ints{} + chunk.all_must;
  Floats const alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Floats const least = zero + std::numeric_limits<float>::min() * 1e6f;  // instead of 0
  std::uint32_t n_candidates{0};
  auto const* it = range.first;
  ListEntry entry = *it;
  for (std::uint32_t i = 1; i <= range.n; ++i) {
    auto const* row = reinterpret_cast<Ints const*>(chunk.rows + (entry & kRowMask) * (2 * kWidth));
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      grad[v] += row[v];
      hess[v] += row[kVectors + v];
    }
    ListEntry next;
    if (i < range.n) {
      it += range.step;
      next = *it;
    } else {
      next = range.with_last ? ~entry : entry;
    }
    bool const same_bin = ((next ^ entry) >> kBinShift) == 0 && !range.separate;
    entry = next;
    if (same_bin) {
      continue;
    }

    if constexpr (kCounts || kRule == ScanRule::kMean) {
      if (out.hess) {
        Floats sum{};
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sum += __builtin_convertvector(hess[v], Floats) * hess_scale[v];
        }
#pragma GCC unroll 4
        for (int lane = kLanes / 2; lane > 0; lane /= 2) {
          sum += __builtin_shuffle(sum, kIndex ^ lane);
        }
        out.hess[n_candidates] = sum[0];
      }
    }
    if constexpr (kCounts) {
      // The highest score that labels in doubt allow; if there are any, the lowest one, too.
      out.doubt[n_candidates] = 0.0f;
      for (Ints lowest{};; lowest = ~lowest) {
        Ints bits{};
        Floats sum{}, largest = zero - kInf, largest_rest = zero - kInf;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Ints const rest_hess = totals[kVectors + v] - hess[v], rest_grad = totals[v] - grad[v];
          Floats a = __builtin_convertvector(hess[v], Floats) * hess_scale[v] + lambda[v];
          Floats b = __builtin_convertvector(rest_hess, Floats) * hess_scale[v] + lambda[v];
          Floats g = __builtin_convertvector(grad[v], Floats) * grad_scale[v];
          Floats r = __builtin_convertvector(rest_grad, Floats) * grad_scale[v];
          Floats const g_most = g > alpha ? alpha : g, r_most = r > alpha ? alpha : r;
          g -= g_most < -alpha ? -alpha : g_most;
          r -= r_most < -alpha ? -alpha : r_most;
          Floats p, q;
          if constexpr (kRule == ScanRule::kClipped) {
            a = a < least ? least : a;
            b = b < least ? least : b;
            Floats w = g / a, u = r / b;
            w = w > max_step ? max_step : w < -max_step ? -max_step : w;
            u = u > max_step ? max_step : u < -max_step ? -max_step : u;
            p = Traits::kGain ? w * (g + g - a * w) : Traits::kWeight ? -w : w < zero ? -w : w;
            q = Traits::kGain ? u * (r + r - b * u) : Traits::kWeight ? -u : u < zero ? -u : u;
          } else {
            p = Traits::kGain ? g * g : Traits::kWeight ? -g : g < zero ? -g : g;
            q = Traits::kGain ? r * r : Traits::kWeight ? -r : r < zero ? -r : r;
          }
          Ints const may_a = hess[v] > may[v], does_a = hess[v] > does[v];
          Ints const may_b = rest_hess > may[v], does_b = rest_hess > does[v];
          bits |= ((may_a ^ all_must) & ReachBits::kPassedMay) |
                  ((does_a ^ all_must) & ReachBits::kPassedDoes) |
                  ((may_b ^ all_must) & ReachBits::kRestMay) |
                  ((does_b ^ all_must) & ReachBits::kRestDoes) |
                  (((may_a & ~does_a & (p != zero)) | (may_b & ~does_b & (q != zero))) &
                   ReachBits::kInDoubt);
          Ints const take_a = Traits::kWeight ? (p > zero) ^ lowest : ~lowest;
          Ints const take_b = Traits::kWeight ? (q > zero) ^ lowest : ~lowest;
          p = (does_a | (may_a & take_a)) ? p : zero;
          q = (does_b | (may_b & take_b)) ? q : zero;
          if constexpr (Traits::kSum) {
            sum += kRule == ScanRule::kClipped ? p + q : (p * b + q * a) / (a * b);
          } else {
            if constexpr (kRule == ScanRule::kCounted) {
              p /= a;
              q /= b;
            }
            p += padding[v];
            q += padding[v];
            largest = p > largest ? p : largest;
            largest_rest = q > largest_rest ? q : largest_rest;
          }
        }
#pragma GCC unroll 4
        for (int lane = kLanes / 2; lane > 0; lane /= 2) {
          bits |= __builtin_shuffle(bits, kIndex ^ lane);
          if constexpr (Traits::kSum) {
            sum += __builtin_shuffle(sum, kIndex ^ lane);
          } else {
            Floats const p = __builtin_shuffle(largest, kIndex ^ lane);
            Floats const q = __builtin_shuffle(largest_rest, kIndex ^ lane);
            largest = p > largest ? p : largest;
            largest_rest = q > largest_rest ? q : largest_rest;
          }
        }
        float const passed = Traits::kSum ? sum[0] : largest[0];
        float const rest = Traits::kSum ? 0.0f : largest_rest[0];
        if (lowest[0] != 0) {
          out.doubt[n_candidates] = (out.passed[n_candidates] - passed) +
                                    (Traits::kSum ? 0.0f : out.rest[n_candidates] - rest);
          break;
        }
        out.passed[n_candidates] = passed;
        if constexpr (!Traits::kSum) {
          out.rest[n_candidates] = rest;
        }
        out.bits[n_candidates] = bits[0];
        if ((bits[0] & ReachBits::kInDoubt) == 0) {
          break;
        }
      }
    } else if constexpr (Traits::kSum) {
      Floats sum{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Floats const g = __builtin_convertvector(grad[v], Floats);
        Floats const a = __builtin_convertvector(hess[v], Floats) * hess_scale[v] + lambda[v];
        Ints const rest_hess = totals[kVectors + v] - hess[v];
        Floats const b = __builtin_convertvector(rest_hess, Floats) * hess_scale[v] + lambda[v];
        if constexpr (kMethod == SplitMethod::kSumGain) {
          Floats const t = (g - mean[v] * a) * grad_scale[v];
          sum += total[v] * t * t / (a * b);
        } else {
          Ints const rest_grad = totals[v] - grad[v];
          Floats const r = __builtin_convertvector(rest_grad, Floats);
          Floats const p = Traits::kWeight ? -g : g < zero ? -g : g;
          Floats const q = Traits::kWeight ? -r : r < zero ? -r : r;
          sum += grad_scale[v] * (p * b + q * a) / (a * b);
        }
      }
#pragma GCC unroll 4
      for (int lane = kLanes / 2; lane > 0; lane /= 2) {
        sum += __builtin_shuffle(sum, kIndex ^ lane);
      }
      out.passed[n_candidates] = sum[0];
    } else {
      Floats largest = Floats{} - kInf, largest_rest = Floats{} - kInf;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Floats const g = __builtin_convertvector(grad[v], Floats) * grad_scale[v];
        Floats const a = __builtin_convertvector(hess[v], Floats) * hess_scale[v] + lambda[v];
        Ints const rest_hess = totals[kVectors + v] - hess[v];
        Floats const b = __builtin_convertvector(rest_hess, Floats) * hess_scale[v] + lambda[v];
        Ints const rest_grad = totals[v] - grad[v];
        Floats const r = __builtin_convertvector(rest_grad, Floats) * grad_scale[v];
        Floats const p = (Traits::kGain     ? g * g
                          : Traits::kWeight ? -g
                          : g < zero        ? -g
                                            : g) /
                             a +
                         padding[v];
        Floats const q = (Traits::kGain     ? r * r
                          : Traits::kWeight ? -r
                          : r < zero        ? -r
                                            : r) /
                             b +
                         padding[v];
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
#pragma GCC unroll 4
      for (int lane = kLanes / 2; lane > 0; lane /= 2) {
        Floats const p = __builtin_shuffle(largest, kIndex ^ lane);
        Floats const q = __builtin_shuffle(largest_rest, kIndex ^ lane);
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
      out.passed[n_candidates] = largest[0];
      out.rest[n_candidates] = largest_rest[0];
    }
    ++n_candidates;
    if (range.separate) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        grad[v] = hess[v] = Ints{};
      }
    }
  }
  return n_candidates;
}

/** @brief Add up the rows of a list. */
template <int kVectors>
XDCC_TARGET_CLONES void SumList(ListEntry const* entries, std::size_t n, std::int32_t const* rows,
                                std::int32_t* out) {
  Int16 sums[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = Int16{};
  }
  for (std::size_t i = 0; i < n; ++i) {
    auto const* row =
        reinterpret_cast<Int16 const*>(rows + (entries[i] & kRowMask) * (16 * kVectors));
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += row[v];
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    reinterpret_cast<Int16*>(out)[v] = sums[v];
  }
}

template <SplitMethod kMethod, ScanRule kRule>
ListScanFn ListScanOfWidth(std::size_t width) {
  if constexpr (kRule == ScanRule::kCounted || kRule == ScanRule::kClipped) {
    // Comparisons of vectors that the machine does not have are slow: none is wider than 32 bytes.
    return width == 8 ? &ScanList<kMethod, kRule, 8, 1> : &ScanList<kMethod, kRule, 8, 2>;
  } else {
    switch (width) {
      case 8:
        return &ScanList<kMethod, kRule, 8, 1>;
      case 16:
        return &ScanList<kMethod, kRule, 16, 1>;
      case 24:
        return &ScanList<kMethod, kRule, 8, 3>;
      case 32:
        return &ScanList<kMethod, kRule, 16, 2>;
      case 48:
        return &ScanList<kMethod, kRule, 16, 3>;
      case 64:
        return &ScanList<kMethod, kRule, 16, 4>;
      default:
        LOG(FATAL) << "Unreachable";
        return nullptr;
    }
  }
}

template <SplitMethod kMethod>
ListScanFn ListScanOfRule(ScanRule rule, std::size_t width) {
  switch (rule) {
    case ScanRule::kPlain:
      return ListScanOfWidth<kMethod, ScanRule::kPlain>(width);
    case ScanRule::kMean:
      return ListScanOfWidth<kMethod, ScanRule::kMean>(width);
    case ScanRule::kCounted:
      return ListScanOfWidth<kMethod, ScanRule::kCounted>(width);
    case ScanRule::kClipped:
      return ListScanOfWidth<kMethod, ScanRule::kClipped>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}

}  // namespace

ListSumFn ListSumOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return &SumList<1>;
    case 16:
      return &SumList<2>;
    case 24:
      return &SumList<3>;
    case 32:
      return &SumList<4>;
    case 48:
      return &SumList<6>;
    case 64:
      return &SumList<8>;
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

ListScanFn ChooseListScan(SplitMethod method, ScanRule rule, std::size_t width) {
  switch (method) {
    case SplitMethod::kSumGain:
      return ListScanOfRule<SplitMethod::kSumGain>(rule, width);
    case SplitMethod::kMaxGain:
      return ListScanOfRule<SplitMethod::kMaxGain>(rule, width);
    case SplitMethod::kSumWeight:
      return ListScanOfRule<SplitMethod::kSumWeight>(rule, width);
    case SplitMethod::kMaxWeight:
      return ListScanOfRule<SplitMethod::kMaxWeight>(rule, width);
    case SplitMethod::kSumAbsG:
      return ListScanOfRule<SplitMethod::kSumAbsG>(rule, width);
    case SplitMethod::kMaxAbsG:
      return ListScanOfRule<SplitMethod::kMaxAbsG>(rule, width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}
}  // namespace xgboost::multilabel
