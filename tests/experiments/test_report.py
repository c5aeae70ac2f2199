"""Reports: numbers, marks, verdicts, and files."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from experiments.configuration import CONFIGS, PUBLISHED, Claim, Section, load_configuration
from experiments.plan import groups, installed_groups
from experiments.records import RecordStore
from experiments.registry import Method
from experiments.report.claims import judge
from experiments.report.document import write_report
from experiments.report.figures import FIGURES
from experiments.report.plots import curves, pareto_front, stage_values
from experiments.report.published import published_ranks, published_scores, read_published
from experiments.report.significance import against_first
from experiments.report.tables import average_ranks, ranks_table, scores_table
from experiments.results import Results, load_results
from experiments.runner import Runner


@pytest.fixture(scope="module")
def tiny_store(tmp_path_factory):
    store = RecordStore(tmp_path_factory.mktemp("results"))
    Runner(store).run(groups(load_configuration(CONFIGS / "tiny.yaml")))
    return store


@pytest.fixture
def tiny():
    return load_configuration(CONFIGS / "tiny.yaml")


def made_up(values, measure="example_f1"):
    """Results with one row per data set and line."""
    rows = [
        {"data": data, "line": line, "fold": 0, "seed": 0, measure: value, "train_time": 1.0}
        for line, of_line in values.items()
        for data, value in of_line.items()
    ]
    empty = pd.DataFrame(columns=["data"])
    return Results(pd.DataFrame(rows), [], empty, 0, empty)


RESULTS = made_up(
    {
        "A": {"flags": 0.7, "yeast": 0.6, "scene": 0.5},
        "B": {"flags": 0.6, "yeast": 0.6, "scene": 0.4},
        "C": {"flags": 0.5, "yeast": 0.7, "scene": 0.3},
    }
)


def test_results_of_tiny(tiny, tiny_store):
    results = load_results(tiny, tiny_store)
    assert results.n_missing == 0
    assert results.failures.empty
    assert len(results.table) == len(results.records) == 2 * len(tiny.methods)
    for row, record in zip(results.table.itertuples(), results.records, strict=True):
        assert record["key"]["params"] == row.params
        assert record["result"]["readings"][row.reading]["example_f1"] == row.example_f1
        assert 0 <= row.validation <= 1
    means = results.scores("example_f1")
    assert list(means.columns) == list(tiny.methods)
    br = results.table[results.table["line"] == "BR"]
    assert means.loc["digits-tiny", "BR"] == pytest.approx(br["example_f1"].mean())


def test_unfinished_results(tiny, tmp_path):
    results = load_results(tiny, RecordStore(tmp_path))
    assert results.n_missing == 2 * len(tiny.methods)
    assert results.table.empty
    markdown, _ = write_report([tiny], RecordStore(tmp_path), tmp_path / "out", "x")
    assert "**8 results are still missing**" in markdown.read_text()
    assert "There are no results yet." in markdown.read_text()


@pytest.fixture
def without_xgboost_br(monkeypatch):
    """Make the method of the line BR one that is not installed."""
    monkeypatch.setattr(Method, "missing", lambda self: ["peer"] if self.name == "br" else [])


def test_records_of_a_method_that_is_not_installed(tiny, tiny_store, without_xgboost_br, tmp_path):
    assert {group.line for group in installed_groups(tiny)} == set(tiny.methods) - {"BR"}
    results = load_results(tiny, tiny_store)
    assert "BR" in set(results.table["line"])
    assert results.n_missing == 0
    markdown, _ = write_report([tiny], tiny_store, tmp_path, "x")
    assert "BR is missing" not in markdown.read_text()


def test_method_that_is_not_installed(tiny, without_xgboost_br, tmp_path):
    assert load_results(tiny, RecordStore(tmp_path)).n_missing == 2 * (len(tiny.methods) - 1)
    markdown, _ = write_report([tiny], RecordStore(tmp_path), tmp_path, "x")
    assert "BR is missing: peer is not installed." in markdown.read_text()


def test_method_that_is_left_out_is_not_missing(write_config, without_xgboost_br, tmp_path):
    left_out = {"datasets": ["digits-tiny"], "methods": ["BR"], "skip": True, "reason": "none"}
    config = load_configuration(write_config(exceptions=[left_out]))
    markdown, _ = write_report([config], RecordStore(tmp_path), tmp_path, "x")
    assert "BR" in config.methods
    assert "BR is missing" not in markdown.read_text()


def test_average_ranks_share_ties():
    ranks, n_datasets = average_ranks(RESULTS.scores("example_f1"), "example_f1")
    assert n_datasets == 3
    assert dict(ranks) == pytest.approx({"A": 4.5 / 3, "B": 6.5 / 3, "C": 7 / 3})


def test_average_ranks_leave_out_unfinished_data_sets():
    scores = RESULTS.scores("example_f1")
    scores.loc["yeast", "B"] = np.nan
    ranks, n_datasets = average_ranks(scores, "example_f1")
    assert n_datasets == 2
    assert dict(ranks) == {"A": 1, "B": 2, "C": 3}


@pytest.fixture
def rdt_like(write_config):
    """A configuration with two lines of Table 2 of the RDT-DCC paper."""
    section = {
        "kind": "scores",
        "title": "Table 2",
        "measures": ["subset_accuracy"],
        "published": {"table": "2"},
    }
    methods = {
        "ours": {"method": "rdt", "published": "DCC LM"},
        "new": {"method": "br"},
    }
    return load_configuration(
        write_config(
            published="rdt-dcc-2018",
            datasets=["flags", "emotions"],
            methods=methods,
            report=[section],
        )
    )


def test_ours_beside_the_published_number(rdt_like):
    """Published: 0.1959 on flags, 0.2799 on emotions."""
    values = {"ours": {"flags": 0.25, "emotions": 0.29}, "new": {"flags": 0.2, "emotions": 0.5}}
    results = made_up(values, "subset_accuracy")
    table = scores_table(rdt_like, results, rdt_like.report[0], "subset_accuracy").splitlines()
    assert table[0] == "| subset accuracy | flags | emotions | rank (2 data sets) |"
    assert table[2] == "| ours | **0.250** (0.196) ▲ | 0.290 (0.280) | 1.50 |"
    assert table[3] == "| new | 0.200 | **0.500** | 1.50 |"


def test_published_numbers_of_another_scale_and_name(write_config):
    config = load_configuration(
        write_config(
            published="boomer-2020",
            published_datasets={"langlog": "llog"},
            datasets=["langlog"],
            methods={"label-wise": {"method": "br", "published": "l.w.-log single"}},
            report=[
                {
                    "kind": "scores",
                    "title": "x",
                    "measures": ["subset_loss"],
                    "published": {
                        "table": "1",
                        "measures": {"subset_loss": "subset_zero_one_loss"},
                        "scale": 0.01,
                    },
                }
            ],
        )
    )
    published = config.report[0].published
    found = published_scores(config, published, "subset_loss")
    rows = read_published("boomer-2020")
    row = rows[
        (rows.dataset == "llog")
        & (rows.method == "l.w.-log single")
        & (rows.measure == "subset_zero_one_loss")
    ]
    assert found == {("langlog", "label-wise"): pytest.approx(row.value.item() / 100)}
    ranks = published_ranks(config, published, "subset_loss")
    assert set(ranks) == {"label-wise"}


def test_ranks_table(rdt_like):
    section = Section(kind="ranks", title="", measures=["example_f1"], lines=["A", "C"])
    table = ranks_table(rdt_like, RESULTS, section).splitlines()
    assert table[0] == "|  | example-based F1 (3 data sets) |"
    assert table[2:] == ["| A | 1.33 |", "| C | 1.67 |"]


def test_the_first_against_the_others():
    section = Section(
        kind="against_first", title="", measures=["example_f1"], lines=["A", "B", "C"]
    )
    head, _, *rows = against_first(RESULTS, section, "example_f1").splitlines()
    assert head == "| A: example-based F1 | better | equal | worse | p | p, Holm |"
    assert rows == ["| B | 2 | 1 | 0 | 0.5 | 1 |", "| C | 2 | 0 | 1 | 0.5 | 1 |"]


def claim(**keys):
    return Claim(text="it is so", measure="example_f1", **keys)


@pytest.mark.parametrize(
    ("keys", "holds"),
    [
        ({"order": ["A"], "first_of": ["B", "C"]}, True),
        ({"order": ["B"], "first_of": ["A", "C"]}, False),
        ({"order": ["A", "B", "C"]}, True),
        ({"order": ["A", "C", "B"]}, False),
        ({"order": ["A", "B"], "by": "mean"}, True),
        ({"order": ["C", "B"], "by": "mean"}, False),
        ({"order": ["A", "B"], "by": "wins"}, True),
        ({"order": ["A", "C"], "by": "wins"}, False),
        ({"order": ["A", "C"], "by": "wins", "wins": 0.6}, True),
    ],
)
def test_claim(keys, holds):
    verdict = judge(claim(**keys), RESULTS)
    assert verdict.holds is holds
    assert verdict.sentence.startswith("**Confirmed**" if holds else "**Refuted**")
    assert "it is so" in verdict.sentence
    assert "(3 data sets)" in verdict.sentence


def test_claim_on_some_data_sets():
    verdict = judge(claim(order=["C", "A"], by="mean", datasets=["yeast"]), RESULTS)
    assert verdict.holds
    assert "(1 data set)" in verdict.sentence


def test_claim_shows_the_numbers():
    ranks = judge(claim(order=["A", "C"]), RESULTS).sentence
    assert "Average rank in example-based F1: A 1.33, C 1.67" in ranks
    wins = judge(claim(order=["A", "C"], by="wins"), RESULTS).sentence
    assert "A is at least as good as C on 2 of 3" in wins


def test_claim_on_a_loss():
    losses = made_up({"A": {"flags": 0.1}, "B": {"flags": 0.2}}, "hamming_loss")
    for by in ("rank", "mean", "wins"):
        of_loss = Claim(text="x", measure="hamming_loss", order=["A", "B"], by=by)
        assert judge(of_loss, losses).holds, by


def test_claim_on_the_mean_of_ranks():
    results = made_up({"A": {"flags": 0.1, "yeast": 0.2}, "B": {"flags": 0.2, "yeast": 0.3}})
    results.table["hamming_loss"] = [0.3, 0.2, 0.1, 0.1]
    results.table["subset_loss"] = [0.3, 0.1, 0.1, 0.2]
    of_ranks = claim(order=["B", "A"], more_measures=["hamming_loss", "subset_loss"])
    verdict = judge(of_ranks, results)
    # B is first in F1 and in Hamming loss, and on one of two data sets in the last: 1, 1, 1.5
    assert verdict.holds
    names = "example-based F1 and Hamming loss and subset loss"
    assert f"Average rank in {names}: B 1.17, A 1.83" in verdict.sentence
    with pytest.raises(ValueError, match="more_measures needs by: rank"):
        claim(order=["B", "A"], more_measures=["hamming_loss"], by="mean")
    # only data sets with all measures count; without one the claim is open, not refuted
    results.table.loc[results.table["data"] == "yeast", "subset_loss"] = np.nan
    assert "B 1.00, A 2.00 (1 data set)" in judge(of_ranks, results).sentence
    results.table["subset_loss"] = np.nan
    assert judge(of_ranks, results).holds is None


def test_claim_without_results_is_open():
    verdict = judge(claim(order=["A", "D"]), RESULTS)
    assert verdict.holds is None
    assert verdict.sentence.startswith("Open: it is so.")


def test_pareto_front():
    cost = pd.Series({"slow": 9.0, "cheap": 1.0, "bad": 2.0, "good": 3.0, "twin": 3.0})
    quality = pd.Series({"slow": 0.7, "cheap": 0.5, "bad": 0.4, "good": 0.8, "twin": 0.6})
    assert pareto_front(cost, quality) == ["cheap", "good"]


def test_stages_and_cumulative_times(tiny, tiny_store):
    results = load_results(tiny, tiny_store)
    k = list(results.table["line"]).index("XDCC cumulated")
    record = results.records[k]
    f1 = stage_values(record, "cumulated", "example_f1")
    assert len(f1) == 2
    assert f1[-1] == results.table["example_f1"][k]
    first, second = stage_values(record, "cumulated", "train_time")
    assert 0 < first < second
    rounds = record["run"]["training"]["round_seconds"]
    assert second == pytest.approx(record["run"]["train_time"])
    assert first / second == pytest.approx(rounds[0] / sum(rounds))


def test_every_named_figure_exists():
    annotation = Section.model_fields["draw"].annotation
    assert set(re.findall(r"'(\w+)'", str(annotation))) == set(FIGURES)


def test_report_of_tiny(tiny, tiny_store, tmp_path):
    markdown, page = write_report([tiny], tiny_store, tmp_path, "tiny")
    text, html = markdown.read_text(), page.read_text()
    assert text.startswith("# A tiny comparison")
    assert "missing" not in text
    assert "Failed" not in text
    for section in tiny.report:
        assert f"## {section.title}" in text
    figures = re.findall(r"\(figures/([^)]+)\.svg\)", text)
    assert len(figures) == 5
    for name in figures:
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000
        ElementTree.parse(tmp_path / "figures" / f"{name}.svg")
    assert html.count("<svg") == len(figures)
    assert html.count("<table>") == text.count("| --- |")
    assert "<img" not in html
    assert "href=" not in re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    # the same records give the same report
    write_report([tiny], tiny_store, tmp_path / "again", "tiny")
    assert (tmp_path / "again" / "tiny.html").read_text() == html


def test_sequences_are_those_with_all_label_tests():
    table = pd.DataFrame(
        {"data": "yeast", "line": "LM 10", "params": [{"sigma": 0.5}, {"sigma": 1}, {"sigma": 1}]}
    )
    rights = ([0.0, 0.0], [0.8, 0.4], [0.6, 0.6])
    records = [
        {"result": {"details": {"right": right, "positive": [0.5, 1.0]}}} for right in rights
    ]
    empty = pd.DataFrame(columns=["data"])
    section = Section(kind="figure", draw="rdt_sequences", title="", measures=["micro_f1"])
    figure = FIGURES["rdt_sequences"](Results(table, records, empty, 0, empty), section)
    right, positive = (ax.images[0].get_array() for ax in figure.axes[:2])
    assert np.allclose(right.ravel(), [0.7, 0.5])
    assert np.allclose(positive.ravel(), [0.5, 1.0])
    plt.close(figure)


def test_curve_over_a_parameter():
    table = pd.DataFrame(
        {
            "data": "yeast",
            "line": "A",
            "params": [{"x": 1}, {"x": 0}, {"x": 1}],
            "micro_f1": [0.4, 0.1, 0.6],
        }
    )
    empty = pd.DataFrame(columns=["data"])
    section = Section(kind="curve", x="x", title="", measures=["micro_f1"])
    figure = curves(Results(table, [{}] * 3, empty, 0, empty), section)
    (line,) = figure.axes[0].lines
    assert line.get_xydata().tolist() == [[0, 0.1], [1, 0.5]]
    plt.close(figure)


def test_failures_stand_in_the_report(write_config, tmp_path):
    config = load_configuration(
        write_config(
            methods={"BR": {"method": "br", "grid": {"n_estimators": [-1, -2]}}},
            report=[{"kind": "scores", "title": "Scores", "measures": ["jaccard"]}],
        )
    )
    store = RecordStore(tmp_path / "records")
    Runner(store).run(groups(config))
    markdown, _ = write_report([config], store, tmp_path, "x")
    assert "digits-tiny, BR, fold 0, {}: every trial failed" in markdown.read_text()


@pytest.mark.parametrize("file", sorted(PUBLISHED.glob("*.csv")), ids=lambda file: file.stem)
def test_published_files(file):
    rows = read_published(file.stem)
    assert list(rows.columns) == ["source", "table", "measure", "dataset", "method", "value"]
    assert rows["value"].notna().all()
    assert set(rows["source"]) == {file.stem}
