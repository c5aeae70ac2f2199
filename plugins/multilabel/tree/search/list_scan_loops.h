/**
 * @brief The loops of `list_scan.h`, compiled for each split method, rule, width and instruction
 * set.
 *
 * That takes long, so each kind of method has a file (`list_scan_gain.cc`, `list_scan_weight.cc`,
 * `list_scan_gradient.cc`), and several are compiled at once.
 */
#ifndef XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_
#define XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t, uint32_t
#include <limits>   // for numeric_limits

#include "../../vectorised.h"  // for Float8, Int8, XDCC_TARGET_CLONES
#include "../split_score.h"    // for MethodTraits
#include "list_scan.h"
#include "xgboost/logging.h"  // for LOG

namespace xgboost::multilabel {
namespace {
/** @brief Score the candidates of a range; returns their number. */
template <SplitMethod kMethod, ScanRule kRule, int kVectors>
XDCC_TARGET_CLONES std::uint32_t ScanList(ListRange range, ChunkView chunk, ScanOutput out) {
  // Everything stands in this one body: a helper would be compiled without the wide vectors.
  using Traits = MethodTraits<kMethod>;
  constexpr std::size_t kWidth = 8 * kVectors;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr bool kBounds = kRule == ScanRule::kBounded;
  constexpr bool kCounts = kRule == ScanRule::kCounted || kRule == ScanRule::kClipped || kBounds;
  constexpr bool kSteps = kRule == ScanRule::kClipped;
  constexpr bool kSoft = kCounts || kSteps || kRule == ScanRule::kShrunk;
  constexpr std::int32_t kAbsolute = std::numeric_limits<std::int32_t>::max();
  bool const shrinks = chunk.alpha != 0.0f;
  // Copies, because the compiler must take it that writing a score may change what is pointed to.
  Int8 totals[2 * kVectors], grad[kVectors], hess[kVectors];
  Float8 grad_scale[kVectors], hess_scale[kVectors], lambda[kVectors], mean[kVectors],
      total[kVectors], padding[kVectors];
  Int8 may[kVectors], does[kVectors];
  Float8 const zero{};
  XDCC_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    grad[v] = hess[v] = Int8{};
    totals[v] = reinterpret_cast<Int8 const*>(chunk.totals)[v];
    totals[kVectors + v] = reinterpret_cast<Int8 const*>(chunk.totals)[kVectors + v];
    grad_scale[v] = reinterpret_cast<Float8 const*>(chunk.grad_scale)[v];
    hess_scale[v] = reinterpret_cast<Float8 const*>(chunk.hess_scale)[v];
    lambda[v] = reinterpret_cast<Float8 const*>(chunk.lambda)[v];
    mean[v] = reinterpret_cast<Float8 const*>(chunk.mean)[v];
    total[v] = reinterpret_cast<Float8 const*>(chunk.total)[v];
    padding[v] = reinterpret_cast<Float8 const*>(chunk.padding)[v];
    if constexpr (kCounts) {
      may[v] = reinterpret_cast<Int8 const*>(chunk.may)[v];
      does[v] = reinterpret_cast<Int8 const*>(chunk.does)[v];
    }
  }
  Int8 const all_must = Int8{} + chunk.all_must;
  Float8 const alpha = zero + chunk.alpha, max_step = zero + chunk.max_step;
  Float8 const least = zero + std::numeric_limits<float>::min() * 1e6f;  // instead of 0
  std::uint32_t n_candidates{0};
  auto const* const rows = chunk.rows.data;
  bool const is_packed = chunk.rows.is_packed;
  std::uint32_t const n_fetched = chunk.rows.is_far ? range.n : 0;
  auto const* it = range.first;
  ListEntry entry = *it;
  for (std::uint32_t i = 1; i <= range.n; ++i) {
    bool const fetches = i + kRowsAhead <= n_fetched;
    auto const ahead = static_cast<std::ptrdiff_t>(kRowsAhead) * range.step;
    if (is_packed) {
      if (fetches) {
        Prefetch(rows + (it[ahead] & kRowMask) * kWidth, kWidth * sizeof(std::int32_t));
      }
      auto const* row = reinterpret_cast<Int8 const*>(rows + (entry & kRowMask) * kWidth);
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        Int8 const both = row[v];
        grad[v] += both >> kPackedShift;
        hess[v] += both & kPackedMask;
      }
    } else {
      if (fetches) {
        Prefetch(rows + (it[ahead] & kRowMask) * 2 * kWidth, 2 * kWidth * sizeof(std::int32_t));
      }
      auto const* row = reinterpret_cast<Int8 const*>(rows + (entry & kRowMask) * (2 * kWidth));
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        grad[v] += row[v];
        hess[v] += row[kVectors + v];
      }
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
        Float8 sum{};
        XDCC_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) {
          sum += __builtin_convertvector(hess[v], Float8) * hess_scale[v];
        }
        XDCC_UNROLL(4)
        for (int k = 0; k < 3; ++k) {
          sum += XDCC_SWAP_LANES(sum, 4 >> k);
        }
        out.hess[n_candidates] = sum[0];
      }
    }
    if constexpr (kBounds) {
      Int8 passed_does{}, rest_does{}, in_doubt{}, disordered{}, maybe{};
      Float8 sum{}, doubt{}, error{}, largest = zero - kInf, largest_rest = zero - kInf;
      Float8 const order = zero + static_cast<float>(range.order);
      Float8 const relative = zero + chunk.relative_error;
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        Int8 const rest_hess = totals[kVectors + v] - hess[v], rest_grad = totals[v] - grad[v];
        Float8 a = __builtin_convertvector(hess[v], Float8) * hess_scale[v] + lambda[v];
        Float8 b = __builtin_convertvector(rest_hess, Float8) * hess_scale[v] + lambda[v];
        Float8 const g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
        Float8 const r = __builtin_convertvector(rest_grad, Float8) * grad_scale[v];
        Float8 const lower = reinterpret_cast<Float8 const*>(chunk.lower)[v];
        Float8 const upper = reinterpret_cast<Float8 const*>(chunk.upper)[v];
        Float8 const grad_error = reinterpret_cast<Float8 const*>(chunk.grad_error)[v];
        Float8 const hess_error = reinterpret_cast<Float8 const*>(chunk.hess_error)[v];
        a = a < least ? least : a;
        b = b < least ? least : b;
        Int8 const may_a = hess[v] > may[v], does_a = hess[v] > does[v];
        Int8 const may_b = rest_hess > may[v], does_b = rest_hess > does[v];
        passed_does |= does_a ^ all_must;
        rest_does |= does_b ^ all_must;
        in_doubt |= (may_a ^ does_a) | (may_b ^ does_b);
#define XDCC_CLIP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
        // -soft(G) / H within max_delta_step
        Float8 w = XDCC_CLIP((XDCC_CLIP(g, -alpha, alpha) - g) / a, -max_step, max_step);
        Float8 u = XDCC_CLIP((XDCC_CLIP(r, -alpha, alpha) - r) / b, -max_step, max_step);
        w = may_a ? w : zero;
        u = may_b ? u : zero;
        Float8 const w_size = Float8(Int8(w) & kAbsolute), u_size = Float8(Int8(u) & kAbsolute);
        Float8 const w_error =
            relative * w_size + (grad_error + relative * alpha + w_size * hess_error) / a;
        Float8 const u_error =
            relative * u_size + (grad_error + relative * alpha + u_size * hess_error) / b;
        if (range.order != 0) {
          Float8 const w_most = w + order * w_error, u_least = u - order * u_error;
          Float8 const w_least = w - order * w_error, u_most = u + order * u_error;
          maybe |=
              (XDCC_CLIP(w_most, lower, upper) - XDCC_CLIP(u_least, lower, upper)) * order > zero;
          disordered |=
              (XDCC_CLIP(w_least, lower, upper) - XDCC_CLIP(u_most, lower, upper)) * order > zero;
          Float8 const s = g + r, twice = alpha + alpha;
          Float8 const common =
              XDCC_CLIP((XDCC_CLIP(s, -twice, twice) - s) / (a + b), -max_step, max_step);
          Int8 const pools =
              (XDCC_CLIP(w, lower, upper) - XDCC_CLIP(u, lower, upper)) * order > zero;
          w = pools ? common : w;
          u = pools ? common : u;
        }
        w = XDCC_CLIP(w, lower, upper);
        u = XDCC_CLIP(u, lower, upper);
#undef XDCC_CLIP
        Float8 const w_abs = Float8(Int8(w) & kAbsolute), u_abs = Float8(Int8(u) & kAbsolute);
        Float8 p = w, q = u, p_error = w_error + u_error, q_error = p_error;
        if constexpr (Traits::kGain) {
          Float8 const g_abs = Float8(Int8(g) & kAbsolute), r_abs = Float8(Int8(r) & kAbsolute);
          p = -w * (g + g + a * w) - (alpha + alpha) * w_abs;
          q = -u * (r + r + b * u) - (alpha + alpha) * u_abs;
          p_error = w_abs * (relative * (g_abs + g_abs + a * w_abs + alpha + alpha) + grad_error +
                             grad_error + w_abs * hess_error) +
                    a * p_error * p_error;
          q_error = u_abs * (relative * (r_abs + r_abs + b * u_abs + alpha + alpha) + grad_error +
                             grad_error + u_abs * hess_error) +
                    b * q_error * q_error;
        } else if constexpr (!Traits::kWeight) {
          p = w_abs;
          q = u_abs;
        }
        // What does not surely count may be left out.
        doubt += does_a ? zero : may_a ? Float8(Int8(p) & kAbsolute) : zero;
        doubt += does_b ? zero : may_b ? Float8(Int8(q) & kAbsolute) : zero;
        p = does_a ? p : (may_a & (p > zero)) ? p : zero;
        q = does_b ? q : (may_b & (q > zero)) ? q : zero;
        error += (may_a ? p_error : zero) + (may_b ? q_error : zero);
        if constexpr (Traits::kSum) {
          sum += p + q;
        } else {
          p += padding[v];
          q += padding[v];
          largest = p > largest ? p : largest;
          largest_rest = q > largest_rest ? q : largest_rest;
        }
      }
      Int8 const out_of_order = Int8{} + chunk.must_be_ordered;
      Int8 bits = (passed_does & ReachBits::kPassed) | (rest_does & ReachBits::kRest) |
                  (in_doubt & ReachBits::kInDoubt) |
                  (disordered & out_of_order & ReachBits::kDisordered) |
                  (maybe & ~disordered & out_of_order & ReachBits::kMaybeDisordered);
      XDCC_UNROLL(4)
      for (int k = 0; k < 3; ++k) {
        bits |= XDCC_SWAP_LANES(bits, 4 >> k);
        error += XDCC_SWAP_LANES(error, 4 >> k);
        doubt += XDCC_SWAP_LANES(doubt, 4 >> k);
        if constexpr (Traits::kSum) {
          sum += XDCC_SWAP_LANES(sum, 4 >> k);
        } else {
          Float8 const p = XDCC_SWAP_LANES(largest, 4 >> k);
          Float8 const q = XDCC_SWAP_LANES(largest_rest, 4 >> k);
          largest = p > largest ? p : largest;
          largest_rest = q > largest_rest ? q : largest_rest;
        }
      }
      out.bits[n_candidates] = bits[0];
      out.passed[n_candidates] = (Traits::kSum ? sum[0] : largest[0]) + error[0];
      if constexpr (!Traits::kSum) {
        out.rest[n_candidates] = largest_rest[0] + error[0];
      }
      out.doubt[n_candidates] = doubt[0] + 4.0f * error[0];
    } else if constexpr (kSoft) {
      if constexpr (kCounts) {
        out.doubt[n_candidates] = 0.0f;
      }
      // The highest score that labels in doubt allow; if there are any, the lowest one, too.
      for (Int8 lowest{};; lowest = ~lowest) {
        Int8 passed_does{}, rest_does{}, in_doubt{};
        Float8 sum{}, largest = zero - kInf, largest_rest = zero - kInf;
        XDCC_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) {
          Int8 const rest_hess = totals[kVectors + v] - hess[v], rest_grad = totals[v] - grad[v];
          Float8 a = __builtin_convertvector(hess[v], Float8) * hess_scale[v] + lambda[v];
          Float8 b = __builtin_convertvector(rest_hess, Float8) * hess_scale[v] + lambda[v];
          Float8 g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
          Float8 r = __builtin_convertvector(rest_grad, Float8) * grad_scale[v];
          if constexpr (!Traits::kWeight) {
            g = Float8(Int8(g) & kAbsolute);
            r = Float8(Int8(r) & kAbsolute);
          }
          if (kRule == ScanRule::kShrunk || shrinks) {
            if constexpr (Traits::kWeight) {
              Float8 const g_most = g > alpha ? alpha : g, r_most = r > alpha ? alpha : r;
              g -= g_most < -alpha ? -alpha : g_most;
              r -= r_most < -alpha ? -alpha : r_most;
            } else {
              g -= alpha;
              r -= alpha;
              g = g > zero ? g : zero;
              r = r > zero ? r : zero;
            }
          }
          Float8 p, q;
          if constexpr (kSteps) {
            a = a < least ? least : a;
            b = b < least ? least : b;
            Float8 w = g / a, u = r / b;
            w = w > max_step ? max_step : w;
            u = u > max_step ? max_step : u;
            if constexpr (Traits::kWeight) {
              w = w < -max_step ? -max_step : w;
              u = u < -max_step ? -max_step : u;
            }
            p = Traits::kGain ? w * (g + g - a * w) : Traits::kWeight ? -w : w;
            q = Traits::kGain ? u * (r + r - b * u) : Traits::kWeight ? -u : u;
          } else {
            p = Traits::kGain ? g * g : Traits::kWeight ? -g : g;
            q = Traits::kGain ? r * r : Traits::kWeight ? -r : r;
          }
          if constexpr (kCounts) {
            Int8 const may_a = hess[v] > may[v], does_a = hess[v] > does[v];
            Int8 const may_b = rest_hess > may[v], does_b = rest_hess > does[v];
            passed_does |= does_a ^ all_must;
            rest_does |= does_b ^ all_must;
            in_doubt |= (may_a ^ does_a) | (may_b ^ does_b);
            Int8 const take_a = Traits::kWeight ? (p > zero) ^ lowest : ~lowest;
            Int8 const take_b = Traits::kWeight ? (q > zero) ^ lowest : ~lowest;
            p = (does_a | (may_a & take_a)) ? p : zero;
            q = (does_b | (may_b & take_b)) ? q : zero;
          }
          if constexpr (Traits::kSum) {
            sum += kSteps ? p + q : XDCC_SUM_OF_FRACTIONS(p, a, q, b);
          } else {
            if constexpr (!kSteps) {
              p /= a;
              q /= b;
            }
            p += padding[v];
            q += padding[v];
            largest = p > largest ? p : largest;
            largest_rest = q > largest_rest ? q : largest_rest;
          }
        }
        Int8 bits = (passed_does & ReachBits::kPassed) | (rest_does & ReachBits::kRest) |
                    (in_doubt & ReachBits::kInDoubt);
        XDCC_UNROLL(4)
        for (int k = 0; k < 3; ++k) {
          bits |= XDCC_SWAP_LANES(bits, 4 >> k);
          if constexpr (Traits::kSum) {
            sum += XDCC_SWAP_LANES(sum, 4 >> k);
          } else {
            Float8 const p = XDCC_SWAP_LANES(largest, 4 >> k);
            Float8 const q = XDCC_SWAP_LANES(largest_rest, 4 >> k);
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
        if constexpr (!kCounts) {
          break;
        }
        out.bits[n_candidates] = bits[0];
        if ((bits[0] & ReachBits::kInDoubt) == 0) {
          break;
        }
      }
    } else if constexpr (Traits::kSum) {
      Float8 sum{};
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        Float8 const g = __builtin_convertvector(grad[v], Float8);
        Float8 const a = __builtin_convertvector(hess[v], Float8) * hess_scale[v] + lambda[v];
        Int8 const rest_hess = totals[kVectors + v] - hess[v];
        Float8 const b = __builtin_convertvector(rest_hess, Float8) * hess_scale[v] + lambda[v];
        if constexpr (kMethod == SplitMethod::kSumGain) {
          Float8 const t = (g - mean[v] * a) * grad_scale[v];
          sum += total[v] * t * t / (a * b);
        } else {
          Int8 const rest_grad = totals[v] - grad[v];
          Float8 const r = __builtin_convertvector(rest_grad, Float8);
          Float8 const p = Traits::kWeight ? -g : g < zero ? -g : g;
          Float8 const q = Traits::kWeight ? -r : r < zero ? -r : r;
          sum += grad_scale[v] * XDCC_SUM_OF_FRACTIONS(p, a, q, b);
        }
      }
      XDCC_UNROLL(4)
      for (int k = 0; k < 3; ++k) {
        sum += XDCC_SWAP_LANES(sum, 4 >> k);
      }
      out.passed[n_candidates] = sum[0];
    } else {
      Float8 largest = Float8{} - kInf, largest_rest = Float8{} - kInf;
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        Float8 const g = __builtin_convertvector(grad[v], Float8) * grad_scale[v];
        Float8 const a = __builtin_convertvector(hess[v], Float8) * hess_scale[v] + lambda[v];
        Int8 const rest_hess = totals[kVectors + v] - hess[v];
        Float8 const b = __builtin_convertvector(rest_hess, Float8) * hess_scale[v] + lambda[v];
        Int8 const rest_grad = totals[v] - grad[v];
        Float8 const r = __builtin_convertvector(rest_grad, Float8) * grad_scale[v];
        Float8 const p = (Traits::kGain     ? g * g
                          : Traits::kWeight ? -g
                          : g < zero        ? -g
                                            : g) /
                             a +
                         padding[v];
        Float8 const q = (Traits::kGain     ? r * r
                          : Traits::kWeight ? -r
                          : r < zero        ? -r
                                            : r) /
                             b +
                         padding[v];
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
      XDCC_UNROLL(4)
      for (int k = 0; k < 3; ++k) {
        Float8 const p = XDCC_SWAP_LANES(largest, 4 >> k);
        Float8 const q = XDCC_SWAP_LANES(largest_rest, 4 >> k);
        largest = p > largest ? p : largest;
        largest_rest = q > largest_rest ? q : largest_rest;
      }
      out.passed[n_candidates] = largest[0];
      out.rest[n_candidates] = largest_rest[0];
    }
    ++n_candidates;
    if (range.separate) {
      XDCC_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        grad[v] = hess[v] = Int8{};
      }
    }
  }
  return n_candidates;
}

template <SplitMethod kMethod, ScanRule kRule>
ListScanFn ListScanOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return XDCC_BEST_CLONE(ScanList<kMethod, kRule, 1>);
    case 16:
      return XDCC_BEST_CLONE(ScanList<kMethod, kRule, 2>);
    case 24:
      return XDCC_BEST_CLONE(ScanList<kMethod, kRule, 3>);
    case 32:
      return XDCC_BEST_CLONE(ScanList<kMethod, kRule, 4>);
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

}  // namespace

/** @brief The loop of a method: defined where the method is named. */
template <SplitMethod kMethod>
ListScanFn ListScanOf(ScanRule rule, std::size_t width) {
  switch (rule) {
    case ScanRule::kPlain:
      return ListScanOfWidth<kMethod, ScanRule::kPlain>(width);
    case ScanRule::kMean:
      return ListScanOfWidth<kMethod, ScanRule::kMean>(width);
    case ScanRule::kShrunk:
      return ListScanOfWidth<kMethod, ScanRule::kShrunk>(width);
    case ScanRule::kCounted:
      return ListScanOfWidth<kMethod, ScanRule::kCounted>(width);
    case ScanRule::kClipped:
      return ListScanOfWidth<kMethod, ScanRule::kClipped>(width);
    case ScanRule::kBounded:
      return ListScanOfWidth<kMethod, ScanRule::kBounded>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_SCAN_LOOPS_H_
