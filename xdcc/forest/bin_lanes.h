/**
 * @brief Loops over the rows of a node for eight features at once: their bins are lanes of vectors.
 *
 * A row has eight bins, one after the other. The vectors change speed, not results.
 */
#ifndef XDCC_FOREST_BIN_LANES_H_
#define XDCC_FOREST_BIN_LANES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace xdcc_forest {

/** @brief A row's bins of eight features, or how many rows there are for each. */
typedef std::uint8_t Bins __attribute__((vector_size(8)));
/** @brief Result of a comparison of bins: -1 for true, else 0. */
typedef std::int8_t Flags __attribute__((vector_size(8)));
/** @brief A sum for each of eight features. */
typedef std::int32_t Sums __attribute__((vector_size(32)));

/** @brief Get the bins of a row. */
inline Bins BinsOf(std::uint8_t const* bins, std::int64_t row) {
  Bins of_row;
  std::memcpy(&of_row, bins + sizeof(Bins) * row, sizeof(Bins));
  return of_row;
}

/** @brief Find the least and the largest bin of each feature. */
inline void find_ranges(std::uint8_t* least, std::uint8_t* largest, std::uint8_t const* bins,
                        std::int64_t n_rows) {
  Bins low = BinsOf(bins, 0), high = low;
  for (std::int64_t i = 1; i < n_rows; ++i) {
    Bins const of_row = BinsOf(bins, i);
    low = of_row < low ? of_row : low;
    high = of_row > high ? of_row : high;
  }
  std::memcpy(least, &low, sizeof(low));
  std::memcpy(largest, &high, sizeof(high));
}

/** @brief Count the rows with a larger bin of a feature than its cut, and sum up their values. */
inline void sum_larger(std::int32_t* n_larger, std::int32_t* sums, std::uint8_t const* bins,
                       std::uint8_t const* cut, std::int32_t const* value, std::int64_t stride,
                       std::int64_t n_rows) {
  constexpr std::int64_t kLargestCount = 255;  // of a lane of `Bins`
  Bins const cuts = BinsOf(cut, 0);
  Sums number = {0, 0, 0, 0, 0, 0, 0, 0}, total = number;
  for (std::int64_t begin = 0; begin < n_rows; begin += kLargestCount) {
    Bins count = {0, 0, 0, 0, 0, 0, 0, 0};
    std::int64_t const end = std::min(begin + kLargestCount, n_rows);
    for (std::int64_t i = begin; i < end; ++i) {
      Flags const larger = reinterpret_cast<Flags>(BinsOf(bins, i) > cuts);
      count -= reinterpret_cast<Bins>(larger);
      total += __builtin_convertvector(larger, Sums) & value[stride * i];
    }
    number += __builtin_convertvector(count, Sums);
  }
  std::memcpy(n_larger, &number, sizeof(number));
  std::memcpy(sums, &total, sizeof(total));
}

}  // namespace xdcc_forest

#endif  // XDCC_FOREST_BIN_LANES_H_
