/**
 * @brief Many rows through large trees, by nodes of eight bytes.
 *
 * Trees that are too large for lines (``batch.h``) are walked by eight rows side by side. A node is
 * a threshold and a link. Thresholds and values are whole numbers in the order of the floats: a
 * test is a comparison, whose carry is subtracted from the number of the second child, before which
 * the first one lies. A leaf tests a value below all others, and is its own first child: rows that
 * have arrived stay there.
 *
 * Eight rows have a *line* of values for each feature that is tested. Where values are missing,
 * the *variants* of a feature, which are slots of the model, have lines of their own.
 */
#ifndef XDCC_PREDICTION_PACKED_TREES_H_
#define XDCC_PREDICTION_PACKED_TREES_H_

#include <algorithm>  // for fill_n, max
#include <cmath>      // for isnan
#include <cstdint>    // for int32_t, int64_t, uint32_t
#include <cstring>    // for memcpy
#include <vector>     // for vector

#include "flat_model.h"
#include "logistic.h"  // for XDCC_UNROLL

namespace xdcc {
constexpr int kLanes = 8;           // rows that walk side by side
constexpr std::int64_t kGroup = 8;  // trees whose leaves are added together

struct PackedNode {
  std::uint32_t key;   // of the threshold; of a leaf, its number plus 1
  std::uint32_t link;  // from the lowest bits: line times kLanes; second child, by its number
};

/** @brief Map a float to a whole number greater than 0, in the same order. */
inline std::uint32_t KeyOf(float value) {
  std::uint32_t bits;
  value += 0.0f;  // there is one zero
  std::memcpy(&bits, &value, sizeof(bits));
  return bits >> 31 ? ~bits : bits | std::uint32_t{1} << 31;
}

/** @brief The trees of a model that are packed, and the lines that they test. */
struct PackedTrees {
  static constexpr int kLaneBits = 3, kVariantBits = 2, kVariants = 1 << kVariantBits;
  static constexpr int kFewBits = 8, kManyBits = 12;  // of the number of a feature

  std::vector<PackedNode> nodes;
  std::vector<std::int64_t> root;      // [n_trees + 1] first node of each tree of the model
  std::vector<std::int32_t> feature;   // those that are tested
  std::vector<std::int32_t> variants;  // [NFeatures(), kVariants] their slots, then -1
  std::vector<std::int32_t> line_of;   // [n_slots] or -1
  int n_variants{1}, feature_bits{kFewBits};

  std::int64_t NFeatures() const { return static_cast<std::int64_t>(feature.size()); }

  /** @brief Lines of eight rows: variant by variant; after the first features, that of leaves. */
  std::int64_t NLines() const {
    return nodes.empty() ? 0 : ((n_variants - 1) << feature_bits) + NFeatures() + 1;
  }

  /** @brief Number the lines of the slots that are tested; return whether there are few enough. */
  bool NumberLines(Compiled const& model, std::vector<char> const& is_tested) {
    line_of.assign(model.n_slots, -1);
    for (std::int64_t f = 0; f < model.n_features; ++f) {
      std::vector<std::int32_t> of_feature;
      for (auto slot = model.slot_start[f]; slot < model.slot_start[f + 1]; ++slot) {
        if (is_tested[slot]) {
          of_feature.push_back(slot);
        }
      }
      if (of_feature.empty()) {
        continue;
      }
      auto const n_here = static_cast<int>(of_feature.size());
      if (n_here > kVariants) {
        return false;
      }
      feature.push_back(static_cast<std::int32_t>(f));
      n_variants = std::max(n_variants, n_here);
      of_feature.resize(kVariants, -1);
      variants.insert(variants.end(), of_feature.begin(), of_feature.end());
    }
    feature_bits = NFeatures() < 1 << kFewBits ? kFewBits : kManyBits;
    if (NFeatures() >= 1 << feature_bits) {
      return false;
    }
    for (std::int64_t i = 0; i < NFeatures(); ++i) {
      for (int v = 0; v < kVariants && variants[i * kVariants + v] >= 0; ++v) {
        line_of[variants[i * kVariants + v]] = static_cast<std::int32_t>((v << feature_bits) + i);
      }
    }
    return true;
  }

  int ChildShift() const { return kLaneBits + feature_bits + kVariantBits; }

  /** @brief Whether the links of a tree with so many tests reach all its nodes. */
  bool Fits(std::int64_t n_tests) const {
    return 2 * n_tests + 1 < std::int64_t{1} << (32 - ChildShift());
  }

  /** @brief Pack a tree; the children of test i are nodes 2 i + 1 and 2 i + 2. */
  void Add(Compiled const& model, std::int64_t number) {
    auto const [begin, end] = model.TestsOf(number);
    auto const first = static_cast<std::int64_t>(nodes.size());
    auto const add = [&, begin = begin](std::int32_t next) {
      auto const own = static_cast<std::uint32_t>(static_cast<std::int64_t>(nodes.size()) - first);
      if (next < 0) {
        auto const line = static_cast<std::uint32_t>(NFeatures());
        nodes.push_back(PackedNode{static_cast<std::uint32_t>(~next) + 1,
                                   (own + 1) << ChildShift() | line << kLaneBits});
        return;
      }
      auto const child = static_cast<std::uint32_t>(2 * (next - begin) + 2);
      auto const line = static_cast<std::uint32_t>(line_of[model.nodes[next].slot]);
      nodes.push_back(PackedNode{KeyOf(model.nodes[next].threshold),
                                 child << ChildShift() | line << kLaneBits});
    };
    add(model.root[number]);
    for (auto i = begin; i < end; ++i) {
      add(model.nodes[i].next[0]);
      add(model.nodes[i].next[1]);
    }
  }

  /** @brief Fill the lines of eight dense rows; return whether a value is missing. */
  bool FillLines(Compiled const& model, float const* const* rows, std::uint32_t* lines) const {
    bool is_any_missing = false;
    for (std::int64_t i = 0; i < NFeatures(); ++i) {
      for (int k = 0; k < kLanes; ++k) {
        float const value = rows[k][feature[i]];
        is_any_missing |= std::isnan(value);
        lines[i * kLanes + k] = KeyOf(value);
      }
    }
    for (std::int64_t i = 0; is_any_missing && i < NFeatures(); ++i) {
      for (int v = 0; v < kVariants && variants[i * kVariants + v] >= 0; ++v) {
        auto const missing = KeyOf(model.slot_missing[variants[i * kVariants + v]]);
        auto* line = lines + ((v << feature_bits) + i) * kLanes;
        for (int k = 0; k < kLanes; ++k) {
          float const value = rows[k][feature[i]];
          line[k] = std::isnan(value) ? missing : KeyOf(value);
        }
      }
    }
    std::fill_n(lines + NFeatures() * kLanes, kLanes, 0);
    return is_any_missing;
  }

  /** @brief Fill the lines of up to eight sparse rows. */
  void FillSparseLines(Compiled const& model, Rows const& rows, std::int64_t begin,
                       std::int64_t n_rows, std::uint32_t* lines) const {
    for (std::int64_t slot = 0; slot < model.n_slots; ++slot) {
      if (line_of[slot] >= 0) {
        std::fill_n(lines + line_of[slot] * kLanes, kLanes, KeyOf(model.slot_absent[slot]));
      }
    }
    for (std::int64_t k = 0; k < n_rows; ++k) {
      for (auto i = rows.indptr[begin + k]; i < rows.indptr[begin + k + 1]; ++i) {
        float const value = rows.data[i];
        auto const f = rows.indices[i];
        for (auto slot = model.slot_start[f]; slot < model.slot_start[f + 1]; ++slot) {
          if (line_of[slot] >= 0) {
            lines[line_of[slot] * kLanes + k] =
                KeyOf(std::isnan(value) ? model.slot_missing[slot] : value);
          }
        }
      }
    }
    std::fill_n(lines + NFeatures() * kLanes, kLanes, 0);
  }
};

/** @brief Walk eight rows through a tree; write the leaves, `kGroup` apart. */
template <int kFeatureBits, bool kVariants>
inline void WalkPacked(PackedNode const* nodes, std::uint32_t const* lines, std::int32_t* leaves) {
  constexpr int kChild = PackedTrees::kLaneBits + kFeatureBits + PackedTrees::kVariantBits;
  constexpr int kLineBits = kFeatureBits + (kVariants ? PackedTrees::kVariantBits : 0);
  constexpr std::uint32_t kMask = ((1u << kLineBits) - 1) << PackedTrees::kLaneBits;
  constexpr int kStepsUnseen = 3;  // between looks at whether all have arrived
  std::uint32_t at[kLanes] = {}, moved;
  auto const step = [&](int k) {
    auto const link = nodes[at[k]].link;
    return (link >> kChild) - (lines[(link & kMask) + k] < nodes[at[k]].key);
  };
  do {
    XDCC_UNROLL(3)
    for (int i = 0; i < kStepsUnseen; ++i) {
      XDCC_UNROLL(8)
      for (int k = 0; k < kLanes; ++k) {
        at[k] = step(k);
      }
    }
    moved = 0;
    XDCC_UNROLL(8)
    for (int k = 0; k < kLanes; ++k) {
      auto const next = step(k);
      moved |= next ^ at[k];
      at[k] = next;
    }
  } while (moved != 0);
  XDCC_UNROLL(8)
  for (int k = 0; k < kLanes; ++k) {
    leaves[k * kGroup] = static_cast<std::int32_t>(nodes[at[k]].key - 1);
  }
}
}  // namespace xdcc
#endif  // XDCC_PREDICTION_PACKED_TREES_H_
