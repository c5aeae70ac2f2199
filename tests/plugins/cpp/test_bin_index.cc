/**
 * @brief The index of bins against the page that it is made of.
 */
#include <cstddef>  // for size_t
#include <cstdint>  // for uint32_t
#include <limits>   // for numeric_limits
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <vector>   // for vector

#include "src/common/hist_util.h"     // for BinTypeSize
#include "src/data/gradient_index.h"  // for GHistIndexMatrix
#include "testing.h"                  // for MakeMatrix, Random, XDCC_TEST
#include "tree/data/bin_index.h"      // for BinIndex, MakeFeatureBlocks
#include "xgboost/context.h"          // for Context
#include "xgboost/data.h"             // for DMatrix, BatchParam

namespace xgboost::multilabel {
namespace {
using testing::Random;

constexpr std::size_t kRows = 300, kFeatures = 9;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

/** @brief Features 0 to 2 have every value, the others many zeros and, on request, missing ones. */
std::shared_ptr<DMatrix> MakeFeatures(bool has_missing) {
  Random rng{4};
  std::vector<float> values(kRows * kFeatures);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t f = 0; f < kFeatures; ++f) {
      auto& value = values[i * kFeatures + f];
      value = f < 3 || rng.Int(0, 9) < 3 ? rng.Float(-1.0f, 1.0f) : 0.0f;
      if (has_missing && f >= 6 && rng.Int(0, 4) == 0) {
        value = kMissing;
      }
    }
  }
  return testing::MakeMatrix(values, kFeatures);
}

std::vector<double> CountBins(GHistIndexMatrix const& page) {
  std::vector<double> counts(page.cut.TotalBins());
  for (std::size_t i = 0; i < page.Size(); ++i) {
    for (bst_feature_t f = 0; f < kFeatures; ++f) {
      if (auto const bin = page.GetGindex(i, f); bin >= 0) {
        ++counts[bin];
      }
    }
  }
  return counts;
}

template <typename Fn>
void ForPage(bool has_missing, Fn&& fn, bst_bin_t max_bin = 32) {
  Context ctx;
  auto const matrix = MakeFeatures(has_missing);
  std::size_t n_pages{0};
  for (auto const& page : matrix->GetBatches<GHistIndexMatrix>(&ctx, BatchParam{max_bin, 0.8})) {
    fn(&ctx, page);
    ++n_pages;
  }
  CHECK_EQ(n_pages, 1);
}

XDCC_TEST(bin_index, BlocksCoverTheFeatures) {
  ForPage(false, [](Context const*, GHistIndexMatrix const& page) {
    auto const& ptrs = page.cut.Ptrs();
    for (std::size_t max_bins : {1, 20, 40, 100, 10000}) {
      auto const blocks = MakeFeatureBlocks(page.cut, 8, 8 * max_bins);
      bst_feature_t next{0};
      for (auto const& block : blocks) {
        CHECK_EQ(block.begin, next);
        CHECK_LT(block.begin, block.end);
        CHECK_EQ(block.first_bin, ptrs[block.begin]);
        CHECK_EQ(block.n_bins, ptrs[block.end] - ptrs[block.begin]);
        CHECK(block.n_bins <= max_bins || block.end == block.begin + 1);
        next = block.end;
      }
      CHECK_EQ(next, kFeatures);
    }
  });
}

XDCC_TEST(bin_index, DefaultBinsHoldHalfOfTheRows) {
  for (bool has_missing : {false, true}) {
    ForPage(has_missing, [&](Context const*, GHistIndexMatrix const& page) {
      auto counts = CountBins(page);
      auto const bins = FindDefaultBins(page.cut, counts, kRows);
      for (bst_feature_t f = 0; f < kFeatures; ++f) {
        bool const has_one = f >= 3 && !(has_missing && f >= 6);
        CHECK_EQ(bins[f] != kNoDefaultBin, has_one) << f;
        if (has_one) {
          CHECK_GE(2 * counts[bins[f]], kRows);
        }
      }
    });
  }
}

XDCC_TEST(bin_index, ExactlyHalfOfTheRowsIsEnough) {
  ForPage(false, [](Context const*, GHistIndexMatrix const& page) {
    std::vector<double> counts(page.cut.TotalBins());
    auto const first = page.cut.Ptrs()[0];
    counts[first] = counts[first + 1] = 5;
    CHECK_EQ(FindDefaultBins(page.cut, counts, 10)[0], static_cast<bst_bin_t>(first));
    CHECK_EQ(FindDefaultBins(page.cut, counts, 11)[0], kNoDefaultBin);  // one is missing
    counts[first] = 4, counts[first + 1] = 3, counts[first + 2] = 3;
    CHECK_EQ(FindDefaultBins(page.cut, counts, 10)[0], kNoDefaultBin);
  });
}

void CompareEntries(bst_bin_t max_bin, common::BinTypeSize stored) {
  std::size_t n_columns{0};
  for (bool has_missing : {false, true}) {
    for (bool columns : {false, true}) {
      for (std::size_t max_bins : {1, 60, 10000}) {
        auto compare = [&](Context const* ctx, GHistIndexMatrix const& page) {
          CHECK(has_missing || page.index.GetBinTypeSize() == stored);
          auto const blocks = MakeFeatureBlocks(page.cut, 1, max_bins);
          auto const default_bins = FindDefaultBins(page.cut, CountBins(page), kRows);
          BinIndex const index{ctx, page, blocks, default_bins, columns};
          CHECK_EQ(index.BaseRow(), 0);
          CHECK_EQ(index.NumRows(), kRows);
          for (std::size_t b = 0; b < blocks.size(); ++b) {
            auto const& block = blocks[b];
            n_columns += index.HasColumns(b);
            CHECK(columns || !index.HasColumns(b));
            std::size_t n_entries{0};
            for (std::size_t i = 0; i < kRows; ++i) {
              std::vector<std::uint32_t> expected, found;
              for (auto f = block.begin; f < block.end; ++f) {
                CHECK_EQ(index.DefaultBin(f), default_bins[f]);
                auto const bin = page.GetGindex(i, f);
                if (bin >= 0 && bin != default_bins[f]) {
                  expected.push_back(bin - block.first_bin);
                }
                if (index.HasColumns(b)) {
                  found.push_back(index.Column(b, f - block.begin)[i]);
                }
              }
              if (!index.HasColumns(b)) {
                auto const rows = index.Rows(b);
                found.assign(rows.bins + rows.row_ptr[i], rows.bins + rows.row_ptr[i + 1]);
              }
              CHECK(found == expected);
              n_entries += found.size();
            }
            CHECK_EQ(index.EntriesPerRow(b), static_cast<double>(n_entries) / kRows);
          }
        };
        ForPage(has_missing, compare, max_bin);
      }
    }
  }
  CHECK_GT(n_columns, 0);
}

XDCC_TEST(bin_index, EntriesAreThoseOfThePage) {
  CompareEntries(32, common::kUint8BinsTypeSize);
  CompareEntries(512, common::kUint16BinsTypeSize);
}
}  // namespace
}  // namespace xgboost::multilabel
