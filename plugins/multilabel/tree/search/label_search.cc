/**
 * @brief The search for any number of labels: reads pages and gradients, and evaluates a level.
 */
#include "label_search.h"

#include <algorithm>   // for max, max_element, min, transform
#include <array>       // for array
#include <cmath>       // for ceil
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, uint32_t
#include <functional>  // for plus
#include <memory>      // for make_shared, make_unique, shared_ptr
#include <numeric>     // for accumulate, iota
#include <utility>     // for move
#include <vector>      // for vector

#include "../../../../src/collective/communicator-inl.h"  // for GetWorldSize, IsDistributed
#include "../../../../src/common/categorical.h"           // for IsCat, UseOneHot
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../../../src/tree/sample_position.h"         // for SamplePosition
#include "../../reductions.h"                             // for SumOverWorkers
#include "../../threads/loops.h"                          // for UsefulThreads
#include "exact_decision.h"                               // for AddCandidates, Decide, NumSums
#include "split_candidate.h"                              // for KeepLikely
#include "worker_shares.h"                                // for ShareCandidates
#include "xgboost/logging.h"                              // for CHECK_LE, CHECK_LT

namespace xgboost::multilabel {
namespace {
/** @brief Number of tasks of a level whose nodes have lists: some for each thread. */
std::size_t NumListTasks(std::size_t n_threads) { return 2 * n_threads + 4; }

/** @brief Check that the bins of every feature have numbers of 16 bits. */
void CheckBins(common::HistogramCuts const& cuts) {
  auto const& ptrs = cuts.Ptrs();
  for (bst_feature_t f = 0; f < cuts.NumFeatures(); ++f) {
    CHECK_LE(ptrs[f + 1] - ptrs[f], kRowMask)
        << "Feature " << f << " has too many bins. Lower max_bin, or give it fewer categories.";
  }
}
}  // namespace

void LabelSearch::Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) {
  auto const page = this->Read(ctx, rules, data);
  CheckBins(page->cut);
  auto const n_rows = data.gpair.Shape(0);
  auto const max_list_rows = rules.ml_param.MaxListRows(n_rows);
  this->MakeBlocks(page->cut, !is_shared_ && n_rows <= max_list_rows);
  this->UpdateIndex(page);
  cuts_ = page->cut;
  auto const& info = data.p_fmat->Info();
  types_ = info.feature_types.ConstHostSpan();
  auto const max_cat_threshold = static_cast<std::uint32_t>(rules.param.max_cat_threshold);
  CategoryRules const category_rules{rules.param, rules.ml_param};
  param_ = {rules.reg, rules.ml_param.Method(), max_list_rows, rules.param.max_cat_to_onehot,
            max_cat_threshold, this->SortsCategories(rules.param.max_cat_to_onehot),
            // Without lambda the weights of small categories are not bounded. Scores in single
            // precision know no penalty, and their order no smoothing.
            info.HasCategorical() && rules.reg.lambda > 0.0 && !category_rules.Regularise(),
            rules.is_monotone};
  n_threads_ = workers::UsefulThreads(ctx->Threads());
  this->ForgetNodes();
  budget_.Reset(rules.MaxBytes());
  row_numbers_.resize(n_rows);
  if (numbers_.size() != n_rows) {
    numbers_.resize(n_rows);
    std::iota(numbers_.begin(), numbers_.end(), 0);
  }
  buffers_.resize(std::max<std::size_t>(buffers_.size(), n_threads_));
  if (is_shared_ || n_rows > param_.max_list_rows) {
    this->CheckMemory();
  }
  kernels_ = rules.kernels;
  orders_ = {};
  if (rules.is_monotone) {
    orders_ = common::Span{rules.param.monotone_constraints};
  }
  auto const n_labels = gradients_.NumLabels();
  auto noise = info.HasCategorical() && category_rules.penalty > 0.0 ? NoiseOf(ctx, data.gpair)
                                                                     : std::vector<double>{};
  scanners_.assign(ctx->Threads(), {SplitEvaluator{rules.reg, n_labels},
                                    CategoryScanner{category_rules, rules.reg, kernels_, n_labels,
                                                    std::move(noise)}});
}

std::shared_ptr<GHistIndexMatrix const> LabelSearch::Read(Context const* ctx,
                                                          TreeRules const& rules,
                                                          TreeData const& data) {
  ctx_ = ctx;
  p_fmat_ = data.p_fmat;
  batch_ = rules.Batch();
  gradients_.Assign(ctx_, data.gpair);
  rows_.Clear();
  std::shared_ptr<GHistIndexMatrix const> first;
  std::vector<double> counts;  // by bin, then of rows
  auto pages = this->Pages();
  for (auto it = pages.begin(); !it.AtEnd(); ++it) {
    auto const& page = *it;
    rows_.AddPage(ctx_, page);
    if (!first) {
      first = it.Page();
      counts.resize(page.hit_count.size() + 1);
    }
    std::transform(page.hit_count.cbegin(), page.hit_count.cend(), counts.cbegin(), counts.begin(),
                   std::plus<>{});
    counts.back() += static_cast<double>(page.Size());
  }
  SumOverWorkers(ctx_, &counts);
  CHECK_LT(counts.back(), 0x1p30) << "There are too many rows.";
  default_bins_ = FindDefaultBins(first->cut, counts, counts.back());
  is_shared_ = rows_.NumPages() > 1 || collective::IsDistributed();
  return first;
}

void LabelSearch::MakeBlocks(common::HistogramCuts const& cuts, bool has_lists) {
  // A block's histogram shares a core's second-level cache with gradients.
  constexpr std::size_t kBinBytes = 2 * QuantisedRows::kNarrow * sizeof(std::int32_t);
  constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
  std::size_t const n_threads = ctx_->Threads();
  std::size_t const n_blocks = collective::IsDistributed()  ? collective::GetWorldSize()
                               : has_lists && n_threads > 1 ? NumListTasks(n_threads)
                                                            : n_threads;
  auto const n_bins = (cuts.TotalBins() + n_blocks - 1) / n_blocks;
  blocks_ = MakeFeatureBlocks(cuts, kBinBytes, std::min(kBlockBytes, n_bins * kBinBytes));
  shares_ = is_shared_ ? WorkerShares{blocks_} : WorkerShares{};
}

void LabelSearch::UpdateIndex(std::shared_ptr<GHistIndexMatrix const> const& page) {
  if (rows_.NumPages() > 1) {  // the index only says what the default bins are
    index_ = std::make_unique<BinIndex>(default_bins_);
    indexed_page_.reset();
    return;
  }
  if (index_ && indexed_page_.lock() == page && indexed_blocks_ == blocks_ &&
      indexed_default_bins_ == default_bins_) {
    return;
  }
  index_ = std::make_unique<BinIndex>(ctx_, *page, blocks_, default_bins_, true);
  indexed_page_ = page;
  indexed_blocks_ = blocks_;
  indexed_default_bins_ = default_bins_;
  root_lists_ = {};
}

bool LabelSearch::SortsCategories(std::uint32_t max_to_onehot) const {
  auto const& ptrs = cuts_.Ptrs();
  for (bst_feature_t f = 0; f < cuts_.NumFeatures(); ++f) {
    if (common::IsCat(types_, f) && !common::UseOneHot(ptrs[f + 1] - ptrs[f], max_to_onehot)) {
      return true;
    }
  }
  return false;
}

void LabelSearch::CheckMemory() const {
  constexpr double kMiB = 1 << 20;
  auto const by_bins = [](auto const& l, auto const& r) { return l.n_bins < r.n_bins; };
  std::size_t const n_bins = std::max_element(blocks_.cbegin(), blocks_.cend(), by_bins)->n_bins;
  auto const bytes = n_bins * gradients_.Width() * sizeof(std::int32_t);
  auto const n_threads = ctx_->Threads();
  auto const needed = static_cast<std::size_t>(std::ceil(bytes * n_threads / kMiB));
  auto const max_bytes = budget_.MaxBytes();
  CHECK_LE(needed << 20, max_bytes)
      << "max_histogram_mib=" << (max_bytes >> 20) << " is too small: a block of features with "
      << n_bins << " bins and " << gradients_.NumLabels() << " labels needs " << bytes / kMiB
      << " MiB for each of " << n_threads << " threads. Raise it to " << needed
      << ", or lower max_bin or nthread.";
}

void LabelSearch::ForgetNodes() {
  for (auto& node : nodes_) {
    if (node.entries && node.entries != root_children_ && node.entries.use_count() == 1) {
      spare_entries_.push_back(std::move(node.entries));
    }
    this->ForgetNode(&node);
  }
  nodes_.clear();
  CHECK_EQ(budget_.KeptBytes(), 0);
  if (!root_children_ || root_children_->size() != blocks_.size()) {
    root_children_ = std::make_shared<BlockEntries>(blocks_.size());
  }
}

void LabelSearch::ForgetNode(LabelNode* node) {
  this->DropSums(node);
  if (node->row_set && node->row_set.use_count() == 1) {
    row_memory_.GiveBack(node->row_set->rows.Release());
  }
  *node = {};
}

void LabelSearch::Evaluate(std::vector<NodeRequest> const& requests) {
  for (auto const& request : requests) {
    nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(request.nid) + 1));
  }
  this->NumberRows(requests);
  Level level{requests, this->MakeJobs(requests), {}};
  this->Prepare(level);
  level.tasks = this->MakeLevelTasks(level);
  std::vector<JobBest> running(level.tasks.size());
  if (is_shared_) {
    this->WorkOnPages(level, &running);
  } else {
    this->ShareHistograms(level);
    common::ParallelFor(level.tasks.size(), n_threads_, common::Sched::Dyn(1),
                        [&](auto t) { this->Work(level, t, &running[t]); });
  }
  if (requests.front().IsRoot()) {
    this->KeepRoot(nodes_[requests.front().nid]);
  }
  auto const best = this->CollectCandidates(level, running);
  if (is_shared_) {
    this->DecideOnPages(level, best);
  } else {
    this->DecideNodes(level, best);
  }
  this->DropParents(requests);
}

std::vector<LabelSearch::Job> LabelSearch::MakeJobs(std::vector<NodeRequest> const& requests) {
  // Nodes with a smaller part of their row set's rows get a row set of their own.
  constexpr std::size_t kMaxShrinkage = 256;
  std::vector<Job> jobs;
  auto n_rows = [](NodeRequest const& request) { return request.stats->n_active; };
  auto is_large = [&](std::size_t i) {
    return is_shared_ || n_rows(requests[i]) > param_.max_list_rows;
  };
  auto push_new = [&](std::size_t i) { jobs.push_back({{i, 1}, true, !is_large(i)}); };
  ForEachJob(requests, n_rows, [&](NodeJob const& job) {
    if (job.n_nodes == 1) {
      push_new(job.begin);
      return;
    }
    auto& parent = nodes_[requests[job.begin].parent];
    if (parent.row_set->has_lists) {
      jobs.push_back({job, false, true});
      return;
    }
    std::array<bool, 2> stays{};
    for (std::size_t k = 0; k < 2; ++k) {
      stays[k] = is_large(job.begin + k) &&
                 n_rows(requests[job.begin + k]) * kMaxShrinkage >= parent.row_set->n_all_rows;
    }
    if (stays[0] || stays[1]) {
      jobs.push_back({job, false, false, stays});
    } else {
      this->DropSums(&parent);
      parent.row_set.reset();  // before its rows are in other row sets as well
    }
    for (std::size_t k = 0; k < 2; ++k) {
      if (!stays[k]) {
        push_new(job.begin + k);
      }
    }
  });
  return jobs;
}

std::vector<BlockTask> LabelSearch::MakeLevelTasks(Level const& level) const {
  auto const n_rows = [&](Job const& job) {
    std::size_t n{0};
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      n += level.requests[job.begin + k].stats->n_active;
    }
    return n;
  };
  auto const n_all =
      std::accumulate(level.jobs.cbegin(), level.jobs.cend(), std::size_t{1},
                      [&](std::size_t sum, Job const& job) { return sum + n_rows(job); });
  std::size_t const n_threads = n_threads_, n_blocks = blocks_.size();
  return MakeTasks(level.jobs, n_blocks, [&](Job const& job) {
    if (!job.has_lists) {
      return n_blocks;
    }
    // Tasks of about the same size. Each task of a node reads all of the node's values.
    auto const n_tasks = NumListTasks(n_threads);
    return std::min(n_blocks, n_threads == 1 ? 1 : 1 + n_tasks * n_rows(job) / n_all);
  });
}

std::vector<RunningBest> LabelSearch::CollectCandidates(Level const& level,
                                                        std::vector<JobBest> const& running) {
  auto const& requests = level.requests;
  std::vector<RunningBest> best(requests.size());
  for (std::size_t t = 0; t < level.tasks.size(); ++t) {
    auto const& job = level.JobOf(level.tasks[t]);
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      best[job.begin + k].Merge(running[t][k]);
    }
  }
  auto keep_likely = [&] {
    common::ParallelFor(requests.size(), n_threads_, common::Sched::Dyn(1),
                        [&](auto i) { KeepLikely(nodes_[requests[i].nid].scan.error, &best[i]); });
  };
  keep_likely();
  if (collective::GetWorldSize() > 1) {
    ShareCandidates(ctx_, &best);
    keep_likely();
  }
  return best;
}

void LabelSearch::DecideNodes(Level const& level, std::vector<RunningBest> const& best) {
  constexpr std::size_t kRows = 512, kTasksPerThread = 4;  // rows of a task, tasks of a node
  constexpr std::size_t kMostSums = 64;                    // of a node whose rows are shared out
  auto const& requests = level.requests;
  auto const context = this->MakeContext();
  struct Task {
    std::size_t request;
    RowShare share;
    std::vector<double> sums;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < requests.size() && n_threads_ > 1; ++i) {
    auto const& candidates = best[i].candidates;
    auto const n_sums = NumSums(context, candidates);
    bool const has_categories = n_sums > candidates.size();
    auto const n_parts =
        std::min<std::size_t>(nodes_[requests[i].nid].n_rows / kRows, kTasksPerThread * n_threads_);
    if (n_parts > 1 && 0 < n_sums && n_sums <= kMostSums && !has_categories) {
      for (std::size_t part = 0; part < n_parts; ++part) {
        tasks.push_back({i, {part, n_parts}, std::vector<double>(n_sums * gradients_.Width())});
      }
    }
  }
  common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto t) {
    auto& task = tasks[t];
    auto const& node = nodes_[requests[task.request].nid];
    AddCandidates(context, *index_, node.row_set->rows,
                  this->RowsOf(node, node_rows_[task.request]), best[task.request].candidates,
                  task.share, task.sums.data());
  });
  std::vector<double const*> sums(requests.size(), nullptr);
  Task* first{nullptr};
  for (auto& task : tasks) {
    if (task.share.part == 0) {
      first = &task;
      sums[task.request] = task.sums.data();
    } else {
      Add(task.sums, &first->sums);
    }
  }
  common::ParallelFor(requests.size(), n_threads_, common::Sched::Dyn(1),
                      [&](auto i) { this->DecideNode(requests[i], i, best[i], sums[i]); });
}

void LabelSearch::DecideNode(NodeRequest const& request, std::size_t i, RunningBest const& best,
                             double const* sums) {
  auto const& node = nodes_[request.nid];
  Decide(this->MakeContext(), node.row_set->rows, this->RowsOf(node, node_rows_[i]),
         best.candidates, sums, &scanners_[omp_get_thread_num()], request.stats, request.split);
}

void LabelSearch::DropParents(std::vector<NodeRequest> const& requests) {
  for (auto const& request : requests) {
    if (!request.IsRoot()) {
      this->ForgetNode(&nodes_[request.parent]);
    }
  }
}

void LabelSearch::Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) {
  std::size_t page_id{0};
  for (auto const& page : this->Pages()) {
    rows_.Partition(ctx_, page_id++, page, tree, applied);
  }
}

void LabelSearch::End(common::Span<bst_node_t> out) {
  p_fmat_ = nullptr;
  // Does the same as `CommonRowPartitioner::LeafPartition`, which reads every label again.
  constexpr std::size_t kRun = 4096;  // rows that a thread takes at a time
  struct Run {
    bst_node_t nid;
    common::Span<bst_idx_t const> rows;
  };
  std::vector<Run> runs;
  for (auto nid : rows_.Leaves()) {
    for (auto const& of_page : rows_.Of(nid)) {
      for (std::size_t begin = 0; begin < of_page.size(); begin += kRun) {
        runs.push_back({nid, of_page.subspan(begin, std::min(kRun, of_page.size() - begin))});
      }
    }
  }
  common::ParallelFor(runs.size(), n_threads_, common::Sched::Dyn(1), [&](auto r) {
    for (auto row : runs[r].rows) {
      out[row] = tree::SamplePosition::Encode(runs[r].nid, gradients_.Active(row));
    }
  });
}

LeafSums LabelSearch::SumOverLeaves(LabelGradients const& gradients) const {
  LeafSums out;
  out.leaves = rows_.Leaves();
  std::vector<std::vector<common::Span<bst_idx_t const>>> rows;
  for (auto nid : out.leaves) {
    rows.push_back(rows_.Of(nid));
  }
  out.sums = SumLeaves(ctx_, gradients, rows);
  return out;
}
}  // namespace xgboost::multilabel
