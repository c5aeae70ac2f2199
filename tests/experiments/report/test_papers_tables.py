"""Tables that only some papers have: tests over folds, BBC-CV, statistics of the data."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from experiments.engine.configuration import Section, load_configuration
from experiments.engine.measures import measure_labels
from experiments.engine.plan import groups
from experiments.engine.records import RecordStore
from experiments.engine.results import Results, load_results
from experiments.engine.runner import Runner
from experiments.engine.task import pack_counts, unpack_counts
from experiments.report.significance import SEED, bbc_cv_table, fold_tests
from experiments.report.tables import statistics_table
from xdcc.decision.bbc_cv import bbc_cv

EMPTY = pd.DataFrame(columns=["data"])


def test_readings_of_measures_by_hand():
    Y, Y_pred = np.array([[1, 0, 0], [0, 0, 0]]), np.array([[1, 0, 0], [1, 0, 0]])
    found = measure_labels(Y, Y_pred)
    assert found["example_f1_zero"] == 0.5
    # precision 1/2, 1, 1 and recall 1, 1, 1, where 0/0 counts as 1
    assert found["macro_f1_of_means"] == pytest.approx(2 * (5 / 6) / (11 / 6))
    assert measure_labels(np.ones((1, 1)), np.zeros((1, 1)))["macro_f1_of_means"] == 0


def of_folds(**values):
    """Results with a row per data set, line and fold."""
    rows = [
        {"data": data, "line": line, "fold": fold, "seed": 0, "hamming_loss": value}
        for line, of_line in values.items()
        for data, of_data in of_line.items()
        for fold, value in enumerate(of_data)
    ]
    return Results(pd.DataFrame(rows), [], EMPTY, 0, EMPTY)


def test_paired_tests_over_folds():
    a = {"clear": [0.1, 0.2, 0.3], "close": [0.1, 0.5, 0.3], "same": [0.1, 0.2, 0.3]}
    b = {"clear": [0.2, 0.31, 0.42], "close": [0.2, 0.3, 0.3], "same": [0.1, 0.2, 0.3]}
    assert scipy.stats.ttest_rel(a["clear"], b["clear"]).pvalue < 0.05
    assert scipy.stats.ttest_rel(a["close"], b["close"]).pvalue > 0.05
    section = Section(kind="fold_tests", title="", measures=["hamming_loss"], lines=["A", "B", "C"])
    results = of_folds(A=a, B=b, C={"clear": [0.0, 0.1, 0.2]})
    head, _, *rows = fold_tests(results, section, "hamming_loss").splitlines()
    assert head == "| A: Hamming loss | win/tie/loss | wins | losses |"
    assert rows == ["| B | 1/2/0 | clear | - |", "| C | 0/0/1 | - | clear |"]
    unknown = fold_tests(results, section, "cll_loss").splitlines()
    assert unknown[2:] == ["| B | 0/0/0 | - | - |", "| C | 0/0/0 | - | - |"]


def test_counts_of_rows_are_kept_as_they_are():
    counts = np.random.default_rng(0).integers(400, size=1000)
    np.testing.assert_array_equal(unpack_counts(pack_counts(counts)), counts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


def test_bbc_cv_of_all_combinations(write_config, folder):
    entry = {
        "method": "boomer",
        "params": {"n_rules": 60},
        "grid": {"l2": [1.0, 4.0], "learning_rate": [0.3]},
        "readings": ["labels", "50 rules"],
        "tuned_for": "subset_loss",
    }
    section = {"kind": "bbc_cv", "title": "", "measures": ["subset_loss", "hamming_loss"]}
    config = load_configuration(
        write_config(
            evaluation={"type": "k_fold", "folds": 3},
            tuning=None,
            row_losses=True,
            methods={"rules": entry},
            report=[section],
        )
    )
    store = RecordStore(folder)
    Runner(store).run(groups(config))
    results = load_results(config, store)
    assert len(results.table) == 3 * 2 * 2
    line = bbc_cv_table(config, results, config.report[0]).splitlines()[2]
    wrong = []
    for combination in range(4):
        rows = [k for k in range(12) if k % 4 == combination]
        readings = [results.records[k]["result"]["readings"] for k in rows]
        name = results.table["reading"][rows[0]]
        wrong.append(np.concatenate([unpack_counts(each[name]["wrong"]) for each in readings]))
        losses = (wrong[-1] > 0).mean()
        sizes = [results.records[k]["result"]["rows"]["test"] for k in rows]
        expected = np.average(results.table["subset_loss"][rows], weights=sizes)
        assert losses == pytest.approx(expected)
    chosen = bbc_cv((np.column_stack(wrong) > 0).astype(float), random_state=SEED)
    low, high = (100 * bound for bound in chosen.interval)
    assert f"| {100 * chosen.estimate:.2f}, {low:.2f} to {high:.2f} |" in line
    names = [f"l2 {l2}, {reading}" for l2 in (1.0, 4.0) for reading in ("labels", "50 rules")]
    assert line.endswith(f"| {names[chosen.best]} |")


def test_statistics_of_data(write_config, folder):
    config = load_configuration(
        write_config(
            datasets=["digits-tiny", "digits"],
            evaluation={"type": "whole"},
            tuning=None,
            methods={"data": {"method": "data_statistics"}},
            report=[
                {"kind": "statistics", "title": "", "measures": ["n_rows", "n_labels", "density"]}
            ],
        )
    )
    store = RecordStore(folder)
    Runner(store).run(groups(config))
    table = statistics_table(config, load_results(config, store), config.report[0]).splitlines()
    assert table[0] == "|  | instances | labels | density |"
    assert table[3] == "| digits | 1797 | 7 | 0.4139 |"
