"""`CompiledModel` predicts as the model does: boosters bit for bit, the others within 1e-6."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.reference import prediction as reference
from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.mixture import Member, second_level
from xdcc.base import features
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.comparators.baselines import BinaryRelevance, EnsembleOfChains
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.data import make_multilabel
from xdcc.decision import LabelCosts, Recall, TunedDecisionClassifierCV
from xdcc.decision.rules import RULE_NAMES
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, load_model, save_model

MEMBERS = {
    "booster": MultiLabelXGBClassifier(n_estimators=6, max_depth=3),
    "forest": SketchedExtraTreesClassifier(n_estimators=12, random_state=0),
    "linear": LogisticLabels(C=0.1),
}


def tuned(name, **arguments):
    return TunedDecisionClassifierCV(
        MEMBERS[name], **{"cv": 3, "random_state": 0, "n_jobs": 1, **arguments}
    )


def short_of_time(X, Y):
    with pytest.warns(UserWarning, match="time_budget is too short"):
        return MultiLabelClassifier(time_budget=1e-3, cv=2).fit(X, Y)


def as_compiled(model, error):
    """The message of a compiled model: it has its own name."""
    return str(error).replace(type(model).__name__, "CompiledModel")


def assert_same(model, X, *, exact):
    """Compare a compiled model and the model itself with the reference."""
    compiled_model, tolerance = CompiledModel(model), 0 if exact else 1e-6
    margins, found = reference.margins(model, X), compiled_model.decision_function(X)
    assert found.dtype == margins.dtype
    np.testing.assert_allclose(found.reshape(margins.shape), margins, rtol=0, atol=tolerance)
    proba = model._output_form.proba(reference.proba(model, X))
    labels = model._output_form.labels(reference.labels(model, X))
    for each in (compiled_model, model):
        np.testing.assert_allclose(each.predict_proba(X), proba, rtol=0, atol=tolerance)
        decided = each.predict(X)
        np.testing.assert_array_equal(decided, labels)
        assert decided.dtype == labels.dtype
    return compiled_model


@settings(max_examples=30, deadline=None)
@given(
    n_labels=st.integers(1, 6),
    max_depth=st.integers(0, 8),
    n_estimators=st.integers(1, 12),
    missing=st.sampled_from([0.0, 0.3]),
    n_rows=st.integers(1, 150),
    seed=st.integers(0, 2**16),
    arguments=st.sampled_from(
        [
            {},
            {"labels_per_tree": 2},
            {"sketch_size": 1},
            {"split_method": "maxGain", "num_parallel_tree": 2},
            {"base_score": 0.2, "max_bin": 4},
        ]
    ),
)
def test_random_boosters(n_labels, max_depth, n_estimators, missing, n_rows, seed, arguments):
    data = make_multilabel(250, n_labels=n_labels, missing=missing, unknown=0.05, random_state=seed)
    model = MultiLabelXGBClassifier(
        n_estimators=n_estimators, max_depth=max_depth, n_jobs=1, random_state=seed, **arguments
    )
    model.fit(data.X[:100], data.Y[:100])
    assert_same(model, data.X[100 : 100 + n_rows], exact=True)


@pytest.mark.parametrize("name", MEMBERS)
def test_every_form_of_an_array(name):
    data = make_multilabel(400, n_labels=5, missing=0.1, random_state=0)
    model = tuned(name).fit(data.X[:150], data.Y[:150])
    X = data.X[150:].astype(np.float32)
    compiled_model = assert_same(model, X, exact=name == "booster")
    margins = compiled_model.decision_function(X)
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, 1::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    for other in (
        X.astype(np.float64),
        np.asfortranarray(X),
        np.asfortranarray(X, np.float64),
        wide[::2, 1::2],
        X[::-1][::-1],
        X.astype(">f4"),
        X.tolist(),
        pd.DataFrame(X),
        read_only,
    ):
        np.testing.assert_array_equal(compiled_model.decision_function(other), margins)
    for n_rows in (1, 7, 8, 9, 63, 65, 130):
        found = compiled_model.decision_function(X[:n_rows])
        np.testing.assert_array_equal(found, margins[:n_rows])


@pytest.mark.parametrize("n_labels", [1, 5, 9, 17, 40, 67])
def test_batches(n_labels):
    """Values with more thresholds than a byte counts, and vectors of leaves of every length."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3)).astype(np.float32)
    Y = (np.sin(9 * X) + random.normal(size=X.shape) > 0)[:, random.integers(0, 3, n_labels)]
    model = MultiLabelXGBClassifier(n_estimators=60, max_depth=5, max_bin=1024, n_jobs=1)
    model.fit(X, Y.astype(int))
    used = {(t["split_indices"][i], t["split_conditions"][i]) for t in trees_of(model)
            for i in range(len(t["split_indices"])) if t["left_children"][i] >= 0}  # fmt: skip
    assert np.bincount([feature for feature, _ in used]).max() > 255
    at_thresholds = np.array([[value] * 3 for _, value in used], np.float32)
    X[::7, 1] = np.nan
    assert_same(model, np.vstack((at_thresholds, X)), exact=True)
    compiled_model = CompiledModel(model, n_jobs=1)
    margins = compiled_model.decision_function(X)
    for n_rows in (31, 32, 33, 64, 65, 255, 256, 257, 300):
        found = compiled_model.decision_function(X[:n_rows])
        np.testing.assert_array_equal(found, margins[:n_rows])


def trees_of(model):
    learner = json.loads(model.booster_.save_raw("json"))["learner"]
    return learner["gradient_booster"]["model"]["trees"]


def test_batches_of_large_trees():
    """Trees with more leaves than a byte can count are walked node by node."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 4)).astype(np.float32)
    Y = (X[:, :2] + random.normal(size=(2000, 2)) > 0).astype(int)
    model = MultiLabelXGBClassifier(n_estimators=3, max_depth=0, min_child_weight=0, n_jobs=1)
    model.fit(X, Y)
    assert max((np.array(tree["left_children"]) < 0).sum() for tree in trees_of(model)) > 256
    assert_same(model, X, exact=True)
    mixed = TunedDecisionClassifierCV(model, cv=2, random_state=0).fit(X, Y)
    small = TunedDecisionClassifierCV(MEMBERS["booster"], cv=2, random_state=0).fit(X, Y)
    mixed.estimators_ = [*mixed.estimators_, *small.estimators_]
    assert_same(mixed, X, exact=True)


@pytest.mark.parametrize(
    ("n_features", "n_labels", "n_trees"),
    [(4, 3, 30), (300, 40, 40), (5500, 3, 400)],
    ids=["few features", "more than a byte counts", "too many to pack"],
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_batches_of_forests(n_features, n_labels, n_trees, is_sparse):
    """Rows of a batch walk packed trees, a few rows those of the model."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, n_features)).astype(np.float32)
    Y = (X[:, random.integers(0, n_features, n_labels)] > 0.5).astype(int)
    X[:60][random.random((60, n_features)) < 0.1] = np.nan
    if is_sparse:
        X = sparse.csr_matrix(np.where(random.random(X.shape) < 0.3, X, 0))
    model = SketchedExtraTreesClassifier(n_trees, max_features=1, random_state=0, n_jobs=1)
    tuned_model = TunedDecisionClassifierCV(model, cv=2, random_state=0, n_jobs=1).fit(X, Y)
    compiled_model = assert_same(tuned_model, X, exact=False)
    margins = compiled_model.decision_function(X)
    for begin in range(0, 200, 20):
        found = compiled_model.decision_function(X[begin : begin + 20])
        np.testing.assert_array_equal(found, margins[begin : begin + 20])
    tested = {slot for forest in tuned_model.estimators_ for slot in forest.forest_.feature}
    assert n_features <= 300 or len(tested) > 4096


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_batches_have_blocks_of_every_size(n_jobs):
    """With a booster, a forest and a linear model, whose features are kept for all of a block."""
    data = make_multilabel(3000, n_labels=4, missing=0.02, random_state=0)
    model = tuned("forest").fit(data.X[:200], data.Y[:200])
    model.estimators_ += [
        clone(MEMBERS[name]).fit(data.X[:200], data.Y[:200]) for name in ("booster", "linear")
    ]
    compiled_model = CompiledModel(model, n_jobs=n_jobs)
    margins = compiled_model.decision_function(data.X)
    np.testing.assert_allclose(margins, reference.margins(model, data.X), rtol=0, atol=1e-6)
    for n_rows in (33, 64, 65, 1023, 1025, 2049):
        found = compiled_model.decision_function(data.X[:n_rows])
        np.testing.assert_array_equal(found, margins[:n_rows])


def test_forests_of_single_leaves_in_batches():
    X, Y = np.zeros((50, 2)), np.tile([[0, 1]], (50, 1))
    Y[:25] = [1, 0]
    forest = SketchedExtraTreesClassifier(5, random_state=0)
    model = TunedDecisionClassifierCV(forest, cv=2, random_state=0).fit(X, Y)
    assert_same(model, X, exact=False)


def test_rows_of_an_array_do_without_the_check(monkeypatch):
    data = make_multilabel(100, n_labels=3, random_state=0)
    compiled_model = CompiledModel(tuned("booster").fit(data.X, data.Y))
    expected = compiled_model.predict(data.X[:1])

    def stop(*_):
        raise AssertionError

    monkeypatch.setattr(features, "check_features", stop)
    for dtype in (np.float32, np.float64):
        X = data.X[:1].astype(dtype)
        np.testing.assert_array_equal(compiled_model.predict(X), expected)
    with pytest.raises(AssertionError):
        compiled_model.predict(data.X[:1].tolist())


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_every_rule(rule):
    costs = LabelCosts(false_positive=1, false_negative=3)
    data = make_multilabel(300, n_labels=4, random_state=1)
    measure = costs if rule == "least_cost" else "example_f1"
    model = tuned("booster", rules=[rule], measure=measure).fit(data.X[:150], data.Y[:150])
    assert model.rule_.name == rule
    assert_same(model, data.X[150:], exact=True)


@pytest.mark.parametrize("rule", ["threshold", "known_labelset"])
def test_constraints(rule):
    data = make_multilabel(300, n_labels=4, random_state=1)
    constraints = {"label_0": 0.3, "label_2": Recall(0.8)}
    model = tuned("booster", rules=[rule], constraints=constraints)
    assert_same(model.fit(data.X[:150], data.Y[:150]), data.X[150:], exact=True)


@pytest.mark.filterwarnings("ignore:Only positives are known")
@pytest.mark.parametrize("name", MEMBERS)
def test_constant_and_unknown_labels(name):
    data = make_multilabel(300, n_labels=4, unknown=0.2, missing=0.1, random_state=2)
    Y = data.Y.copy()
    Y[:, 1], Y[:, 2] = 0, np.where(np.isnan(Y[:, 2]), np.nan, 1)
    weight = np.random.default_rng(0).integers(0, 3, 150)
    for arguments in ({}, {"calibrate": False}, {"ensemble": False}):
        model = tuned(name, **arguments).fit(data.X[:150], Y[:150], sample_weight=weight)
        assert_same(model, data.X[150:], exact=name == "booster")


def test_a_mixture():
    data = make_multilabel(400, n_labels=4, missing=0.1, random_state=3)
    Y = data.Y.copy()
    Y[:, 3] = 0
    model = short_of_time(data.X[:150], Y[:150])
    members = []
    for name, share in zip(MEMBERS, (0.5, 0.2, 0.3), strict=True):
        each = tuned(name).fit(data.X[:150], Y[:150])
        members.append(Member(name, share, each.estimators_, each.calibration_))
    for used in (members, members[:1], members[:0:-1]):
        mixed = copy.copy(model)
        mixed.members_ = used
        assert_same(mixed, data.X[150:], exact=len(used) == 1)
    calibration = model.calibration_
    scaled = copy.copy(model)
    scaled.calibration_ = type(calibration)(
        calibration.slope * 0.7, calibration.intercept + 0.3, calibration.constant
    )
    assert_same(scaled, data.X[150:], exact=True)


def test_a_second_level():
    data = make_multilabel(400, n_labels=4, missing=0.1, random_state=3)
    X, Y = data.X[:150].astype(np.float32), data.Y[:150]
    mixed = copy.copy(short_of_time(X, Y))
    mixed.members_ = []
    for name, share in zip(MEMBERS, (0.5, 0.2, 0.3), strict=True):
        each = tuned(name).fit(X, Y)
        mixed.members_.append(Member(name, share, each.estimators_, each.calibration_))
    features = second_level([member.margins(X, 4) for member in mixed.members_])
    on_margins = tuned("booster").fit(features, Y)
    stacked = Member("second level", 0.4, on_margins.estimators_, on_margins.calibration_)
    before = mixed.predict_proba(data.X[150:])
    mixed.stacked_ = [stacked]
    assert np.abs(mixed.predict_proba(data.X[150:]) - before).max() > 0.01
    assert_same(mixed, data.X[150:], exact=False)
    again = pickle.loads(pickle.dumps(CompiledModel(mixed)))
    np.testing.assert_allclose(
        again.predict_proba(data.X[150:151]), mixed.predict_proba(data.X[150:151]), atol=1e-6
    )


@pytest.mark.parametrize("stored", [0.05, 0.4])
@pytest.mark.parametrize("name", MEMBERS)
def test_sparse_rows(name, stored):
    random = np.random.default_rng(0)
    X = sparse.random_array((300, 60), density=stored, format="csr", rng=random)
    X.data[::17] = np.nan
    X.data[::13] = 0
    Y = np.nan_to_num(X[:, :3].toarray()) > 0.1
    Y |= random.random(Y.shape) < 0.2
    model = tuned(name).fit(X[:150], Y[:150].astype(int))
    if name == "linear":
        assert model.estimators_[0].text_like_ == (stored == 0.05)
    compiled_model = assert_same(model, X[150:], exact=name == "booster")
    np.testing.assert_array_equal(
        compiled_model.decision_function(X[150:].tocoo()),
        compiled_model.decision_function(X[150:]),
    )
    zeros = MultiLabelXGBClassifier(n_estimators=4, sparse_zeros="zero")
    zeros.fit(X[:150], Y[:150].astype(int))
    assert_same(zeros, X[150:], exact=True)
    assert_same(zeros, X[150:].toarray(), exact=True)


def test_sparse_rows_do_without_the_check(monkeypatch):
    X = sparse.random_array((200, 20), density=0.3, format="csr", rng=np.random.default_rng(0))
    X = sparse.csr_array(X.astype(np.float32))
    Y = (X[:, :2].toarray() > 0.3).astype(int)
    model = MultiLabelXGBClassifier(n_estimators=5).fit(X, Y)
    compiled_model = CompiledModel(model)
    unsorted = sparse.csr_array((X.data.copy(), X.indices.copy(), X.indptr), X.shape)
    row = slice(*X.indptr[:2])
    unsorted.indices[row], unsorted.data[row] = X.indices[row][::-1], X.data[row][::-1]
    twice = sparse.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), X.shape)
    infinite = X.copy()
    infinite.data[7] = np.inf
    outside = X.copy()
    outside.indices[X.indptr[1] - 1] = 20
    beyond = X.copy()
    beyond.indptr[-1] += 1
    for other in (unsorted, twice, X.astype(np.float64), X.tocsc(), X[:, ::-1]):
        np.testing.assert_array_equal(
            compiled_model.decision_function(other), reference.margins(model, other).reshape(200, 2)
        )
    for wrong in (infinite, outside, beyond, X[:0], X[:, :19]):
        with pytest.raises(ValueError, match=r"X|Input|Found array") as expected:
            model.predict(wrong)
        with pytest.raises(type(expected.value)) as found:
            compiled_model.predict(wrong)
        assert str(found.value) == as_compiled(model, expected.value)
    expected = reference.margins(model, X)

    def stop(*_):
        raise AssertionError

    monkeypatch.setattr(features, "check_features", stop)
    np.testing.assert_array_equal(compiled_model.decision_function(X), expected)
    np.testing.assert_array_equal(compiled_model.decision_function(X[:1]), expected[:1])
    with pytest.raises(AssertionError):
        compiled_model.decision_function(X.toarray())


def test_a_mixture_of_sparse_rows():
    random = np.random.default_rng(1)
    X = sparse.random_array((200, 60), density=0.1, format="csr", rng=random)
    Y = (X[:, :3].toarray() > 0.1) | (random.random((200, 3)) < 0.2)
    model = short_of_time(X, Y.astype(int))
    members = []
    for name in MEMBERS:
        each = tuned(name).fit(X, Y.astype(int))
        members.append(Member(name, 1 / 3, each.estimators_, each.calibration_))
    model.members_ = members
    assert_same(model, X, exact=False)


def colours(n_rows, seed):
    random = np.random.default_rng(seed)
    colour = random.choice(["red", "green", "blue", "grey", None], n_rows)
    frame = pd.DataFrame({"size": random.normal(size=n_rows), "colour": pd.Categorical(colour)})
    many = random.choice([f"c{i}" for i in range(40)], n_rows)
    return frame.assign(town=pd.Categorical(many))


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
@pytest.mark.parametrize("name", MEMBERS)
def test_categories(name):
    X, new = colours(240, 0), colours(120, 1)
    town = X["town"].cat.codes.to_numpy()
    Y = np.column_stack((X["colour"].isin(["red", "grey"]), town % 2, X["size"] > 0)).astype(int)
    new["colour"] = new["colour"].cat.add_categories("pink").where(new.index % 9 > 0, "pink")
    new.loc[::7, "size"] = np.nan
    member = {"booster": MEMBERS["booster"], "forest": MEMBERS["forest"]}.get(name)
    member = member or LogisticLabels(C=1.0)
    if name == "booster":  # one category against the others, and sets of them
        member = MultiLabelXGBClassifier(n_estimators=6, max_cat_to_onehot=10)
    model = TunedDecisionClassifierCV(member, cv=3, random_state=0).fit(X, Y)
    compiled_model = assert_same(model, new, exact=name == "booster")
    assert_same(model, new[:1], exact=name == "booster")
    with pytest.raises(ValueError, match="must be a DataFrame as in fit"):
        compiled_model.predict(np.zeros((1, 3)))


def test_one_dimension():
    data = make_multilabel(200, n_labels=1, random_state=0)
    y = np.where(data.Y[:, 0] == 1, "yes", "no")
    for model, exact in ((MultiLabelXGBClassifier(n_estimators=4), True), (tuned("linear"), False)):
        compiled_model = assert_same(model.fit(data.X, y), data.X, exact=exact)
        assert compiled_model.decision_function(data.X).shape == (200,)
        assert set(compiled_model.predict(data.X)) == {"no", "yes"}
    single = MultiLabelXGBClassifier(n_estimators=2).fit(data.X, ["only"] * 200)
    assert_same(single, data.X, exact=True)


def test_only_the_best_rounds_predict():
    data = make_multilabel(200, n_labels=3, noise=0.3, random_state=0)
    model = MultiLabelXGBClassifier(n_estimators=60, early_stopping_rounds=5)
    model.fit(data.X[:100], data.Y[:100], eval_set=[(data.X[100:], data.Y[100:])])
    assert model.best_iteration_ + 1 < model.booster_.num_boosted_rounds()
    assert_same(model, data.X, exact=True)


def test_bad_input_gets_the_error_of_the_model():
    data = make_multilabel(100, n_labels=3, random_state=0)
    frame = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(10)])
    X = data.X[:5]
    infinite, large = X.copy(), X.copy()
    infinite[2, 3], large[4, 0] = np.inf, 1e300
    for fitted_on, inputs in (
        (data.X, (X[:, :9], X[0], X[:0], infinite, large, X.astype(str) + "x", X + 1j, -infinite)),
        (frame, (frame.assign(more=1), frame.astype(str) + "x")),
        (sparse.csr_array(data.X), (X, sparse.csr_array(X[:, :9]))),
    ):
        model = tuned("booster").fit(fitted_on, data.Y)
        compiled_model = CompiledModel(model)
        for wrong in inputs:
            with np.errstate(over="ignore"), pytest.raises(Exception) as expected:  # noqa: PT011
                model.predict(wrong)
            with np.errstate(over="ignore"), pytest.raises(expected.type) as found:
                compiled_model.predict(wrong)
            assert str(found.value) == as_compiled(model, expected.value)


def test_what_cannot_be_compiled_is_named():
    data = make_multilabel(100, n_labels=3, random_state=0)
    chains = EnsembleOfChains(n_estimators=2).fit(data.X, data.Y)
    with pytest.raises(
        TypeError, match=r"not take xdcc\.comparators\.baselines\.\w+\.EnsembleOfChains"
    ):
        CompiledModel(chains)
    other = TunedDecisionClassifierCV(BinaryRelevance(n_estimators=2), cv=2)
    with pytest.raises(TypeError, match=r"ensembles of .*, not of .*BinaryRelevance"):
        CompiledModel(other.fit(data.X, data.Y))
    foreign = TunedDecisionClassifierCV(LogisticRegression(), cv=2)
    foreign.fit(data.X, data.Y[:, 0])
    with pytest.raises(TypeError, match="LogisticRegression"):
        CompiledModel(foreign)
    X = np.where(np.arange(10) == 0, np.round(data.X), data.X)
    discrete = SketchedExtraTreesClassifier(n_estimators=5, categorical_features=[0])
    with pytest.raises(TypeError, match="categorical_features"):
        CompiledModel(TunedDecisionClassifierCV(discrete, cv=2).fit(X, data.Y))
    for unfitted in (MultiLabelXGBClassifier(), tuned("linear"), MultiLabelClassifier()):
        with pytest.raises(NotFittedError):
            CompiledModel(unfitted)
    model = MultiLabelXGBClassifier(n_estimators=2).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="n_jobs"):
        CompiledModel(model, n_jobs=0)


def test_the_number_of_threads_is_that_of_the_model(tmp_path):
    data = make_multilabel(100, n_labels=3, random_state=0)
    booster = MultiLabelXGBClassifier(n_estimators=2, n_jobs=np.int64(2)).fit(data.X, data.Y)
    of_members = TunedDecisionClassifierCV(clone(booster), cv=2).fit(data.X, data.Y)
    rules = BoomerClassifier(n_rules=2, n_jobs=2).fit(data.X, data.Y)
    pipeline = make_pipeline(StandardScaler(), clone(booster)).fit(data.X, data.Y)
    for model in (booster, of_members, rules, pipeline):
        compiled = CompiledModel(model)
        assert compiled.n_jobs == 2
        assert CompiledModel(model, n_jobs=3).n_jobs == 3
        assert CompiledModel(model, n_jobs=-1).n_jobs == -1
        save_model(compiled, tmp_path / "model")
        assert load_model(tmp_path / "model", compiled=True).n_jobs == 2
    save_model(booster, tmp_path / "model")
    assert load_model(tmp_path / "model", compiled=True).n_jobs == 2
    assert CompiledModel(MultiLabelXGBClassifier(n_estimators=2).fit(data.X, data.Y)).n_jobs is None


@pytest.mark.parametrize("name", MEMBERS)
def test_pickles_and_threads(name):
    data = make_multilabel(4000, n_labels=6, missing=0.1, random_state=0)
    model = CompiledModel(tuned(name).fit(data.X[:200], data.Y[:200]), n_jobs=1)
    expected = model.decision_function(data.X)
    loaded = pickle.loads(pickle.dumps(model))
    loaded.n_jobs = 3
    np.testing.assert_array_equal(loaded.decision_function(data.X), expected)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(loaded.decision_function, [data.X] * 8):
            np.testing.assert_array_equal(found, expected)


def test_a_compiled_model_is_a_copy():
    data = make_multilabel(200, n_labels=3, random_state=0)
    model = tuned("linear").fit(data.X, data.Y)
    compiled_model = CompiledModel(model)
    expected = compiled_model.predict_proba(data.X)
    model.estimators_[0].coef_ *= 0
    np.testing.assert_array_equal(compiled_model.predict_proba(data.X), expected)
