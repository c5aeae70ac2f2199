"""Revealed labels, and the training of an order-free chain's booster from them."""

import numpy as np

from xdcc.base.fit_data import FitData
from xdcc.chain import order_free_training
from xdcc.chain.order_free_training import draw_revealed, train_order_free

PARAMS = {
    "objective": "multilabel:logistic",
    "max_depth": 3,
    "eta": 0.3,
    "subsample": 0.8,
    "max_bin": 64,
    "seed": 0,
    "nthread": 1,
}
RNG = np.random.default_rng(0)
COPIES = np.repeat(RNG.integers(0, 2, (200, 1)), 3, axis=1).astype(np.float32)
FOLDS = np.arange(200) % 4
EVEN = np.zeros((200, 3), np.float32)


def _train(Y, weight=None, folds=FOLDS, **settings):
    settings = {"n_estimators": 40, "n_masks": 6, **settings}
    data = FitData(EVEN[: len(Y)], Y, weight)
    return train_order_free(data, folds[: len(Y)], PARAMS, **settings)


def test_sizes_are_drawn_so_that_every_step_of_an_order_counts_alike() -> None:
    revealed = draw_revealed(60_000, 4, np.random.default_rng(0))
    share = np.bincount(revealed.sum(axis=1), minlength=4) / len(revealed)
    expected = 1 / np.array([4, 3, 2, 1])
    np.testing.assert_allclose(share, expected / expected.sum(), atol=0.01)
    np.testing.assert_allclose(revealed.mean(axis=0), revealed.mean(), atol=0.01)
    assert not draw_revealed(10, 1, np.random.default_rng(0)).any()


def test_a_label_is_learned_from_the_others() -> None:
    trained = _train(COPIES)
    joined = np.full((2, 6), np.nan, np.float32)
    joined[:, :3] = 0
    joined[:, 3] = [0, 1]
    z = trained.booster.inplace_predict(joined, base_margin=EVEN[:2], predict_type="margin")
    assert (z[0, 1:] < -2).all()
    assert (z[1, 1:] > 2).all()
    assert trained.losses[0] > 0.69  # nothing is known
    assert min(trained.losses) < 0.35  # but with one label all are
    assert len(trained.of_folds) == 4


def test_noise_is_not_learned() -> None:
    trained = _train(RNG.integers(0, 2, (200, 3)).astype(np.float32))
    assert trained.booster is None
    assert trained.of_folds == [None] * 4
    assert len(trained.losses) == order_free_training.PATIENCE + 1


def test_unknown_labels_are_not_there() -> None:
    Y = COPIES.copy()
    Y[:, 2] = np.where(np.arange(200) % 2, np.nan, Y[:, 2])
    Y[:, 1] = np.nan
    trained = _train(Y)
    joined = np.full((2, 6), np.nan, np.float32)
    joined[:, :3] = 0
    joined[:, 3] = [0, 1]
    z = trained.booster.inplace_predict(joined, base_margin=EVEN[:2], predict_type="margin")
    np.testing.assert_array_equal(z[:, 1], 0)
    assert z[0, 2] < -1 < 1 < z[1, 2]


def test_rows_of_weight_zero_do_not_count() -> None:
    Y = COPIES.copy()
    Y[100:, 1] = 1 - Y[100:, 1]
    trained = _train(Y, weight=np.repeat(np.array([1, 0], np.float32), 100))
    joined = np.full((1, 6), np.nan, np.float32)
    joined[:, :3], joined[:, 3] = 0, 1
    z = trained.booster.inplace_predict(joined, base_margin=EVEN[:1], predict_type="margin")
    assert z[0, 1] > 1


def test_losses_are_those_of_rows_that_were_left_out(monkeypatch) -> None:
    """With enough rows, one fold suffices."""
    monkeypatch.setattr(order_free_training, "ENOUGH_ROWS", 40)
    Y = COPIES.copy()
    Y[FOLDS == 0, 1:] = 1 - Y[FOLDS == 0, 1:]
    trained = _train(Y)
    assert len(trained.of_folds) == 1
    assert trained.losses[1] > trained.losses[0]
    assert trained.booster is None


def test_rows_are_repeated_less_often_where_there_are_many(monkeypatch) -> None:
    drawn = []

    def counted(n_rows, n_labels, rng):
        drawn.append(n_rows)
        return draw_revealed(n_rows, n_labels, rng)

    monkeypatch.setattr(order_free_training, "draw_revealed", counted)
    _train(COPIES, n_estimators=1)
    monkeypatch.setattr(order_free_training, "_MOST_BYTES", 64 * 200 * 3 * 2 + 5)
    _train(COPIES, n_estimators=1)
    monkeypatch.setattr(order_free_training, "_MOST_BYTES", 1)
    _train(COPIES, n_estimators=1)
    monkeypatch.undo()
    monkeypatch.setattr(order_free_training, "draw_revealed", counted)
    monkeypatch.setattr(order_free_training, "_MOST_ROWS", 700)
    _train(COPIES, n_estimators=1)
    assert drawn == [1200, 400, 200, 600]
