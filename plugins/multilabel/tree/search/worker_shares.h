/**
 * @brief Division of the features among workers: one of them searches the splits of a block.
 *
 * A worker's histograms are of its own rows. Those of a block go to the worker that owns the
 * block: it adds them up, keeps and subtracts the sums, and scores the splits. Then the workers
 * exchange the candidates for the best split of a node, and all decide the same.
 */
#ifndef XDCC_MULTILABEL_WORKER_SHARES_H_
#define XDCC_MULTILABEL_WORKER_SHARES_H_

#include <algorithm>    // for transform
#include <cstddef>      // for size_t
#include <cstdint>      // for int32_t, int8_t
#include <cstring>      // for memcpy
#include <type_traits>  // for is_trivially_copyable_v
#include <vector>       // for vector

#include "../../../../src/collective/allgather.h"         // for VectorAllgatherV
#include "../../../../src/collective/comm.h"              // for Channel, Comm
#include "../../../../src/collective/comm_group.h"        // for GlobalCommGroup
#include "../../../../src/collective/communicator-inl.h"  // for GetRank, GetWorldSize
#include "../../../../src/collective/topo.h"              // for BootstrapNext, BootstrapPrev
#include "../../reductions.h"                             // for Add
#include "../data/bin_index.h"                            // for FeatureBlock
#include "split_candidate.h"                              // for Candidate, RunningBest
#include "xgboost/collective/result.h"                    // for SafeColl, Success
#include "xgboost/context.h"                              // for Context, DeviceOrd

namespace xgboost::multilabel {
/** @brief The worker of each block of features: all get about the same number of bins. */
class WorkerShares {
 public:
  /** @brief Nothing is divided by default. */
  WorkerShares() = default;
  explicit WorkerShares(std::vector<FeatureBlock> const& blocks)
      : rank_{static_cast<std::size_t>(collective::GetRank())} {
    auto const n_workers = static_cast<std::size_t>(collective::GetWorldSize());
    std::size_t const n_bins = blocks.back().first_bin + blocks.back().n_bins;
    for (auto const& block : blocks) {
      // The worker whose part of all bins contains the middle of the block's bins.
      owners_.push_back((2 * block.first_bin + block.n_bins) * n_workers / (2 * n_bins + 1));
    }
  }

  [[nodiscard]] std::size_t OwnerOf(std::size_t block) const { return owners_[block]; }
  [[nodiscard]] bool IsMine(std::size_t block) const { return owners_[block] == rank_; }

 private:
  std::size_t rank_{0};
  std::vector<std::size_t> owners_;  // by block
};

/**
 * @brief Send numbers to all other workers, and add up what they send.
 *
 * Sums go round in a ring, so that a worker sends and receives all but its own share once.
 *
 * @param to     Numbers to send, by worker; none for this one. Overwritten.
 * @param n_mine Number of numbers that each of the others sends.
 *
 * @return Their sum over the other workers.
 */
inline std::vector<std::int32_t> SumOfOthers(Context const* ctx,
                                             std::vector<std::vector<std::int32_t>>* to,
                                             std::size_t n_mine) {
  using collective::Success;
  auto const& comm = collective::GlobalCommGroup()->Ctx(ctx, DeviceOrd::CPU());
  auto const rank = comm.Rank(), n_workers = comm.World();
  auto const next = comm.Chan(collective::BootstrapNext(rank, n_workers));
  auto const previous = comm.Chan(collective::BootstrapPrev(rank, n_workers));
  auto bytes = [](std::vector<std::int32_t>* values) {
    return common::Span{reinterpret_cast<std::int8_t*>(values->data()),
                        values->size() * sizeof(std::int32_t)};
  };
  std::vector<std::int32_t> received;
  for (std::int32_t step = 1; step < n_workers; ++step) {
    auto& sent = (*to)[(rank + n_workers - step) % n_workers];
    auto const whose = (rank + 2 * n_workers - step - 1) % n_workers;
    auto& goes_on = (*to)[whose];
    received.resize(whose == rank ? n_mine : goes_on.size());
    // A message without content is an error.
    collective::SafeColl(
        Success() << [&] { return sent.empty() ? Success() : next->SendAll(bytes(&sent)); } <<
        [&] { return received.empty() ? Success() : previous->RecvAll(bytes(&received)); }
                  << [&] { return comm.Block(); });
    if (whose != rank) {
      Add(received, &goes_on);
    }
  }
  return received;
}

/** @brief Exchange what may be the best split of each node. */
inline void ShareCandidates(Context const* ctx, std::vector<RunningBest>* best) {
  static_assert(std::is_trivially_copyable_v<Candidate>);
  constexpr auto kScore = sizeof(RunningBest::score);
  std::vector<std::vector<char>> messages;
  for (auto const& running : *best) {
    auto const n_bytes = running.candidates.size() * sizeof(Candidate);
    auto& message = messages.emplace_back(kScore + n_bytes);
    std::memcpy(message.data(), &running.score, kScore);
    if (n_bytes > 0) {
      std::memcpy(message.data() + kScore, running.candidates.data(), n_bytes);
    }
  }
  auto const of_all = collective::VectorAllgatherV(ctx, messages);
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    if (i / best->size() == static_cast<std::size_t>(collective::GetRank())) {
      continue;
    }
    RunningBest there;
    auto const n_bytes = of_all[i].size() - kScore;
    there.candidates.resize(n_bytes / sizeof(Candidate));
    std::memcpy(&there.score, of_all[i].data(), kScore);
    if (n_bytes > 0) {
      std::memcpy(there.candidates.data(), of_all[i].data() + kScore, n_bytes);
    }
    (*best)[i % best->size()].Merge(there);
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_WORKER_SHARES_H_
