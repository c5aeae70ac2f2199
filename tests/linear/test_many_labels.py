"""Many labels: a sample chooses the strength, and all models are near their optimum."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from tests.reference import linear as reference
from xdcc.automatic.linear_models import linear
from xdcc.automatic.shape import Shape
from xdcc.base import side_by_side
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.linear import LogisticLabels, many_labels
from xdcc.linear.many_labels import sampled_labels, strengths_of_all
from xdcc.linear.memory import MemoryNeed

N_LABELS = 12


@pytest.fixture
def many(monkeypatch):
    """Let twelve labels be many, of which four choose the strength."""
    monkeypatch.setattr(many_labels, "_LABELS", 5)
    monkeypatch.setattr(many_labels, "_COEFFICIENTS", 1)
    monkeypatch.setattr(many_labels, "SAMPLE", 4)


def words(n_rows=200, n_words=60, seed=0):
    """Counts of words, and labels from rare to frequent that depend on a few of them."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.25, (n_rows, n_words)).astype(np.float32)
    coef = 3 * rng.normal(size=(n_words, N_LABELS)) * (rng.random((n_words, N_LABELS)) < 0.1)
    z = X @ coef + np.linspace(-3, 0, N_LABELS)
    return X, (z + rng.logistic(size=z.shape) > 0).astype(float)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("text_like", [True, False])
def test_models_are_near_the_optimum(many, make, text_like):
    """Log-loss with penalty within 1e-4 of the reference; unknown labels and weights."""
    X, Y = words()
    rng = np.random.default_rng(1)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    weight = rng.integers(0, 3, len(X)).astype(float)
    model = LogisticLabels(C=2.0, text_like=text_like, n_jobs=1)
    model.fit(make(X), Y, sample_weight=weight)
    columns = reference.columns(X.astype(float), weight, text_like)
    scale = model._columns.scale
    for label, y in enumerate(Y.T):
        known = ~np.isnan(y) & (weight > 0)
        t, s = y[known], weight[known]

        def objective(coef):
            z = columns[known] @ coef[:-1] + coef[-1]  # noqa: B023
            loss = s @ (np.logaddexp(0, z) - t * z)  # noqa: B023
            gradient = columns[known].T @ (s * (expit(z) - t)) + coef[:-1] / 2  # noqa: B023
            return loss + coef[:-1] @ coef[:-1] / 4, np.linalg.norm(gradient)

        best, _ = objective(reference.fit_one_label(columns, y, weight, 2.0))
        coef = np.append(model.coef_[label] / scale, model.intercept_[label])
        reached, gradient = objective(coef)
        assert reached == pytest.approx(best, rel=1e-4)
        assert gradient < 2e-3 * objective(np.zeros(len(coef)))[1]


def test_a_sample_chooses_the_strength(many):
    X, Y = words()
    model = LogisticLabels(n_jobs=1).fit(X, Y)
    sample = sampled_labels(FitData(X, Y.astype(np.float32), None))
    assert len(sample) == 4
    alone = LogisticLabels(n_jobs=1).fit(X, Y[:, sample])
    assert model.C_[sample].tolist() == alone.C_.tolist()
    others = np.delete(model.C_, sample)
    assert set(others) == {sorted(alone.C_)[1]}


def test_the_sample_is_spread_over_the_frequencies():
    Y = np.zeros((100, 300), np.float32)
    for label in range(300):
        Y[: 1 + label // 4, label] = 1
    Y[:, 299], Y[:, 0] = 1, 0  # constant
    Y[:50, 5] = np.nan  # then it is constant, too
    counts = np.nansum(Y, axis=0)
    sample = sampled_labels(FitData(None, Y, None))
    assert len(set(sample)) == many_labels.SAMPLE
    assert not {0, 5, 299} & set(sample)
    assert sorted(counts[sample]) == pytest.approx(np.linspace(1, 75, 64), abs=1.5)
    assert sampled_labels(FitData(None, Y[:, :1], None)).tolist() == [0]
    weight = (np.arange(100) < 60).astype(float)
    assert counts[sampled_labels(FitData(None, Y, weight))].max() <= 60


def test_the_others_take_the_median():
    found = strengths_of_all(np.array([10.0, 1.0, 100.0]), np.array([4, 0, 2]), 5)
    assert found.tolist() == [1, 10, 100, 10, 10]


def test_out_of_fold(many):
    X, Y = words()
    folds = stratified_folds(Y, 3, 0)
    found = LogisticLabels(n_jobs=1).out_of_fold(X, Y, folds)
    assert len(set(found.unfitted.C)) < 4
    for fold, estimator in enumerate(found.estimators):
        rows = folds == fold
        assert estimator.decision_function(X[rows]) == pytest.approx(found.margins[rows], abs=1e-3)
        again = LogisticLabels(C=found.unfitted.C, n_jobs=1).fit(X[~rows], Y[~rows])
        # The columns were scaled by all rows.
        assert again.decision_function(X[rows]) == pytest.approx(found.margins[rows], abs=0.5)
    given = LogisticLabels(C=found.unfitted.C, n_jobs=1).out_of_fold(X, Y, folds)
    assert given.margins == pytest.approx(found.margins, abs=2e-2)


def test_constant_labels(many):
    X, Y = words()
    Y[:, 1], Y[:, 2] = 0, 1
    for C in ("auto", 1.0):
        proba = LogisticLabels(C=C, n_jobs=1).fit(X, Y).predict_proba(X)
        assert proba[:, 1] == pytest.approx(np.full(200, 1 / 202))
        assert proba[:, 2] == pytest.approx(np.full(200, 201 / 202))


def test_threads_do_not_change_the_model(many, monkeypatch):
    monkeypatch.setattr(side_by_side, "_LEAST_ENTRIES", 0)
    monkeypatch.setattr("xdcc.linear.logistic.BLOCK", 5)
    X, Y = words(90)
    one, two = (LogisticLabels(n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.C_, two.C_)


def test_few_labels_walk_the_whole_path(monkeypatch):
    """Neither labels nor coefficients alone are enough."""
    for name in ("sampled_labels", "at_frequencies"):
        monkeypatch.setattr(f"xdcc.linear.classifier.{name}", None)
    X, Y = words(40)
    monkeypatch.setattr(many_labels, "_COEFFICIENTS", 1)
    LogisticLabels(n_jobs=1).fit(X, Y)
    monkeypatch.setattr(many_labels, "_COEFFICIENTS", 10**6)
    monkeypatch.setattr(many_labels, "_LABELS", 1)
    LogisticLabels(n_jobs=1).fit(X, Y)


def test_time_and_memory_know_many_labels():
    few, many = (linear(Shape(1000, 5000, n_labels, 10**5, 5)).seconds for n_labels in (190, 210))
    assert many < 0.8 * few
    X = sparse.csr_matrix((1000, 5000), dtype=np.float32)
    of_sample = MemoryNeed.of(X, 5000, 4000, 5).choosing
    assert of_sample < 0.02 * MemoryNeed.of(X, 5000, 4000, 5, keeps_folds=True).choosing
