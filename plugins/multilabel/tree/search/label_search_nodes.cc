/**
 * @brief The nodes of the search for any number of labels: their rows, sums, lists and scores.
 */
#include <algorithm>  // for clamp, copy_n, fill_n, max, min
#include <cmath>      // for ceil
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t
#include <limits>     // for numeric_limits
#include <memory>     // for make_shared, shared_ptr
#include <mutex>      // for lock_guard, mutex
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"      // for IsCat
#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../../reductions.h"  // for SumOverWorkers, MaxOverWorkers, SubtractArray
#include "category_lists.h"    // for NumberCategories, SumCategories, SumCategorySiblings
#include "label_search.h"
#include "row_lists.h"   // for MakeLists, PartitionLists
#include "row_units.h"   // for RowUnits, SizesOf
#include "split_scan.h"  // for MakeListRanges, MakeBinRanges, ScoreSplits

namespace xgboost::multilabel {
void LabelSearch::NumberRows(std::vector<NodeRequest> const& requests) {
  constexpr std::size_t kRun = 2048;
  struct Run {
    std::size_t request;
    common::Span<bst_idx_t const> rows;
    std::size_t begin, n;
  };
  auto& rows = node_rows_;
  rows.resize(std::max(rows.size(), requests.size()));
  std::vector<Run> runs;
  // Small nodes share a task: siblings' marks are in the same cache lines.
  std::vector<std::size_t> tasks{0};
  std::size_t n_task_rows{0};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::size_t n_rows{0};
    for (auto const& of_page : rows_.Of(requests[i].nid)) {
      for (std::size_t begin = 0; begin < of_page.size(); begin += kRun) {
        if (n_task_rows >= kRun) {
          tasks.push_back(runs.size());
          n_task_rows = 0;
        }
        auto const n = std::min(kRun, of_page.size() - begin);
        runs.push_back({i, of_page.subspan(begin, n), n_rows, 0});
        n_task_rows += n;
        n_rows += n;
      }
    }
    rows[i].global.resize(n_rows);
    rows[i].local.resize(n_rows);
  }
  tasks.push_back(runs.size());
  // Each run fills the front of its stretch.
  auto number = [&](Run* run) {
    auto const& request = requests[run->request];
    auto* global = rows[run->request].global.data() + run->begin;
    auto const* from = run->rows.data();
    for (std::size_t i = 0; i < run->rows.size(); ++i) {
      global[run->n] = from[i];
      run->n += gradients_.Active(from[i]);
    }
    if (request.IsRoot()) {
      return;
    }
    auto* local = rows[run->request].local.data() + run->begin;
    auto* is_right = nodes_[request.parent].row_set->is_right.data();
    for (std::size_t i = 0; i < run->n; ++i) {
      local[i] = row_numbers_[global[i]];
      is_right[local[i]] = run->request % 2;
    }
  };
  common::ParallelFor(tasks.size() - 1, n_threads_, common::Sched::Dyn(1), [&](auto t) {
    for (auto r = tasks[t]; r < tasks[t + 1]; ++r) {
      number(&runs[r]);
    }
  });
  std::vector<std::size_t> end(requests.size(), 0);
  for (auto const& run : runs) {
    auto& to = end[run.request];
    if (to != run.begin) {
      auto move_up = [&](auto* values) {
        std::copy_n(values->begin() + run.begin, run.n, values->begin() + to);
      };
      move_up(&rows[run.request].global);
      move_up(&rows[run.request].local);
    }
    to += run.n;
  }
  std::vector<double> n_active(end.cbegin(), end.cend());
  if (is_shared_) {
    SumOverWorkers(ctx_, &n_active);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    rows[i].global.resize(end[i]);
    rows[i].local.resize(end[i]);
    requests[i].stats->n_active = static_cast<bst_idx_t>(n_active[i]);
  }
}

void LabelSearch::Prepare(Level const& level) {
  constexpr std::size_t kRows = 512, kTasksPerThread = 4;  // rows of a task, tasks of a job
  auto const& jobs = level.jobs;
  this->MakeRowSets(level);
  struct Task {
    std::size_t job;
    common::Span<std::uint32_t const> rows;
    AlignedArray<std::int32_t> totals;
  };
  std::vector<Task> tasks;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    auto const rows = this->RowsToFill(level, jobs[j], jobs[j].small);
    auto const n_most = n_threads_ == 1 ? 1 : kTasksPerThread * n_threads_;
    auto const n_tasks = std::clamp<std::size_t>(rows.size() / kRows, 1, n_most);
    for (std::size_t t = 0; t < n_tasks; ++t) {
      RowShare const share{t, n_tasks};
      auto const begin = share.Begin(rows.size());
      tasks.push_back({j, rows.subspan(begin, share.End(rows.size()) - begin), {}});
    }
  }
  common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto t) {
    tasks[t].totals = SumTotals(this->RowSetOf(level, jobs[tasks[t].job]).rows, tasks[t].rows);
  });
  std::vector<AlignedArray<std::int32_t>> totals(jobs.size());
  for (auto& task : tasks) {
    auto& of_job = totals[task.job];
    if (of_job.Size() == 0) {
      of_job = std::move(task.totals);
    } else {
      XDCC_BEST_CLONE(AddArray<std::int32_t>)(task.totals.Data(), of_job.Size(), of_job.Data());
    }
  }
  if (is_shared_) {
    std::vector<std::int32_t> message;
    for (auto const& of_job : totals) {
      message.insert(message.end(), of_job.Data(), of_job.Data() + of_job.Size());
    }
    SumOverWorkers(ctx_, &message);
    auto const* in = message.data();
    for (auto& of_job : totals) {
      std::copy_n(in, of_job.Size(), of_job.Data());
      in += of_job.Size();
    }
  }
  common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1),
                      [&](auto j) { this->SetNodes(level, jobs[j], std::move(totals[j])); });
}

void LabelSearch::MakeRowSets(Level const& level) {
  constexpr std::size_t kMany = std::size_t{1} << 13;  // rows that several threads share
  std::vector<Job const*> small;
  auto make = [&](Job const& job, std::int32_t n_threads) {
    auto const* request = level.Requests(job);
    nodes_[request->nid].row_set = this->MakeRowSet(
        *request, std::move(node_rows_[job.begin].global), job.has_lists, n_threads);
  };
  for (auto const& job : level.jobs) {
    if (!job.is_new) {
      continue;
    }
    // Workers communicate, all in the same order.
    if (is_shared_ || level.jobs.size() == 1 || node_rows_[job.begin].global.size() >= kMany) {
      make(job, n_threads_);
    } else {
      small.push_back(&job);
    }
  }
  common::ParallelFor(small.size(), n_threads_, common::Sched::Dyn(1),
                      [&](auto j) { make(*small[j], 1); });
}

std::shared_ptr<RowSet> LabelSearch::MakeRowSet(NodeRequest const& request,
                                                std::vector<bst_idx_t> global_rows, bool has_lists,
                                                std::int32_t n_threads) {
  auto sizes = SizesOf(n_threads, gradients_, global_rows);
  if (is_shared_) {
    SumOverWorkers(ctx_, &sizes.sums);
    MaxOverWorkers(ctx_, &sizes.largest);
  }
  bool const has_many = RowUnits::HasMany(request.stats->n_active, gradients_.NumLabels());
  bool const may_pack =
      has_many && param_.reg.lambda > 0.0 && !param_.sorts_categories && !param_.is_monotone;
  RowUnits const units{sizes, may_pack};
  auto const n_integers = (units.is_packed ? 1 : 2) * gradients_.NumLabels() * global_rows.size();
  auto memory = row_memory_.Take(n_integers);
  auto row_set =
      std::make_shared<RowSet>(RowSet{QuantisedRows{n_threads, gradients_, std::move(global_rows),
                                                    units, !has_lists, std::move(memory)},
                                      request.stats->n_active,
                                      has_lists,
                                      {},
                                      {},
                                      {}});
  auto const& rows = row_set->rows.GlobalRows();
  ForEachRun(rows.size(), kRowRun, n_threads, [&](auto, auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      row_numbers_[rows[i]] = static_cast<std::uint32_t>(i);
    }
  });
  row_set->is_right.resize(rows.size());
  auto const n_padded = row_set->rows.PaddedLabels();
  row_set->lambda.Assign(n_padded, 1.0f);
  row_set->padding.Assign(n_padded, -std::numeric_limits<float>::infinity());
  for (auto const& chunk : row_set->rows.Chunks()) {
    std::fill_n(row_set->lambda.Data() + chunk.padded_begin, chunk.n_labels,
                static_cast<float>(param_.reg.lambda));
    std::fill_n(row_set->padding.Data() + chunk.padded_begin, chunk.n_labels, 0.0f);
  }
  return row_set;
}

void LabelSearch::SetNodes(Level const& level, Job const& job, AlignedArray<std::int32_t> totals) {
  auto const n_blocks = blocks_.size();
  auto const* request = level.Requests(job);
  auto set_node = [&](LabelNode* node, NodeStats const& stats, AlignedArray<std::int32_t> sums) {
    node->n_rows = stats.n_active;
    node->totals = std::move(sums);
    node->scan =
        MakeScanConstants(param_, {node->row_set->rows, node->totals.Data(), node->n_rows, stats});
    if (!job.has_lists) {
      node->histograms.resize(n_blocks);
      return;
    }
    node->sums.resize(n_blocks);
    node->sum_memory.resize(n_blocks);
    node->categories.resize(param_.adds_categories ? n_blocks : 0);
  };
  if (job.is_new) {
    auto& node = nodes_[request->nid];
    set_node(&node, *request->stats, std::move(totals));
    if (job.has_lists && root_lists_.entries &&
        node.row_set->rows.GlobalRows() == root_lists_.rows) {
      node.entries = root_lists_.entries;
      node.lists = root_lists_.lists;
    } else if (job.has_lists) {
      node.entries = this->TakeEntries();
      node.lists.Reserve(n_blocks, [&](auto b) { return blocks_[b].end - blocks_[b].begin; });
    }
    return;
  }
  auto& parent = nodes_[request->parent];
  auto large_totals = parent.totals;
  XDCC_BEST_CLONE(SubtractArray<std::int32_t>)(
      totals.Data(), 2 * parent.row_set->rows.PaddedLabels(), large_totals.Data());
  for (std::size_t k = 0; k < 2; ++k) {
    if (!job.has_lists && !job.stays[k]) {
      continue;  // has a row set of its own
    }
    auto& node = nodes_[request[k].nid];
    node.row_set = parent.row_set;
    set_node(&node, *request[k].stats, std::move(k == job.small ? totals : large_totals));
    if (job.has_lists) {
      // The lists of the root are kept: the first partition puts the children elsewhere.
      node.entries = parent.entries == root_lists_.entries ? root_children_ : parent.entries;
      node.lists.Reserve(n_blocks, [&](auto b) { return parent.lists[b].size(); });
    }
  }
}

std::shared_ptr<BlockEntries> LabelSearch::TakeEntries() {
  std::lock_guard<std::mutex> guard{entries_lock_};
  std::shared_ptr<BlockEntries> entries;
  if (!spare_entries_.empty()) {
    entries = std::move(spare_entries_.back());
    spare_entries_.pop_back();
  }
  if (!entries || entries->size() != blocks_.size()) {
    entries = std::make_shared<BlockEntries>(blocks_.size());
  }
  return entries;
}

void LabelSearch::ShareHistograms(Level const& level) {
  // A task of one thread has at most a quarter of its part of the level's work. Making a further
  // histogram of a bin, and adding it, takes as long as adding a few entries.
  constexpr double kTasksPerThread = 4.0, kEntriesOfBin = 50.0;
  shared_parts_.clear();
  shared_parts_.resize(level.tasks.size());
  if (n_threads_ == 1) {
    return;
  }
  auto n_entries = [&](BlockTask const& task) {
    auto const& job = level.JobOf(task);
    std::size_t n_rows{0};
    for (std::size_t k = 0; k < job.n_nodes && !job.has_lists; ++k) {
      n_rows += this->IsFilled(level, task, k) ? this->RowsToFill(level, job, k).size() : 0;
    }
    return static_cast<double>(n_rows) * index_->EntriesPerRow(task.block_begin);
  };
  double n_all{0.0};
  for (auto const& task : level.tasks) {
    n_all += n_entries(task);
  }
  struct Fill {
    std::size_t task;
    RowShare share;
  };
  std::vector<Fill> fills;
  std::size_t n_bytes{0};
  for (std::size_t t = 0; t < level.tasks.size(); ++t) {
    auto const n = n_entries(level.tasks[t]);
    auto const n_bins = blocks_[level.tasks[t].block_begin].n_bins;
    auto const least = std::max(n_all / (kTasksPerThread * n_threads_), kEntriesOfBin * n_bins);
    auto const n_parts = static_cast<std::size_t>(std::ceil(n / least));
    auto const& rows = this->RowSetOf(level, level.JobOf(level.tasks[t])).rows;
    n_bytes += n_parts * 2 * rows.PaddedLabels() * n_bins * sizeof(std::int32_t);
    if (n_parts > 1 && n_bytes <= budget_.MaxBytes()) {
      shared_parts_[t].resize(n_parts);
      for (std::size_t part = 0; part < n_parts; ++part) {
        fills.push_back({t, {part, n_parts}});
      }
    }
  }
  common::ParallelFor(fills.size(), n_threads_, common::Sched::Dyn(1), [&](auto f) {
    auto const& [t, share] = fills[f];
    auto& parts = shared_parts_[t][share.part];
    // The others are added to the first ones.
    parts = this->BeginParts(level, level.tasks[t], share.part == 0);
    this->AddPage(level, level.tasks[t], *index_, share, &parts);
  });
}

void LabelSearch::Work(Level const& level, std::size_t t, JobBest* running) {
  auto const& task = level.tasks[t];
  auto const& job = level.JobOf(task);
  if (!job.has_lists) {  // a task is one block
    Parts parts;
    if (auto& shared = shared_parts_[t]; shared.empty()) {
      parts = this->BeginParts(level, task, true);
      this->AddPage(level, task, *index_, {}, &parts);
    } else {
      parts = std::move(shared.front());
      for (std::size_t s = 1; s < shared.size(); ++s) {
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if (auto& sums = shared[s][k].sums; !sums.Empty()) {
            parts[k].sums.Add(sums);
            histogram_memory_.GiveBack(sums.Release());
          }
        }
      }
    }
    this->TakeParts(level, task, &parts);
  } else {
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      this->FillLists(level, job, b, &buffers_[omp_get_thread_num()].lists);
    }
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      this->ReserveSums(task, &nodes_[level.Requests(job)[k].nid]);
    }
    this->FillSums(level, task);
    if (param_.adds_categories) {
      this->FillCategories(level, task);
    }
  }
  this->Score(level, task, running);
}

void LabelSearch::Score(Level const& level, BlockTask const& task, JobBest* running) {
  auto const& job = level.JobOf(task);
  auto const* request = level.Requests(job);
  auto const context = this->MakeContext();
  auto* buffer = &buffers_[omp_get_thread_num()].scan;
  for (std::size_t k = 0; k < job.n_nodes; ++k) {
    auto& node = nodes_[request[k].nid];
    if (job.has_lists) {
      MakeListRanges(context, param_, task.block_begin, task.block_end, request[k].Allowed(), node,
                     *request[k].stats, buffer, &(*running)[k]);
    } else if (job.is_new || job.stays[k]) {
      MakeBinRanges(context, task.block_begin, request[k].Allowed(), node, buffer, &(*running)[k]);
    } else {
      continue;
    }
    if (buffer->n_scores > 0) {
      ScoreSplits(param_, gradients_.NumLabels(), node, buffer, &(*running)[k]);
    }
    if (job.has_lists && node.sum_memory[task.block_begin].kept_bytes == 0) {
      this->DropFeatureSums(task, &node);
    }
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (!job.has_lists && node.histograms[b].kept_bytes == 0) {
        histogram_memory_.GiveBack(node.histograms[b].sums.Release());
        continue;
      }
      if (!node.categories.empty() && node.categories[b].kept_bytes == 0) {
        node.categories[b] = {};
      }
    }
  }
}

bool LabelSearch::IsFilled(Level const& level, BlockTask const& task, std::size_t k) const {
  auto const& job = level.JobOf(task);
  return job.is_new || k == job.small ||
         nodes_[level.Requests(job)->parent].histograms[task.block_begin].kept_bytes == 0;
}

LabelSearch::Parts LabelSearch::BeginParts(Level const& level, BlockTask const& task, bool keeps) {
  auto const& job = level.JobOf(task);
  auto const n_bins = blocks_[task.block_begin].n_bins;
  auto const n_padded = this->RowSetOf(level, job).rows.PaddedLabels();
  Parts parts;
  for (std::size_t k = 0; k < job.n_nodes; ++k) {
    if (!this->IsFilled(level, task, k)) {
      continue;
    }
    parts[k].sums =
        IntegerHistogram{n_bins, n_padded, histogram_memory_.Take(2 * n_padded * n_bins)};
    if (keeps && (job.is_new || job.stays[k])) {
      parts[k].kept_bytes = budget_.Keep(parts[k].sums.NumBytes());
    }
  }
  return parts;
}

void LabelSearch::AddPage(Level const& level, BlockTask const& task, BinIndex const& index,
                          RowShare share, Parts* parts) {
  auto const& job = level.JobOf(task);
  auto const& row_set = this->RowSetOf(level, job);
  for (std::size_t k = 0; k < job.n_nodes; ++k) {
    if (auto& sums = (*parts)[k].sums; !sums.Empty()) {
      auto const rows = this->RowsToFill(level, job, k);
      auto const begin = share.Begin(rows.size()), end = share.End(rows.size());
      sums.Add(row_set.rows, index, task.block_begin, blocks_[task.block_begin],
               RowsOfPage(row_set.rows, index, rows.subspan(begin, end - begin)),
               &buffers_[omp_get_thread_num()].bins);
    }
  }
}

void LabelSearch::TakeParts(Level const& level, BlockTask const& task, Parts* parts) {
  auto const& job = level.JobOf(task);
  auto const* request = level.Requests(job);
  auto const b = task.block_begin;
  if (job.is_new) {
    nodes_[request->nid].histograms[b] = std::move(parts->front());
    return;
  }
  auto& parent = nodes_[request->parent];
  if (parent.histograms[b].kept_bytes > 0) {
    auto& large = (*parts)[1 - job.small];
    large = std::move(parent.histograms[b]);
    parent.histograms[b] = {};
    large.sums.Subtract((*parts)[job.small].sums, parent.row_set->rows.PaddedLabels());
  }
  for (std::size_t k = 0; k < 2; ++k) {
    if (job.stays[k]) {
      nodes_[request[k].nid].histograms[b] = std::move((*parts)[k]);
    } else if (!(*parts)[k].sums.Empty()) {
      histogram_memory_.GiveBack((*parts)[k].sums.Release());
    }
  }
}

void LabelSearch::DropSums(LabelNode* node) {
  auto drop = [&](auto* of_blocks) {
    for (auto& of_block : *of_blocks) {
      budget_.Release(of_block.kept_bytes);
      of_block = {};
    }
  };
  drop(&node->sum_memory);
  node->sums.clear();
  drop(&node->categories);
  for (auto& histogram : node->histograms) {
    budget_.Release(histogram.kept_bytes);
    if (!histogram.sums.Empty()) {
      histogram_memory_.GiveBack(histogram.sums.Release());
    }
    histogram.kept_bytes = 0;
  }
}

void LabelSearch::FillLists(Level const& level, Job const& job, std::size_t b, ListBuffer* buffer) {
  auto const* request = level.Requests(job);
  auto& node = nodes_[request->nid];
  if (job.is_new) {
    if (node.entries != root_lists_.entries) {
      MakeLists(node.row_set->rows, *index_, b, blocks_[b], cuts_, buffer, &(*node.entries)[b],
                &node.lists);
    }
    this->NumberSums(b, &node);
    return;
  }
  auto& sibling = nodes_[request[1].nid];
  auto const& parent = nodes_[request->parent];
  auto& to = (*node.entries)[b];
  auto const& from = (*parent.entries)[b];
  to.resize(from.size());
  PartitionLists(parent.lists[b], from.data(), to.data(), node.row_set->is_right.data(),
                 node.n_rows, sibling.n_rows, buffer, b, &node.lists, &sibling.lists);
  this->NumberSums(b, &node);
  this->NumberSums(b, &sibling);
}

void LabelSearch::FillSums(Level const& level, BlockTask const& task) {
  auto const& job = level.JobOf(task);
  auto const* request = level.Requests(job);
  auto& node = nodes_[request->nid];
  for (auto const& chunk : node.row_set->rows.Chunks()) {
    auto const sum = ListSumOfWidth(chunk.width);
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (job.n_nodes == 2) {
        SumSiblings(b, chunk, nodes_[request->parent], &node, &nodes_[request[1].nid]);
        continue;
      }
      for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
        if (node.HasSum(b, i)) {
          SumOfList(sum, node, b, i, chunk);
        }
      }
    }
  }
}

void LabelSearch::FillCategories(Level const& level, BlockTask const& task) {
  auto const& job = level.JobOf(task);
  auto const* request = level.Requests(job);
  auto takes = [&](std::size_t k, RowList const& list) {
    auto const* allowed = request[k].Allowed();
    return common::IsCat(types_, list.feature) && (!allowed || allowed[list.feature]);
  };
  auto has_default = [&](std::size_t k, RowList const& list) {
    return index_->DefaultBin(list.feature) != BinIndex::kNoBin &&
           list.end - list.begin < nodes_[request[k].nid].n_rows;
  };
  auto& node = nodes_[request->nid];
  auto* sibling = job.n_nodes == 2 ? &nodes_[request[1].nid] : nullptr;
  auto const* parent = job.n_nodes == 2 ? &nodes_[request->parent] : nullptr;
  for (auto b = task.block_begin; b < task.block_end; ++b) {
    NumberCategories(b, parent, &node, sibling, takes, has_default);
    for (auto* of : {&node, sibling}) {
      if (of) {
        auto& slots = of->categories[b];
        auto const n_values = 2 * of->row_set->rows.PaddedLabels() * slots.codes.size();
        slots.values.Resize(n_values);
        slots.kept_bytes = budget_.Keep(n_values * sizeof(std::int32_t));
      }
    }
  }
  for (auto const& chunk : node.row_set->rows.Chunks()) {
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (sibling) {
        SumCategorySiblings(b, chunk, *parent, &node, sibling);
        SumDefault(b, chunk, sibling);
      } else {
        for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
          if (node.categories[b].Has(i)) {
            SumCategories(b, i, chunk, &node);
          }
        }
      }
      SumDefault(b, chunk, &node);
    }
  }
}

void LabelSearch::NumberSums(std::size_t b, LabelNode* node) {
  auto const* entries = (*node->entries)[b].data();
  std::size_t n{0};
  for (auto& list : node->lists[b]) {
    list.sum = HasOneBin(entries, list) ? static_cast<std::uint32_t>(n++) : RowList::kNone;
  }
  node->sums[b].n = n;
}

void LabelSearch::ReserveSums(BlockTask const& task, LabelNode* node) {
  std::size_t n_all{0};
  for (auto b = task.block_begin; b < task.block_end; ++b) {
    n_all += node->sums[b].n;
  }
  auto const n_of_list = 2 * node->row_set->rows.PaddedLabels();
  auto& memory = node->sum_memory[task.block_begin];
  memory.values.Resize(n_of_list * n_all);
  memory.kept_bytes = budget_.Keep(n_of_list * n_all * sizeof(std::int32_t));
  auto* values = memory.values.Data();
  for (auto b = task.block_begin; b < task.block_end; ++b) {
    auto& sums = node->sums[b];
    sums.values = sums.n > 0 ? values : nullptr;
    values += n_of_list * sums.n;
  }
}

void LabelSearch::DropFeatureSums(BlockTask const& task, LabelNode* node) {
  node->sum_memory[task.block_begin] = {};
  for (auto b = task.block_begin; b < task.block_end; ++b) {
    node->sums[b] = {};
  }
}

void LabelSearch::KeepRoot(LabelNode const& node) {
  if (!node.row_set->has_lists || node.entries == root_lists_.entries) {
    return;
  }
  if (root_lists_.entries && root_lists_.entries.use_count() == 1) {
    spare_entries_.push_back(std::move(root_lists_.entries));
  }
  root_lists_ = {node.row_set->rows.GlobalRows(), node.entries, node.lists};
}
}  // namespace xgboost::multilabel
