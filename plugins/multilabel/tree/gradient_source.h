/**
 * @brief Where the gradients of the trees on sketches come from: the objective, or the margins.
 *
 * Trees may be for groups of labels, and each tree may draw its own rows. For one tree after the
 * other, a source provides the sketch of its labels' gradients, and these for its leaf values.
 */
#ifndef XDCC_MULTILABEL_GRADIENT_SOURCE_H_
#define XDCC_MULTILABEL_GRADIENT_SOURCE_H_

#include <algorithm>  // for copy
#include <cstddef>    // for size_t
#include <cstdint>    // for uint32_t
#include <optional>   // for nullopt
#include <utility>    // for as_const
#include <vector>     // for vector

#include "../../../src/common/optional_weight.h"  // for OptionalWeights
#include "../../../src/tree/hist/sampler.h"       // for Sampler
#include "../../../src/tree/param.h"              // for TrainParam
#include "../objective/logistic_loss.h"           // for LogisticLoss
#include "../param/param.h"                       // for MultiLabelTrainParam
#include "../reductions.h"                        // for ForEachRun
#include "data/aligned_array.h"                   // for AlignedArray
#include "leaf_values.h"                          // for LabelGradients
#include "sketch.h"                               // for Sketch, TreeKey
#include "xgboost/base.h"                         // for GradientPair
#include "xgboost/context.h"                      // for Context
#include "xgboost/linalg.h"                       // for Matrix, MatrixView
#include "xgboost/logging.h"                      // for CHECK
#include "xgboost/span.h"                         // for Span

namespace xgboost::multilabel {
/** @brief Memory that a source leaves to the next round. */
struct SourceMemory {
  linalg::Matrix<GradientPair> scaled, sampled, derived;
  std::vector<linalg::Matrix<GradientPair>> of_groups;
  std::vector<AlignedArray<float>> probabilities;  // signed ones, by group of labels
  std::vector<float> row_weights;
};

inline void CopyMatrix(linalg::MatrixView<GradientPair const> from,
                       linalg::Matrix<GradientPair>* to) {
  CHECK(from.CContiguous());
  to->Reshape(from.Shape());
  auto const values = from.Values();
  std::copy(values.cbegin(), values.cend(), to->Data()->HostVector().begin());
}

/** @brief Divide the gradients of each target by its unit; Hessians stay. [n_rows, n_targets] */
inline void DivideByUnits(Context const* ctx, linalg::MatrixView<GradientPair const> from,
                          std::vector<float> const& units, linalg::Matrix<GradientPair>* to) {
  constexpr std::size_t kRun = 256;  // rows that a thread takes at a time
  CHECK(from.CContiguous());
  to->Reshape(from.Shape());
  auto const* pairs = from.Values().data();
  auto* out = to->Data()->HostPointer();
  ForEachRun(from.Shape(0), kRun, ctx->Threads(), [&](auto, auto begin, auto end) {
    for (auto k = begin * units.size(); k < end * units.size(); k += units.size()) {
      for (std::size_t j = 0; j < units.size(); ++j) {
        out[k + j] = {pairs[k + j].GetGrad() / units[j], pairs[k + j].GetHess()};
      }
    }
  });
}

class GradientSource {
 public:
  using Groups = std::vector<Sketch::Labels>;

  virtual ~GradientSource() = default;
  [[nodiscard]] virtual std::size_t NumLabels() const = 0;
  /** @brief Whether each tree draws its own rows. */
  [[nodiscard]] bool SamplesRows() const { return param_.subsample < 1.0f; }
  /** @brief Draw the rows of the next tree. */
  virtual void SampleRows() = 0;
  /** @brief Make the gradients of a group of labels available, or those of all groups at once. */
  virtual void Separate(Groups const& groups, std::size_t group) = 0;
  /**
   * @brief Sketch the gradients of a tree's labels.
   *
   * @param key    Key of the tree.
   * @param labels Its labels: all, or those of its group.
   * @param out    [n_rows, n_dims]
   * @return       The labels' gradients, valid until `SampleRows` or `Separate` is called.
   */
  virtual LabelGradients Project(MultiLabelTrainParam const& ml_param, TreeKey const& key,
                                 Sketch::Labels const& labels,
                                 linalg::Matrix<GradientPair>* out) = 0;

 protected:
  GradientSource(Context const* ctx, tree::TrainParam const& param, SourceMemory* memory)
      : ctx_{ctx}, param_{param}, memory_{*memory} {}

  Context const* ctx_;
  tree::TrainParam const& param_;
  SourceMemory& memory_;
};

/** @brief Gradients that an objective made. */
class GivenGradients : public GradientSource {
 public:
  /** @param gpair [n_rows, n_labels] */
  GivenGradients(Context const* ctx, tree::TrainParam const& param,
                 linalg::MatrixView<GradientPair const> gpair, SourceMemory* memory)
      : GradientSource{ctx, param, memory}, sampler_{param}, gpair_{gpair}, of_tree_{gpair} {}

  [[nodiscard]] std::size_t NumLabels() const override { return gpair_.Shape(1); }
  /** @brief Gradients of all labels, after row sampling. [n_rows, n_labels] */
  [[nodiscard]] linalg::MatrixView<GradientPair const> OfTree() const { return of_tree_; }
  void SampleRows() override {
    CopyMatrix(gpair_, &memory_.sampled);
    sampler_.Sample(ctx_, memory_.sampled.HostView());
    of_tree_ = std::as_const(memory_.sampled).HostView();
  }
  /** @brief Sample other gradients of the same rows. */
  void SampleLike(linalg::Matrix<GradientPair>* others) const {
    sampler_.ApplySampling(ctx_, gpair_, others);
  }
  void Separate(Groups const& groups, std::size_t group) override {
    if (this->SamplesRows()) {
      Sketch::GatherGroups(ctx_, of_tree_, {groups[group]}, &memory_.of_groups);
    } else if (group == 0) {
      Sketch::GatherGroups(ctx_, of_tree_, groups, &memory_.of_groups);
    }
  }
  LabelGradients Project(MultiLabelTrainParam const& ml_param, TreeKey const& key,
                         Sketch::Labels const& labels, linalg::Matrix<GradientPair>* out) override {
    auto gpair = of_tree_;
    if (labels.size() < this->NumLabels()) {
      auto const at = this->SamplesRows() ? 0 : key.group;
      gpair = std::as_const(memory_.of_groups[at]).HostView();
    }
    Sketch const sketch{ctx_, ml_param, key, labels, gpair};
    return {gpair, sketch.Project(ctx_, gpair, out)};
  }

 private:
  tree::cpu_impl::Sampler sampler_;
  linalg::MatrixView<GradientPair const> gpair_, of_tree_;
};

/** @brief Gradients that are derived from the margins of the training rows; for projections. */
class DerivedGradients : public GradientSource {
 public:
  /** @param margins [n_rows, n_labels] */
  DerivedGradients(Context const* ctx, tree::TrainParam const& param, LogisticLoss const& loss,
                   linalg::MatrixView<float const> margins, SourceMemory* memory)
      : GradientSource{ctx, param, memory}, loss_{loss}, weights_{loss.weights}, margins_{margins} {
    if (memory_.probabilities.empty()) {
      memory_.probabilities.resize(1);
    }
  }

  [[nodiscard]] std::size_t NumLabels() const override { return loss_.n_labels; }
  void SampleRows() override {
    auto& drawn = memory_.sampled;  // weights as gradients, which is what rows are drawn from
    drawn.Reshape(loss_.n_rows, 1);
    auto rows = drawn.HostView();
    for (std::size_t i = 0; i < loss_.n_rows; ++i) {
      rows(i, 0) = GradientPair{weights_[i], 0.0f};
    }
    tree::cpu_impl::Sampler{param_}.Sample(ctx_, rows);
    memory_.row_weights.resize(loss_.n_rows);
    for (std::size_t i = 0; i < loss_.n_rows; ++i) {
      memory_.row_weights[i] = rows(i, 0).GetGrad();
    }
    loss_.weights = common::OptionalWeights{common::Span<float const>{memory_.row_weights}};
  }
  void Separate(Groups const& groups, std::size_t group) override {
    if (group == 0) {
      Sketch::DeriveGroups(ctx_, loss_, margins_, groups, &memory_.probabilities);
    }
  }
  LabelGradients Project(MultiLabelTrainParam const& ml_param, TreeKey const& key,
                         Sketch::Labels const& labels, linalg::Matrix<GradientPair>* out) override {
    Sketch const sketch{ctx_, ml_param, key, labels, std::nullopt};
    if (!loss_.HasSignedProbabilities()) {
      auto* derived = &memory_.derived;
      auto const bounds = sketch.DeriveAndProject(ctx_, loss_, margins_, derived, out);
      return {std::as_const(*derived).HostView(), bounds};
    }
    auto& probabilities = memory_.probabilities[key.group];
    auto const bounds = labels.size() < loss_.n_labels
                            ? sketch.Project(ctx_, loss_, &probabilities, out)
                            : sketch.DeriveAndProject(ctx_, loss_, margins_, &probabilities, out);
    return {loss_, labels.size(), probabilities.Data(), bounds};
  }

 private:
  LogisticLoss loss_;
  /** @brief Weights of all rows, before rows are drawn. */
  common::OptionalWeights weights_;
  linalg::MatrixView<float const> margins_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_GRADIENT_SOURCE_H_
