/**
 * @brief The search for any number of labels where rows are distributed over pages or workers.
 */
#include <algorithm>  // for min
#include <array>      // for array
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t
#include <vector>     // for vector

#include "../../../../src/collective/communicator-inl.h"  // for GetWorldSize
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../reductions.h"                             // for MaxOverWorkers, SumOverWorkers
#include "exact_decision.h"                               // for AddCandidates, NumSums
#include "label_search.h"
#include "worker_shares.h"    // for SumOfOthers
#include "xgboost/logging.h"  // for CHECK_EQ

namespace xgboost::multilabel {
namespace {
/** @brief Size of the histograms, or sums, that one pass over the pages fills. */
constexpr std::size_t kPassBytes = std::size_t{1} << 28;
}  // namespace

template <typename Fn>
void LabelSearch::ForEachPage(Fn&& fn) const {
  if (rows_.NumPages() == 1) {
    fn(*index_);
    return;
  }
  for (auto const& page : this->Pages()) {
    fn(BinIndex{ctx_, page, blocks_, default_bins_, true});
  }
}

void LabelSearch::WorkOnPages(Level const& level, std::vector<JobBest>* running) {
  auto const limit = std::min(kPassBytes, budget_.MaxBytes());
  auto const& tasks = level.tasks;
  for (std::size_t begin = 0, end = 0; begin < tasks.size(); begin = end) {
    std::vector<Parts> parts;
    for (std::size_t bytes = 0; end < tasks.size() && bytes < limit; ++end) {
      parts.push_back(this->BeginParts(level, tasks[end], true));
      for (auto const& part : parts.back()) {
        bytes += part.sums.NumBytes();
      }
    }
    this->ForEachPage([&](BinIndex const& index) {
      common::ParallelFor(parts.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
        this->AddPage(level, tasks[begin + i], index, {}, &parts[i]);
      });
    });
    this->SendParts(tasks.data() + begin, &parts);
    common::ParallelFor(parts.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      auto const& task = tasks[begin + i];
      this->TakeParts(level, task, &parts[i]);
      if (shares_.IsMine(task.block_begin)) {
        this->Score(level, task, &(*running)[begin + i]);
      }
    });
  }
}

void LabelSearch::SendParts(BlockTask const* tasks, std::vector<Parts>* parts) {
  if (collective::GetWorldSize() == 1) {
    return;
  }
  // Messages are neither small nor huge.
  constexpr std::size_t kMessage = std::size_t{1} << 20;
  std::vector<std::vector<std::int32_t>> to(collective::GetWorldSize());
  std::vector<IntegerHistogram*> mine;
  std::size_t n{0}, n_mine{0};
  auto send = [&] {
    auto const sums = SumOfOthers(ctx_, &to, n_mine);
    auto const* in = sums.data();
    for (auto* histogram : mine) {
      in = histogram->Add(in);
    }
    for (auto& message : to) {
      message.clear();
    }
    mine.clear();
    n = n_mine = 0;
  };
  for (std::size_t i = 0; i < parts->size(); ++i) {
    auto const b = tasks[i].block_begin;
    for (auto& [sums, kept_bytes] : (*parts)[i]) {
      if (sums.Empty()) {
        continue;
      }
      n += sums.NumIntegers();
      if (shares_.IsMine(b)) {
        n_mine += sums.NumIntegers();
        mine.push_back(&sums);
      } else {
        sums.Write(&to[shares_.OwnerOf(b)]);
        histogram_memory_.GiveBack(sums.Release());
      }
    }
    if (n >= kMessage) {
      send();
    }
  }
  if (n > 0) {
    send();
  }
}

void LabelSearch::DecideOnPages(Level const& level, std::vector<RunningBest> const& best) {
  auto const& requests = level.requests;
  auto const width = gradients_.Width();
  auto const limit = std::min(kPassBytes, budget_.MaxBytes()) / sizeof(double);
  auto const context = this->MakeContext();
  for (std::size_t begin = 0, end = 0; begin < requests.size(); begin = end) {
    std::vector<std::size_t> offsets{0};
    for (; end < requests.size() && offsets.back() < limit; ++end) {
      offsets.push_back(offsets.back() + width * NumSums(context, best[end].candidates));
    }
    std::vector<double> sums(offsets.back(), 0.0);
    this->CheckAgreement(sums.size());
    if (!sums.empty()) {
      this->ForEachPage([&](BinIndex const& index) {
        common::ParallelFor(end - begin, n_threads_, common::Sched::Dyn(1), [&](auto k) {
          auto const i = begin + k;
          auto const& node = nodes_[requests[i].nid];
          auto const& quantised = node.row_set->rows;
          AddCandidates(context, index, quantised,
                        RowsOfPage(quantised, index, this->RowsOf(node, node_rows_[i])),
                        best[i].candidates, {}, sums.data() + offsets[k]);
        });
      });
      SumOverWorkers(ctx_, &sums);
    }
    common::ParallelFor(end - begin, n_threads_, common::Sched::Dyn(1), [&](auto k) {
      auto const i = begin + k;
      this->DecideNode(requests[i], i, best[i], sums.data() + offsets[k]);
    });
  }
}

void LabelSearch::CheckAgreement(std::size_t n_sums) const {
  auto const n = static_cast<std::int64_t>(n_sums);
  std::array<std::int64_t, 2> bounds{n, -n};
  MaxOverWorkers(ctx_, &bounds);
  CHECK_EQ(bounds[0], -bounds[1])
      << "The workers disagree on splits. Do all of them have the same kind of processor?";
}
}  // namespace xgboost::multilabel
