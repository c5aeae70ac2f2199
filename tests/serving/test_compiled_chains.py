"""`CompiledModel` of chains: label orders, probabilities and labels equal bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.serving.test_compiled import assert_same, colours, tuned
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.comparators.baselines import BinaryRelevance
from xdcc.data import make_multilabel
from xdcc.decision import KnownLabelsets, TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.serving import CompiledModel, load_model, save_model


def chain(**params):
    return DynamicChainClassifier(**{"n_estimators": 4, "max_depth": 3, "n_jobs": 1, **params})


def order_free(**params):
    return OrderFreeChainClassifier(**{"n_estimators": 30, "cv": 3, "n_jobs": 1, **params})


@settings(max_examples=40, deadline=None)
@given(
    n_labels=st.integers(1, 6),
    n_rows=st.integers(1, 150),
    missing=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**16),
    params=st.fixed_dictionaries(
        {
            "chain_length": st.sampled_from(["auto", 1, 2, None]),
            "propagate": st.sampled_from(["in_sample", "cross_val"]),
            "end_label": st.sampled_from([True, False]),
            "cumulation": st.sampled_from(["equation9", "authors"]),
            "prediction": st.sampled_from(["cumulated", "standard"]),
        }
    ),
    rule=st.sampled_from(
        [
            {"candidates": "open"},
            {"candidates": "all"},
            {"order": "certainty"},
            {"labels_per_round": 2},
            {"labels_per_round": 3, "order": "certainty"},
        ]
    ),
)
@pytest.mark.filterwarnings("ignore:chain_length")
def test_dynamic_chains(n_labels, n_rows, missing, seed, params, rule):
    data = make_multilabel(250, n_labels=n_labels, missing=missing, unknown=0.05, random_state=seed)
    params = params | rule | {"ensemble": params["propagate"] == "cross_val" and seed % 2 == 0}
    model = chain(random_state=seed, **params).fit(data.X[:100], data.Y[:100])
    assert_same(model, data.X[100 : 100 + n_rows], exact=True)


def test_rows_that_end_early():
    """Rows of a block end in different rounds."""
    data = make_multilabel(400, n_labels=8, random_state=0)
    Y = data.Y * (np.arange(400) % 3 > 0)[:, np.newaxis]
    model = chain(chain_length=None, end_label=True, n_estimators=8).fit(data.X[:200], Y[:200])
    lengths = (model.chain_order(data.X[200:]).labels >= 0).sum(axis=1)
    assert len(np.unique(lengths)) > 2
    assert_same(model, data.X[200:], exact=True)


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
def test_a_chain_of_sparse_rows_and_categories():
    X = sparse.random_array((200, 20), density=0.3, format="csr", rng=np.random.default_rng(0))
    Y = np.column_stack([(X[:, j].toarray() > 0.2).ravel() for j in range(3)]).astype(int)
    for zeros in ("missing", "zero"):
        model = chain(chain_length=3, sparse_zeros=zeros).fit(X[:100], Y[:100])
        assert_same(model, X[100:], exact=True)
    frame = colours(240, 0)
    Y = np.column_stack((frame["colour"].isin(["red", "grey"]), frame["size"] > 0)).astype(int)
    model = chain(chain_length=2, max_cat_to_onehot=10).fit(frame[:120], Y[:120])
    assert_same(model, frame[120:], exact=True)


def test_a_chain_of_one_dimension():
    data = make_multilabel(150, n_labels=1, random_state=0)
    y = np.where(data.Y[:, 0] == 1, "yes", "no")
    assert_same(chain(chain_length=1).fit(data.X, y), data.X, exact=True)


def test_a_tuned_ensemble_of_chains():
    data = make_multilabel(300, n_labels=4, random_state=0)
    Y = data.Y.copy()
    Y[:, 3] = 0
    model = TunedDecisionClassifierCV(chain(chain_length=3), cv=3, random_state=0)
    assert_same(model.fit(data.X[:150], Y[:150]), data.X[150:], exact=True)


@pytest.mark.filterwarnings("ignore:Only positives are known")
@pytest.mark.parametrize("prediction", ["mode", "subset_accuracy", "example_f1", "marginal"])
@pytest.mark.parametrize(
    "first",
    [
        MultiLabelXGBClassifier(n_estimators=5, n_jobs=1),
        SketchedExtraTreesClassifier(n_estimators=10, random_state=0, n_jobs=1),
    ],
    ids=["booster", "forest"],
)
def test_order_free_chains(prediction, first):
    data = make_multilabel(300, n_labels=5, missing=0.1, unknown=0.1, random_state=1)
    Y = data.Y.copy()
    Y[:, 1] = Y[:, 0]  # so that labels depend on each other
    Y[:, 2] = np.where(np.isnan(Y[:, 2]), np.nan, 1)
    model = order_free(estimator=first, prediction=prediction).fit(data.X[:150], Y[:150])
    assert model.booster_ is not None
    is_booster = isinstance(first, MultiLabelXGBClassifier)
    for rows in (slice(150, 151), slice(150, 300)):
        assert_same(model, data.X[rows], exact=is_booster)


def test_an_order_free_chain_of_constant_labels():
    data = make_multilabel(100, n_labels=2, random_state=0)
    model = order_free().fit(data.X, np.ones_like(data.Y))
    assert model.booster_ is None
    assert_same(model, data.X, exact=True)


def test_a_joint_labelset():
    data = make_multilabel(300, n_labels=4, random_state=0)
    X, Y = data.X[:150], data.Y[:150]
    model = tuned("booster").fit(X, Y)
    booster = order_free().fit(X, Y).booster_
    known = KnownLabelsets.of(Y.astype(np.float32))
    model.rule_ = JointLabelset(booster, model.calibration_.constant, known, 0.5)
    assert_same(model, data.X[150:], exact=True)


def test_an_order_free_chain_on_dynamic_chains(tmp_path):
    data = make_multilabel(300, n_labels=3, random_state=0)
    model = order_free(estimator=chain(chain_length=2)).fit(data.X[:150], data.Y[:150])
    assert model.booster_ is not None
    assert_same(model, data.X[150:], exact=True)
    save_model(CompiledModel(model), tmp_path / "compiled")
    loaded = load_model(tmp_path / "compiled", compiled=True)
    np.testing.assert_array_equal(loaded.predict(data.X), model.predict(data.X))


def test_what_an_order_free_chain_must_be_built_on():
    data = make_multilabel(100, n_labels=3, random_state=0)
    model = order_free(estimator=BinaryRelevance(n_estimators=2)).fit(data.X, data.Y)
    with pytest.raises(TypeError, match=r"ensembles of .*, not of .*BinaryRelevance"):
        CompiledModel(model)
