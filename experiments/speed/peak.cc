// Two loops whose speed is the machine's peak for building histograms.
//
// Compiled and called by roofline.py, which times them.

#include <cstddef>
#include <cstdint>

// Add rows of a float matrix to the bins of a histogram in double precision: for every entry a row
// of `width` numbers, entry after entry. This is what a histogram of all labels' gradients needs,
// with nothing else around it.
extern "C" void AddToHistogram(float const* __restrict rows, std::uint32_t const* __restrict row_of,
                               std::uint32_t const* __restrict bin_of, std::size_t n_entries,
                               std::size_t width, double* __restrict histogram) {
  for (std::size_t e = 0; e < n_entries; ++e) {
    float const* row = rows + row_of[e] * width;
    double* bin = histogram + bin_of[e] * width;
    for (std::size_t k = 0; k < width; ++k) {
      bin[k] += row[k];
    }
  }
}

// Read memory in order; whole numbers, whose sum the compiler may reorder.
extern "C" std::uint64_t ReadAll(std::uint64_t const* values, std::size_t n) {
  std::uint64_t sum{0};
  for (std::size_t i = 0; i < n; ++i) {
    sum += values[i];
  }
  return sum;
}
