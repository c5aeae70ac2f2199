"""``DaskMultiLabelClassifier``: forests, linear models and the second level; folds by groups.

The workers are threads of this process. Those of ``test_automatic.py`` die.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import xdcc
from tests.dask.test_automatic import (
    CHUNKS,
    N_SAMPLES,
    UNKNOWN,
    WEIGHT,
    X,
    Y,
    csr,
    fast_boosters,
    locally,
    on,
    rows,
    two,
)
from xdcc.automatic import Candidate
from xdcc.automatic.families import usual_candidates
from xdcc.automatic.mixture import Mixture
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import load_model, save_model

dask = pytest.importorskip("dask", reason="dask is not installed")

import dask.dataframe as dd  # noqa: E402
from xgboost import collective  # noqa: E402
from xgboost.collective import Config  # noqa: E402

__all__ = ["fast_boosters", "two"]  # fixtures

RNG = np.random.default_rng(1)
WORDS = sparse.csr_matrix(RNG.poisson(0.1, (N_SAMPLES, 60)).astype(np.float32))


@pytest.fixture
def no_boosters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try a forest and linear models, which take less time."""

    def others(*arguments: Any) -> list[Candidate]:
        return [c for c in usual_candidates(*arguments) if c.kind is not MultiLabelXGBClassifier]

    monkeypatch.setattr("xdcc.automatic.search.usual_candidates", others)
    monkeypatch.setattr("xdcc.automatic.search.Search._try_first", lambda search: None)
    monkeypatch.setattr("xdcc.automatic.search.Search._stack", lambda *_: [])


def losses(model: Any) -> dict[str, float]:
    return dict(zip(model.summary_["candidate"], model.summary_["log_loss"], strict=True))


def members(model: Any, kind: type) -> list[Any]:
    return [each for each in model.estimators_ if isinstance(each, kind)]


@pytest.mark.parametrize(
    ("features", "labels", "weight"),
    [(X, Y, None), (csr(X), UNKNOWN, WEIGHT), (WORDS, Y, None)],
    ids=["dense", "sparse", "words"],
)
def test_candidates_are_those_of_a_local_search(
    two: Any, features: Any, labels: np.ndarray, weight: Any
) -> None:
    """Boosters and linear models are the same; a forest has trees of half of the rows each."""
    of_rows = None if weight is None else rows(weight)
    found = on(two).fit(rows(features), rows(labels), of_rows, coll_cfg=Config(timeout=120))
    expected = locally(features, labels, weight)
    # Whether a member enters, and so the second level, can depend on the forest.
    names = [name for name in losses(expected) if name != "second level"]
    assert [name for name in losses(found) if name != "second level"] == names
    for name in names:
        limit = 0.05 if name == "extra trees" else 2e-3
        assert losses(found)[name] == pytest.approx(losses(expected)[name], rel=limit), name


@pytest.mark.usefixtures("no_boosters")
def test_linear_models_are_the_local_ones(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """X has numbers with missing values, and a category that only one worker has."""
    monkeypatch.setattr("xdcc.automatic.search.Mixture.admit", admits("linear"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical(RNG.choice(["red", "blue"], N_SAMPLES))
    frame["e"] = pd.Categorical(np.where(np.arange(N_SAMPLES) < 20, "few", "many"))
    labels = pd.DataFrame(Y, columns=list("rst"))
    chunks = [dd.from_pandas(part, npartitions=3) for part in (frame, labels)]
    found, expected = on(two).fit(*chunks), locally(frame, labels)
    (one,), (other,) = (members(model, LogisticLabels) for model in (found, expected))
    assert one.text_like_ == other.text_like_
    assert one.coef_names_.tolist() == other.coef_names_.tolist()
    np.testing.assert_array_equal(one.C_, other.C_)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=5e-3)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=0, atol=2e-2)
    np.testing.assert_allclose(found.predict_proba(frame), expected.predict_proba(frame), atol=2e-3)


def admits(name: str) -> Any:
    """Let a single candidate into the mixture."""
    admit = Mixture.admit
    return lambda mixture, one, *others: one == name and admit(mixture, one, *others)


@pytest.mark.usefixtures("no_boosters")
def test_trees_are_shared_by_the_number_of_rows(
    two: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each forest has all trees, and the leaves know the labels of all rows of other folds."""
    monkeypatch.setattr("xdcc.automatic.search.Mixture.admit", admits("extra trees"))
    found = on(two, refit=False).fit(rows(X), rows(UNKNOWN), rows(WEIGHT))
    forests = members(found, SketchedExtraTreesClassifier)
    assert len(forests) == 2
    for fold, model in enumerate(forests):
        others = found.folds_ != fold
        forest = model.forest_
        assert len(forest.start) - 1 == 200
        np.testing.assert_allclose(np.sort(forest.labels.weight), np.sort(WEIGHT[others]))
        known = ~np.isnan(UNKNOWN[others])
        mean = WEIGHT[others] @ (UNKNOWN[others] == 1) / (WEIGHT[others] @ known)
        np.testing.assert_allclose(forest.labels.mean, mean)
        # The first 190 rows are on the first worker; its trees come first.
        n_first = int((others[:190]).sum())
        n_trees = 200 * n_first // int(others.sum())
        of_tree = np.searchsorted(forest.start, np.arange(len(forest.kind)), side="right") - 1
        leaves = forest.kind == 0
        leaf_tree = np.empty(leaves.sum(), int)
        leaf_tree[forest.child[leaves]] = of_tree[leaves]
        row_tree = np.repeat(leaf_tree, np.diff(forest.row_start))
        assert (forest.row[row_tree < n_trees] < n_first).all()
        assert (forest.row[row_tree >= n_trees] >= n_first).all()
    save_model(found.to_local(), tmp_path / "model")
    for model in (found.to_local(), load_model(tmp_path / "model")):
        np.testing.assert_array_equal(model.predict_proba(X), found.predict_proba(X))
    np.testing.assert_array_equal(found.predict(rows(X)).compute(), found.predict(X))


@pytest.mark.usefixtures("no_boosters")
def test_rows_are_predicted_by_trees_that_have_not_seen_them(two: Any) -> None:
    """Random labels: only a model that has seen a row can predict its labels."""
    features = RNG.normal(size=(N_SAMPLES, 4)).astype(np.float32)
    labels = (RNG.random((N_SAMPLES, 3)) < 0.5).astype(int)
    found = losses(on(two).fit(rows(features), rows(labels)))
    assert min(found["extra trees"], found["linear"]) > 0.68


@pytest.mark.usefixtures("no_boosters")
@pytest.mark.parametrize("of_rows", ["names", "workers"])
def test_groups(two: Any, of_rows: str) -> None:
    """All rows of a group are in a fold; a worker may have no row that a fold trains on."""
    groups = np.array([f"patient {i}" for i in RNG.integers(0, 30, N_SAMPLES)])
    if of_rows == "workers":
        groups = (np.arange(N_SAMPLES) < 190).astype(int)
    found = on(two).fit(rows(X), rows(Y), groups=rows(groups), coll_cfg=Config(timeout=60))
    expected = xdcc.MultiLabelClassifier(cv=2).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(found.folds_, expected.folds_)
    assert losses(found)["linear"] == pytest.approx(losses(expected)["linear"], rel=2e-3)
    assert losses(found)["extra trees"] == pytest.approx(losses(expected)["extra trees"], rel=0.05)
    frame = pd.DataFrame(X).add_prefix("x").assign(patient=pd.Categorical(groups))
    frames = [dd.from_pandas(each, npartitions=3) for each in (frame, pd.DataFrame(Y))]
    for named in ("patient", frames[0]["patient"]):
        again = on(two).fit(*frames, groups=named)
        np.testing.assert_array_equal(again.folds_, expected.folds_)
    with pytest.raises(ValueError, match="groups='patients': X has no such column"):
        on(two).fit(*frames, groups="patients")


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (np.arange(N_SAMPLES), TypeError, "groups is a ndarray, but must be a Dask array"),
        (
            rows(np.zeros(N_SAMPLES)),
            ValueError,
            "2 folds need as many groups, but groups has a sin",
        ),
        (rows(np.full(N_SAMPLES, np.nan)), ValueError, r"Chunk 0 of the rows: groups is missing"),
        ("day", ValueError, "groups='day' names a column, but X is a Array without names"),
        (rows(np.zeros(N_SAMPLES), CHUNKS[::-1]), ValueError, "60 rows of X and 50 of groups"),
    ],
)
def test_bad_groups(two: Any, groups: Any, error: type[Exception], message: str) -> None:
    model = on(two)
    with pytest.raises(error, match=message):
        model.fit(rows(X), rows(Y), groups=groups)
    assert not hasattr(model, "rule_")


def test_a_fold_without_known_labels_is_refused(two: Any) -> None:
    groups = np.arange(N_SAMPLES) % 2
    labels = np.where(groups[:, np.newaxis] == 0, np.nan, Y)
    with pytest.raises(ValueError, match="of cv trains on no row with a known label"):
        on(two).fit(rows(X), rows(labels), groups=rows(groups))


@pytest.mark.usefixtures("no_boosters")
def test_what_only_one_worker_knows(two: Any) -> None:
    """A label that one worker does not know, and rows without weight on all of its rows."""
    labels = np.column_stack((Y, np.ones(N_SAMPLES)))
    labels[:190, 0] = np.nan
    weight = np.where(np.arange(N_SAMPLES) < 190, 0.0, 1.0)
    for of_rows in (None, weight):
        found = on(two).fit(rows(X), rows(labels), None if of_rows is None else rows(of_rows))
        expected = locally(X, labels, of_rows)
        for name in ("linear", "extra trees"):
            assert losses(found)[name] == pytest.approx(losses(expected)[name], rel=0.06)
        assert np.isfinite(found.oof_proba_).all()
        assert found.calibration_.constant.value[3] == 1


@pytest.mark.usefixtures("no_boosters")
def test_a_forest_that_one_worker_has_no_memory_for_is_left_out(
    two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "xdcc.base.memory.available_memory",
        lambda: 2.0**40 if collective.get_rank() == 0 else 2.0**16,
    )
    monkeypatch.setattr("xdcc.linear.memory.require_memory", lambda *_: None)
    with pytest.warns(UserWarning, match="'extra trees' is left out. .* but 0 MiB are available"):
        found = on(two).fit(rows(X), rows(Y), coll_cfg=Config(timeout=60))
    assert "extra trees" not in losses(found)
    assert "linear" in losses(found)


@pytest.mark.usefixtures("no_boosters")
@pytest.mark.parametrize(
    ("params", "n_models"), [({}, 2), ({"refit": True}, 1), ({"time_budget": 600}, 2)]
)
def test_members_are_trained_on_all_rows(
    two: Any, monkeypatch: pytest.MonkeyPatch, params: dict[str, Any], n_models: int
) -> None:
    """All workers grow it: each grows its share of the trees on its rows."""
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 2)
    monkeypatch.setattr("xdcc.automatic.search.Mixture.improve", lambda *_: False)
    monkeypatch.setattr("xdcc.automatic.search.Mixture.admit", admits("extra trees"))
    found = on(two, **params).fit(rows(X), rows(Y), coll_cfg=Config(timeout=60))
    forests = members(found, SketchedExtraTreesClassifier)
    assert len(forests) == n_models
    for model in forests:
        assert len(model.forest_.labels.positive_start) - 1 == N_SAMPLES
        assert len(model.forest_.start) - 1 == 200
