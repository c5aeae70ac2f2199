/**
 * @brief The plan for the nodes of a level, which both searches share: siblings, tasks and memory.
 *
 * Siblings are searched together. Only the rows of the smaller one are added up: the sums of the
 * larger one are the parent's less these, if the parent's were kept. Sums are kept up to a limit on
 * memory. Beyond it, both siblings are added up.
 */
#ifndef XDCC_MULTILABEL_NODE_PLAN_H_
#define XDCC_MULTILABEL_NODE_PLAN_H_

#include <atomic>   // for atomic
#include <cstddef>  // for size_t
#include <vector>   // for vector

#include "split_search.h"        // for NodeRequest
#include "xgboost/tree_model.h"  // for RegTree

namespace xgboost::multilabel {
/** @brief One node, or two siblings. */
struct NodeJob {
  /** @brief Position among the requests, and number of nodes. */
  std::size_t begin, n_nodes;
  /** @brief The sibling with fewer rows, 0 or 1. */
  std::size_t small{0};
};

/**
 * @brief Call `fn(job)` for the root, or for each pair of siblings.
 *
 * @param n_rows Number of rows of a request's node, the same on all workers.
 */
template <typename NumRows, typename Fn>
void ForEachJob(std::vector<NodeRequest> const& requests, NumRows&& n_rows, Fn&& fn) {
  for (std::size_t i = 0; i < requests.size();) {
    NodeJob job{i, requests[i].IsRoot() ? std::size_t{1} : std::size_t{2}};
    if (job.n_nodes == 2 && n_rows(requests[i + 1]) < n_rows(requests[i])) {
      job.small = 1;
    }
    fn(job);
    i += job.n_nodes;
  }
}

/** @brief A job on the feature blocks [block_begin, block_end). */
struct BlockTask {
  std::size_t job, block_begin, block_end;
};

/**
 * @brief Divide the blocks of each job among tasks.
 *
 * @param n_tasks_of Number of tasks for a job, at most `n_blocks`.
 */
template <typename Jobs, typename NumTasks>
std::vector<BlockTask> MakeTasks(Jobs const& jobs, std::size_t n_blocks, NumTasks&& n_tasks_of) {
  std::vector<BlockTask> tasks;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::size_t const n_tasks = n_tasks_of(jobs[j]);
    for (std::size_t t = 0; t < n_tasks; ++t) {
      tasks.push_back({j, n_blocks * t / n_tasks, n_blocks * (t + 1) / n_tasks});
    }
  }
  return tasks;
}

/** @brief Two cache lines, which some processors fetch together. */
inline constexpr std::size_t kCacheLines = 128;

/** @brief A limit on the memory that is kept. Thread-safe. */
class MemoryBudget {
  std::size_t max_bytes_{0};
  alignas(kCacheLines) std::atomic<std::size_t> kept_bytes_{0};

 public:
  /** @brief Begin with nothing kept. */
  void Reset(std::size_t max_bytes) {
    max_bytes_ = max_bytes;
    kept_bytes_ = 0;
  }
  /** @brief Keep memory of this size if there is room. Returns what is kept: `bytes`, or 0. */
  [[nodiscard]] std::size_t Keep(std::size_t bytes) {
    if (kept_bytes_.fetch_add(bytes) + bytes > max_bytes_) {
      kept_bytes_ -= bytes;
      return 0;
    }
    return bytes;
  }
  void Release(std::size_t bytes) { kept_bytes_ -= bytes; }
  [[nodiscard]] std::size_t MaxBytes() const { return max_bytes_; }
  [[nodiscard]] std::size_t KeptBytes() const { return kept_bytes_; }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_NODE_PLAN_H_
