"""OrderFreeChainClassifier: what it learns, what can be read from it, what it refuses."""

from copy import copy
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from xdcc import MultiLabelClassifier
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import OrderFreeChainClassifier
from xdcc.data import load_dataset
from xdcc.decision import SizedMarginals, TunedDecisionClassifierCV
from xdcc.decision.out_of_fold import mean_margins

NAN = np.nan
FIRST = MultiLabelXGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)
MODEL = OrderFreeChainClassifier(
    FIRST, n_estimators=30, learning_rate=0.3, n_masks=5, cv=3, random_state=0, n_jobs=1
)
_RNG = np.random.default_rng(3)
X = _RNG.normal(size=(300, 5)).astype(np.float32)
_common = X[:, 0] + 1.5 * _RNG.normal(size=300)
# Two labels that are nearly the same, one that is there where they are not, and one by itself.
Y = np.stack((_common, _common + 0.3 * X[:, 1], -_common, X[:, 2]), axis=1) > 0
Y = Y.astype(np.int64)
X, X_NEW, Y, Y_NEW = X[:200], X[200:], Y[:200], Y[200:]
ALL = np.array(list(product((0, 1), repeat=4)))


@pytest.fixture(scope="module")
def model() -> OrderFreeChainClassifier:
    return clone(MODEL).fit(X, Y)


def _log_loss(proba: Any, truth: Any) -> Any:
    return -np.log(np.clip(np.where(truth == 1, proba, 1 - proba), 1e-12, None))


def _log_probs(model: OrderFreeChainClassifier, X: Any) -> np.ndarray:
    """Logarithms of the probabilities of all labelsets, (n_samples, 16)."""
    return np.stack([model.log_prob(X, np.tile(y, (len(X), 1))) for y in ALL], axis=1)


def test_it_is_a_distribution_and_predict_its_mode(model) -> None:
    found = _log_probs(model, X_NEW)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X_NEW), ALL[found.argmax(axis=1)])


def test_the_joint_is_better_than_independent_labels(model) -> None:
    joint = model.log_prob(X_NEW, Y_NEW).mean()
    independent = _log_loss(model.predict_proba(X_NEW), Y_NEW).sum(axis=1).mean()
    assert joint > -independent + 0.5
    assert model.losses_[0] - min(model.losses_) > 0.1


def test_a_label_that_is_known_helps_the_others(model) -> None:
    known = np.full(Y_NEW.shape, NAN)
    known[:, 0] = Y_NEW[:, 0]
    proba = model.predict_proba(X_NEW, known=known)
    np.testing.assert_array_equal(proba[:, 0], Y_NEW[:, 0])
    before = _log_loss(model.predict_proba(X_NEW), Y_NEW)[:, 1:].mean()
    assert _log_loss(proba, Y_NEW)[:, 1:].mean() < 0.8 * before
    np.testing.assert_array_equal(
        model.predict_proba(X_NEW, known=np.full(Y_NEW.shape, NAN)), model.predict_proba(X_NEW)
    )


@pytest.mark.parametrize("prediction", ["mode", "example_f1", "marginal"])
def test_known_labels_stay_as_they_are(model, prediction: str) -> None:
    model = copy(model).set_params(prediction=prediction)
    wrong = 1 - model.predict(X_NEW).astype(float)
    wrong[:, ::2] = NAN
    found = model.predict(X_NEW, known=wrong)
    np.testing.assert_array_equal(found[:, 1::2], wrong[:, 1::2])
    every = model.predict(X_NEW, known=Y_NEW)
    np.testing.assert_array_equal(every, Y_NEW)


def test_the_mode_given_known_labels_is_the_conditional_one(model) -> None:
    """It is the mode of the labelsets that agree, in another order: known labels come first."""
    known = np.full(Y_NEW.shape, NAN)
    known[:, 2] = 1
    found = model.predict(X_NEW, known=known)
    np.testing.assert_array_equal(found[:, 2], 1)
    assert (found[:, :2].sum(axis=1) == 0).mean() > 0.9


def test_log_prob_skips_unknown_labels(model) -> None:
    total = np.zeros(len(X_NEW))
    for pair in product((0, 1), repeat=2):
        labels = np.full(Y_NEW.shape, NAN)
        labels[:, [1, 3]] = pair
        total += np.exp(model.log_prob(X_NEW, labels))
    np.testing.assert_allclose(total, 1, rtol=1e-12)
    np.testing.assert_array_equal(model.log_prob(X_NEW, np.full(Y_NEW.shape, NAN)), 0)


def test_samples_have_the_probabilities_of_log_prob(model) -> None:
    drawn = model.sample(X_NEW[:3], n_samples=20_000, random_state=0)
    assert drawn.shape == (3, 20_000, 4)
    expected = np.exp(_log_probs(model, X_NEW[:3]))
    share = (drawn[:, :, np.newaxis] == ALL).all(axis=3).mean(axis=1)
    np.testing.assert_allclose(share, expected, atol=0.015)
    again = model.sample(X_NEW[:3], n_samples=20_000, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    assert (drawn != model.sample(X_NEW[:3], 20_000, random_state=1)).any()
    known = np.tile([NAN, 1, NAN, NAN], (3, 1))
    assert model.sample(X_NEW[:3], 50, known=known)[:, :, 1].all()


def test_f1_prediction_is_the_best_by_the_joint(model) -> None:
    many = copy(model).set_params(prediction="example_f1", n_draws=3000)
    exact = SizedMarginals.of_labelsets(ALL, np.exp(_log_probs(many, X_NEW)))
    np.testing.assert_array_equal(many.predict(X_NEW), many.predict(X_NEW))
    assert (many.predict(X_NEW) == exact.maximise().labels).all(axis=1).mean() > 0.95


def test_marginal_prediction_rounds_probabilities(model) -> None:
    rounding = copy(model).set_params(prediction="marginal")
    np.testing.assert_array_equal(rounding.predict(X_NEW), rounding.predict_proba(X_NEW) >= 0.5)
    np.testing.assert_array_equal(rounding.predict_proba(X_NEW), model.predict_proba(X_NEW))


def test_subset_accuracy_scores_likely_and_known_labelsets(model) -> None:
    scored = clone(MODEL).set_params(prediction="subset_accuracy").fit(X, Y)
    np.testing.assert_array_equal(scored.predict_proba(X_NEW), copy(scored).predict_proba(X_NEW))
    found, score = scored.predict(X_NEW), scored.labelset_score_
    assert score.known.counts.sum() == 200
    assert (found == Y_NEW).all(axis=1).mean() > (model.predict(X_NEW) == Y_NEW).all(
        axis=1
    ).mean() - 0.05

    # All labelsets are candidates here, and the rule is what its text says.
    log_odds = margins_of(scored.calibration_.proba(mean_margins(scored.estimators_, X_NEW, 4)))
    alone = -np.logaddexp(0, np.where(ALL[:, np.newaxis] == 1, -log_odds, log_odds)).sum(axis=2).T
    counts = {tuple(u): n for u, n in zip(score.known.labelsets, score.known.counts, strict=True)}
    frequent = np.log1p([counts.get(tuple(y), 0) for y in ALL])
    for joint, prior in ((1.0, 0.0), (0.5, 0.5), (0.0, 1.0)):
        scored.labelset_score_ = score._replace(joint=joint, prior=prior)
        total = joint * _log_probs(model, X_NEW) + (1 - joint) * alone + prior * frequent
        same = (scored.predict(X_NEW) == ALL[total.argmax(axis=1)]).all(axis=1)
        assert same.mean() == 1 if prior == 0 else same.mean() > 0.97
    known = np.tile([NAN, 1, NAN, 0], (100, 1))
    np.testing.assert_array_equal(scored.predict(X_NEW, known=known)[:, [1, 3]], known[:, [1, 3]])


def test_where_nothing_can_be_predicted_the_most_frequent_labelset_is_best() -> None:
    noise = np.random.default_rng(1).random((200, 3)) < np.array([0.8, 0.75, 0.3])
    scored = clone(MODEL).set_params(prediction="subset_accuracy").fit(X, noise.astype(int))
    share = (scored.predict(X_NEW) == [1, 1, 0]).all(axis=1).mean()
    assert share > 0.8


def test_subset_accuracy_has_to_be_asked_for_in_fit(model) -> None:
    other = copy(model).set_params(prediction="subset_accuracy")
    with pytest.raises(ValueError, match=r"needs weights that fit chooses: set it before fit"):
        other.predict(X_NEW)
    labels = Y.astype(float)
    labels[np.arange(200), np.arange(200) % 4] = NAN
    with pytest.raises(ValueError, match=r"Every row of Y has an unknown label"):
        clone(other).fit(X, labels)


def test_order_leads_to_the_prediction(model) -> None:
    order = model.chain_order(X_NEW)
    np.testing.assert_array_equal(np.sort(order.labels, axis=1), np.tile(np.arange(4), (100, 1)))
    assert len(np.unique(order.labels, axis=0)) > 1  # not the same in all rows
    predicted = np.take_along_axis(model.predict(X_NEW), order.labels, axis=1)
    of_value = np.where(predicted == 1, order.values, 1 - order.values)
    np.testing.assert_allclose(
        np.log(of_value).sum(axis=1), model.log_prob(X_NEW, model.predict(X_NEW)), rtol=1e-4
    )
    first = model.predict_proba(X_NEW)
    np.testing.assert_array_equal(order.labels[:, 0], np.abs(first - 0.5).argmax(axis=1))
    assert order.rounds(4).shape == (100, 4)


def test_labels_that_are_constant() -> None:
    constant = np.column_stack((Y, np.zeros(200), np.ones(200)))
    model = clone(MODEL).fit(X, constant)
    np.testing.assert_array_equal(model.predict(X_NEW)[:, 4:], np.tile([0, 1], (100, 1)))
    np.testing.assert_allclose(model.predict_proba(X_NEW)[0, 4:], [1 / 202, 201 / 202])
    assert model.booster_.num_features() == 8
    usual = np.column_stack((Y_NEW, np.zeros(100), np.ones(100)))
    unusual = np.column_stack((Y_NEW, np.ones(100), np.full(100, NAN)))
    difference = model.log_prob(X_NEW, usual) - model.log_prob(X_NEW, unusual)
    np.testing.assert_allclose(difference, np.log([201, 201 / 202]).sum())
    assert set(model.chain_order(X_NEW).labels[0]) == {-1, 0, 1, 2, 3}
    drawn = model.sample(X_NEW[:2], 20_000, random_state=0)
    np.testing.assert_allclose(drawn[:, :, 4].mean(), 1 / 202, rtol=0.2)


def test_only_constant_labels() -> None:
    constant = np.tile([0, 1], (200, 1))
    model = clone(MODEL).fit(X, constant)
    assert model.booster_ is None
    for prediction in ("mode", "marginal", "example_f1"):
        model.set_params(prediction=prediction)
        np.testing.assert_array_equal(model.predict(X_NEW), np.tile([0, 1], (100, 1)))
    np.testing.assert_allclose(model.log_prob(X_NEW, constant[:100]), 2 * np.log(201 / 202))
    assert model.sample(X_NEW, 3, random_state=0).shape == (100, 3, 2)


def test_independent_labels_are_left_as_they_are() -> None:
    """Stops early and does no harm."""
    noise = np.random.default_rng(0).integers(0, 2, (200, 4))
    model = clone(MODEL).fit(X, noise)
    assert model.booster_ is None
    proba = model.predict_proba(X_NEW)
    known = np.where(np.arange(4) == 1, 1.0, NAN) * np.ones((100, 1))
    np.testing.assert_array_equal(
        model.predict_proba(X_NEW, known=known)[:, [0, 2, 3]], proba[:, [0, 2, 3]]
    )
    np.testing.assert_allclose(
        model.log_prob(X_NEW, Y_NEW), -_log_loss(proba, Y_NEW).sum(axis=1), rtol=1e-5
    )


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.usefixtures("threads")
def test_the_same_model_for_any_number_of_threads(seed: int) -> None:
    one, two = (
        clone(MODEL)
        .set_params(estimator=None, random_state=seed, n_estimators=5, n_jobs=n_jobs)
        .fit(X, Y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X_NEW), two.predict_proba(X_NEW))
    assert one.losses_ == two.losses_


def test_unknown_labels_and_weights() -> None:
    labels = Y.astype(float)
    labels[::4, 1] = NAN
    model = clone(MODEL).fit(X, labels, sample_weight=np.repeat([1.0, 0.5], 100))
    found = (model.predict(X_NEW) == Y_NEW).mean()
    assert found > (clone(FIRST).fit(X, labels).predict(X_NEW) == Y_NEW).mean() - 0.05

    wrong = np.concatenate((Y, 1 - Y))
    weight = np.repeat([1.0, 0.0], 200)
    weighted = clone(MODEL).fit(np.concatenate((X, X)), wrong, sample_weight=weight)
    assert weighted.log_prob(X_NEW, Y_NEW).mean() > -2.5


def test_forms_of_X_and_Y(model) -> None:
    frame, labels = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=list("abcd"))
    of_frames = clone(MODEL).fit(frame, labels)
    new = pd.DataFrame(X_NEW).add_prefix("x")
    np.testing.assert_array_equal(of_frames.predict_proba(new), model.predict_proba(X_NEW))
    known = pd.DataFrame({"d": NAN, "c": 1.0, "b": 0.0, "a": NAN}, index=new.index)
    np.testing.assert_array_equal(
        of_frames.predict(new, known=known),
        model.predict(X_NEW, known=np.tile([NAN, 0, 1, NAN], (100, 1))),
    )
    swapped = pd.DataFrame(Y_NEW, columns=list("abcd"))[list("dcba")]
    np.testing.assert_array_equal(of_frames.log_prob(new, swapped), model.log_prob(X_NEW, Y_NEW))
    of_sparse = clone(MODEL).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    assert of_sparse.predict_proba(sparse.csr_matrix(X_NEW)).shape == (100, 4)


def test_any_classifier_comes_first() -> None:
    first = MultiOutputClassifier(LogisticRegression())
    model = clone(MODEL).set_params(estimator=first).fit(X, Y)
    np.testing.assert_allclose(np.exp(_log_probs(model, X_NEW)).sum(axis=1), 1, rtol=1e-12)


def test_a_binary_target() -> None:
    y = np.array(["no", "yes"])[Y[:, 0]]
    model = clone(MODEL).fit(X, y)
    assert set(model.predict(X_NEW)) == {"no", "yes"}
    probs = [np.exp(model.log_prob(X_NEW, np.full(100, name))) for name in ("no", "yes")]
    np.testing.assert_allclose(np.stack(probs, axis=1), model.predict_proba(X_NEW), rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prediction": "best"}, r"prediction='best': it must be one of 'mode'"),
        ({"n_masks": 0}, r"n_masks=0: it must be a whole number at least 1"),
        ({"cv": 1}, r"cv=1: it must be a whole number at least 2"),
        ({"n_beams": 0.5}, r"n_beams=0\.5"),
        ({"n_draws": 0}, r"n_draws=0"),
        ({"n_estimators": -1}, r"n_estimators=-1"),
        ({"max_depth": 0}, r"max_depth=0"),
        ({"learning_rate": 0}, r"learning_rate=0: it must be a number above 0"),
        ({"reg_lambda": -1}, r"reg_lambda=-1"),
        ({"subsample": 2.0}, r"subsample=2\.0"),
        ({"random_state": "x"}, r"random_state='x'"),
        ({"n_jobs": 0}, r"n_jobs=0"),
        ({"cv": 300}, r"300 folds need as many rows, but n_samples=200"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    model = clone(MODEL).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    for fitted in (
        clone(MODEL).set_params(n_estimators=2).fit(X, Y),
        MultiLabelClassifier(cv=2, n_jobs=1).fit(X[:60], Y[:60]),
        TunedDecisionClassifierCV(FIRST, cv=2).fit(X, Y),
    ):
        before = fitted.predict(X_NEW)
        with pytest.raises(ValueError, match=r"folds need as many rows, but n_samples=1"):
            fitted.fit(X[:1], Y[:1, :3])
        np.testing.assert_array_equal(fitted.predict(X_NEW), before)


def test_subset_accuracy_needs_rows_of_which_all_is_known() -> None:
    labels = Y.astype(float)
    labels[::2, 0] = labels[1::2, 1] = NAN
    model = clone(MODEL).set_params(prediction="subset_accuracy")
    with pytest.raises(ValueError, match=r"Every row of Y has an unknown"):
        model.fit(X, labels)
    with pytest.raises(NotFittedError):
        model.predict(X_NEW)


def test_bad_rows_to_read(model) -> None:
    with pytest.raises(NotFittedError):
        clone(MODEL).log_prob(X, Y)
    with pytest.raises(ValueError, match=r"known has 3 labels"):
        model.predict(X_NEW, known=Y_NEW[:, :3])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[100, 99\]"):
        model.predict_proba(X_NEW, known=Y_NEW[:99])
    with pytest.raises(ValueError, match=r"holds 2.* in row 0"):
        model.predict(X_NEW, known=np.full(Y_NEW.shape, 2))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[100, 99\]"):
        model.log_prob(X_NEW, Y_NEW[:99])
    with pytest.raises(ValueError, match=r"known has shape \(100,\), but in fit it had two"):
        model.predict(X_NEW, known=Y_NEW[:, 0])
    with pytest.raises(ValueError, match=r"known has 3 labels"):
        model.sample(X_NEW, known=Y_NEW[:, :3])
    with pytest.raises(ValueError, match=r"n_samples=0: it must be a whole number at least 1"):
        model.sample(X_NEW, 0)


@pytest.mark.data("emotions")
def test_it_knows_how_emotions_go_together() -> None:
    train, test = load_dataset("emotions", "train"), load_dataset("emotions", "test")
    model = OrderFreeChainClassifier(learning_rate=0.1, random_state=0, n_jobs=1)
    model.fit(train.X, train.Y)
    assert -model.log_prob(test.X, test.Y).mean() < 2.42  # independent labels: 2.55


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_boosters_side_by_side(n_jobs: int, model: OrderFreeChainClassifier, threads: None) -> None:
    found = clone(MODEL).set_params(n_jobs=n_jobs, estimator__n_jobs=n_jobs).fit(X, Y)
    assert found.losses_ == model.losses_
    assert found.booster_.save_raw() == model.booster_.save_raw()
    np.testing.assert_array_equal(found.oof_proba_, model.oof_proba_)
