"""`CTBNMixtureClassifier` and `CTBNClassifier`: predictions, parameters, and invalid input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from tests.reference.ctbn import all_labelsets
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier, plot_trees
from xdcc.data import load_dataset
from xdcc.linear.design import Design
from xdcc.linear.logistic import Penalty, Problems, linear_predictor, solve
from xdcc.metrics import example_f1, hamming_loss, subset_accuracy


def labelled_rows(seed=0, n_rows=150, n_labels=4):
    """Labels that depend on the features and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32)
    Y = (X[:, np.arange(n_labels) % 5] + rng.normal(size=(n_rows, n_labels)) > 0).astype(np.int8)
    if n_labels > 2:
        follows = rng.random(n_rows) < 0.9
        Y[follows, 2] = Y[follows, 0] ^ Y[follows, 1]
        Y[:, -1] = Y[:, 0] | (Y[:, -1] & Y[:, 1])
    return X, Y


def small(**params):
    return CTBNMixtureClassifier(
        **{
            "max_components": 3,
            "C": 1.0,
            "parent_effect": "feature",
            "random_state": 0,
            "n_jobs": 1,
        }
        | params
    )


@pytest.fixture(scope="module")
def fitted():
    X, Y = labelled_rows()
    return small().fit(X, Y)


def set_up(model, **params):
    """A copy with the same mixture and other parameters."""
    other = clone(model).set_params(**params)
    other.__dict__ |= {k: v for k, v in vars(model).items() if k not in other.get_params()}
    return other


def probabilities(model, X):
    """Probabilities of all labelsets, shape (n_samples, 2^n_labels)."""
    labelsets = all_labelsets(model.n_labels_)
    rows = np.repeat(X, len(labelsets), axis=0)
    found = model.log_prob(rows, np.tile(labelsets, (len(X), 1)))
    return np.exp(found).reshape(len(X), -1)


def test_probabilities_sum_to_1(fitted):
    X, _ = labelled_rows(seed=1)
    assert probabilities(fitted, X).sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-9)


def test_probabilities_of_twelve_labels_sum_to_1():
    X, Y = labelled_rows(n_labels=12)
    model = small(max_components=2).fit(X, Y)
    assert probabilities(model, X[:3]).sum(axis=1) == pytest.approx(np.ones(3), abs=1e-9)


def test_marginals_are_sums_over_labelsets(fitted):
    X, _ = labelled_rows(seed=1)
    p = probabilities(fitted, X)
    assert fitted.predict_proba(X) == pytest.approx(p @ all_labelsets(4), abs=1e-9)


@pytest.mark.parametrize("inference", ["anneal", "exact"])
def test_predicts_the_most_probable_labelset(fitted, inference):
    X, _ = labelled_rows(seed=1)
    expected = all_labelsets(4)[probabilities(fitted, X).argmax(axis=1)]
    found = set_up(fitted, inference=inference).predict(X)
    assert (found == expected).all(axis=1).mean() >= (1 if inference == "exact" else 0.99)


def test_hamming_prediction(fitted):
    X, _ = labelled_rows(seed=1)
    model = set_up(fitted, prediction="hamming")
    np.testing.assert_array_equal(model.predict(X), fitted.predict_proba(X) > 0.5)


def test_f1_prediction_is_the_labelset_of_the_highest_expected_f1(fitted):
    X, _ = labelled_rows(seed=1)
    labelsets = all_labelsets(4)
    p = probabilities(fitted, X)
    f1 = np.array([[example_f1([truth], [guess]) for truth in labelsets] for guess in labelsets])
    expected = p @ f1.T
    found = set_up(fitted, prediction="example_f1", n_draws=3000).predict(X)
    chosen = expected[np.arange(len(X)), found @ [8, 4, 2, 1]]
    # The difference is within the error of sampling.
    assert (expected.max(axis=1) - chosen).max() < 0.03
    assert (found.sum(axis=1) >= fitted.predict(X).sum(axis=1)).mean() > 0.9


def test_draws_follow_the_probabilities(fitted):
    X, _ = labelled_rows(seed=1)
    n_draws = 20_000
    drawn = fitted.sample(X[:2], n_draws, random_state=0)
    assert drawn.shape == (2, n_draws, 4)
    for row, p in enumerate(probabilities(fitted, X[:2])):
        share = np.bincount(drawn[row] @ [8, 4, 2, 1], minlength=16) / n_draws
        # Five standard errors in 32 cells: fails by chance once in 50,000 seeds.
        assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n_draws)).all()


def test_log_prob_of_unknown_labels(fitted):
    X, Y = labelled_rows(seed=1)
    some = Y.astype(float)
    some[:, [0, 2]] = np.nan
    p = probabilities(fitted, X)
    fits = (all_labelsets(4)[None, :, [1, 3]] == Y[:, None, [1, 3]]).all(axis=2)
    assert fitted.log_prob(X, some) == pytest.approx(np.log((p * fits).sum(axis=1)))
    some[:] = np.nan
    assert fitted.log_prob(X, some) == pytest.approx(np.zeros(len(X)), abs=1e-9)


def test_single_tree_is_logistic_regressions():
    X, Y = labelled_rows()
    model = CTBNClassifier(C=0.5, parent_effect="feature", random_state=0, n_jobs=1).fit(X, Y)
    parents = {label: parent for parent, label in model.structures_[0]}
    assert len(parents) == 3  # labels depend on each other
    total = np.zeros(len(X))
    for i in range(4):
        parent = parents.get(f"label_{i}")
        features = X if parent is None else np.column_stack((X, Y[:, int(parent[-1])]))
        oracle = LogisticRegression(C=0.5, tol=1e-8).fit(features, Y[:, i])
        total += oracle.predict_log_proba(features)[np.arange(len(X)), Y[:, i]]
    # Only the weak penalty of the intercept differs.
    assert model.log_prob(X, Y) == pytest.approx(total, abs=0.02)


def test_mixture_beats_one_tree_beats_independent_labels():
    X, Y = labelled_rows(n_rows=400)
    new_X, new_Y = labelled_rows(seed=1, n_rows=400)
    # Both pairs of labels are equal, or both differ: one tree cannot represent that.
    for labels in (Y, new_Y):
        differ = np.random.default_rng(0).random(400) < 0.5
        labels[:, 1] = labels[:, 0] ^ differ
        labels[:, 3] = labels[:, 2] ^ differ
    mixture = small().fit(X, Y)
    tree = CTBNClassifier(C=1.0, parent_effect="feature", random_state=0, n_jobs=1).fit(X, Y)
    alone = sum(
        LogisticRegression().fit(X, Y[:, i]).predict_log_proba(new_X)[range(400), new_Y[:, i]]
        for i in range(4)
    )
    assert len(mixture.mixture_weights_) > 1
    scores = [m.log_prob(new_X, new_Y).sum() for m in (mixture, tree)]
    assert scores[0] > scores[1] > alone.sum()


def test_structures_have_names():
    X, Y = labelled_rows()
    frame = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    model = small().fit(X, frame)
    assert len(model.structures_) == len(model.mixture_weights_)
    for component, edges in zip(model.mixture_.components, model.structures_, strict=True):
        expected = [("abcd"[p], "abcd"[i]) for i, p in enumerate(component.parents) if p >= 0]
        assert edges == expected


def test_curves(fitted):
    assert len(fitted.validation_log_likelihood_) == len(fitted.log_likelihood_curves_)
    for curve in [*fitted.log_likelihood_curves_, fitted.log_likelihood_curve_]:
        assert (np.diff(curve) >= -1e-8).all()
    assert len(fitted.log_likelihood_curve_) > 1


@pytest.mark.parametrize("effect", ["feature", "separate"])
def test_results_do_not_depend_on_threads(effect):
    X, Y = labelled_rows()
    one, three = (small(n_jobs=n, parent_effect=effect).fit(X, Y) for n in (1, 3))
    assert one.structures_ == three.structures_
    np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), three.predict(X))


def test_result_depends_on_the_seed():
    X, Y = labelled_rows()
    first, second, other = (
        small(random_state=seed).fit(X, Y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_equals_dense(make):
    X, Y = labelled_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
    dense, other = small().fit(X, Y), small().fit(make(X), Y)
    np.testing.assert_array_equal(dense.predict_proba(X), other.predict_proba(make(X)))


def test_large_sparse_features_stay_sparse(monkeypatch):
    X, Y = labelled_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
    dense = CTBNClassifier(C=1.0, random_state=0, n_jobs=1).fit(X, Y)
    monkeypatch.setattr("xdcc.linear.design._MOST_ENTRIES", 0)
    kept = CTBNClassifier(C=1.0, random_state=0, n_jobs=1).fit(sparse.csr_matrix(X), Y)
    assert kept._design.keeps_sparse
    assert kept.structures_ == dense.structures_
    # Intercepts are penalised at 0, not at the mean.
    assert kept.predict_proba(sparse.csr_matrix(X)) == pytest.approx(
        dense.predict_proba(X), abs=1e-3
    )
    X[::3, 1] = np.nan
    with_missing = clone(kept).fit(sparse.csr_matrix(X), Y)
    monkeypatch.undo()
    expected = clone(kept).fit(X, Y)
    assert with_missing.predict_proba(sparse.csr_matrix(X)) == pytest.approx(
        expected.predict_proba(X), abs=1e-3
    )


def test_features_without_rotation(monkeypatch):
    X, Y = labelled_rows()
    rotated = small().fit(X, Y).predict_proba(X)
    monkeypatch.setattr("xdcc.linear.design.MOST_AXES", 2)
    assert small().fit(X, Y).predict_proba(X) == pytest.approx(rotated, abs=1e-2)


def test_missing_values_are_replaced_by_the_mean():
    X, Y = labelled_rows()
    X[::4, 2] = np.nan
    filled = X.copy()
    filled[::4, 2] = np.nanmean(X[:, 2])
    found, expected = small().fit(X, Y), small().fit(filled, Y)
    assert found.predict_proba(X) == pytest.approx(expected.predict_proba(filled), abs=1e-5)


def test_unknown_labels():
    X, Y = labelled_rows(n_rows=400)
    some = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    model = small().fit(X, some)
    new_X, new_Y = labelled_rows(seed=1, n_rows=400)
    whole = small().fit(X, Y)
    accuracy = [(m.predict(new_X) == new_Y).mean() for m in (model, whole)]
    assert accuracy[0] > accuracy[1] - 0.05
    assert np.abs(model.predict_proba(new_X) - whole.predict_proba(new_X)).mean() < 0.1


def test_choice_of_C():
    X, Y = labelled_rows()
    model = CTBNClassifier(random_state=0, n_jobs=1).fit(X, Y)
    noise = np.random.default_rng(0).integers(0, 2, Y.shape)
    strict = CTBNClassifier(random_state=0, n_jobs=1).fit(X, noise)
    assert strict.C_ < model.C_


@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1),
        RandomForestClassifier(5, max_depth=4, random_state=0),
    ],
)
def test_base_estimators(base):
    X, Y = labelled_rows()
    Y = np.column_stack((Y, np.zeros(len(Y), dtype=int)))  # a constant label, too
    model = small(max_components=2, base_estimator=base).fit(X, Y)
    new_X, new_Y = labelled_rows(seed=1)
    assert model.C_ is None
    assert (model.predict(new_X)[:, :4] == new_Y).mean() > 0.6
    assert hamming_loss(np.zeros((150, 1)), model.predict(new_X)[:, 4:]) == 0
    p = probabilities(model, new_X[:5])
    assert p.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-9)
    assert (p > 0).all()


def test_logistic_regression_as_base_estimator_agrees_with_the_solver():
    X, Y = labelled_rows()
    own = CTBNClassifier(C=1.0, parent_effect="feature", random_state=0, n_jobs=1).fit(X, Y)
    base = LogisticRegression(C=1.0, tol=1e-8)
    other = CTBNClassifier(base_estimator=base, random_state=0, n_jobs=1).fit(X, Y)
    assert own.structures_ == other.structures_
    assert own.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=5e-3)


def test_base_estimator_receives_missing_values():
    X, Y = labelled_rows()
    X[::4, 2] = np.nan
    base = XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)
    model = CTBNClassifier(base_estimator=base, random_state=0, n_jobs=1).fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("effect", ["feature", "separate"])
def test_constant_labels(effect):
    X, Y = labelled_rows()
    Y[:, 1], Y[:, 2] = 0, 1
    model = small(parent_effect=effect).fit(X, Y)
    p = model.predict_proba(X)
    assert ((p > 0) & (p < 1)).all()
    assert np.ptp(p[:, [1, 2]], axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert p[0, 1] < 0.01
    assert p[0, 2] > 0.99


def test_separable_labels():
    X = np.linspace(-1, 1, 60)[:, None]
    Y = np.column_stack((X > 0, X > 0.5))
    model = small(C=100.0).fit(X, Y)
    p = model.predict_proba(X)
    assert np.isfinite(model.log_prob(X, Y)).all()
    assert ((p > 0) & (p < 1)).all()
    assert (model.predict(X) == Y).all()


def test_one_label():
    X, Y = labelled_rows()
    model = small().fit(X, Y[:, :1])
    assert model.structures_ == [[]]
    assert model.predict(X).shape == (150, 1)
    oracle = LogisticRegression().fit(X, Y[:, 0])
    assert model.predict_proba(X)[:, 0] == pytest.approx(oracle.predict_proba(X)[:, 1], abs=2e-3)


def test_two_rows():
    model = small().fit([[0.0], [1.0]], [[0, 1], [1, 1]])
    assert model.predict([[0.5]]).shape == (1, 2)


def test_models_that_do_not_converge_are_named():
    X, Y = labelled_rows()
    with pytest.warns(ConvergenceWarning, match=r"in 1 iterations: label 'label_0'.*component 0"):
        CTBNClassifier(C=100.0, max_solver_iter=1, random_state=0, n_jobs=1).fit(X, Y)


def test_plot_trees(fitted):
    axes = plot_trees(fitted)
    assert len(axes) == len(fitted.mixture_weights_)
    weights = [float(ax.get_title().split()[1]) for ax in axes]
    assert weights == sorted(weights, reverse=True)
    first = int(np.argmax(fitted.mixture_weights_))
    assert len(axes[0].patches) == len(fitted.structures_[first])  # an arrow for each edge
    assert {text.get_text() for text in axes[0].texts} == {f"label_{i}" for i in range(4)}
    with pytest.raises(NotFittedError):
        plot_trees(small())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_components": 0}, "max_components=0: it must be a whole number at least 1"),
        ({"C": 0}, "C=0: it must be 'cross_val' or a number above 0 and below inf"),
        ({"C": "best"}, "C='best': it must be 'cross_val' or a number above 0 and below inf"),
        ({"C": True}, "C=True"),
        ({"C": np.inf}, "C=inf"),
        ({"parent_effect": "both"}, "parent_effect='both': it must be one of 'feature', 'sep"),
        ({"n_anneal": -1}, "n_anneal=-1"),
        ({"inference": "guess"}, "inference='guess': it must be one of 'anneal', 'exact'"),
        ({"prediction": "f1"}, "prediction='f1': it must be one of 'map', 'hamming', 'exam"),
        ({"n_draws": 0}, "n_draws=0"),
        ({"max_solver_iter": 0}, "max_solver_iter=0"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_parent_candidates": 0}, "n_parent_candidates=0: it must be a whole number"),
        ({"verbose": "much"}, "verbose='much'"),
        ({"base_estimator": 3}, "base_estimator=3: it must be an instance of a classifier"),
    ],
)
def test_invalid_parameters(params, message):
    X, Y = labelled_rows()
    with pytest.raises(ValueError, match=message):
        small(**params).fit(X, Y)


def test_invalid_data(fitted):
    X, Y = labelled_rows()
    with pytest.raises(ValueError, match="n_samples=1: at least two rows are required"):
        small().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="at most 15 labels, but there are 16"):
        small(inference="exact").fit(X, np.tile(Y, (1, 4)))
    with pytest.raises(ValueError, match="Y has 3 labels, but in fit there were 4"):
        fitted.log_prob(X, Y[:, :3])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.log_prob(X, Y[:5])
    with pytest.raises(ValueError, match="n=0: it must be a whole number at least 1"):
        fitted.sample(X, 0)
    with pytest.raises(ValueError, match="5 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="prediction='x'"):
        set_up(fitted, prediction="x").predict(X)
    for method in ("predict", "predict_proba", "sample"):
        with pytest.raises(NotFittedError):
            getattr(small(), method)(X)


def test_warning_about_many_pairs(monkeypatch):
    monkeypatch.setattr("xdcc.comparators.ctbn.estimator._MANY_PAIRS", 9)
    X, Y = labelled_rows(n_rows=20)
    with pytest.warns(UserWarning, match="^12 pairs of labels .* Set n_parent_candidates=20 "):
        small(max_components=1).fit(X, Y)
    small(max_components=1, n_parent_candidates=2).fit(X, Y)  # 8: no warning


def test_progress_bar(capsys):
    X, Y = labelled_rows(n_rows=20)
    small(max_components=1).fit(X, Y)
    assert not capsys.readouterr().err
    small(max_components=1, verbose=True).fit(X, Y)
    assert "12/12" in capsys.readouterr().err


# The claims of the paper on embedded data, with one split into training and test rows.


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits", "train")[:400], load_dataset("digits", "test")[:200]


@pytest.fixture(scope="module")
def mixture(digits):
    train, _ = digits
    return CTBNMixtureClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)


def test_mixture_is_better_than_one_tree_and_independent_labels(digits, mixture):
    train, test = digits
    tree = CTBNClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)
    design = Design(train.X)
    rows, ones = design.transform(train.X), np.ones(train.Y.shape)
    start = np.zeros((rows.shape[1] + 2, 7))
    coef = solve(rows, Problems(train.Y * 1.0, ones, 0 * ones), Penalty(1.0), start).coef
    positive = expit(linear_predictor(design.transform(test.X), coef, np.zeros(test.Y.shape)))
    alone = np.log(np.where(test.Y == 1, positive, 1 - positive)).sum()
    assert len(mixture.mixture_weights_) > 1
    scores = [model.log_prob(test.X, test.Y).sum() for model in (mixture, tree)]
    assert scores[0] > scores[1] > alone
    exact = [subset_accuracy(test.Y, model.predict(test.X)) for model in (mixture, tree)]
    assert exact[0] > subset_accuracy(test.Y, (positive > 0.5).astype(int))
    assert exact[1] > subset_accuracy(test.Y, (positive > 0.5).astype(int))


def test_annealing_finds_the_best_labelset(digits, mixture):
    _, test = digits
    annealed = mixture.predict(test.X)
    exact = mixture.set_params(inference="exact").predict(test.X)
    mixture.set_params(inference="anneal")
    assert (annealed == exact).all(axis=1).mean() >= 0.99


def test_probabilities_and_marginals(digits, mixture):
    _, test = digits
    labelsets = all_labelsets(7)
    X = np.repeat(test.X[:20], len(labelsets), axis=0)
    p = np.exp(mixture.log_prob(X, np.tile(labelsets, (20, 1)))).reshape(20, -1)
    assert p.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-9)
    assert mixture.predict_proba(test.X[:20]) == pytest.approx(p @ labelsets, abs=1e-9)


def test_em_objective_never_decreases(mixture):
    for curve in [*mixture.log_likelihood_curves_, mixture.log_likelihood_curve_]:
        assert (np.diff(curve) >= -1e-8).all()
