/**
 * @brief The nodes of the search for any number of labels: their rows, sums, lists and scores.
 */
#include <algorithm>  // for copy_n, fill_n, max, min
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
  // Small nodes share a task: siblings' marks lie in the same cache lines.
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
      local[i] = local_rows_[global[i]];
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
  auto const& jobs = level.jobs;
  std::vector<AlignedArray<std::int32_t>> totals(jobs.size());
  if (jobs.size() == 1 || is_shared_) {  // threads are of more use inside
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      totals[j] = this->SumUp(level, jobs[j], n_threads_);
    }
  } else {
    common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1),
                        [&](auto j) { totals[j] = this->SumUp(level, jobs[j], 1); });
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

AlignedArray<std::int32_t> LabelSearch::SumUp(Level const& level, Job const& job,
                                              std::int32_t n_threads) {
  auto const* request = level.Requests(job);
  auto* rows = &node_rows_[job.begin];
  if (job.is_new) {
    auto& row_set = nodes_[request->nid].row_set;
    row_set = this->MakeRowSet(*request, std::move(rows->global), job.has_lists, n_threads);
    return SumTotals(n_threads, row_set->rows, this->AllOf(*row_set));
  }
  return SumTotals(n_threads, nodes_[request->parent].row_set->rows,
                   common::Span{rows[job.small].local});
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
      std::make_shared<RowSet>(RowSet{LocalRows{n_threads, gradients_, std::move(global_rows),
                                                units, !has_lists, std::move(memory)},
                                      request.stats->n_active,
                                      has_lists,
                                      {},
                                      {},
                                      {}});
  auto const& rows = row_set->rows.GlobalRows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    local_rows_[rows[i]] = static_cast<std::uint32_t>(i);
  }
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
    SetConstants(param_, gradients_.NumLabels(), stats, node);
    if (!job.has_lists) {
      node->histograms.resize(n_blocks);
      return;
    }
    node->lists.resize(n_blocks);
    node->sums.resize(n_blocks);
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

void LabelSearch::Work(Level const& level, BlockTask const& task, JobBest* running) {
  auto const& job = level.JobOf(task);
  if (!job.has_lists) {  // a task is one block
    auto parts = this->BeginParts(level, task);
    this->AddPage(level, task, *index_, &parts);
    this->TakeParts(level, task, &parts);
  } else {
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      this->FillLists(level, job, b, &buffers_[omp_get_thread_num()].lists);
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
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (!job.has_lists && node.histograms[b].kept_bytes == 0) {
        histogram_memory_.GiveBack(node.histograms[b].sums.Release());
        continue;
      }
      if (job.has_lists && node.sums[b].kept_bytes == 0) {
        node.sums[b] = {};
      }
      if (!node.categories.empty() && node.categories[b].kept_bytes == 0) {
        node.categories[b] = {};
      }
    }
  }
}

LabelSearch::Parts LabelSearch::BeginParts(Level const& level, BlockTask const& task) {
  auto const& job = level.JobOf(task);
  auto const b = task.block_begin;
  auto const n_bins = blocks_[b].n_bins;
  auto const n_padded = this->RowSetOf(level, job).rows.PaddedLabels();
  Parts parts;
  for (std::size_t k = 0; k < job.n_nodes; ++k) {
    // The larger sibling's is what the parent has left, if that was kept (on any worker).
    bool const follows = !job.is_new && k != job.small &&
                         nodes_[level.Requests(job)->parent].histograms[b].kept_bytes > 0;
    if (follows) {
      continue;
    }
    parts[k].sums =
        IntegerHistogram{n_bins, n_padded, histogram_memory_.Take(2 * n_padded * n_bins)};
    if (job.is_new || job.stays[k]) {
      parts[k].kept_bytes = budget_.Keep(parts[k].sums.NumBytes());
    }
  }
  return parts;
}

void LabelSearch::AddPage(Level const& level, BlockTask const& task, BinIndex const& index,
                          Parts* parts) {
  auto const& job = level.JobOf(task);
  auto const& row_set = this->RowSetOf(level, job);
  for (std::size_t k = 0; k < job.n_nodes; ++k) {
    if (auto& sums = (*parts)[k].sums; !sums.Empty()) {
      auto const rows =
          job.is_new ? this->AllOf(row_set) : common::Span{node_rows_[job.begin + k].local};
      sums.Add(row_set.rows, index, task.block_begin, blocks_[task.block_begin],
               RowsOfPage(row_set.rows, index, rows), &buffers_[omp_get_thread_num()].bins);
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
  drop(&node->sums);
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
                &node.lists[b]);
    }
    this->NumberSums(b, &node);
    return;
  }
  auto& sibling = nodes_[request[1].nid];
  auto const& parent = nodes_[request->parent];
  auto& to = (*node.entries)[b];
  auto const& from = (*parent.entries)[b];
  to.resize(from.size());
  auto siblings =
      PartitionLists(parent.lists[b], from.data(), to.data(), node.row_set->is_right.data(),
                     node.n_rows, sibling.n_rows, buffer);
  node.lists[b] = std::move(siblings.left);
  sibling.lists[b] = std::move(siblings.right);
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
        if (node.sums[b].Has(i)) {
          SumOfList(sum, node, b, i, chunk, &node.sums[b]);
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
  auto const& lists = node->lists[b];
  auto& sums = node->sums[b];
  sums.position.assign(lists.size(), FeatureSums::kNone);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (HasOneBin(entries, lists[i])) {
      sums.position[i] = static_cast<std::uint32_t>(sums.n++);
    }
  }
  auto const n_values = 2 * node->row_set->rows.PaddedLabels() * sums.n;
  sums.values.Resize(n_values);
  sums.kept_bytes = budget_.Keep(n_values * sizeof(std::int32_t));
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
