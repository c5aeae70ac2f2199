/**
 * @brief Sums over lists, and the choice of the loop that scores them
 * (`approximate_scan_choice.h`).
 */
#include "approximate_scan.h"

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t

#include "../../vectorised.h"  // for Int8, XDCC_TARGET_CLONES

namespace xgboost::multilabel {
namespace {
/** @brief Add up the rows of each bin of a list. */
template <int kVectors>
XDCC_TARGET_CLONES void SumList(ListEntry const* entries, std::size_t n, RowValues rows,
                                std::int32_t* out) {
  ChunkSums<kVectors> sums;
  sums.Clear();
  std::size_t const row_size = rows.is_packed ? 8 * kVectors : 16 * kVectors;
  auto const n_fetched = rows.is_far ? n : 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const* row = reinterpret_cast<Int8 const*>(rows.data + (entries[i] & kRowMask) * row_size);
    if (i + kRowsAhead < n_fetched) {
      Prefetch(rows.data + (entries[i + kRowsAhead] & kRowMask) * row_size, 4 * row_size);
    }
    if (rows.is_packed) {
      sums.AddPacked(row);
    } else {
      sums.Add(row);
    }
    if (i + 1 < n && (entries[i] ^ entries[i + 1]) >> kBinShift == 0) {
      continue;
    }
    sums.Store(out);
    sums.Clear();
    out += 16 * kVectors;
  }
}
}  // namespace

ListSumFn ListSumOfWidth(std::size_t width) {
  return VisitVectors(width, [](auto n) { return ListSumFn{XDCC_BEST_CLONE(SumList<n>)}; });
}

template <bool kSum>
ScanFn ScanOf(SplitMethod method, ScanRule rule, std::size_t width);

ScanFn ChooseScan(SplitMethod method, ScanRule rule, std::size_t width) {
  return InfoOf(method).is_sum ? ScanOf<true>(method, rule, width)
                               : ScanOf<false>(method, rule, width);
}
}  // namespace xgboost::multilabel
