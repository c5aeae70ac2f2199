/**
 * @brief Multi-label metrics: `hamming_loss`, `subset_loss`, `example_f1`, `micro_f1`, `macro_f1`.
 *
 * A label is predicted if its probability is at least the threshold, 0.5 or the t of `<metric>@t`.
 * Entries whose label is NaN (unknown) are left out, and so are rows without any known label. If no
 * label is true or predicted, example_f1 is 1; micro_f1 and macro_f1 are 0 for such a label. Of
 * entries with weights, one of weight 0 is unknown, and a row has the largest weight of its known
 * entries. Sums are taken over fixed blocks in a fixed order: the same value for any number of
 * threads.
 */
#include "xgboost/metric.h"  // for Metric

#include <algorithm>  // for all_of, max
#include <cmath>      // for isnan
#include <cstddef>    // for size_t
#include <cstdio>     // for sscanf
#include <sstream>    // for ostringstream
#include <string>     // for string
#include <vector>     // for vector

#include "../../../src/common/optional_weight.h"  // for OptionalWeights
#include "../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../../src/metric/metric_common.h"    // for MetricNoCache, CheckRowWeights
#include "../objective/entry_weights.h"           // for Of
#include "../reductions.h"                        // for ForEachRun, NumRuns, SumOverWorkers
#include "xgboost/base.h"                         // for bst_idx_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for MetaInfo
#include "xgboost/host_device_vector.h"           // for HostDeviceVector
#include "xgboost/linalg.h"                       // for MatrixView
#include "xgboost/logging.h"                      // for CHECK

namespace xgboost::multilabel {
namespace {
/** @brief The counts of a metric over a row or a label. */
struct Counts {
  double known{0.0};
  double wrong{0.0};
  double true_positive{0.0};
  double positive{0.0};
  double predicted{0.0};

  void Add(float y, bool predicted_y, double weight = 1.0) {
    bool const positive_y = y == 1.0f;
    known += weight;
    wrong += weight * (positive_y != predicted_y);
    true_positive += weight * (positive_y && predicted_y);
    positive += weight * positive_y;
    predicted += weight * predicted_y;
  }
  /** @brief Twice the intersection and the sum of the sizes: the two parts of F1. */
  [[nodiscard]] double F1Numerator() const { return 2.0 * true_positive; }
  [[nodiscard]] double F1Denominator() const { return positive + predicted; }
};

/** @brief A mean as the sum of its terms and the sum of their weights. */
struct Ratio {
  double numerator{0.0};
  double denominator{0.0};

  void Add(Ratio const& that) {
    numerator += that.numerator;
    denominator += that.denominator;
  }
};

struct HammingLoss {
  static constexpr char kName[] = "hamming_loss";
  static Ratio OfRow(Counts const& c) { return {c.wrong, c.known}; }
};
struct SubsetLoss {
  static constexpr char kName[] = "subset_loss";
  static Ratio OfRow(Counts const& c) { return {c.wrong > 0.0 ? 1.0 : 0.0, 1.0}; }
};
struct ExampleF1 {
  static constexpr char kName[] = "example_f1";
  static Ratio OfRow(Counts const& c) {
    return {c.F1Denominator() == 0.0 ? 1.0 : c.F1Numerator() / c.F1Denominator(), 1.0};
  }
};
struct MicroF1 {
  static constexpr char kName[] = "micro_f1";
  static Ratio OfRow(Counts const& c) { return {c.F1Numerator(), c.F1Denominator()}; }
};

class MultiLabelMetric : public MetricNoCache {
 public:
  MultiLabelMetric(char const* name, char const* param) : name_{name} {
    if (param != nullptr) {
      CHECK(std::sscanf(param, "%f", &threshold_) == 1 && threshold_ >= 0.0f && threshold_ <= 1.0f)
          << "The metric `" << name << "@" << param << "` needs a threshold in [0, 1] after the @.";
      std::ostringstream with_threshold;
      with_threshold << name << '@' << threshold_;
      name_ = with_threshold.str();
    }
  }
  [[nodiscard]] char const* Name() const override { return name_.c_str(); }
  [[nodiscard]] bool SupportsUnknownLabels() const override { return true; }

 protected:
  /** @brief Inputs of a metric. */
  struct Inputs {
    linalg::MatrixView<float const> labels;
    common::Span<float const> probabilities;
    common::OptionalWeights weights;
    common::Span<float const> entry_weights;  // empty: those of rows

    /** @brief Weight of an entry; 0 if its label is unknown. */
    [[nodiscard]] float Weight(std::size_t i, std::size_t j) const {
      if (std::isnan(labels(i, j))) {
        return 0.0f;
      }
      return entry_weights.empty() ? weights[i] : entry_weights[i * labels.Shape(1) + j];
    }
  };
  [[nodiscard]] Inputs Check(HostDeviceVector<float> const& preds, MetaInfo const& info) const {
    metric::CheckRowWeights(info);
    CHECK_EQ(preds.Size(), info.labels.Size())
        << "The metric `" << name_ << "` needs one prediction per row and label.";
    auto const& labels = info.labels.Data()->ConstHostVector();
    CHECK(std::all_of(labels.cbegin(), labels.cend(),
                      [](float y) { return y == 0.0f || y == 1.0f || std::isnan(y); }))
        << "The metric `" << name_
        << "` compares labels; it does not support probabilities as "
           "labels (soft_labels). Use `logloss`.";
    return {info.labels.HostView(), preds.ConstHostSpan(),
            common::OptionalWeights{info.weights_.ConstHostSpan()}, entry_weights::Of(ctx_, info)};
  }
  [[nodiscard]] bool Predicted(float probability) const { return probability >= threshold_; }

 private:
  std::string name_;
  float threshold_{0.5f};
};

/** @brief Metrics that are a ratio of two sums over rows. */
template <typename Policy>
class RowMetric : public MultiLabelMetric {
 public:
  explicit RowMetric(char const* param) : MultiLabelMetric{Policy::kName, param} {}

  double Eval(HostDeviceVector<float> const& preds, MetaInfo const& info) override {
    auto const in = this->Check(preds, info);
    std::size_t const n_rows = in.labels.Shape(0), n_labels = in.labels.Shape(1);

    constexpr std::size_t kBlock = 1024;
    std::vector<Ratio> blocks(NumRuns(n_rows, kBlock));
    ForEachRun(n_rows, kBlock, ctx_->Threads(), [&](auto b, auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        float of_row{0.0f};
        for (std::size_t j = 0; j < n_labels; ++j) {
          of_row = std::max(of_row, in.Weight(i, j));
        }
        if (of_row == 0.0f) {
          continue;
        }
        Counts counts;
        for (std::size_t j = 0; j < n_labels; ++j) {
          if (auto const weight = in.Weight(i, j); weight > 0.0f) {
            counts.Add(in.labels(i, j), this->Predicted(in.probabilities[i * n_labels + j]),
                       static_cast<double>(weight) / of_row);
          }
        }
        auto const row = Policy::OfRow(counts);
        blocks[b].Add({row.numerator * of_row, row.denominator * of_row});
      }
    });
    Ratio total;
    for (auto const& block : blocks) {
      total.Add(block);
    }
    common::Span<double> sums{reinterpret_cast<double*>(&total), 2};
    SumOverWorkers(ctx_, &sums);
    return total.denominator == 0.0 ? 0.0 : total.numerator / total.denominator;
  }
};

/** @brief Mean over the labels of their F1; a label is counted over all rows. */
class MacroF1 : public MultiLabelMetric {
 public:
  explicit MacroF1(char const* param) : MultiLabelMetric{"macro_f1", param} {}

  double Eval(HostDeviceVector<float> const& preds, MetaInfo const& info) override {
    auto const in = this->Check(preds, info);
    std::size_t const n_rows = in.labels.Shape(0), n_labels = in.labels.Shape(1);

    std::vector<Ratio> f1(n_labels);
    common::ParallelFor(n_labels, ctx_->Threads(), [&](auto j) {
      Counts counts;
      for (std::size_t i = 0; i < n_rows; ++i) {
        if (auto const weight = in.Weight(i, j); weight > 0.0f) {
          counts.Add(in.labels(i, j), this->Predicted(in.probabilities[i * n_labels + j]), weight);
        }
      }
      f1[j] = {counts.F1Numerator(), counts.F1Denominator()};
    });
    common::Span<double> sums{reinterpret_cast<double*>(f1.data()), 2 * f1.size()};
    SumOverWorkers(ctx_, &sums);
    double sum{0.0};
    for (auto const& label : f1) {
      sum += label.denominator == 0.0 ? 0.0 : label.numerator / label.denominator;
    }
    return n_labels == 0 ? 0.0 : sum / static_cast<double>(n_labels);
  }
};
}  // namespace

#define XDCC_REGISTER_METRIC(UniqueId, Name, Metric, text)                                \
  XGBOOST_REGISTER_METRIC(UniqueId, Name).describe(text).set_body([](char const* param) { \
    return new Metric{param};                                                             \
  })

XDCC_REGISTER_METRIC(HammingLoss, HammingLoss::kName, RowMetric<HammingLoss>,
                     "Share of the labels that are predicted wrongly.");
XDCC_REGISTER_METRIC(SubsetLoss, SubsetLoss::kName, RowMetric<SubsetLoss>,
                     "Share of the rows with a label that is predicted wrongly.");
XDCC_REGISTER_METRIC(ExampleF1, ExampleF1::kName, RowMetric<ExampleF1>,
                     "Mean over the rows of the F1 of the predicted labels.");
XDCC_REGISTER_METRIC(MicroF1, MicroF1::kName, RowMetric<MicroF1>, "F1 of all entries together.");
XDCC_REGISTER_METRIC(MacroF1, "macro_f1", MacroF1, "Mean over the labels of their F1.");
}  // namespace xgboost::multilabel
