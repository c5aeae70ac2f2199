"""Drift: shares counted by hand, distances and losses by SciPy and scikit-learn, and bad input."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import sparse, stats
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.explain import Drift, drift, plot_drift
from xdcc.linear import LogisticLabels


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with a number, a category and a number that is always missing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.integers(0, 10, 60).astype(float),
            "colour": pd.Categorical(rng.choice(["red", "blue"], 60)),
            "empty": np.full(60, np.nan),
        }
    )
    Y = pd.DataFrame({"big": X["size"] > 4, "blue": X["colour"] == "blue"}).astype(float)
    X.loc[:5, "size"] = np.nan
    return X, Y


@pytest.fixture(scope="module")
def model(table: tuple[pd.DataFrame, pd.DataFrame]) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(n_estimators=5, n_jobs=1).fit(*table)


def _new_rows() -> pd.DataFrame:
    colours = [*["pink"] * 3, None, *["red"] * 16]
    return pd.DataFrame(
        {
            "empty": [1.0, *[np.nan] * 19],
            "colour": pd.Categorical(colours),
            "size": [-1.0, 10.0, 9.5, np.nan, *[5.0] * 16],
        }
    )


def _compare(model: Any, *arguments: Any, **options: Any) -> Drift:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown categories, by the prediction
        return drift(model, *arguments, **options)


def test_shares_of_features(table: Any, model: Any) -> None:
    found = _compare(model, table[0], _new_rows()).features
    assert found.index.tolist() == ["size", "colour", "empty"]
    np.testing.assert_allclose(found["missing"], [0.1, 0, 1])
    np.testing.assert_allclose(found["missing_new"], [0.05, 0.05, 0.95])
    np.testing.assert_allclose(found["unseen"], [0.15, 0.15, 0.05])


@pytest.mark.parametrize("unknown", ["separate", "missing"])
def test_one_warning_for_unknown_categories(table: Any, unknown: str) -> None:
    """The prediction warns; what the model takes the categories for does not matter."""
    model = MultiLabelXGBClassifier(n_estimators=2, n_jobs=1, unknown_categories=unknown)
    model.fit(*table)
    with pytest.warns(UserWarning, match="pink") as warned:
        found = drift(model, table[0], _new_rows())
    assert len(warned) == 1
    assert found.features.loc["colour", "unseen"] == pytest.approx(0.15)


def test_no_drift_between_equal_rows(table: Any, model: Any) -> None:
    X, Y = table
    found = drift(model, X, X, Y=Y, Y_new=Y)
    assert (found.features["unseen"] == 0).all()
    assert found.features["missing"].equals(found.features["missing_new"].rename("missing"))
    assert (found.labels["distance"] == 0).all()
    assert found.labels["log_loss"].equals(found.labels["log_loss_new"].rename("log_loss"))


def test_labels_against_other_libraries(table: Any, model: Any) -> None:
    X, Y = table
    old, new = X[:40], X[40:]
    Y_new = Y[40:].copy()
    Y_new.iloc[:7, 1] = np.nan
    found = drift(model, old, new, Y_new=Y_new[["blue", "big"]]).labels
    assert found.columns.tolist() == ["proba", "proba_new", "distance", "log_loss_new"]
    assert found.index.tolist() == ["big", "blue"]
    for j, name in enumerate(found.index):
        proba, proba_new = (model.predict_proba(rows)[:, j] for rows in (old, new))
        known = Y_new[name].notna().to_numpy()
        expected = [
            proba.mean(),
            proba_new.mean(),
            stats.ks_2samp(proba, proba_new).statistic,
            log_loss(Y_new[name][known], proba_new[known], labels=[0, 1]),
        ]
        np.testing.assert_allclose(found.loc[name], expected, rtol=1e-6)


def test_label_without_known_entries(table: Any, model: Any) -> None:
    X, Y = table
    found = drift(model, X, X, Y=Y.assign(blue=np.nan)).labels
    assert np.isnan(found.loc["blue", "log_loss"])
    assert np.isfinite(found.loc["big", "log_loss"])


def test_sparse_rows_as_dense_ones() -> None:
    rng = np.random.default_rng(1)
    X = sparse.random_array((80, 5), density=0.4, rng=rng, format="csr", dtype=np.float32)
    Y = (X.toarray()[:, :2] > 0.3).astype(int)
    model = LogisticLabels(cv=2, n_jobs=1).fit(X, Y)
    new = X[40:] * np.float32(1.5)
    found = drift(model, X[:40], new)
    dense = drift(model, X[:40].toarray(), new.toarray())
    pd.testing.assert_frame_equal(found.features, dense.features)
    assert found.features["unseen"].max() > 0
    assert (found.features[["missing", "missing_new"]] == 0).all(axis=None)


def test_binary_target() -> None:
    X = np.arange(40.0).reshape(-1, 1)
    model = MultiLabelXGBClassifier(n_estimators=3, n_jobs=1).fit(X, np.repeat(["no", "yes"], 20))
    found = drift(model, X[:20], X[20:], Y=["no"] * 20, Y_new=["yes"] * 20)
    assert found.features.loc["f0", "unseen"] == 1
    assert found.labels["distance"].item() == 1
    assert found.labels["log_loss_new"].item() < np.log(2)


def test_plot_shows_the_largest_first(table: Any, model: Any) -> None:
    found = _compare(model, table[0], _new_rows())
    axes = plot_drift(found)
    names = [tick.get_text() for tick in axes[0].get_yticklabels()]
    assert names == ["size", "colour", "empty"]
    widths = [bar.get_width() for bar in axes[0].patches]
    np.testing.assert_allclose(widths, [0.15, 0.15, 0.05, 0.05, 0.05, 0.05], atol=1e-12)
    distances = found.labels["distance"].sort_values(ascending=False)
    names = [tick.get_text() for tick in axes[1].get_yticklabels()]
    assert names == [f"{name} ({d:.2f})" for name, d in distances.items()]
    assert len(plot_drift(found, n_bars=1)[1].get_yticklabels()) == 1


def test_plot_without_drift(table: Any, model: Any) -> None:
    given = Figure().subplots(1, 2)
    axes = plot_drift(drift(model, table[0], table[0]), axes=given)
    assert axes[0].get_title() == "Features: no drift"
    assert axes.tolist() == given.tolist()


def test_bad_input(table: Any, model: Any) -> None:
    X, Y = table
    dummy = DummyClassifier().fit(np.ones((2, 1)), [[0, 1], [1, 0]])
    with pytest.raises(TypeError, match="estimators of xdcc with predict_proba, not DummyClass"):
        drift(dummy, np.ones((2, 1)), np.ones((2, 1)))
    with pytest.raises(NotFittedError):
        drift(MultiLabelXGBClassifier(), X, X)
    with pytest.raises(ValueError, match="size"):
        drift(model, X, X.drop(columns="size"))
    with pytest.raises(ValueError, match="Y_new has 1 labels, but in fit there were 2"):
        drift(model, X, X, Y_new=np.ones((60, 1)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        drift(model, X, X, Y=Y[:-1])
    with pytest.raises(ValueError, match="n_bars"):
        plot_drift(drift(model, X, X), n_bars=0)
    with pytest.raises(ValueError, match="axes has 1 entries; it must have two"):
        plot_drift(drift(model, X, X), axes=[Figure().subplots()])
