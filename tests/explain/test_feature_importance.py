"""Feature importance against XGBoost's own scores."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from xdcc.chain import DynamicChainClassifier
from xdcc.explain import feature_importance

TYPES = ["gain", "weight", "total_gain", "cover", "total_cover"]


def _scores(boosters: list[Any], importance_type: str) -> dict[tuple[str, str], float]:
    """Of boosters together, from `get_score` of each; features f0 to f5, four labels."""
    total: dict[str, float] = {}
    weight: dict[str, float] = {}
    summed = f"total_{importance_type}" if importance_type in ("gain", "cover") else importance_type
    for booster in boosters:
        for scores, kind in ((total, summed), (weight, "weight")):
            for name, value in booster.get_score(importance_type=kind).items():
                scores[name] = scores.get(name, 0) + value
    if summed != importance_type:
        total = {name: value / weight[name] for name, value in total.items()}
    places = {name: int(name[1:]) for name in sorted(total, key=lambda name: int(name[1:]))}
    return {
        ("feature", name) if place < 6 else ("label", f"label_{place - 6}"): total[name]
        for name, place in places.items()
    }


def _read(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    return dict(
        zip(zip(table["kind"], table["name"], strict=True), table["importance"], strict=True)
    )


@pytest.mark.parametrize("importance_type", TYPES)
@pytest.mark.parametrize(
    "params",
    [{}, {"split_method": "maxGain"}, {"propagate": "cross_val", "cv": 2, "ensemble": True}],
)
def test_agrees_with_get_score(params: Any, importance_type: Any, fit: Any) -> None:
    chain = fit(**params)
    table = feature_importance(chain, importance_type)
    assert list(table.columns) == ["round", "kind", "name", "importance"]
    for number, boosters in enumerate(chain.boosters_, start=1):
        found = _read(table[table["round"] == number])
        expected = _scores(boosters, importance_type)
        assert list(found) == list(expected)
        np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5)
    assert "label" not in set(table.loc[table["round"] == 1, "kind"])
    assert "label" in set(table["kind"])


@pytest.mark.parametrize("importance_type", TYPES)
def test_all_rounds_together(importance_type: Any, fit: Any) -> None:
    chain = fit()
    table = feature_importance(chain, importance_type, aggregate=True)
    assert list(table.columns) == ["kind", "name", "importance"]
    expected = _scores([b for boosters in chain.boosters_ for b in boosters], importance_type)
    found = _read(table)
    assert list(found) == list(expected)
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5)


def test_a_feature_and_a_label_of_one_name_are_told_apart(data: Any) -> None:
    X, Y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e[0]", "propagated a"])
    labels = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    chain = DynamicChainClassifier(
        n_estimators=4, max_depth=3, n_jobs=1, propagate="in_sample", chain_length=None
    ).fit(frame, labels)
    table = feature_importance(chain, aggregate=True)
    kinds = table.groupby("name")["kind"].agg(set)
    assert kinds["a"] == {"feature", "label"}
    assert kinds["propagated a"] == {"feature"}
    assert not table.duplicated(["kind", "name"]).any()


def test_chain_without_any_split(data: Any) -> None:
    chain = DynamicChainClassifier(n_estimators=1, chain_length=2, gamma=1e9).fit(*data)
    for aggregate in (False, True):
        assert feature_importance(chain, aggregate=aggregate).empty


def test_unknown_type(fit: Any) -> None:
    with pytest.raises(ValueError, match="importance_type='shap': it has to be one of 'gain', 'w"):
        feature_importance(fit(), "shap")  # type: ignore[arg-type]
