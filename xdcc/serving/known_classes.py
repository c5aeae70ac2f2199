"""The closed table of classes whose objects a model file can hold.

An object is stored as the name of its class and its attributes. The table says for every class
which attributes there are, of which type each is, and how to find out whether they fit together.
Nothing else is ever made from a file, and an estimator that learns something new has to be told
here what it is: otherwise `save_model` refuses it, and so does a test.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, ClassVar, get_origin, get_type_hints

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn import multioutput
from sklearn.base import BaseEstimator

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.members import JointLabelset, Member
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.domains import Threads, check_domain
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.labels import Classes
from xdcc.baselines import (
    HOMER,
    LPBR,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    ProbabilisticClassifierChain,
    ProbabilisticEnsembleOfChains,
)
from xdcc.baselines.homer import LabelGroup
from xdcc.baselines.label_model import EstimatorModel, XGBModel
from xdcc.baselines.label_powerset import PowersetModel
from xdcc.boomer import BoomerClassifier
from xdcc.boomer.rule import RuleList
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_inference import LabelsetScore
from xdcc.chain.propagation import PropagationRule
from xdcc.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.linear.design import Design
from xdcc.ctbn.learner import EstimatorModels, LogisticModels
from xdcc.linear.logistic import Penalty, Solution
from xdcc.ctbn.mixture import Component, Mixture
from xdcc.decision import KnownLabelsets, LabelCosts, ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.deciders import DecidingEnsemble
from xdcc.decision.rules import (
    CommonThreshold,
    F1Maximiser,
    LabelWise,
    LeastCost,
    MostProbableLabelset,
    ThresholdPerLabel,
)
from xdcc.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.lacovac.tree import LabelTrees
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.rdt.forest import Forest
from xdcc.serving.structure_checks import (
    check_boosters,
    check_categories,
    check_forest,
    check_label_trees,
    check_mixture,
    check_permutation,
    check_rules,
    check_type,
    require,
)

type Check = Callable[[Any], None]
type Curves = dict[str, dict[str, list[float]]]

_LEFT_OUT = frozenset({"_metadata_request"})
"""What scikit-learn keeps on an estimator about arguments of `fit` no longer matters."""


@dataclass(frozen=True)
class KnownClass:
    """A class whose objects a file can hold.

    Attributes
    ----------
    cls : type
        The class.
    attributes : mapping of str to type
        Attributes that every object has.
    fitted : mapping of str to type
        Attributes of an estimator that it has once it is fitted.
    optional : mapping of str to type
        Attributes that an object may have.
    check : callable
        Raises an error if the attributes of an object do not fit together. Of estimators, only
        fitted ones are checked.
    constructed : bool
        Whether objects are made by calling the class with their attributes, as named tuples are,
        and objects that derive something from these; otherwise all that an object has is stored,
        and set as it was.
    """

    cls: type
    attributes: Mapping[str, Any]
    fitted: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    check: Check = lambda _: None
    constructed: bool = False

    def attributes_of(self, value: Any) -> dict[str, Any]:
        """Take an object apart.

        Parameters
        ----------
        value : object
            Of the class.

        Returns
        -------
        dict of str to object
            Its attributes.

        Raises
        ------
        TypeError
            If it has an attribute that the table does not know.
        """
        if self.constructed:
            return {name: getattr(value, name) for name in self.attributes}
        found = {name: entry for name, entry in vars(value).items() if name not in _LEFT_OUT}
        for name in found:
            if name not in {*self.attributes, *self.fitted, *self.optional}:
                raise TypeError(
                    f"{self.cls.__name__} has an attribute {name!r} that is not its own, for "
                    "which a model file has no place."
                )
        return found

    def make(self, attributes: Mapping[str, Any]) -> Any:
        """Put an object together.

        Parameters
        ----------
        attributes : mapping of str to object
            Its attributes.

        Returns
        -------
        object
            Of the class.

        Raises
        ------
        TypeError, ValueError
            If an attribute is unknown, missing, of another type, or does not fit the others.
        """
        types = {**self.attributes, **self.fitted, **self.optional}
        for name, entry in attributes.items():
            if name not in types:
                raise ValueError(f"a {self.cls.__name__} has no attribute {name!r}")
            check_type(entry, types[name], f"{name} of a {self.cls.__name__}")
        is_fitted = any(name in attributes for name in self.fitted)
        for name in (*self.attributes, *(self.fitted if is_fitted else ())):
            if name not in attributes:
                raise ValueError(f"a {self.cls.__name__} lacks its {name}")
        value: Any = self.cls(**attributes) if self.constructed else object.__new__(self.cls)
        if not self.constructed:
            for name, entry in attributes.items():
                object.__setattr__(value, name, entry)
        if is_fitted or not self.fitted:
            self.check(value)
        return value


def _structure(cls: type, check: Check = lambda _: None, **attributes: Any) -> KnownClass:
    """Describe a dataclass, or another class by the attributes that are given."""
    types = get_type_hints(cls) if is_dataclass(cls) else {}
    types = {name: type_ for name, type_ in types.items() if get_origin(type_) is not ClassVar}
    return KnownClass(cls, {**types, **attributes}, check=check)


def _estimator(
    cls: type[BaseEstimator], check: Check, optional: Mapping[str, Any], **fitted: Any
) -> KnownClass:
    params = dict.fromkeys(cls._get_param_names(), Any)
    return KnownClass(cls, params, fitted, optional, check)


def _classifier(
    cls: type[MultiLabelEstimator],
    check: Check,
    optional: Mapping[str, Any] = MappingProxyType({}),
    /,
    **fitted: Any,
) -> KnownClass:
    """Describe an estimator of the package."""

    def check_all(model: Any) -> None:
        _check_common(model)
        check(model)

    in_common = {
        "n_features_in_": int,
        "n_labels_": int,
        "label_names_": NDArray[np.object_],
        "classes_": Classes,
        "_labels_are_named": bool,
    }
    may_be = {
        "feature_names_in_": NDArray[np.object_],
        "categories_": dict[int, NDArray[Any]],
        "sparse_X_": bool,
        "booster_params": dict[str, Any],
    }
    return _estimator(cls, check_all, {**may_be, **optional}, **in_common, **fitted)


def _check_common(model: MultiLabelEstimator) -> None:
    n_features, n_labels = model.n_features_in_, model.n_labels_
    require(n_features > 0, "n_features_in_")
    _check_names(model.label_names_, n_labels, "label_names_")
    _check_names(getattr(model, "feature_names_in_", None), n_features, "feature_names_in_")
    if model.classes_.ndim == 2:
        require(np.array_equal(model.classes_, np.tile([0, 1], (n_labels, 1))), "classes_")
    else:
        require(n_labels == 1 and model.classes_.shape in ((1,), (2,)), "classes_")
    for position, categories in getattr(model, "categories_", {}).items():
        require(0 <= position < n_features, "categories_")
        check_categories(categories, "categories_")
    model._check_params()
    require(model._sparse_zeros() is None or hasattr(model, "sparse_X_"), "sparse_X_")
    if isinstance(model, BoosterEstimator):
        model._native_booster_params()


def _check_names(names: NDArray[np.object_] | None, n: int, what: str) -> None:
    if names is not None:
        require(names.shape == (n,) and all(isinstance(name, str) for name in names), what)


def _check_booster(model: MultiLabelXGBClassifier) -> None:
    check_boosters([model.booster_], model.n_features_in_, model.n_labels_)
    n_iterations = model.booster_.num_boosted_rounds()
    require(0 <= model.best_iteration_ < n_iterations, "best_iteration_")


def _check_dynamic_chain(model: DynamicChainClassifier) -> None:
    n_outputs = model.n_labels_ + model.end_label_
    require(model.n_rounds_ == len(model.boosters_) > 0, "n_rounds_")
    # Predicting takes memory for each of them.
    require(0 < model.rule_.labels_per_round <= model.n_labels_, "rule_")
    for boosters in model.boosters_:
        require(len(boosters) > 0, "boosters_")
        check_boosters(boosters, model.n_features_in_ + n_outputs, n_outputs)


def _check_order_free(model: OrderFreeChainClassifier) -> None:
    require(len(model.estimators_) > 0, "estimators_")
    _check_calibration(model.calibration_, model.n_labels_)
    require(model.oof_proba_.shape == (len(model.folds_), model.n_labels_), "oof_proba_")
    n_varied = int(model.calibration_.constant.varied.sum())
    if model.booster_ is not None:
        check_boosters([model.booster_], 2 * n_varied, n_varied)
    if hasattr(model, "labelset_score_"):
        known = model.labelset_score_.known
        require(known.labelsets.shape == (len(known.counts), n_varied), "labelset_score_")


def _check_thresholds(model: ThresholdClassifier) -> None:
    require(model.thresholds_.shape == (model.n_labels_,), "thresholds_")


def _check_tuned(model: TunedDecisionClassifierCV) -> None:
    _check_decision(model)
    require(len(model.estimators_) > 0, "estimators_")
    require(model.oof_proba_.shape == (len(model.folds_), model.n_labels_), "oof_proba_")


def _check_automatic(model: MultiLabelClassifier) -> None:
    _check_decision(model)
    require(len(model.members_) > 0, "members_")
    for member in model.members_:
        require(len(member.estimators) > 0, "estimators")
        _check_calibration(member.calibration, model.n_labels_)
    require(model.oof_proba_.shape == (len(model.folds_), model.n_labels_), "oof_proba_")
    rule = model.rule_
    if isinstance(rule, JointLabelset):
        require(all(part.shape == (model.n_labels_,) for part in rule.constant), "rule_")
        n_varied = int(rule.constant.varied.sum())
        check_boosters([rule.booster], 2 * n_varied, n_varied)
        require(rule.known.labelsets.shape == (len(rule.known.counts), n_varied), "rule_")


def _check_calibration(calibration: LabelCalibration, n_labels: int) -> None:
    parts = (calibration.slope, calibration.intercept, *calibration.constant)
    require(all(part.shape == (n_labels,) for part in parts), "calibration")


def _check_decision(model: DecidingEnsemble) -> None:
    n_labels, rule = model.n_labels_, model.rule_
    _check_calibration(model.calibration_, n_labels)
    if isinstance(rule, LeastCost | ThresholdPerLabel):
        require(rule.thresholds.shape == (n_labels,), "rule_")
    if isinstance(rule, MostProbableLabelset | F1Maximiser):
        require(rule.known.labelsets.shape == (len(rule.known.counts), n_labels), "rule_")


def _check_random_trees(model: RandomDecisionTreeClassifier) -> None:
    forest, labelsets = model.forest_, model.labelsets_
    require(forest.n_labels == model.n_labels_, "n_labels")
    require(labelsets.shape == (forest.n_labelsets, model.n_labels_), "labelsets_")
    check_permutation(model.random_order_, model.n_labels_, "random_order_")
    check_forest(forest, model.n_features_in_)


def _check_boomer(model: BoomerClassifier) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")
    require(0 <= model.best_n_rules_ <= len(model.rules_), "best_n_rules_")
    check_rules(model.rules_, model.n_features_in_, model.n_labels_)


def _check_label_trees(model: LaCovaCClassifier | LaCovaCForestClassifier) -> None:
    trees = model.tree_ if isinstance(model, LaCovaCClassifier) else model.trees_
    require(trees.n_labels == model.n_labels_, "n_labels")
    require(trees.n_features == model.n_features_in_, "n_features")
    check_label_trees(trees)


def _check_ctbn(model: CTBNMixtureClassifier) -> None:
    design = model._design
    n_columns = None
    if design is not None:
        n_columns = model.n_features_in_
        require(design.mean.shape == (n_columns,), "mean")
        if design.axes is not None:
            require(design.axes.ndim == 2 and len(design.axes) == n_columns, "axes")
            n_columns = design.axes.shape[1]
    check_mixture(model.mixture_, n_columns, model.n_labels_)


def _check_label_models(model: BinaryRelevance) -> None:
    require(len(model.model_.estimators_) == model.n_labels_, "estimators_")


def _check_chain(model: ClassifierChain | ProbabilisticClassifierChain) -> None:
    check_permutation(model.order_, model.n_labels_, "order_")
    require(np.array_equal(model.order_, model.model_.order_), "order_")


def _check_chains(model: EnsembleOfChains | ProbabilisticEnsembleOfChains) -> None:
    require(len(model.chains_) > 0, "chains_")
    require(all(len(chain.order_) == model.n_labels_ for chain in model.chains_), "chains_")


def _check_sklearn_chain(chain: multioutput.ClassifierChain) -> None:
    check_permutation(np.asarray(chain.order_), len(chain.estimators_), "order_")


def _check_xgb_model(model: XGBModel) -> None:
    require(model.constant_ in (0, 1) or hasattr(model, "booster_"), "constant_")
    check_domain("nthread", model.params.get("nthread"), Threads())


def _check_powerset(model: LabelPowerset) -> None:
    require(model.labelsets_.ndim == 2, "labelsets_")
    require(model.labelsets_.shape[1] == model.n_labels_, "labelsets_")


def _check_homer(model: HOMER) -> None:
    groups = [model.root_]
    for group in groups:
        groups.extend(group.children)
        inside = (group.labels >= 0) & (group.labels < model.n_labels_)
        require(inside.all(), "labels")
        require((group.model is None) == (group is model.root_), "model")


def _check_groups(model: LPBR) -> None:
    require(len(model.groups_) == len(model.models_) > 0, "groups_")
    check_permutation(np.concatenate(model.groups_), model.n_labels_, "groups_")


_CTBN: Mapping[str, Any] = {
    "_seed": int,
    "_design": Design | None,
    "C_": float | None,
    "mixture_": Mixture,
    "mixture_weights_": NDArray[np.float64],
    "structures_": list[list[tuple[str, str]]],
    "validation_log_likelihood_": list[float],
    "log_likelihood_curves_": list[list[float]],
    "log_likelihood_curve_": list[float],
}

_RULE = (
    LabelWise | LeastCost | CommonThreshold | ThresholdPerLabel | MostProbableLabelset | F1Maximiser
)
_RULE_OF_AUTOMATIC = _RULE | JointLabelset

_KNOWN = (
    _classifier(
        MultiLabelXGBClassifier,
        _check_booster,
        booster_=xgb.Booster,
        best_iteration_=int,
        evals_result_=Curves,
        sketch_size_=int,
        labels_per_tree_=int,
    ),
    _classifier(
        DynamicChainClassifier,
        _check_dynamic_chain,
        {"stop_scores_": list[float]},
        rule_=PropagationRule,
        end_label_=bool,
        boosters_=list[list[xgb.Booster]],
        n_rounds_=int,
    ),
    _classifier(
        OrderFreeChainClassifier,
        _check_order_free,
        {"labelset_score_": LabelsetScore},
        estimators_=list[BaseEstimator],
        calibration_=LabelCalibration,
        booster_=xgb.Booster | None,
        losses_=list[float],
        oof_proba_=NDArray[np.float64],
        folds_=NDArray[np.int64],
        _seed=int,
    ),
    _classifier(
        ThresholdClassifier,
        _check_thresholds,
        thresholds_=NDArray[np.float64],
        estimator_=BaseEstimator,
    ),
    _classifier(
        TunedDecisionClassifierCV,
        _check_tuned,
        estimators_=list[BaseEstimator],
        folds_=NDArray[np.int64],
        oof_proba_=NDArray[np.float64],
        calibration_=LabelCalibration,
        cv_results_=dict[str, Any],
        best_score_=float,
        rule_=_RULE,
    ),
    _classifier(
        MultiLabelClassifier,
        _check_automatic,
        members_=list[Member],
        folds_=NDArray[np.int64],
        oof_proba_=NDArray[np.float64],
        calibration_=LabelCalibration,
        summary_=dict[str, Any],
        best_score_=float,
        rule_=_RULE_OF_AUTOMATIC,
    ),
    _structure(JointLabelset),
    _structure(Member, estimators=list[BaseEstimator]),
    _structure(LabelWise),
    _structure(LeastCost),
    _structure(CommonThreshold),
    _structure(ThresholdPerLabel),
    _structure(MostProbableLabelset),
    _structure(F1Maximiser),
    _structure(LabelCalibration),
    KnownClass(
        LabelCosts,
        {"false_positive": Any, "false_negative": Any},
        constructed=True,
    ),
    KnownClass(
        LabelsetScore,
        {"joint": float, "prior": float, "known": KnownLabelsets},
        constructed=True,
    ),
    KnownClass(
        ConstantLabels,
        {"value": NDArray[np.float64], "proba": NDArray[np.float64]},
        constructed=True,
    ),
    KnownClass(
        KnownLabelsets,
        {"labelsets": NDArray[np.int8], "counts": NDArray[Any]},
        constructed=True,
    ),
    _classifier(
        RandomDecisionTreeClassifier,
        _check_random_trees,
        random_order_=NDArray[np.int64],
        labelsets_=NDArray[np.int8],
        forest_=Forest,
    ),
    _classifier(
        BoomerClassifier,
        _check_boomer,
        _seed=int,
        labelsets_=NDArray[np.int8],
        evals_result_=Curves,
        coverage_=NDArray[np.int64],
        rules_=RuleList,
        best_n_rules_=int,
    ),
    _classifier(LaCovaCClassifier, _check_label_trees, tree_=LabelTrees),
    _classifier(LaCovaCForestClassifier, _check_label_trees, trees_=LabelTrees),
    _classifier(CTBNMixtureClassifier, _check_ctbn, **_CTBN),
    _classifier(CTBNClassifier, _check_ctbn, **_CTBN),
    _classifier(BinaryRelevance, _check_label_models, model_=multioutput.MultiOutputClassifier),
    _classifier(
        ClassifierChain,
        _check_chain,
        order_=NDArray[np.int64],
        model_=multioutput.ClassifierChain,
    ),
    _classifier(
        ProbabilisticClassifierChain,
        _check_chain,
        order_=NDArray[np.int64],
        model_=multioutput.ClassifierChain,
    ),
    _classifier(EnsembleOfChains, _check_chains, chains_=list[multioutput.ClassifierChain]),
    _classifier(
        ProbabilisticEnsembleOfChains,
        _check_chains,
        chains_=list[multioutput.ClassifierChain],
    ),
    _classifier(
        LabelPowerset,
        _check_powerset,
        model_=PowersetModel,
        labelsets_=NDArray[np.int8],
    ),
    _classifier(HOMER, _check_homer, root_=LabelGroup),
    _classifier(
        LPBR,
        _check_groups,
        groups_=list[NDArray[np.int64]],
        models_=list[PowersetModel],
    ),
    _estimator(
        XGBModel,
        _check_xgb_model,
        {"booster_": xgb.Booster},
        classes_=NDArray[np.int64],
        constant_=int | None,
    ),
    _estimator(
        EstimatorModel,
        lambda model: require(
            model.constant_ in (0, 1) or hasattr(model, "estimator_"), "constant_"
        ),
        {"estimator_": BaseEstimator},
        classes_=NDArray[np.int64],
        constant_=int | None,
    ),
    _structure(PropagationRule, lambda rule: rule.__post_init__()),
    _structure(Forest),
    _structure(LabelTrees),
    _structure(
        RuleList,
        attributes=list[str],
        labels=list[str],
        categories=dict[int, NDArray[Any]],
        condition_start=NDArray[np.int64],
        feature=NDArray[np.int32],
        relation=NDArray[np.int8],
        threshold=NDArray[np.float32],
        head_start=NDArray[np.int64],
        head_label=NDArray[np.int32],
        head_score=NDArray[np.float64],
        n_covered=NDArray[np.int64],
    ),
    _structure(
        Design,
        axes=NDArray[np.float64] | None,
        keeps_sparse=bool,
        mean=NDArray[np.float64],
    ),
    _structure(Mixture),
    _structure(Component, models=LogisticModels | EstimatorModels),
    _structure(LogisticModels),
    _structure(EstimatorModels),
    _structure(Solution),
    _structure(Penalty),
    _structure(LabelGroup, model=XGBModel | EstimatorModel | None),
    _structure(
        PowersetModel,
        _learner=BaseEstimator,
        labelsets=NDArray[np.int8],
        _model=BaseEstimator | None,
    ),
)

_FOREIGN = {
    "sklearn.ClassifierChain": _estimator(
        multioutput.ClassifierChain,
        _check_sklearn_chain,
        {"chain_method_": str, "n_features_in_": int},
        order_=NDArray[np.int64],
        estimators_=list[BaseEstimator],
        classes_=list[NDArray[Any]],
    ),
    "sklearn.MultiOutputClassifier": _estimator(
        multioutput.MultiOutputClassifier,
        lambda _: None,
        {"n_features_in_": int},
        estimators_=list[BaseEstimator],
        classes_=list[NDArray[Any]],
    ),
    "xgboost.XGBClassifier": KnownClass(
        xgb.XGBClassifier,
        dict.fromkeys(xgb.XGBClassifier().get_params(deep=False), Any),
        {"_Booster": xgb.Booster, "n_classes_": int},
        {"evals_result_": dict[str, Any], "kwargs": dict[str, Any]},
    ),
}

KNOWN_CLASSES: Mapping[str, KnownClass] = {
    **{known.cls.__name__: known for known in _KNOWN},
    **_FOREIGN,
}
"""The table: classes by their names in a file."""

NAMES: Mapping[type, str] = {known.cls: name for name, known in KNOWN_CLASSES.items()}
"""The names of the classes."""

MODELS = tuple(cls for cls in NAMES if issubclass(cls, MultiLabelEstimator))
"""The estimators of the package."""
