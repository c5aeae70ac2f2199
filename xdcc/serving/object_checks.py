"""Whether the attributes of an object from a model file fit together.

Types have been compared with the declarations of the classes before. What is checked here are
shapes, numbers and indices: what predicting relies on. A class without such attributes needs no
check.
"""

from functools import singledispatch
from typing import Any, NotRequired, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from sklearn import multioutput

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import CompiledJointLabelset, JointLabelset
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.domains import Threads, check_domain
from xdcc.base.estimator import CheckedEstimator, MultiLabelEstimator
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.boosting.single_booster import SingleBooster
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.flat_chain import ChainMargins, ChainPredictor
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.comparators import baselines
from xdcc.comparators.baselines.ensemble_of_chains import ChainEnsemble
from xdcc.comparators.baselines.label_model import EstimatorModel, XGBModel
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import KnownLabelsets, ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.deciders import Decider, DecidingEnsemble, RuleClassifier, reader_of
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.decision.rules import (
    ConstrainedRule,
    F1Maximiser,
    FittedLabelset,
    LeastCost,
    MostProbableLabelset,
    ThresholdPerLabel,
)
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.prediction.layout import Layout
from xdcc.prediction.predictors import BoosterPredictor, MixtureMargins
from xdcc.prediction.propagation_rule import PropagationRule
from xdcc.serving.compiled_estimator import EstimatorPredictor
from xdcc.serving.compiled_parts import CHECKERS, CompiledParts, InputForm
from xdcc.serving.structure_checks import (
    check_boosters,
    check_categories,
    check_extra_trees,
    check_forest,
    check_label_trees,
    check_layout,
    check_mixture,
    check_permutation,
    check_rules,
    check_type,
    require,
)


def check_object(value: Any) -> None:
    """Raise a ValueError if the attributes of an object do not fit together.

    Parts of an estimator whose size depends on others are checked with the estimator.
    """
    if isinstance(value, CheckedEstimator):
        _check_common(value)
    if isinstance(value, MultiLabelEstimator):
        _check_labels(value)
    _check(value)
    if isinstance(value, Decider):
        _check_predictors(value)


@singledispatch
def _check(value: Any) -> None:
    """Check what a class has beyond what all estimators have."""


def _check_labels(model: MultiLabelEstimator) -> None:
    n_labels = model.n_labels_
    _check_names(model.label_names_, n_labels, "label_names_")
    if model.classes_.ndim == 2:
        require(np.array_equal(model.classes_, np.tile([0, 1], (n_labels, 1))), "classes_")
    else:
        require(n_labels == 1 and model.classes_.shape in ((1,), (2,)), "classes_")


def _check_common(model: CheckedEstimator) -> None:
    n_features = model.n_features_in_
    require(n_features > 0, "n_features_in_")
    _check_names(getattr(model, "feature_names_in_", None), n_features, "feature_names_in_")
    for position, categories in getattr(model, "categories_", {}).items():
        require(0 <= position < n_features, "categories_")
        check_categories(categories, "categories_")
    model._check_params()
    require(model._sparse_zeros() is None or hasattr(model, "sparse_X_"), "sparse_X_")
    if isinstance(model, BoosterEstimator):
        model._native_booster_params()


def _check_predictors(model: Decider) -> None:
    """Check that classifiers which predict together can read the same X.

    X is checked once, by the first of them.
    """
    first, *others = map(reader_of, model._predictors())
    for predictor in model._predictors():
        fits = not isinstance(predictor, MultiLabelEstimator) or (
            predictor.n_labels_ == model.n_labels_
        )
        require(fits, "n_labels_ of a classifier")
    for other in others:
        require((other is None) == (first is None), "a classifier")
        if other is not None and first is not None:
            require(other.n_features_in_ == first.n_features_in_, "n_features_in_ of a classifier")
            require(_same_categories(other, first), "categories_ of a classifier")


def _same_categories(model: MultiLabelEstimator, other: MultiLabelEstimator) -> bool:
    one, two = (getattr(reader, "categories_", {}) for reader in (model, other))
    return one.keys() == two.keys() and all(np.array_equal(one[at], two[at]) for at in one)


def _check_names(names: NDArray[np.object_] | None, n: int, what: str) -> None:
    if names is not None:
        require(names.shape == (n,) and all(isinstance(name, str) for name in names), what)


@_check.register
def _check_booster(model: SingleBooster) -> None:
    require(len(model._output_names) == model._n_outputs > 0, "the names of outputs")
    of_classes = isinstance(model, MultiClassXGBClassifier)
    check_boosters([model.booster_], model.n_features_in_, model._n_outputs, of_classes=of_classes)
    n_iterations = model.booster_.num_boosted_rounds()
    require(0 <= model.best_iteration_ < n_iterations, "best_iteration_")


@_check.register
def _check_regressor(model: MultiTargetXGBRegressor) -> None:
    _check_names(model.target_names_, model.n_targets_, "target_names_")
    require(model.n_targets_ == 1 or not model._has_one_target, "_has_one_target")
    _check_booster(model)


@_check.register
def _check_multiclass(model: MultiClassXGBClassifier) -> None:
    require(model.classes_.ndim == 1 and len(model.classes_) > 1, "classes_")
    _check_booster(model)


@_check.register
def _check_dynamic_chain(model: DynamicChainClassifier) -> None:
    n_outputs = model.n_labels_ + model.end_label_
    require(model.n_rounds_ == len(model.boosters_) > 0, "n_rounds_")
    # Predicting takes memory for each of them.
    require(0 < model.rule_.labels_per_round <= model.n_labels_, "rule_")
    for boosters in model.boosters_:
        require(len(boosters) > 0, "boosters_")
        check_boosters(boosters, model.n_features_in_ + n_outputs, n_outputs)


@_check.register
def _check_order_free(model: OrderFreeChainClassifier) -> None:
    require(len(model.estimators_) > 0, "estimators_")
    _check_calibration(model.calibration_, model.n_labels_)
    require(model.oof_proba_.shape == (len(model.folds_), model.n_labels_), "oof_proba_")
    n_varied = int(model.calibration_.constant.varied.sum())
    if model.booster_ is not None:
        check_boosters([model.booster_], 2 * n_varied, n_varied)
    if hasattr(model, "labelset_score_"):
        _check_known(model.labelset_score_.known, n_varied, "labelset_score_")


@_check.register
def _check_thresholds(model: ThresholdClassifier) -> None:
    require(model.thresholds_.shape == (model.n_labels_,), "thresholds_")


@_check.register
def _check_tuned(model: TunedDecisionClassifierCV) -> None:
    _check_decision(model)
    require(len(model.estimators_) > 0, "estimators_")


@_check.register
def _check_distilled(model: DistilledClassifier) -> None:
    _check_decision(model)


@_check.register
def _check_automatic(model: MultiLabelClassifier) -> None:
    _check_decision(model)
    require(len(model.members_) > 0, "members_")
    stacked = getattr(model, "stacked_", [])
    for member in (*model.members_, *stacked):
        require(len(member.estimators) > 0, "estimators")
        _check_calibration(member.calibration, model.n_labels_)
    n_margins = len(model.members_) * model.n_labels_
    for estimator in (each for level in stacked for each in level.estimators):
        require(isinstance(estimator, MultiLabelXGBClassifier), "a classifier of stacked_")
        require(estimator.n_features_in_ == n_margins, "n_features_in_ of stacked_")
        require(estimator.n_labels_ == model.n_labels_, "n_labels_ of stacked_")


def _check_calibration(calibration: LabelCalibration, n_labels: int) -> None:
    parts = (calibration.slope, calibration.intercept, *calibration.constant)
    require(all(part.shape == (n_labels,) for part in parts), "calibration")


def _check_known(known: KnownLabelsets, n_labels: int, what: str) -> None:
    require(known.labelsets.shape == (len(known.counts), n_labels), what)


def _check_decision(model: RuleClassifier) -> None:
    n_labels = model.n_labels_
    _check_calibration(model.calibration_, n_labels)
    if isinstance(model, DecidingEnsemble):
        require(model.oof_proba_.shape == (len(model.folds_), n_labels), "oof_proba_")
    _check_rule(model.rule_, n_labels)


def _check_rule(rule: Any, n_labels: int) -> None:
    if isinstance(rule, ConstrainedRule):
        labels = rule.labels
        require(labels.shape == rule.thresholds.shape == (len(labels),), "rule_")
        require(bool(((labels >= 0) & (labels < n_labels)).all()), "rule_")
        rule = rule.rule
    if isinstance(rule, LeastCost | ThresholdPerLabel):
        require(rule.thresholds.shape == (n_labels,), "rule_")
    if isinstance(rule, MostProbableLabelset | FittedLabelset | F1Maximiser):
        _check_known(rule.known, n_labels, "rule_")
    if isinstance(rule, JointLabelset):
        require(all(part.shape == (n_labels,) for part in rule.constant), "rule_")
        n_varied = int(rule.constant.varied.sum())
        check_boosters([rule.booster], 2 * n_varied, n_varied)
        _check_known(rule.known, n_varied, "rule_")


@_check.register
def _check_layout(layout: Layout) -> None:
    check_layout(layout)


@_check.register
def _check_input_form(form: InputForm) -> None:
    require(form.checked_by in CHECKERS, "the class that checks X")
    for name, value in form.learned.items():
        known = MultiLabelEstimator._stored.get(name)
        require(known is not None, name)
        is_optional = get_origin(known) is NotRequired
        check_type(value, get_args(known)[0] if is_optional else known, name)
    checker = form.checker()
    required = (
        name
        for name, type_ in MultiLabelEstimator._stored.items()
        if get_origin(type_) is not NotRequired
    )
    require(all(hasattr(checker, name) for name in required), "the form of X")
    _check_common(checker)


@_check.register
def _check_mixture_margins(source: MixtureMargins) -> None:
    layouts, n_members = source.layouts, len(source.shares)
    require(len(layouts) == (n_members + 1 if n_members else 1), "layouts")
    require(np.isfinite([source.second_share, *source.shares]).all(), "shares")
    _check_layouts(layouts[: max(n_members, 1)], "mixture")
    if n_members:
        _check_layouts(layouts[n_members:], "mixture")
        n_labels = layouts[0].n_labels
        require(layouts[-1].n_features == n_members * n_labels, "layouts")
        require(layouts[-1].n_labels == n_labels, "layouts")


@_check.register
def _check_chain_margins(source: ChainMargins) -> None:
    _check_layouts(source.layouts, "chain")
    _check_calibration(source.calibration, source.layouts[0].n_outputs)


@_check.register
def _check_one_layout(predictor: BoosterPredictor | ChainPredictor | CompiledBooster) -> None:
    require(len(predictor.layouts) == 1, "layouts")
    kind = {BoosterPredictor: "single", ChainPredictor: "chain", CompiledBooster: "from features"}
    _check_layouts(predictor.layouts, kind[type(predictor)])


def _check_layouts(layouts: list[Layout], kind: str) -> None:
    """Check that layouts are of a kind, and have the same features and labels."""
    first, *_ = layouts
    for layout in layouts:
        require(layout.kind == kind, "layouts")
        require(layout.n_features == first.n_features, "n_features")
        require(layout.n_outputs == first.n_outputs, "n_labels")


def _first_layout(source: Any) -> Layout:
    """Return a layout of what computes margins; that of a file always has one."""
    layout: Layout = source.layouts[0]
    return layout


@_check.register
def _check_decision_predictor(predictor: DecisionPredictor) -> None:
    n_labels, rule = _first_layout(predictor.source).n_outputs, predictor.rule
    require(all(part.shape == (n_labels,) for part in predictor.constant), "constant")
    if isinstance(rule, CompiledJointLabelset):
        require(all(part.shape == (n_labels,) for part in rule.constant), "rule")
        n_varied = int(rule.constant.varied.sum())
        require(rule.booster.layouts[0].n_labels == n_varied, "rule")
        _check_known(rule.known, n_varied, "rule")
        float(rule.prior)
    else:
        _check_rule(rule, n_labels)


@_check.register
def _check_order_free_predictor(predictor: OrderFreePredictor) -> None:
    calibration, params = predictor.calibration, predictor.params
    n_labels = _first_layout(predictor.source).n_labels
    _check_calibration(calibration, n_labels)
    n_varied = int(calibration.constant.varied.sum())
    if predictor.booster is not None:
        require(predictor.booster.layouts[0].n_labels == n_varied, "booster")
    OrderFreeChainClassifier(**params)._check_params()
    require(max(params["n_beams"], params["n_draws"]) <= 2**20, "params")
    np.random.default_rng(predictor.seed)
    if predictor.score is not None:
        _check_known(predictor.score.known, n_varied, "score")
    require(predictor.score is not None or params["prediction"] != "subset_accuracy", "score")


@_check.register
def _check_compiled_parts(parts: CompiledParts) -> None:
    learned, predictor = parts.input.learned, parts.predictor
    if isinstance(predictor, EstimatorPredictor):
        require(predictor.model.n_labels_ == learned["n_labels_"], "n_labels")
        require(predictor.model.n_features_in_ == learned["n_features_in_"], "n_features_in_")
        return
    if isinstance(predictor, DecisionPredictor | OrderFreePredictor):
        layout = _first_layout(predictor.source)
    else:
        layout = predictor.layouts[0]
    require(layout.n_outputs == learned["n_labels_"], "n_labels")
    require(layout.n_given == learned["n_features_in_"], "n_features_in_")


@_check.register
def _check_sketched_trees(model: SketchedExtraTreesClassifier) -> None:
    require(model.forest_.labels.n_labels == model.n_labels_, "n_labels")
    check_extra_trees(model.forest_, model.n_features_in_)
    proba = getattr(model, "oob_proba_", None)
    require(proba is None or proba.shape[1:] == (model.n_labels_,), "oob_proba_")


@_check.register
def _check_random_trees(model: RandomDecisionTreeClassifier) -> None:
    forest, labelsets = model.forest_, model.labelsets_
    require(forest.n_labels == model.n_labels_, "n_labels")
    require(labelsets.shape == (forest.n_labelsets, model.n_labels_), "labelsets_")
    check_permutation(model.random_order_, model.n_labels_, "random_order_")
    check_forest(forest, model.n_features_in_)


@_check.register
def _check_boomer(model: BoomerClassifier) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")
    require(0 <= model.best_n_rules_ <= len(model.rules_), "best_n_rules_")
    check_rules(model.rules_, model.n_features_in_, model.n_labels_)


@_check.register
def _check_label_trees(model: LaCovaCClassifier | LaCovaCForestClassifier) -> None:
    trees = model.tree_ if isinstance(model, LaCovaCClassifier) else model.trees_
    require(trees.n_labels == model.n_labels_, "n_labels")
    require(trees.n_features == model.n_features_in_, "n_features")
    check_label_trees(trees)


@_check.register
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


@_check.register
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
    _check_names(model.coef_names_, n_columns, "coef_names_")


@_check.register
def _check_label_models(model: baselines.BinaryRelevance) -> None:
    require(len(model.model_.estimators_) == model.n_labels_, "estimators_")


@_check.register
def _check_chain(model: baselines.ClassifierChain | baselines.ProbabilisticClassifierChain) -> None:
    check_permutation(model.order_, model.n_labels_, "order_")
    require(np.array_equal(model.order_, model.model_.order_), "order_")


@_check.register
def _check_chains(model: ChainEnsemble) -> None:
    require(len(model.chains_) > 0, "chains_")
    require(all(len(chain.order_) == model.n_labels_ for chain in model.chains_), "chains_")


@_check.register
def _check_sklearn_chain(chain: multioutput.ClassifierChain) -> None:
    check_permutation(np.asarray(chain.order_), len(chain.estimators_), "order_")


@_check.register
def _check_xgb_model(model: XGBModel) -> None:
    require(model.constant_ in (0, 1) or hasattr(model, "booster_"), "constant_")
    check_domain("nthread", model.params.get("nthread"), Threads())


@_check.register
def _check_estimator_model(model: EstimatorModel) -> None:
    require(model.constant_ in (0, 1) or hasattr(model, "estimator_"), "constant_")


@_check.register
def _check_powerset(model: baselines.LabelPowerset) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")


@_check.register
def _check_homer(model: baselines.HOMER) -> None:
    groups = [model.root_]
    for group in groups:
        groups.extend(group.children)
        inside = (group.labels >= 0) & (group.labels < model.n_labels_)
        require(inside.all(), "labels")
        require((group.model is None) == (group is model.root_), "model")


@_check.register
def _check_groups(model: baselines.LPBR) -> None:
    require(len(model.groups_) == len(model.models_) > 0, "groups_")
    check_permutation(np.concatenate(model.groups_), model.n_labels_, "groups_")


@_check.register
def _check_propagation_rule(rule: PropagationRule) -> None:
    rule.__post_init__()
