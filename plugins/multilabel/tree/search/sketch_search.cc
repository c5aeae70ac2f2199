/**
 * @brief The search on few numbers per row: integers of rows, and histograms of nodes.
 */
#include "sketch_search.h"

#include <algorithm>   // for all_of, copy, copy_n, fill_n, max, min, transform
#include <array>       // for array
#include <cmath>       // for abs, ceil, ilogb, ldexp
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, int64_t, uint32_t
#include <functional>  // for plus
#include <memory>      // for make_shared, shared_ptr
#include <utility>     // for exchange, move
#include <vector>      // for vector

#include "../../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../../src/collective/allreduce.h"         // for Allreduce, Op
#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../reductions.h"     // for Add, AddArray, ForEachRun, NumRuns, SumOverWorkers
#include "../../threads/loops.h"  // for UsefulThreads
#include "../leaf_values.h"       // for BoundsOf
#include "../node_features.h"     // for AllowedFeatures
#include "category_rules.h"       // for CategoryRules, NoiseOf
#include "xgboost/logging.h"      // for CHECK_LE, CHECK_LT
#include "xgboost/tree_model.h"   // for RegTree

namespace xgboost::multilabel {
namespace {
/** @brief The nearest integer of a number below 2^51, without a call. */
std::int64_t Rounded(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer
  return static_cast<std::int64_t>((x + kShift) - kShift);
}

bool OnAllWorkers(Context const* ctx, bool here) {
  std::int32_t there{here};
  collective::SafeColl(
      collective::Allreduce(ctx, linalg::MakeVec(&there, 1), collective::Op::kMin));
  return there != 0;
}
}  // namespace

bool SketchSearch::Supports(Context const* ctx, TreeRules const& rules, TreeData const& data) {
  auto const& reg = rules.reg;
  auto const n = data.gpair.Shape(1);
  // A label without a Hessian must have no gradient and must not divide by zero; a floor applies to
  // single labels only.
  bool const follows_rules = !rules.is_monotone && reg.lambda > 0.0 && !reg.has_bare_gradients &&
                             reg.Rule() != LabelRule::kClipped &&
                             (n == 1 || reg.min_child_weight == 0.0) &&
                             rules.ml_param.Method() == SplitMethod::kSumGain;
  return follows_rules && n <= kMaxDimensions && OnAllWorkers(ctx, data.p_fmat->SingleColBlock());
}

std::shared_ptr<GHistIndexMatrix const> SketchSearch::Index(Context const* ctx,
                                                            TreeRules const& rules,
                                                            DMatrix* p_fmat) {
  auto pages = p_fmat->GetBatches<GHistIndexMatrix>(ctx, rules.Batch());
  auto page = pages.begin().Page();
  // Making the index needs communication, so all workers decide together.
  if (!OnAllWorkers(ctx, whole_index_ && indexed_page_.lock() == page)) {
    auto const types = p_fmat->Info().feature_types.ConstHostSpan();
    whole_index_ = std::make_shared<SketchIndex const>(ctx, *page, types);
    indexed_page_ = page;
  }
  return page;
}

void SketchSearch::Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) {
  ctx_ = ctx;
  page_ = given_page_ ? std::exchange(given_page_, nullptr) : this->Index(ctx, rules, data.p_fmat);
  auto const* index = whole_index_.get();
  auto const n_features = data.p_fmat->Info().num_col_;
  if (!data.columns.empty() && data.columns.size() <= n_features / 4 * 3) {
    // Blocks of the tree's columns are read in each node, and copied once.
    columns_index_.TakeBlocks(ctx, *whole_index_,
                              AllowedFeatures(data.columns, n_features, nullptr, RegTree::kRoot));
    index = &columns_index_;
  }
  n_threads_ = workers::UsefulThreads(ctx->Threads());
  is_shared_ = collective::IsDistributed();
  n_dims_ = data.gpair.Shape(1);
  CHECK_LE(n_dims_, kMaxDimensions);
  width_ = n_dims_ == 3 ? 4 : n_dims_;
  for (auto& node : nodes_) {
    if (node.histogram.Data()) {
      spare_.GiveBack(std::move(node.histogram));
    }
  }
  nodes_.assign(1, {});
  budget_.Reset(rules.MaxBytes());
  if (index != index_) {
    index_ = index;
    spare_.Clear();
    buffers_.clear();
  }
  buffers_.resize(std::max<std::size_t>(buffers_.size(), n_threads_));
  this->SetUnits(rules.reg, data.gpair);
  this->SetCategoryRules({rules.param, rules.ml_param}, data);
  this->SetRoot(data.gpair);
}

void SketchSearch::SetUnits(Regularisation const& reg,
                            linalg::MatrixView<GradientPair const> gpair) {
  // Sums of absolute values, as integers of up to 2^30: no order of rows changes them.
  auto const bounds = BoundsOf(ctx_, gpair);
  auto exponent_of = [](float largest) { return largest > 0.0f ? 29 - std::ilogb(largest) : 0; };
  std::array<int, 2> const exponents{exponent_of(bounds.grad), exponent_of(bounds.hess)};
  std::array<double, 2> const factors{std::ldexp(1.0, exponents[0]), std::ldexp(1.0, exponents[1])};
  using Sums = std::array<std::int64_t, 2 * kMaxDimensions + 1>;  // the last: number of rows
  auto const* pairs = gpair.Values().data();
  std::size_t const n_rows = gpair.Shape(0);
  std::vector<Sums> parts(NumRuns(n_rows, kRun), Sums{});
  ForEachRun(n_rows, kRun, n_threads_, [&](auto r, auto begin, auto end) {
    auto& sums = parts[r];
    for (auto i = begin; i < end; ++i) {
      for (std::size_t d = 0; d < n_dims_; ++d) {
        auto const pair = pairs[i * n_dims_ + d];
        sums[2 * d] += Rounded(std::abs(pair.GetGrad() * factors[0]));
        sums[2 * d + 1] += Rounded(pair.GetHess() * factors[1]);
      }
    }
  });
  Sums sums{};
  for (auto const& part : parts) {
    Add(part, &sums);
  }
  sums.back() = static_cast<std::int64_t>(n_rows);
  SumOverWorkers(ctx_, &sums);
  auto const n_all_rows = sums.back();
  CHECK_LT(n_all_rows, std::int64_t{1} << 29) << "There are too many rows.";
  nodes_.front().n_all_rows = n_all_rows;
  lambda_ = reg.lambda;
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    for (std::size_t k = 0; k < 2; ++k) {
      // The sum is below 2^30. Rounding up adds at most 1 for each of fewer than 2^29 rows: it
      // stays below 2^31.
      auto const sum = static_cast<double>(std::max(sums[2 * d + k], n_all_rows));
      auto const exponent = sum > 0.0 ? 29 - std::ilogb(sum) + exponents[k] : 0;
      (k == 0 ? grad_unit_ : hess_unit_)[d] = std::ldexp(1.0, -exponent);
    }
    scaled_lambda_[d] = static_cast<float>(std::min(lambda_ / hess_unit_[d], 0x1p60));
    weight_[d] = static_cast<float>(grad_unit_[d] * grad_unit_[d] / hess_unit_[d]);
  }
  floor_ = static_cast<float>(std::min(reg.min_child_weight / hess_unit_[0], 0x1p60)) +
           scaled_lambda_[0];
}

void SketchSearch::SetCategoryRules(CategoryRules const& rules, TreeData const& data) {
  category_rules_ = {rules.max_to_onehot, rules.max_threshold};
  if (!data.p_fmat->Info().HasCategorical() || !rules.Regularise()) {
    return;
  }
  auto const noise = NoiseOf(ctx_, data.gpair);
  for (std::size_t d = 0; d < n_dims_; ++d) {
    // With one dimension, scores do not have its weight.
    auto const unit = n_dims_ == 1 ? grad_unit_[d] * grad_unit_[d] / hess_unit_[d] : 1.0;
    category_rules_.penalty[d] = rules.penalty * noise[d] / unit;
    category_rules_.smoothing[d] = rules.smoothing / hess_unit_[d];
  }
}

void SketchSearch::SetRoot(linalg::MatrixView<GradientPair const> gpair) {
  auto const* pairs = gpair.Values().data();
  std::size_t const n_rows = gpair.Shape(0);
  std::array<std::array<double, 2>, kMaxDimensions> factors;  // powers of two
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    factors[d] = {1.0 / grad_unit_[d], 1.0 / hess_unit_[d]};
  }
  rows_.resize(n_rows);
  packed_.resize(n_rows * width_);
  using Sums = std::array<PackedSum, kMaxDimensions>;
  std::vector<Sums> totals(NumRuns(n_rows, kRun), Sums{});
  ForEachRun(n_rows, kRun, n_threads_, [&](auto r, auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      rows_[i] = static_cast<std::uint32_t>(i);
      for (std::size_t d = 0; d < width_; ++d) {
        PackedSum packed{0};
        if (auto const pair = d < n_dims_ ? pairs[i * n_dims_ + d] : GradientPair{};
            pair.GetGrad() != 0.0f || pair.GetHess() != 0.0f) {
          auto const grad = Rounded(pair.GetGrad() * factors[d][0]);
          auto const hess = Rounded(pair.GetHess() * factors[d][1]);
          packed = grad * (PackedSum{1} << 32) + std::max(hess, PackedSum{1});
        }
        packed_[i * width_ + d] = packed;
        totals[r][d] += packed;
      }
    }
  });
  auto& root = nodes_.front();
  root.end = n_rows;
  root.is_leaf = true;
  for (auto const& part : totals) {
    for (std::size_t d = 0; d < width_; ++d) {
      root.total[d] += part[d];
    }
  }
  collective::SafeColl(collective::GlobalSum(ctx_, linalg::MakeVec(root.total, kMaxDimensions)));
}

std::vector<double> SketchSearch::Unpack(PackedSum const* sums) const {
  std::vector<double> out(2 * n_dims_);
  for (std::size_t d = 0; d < n_dims_; ++d) {
    out[d] = this->Grad(sums[d], d);
    out[n_dims_ + d] = this->Hess(sums[d], d);
  }
  return out;
}

double SketchSearch::ScoreOf(PackedSum const* sums) const {
  double score{0.0};
  for (std::size_t d = 0; d < n_dims_; ++d) {
    auto const of_dim = LabelFraction<SplitMethod::kSumGain, LabelRule::kPlain>(
        lambda_, 0.0, this->Grad(sums[d], d), this->Hess(sums[d], d));
    score += of_dim.numerator / of_dim.denominator;
  }
  return score;
}

bool SketchSearch::WorthKeeping(Node const& node) const {
  if (is_shared_) {  // half as much to send
    return true;
  }
  // Adding up a row takes about a step for each feature stored; reading a histogram half a step for
  // each of its vectors, several times.
  auto const per_row =
      static_cast<double>(index_->Blocks().size() * kLanes) + index_->StoredPerRow();
  auto const of_histogram = static_cast<double>(4 * index_->NumBlockSlots() + index_->NumSlots());
  return static_cast<double>(node.NumRows()) * per_row > of_histogram;
}

std::vector<SketchSearch::Job> SketchSearch::MakeJobs(Requests const& requests) {
  std::vector<Job> jobs;
  auto const n_values = this->HistogramSize();
  auto keep = [&](NodeRequest const& request) {
    auto& node = nodes_[request.nid];
    if (!node.histogram.Data() && request.goes_on && this->WorthKeeping(node) &&
        budget_.Keep(n_values * sizeof(PackedSum)) > 0) {
      node.histogram = spare_.Take(n_values);
      node.histogram.Resize(n_values);
    }
  };
  auto n_rows = [&](NodeRequest const& request) { return nodes_[request.nid].n_all_rows; };
  ForEachJob(requests, n_rows, [&](NodeJob const& nodes) {
    Job job{nodes};
    if (job.n_nodes == 2) {
      auto& parent = nodes_[requests[job.begin].parent];
      job.from_parent = parent.histogram.Data() != nullptr;
      if (job.from_parent) {
        auto const large = requests[job.begin + 1 - job.small].nid;
        nodes_[large].histogram = std::exchange(parent.histogram, {});
      }
    }
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      keep(requests[job.begin + k]);
    }
    jobs.push_back(job);
  });
  return jobs;
}

bool SketchSearch::IsFew(Node const& node) const {
  auto is_narrow = [](auto const& block) { return block.n_slots <= FewRows::kMostSlots; };
  auto const& blocks = index_->Blocks();
  return node.NumRows() <= FewRows::kMost && !node.summed && !node.histogram.Data() &&
         std::all_of(blocks.cbegin(), blocks.cend(), is_narrow);
}

std::size_t SketchSearch::GroupBegin(std::size_t part) const {
  constexpr auto kChunk = SketchIndex::kChunkBlocks;
  return part < index_->Blocks().size() ? part / kChunk * kChunk : part;
}

std::size_t SketchSearch::GroupEnd(std::size_t part, std::size_t end) const {
  auto const n_blocks = index_->Blocks().size();
  if (part >= n_blocks) {
    return end;
  }
  constexpr auto kChunk = SketchIndex::kChunkBlocks;
  return std::min({end, n_blocks, (part / kChunk + 1) * kChunk});
}

void SketchSearch::ReserveBuffers() {
  auto const n_blocks = index_->Blocks().size();
  std::size_t n_values{0};  // of the largest group of blocks
  for (std::size_t b = 0; b < n_blocks; b = this->GroupEnd(b, n_blocks)) {
    n_values = std::max(n_values, this->PartsSize(b, this->GroupEnd(b, n_blocks)));
  }
  for (auto& buffer : buffers_) {
    if (buffer.blocks.Size() < n_values) {
      buffer.blocks.Assign(n_values, 0);
    }
    buffer.slots.Resize(this->PartSize(n_blocks));
  }
}

void SketchSearch::FillBlocks(Piece const& rows, std::size_t begin, std::size_t end,
                              PackedSum* out) const {
  constexpr std::size_t kTogether = 1024;  // rows, whose bins in a chunk stay in cache
  VisitWidth(width_, [&](auto width) {
    index_->VisitSlotType([&](auto slot) {
      using SlotT = decltype(slot);
      for (auto from = rows.begin; from < rows.end; from += kTogether) {
        for (auto b = begin; b < end; ++b) {
          AddRows<width>(index_->Slots<SlotT>(b), index_->Stride(b), rows_.data() + from,
                         packed_.data() + from * width_, std::min(kTogether, rows.end - from),
                         out + this->PartBegin(b) - this->PartBegin(begin));
        }
      }
    });
  });
}

void SketchSearch::FillSlots(Piece const& rows, PackedSum* out) const {
  VisitWidth(width_, [&](auto width) {
    AddSlots<width>(index_->RowPtr(), index_->RowSlots(), rows_.data() + rows.begin,
                    packed_.data() + rows.begin * width_, rows.NumRows(), out);
  });
}

void SketchSearch::FillRows(Piece const& rows, std::size_t begin, std::size_t end,
                            PackedSum* out) const {
  if (begin < index_->Blocks().size()) {
    this->FillBlocks(rows, begin, end, out);
  } else {
    this->FillSlots(rows, out);
  }
}

void SketchSearch::FillParts(Node const& node, std::size_t begin, std::size_t end,
                             PackedSum* out) const {
  if (node.summed) {
    std::copy_n(node.summed + this->PartBegin(begin), this->PartsSize(begin, end), out);
    return;
  }
  auto const nid = static_cast<bst_node_t>(&node - nodes_.data());
  auto const first_part = this->GroupBegin(begin);
  if (auto const it = shared_.find({nid, first_part}); it != shared_.cend()) {
    auto const [first, n_runs] = it->second;
    auto const n_values = this->PartsSize(first_part, this->GroupEnd(begin, this->NumParts()));
    auto const* sums =
        shared_sums_.Data() + first + this->PartBegin(begin) - this->PartBegin(first_part);
    for (std::size_t r = 0; r < n_runs; ++r) {
      XDCC_BEST_CLONE(AddArray<PackedSum>)(sums + r * n_values, this->PartsSize(begin, end), out);
    }
    return;
  }
  this->FillRows({0, node.begin, node.end}, begin, end, out);
}

std::vector<bst_node_t> SketchSearch::FilledNodes(Jobs jobs, Requests const& requests) {
  std::vector<bst_node_t> filled;
  for (auto const& job : jobs) {
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      if (job.IsFilled(k)) {
        filled.push_back(requests[job.begin + k].nid);
      }
    }
  }
  return filled;
}

void SketchSearch::ShareNodes(Jobs jobs, Requests const& requests) {
  // Several tasks for each thread, of some tens of microseconds at least. A row's step in a block
  // takes as long as making and adding some vectors of a histogram.
  constexpr std::size_t kTasksPerThread = 4;
  constexpr double kFewestSteps = 1 << 12, kStepsOfVector = 16.0;
  shared_.clear();
  if (n_threads_ == 1) {
    return;
  }
  auto const n_blocks = index_->Blocks().size(), n_parts = this->NumParts();
  auto const filled = FilledNodes(jobs, requests);
  auto steps_of = [&](Node const& node, std::size_t begin, std::size_t end) {
    return static_cast<double>(node.NumRows()) *
           (begin < n_blocks ? static_cast<double>(end - begin) : index_->StoredPerRow());
  };
  double n_steps{0.0};
  for (auto nid : filled) {
    n_steps += steps_of(nodes_[nid], 0, n_blocks) + steps_of(nodes_[nid], n_blocks, n_parts);
  }
  n_steps = std::max(kFewestSteps, n_steps / static_cast<double>(kTasksPerThread * n_threads_));
  struct Task {
    Piece rows;
    std::size_t begin, end;  // parts
    std::size_t first;       // value of its sums
  };
  std::vector<Task> tasks;
  std::size_t n_values{0};
  for (auto nid : filled) {
    auto const& node = nodes_[nid];
    for (std::size_t begin = 0, end = 0; begin < n_parts; begin = end) {
      end = this->GroupEnd(begin, n_parts);
      auto const size = this->PartsSize(begin, end), n_here = end - begin;
      auto const fewest = kStepsOfVector * static_cast<double>(size / (width_ * kLanes));
      auto const steps = steps_of(node, begin, end);
      auto const n_runs = static_cast<std::size_t>(steps / std::max(n_steps, fewest));
      if (n_runs < 2) {
        continue;
      }
      // More tasks than runs, which each make a histogram, divide the parts.
      auto const n_wanted = static_cast<std::size_t>(std::ceil(steps / n_steps));
      auto const n_tasks = std::min(n_here, (n_wanted + n_runs - 1) / n_runs);
      shared_[{nid, begin}] = {n_values, n_runs};
      for (std::size_t r = 0; r < n_runs; ++r, n_values += size) {
        Piece const rows{0, node.begin + node.NumRows() * r / n_runs,
                         node.begin + node.NumRows() * (r + 1) / n_runs};
        for (std::size_t t = 0; t < n_tasks; ++t) {
          auto const first = begin + n_here * t / n_tasks;
          tasks.push_back({rows, first, begin + n_here * (t + 1) / n_tasks,
                           n_values + this->PartBegin(first) - this->PartBegin(begin)});
        }
      }
    }
  }
  shared_sums_.Resize(n_values);
  common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto t) {
    auto const& task = tasks[t];
    auto* out = shared_sums_.Data() + task.first;
    std::fill_n(out, this->PartsSize(task.begin, task.end), 0);
    this->FillRows(task.rows, task.begin, task.end, out);
  });
}

void SketchSearch::SumJobsOverWorkers(Jobs jobs, Requests const& requests) {
  auto const filled = FilledNodes(jobs, requests);
  std::vector<std::size_t> groups{0};
  while (groups.back() < this->NumParts()) {
    groups.push_back(this->GroupEnd(groups.back(), this->NumParts()));
  }
  auto const n_values = this->HistogramSize(), n_groups = groups.size() - 1;
  message_.Resize(filled.size() * n_values);
  common::ParallelFor(filled.size() * n_groups, n_threads_, common::Sched::Dyn(1), [&](auto i) {
    auto const begin = groups[i % n_groups], end = groups[i % n_groups + 1];
    auto* out = message_.Data() + i / n_groups * n_values + this->PartBegin(begin);
    std::fill_n(out, this->PartsSize(begin, end), 0);
    this->FillParts(nodes_[filled[i / n_groups]], begin, end, out);
  });
  collective::SafeColl(
      collective::GlobalSum(ctx_, linalg::MakeVec(message_.Data(), filled.size() * n_values)));
  for (std::size_t i = 0; i < filled.size(); ++i) {
    nodes_[filled[i]].summed = message_.Data() + i * n_values;
  }
}

void SketchSearch::Evaluate(Requests const& requests) {
  auto const jobs = this->MakeJobs(requests);
  this->ReserveBuffers();
  // With workers, as many jobs at a time as a message may hold.
  constexpr std::size_t kMessageBytes = std::size_t{1} << 26;
  auto const node_bytes = this->HistogramSize() * sizeof(PackedSum);
  auto const n_together =
      is_shared_ ? std::max<std::size_t>(1, kMessageBytes / (2 * node_bytes + 1)) : jobs.size();
  for (std::size_t j = 0; j < jobs.size(); j += n_together) {
    Jobs const some{jobs.data() + j, std::min(n_together, jobs.size() - j)};
    this->ShareNodes(some, requests);
    if (is_shared_) {
      this->SumJobsOverWorkers(some, requests);
    }
    this->Search(some, requests);
  }
  auto const next = this->NextBins(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    this->Finish(requests[i], next[i]);
  }
  for (auto const& request : requests) {
    auto& node = nodes_[request.nid];
    node.summed = nullptr;
    // Histograms that were made only for the larger sibling.
    if (node.histogram.Data() && (!request.goes_on || !this->WorthKeeping(node))) {
      budget_.Release(node_bytes);
      spare_.GiveBack(std::exchange(node.histogram, {}));
    }
  }
}

void SketchSearch::Finish(NodeRequest const& request, bst_bin_t next) {
  auto& node = nodes_[request.nid];
  auto const& best = node.best;
  if (best.feature == SketchIndex::kNoFeature) {
    return;
  }
  PackedSum right_sum[kMaxDimensions]{};
  for (std::size_t d = 0; d < width_; ++d) {
    right_sum[d] = node.total[d] - best.left_sum[d];
  }
  auto const gain =
      this->ScoreOf(best.left_sum) + this->ScoreOf(right_sum) - this->ScoreOf(node.total);
  if (!(gain > 0.0)) {
    return;
  }
  *request.split = {static_cast<float>(gain), best.feature, 0.0f, best.default_left,
                    best.right_categories};
  if (best.right_categories.empty()) {
    if (best.default_left) {  // the highest value that splits the rows so
      node.best.bin = next - 1;
    }
    auto const& cuts = page_->cut;
    request.split->split_value = cuts.Values()[cuts.Ptrs()[best.feature] + best.bin];
  }
  request.stats->left_sums = this->Unpack(best.left_sum);
}
}  // namespace xgboost::multilabel
