// Limits of the machine: the peak of building histograms, and one pass over rows and labels.
//
// Compiled and called by limits.py, which times them.

#include <cstddef>
#include <cstdint>
#include <cstring>

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

namespace {
// exp(x): 2 to a whole number, by its bits, times 2 to a fraction, by a polynomial (Taylor).
inline float Exp(float x) {
  float const z = x * 1.44269504f;
  float const whole = (z + 12582912.0f) - 12582912.0f;
  float const f = (z - whole) * 0.69314718f;
  float const fraction =
      1.0f +
      f * (1.0f + f * (0.5f + f * (1.6666667e-1f + f * (4.1666667e-2f + f * 8.3333333e-3f))));
  std::int32_t const bits = (static_cast<std::int32_t>(whole) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return fraction * power;
}
}  // namespace

// One pass over all rows and labels, what a round of boosting with a sketch cannot do without: add
// the last tree's leaf values to the margins (of probabilities that are not certain), derive the
// gradients of the logistic loss, and project those of each row.
extern "C" void PassOverLabels(std::size_t n_rows, std::size_t n_labels,
                               std::uint32_t const* __restrict leaf_of,
                               float const* __restrict leaf_values, float const* __restrict labels,
                               float const* __restrict direction, float* __restrict margins,
                               float* __restrict gradients, float* __restrict projected) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    float const* value = leaf_values + leaf_of[i] * n_labels;
    float const* label = labels + i * n_labels;
    float* margin = margins + i * n_labels;
    float* gradient = gradients + i * n_labels;
    float sum{0};
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < n_labels; ++j) {
      float const m = margin[j] + value[j];
      float const g = 1.0f / (1.0f + Exp(-m)) - label[j];
      margin[j] = m;
      gradient[j] = g;
      sum += g * direction[j];
    }
    projected[i] = sum;
  }
}
