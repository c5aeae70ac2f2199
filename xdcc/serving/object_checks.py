"""Whether the attributes of an object from a model file fit together.

Types have been compared with the declarations of the classes before. What is checked here are
shapes, numbers and indices: what predicting relies on. A class without such attributes needs no
check.
"""

from typing import Any

import numpy as np
from sklearn import multioutput

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.domains import Threads, check_domain
from xdcc.base.estimator import CheckedEstimator, MultiLabelEstimator
from xdcc.base.input_form import InputForm
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
)
from xdcc.boosting.single_booster import SingleBooster
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.comparators import baselines
from xdcc.comparators.baselines.ensemble_of_chains import ChainEnsemble
from xdcc.comparators.baselines.label_model import EstimatorModel, XGBModel
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.decision.deciders import Decider, DecidingEnsemble, RuleClassifier
from xdcc.decision.rules import (
    ConstrainedRule,
)
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving.part_checks import (
    check_calibration,
    check_known,
    check_names,
    check_part,
    check_permutation,
    check_rule,
    require,
)
from xdcc.serving.structure_checks import (
    check_boosters,
    check_extra_trees,
    check_forest,
    check_label_trees,
    check_mixture,
    check_rules,
)


def check_object(value: Any) -> None:
    """Raise a ValueError if the attributes of an object do not fit together.

    Parts of an estimator whose size depends on others are checked with the estimator.
    """
    if isinstance(value, CheckedEstimator):
        _check_common(value)
    check_part(value)
    if isinstance(value, Decider):
        _check_predictors(value)


def _check_common(model: CheckedEstimator) -> None:
    model._check_params()
    if isinstance(model, BoosterEstimator):
        model._native_booster_params()


def _check_predictors(model: Decider) -> None:
    """Check that classifiers which predict together can read the same X.

    X is checked once, for all of them.
    """
    form = model._input_form
    for predictor in model._predictors():
        is_ours = isinstance(predictor, MultiLabelEstimator)
        require(is_ours or form.is_open, "a classifier")
        if is_ours:
            other = predictor._input_form
            require(predictor.n_labels_ == model.n_labels_, "n_labels_ of a classifier")
            require(other.is_open == form.is_open, "a classifier")
            require(other.n_features == form.n_features, "n_features_in_ of a classifier")
            require(_same_categories(other, form), "categories_ of a classifier")


def _same_categories(form: InputForm, other: InputForm) -> bool:
    one, two = form.categories or {}, other.categories or {}
    return one.keys() == two.keys() and all(np.array_equal(one[at], two[at]) for at in one)


@check_part.register
def _check_booster(model: SingleBooster) -> None:
    require(len(model._output_names) == model._n_outputs > 0, "the names of outputs")
    of_classes = isinstance(model, MultiClassXGBClassifier)
    check_boosters([model.booster_], model.n_features_in_, model._n_outputs, of_classes=of_classes)
    n_iterations = model.booster_.num_boosted_rounds()
    require(0 <= model.best_iteration_ < n_iterations, "best_iteration_")


@check_part.register
def _check_dynamic_chain(model: DynamicChainClassifier) -> None:
    n_outputs = model.n_labels_ + model.end_label_
    require(model.n_rounds_ == len(model.boosters_) > 0, "n_rounds_")
    # Predicting takes memory for each of them.
    require(0 < model.rule_.labels_per_round <= model.n_labels_, "rule_")
    for boosters in model.boosters_:
        require(len(boosters) > 0, "boosters_")
        check_boosters(boosters, model.n_features_in_ + n_outputs, n_outputs)


@check_part.register
def _check_order_free(model: OrderFreeChainClassifier) -> None:
    require(len(model.estimators_) > 0, "estimators_")
    check_calibration(model.calibration_, model.n_labels_)
    require(model.oof_proba_.shape == (len(model.folds_), model.n_labels_), "oof_proba_")
    n_varied = int(model.calibration_.constant.varied.sum())
    if model.booster_ is not None:
        check_boosters([model.booster_], 2 * n_varied, n_varied)
    if hasattr(model, "labelset_score_"):
        check_known(model.labelset_score_.known, n_varied, "labelset_score_")


@check_part.register
def _check_thresholds(model: ThresholdClassifier) -> None:
    require(model.thresholds_.shape == (model.n_labels_,), "thresholds_")


@check_part.register
def _check_tuned(model: TunedDecisionClassifierCV) -> None:
    _check_decision(model)
    require(len(model.estimators_) > 0, "estimators_")


@check_part.register
def _check_distilled(model: DistilledClassifier) -> None:
    _check_decision(model)


@check_part.register
def _check_automatic(model: MultiLabelClassifier) -> None:
    _check_decision(model)
    require(len(model.members_) > 0, "members_")
    stacked = getattr(model, "stacked_", [])
    for member in (*model.members_, *stacked):
        require(len(member.estimators) > 0, "estimators")
        check_calibration(member.calibration, model.n_labels_)
    n_margins = len(model.members_) * model.n_labels_
    for estimator in (each for level in stacked for each in level.estimators):
        require(isinstance(estimator, MultiLabelXGBClassifier), "a classifier of stacked_")
        require(estimator.n_features_in_ == n_margins, "n_features_in_ of stacked_")
        require(estimator.n_labels_ == model.n_labels_, "n_labels_ of stacked_")


def _check_decision(model: RuleClassifier) -> None:
    n_labels = model.n_labels_
    check_calibration(model.calibration_, n_labels)
    if isinstance(model, DecidingEnsemble):
        require(model.oof_proba_.shape == (len(model.folds_), n_labels), "oof_proba_")
    rule = model.rule_.rule if isinstance(model.rule_, ConstrainedRule) else model.rule_
    if isinstance(rule, JointLabelset):
        require(all(part.shape == (n_labels,) for part in rule.constant), "rule_")
        n_varied = int(rule.constant.varied.sum())
        check_boosters([rule.booster], 2 * n_varied, n_varied)
        check_known(rule.known, n_varied, "rule_")
    check_rule(model.rule_, n_labels)


@check_part.register
def _check_sketched_trees(model: SketchedExtraTreesClassifier) -> None:
    require(model.forest_.labels.n_labels == model.n_labels_, "n_labels")
    check_extra_trees(model.forest_, model.n_features_in_)
    proba = getattr(model, "oob_proba_", None)
    require(proba is None or proba.shape[1:] == (model.n_labels_,), "oob_proba_")


@check_part.register
def _check_random_trees(model: RandomDecisionTreeClassifier) -> None:
    forest, labelsets = model.forest_, model.labelsets_
    require(forest.n_labels == model.n_labels_, "n_labels")
    require(labelsets.shape == (forest.n_labelsets, model.n_labels_), "labelsets_")
    check_permutation(model.random_order_, model.n_labels_, "random_order_")
    check_forest(forest, model.n_features_in_)


@check_part.register
def _check_boomer(model: BoomerClassifier) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")
    require(0 <= model.best_n_rules_ <= len(model.rules_), "best_n_rules_")
    check_rules(model.rules_, model.n_features_in_, model.n_labels_)


@check_part.register
def _check_label_trees(model: LaCovaCClassifier | LaCovaCForestClassifier) -> None:
    trees = model.tree_ if isinstance(model, LaCovaCClassifier) else model.trees_
    require(trees.n_labels == model.n_labels_, "n_labels")
    require(trees.n_features == model.n_features_in_, "n_features")
    check_label_trees(trees)


@check_part.register
def _check_ctbn(model: CTBNMixtureClassifier | CTBNClassifier) -> None:
    design = model._design
    n_columns = None
    if design is not None:
        n_columns = model.n_features_in_
        require(design.mean.shape == (n_columns,), "mean")
        if design.axes is not None:
            require(design.axes.ndim == 2 and len(design.axes) == n_columns, "axes")
            n_columns = design.axes.shape[1]
    check_mixture(model.mixture_, n_columns, model.n_labels_)


@check_part.register
def _check_linear(model: LogisticLabels) -> None:
    columns, n_features = model._columns, model.n_features_in_
    require(columns.n_categories.shape == (n_features,), "n_categories")
    numbers = np.zeros(n_features, dtype=np.int64)
    for position, categories in getattr(model, "categories_", {}).items():
        numbers[position] = len(categories)
    require(np.array_equal(columns.n_categories, numbers), "n_categories")
    require(columns.fill.shape == columns.has_indicator.shape == (n_features,), "fill")
    n_columns = int(np.maximum(numbers, 1).sum() + columns.has_indicator.sum())
    require(columns.scale.shape == (n_columns,), "scale")
    require(columns.mean is None or columns.mean.shape == (n_columns,), "mean")
    require(model.coef_.shape == (model.n_labels_, n_columns), "coef_")
    require(model.intercept_.shape == model.C_.shape == (model.n_labels_,), "intercept_")
    check_names(model.coef_names_, n_columns, "coef_names_")


@check_part.register
def _check_label_models(model: baselines.BinaryRelevance) -> None:
    require(len(model.model_.estimators_) == model.n_labels_, "estimators_")


@check_part.register
def _check_chain(model: baselines.ClassifierChain | baselines.ProbabilisticClassifierChain) -> None:
    check_permutation(model.order_, model.n_labels_, "order_")
    require(np.array_equal(model.order_, model.model_.order_), "order_")


@check_part.register
def _check_chains(model: ChainEnsemble) -> None:
    require(len(model.chains_) > 0, "chains_")
    require(all(len(chain.order_) == model.n_labels_ for chain in model.chains_), "chains_")


@check_part.register
def _check_sklearn_chain(chain: multioutput.ClassifierChain) -> None:
    check_permutation(np.asarray(chain.order_), len(chain.estimators_), "order_")


@check_part.register
def _check_xgb_model(model: XGBModel) -> None:
    require(model.constant_ in (0, 1) or hasattr(model, "booster_"), "constant_")
    check_domain("nthread", model.params.get("nthread"), Threads())


@check_part.register
def _check_estimator_model(model: EstimatorModel) -> None:
    require(model.constant_ in (0, 1) or hasattr(model, "estimator_"), "constant_")


@check_part.register
def _check_powerset(model: baselines.LabelPowerset) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")


@check_part.register
def _check_homer(model: baselines.HOMER) -> None:
    groups = [model.root_]
    for group in groups:
        groups.extend(group.children)
        inside = (group.labels >= 0) & (group.labels < model.n_labels_)
        require(inside.all(), "labels")
        require((group.model is None) == (group is model.root_), "model")


@check_part.register
def _check_groups(model: baselines.LPBR) -> None:
    require(len(model.groups_) == len(model.models_) > 0, "groups_")
    check_permutation(np.concatenate(model.groups_), model.n_labels_, "groups_")
