/**
 * @brief Numbers of several rows side by side, in SIMD vectors.
 *
 * What is computed for a row is the same, operation by operation, for one row and for eight.
 */
#ifndef XDCC_DECISION_ROW_LANES_H_
#define XDCC_DECISION_ROW_LANES_H_

#include <algorithm>  // for copy, copy_n
#include <cstdint>    // for int64_t, uint64_t
#include <cstring>    // for memcpy
#include <vector>     // for vector

namespace xdcc {
/** @brief So many rows are computed at once. */
inline constexpr int kManyRows = 8;

/** @brief Numbers of one row, or of many. */
template <int kRows>
struct Lanes;

template <>
struct Lanes<1> {
  using Real = double;
  using Whole = std::int64_t;
  template <typename Number>
  static Number& At(Number& lanes, int) {
    return lanes;
  }
  static bool Any(bool mask) { return mask; }
};

template <>
struct Lanes<kManyRows> {
  typedef double Real __attribute__((vector_size(64)));
  typedef std::int64_t Whole __attribute__((vector_size(64)));
  typedef std::uint64_t Bits __attribute__((vector_size(64)));
  template <typename Numbers>
  static auto& At(Numbers& lanes, int row) {
    return lanes[row];
  }
  static bool Any(Whole const& mask) {
    std::int64_t any = 0;
    for (int row = 0; row < kManyRows; ++row) {
      any |= mask[row];
    }
    return any != 0;
  }
};

/** @brief An array of such numbers, aligned as vectors are. */
template <int kRows>
class LaneArray {
 public:
  using Real = typename Lanes<kRows>::Real;

  /** @brief Make room for so many numbers, and return them. */
  Real* Resize(std::int64_t size) {
    values_.resize(size);
    return this->Data();
  }
  Real* Data() { return reinterpret_cast<Real*>(values_.data()); }

 private:
  struct alignas(sizeof(Real)) Value {
    unsigned char bytes[sizeof(Real)];
  };
  std::vector<Value> values_;
};

/** @brief Replace numbers as ExpOfNegative does, eight at once. */
inline void ExpOfSome(Lanes<kManyRows>::Real* numbers) {
  using Real = Lanes<kManyRows>::Real;
  constexpr double kRound = 0x1.8p52;  // its sum with a small number has that, rounded, in its bits
  constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
  constexpr double kInverse[] = {1.0 / 6227020800,
                                 1.0 / 479001600,
                                 1.0 / 39916800,
                                 1.0 / 3628800,
                                 1.0 / 362880,
                                 1.0 / 40320,
                                 1.0 / 5040,
                                 1.0 / 720,
                                 1.0 / 120,
                                 1.0 / 24,
                                 1.0 / 6,
                                 0.5,
                                 1.0,
                                 1.0};  // of factorials
  Real const x = *numbers;
  Real const shifted = x * 0x1.71547652b82fep0 + kRound;  // the logarithm to base 2
  Real const exponent = shifted - kRound;
  Real const rest = (x - exponent * kLog2High) - exponent * kLog2Low;
  Real power = Real{} + kInverse[0];
  for (int i = 1; i < 14; ++i) {
    power = power * rest + kInverse[i];
  }
  Lanes<kManyRows>::Bits bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 1023) << 52;
  Real scale;
  std::memcpy(&scale, &bits, sizeof(scale));
  *numbers = x < -708.0 ? Real{} : power * scale;
}

/**
 * @brief Replace numbers up to 0 by their exponentials: 0 below -708, and NaN of NaN.
 *
 * The error is about one unit in the last place, on every machine the same.
 */
inline void ExpOfNegative(double* numbers, std::int64_t size) {
  Lanes<kManyRows>::Real here;
  std::int64_t begin = 0;
  for (; begin + kManyRows <= size; begin += kManyRows) {
    std::memcpy(&here, numbers + begin, sizeof(here));
    ExpOfSome(&here);
    std::memcpy(numbers + begin, &here, sizeof(here));
  }
  here = Lanes<kManyRows>::Real{};
  std::copy(numbers + begin, numbers + size, reinterpret_cast<double*>(&here));
  ExpOfSome(&here);
  std::copy_n(reinterpret_cast<double*>(&here), size - begin, numbers + begin);
}

}  // namespace xdcc
#endif  // XDCC_DECISION_ROW_LANES_H_
