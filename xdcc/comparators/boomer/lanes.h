/**
 * @brief SIMD vector types.
 *
 * Cython has none; `lanes.pxd` declares these for its loops. They change speed, not results.
 * Without them, fits take 33 % more CPU time (up to 70 %); without multiversioning
 * (`multiversion.h`), 72 % more (up to three times as much): one thread, means over eleven settings
 * on four data sets.
 */
#ifndef XDCC_BOOMER_LANES_H_
#define XDCC_BOOMER_LANES_H_

namespace xdcc_boomer {

/** @brief Four numbers, at any address. */
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
/** @brief Eight numbers, at any address. */
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));

/** @brief Take the larger number in each lane; the second one if either is NaN. */
inline void take_larger(Four& first, const Four& second) {
  first = first > second ? first : second;
}

/** @brief Invert positive numbers and set the others to 0. */
inline void invert_positive(Eight& numbers) {
  const Eight zero = {0, 0, 0, 0, 0, 0, 0, 0};
  numbers = numbers > zero ? 1 / numbers : zero;
}

}  // namespace xdcc_boomer

#endif  // XDCC_BOOMER_LANES_H_
