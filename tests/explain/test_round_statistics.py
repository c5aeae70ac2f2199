"""Round statistics, compared with numbers by hand and with counting row by row."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from xdcc.chain import DynamicChainClassifier
from xdcc.explain import round_statistics


@pytest.fixture
def fixed() -> DynamicChainClassifier:
    """A chain whose probabilities are .9, .2, .6 in every row: its order is a, c, b."""
    frame = pd.DataFrame([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], columns=list("abc"))
    chain = DynamicChainClassifier(
        base_score=[0.9, 0.2, 0.6],
        learning_rate=0.0,
        n_estimators=1,
        propagate="in_sample",
        chain_length=None,
    )
    return chain.fit(np.arange(4.0).reshape(-1, 1), frame)


def test_by_hand(fixed: DynamicChainClassifier) -> None:
    Y = [[1, 0, np.nan], [1, 1, 1], [0, 0, 0]]
    statistics = round_statistics(fixed, [[0.0], [1.0], [2.0]], Y)
    assert statistics.n_samples == 3
    assert statistics.label_names == ["a", "b", "c"]
    np.testing.assert_array_equal(statistics.positive, [[3, 0, 0], [0, 0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(statistics.negative, [[0, 0, 0], [0, 0, 0], [0, 3, 0]])
    np.testing.assert_array_equal(statistics.positive_right, [[2, 0, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(statistics.positive_wrong, [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(statistics.negative_right, [[0, 0, 0], [0, 0, 0], [0, 2, 0]])
    np.testing.assert_array_equal(statistics.negative_wrong, [[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    expected = pd.DataFrame(
        {
            "round": [1, 2, 3],
            "positive": [3, 3, 0],
            "negative": [0, 0, 3],
            "positive_fraction": [0.5, 0.5, 0.0],
            "negative_fraction": [0.0, 0.0, 1.0],
        }
    )
    pd.testing.assert_frame_equal(statistics.by_round(), expected)


def test_table(fixed: DynamicChainClassifier) -> None:
    table = round_statistics(fixed, [[0.0], [1.0]], [[1, 0, 0], [0, 0, 0]]).to_frame()
    assert len(table) == 9
    row = table[(table["round"] == 1) & (table["label"] == "a")].iloc[0].to_dict()
    assert row == {
        "round": 1,
        "label": "a",
        "positive": 2,
        "negative": 0,
        "positive_share": 1.0,
        "negative_share": 0.0,
        "positive_right": 1,
        "negative_right": 0,
        "positive_wrong": 1,
        "negative_wrong": 0,
    }
    assert table.loc[(table["round"] == 3) & (table["label"] == "b"), "negative_share"].item() == 1


def test_fraction_without_positives_is_nan(data: Any) -> None:
    chain = DynamicChainClassifier(
        base_score=0.1,
        learning_rate=0.0,
        n_estimators=1,
        propagate="in_sample",
        chain_length=None,
    ).fit(*data)
    by_round = round_statistics(chain, data[0]).by_round()
    assert by_round["positive_fraction"].isna().all()
    np.testing.assert_allclose(by_round["negative_fraction"], 0.25)


@pytest.mark.parametrize(
    "params", [{}, {"candidates": "all"}, {"labels_per_round": 3}, {"end_label": True}]
)
def test_equals_counting_row_by_row(params: Any, data: Any, fit: Any) -> None:
    X, Y = data
    chain = fit(**params)
    order = chain.chain_order(X)
    counts = np.zeros((6, chain.n_rounds_, 4), dtype=int)
    for i, (labels, values) in enumerate(zip(order.labels, order.values, strict=True)):
        for column, (label, value) in enumerate(zip(labels, values, strict=True)):
            if label >= 0:
                said = int(value >= 0.5)
                at = (column // order.labels_per_round, label)
                counts[0 if said else 3][at] += 1
                counts[(1 if said else 4) + (Y[i, label] != said)][at] += 1
    statistics = round_statistics(chain, X, Y)
    for sign, of_sign in (("positive", counts[:3]), ("negative", counts[3:])):
        for name, expected in zip((sign, f"{sign}_right", f"{sign}_wrong"), of_sign, strict=True):
            np.testing.assert_array_equal(getattr(statistics, name), expected, err_msg=name)


def test_without_truth(data: Any, fit: Any) -> None:
    statistics = round_statistics(fit(), data[0])
    assert statistics.positive_right is None
    assert list(statistics.to_frame().columns) == [
        "round",
        "label",
        "positive",
        "negative",
        "positive_share",
        "negative_share",
    ]
    assert (statistics.positive + statistics.negative).sum() == 100 * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: Y[:, :3], "Y has 3 labels, but in fit there were 4"),
        (lambda Y: Y[:7], "inconsistent numbers of samples"),
        (lambda Y: Y + 1, "Y holds 2"),
    ],
)
def test_invalid_truth(change: Any, message: str, data: Any, fit: Any) -> None:
    with pytest.raises(ValueError, match=message):
        round_statistics(fit(), data[0], change(data[1]))
