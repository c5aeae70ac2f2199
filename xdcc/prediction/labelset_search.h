/**
 * @brief The search of labelsets with an order-free chain, for a block of rows together.
 *
 * ``xdcc/chain/order_free_inference.py`` says what is searched, and has the slow form. Here the
 * states of a row are the nodes of a tree: a node has some labels revealed, the label that comes
 * next, and a child for each value of it. The greedy path, the beams and the paths to known
 * labelsets share nodes, and each is evaluated once. All rows advance by a label together, so that
 * their new nodes go through the booster as one batch. The path to a known labelset ends where it
 * can no longer become the best one.
 */
#ifndef XDCC_PREDICTION_LABELSET_SEARCH_H_
#define XDCC_PREDICTION_LABELSET_SEARCH_H_

#include <algorithm>  // for copy_n, lower_bound, max, min, partial_sort, stable_sort
#include <cmath>      // for exp, fabs, isnan, log, log1p
#include <cstddef>    // for size_t
#include <cstdint>    // for int8_t, int32_t, int64_t
#include <cstring>    // for memcmp
#include <limits>     // for numeric_limits
#include <utility>    // for swap
#include <vector>     // for vector

#include "walk.h"

namespace xdcc {
/** @brief How labelsets are searched and compared. */
struct SearchRule {
  std::int64_t n_beams;
  double slack;          // how far below the greedy labelset a beam may be
  double joint;          // weight of the chain's log-probability; 1 - joint: of independent labels
  double prior;          // weight of log(1 + count)
  std::int64_t n_known;  // known labelsets that are candidates for a row
  double known_prior;    // weight of log(count) in their choice
};

/** @brief Known labelsets in lexicographic order. */
struct KnownTable {
  std::int64_t n_sets;
  std::int8_t const* labels;  // [n_sets, n_labels]
  double const* count;        // [n_sets]
};

/** @brief Searches labelsets for blocks of rows. */
class LabelsetSearch {
 public:
  LabelsetSearch(Compiled const& model, Batch const* batch, SearchRule const& rule,
                 KnownTable const& known)
      : n_labels_{model.n_labels}, rule_{rule}, known_{known} {
    for (Call* call : {&few_, &many_}) {
      call->model = &model;
      call->rows.row_stride = 2 * n_labels_ * static_cast<std::int64_t>(sizeof(float));
      call->rows.column_stride = sizeof(float);
      call->rows.is_double = false;
      call->block = kLine;
    }
    many_.batch = batch;
  }

  /**
   * @brief Decide rows.
   *
   * @param margins [n_rows, n_labels]
   * @param labels [n_rows, n_labels]
   * @return False if a margin is infinite.
   */
  bool Decide(float const* margins, std::int64_t n_rows, std::int8_t* labels) {
    this->Begin(margins, n_rows);
    if (!this->FollowGreedy() || !this->FollowBeams()) {
      return false;
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      this->Compare(row);
    }
    if (!this->FollowKnown()) {
      return false;
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      std::copy_n(best_labels_.data() + row * n_labels_, n_labels_, labels + row * n_labels_);
    }
    return true;
  }

 private:
  static constexpr std::int64_t kFew = 4;  // states; with more, evaluating a batch of 64 is quicker

  struct Node {
    std::int32_t child[2];  // 0: none yet
    std::int32_t label;     // the next one
    double log_odds;        // of it
  };
  struct Path {
    std::int64_t row;
    std::int32_t node;
    double log_prob;
  };
  struct Candidate : Path {
    std::int64_t known;  // which labelset
    double rest;         // what does not depend on the chain
  };

  static double LogProb(double log_odds, bool value) {
    double const x = value ? -log_odds : log_odds;
    return -(std::max(0.0, x) + std::log1p(std::exp(-std::fabs(x))));
  }

  float const* Revealed(std::int32_t node) const {
    return states_.data() + node * 2 * n_labels_ + n_labels_;
  }

  /** @brief Begin with a node for each row. */
  void Begin(float const* margins, std::int64_t n_rows) {
    n_rows_ = n_rows;
    margins_ = margins;
    nodes_.clear();
    states_.clear();
    for (std::int64_t row = 0; row < n_rows; ++row) {
      nodes_.push_back(Node{});
      states_.insert(states_.end(), margins + row * n_labels_, margins + (row + 1) * n_labels_);
      states_.insert(states_.end(), n_labels_, std::numeric_limits<float>::quiet_NaN());
    }
    n_evaluated_ = 0;
    best_score_.assign(n_rows, -std::numeric_limits<double>::infinity());
    best_labels_.assign(n_rows * n_labels_, 0);
  }

  /** @brief Find the next label of all new nodes; return whether all margins are finite. */
  bool Evaluate() {
    auto const n_new = static_cast<std::int64_t>(nodes_.size()) - n_evaluated_;
    log_odds_.resize(n_new * n_labels_);
    float const* states = states_.data() + n_evaluated_ * 2 * n_labels_;
    Call& call = many_.batch == nullptr || n_new < kFew ? few_ : many_;
    call.rows.n_rows = n_new;
    call.rows.dense = reinterpret_cast<char const*>(states);
    if (call.memory.empty()) {
      call.Prepare(1);
    }
    call.single_out = log_odds_.data();
    for (std::int64_t block = 0; block * kLine < n_new; ++block) {
      PredictBlock(&call, block, 0);
    }
    for (std::int64_t i = 0; i < n_new; ++i) {
      float const* of_node = log_odds_.data() + i * n_labels_;
      float const* revealed = states + i * 2 * n_labels_ + n_labels_;
      Node& node = nodes_[n_evaluated_ + i];
      float largest = -1.0f;
      for (std::int64_t j = 0; j < n_labels_; ++j) {
        if (std::isnan(revealed[j]) && std::fabs(of_node[j]) > largest) {
          largest = std::fabs(of_node[j]);
          node.label = static_cast<std::int32_t>(j);
        }
      }
      node.log_odds = static_cast<double>(of_node[node.label]);
    }
    n_evaluated_ += n_new;
    return !call.is_infinite.load();
  }

  /** @brief Return the child of a node for a value of its label. */
  std::int32_t Child(std::int32_t number, bool value) {
    if (nodes_[number].child[value] == 0) {
      auto const made = static_cast<std::int32_t>(nodes_.size());
      nodes_[number].child[value] = made;
      auto const label = nodes_[number].label;
      nodes_.push_back(Node{});
      states_.resize(states_.size() + 2 * n_labels_);
      std::copy_n(states_.data() + number * 2 * n_labels_, 2 * n_labels_,
                  states_.data() + made * 2 * n_labels_);
      states_[made * 2 * n_labels_ + n_labels_ + label] = value ? 1.0f : 0.0f;
    }
    return nodes_[number].child[value];
  }

  /** @brief Go on to a child; the last label needs no evaluation after it. */
  bool EvaluateUnlessLast(std::int64_t step) {
    if (step + 1 < n_labels_) {
      return this->Evaluate();
    }
    n_evaluated_ = static_cast<std::int64_t>(nodes_.size());
    return true;
  }

  /** @brief Take the more probable value each time; beams are compared with this labelset. */
  bool FollowGreedy() {
    greedy_.clear();
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      greedy_.push_back(Path{row, static_cast<std::int32_t>(row), 0.0});
    }
    if (!this->Evaluate()) {
      return false;
    }
    for (std::int64_t step = 0; step < n_labels_; ++step) {
      for (Path& path : greedy_) {
        double const log_odds = nodes_[path.node].log_odds;
        path.log_prob += LogProb(log_odds, log_odds >= 0.0);
        path.node = this->Child(path.node, log_odds >= 0.0);
      }
      if (!this->EvaluateUnlessLast(step)) {
        return false;
      }
    }
    return true;
  }

  /** @brief Follow the most probable beams of each row. */
  bool FollowBeams() {
    beams_.clear();
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      beams_.push_back(Path{row, static_cast<std::int32_t>(row), 0.0});
    }
    std::vector<Path> next;
    for (std::int64_t step = 0; step < n_labels_; ++step) {
      next.clear();
      for (std::size_t begin = 0, end = 0; begin < beams_.size(); begin = end) {
        auto const row = beams_[begin].row;
        while (end < beams_.size() && beams_[end].row == row) {
          ++end;
        }
        this->Extend(begin, end, &next);
      }
      std::swap(beams_, next);
      if (!this->EvaluateUnlessLast(step)) {
        return false;
      }
    }
    return true;
  }

  /** @brief Extend the beams of a row by a label, with 1 and with 0, and keep the best. */
  void Extend(std::size_t begin, std::size_t end, std::vector<Path>* next) {
    struct Step {
      std::int32_t node;
      bool value;
      double log_prob;
    };
    std::vector<Step> steps;
    auto const row = beams_[begin].row;
    for (int value = 1; value >= 0; --value) {
      for (auto i = begin; i < end; ++i) {
        double const log_prob =
            beams_[i].log_prob + LogProb(nodes_[beams_[i].node].log_odds, value);
        if (log_prob >= greedy_[row].log_prob - rule_.slack) {
          steps.push_back(Step{beams_[i].node, value != 0, log_prob});
        }
      }
    }
    std::stable_sort(steps.begin(), steps.end(), [](Step const& one, Step const& other) {
      return one.log_prob > other.log_prob;
    });
    steps.resize(std::min(steps.size(), static_cast<std::size_t>(rule_.n_beams)));
    for (Step const& step : steps) {
      next->push_back(Path{row, this->Child(step.node, step.value), step.log_prob});
    }
  }

  /** @brief Compute the part of a labelset's score that does not depend on the chain. */
  template <typename Value>
  double Rest(std::int64_t row, Value const* labels, double count) const {
    double independent = 0.0;
    for (std::int64_t j = 0; j < n_labels_; ++j) {
      independent += LogProb(margins_[row * n_labels_ + j], labels[j] != Value{0});
    }
    return (1.0 - rule_.joint) * independent + rule_.prior * std::log1p(count);
  }

  double CountOf(std::int8_t const* labels) const {
    std::int64_t begin = 0, end = known_.n_sets;
    while (begin < end) {
      auto const middle = (begin + end) / 2;
      auto const order = std::memcmp(known_.labels + middle * n_labels_, labels, n_labels_);
      if (order == 0) {
        return known_.count[middle];
      }
      (order < 0 ? begin : end) = order < 0 ? middle + 1 : middle;
    }
    return 0.0;
  }

  void Offer(std::int64_t row, double score, std::int8_t const* labels) {
    if (score > best_score_[row]) {
      best_score_[row] = score;
      std::copy_n(labels, n_labels_, best_labels_.data() + row * n_labels_);
    }
  }

  /** @brief Compare the beams of a row, or, if none is left, the greedy labelset. */
  void Compare(std::int64_t row) {
    std::vector<std::int8_t> labels(n_labels_);
    auto const offer = [&](Path const& path) {
      for (std::int64_t j = 0; j < n_labels_; ++j) {
        labels[j] = static_cast<std::int8_t>(this->Revealed(path.node)[j]);
      }
      double const count = known_.n_sets == 0 ? 0.0 : this->CountOf(labels.data());
      this->Offer(row, rule_.joint * path.log_prob + this->Rest(row, labels.data(), count),
                  labels.data());
    };
    auto const is_before = [](Path const& path, std::int64_t number) { return path.row < number; };
    auto at = std::lower_bound(beams_.begin(), beams_.end(), row, is_before);
    if (at == beams_.end() || at->row != row) {
      offer(greedy_[row]);
    }
    for (; at != beams_.end() && at->row == row; ++at) {
      offer(*at);
    }
  }

  /** @brief Find the likeliest known labelsets of each row, as if labels were independent. */
  void FindKnown() {
    std::vector<double> score(known_.n_sets);
    std::vector<std::int64_t> order(known_.n_sets);
    auto const n = std::min(rule_.n_known, known_.n_sets);
    candidates_.clear();
    for (std::int64_t row = 0; row < n_rows_; ++row) {
      for (std::int64_t i = 0; i < known_.n_sets; ++i) {
        score[i] = rule_.known_prior * std::log(known_.count[i]);
        for (std::int64_t j = 0; j < n_labels_; ++j) {
          if (known_.labels[i * n_labels_ + j]) {
            score[i] += static_cast<double>(margins_[row * n_labels_ + j]);
          }
        }
        order[i] = i;
      }
      std::partial_sort(
          order.begin(), order.begin() + n, order.end(),
          [&](std::int64_t one, std::int64_t other) { return score[one] > score[other]; });
      for (std::int64_t i = 0; i < n; ++i) {
        Candidate candidate;
        candidate.row = row;
        candidate.node = static_cast<std::int32_t>(row);
        candidate.log_prob = 0.0;
        candidate.known = order[i];
        candidate.rest =
            this->Rest(row, known_.labels + order[i] * n_labels_, known_.count[order[i]]);
        candidates_.push_back(candidate);
      }
    }
  }

  /** @brief Follow the paths to known labelsets as long as they can become the best ones. */
  bool FollowKnown() {
    this->FindKnown();
    constexpr double kRounding = 1e-9;
    for (std::int64_t step = 0; step < n_labels_; ++step) {
      std::size_t n_kept = 0;
      for (Candidate candidate : candidates_) {
        Node const node = nodes_[candidate.node];
        bool const value = known_.labels[candidate.known * n_labels_ + node.label] != 0;
        candidate.log_prob += LogProb(node.log_odds, value);
        if (rule_.joint * candidate.log_prob + candidate.rest >=
            best_score_[candidate.row] - kRounding) {
          candidate.node = this->Child(candidate.node, value);
          candidates_[n_kept++] = candidate;
        }
      }
      candidates_.resize(n_kept);
      if (!this->EvaluateUnlessLast(step)) {
        return false;
      }
    }
    for (Candidate const& candidate : candidates_) {
      this->Offer(candidate.row, rule_.joint * candidate.log_prob + candidate.rest,
                  known_.labels + candidate.known * n_labels_);
    }
    return true;
  }

  std::int64_t n_labels_, n_rows_{0}, n_evaluated_{0};
  SearchRule rule_;
  KnownTable known_;
  float const* margins_{nullptr};
  Call few_, many_;  // for few states at a time, and for many
  std::vector<Node> nodes_;
  std::vector<float> states_;  // [n_nodes, 2 n_labels]: margins, revealed labels
  std::vector<float> log_odds_;
  std::vector<Path> greedy_, beams_;
  std::vector<Candidate> candidates_;
  std::vector<double> best_score_;
  std::vector<std::int8_t> best_labels_;
};
}  // namespace xdcc
#endif  // XDCC_PREDICTION_LABELSET_SEARCH_H_
