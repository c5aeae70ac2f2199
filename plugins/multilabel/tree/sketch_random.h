/**
 * @brief Random numbers by position: the i-th number of a key does not depend on other draws.
 *
 * A tree's sketch must not depend on the number of threads or on what was drawn before, and the
 * reference implementation in Python must find the same numbers. So a number is a hash of (key, i):
 * the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014), as that generator applies it to its i-th state.
 */
#ifndef XDCC_MULTILABEL_SKETCH_RANDOM_H_
#define XDCC_MULTILABEL_SKETCH_RANDOM_H_

#include <cmath>             // for cos, log, sqrt
#include <cstdint>           // for uint64_t
#include <initializer_list>  // for initializer_list

namespace xgboost::multilabel {
class SketchRandom {
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::uint64_t key_{0};

  static constexpr std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 public:
  /** @param parts Purpose of the numbers: seed, round, purpose, ... */
  SketchRandom(std::initializer_list<std::uint64_t> parts) {
    for (auto part : parts) {
      key_ = Mix(key_ + kGolden * (part + 1));
    }
  }
  [[nodiscard]] std::uint64_t Bits(std::uint64_t i) const { return Mix(key_ + kGolden * (i + 1)); }
  /** @brief Uniform in the open interval (0, 1). */
  [[nodiscard]] double Uniform(std::uint64_t i) const {
    return (static_cast<double>(Bits(i) >> 11) + 0.5) * 0x1p-53;
  }
  /** @brief Standard normal, by Box and Muller's transform. */
  [[nodiscard]] double Normal(std::uint64_t i) const {
    constexpr double kTwoPi = 6.283185307179586;
    return std::sqrt(-2.0 * std::log(Uniform(2 * i))) * std::cos(kTwoPi * Uniform(2 * i + 1));
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_RANDOM_H_
