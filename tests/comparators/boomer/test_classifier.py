"""`BoomerClassifier`: training, prediction, rules, and invalid input."""

import io
import resource
import sys
import warnings
from contextlib import redirect_stderr
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.boomer.losses import LOSSES
from xdcc.decision.f1_maximiser import SizedMarginals

VARIANTS = pytest.mark.parametrize(
    ("loss", "head"), [(loss, head) for loss in LOSSES for head in ("single", "complete")]
)

MIB = 2**10 if sys.platform == "linux" else 2**20
"""Units of `ru_maxrss` in a mebibyte: kibibytes on Linux, bytes on macOS."""


def labelled_rows(seed=0, n_rows=150, n_labels=4):
    """Labels that follow the features, and each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)).astype(np.float32)
    Y = (X[:, :n_labels] + 0.2 * rng.normal(size=(n_rows, n_labels)) > 0.4).astype(np.int8)
    Y[:, -1] = Y[:, 0] & Y[:, 1]
    return X, Y


def small(**params):
    return BoomerClassifier(**{"n_rules": 80, "random_state": 0, "n_jobs": 1} | params)


def set_up(model, **params):
    """A copy with the same rules and other parameters."""
    other = clone(model).set_params(**params)
    other.__dict__ |= {k: v for k, v in vars(model).items() if k not in other.get_params()}
    return other


@pytest.fixture(scope="module")
def fitted():
    return small(loss="logistic_example_wise", head="complete").fit(*labelled_rows())


@VARIANTS
def test_learns(loss, head):
    X, Y = labelled_rows(seed=1)
    model = small(loss=loss, head=head, n_rules=200).fit(*labelled_rows())
    assert (model.predict(X) == Y).mean() > 0.88
    proba = model.predict_proba(X)
    assert ((proba > 0.5) == Y).mean() > 0.88
    assert proba.min() >= 0
    assert proba.max() <= 1


@pytest.mark.parametrize("head", ["single", "complete"])
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "logistic_example_wise"])
def test_labels_scores_and_probabilities_agree(loss, head):
    X, _ = labelled_rows(seed=1)
    model = small(loss=loss, head=head).fit(*labelled_rows())
    scores, proba = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), scores > 0)
    np.testing.assert_array_equal(model.predict(X), proba > 0.5)


@VARIANTS
def test_training_loss_falls(loss, head):
    X, Y = labelled_rows()
    model = small(loss=loss, head=head, sample=None, learning_rate=0.1, n_rules=30).fit(X, Y)
    losses = [LOSSES[loss].values(Y, s).mean() for s in model.staged_decision_function(X)]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(losses))


def test_heads():
    X, Y = labelled_rows()
    single = small(head="single").fit(X, Y).rules_
    complete = small(head="complete").fit(X, Y).rules_
    assert [len(rule.scores) for rule in single] == [4] + [1] * 79
    assert [len(rule.scores) for rule in complete] == [4] * 80


def test_default_rule_by_hand():
    # 150 rows, n positives: -(sum of p - y) / (150 / 4 + l2) at p = 1/2.
    X, Y = labelled_rows()
    positive = Y.sum(axis=0)
    model = small(n_rules=1, l2=2.0).fit(X, Y)
    assert list(model.rules_[0].scores.values()) == pytest.approx(
        (positive - 75) / (37.5 + 2), rel=1e-12
    )
    assert model.decision_function(X) == pytest.approx(np.tile((positive - 75) / 39.5, (150, 1)))


def test_prediction_can_be_changed_after_training(fitted):
    X, _ = labelled_rows(seed=1)
    scores = fitted.decision_function(X)
    np.testing.assert_array_equal(set_up(fitted, prediction="sign").predict(X), scores > 0)
    of_f1 = set_up(fitted, prediction="example_f1").predict(X)
    np.testing.assert_array_equal(
        of_f1[:20],
        SizedMarginals.of_labelsets(fitted.labelsets_, fitted.predict_labelset_proba(X[:20]))
        .maximise()
        .labels,
    )


def test_staged_scores(fitted):
    X, _ = labelled_rows(seed=1)
    counts = [1, 5, 5, 80]
    stages = [*fitted.staged_decision_function(X, counts)]
    for count, scores in zip(counts, stages, strict=True):
        np.testing.assert_array_equal(scores, fitted.decision_function(X, n_rules=count))
        np.testing.assert_array_equal(fitted.labels_of(scores), fitted.predict(X, n_rules=count))
    assert len([*fitted.staged_decision_function(X)]) == 80
    np.testing.assert_array_equal(stages[-1], fitted.decision_function(X))


def test_first_rules_do_not_depend_on_n_rules(fitted):
    X, Y = labelled_rows()
    short = clone(fitted).set_params(n_rules=20).fit(X, Y)
    np.testing.assert_array_equal(short.decision_function(X), fitted.decision_function(X, 20))


@pytest.mark.parametrize("counts", [[0], [81], [3, 2], [1.5]])
def test_invalid_numbers_of_rules(fitted, counts):
    with pytest.raises(ValueError, match="n_rules="):
        [*fitted.staged_decision_function(labelled_rows()[0], counts)]


def test_known_labelsets(fitted):
    X, Y = labelled_rows(seed=1)
    known = {tuple(row) for row in labelled_rows()[1].tolist()}
    predicted = fitted.predict(X)
    assert {tuple(row) for row in predicted.tolist()} <= known
    counts = [(labelset == labelled_rows()[1]).all(axis=1).sum() for labelset in fitted.labelsets_]
    assert counts == sorted(counts, reverse=True)
    proba = fitted.predict_labelset_proba(X)
    assert proba.shape == (len(X), len(fitted.labelsets_))
    assert proba.sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert proba @ fitted.labelsets_ == pytest.approx(fitted.predict_proba(X))
    most = fitted.labelsets_[proba.argmax(axis=1)]
    assert (most == predicted).all(axis=1).mean() > 0.99  # ties aside
    assert Y.shape == predicted.shape


def test_rules_as_text_predict_the_scores(fitted):
    X, _ = labelled_rows(seed=1)
    frame = pd.DataFrame(X, columns=[f"feature_{f}" for f in range(6)])
    scores = np.zeros((len(X), 4))
    for rule in fitted.rules_:
        holds = np.ones(len(X), bool)
        for c in rule.conditions:
            column = frame[c.attribute]
            holds &= (column <= c.value) if c.relation == "<=" else (column > c.value)
        scores[holds] += list(rule.scores.values())
    assert scores == pytest.approx(fitted.decision_function(X), rel=1e-12)


def test_coverage(fitted):
    X, _ = labelled_rows()
    np.testing.assert_array_equal(fitted.coverage_, fitted.rules_.coverage(X, 1))
    assert sum(rule.n_covered for rule in fitted.rules_) == fitted.coverage_.sum()
    assert fitted.rules_[0].n_covered == len(X)


def test_rules_as_text_and_table():
    X, Y = labelled_rows()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=["w", "x", "y", "z"])
    model = small(n_rules=5).fit(frame, labels)
    rules = model.rules_
    assert rules[0].body == "true"
    assert str(rules[0]).startswith("if true then w ")
    assert str(rules[0]).endswith("(150 rows)")
    first = rules[1].conditions[0]
    assert first.attribute in "abcdef"
    assert f"{first.attribute} {first.relation} {first.value:.6g}" in str(rules)
    assert len(str(rules).splitlines()) == 5
    assert str(rules) in str(model)
    assert "5 rules for 4 labels" in repr(rules)
    assert "rules" not in str(clone(model)).replace("n_rules", "")
    assert rules[-1] == rules[4]
    assert rules[1:3] == [rules[1], rules[2]]
    with pytest.raises(IndexError):
        rules[5]
    table = rules.to_frame()
    assert [*table.columns] == ["body", "n_conditions", "n_covered", "w", "x", "y", "z"]
    assert table["n_conditions"].tolist() == [len(rule.conditions) for rule in rules]
    assert table.loc[1:, "w":].notna().sum(axis=1).tolist() == [1] * 4
    assert table.loc[0, "w"] == rules[0].scores["w"]


@VARIANTS
def test_rules_do_not_depend_on_threads(loss, head):
    rng = np.random.default_rng(0)
    # More than 3 million additions for the first condition of a rule, so threads are used.
    X = rng.normal(size=(3000, 40)).astype(np.float32)
    Y = (X[:, :24] + rng.normal(size=(3000, 24)) > 1).astype(int)
    system = (loss, head) == ("logistic_example_wise", "complete")
    model = small(loss=loss, head=head, n_rules=4, max_features="log2" if system else None)
    one, three = (clone(model).set_params(n_jobs=n).fit(X, Y) for n in (1, 3))
    assert str(one.rules_) == str(three.rules_)
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_predictions_do_not_depend_on_threads(fitted, kind):
    # More than 100,000 pairs of a rule and a row, so threads are used.
    X = labelled_rows(seed=1, n_rows=2000)[0]
    X[np.abs(X) < 0.2] = 0
    one, three = (set_up(fitted, n_jobs=n).decision_function(kind(X)) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_rules_depend_on_the_seed():
    X, Y = labelled_rows()
    first, second, other = (str(small(random_state=s).fit(X, Y).rules_) for s in (0, 0, 1))
    assert first == second != other


@pytest.mark.parametrize("categorical", [None, [0, 3]])
@VARIANTS
def test_sparse_equals_dense(loss, head, categorical):
    rng = np.random.default_rng(0)
    X = ((rng.random((80, 12)) < 0.3) * rng.integers(-2, 4, (80, 12))).astype(np.float32)
    Y = (X[:, :3] > 0).astype(np.int8)
    model = small(loss=loss, head=head, categorical_features=categorical, n_rules=30)
    dense = clone(model).fit(X, Y)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        other = clone(model).fit(kind(X), Y)
        assert str(other.rules_) == str(dense.rules_)
        np.testing.assert_array_equal(dense.predict_proba(X), other.predict_proba(kind(X)))


def test_explicit_zeros_are_zeros():
    X, Y = labelled_rows()
    X[np.abs(X) < 0.5] = 0
    stored = sparse.csr_matrix(np.ones_like(X))
    stored.data[:] = X.ravel()
    assert str(small().fit(stored, Y).rules_) == str(small().fit(X, Y).rules_)


def test_sparse_labels():
    X, Y = labelled_rows()
    assert str(small().fit(X, sparse.csr_matrix(Y)).rules_) == str(small().fit(X, Y).rules_)


def test_no_condition_covers_missing_values():
    X, Y = labelled_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = small().fit(X, Y)
    # All values are missing, so only the default rule covers the row.
    nothing = model.decision_function(np.full((1, 6), np.nan))
    assert nothing[0] == pytest.approx(list(model.rules_[0].scores.values()))
    whole, expected = labelled_rows(seed=1)
    assert (model.predict(whole) == expected).mean() > 0.8


def test_missing_is_not_unequal():
    X = np.array([[0.0], [1.0], [2.0], [np.nan]] * 10, np.float32)
    Y = np.array([[0], [1], [0], [1]] * 10)
    model = small(categorical_features=[0], n_rules=20, sample=None).fit(X, Y)
    relations = {c.relation for rule in model.rules_ for c in rule.conditions}
    assert relations <= {"=", "!="}
    default = list(model.rules_[0].scores.values())
    assert model.decision_function([[np.nan]])[0] == pytest.approx(default)
    assert model.predict([[0.0], [1.0], [2.0]]).ravel().tolist() == [0, 1, 0]


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
def test_categories_of_a_frame():
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue"], 90)
    X = pd.DataFrame({"colour": pd.Categorical(colours), "size": rng.normal(size=90)})
    Y = np.column_stack((colours == "green", colours != "red")).astype(int)
    model = small(n_rules=40).fit(X, Y)
    assert (model.predict(X) == Y).all()
    assert "colour = green" in str(model.rules_)
    other = pd.DataFrame({"colour": pd.Categorical(["black"]), "size": [0.0]})
    assert np.isfinite(model.decision_function(other)).all()


def test_warm_start_continues(fitted):
    X, Y = labelled_rows()
    model = clone(fitted).set_params(n_rules=30, warm_start=True).fit(X, Y)
    model.set_params(n_rules=80).fit(X, Y)
    assert str(model.rules_) == str(fitted.rules_)
    np.testing.assert_array_equal(model.coverage_, fitted.coverage_)
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(X))
    before = str(model.rules_)
    assert str(model.fit(X, Y).rules_) == before


def test_warm_start_rejects_other_data_and_fewer_rules():
    X, Y = labelled_rows()
    model = small(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="at least 80, the number"):
        model.set_params(n_rules=79).fit(X, Y)
    model.set_params(n_rules=90)
    with pytest.raises(ValueError, match="of the rules already learned"):
        model.fit(X[:, :5], Y)
    with pytest.raises(ValueError, match="of the rules already learned"):
        model.fit(X, Y[:, :3])


def test_evaluation_set_and_early_stopping():
    X, Y = labelled_rows(n_rows=60)
    other = labelled_rows(seed=1)
    rng = np.random.default_rng(0)
    Y = np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)
    model = small(n_rules=500, learning_rate=0.5, early_stopping_rounds=10)
    model.fit(X, Y, eval_set=[(X, Y), other])
    assert [*model.evals_result_] == ["validation_0", "validation_1"]
    losses = model.evals_result_["validation_1"]["loss"]
    assert len(losses) == len(model.rules_) < 500
    assert model.best_n_rules_ == np.argmin(losses) + 1 == len(losses) - 10
    staged = model.staged_decision_function(other[0])
    assert losses == pytest.approx(
        [LOSSES["logistic_label_wise"].values(other[1], scores).mean() for scores in staged]
    )
    np.testing.assert_array_equal(
        model.decision_function(X), model.decision_function(X, model.best_n_rules_)
    )


def test_evaluation_set_alone_does_not_stop_training():
    data = labelled_rows()
    model = small().fit(*data, eval_set=[data])
    assert model.best_n_rules_ == len(model.rules_) == 80


def test_early_stopping_continues_with_warm_start():
    data, other = labelled_rows(), labelled_rows(seed=1)
    model = small(n_rules=10, warm_start=True).fit(*data, eval_set=[other])
    model.set_params(n_rules=20).fit(*data, eval_set=[other])
    once = small(n_rules=20).fit(*data, eval_set=[other])
    losses = [m.evals_result_["validation_0"]["loss"] for m in (model, once)]
    assert losses[0] == losses[1]


def test_early_stopping_with_warm_start_uses_the_initial_loss():
    X, Y = labelled_rows()
    # The evaluation set has the opposite labels, so the loss increases with each rule.
    opposite = [(X, 1 - Y)]
    model = small(n_rules=10, warm_start=True).fit(X, Y, eval_set=opposite)
    model.set_params(n_rules=90, early_stopping_rounds=5).fit(X, Y, eval_set=opposite)
    assert np.all(np.diff(model.evals_result_["validation_0"]["loss"]) > 0)
    assert model.best_n_rules_ == 10
    assert len(model.rules_) == 15


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "requires an eval_set"),
        ([(np.ones((3, 6)), np.ones((3, 2)))], "has 2 labels"),
        ([(np.ones((3, 5)), np.ones((3, 4)))], "features"),
        ([(np.ones((3, 6)), np.ones((2, 4)))], "inconsistent"),
        ([(np.ones((1, 6)), [[0, 1, 0, np.nan]])], "unknown"),
    ],
)
def test_invalid_evaluation_sets(bad, message):
    with pytest.raises(ValueError, match=message):
        small(early_stopping_rounds=3).fit(*labelled_rows(), eval_set=bad)


def test_progress_bar():
    text = io.StringIO()
    with redirect_stderr(text):
        small(n_rules=5, verbose=True).fit(*labelled_rows())
    assert "5/5" in text.getvalue()


# Labels of either sign have bins of their own, so a share is rounded up twice.
@pytest.mark.parametrize(("label_bins", "most"), [(1, 2), (2, 3), (0.5, 3), (1.0, 4)])
def test_label_bins(label_bins, most):
    X, Y = labelled_rows()
    model = small(loss="logistic_example_wise", head="complete", label_bins=label_bins)
    model.fit(X, Y)
    assert (model.predict(labelled_rows(1)[0]) == labelled_rows(1)[1]).mean() > 0.85
    different = [len({round(s, 12) for s in r.scores.values()}) for r in model.rules_][1:]
    assert max(different) <= most


def test_max_features():
    X, Y = labelled_rows()
    texts = {
        str(value): str(small(max_features=value).fit(X, Y).rules_)
        for value in ("log2", 3, 0.5, 6, 1.0, None, 99)
    }
    # floor(log2(5) + 1) = 3 of 6 attributes.
    assert texts["log2"] == texts["3"] == texts["0.5"]
    assert texts["6"] == texts["1.0"] == texts["None"] == texts["99"] != texts["3"]


def test_limits_of_rules():
    X, Y = labelled_rows()
    rules = small(max_conditions=2, min_coverage=20, sample=None).fit(X, Y).rules_
    assert max(len(rule.conditions) for rule in rules) == 2
    assert min(rule.n_covered for rule in rules) >= 20


def test_constant_attributes_stop_with_a_warning():
    X, Y = np.ones((20, 3)), labelled_rows(n_rows=20)[1]
    with pytest.warns(ConvergenceWarning, match="Learned only 1 of 80 rules"):
        model = small().fit(X, Y)
    assert len(model.rules_) == model.best_n_rules_ == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_min_coverage_stops_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="min_coverage=150"):
        small(min_coverage=150, sample=None).fit(np.eye(150, 3), labelled_rows()[1])


def test_one_of_many_attributes_is_not_constant():
    # The drawn attributes are usually constant.
    X, Y = np.zeros((40, 200), np.float32), (np.arange(40) % 2)[:, None]
    X[:, 77] = Y[:, 0]
    model = small(n_rules=20).fit(X, Y)
    assert len(model.rules_) == 20
    np.testing.assert_array_equal(model.predict(X), Y)


@VARIANTS
def test_single_sample(loss, head):
    with pytest.warns(ConvergenceWarning):
        model = small(loss=loss, head=head).fit([[1.0, 2.0]], [[0, 1]])
    assert model.predict([[5.0, 5.0]]).tolist() == [[0, 1]]


@VARIANTS
def test_two_samples(loss, head):
    model = small(loss=loss, head=head).fit([[1.0], [2.0]], [[0, 1], [1, 0]])
    assert model.predict([[1.0], [2.0]]).tolist() == [[0, 1], [1, 0]]


@VARIANTS
def test_scores_are_finite_without_l2(loss, head):
    X, Y = labelled_rows()
    Y[:, 2] = 0
    model = small(loss=loss, head=head, l2=0.0, learning_rate=1.0, n_rules=300).fit(X, Y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.predict(X) == Y).mean() > 0.9


@VARIANTS
@pytest.mark.parametrize("value", [0, 1])
def test_constant_labels(loss, head, value):
    X, Y = labelled_rows()
    Y[:, 1] = value
    model = small(loss=loss, head=head).fit(X, Y)
    assert (model.predict(labelled_rows(1)[0])[:, 1] == value).all()


@pytest.mark.parametrize(
    "params",
    [
        {"n_rules": 0},
        {"n_rules": 2.5},
        {"loss": "hinge"},
        {"head": "partial"},
        {"learning_rate": 0.0},
        {"learning_rate": 1.5},
        {"l2": -1.0},
        {"l2": np.nan},
        {"l2": np.inf},
        {"sample": "half"},
        {"max_features": 0},
        {"max_features": 1.5},
        {"max_features": "sqrt"},
        {"label_bins": 0.5},
        {"label_bins": 0, "loss": "logistic_example_wise", "head": "complete"},
        {"prediction": "mode"},
        {"max_conditions": 0},
        {"min_coverage": 0},
        {"early_stopping_rounds": 0},
        {"warm_start": "yes"},
        {"verbose": "yes"},
        {"n_jobs": 0},
        {"categorical_features": [6]},
    ],
)
def test_invalid_parameters(params):
    with pytest.raises(ValueError, match=f"{next(iter(params))}="):
        small(**params).fit(*labelled_rows())


def test_unknown_labels_are_rejected():
    X, Y = labelled_rows()
    Y = Y.astype(float)
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 3 for label 'label_1'.*rules need every label"):
        small().fit(X, Y)


def test_not_fitted():
    for method in ("predict", "predict_proba", "decision_function", "labels_of"):
        with pytest.raises(NotFittedError):
            getattr(small(), method)(np.ones((1, 6)))


def test_different_number_of_features(fitted):
    with pytest.raises(ValueError, match="features"):
        fitted.predict(np.ones((1, 5)))


def test_wide_and_large_values():
    X, Y = labelled_rows()
    # A larger sum would overflow in the check for infinities.
    X[:, 0] = np.where(X[:, 0] > 0.4, 1, -1) * (np.finfo(np.float32).max / 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = small().fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X)[:, 0] == Y[:, 0]).mean() > 0.9


# Ten fits in one process, with all losses, heads and kinds of data.


def train_ten_times(n_rules):
    rng = np.random.default_rng(0)
    variants = [(loss, head) for loss in LOSSES for head in ("single", "complete")]
    variants += [("logistic_example_wise", "complete"), ("logistic_label_wise", "single")]
    for number, (loss, head) in enumerate(variants):
        n_rows, n_features, n_labels = rng.integers((50, 3, 1), (400, 60, 20))
        X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
        Y = rng.random((n_rows, n_labels)) < 0.3
        model = BoomerClassifier(
            n_rules=n_rules, loss=loss, head=head, random_state=number, n_jobs=1 + number % 2
        )
        model.fit(sparse.csr_matrix(X) if number % 3 == 0 else X, Y)
        assert np.isfinite(model.predict_proba(X)).all()


def test_ten_fits():
    train_ten_times(40)


@pytest.mark.slow
def test_memory_does_not_grow():
    """A fit allocates about 2 MiB, so 200 leaks would show in the peak."""
    for _ in range(5):
        train_ten_times(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        train_ten_times(20)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 * MIB
