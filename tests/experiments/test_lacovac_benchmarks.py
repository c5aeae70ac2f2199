"""LaCovaC's experiment: how data are divided, and the script on a small data set."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments import PAPERS
from experiments.benchmarks.lacovac_against_paper import (
    MEASURES,
    RANKED_FIRST,
    log_loss,
    report,
    run,
    tied_pcut,
)
from experiments.benchmarks.lacovac_data import folds, two_values, whole_file_order
from experiments.benchmarks.lacovac_methods import FORESTS, LEAVES, PAPER, TIES
from xdcc.data import load_dataset
from xdcc.lacovac import LaCovaCClassifier

ROW_ORDER = PAPERS / "lacovac-2016" / "row_order.json"
METHODS = [*RANKED_FIRST, "leaves of 5", *LEAVES, *TIES, *FORESTS]


def test_row_orders_are_permutations() -> None:
    orders = json.loads(ROW_ORDER.read_text())
    sizes = {"enron": 1702, "flags": 194, "genbase": 662, "medical": 978, "yeast": 2417}
    assert {name: len(order) for name, order in orders.items()} == sizes
    for order in orders.values():
        assert sorted(order) == [*range(len(order))]


@pytest.mark.usefixtures("flags_data")
def test_folds_are_blocks_of_the_whole_file() -> None:
    parts = list(folds("flags"))
    whole = load_dataset("flags")
    order = json.loads(ROW_ORDER.read_text())["flags"]
    np.testing.assert_array_equal(np.vstack([part.test.Y for part in parts]), whole.Y[order])
    assert [len(part.test) for part in parts] == [20, 20, 20, 20, 19, 19, 19, 19, 19, 19]
    assert all(len(part.train) + len(part.test) == 194 for part in parts)


@pytest.mark.data("birds")
def test_birds_are_in_the_order_of_the_stations() -> None:
    data = load_dataset("birds")
    order = whole_file_order("birds", data)
    assert sorted(order) == [*range(645)]
    column = data.feature_names.index("location")
    assert (np.diff(data.X[order, column]) >= 0).all()
    for station in np.unique(data.X[:, column]):
        of_station = order[data.X[order, column] == station]
        for part in (of_station[of_station < 322], of_station[of_station >= 322]):
            assert (np.diff(part) > 0).all()  # both parts keep their order


@pytest.mark.usefixtures("flags_data")
def test_features_are_cut_at_the_mean_of_the_training_part() -> None:
    fold = next(folds("flags"))
    train, test = two_values(fold.train, fold.test)
    mean = fold.train.X.mean(axis=0)
    np.testing.assert_array_equal(train, mean < fold.train.X)
    np.testing.assert_array_equal(test, mean < fold.test.X)


def test_log_loss_by_hand() -> None:
    Y = np.array([[1, 0], [1, 1]])
    # -log of 0.5, 1, 0 (at most log 2) and 0.8.
    expected = -(np.log(0.5) + 0 + np.log(1 / 2) + np.log(0.8)) / 4
    assert log_loss(Y, np.array([[0.5, 0], [0, 0.8]])) == pytest.approx(expected)


def test_pcut_with_ties_by_hand() -> None:
    Y_proba = np.array([[0.9, 0.4], [0.4, 0.4], [0.1, 0.2]])
    assert tied_pcut(Y_proba, 1 / 6) == 0.9
    assert tied_pcut(Y_proba, 2 / 6) == 0.4  # four entries are predicted, not two
    assert tied_pcut(Y_proba, 0) == 0.9


@pytest.mark.usefixtures("flags_data")
def test_smoothed_probabilities() -> None:
    fold = next(folds("flags"))
    found = PAPER["LaCovaC"].predict(fold.train, fold.test).smoothed
    train_X, test_X = two_values(fold.train, fold.test)
    tree = LaCovaCClassifier(min_samples_split=6, min_samples_leaf=1).fit(train_X, fold.train.Y)
    ends, leaves = tree.apply(train_X), tree.apply(test_X)
    for label in range(7):
        for row in range(0, len(test_X), 5):
            present = fold.train.Y[ends[:, label] == leaves[row, label], label]
            assert found[row, label] == pytest.approx((present.sum() + 1) / (len(present) + 2))


@pytest.mark.usefixtures("flags_data")
@pytest.mark.parametrize("name", PAPER)
def test_every_method_predicts(name: str) -> None:
    fold = next(folds("flags"))
    proba, labels, _ = PAPER[name].predict(fold.train, fold.test)
    assert proba.shape == labels.shape == fold.test.Y.shape
    assert ((proba == labels).all()) == (name in ("LP", "CC"))


@pytest.mark.usefixtures("flags_data")
def test_run_and_report(tmp_path) -> None:
    run(["flags"], METHODS, tmp_path)
    file = tmp_path / "results.jsonl"
    rows = pd.DataFrame(map(json.loads, file.read_text().splitlines()))
    assert rows.groupby("method").size().to_dict() == {
        name: 1 if name in FORESTS else 10 for name in METHODS
    }
    assert rows[list(MEASURES)].drop(columns="log_loss").stack().between(0, 1).all()
    size = file.stat().st_size
    run(["flags"], ["LaCovaC", "BR"], tmp_path)
    assert file.stat().st_size == size  # all there already

    published = [
        {"measure": measure, "dataset": data, "method": method, "value": 0.125 + k / 100}
        for measure in MEASURES
        for data in ("flags", "yeast", "scene")
        for k, method in enumerate(PAPER)
    ]
    pd.DataFrame(published).to_csv(tmp_path / "published.csv", index=False)
    # Friedman's test needs several data sets: the same numbers under another name.
    with file.open("a") as target:
        for row in rows.assign(data="scene").to_dict("records"):
            target.write(json.dumps(row) + "\n")
        # Not all folds of a method: it is left out.
        target.write(json.dumps(rows.iloc[0].to_dict() | {"data": "yeast"}) + "\n")
    report(tmp_path, tmp_path / "published.csv", tmp_path / "LACOVAC.md")
    text = (tmp_path / "LACOVAC.md").read_text()
    ours = rows[rows.method == "LaCovaC"].subset_accuracy.mean()
    assert f"{ours:.3f} (0.125)" in text
    assert "| yeast" not in text
    assert (tmp_path / "lacovac_ranks.png").exists()


def test_command_line(run_script) -> None:
    done = run_script("experiments.benchmarks.lacovac_against_paper", "run", "--help")
    assert done.returncode == 0, done.stderr
    assert "--methods" in done.stdout
