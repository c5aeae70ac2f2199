"""Every estimator of the package is saved, loaded, and predicts the same bit for bit.

Every class that `save_model` accepts is here; a test fails if one is missing. Each also predicts
the same in many threads at once.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from tests.serving.mixed_models import rows_for_two_levels
from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.other_classifier import OtherClassifier
from xdcc.base.estimator import CheckedEstimator, MultiLabelEstimator
from xdcc.base.stored import stored_classes
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.comparators.baselines import (
    HOMER,
    LPBR,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    ProbabilisticClassifierChain,
    ProbabilisticEnsembleOfChains,
)
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.distillation import DistilledClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import load_model, save_model


def _booster(**params):
    return MultiLabelXGBClassifier(n_estimators=3, max_depth=3, n_jobs=1, **params)


def _learner():
    return XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)


WITH_CATEGORIES = {
    "booster": _booster(split_method="maxGain", random_state=3),
    "chain": DynamicChainClassifier(n_estimators=3, max_depth=2, n_jobs=1),
    "chain of folds": DynamicChainClassifier(n_estimators=2, cv=2, ensemble=True, n_jobs=1),
    "order-free chain": OrderFreeChainClassifier(
        _booster(), n_estimators=5, learning_rate=0.3, cv=2, n_jobs=1
    ),
    "order-free chain for subset accuracy": OrderFreeChainClassifier(
        _booster(), n_estimators=5, learning_rate=0.3, cv=2, prediction="subset_accuracy", n_jobs=1
    ),
    "order-free chain of the default": OrderFreeChainClassifier(
        n_estimators=2, cv=2, prediction="example_f1", n_jobs=1
    ),
    "forest": SketchedExtraTreesClassifier(n_estimators=5, random_state=0, n_jobs=1),
    "forest out of bag": SketchedExtraTreesClassifier(
        n_estimators=5, sketch_size=1, oob_proba=True, random_state=0, n_jobs=1
    ),
    "rdt": RandomDecisionTreeClassifier(n_estimators=5, random_state=0, n_jobs=1),
    "rdt static": RandomDecisionTreeClassifier(
        n_estimators=5, chain="static", label_test_fraction=0.3, random_state=0, n_jobs=1
    ),
    "rdt powerset": RandomDecisionTreeClassifier(
        n_estimators=5, transformation="powerset", chain=None, random_state=0, n_jobs=1
    ),
    "boomer": BoomerClassifier(n_rules=20, random_state=0, n_jobs=1),
    "boomer complete": BoomerClassifier(
        n_rules=20,
        loss="logistic_example_wise",
        head="complete",
        prediction="known_labelsets",
        random_state=0,
        n_jobs=1,
    ),
    "lacovac": LaCovaCClassifier(n_jobs=1),
    "lacovac pruned": LaCovaCClassifier(criterion="gain_ratio", max_leaf_nodes=6, n_jobs=1),
    "lacovac forest": LaCovaCForestClassifier(n_estimators=4, random_state=0, n_jobs=1),
    "lacovac labelsets": LaCovaCForestClassifier(
        n_estimators=4, voting="labelset", random_state=0, n_jobs=1
    ),
    "linear": LogisticLabels(n_jobs=1),
    "linear on text": LogisticLabels(C=1.0, text_like=True, n_jobs=1),
    "binary relevance": BinaryRelevance(n_estimators=3, n_jobs=1),
    "classifier chain": ClassifierChain(n_estimators=3, n_jobs=1, order="random", random_state=1),
    "student of a booster": DistilledClassifier(_booster(), n_estimators=5, n_jobs=1),
    "tuned F1 of a booster": TunedDecisionClassifierCV(_booster(), cv=2, random_state=0),
    "tuned labelsets of trees": TunedDecisionClassifierCV(
        RandomDecisionTreeClassifier(n_estimators=5, random_state=0, n_jobs=1),
        measure="subset_accuracy",
        cv=2,
        random_state=0,
    ),
    "automatic": MultiLabelClassifier(cv=2, n_jobs=1),
    "automatic for a ranking": MultiLabelClassifier("ndcg_at_1", cv=2, n_jobs=1),
    "thresholds of a chain": ThresholdClassifier(
        DynamicChainClassifier(n_estimators=2, max_depth=2, n_jobs=1), cv=2, random_state=0
    ),
    "thresholds of trees": ThresholdClassifier(
        LaCovaCForestClassifier(n_estimators=3, random_state=0, n_jobs=1),
        method="per_label",
        cv=2,
        random_state=0,
    ),
    "thresholds of thresholds": ThresholdClassifier(
        ThresholdClassifier(_booster(), method="fixed", threshold=0.3), cv=2, random_state=0
    ),
}
"""Estimators that take categories."""

NUMBERS_ONLY = {
    "ctbn": CTBNClassifier(C=1.0, n_jobs=1),
    "ctbn on boosters": CTBNClassifier(base_estimator=_booster(), random_state=0, n_jobs=1),
    "mixture": CTBNMixtureClassifier(max_components=2, C=1.0, random_state=0, n_jobs=1),
    "mixture of one model per label": CTBNMixtureClassifier(
        max_components=2,
        C=1.0,
        parent_effect="feature",
        prediction="example_f1",
        n_draws=20,
        random_state=0,
        n_jobs=1,
    ),
    "binary relevance of a learner": BinaryRelevance(estimator=_learner()),
    "chain of a learner": ClassifierChain(estimator=_learner(), random_state=0),
    "powerset": LabelPowerset(estimator=_learner(), random_state=0),
    "homer": HOMER(estimator=_learner(), random_state=0),
    "homer of boosters": HOMER(estimator=_booster(), random_state=0),
    "lpbr": LPBR(estimator=_learner(), cv=2, random_state=0),
    "pcc": ProbabilisticClassifierChain(estimator=_learner(), random_state=0),
    "pcc of boosters": ProbabilisticClassifierChain(estimator=_booster(), random_state=0),
    "ecc": EnsembleOfChains(estimator=_learner(), n_estimators=2, random_state=0),
    "epcc": ProbabilisticEnsembleOfChains(estimator=_learner(), n_estimators=2, random_state=0),
    "thresholds of a learner": ThresholdClassifier(
        BinaryRelevance(estimator=_learner()), cv=2, random_state=0
    ),
}
"""Other estimators."""

ESTIMATORS = {**WITH_CATEGORIES, **NUMBERS_ONLY}

OF_OTHER_OUTPUTS = (MultiTargetXGBRegressor, MultiClassXGBClassifier)
"""In ``test_outputs.py``."""


@pytest.fixture
def through_file(tmp_path):
    """Return a function that saves an estimator and loads it."""

    def loaded(model):
        save_model(model, tmp_path / "model")
        return load_model(tmp_path / "model")

    return loaded


def _subclasses(cls):
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _is_of_package(cls):
    """Whether a class is of the package, and not of an example that another test has run."""
    return getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls and (
        cls.__module__.startswith("xdcc.")
    )


def test_every_class_is_here():
    tried = {type(model) for model in ESTIMATORS.values()}
    known = {cls for cls in stored_classes().values() if issubclass(cls, CheckedEstimator)}
    own = {cls for cls in known if cls.__module__.startswith("xdcc.")}
    assert tried == own - {*OF_OTHER_OUTPUTS, OtherClassifier}
    bases = {cls for tried_class in tried for cls in tried_class.__mro__[1:]}
    missing = {
        cls.__name__
        for cls in _subclasses(MultiLabelEstimator)
        if _is_of_package(cls) and cls not in tried | bases
    }
    on_dask = {"DaskEstimator", "DaskDynamicChainClassifier", "DaskMultiLabelClassifier"}
    within = {"OtherClassifier"}  # in mixtures only: tests/test_own_parts.py
    assert missing <= on_dask | within  # those on Dask have to_local()


def _check(model, loaded, X):
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            expected = getattr(model, method)(X)
            found = getattr(loaded, method)(X)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_matrix(rows, through_file, name, form):
    X, X_new = form(np.nan_to_num(rows.X)), form(np.nan_to_num(rows.X_new))
    model = clone(ESTIMATORS[name]).fit(X, rows.Y)
    _check(model, through_file(model), X_new)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_target_of_text(rows, through_file, name):
    y = np.array(["no", "yes"])[rows.Y[:, 0]]
    model = clone(ESTIMATORS[name]).fit(np.nan_to_num(rows.X), y)
    loaded = through_file(model)
    _check(model, loaded, np.nan_to_num(rows.X_new))
    assert set(loaded.predict(rows.X_new)) <= {"no", "yes"} if name in WITH_CATEGORIES else True
    assert loaded.classes_.dtype == model.classes_.dtype


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_a_second_level(through_file, form):
    X, Y = rows_for_two_levels()
    model = MultiLabelClassifier(cv=2, n_jobs=1).fit(form(X), Y)
    assert model.stacked_
    _check(model, through_file(model), form(X[::-1]))


def _frame(X):
    frame = pd.DataFrame(np.nan_to_num(X), columns=["a", "b [x]", "größe", "d<e", "kind"])
    kinds = np.array(["red", "green", "blue"])[np.digitize(frame["kind"], [-0.5, 0.5])]
    return frame.assign(kind=pd.Categorical(kinds))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_and_categories(rows, through_file, name):
    X, X_new = _frame(rows.X), _frame(rows.X_new)
    if name in NUMBERS_ONLY:
        X, X_new = X.drop(columns="kind"), X_new.drop(columns="kind")
    Y = pd.DataFrame(rows.Y, columns=["lief", "sank", "glühte", "日本"])
    model = clone(ESTIMATORS[name]).fit(X, Y)
    loaded = through_file(model)
    _check(model, loaded, X_new)
    assert loaded.label_names_.tolist() == Y.columns.tolist()
    assert loaded.score(X_new, Y[Y.columns[::-1]]) == model.score(X_new, Y)
    if name in WITH_CATEGORIES:
        fitted = getattr(loaded, "estimators_", [loaded])[0]
        fitted = getattr(fitted, "estimator_", fitted)
        fitted = getattr(fitted, "estimator_", fitted)
        assert fitted.categories_[4].tolist() == ["blue", "green", "red"]


@pytest.mark.parametrize("name", ["booster", "chain", "classifier chain", "homer of boosters"])
def test_weights_and_one_class(rows, through_file, name):
    X, Y = np.nan_to_num(rows.X), rows.Y.copy()
    Y[:, 1] = 1
    model = clone(ESTIMATORS[name]).fit(X, Y, sample_weight=np.arange(len(Y)) % 3)
    _check(model, through_file(model), X)
    model = clone(ESTIMATORS[name]).fit(X, np.full(len(X), "always"))
    _check(model, through_file(model), X)


def test_a_classifier_that_was_fitted_before(rows, through_file):
    before = _booster().fit(rows.X, rows.Y)
    model = ThresholdClassifier(before, cv="prefit").fit(rows.X, rows.Y)
    loaded = through_file(model)
    _check(model, loaded, rows.X_new)
    assert loaded.estimator_ is loaded.estimator


def test_rules_and_trees_are_read_as_before(rows, through_file):
    X = _frame(rows.X)
    boomer = clone(ESTIMATORS["boomer"]).fit(X, rows.Y)
    assert str(through_file(boomer).rules_) == str(boomer.rules_)
    tree = clone(ESTIMATORS["lacovac"]).fit(X, rows.Y)
    leaf = int(tree.apply(X)[0, 0])
    for one, other in zip(
        through_file(tree).leaf_labelsets(leaf), tree.leaf_labelsets(leaf), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_training_continues_after_loading(rows, through_file):
    """`warm_start` continues from a loaded model as from the model that was saved."""
    model = BoomerClassifier(n_rules=5, warm_start=True, random_state=0, n_jobs=1)
    loaded = through_file(model.fit(rows.X, rows.Y))
    for one in (model, loaded):
        one.set_params(n_rules=9).fit(rows.X, rows.Y)
    _check(model, loaded, rows.X_new)


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (LabelPowerset(), "LabelPowerset.model_._learner"),
        (HOMER(), "HOMER.root_.children"),
        (EnsembleOfChains(n_estimators=1), "EnsembleOfChains.chains_.estimator"),
        (BinaryRelevance(estimator=LogisticRegression()), "BinaryRelevance.estimator"),
        (
            CTBNClassifier(base_estimator=DecisionTreeClassifier(), n_jobs=1),
            "CTBNClassifier.base_estimator",
        ),
        (
            ThresholdClassifier(LogisticRegression(), method="fixed"),
            "ThresholdClassifier.estimator",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_learners_of_scikit_learn_are_refused(rows, tmp_path, model, place):
    y = rows.Y[:, 0] if isinstance(model, ThresholdClassifier) else rows.Y
    model.fit(np.nan_to_num(rows.X), y)
    with pytest.raises(TypeError, match=f"{place}.* of sklearn.*pickle.*joblib.*XGBClassifier"):
        save_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


N_THREADS = 32
SMALL = {"n_estimators": 4, "max_depth": 3}

FOR_THREADS = {
    "boosting": lambda: MultiLabelXGBClassifier(**SMALL),
    "dynamic chain": lambda: DynamicChainClassifier(**SMALL, chain_length=2, cv=2),
    "order-free chain": lambda: OrderFreeChainClassifier(n_estimators=4, n_masks=2, cv=2),
    "boomer": lambda: BoomerClassifier(n_rules=20),
    "extra trees": lambda: SketchedExtraTreesClassifier(n_estimators=10),
    "random trees": lambda: RandomDecisionTreeClassifier(n_estimators=10),
    "forest": lambda: LaCovaCForestClassifier(n_estimators=4),
    "mixture": lambda: CTBNMixtureClassifier(max_components=2, n_anneal=5),
    "relevance": lambda: BinaryRelevance(),
    "classifier chain": lambda: ClassifierChain(),
    "thresholds": lambda: ThresholdClassifier(MultiLabelXGBClassifier(**SMALL), cv=2),
}


def _same_for_all(reference, predict, inputs):
    """Compare predictions of threads that start together with those of another model in one thread.

    So the first prediction of an estimator is made for many threads at once.
    """
    expected = [reference(X) for X in inputs]
    barrier = threading.Barrier(N_THREADS)

    def work(number):
        barrier.wait(60)
        return [
            np.array_equal(predict(inputs[k % len(inputs)]), expected[k % len(inputs)])
            for k in range(number, number + len(inputs))
        ]

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(all(same) for same in pool.map(work, range(N_THREADS)))


@pytest.fixture(scope="module")
def inputs(rows):
    X = np.nan_to_num(rows.X_new)
    return [X[:40], X[:7], X[7:8], X[8:30]]


@pytest.mark.parametrize("name", FOR_THREADS)
def test_an_estimator_predicts_for_many_threads(name, rows, inputs, tmp_path):
    model = FOR_THREADS[name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    save_model(model.fit(np.nan_to_num(rows.X), rows.Y), tmp_path / "model")
    _same_for_all(model.predict_proba, load_model(tmp_path / "model").predict_proba, inputs)
    _same_for_all(model.predict, load_model(tmp_path / "model").predict, inputs)


def test_sparse_rows_of_many_threads(rows, inputs, tmp_path):
    model = MultiLabelXGBClassifier(**SMALL, random_state=0)
    save_model(model.fit(sparse.csr_matrix(np.nan_to_num(rows.X)), rows.Y), tmp_path / "model")
    inputs = [sparse.csr_matrix(X) for X in inputs]
    _same_for_all(model.predict_proba, load_model(tmp_path / "model").predict_proba, inputs)
