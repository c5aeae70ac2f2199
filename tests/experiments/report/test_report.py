"""Reports: numbers, marks, verdicts, and files; and tables that only some papers have."""

import re
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib import pyplot as plt

from experiments import PAPERS
from experiments.engine.configuration import Section, find_configuration, load_configuration
from experiments.engine.measures import measure_labels
from experiments.engine.plan import groups, installed_groups
from experiments.engine.records import RecordStore
from experiments.engine.registry import Method
from experiments.engine.result_table import read_table, write_table
from experiments.engine.results import Results, load_results
from experiments.engine.runner import Runner
from experiments.engine.task import pack_counts, unpack_counts
from experiments.engine.traces import trace
from experiments.report.document import write_report
from experiments.report.figures import FIGURES
from experiments.report.latex import escaped, latex_of
from experiments.report.plots import curves, quality_and_time
from experiments.report.significance import SEED, bbc_cv_table, fold_tests
from experiments.report.tables import (
    average_ranks,
    published_ranks,
    published_scores,
    ranked_over,
    ranks_table,
    read_published,
    scores_table,
    shares_table,
    statistics_table,
)
from xdcc.decision.bbc_cv import bbc_cv


@pytest.fixture
def tiny_store(tiny_run):
    return RecordStore(tiny_run.records)


@pytest.fixture
def tiny():
    return load_configuration(find_configuration("tiny-quick"))


def made_up(values, measure="example_f1"):
    """Results with one row per data set and line."""
    rows = [
        {"data": data, "line": line, "fold": 0, "seed": 0, measure: value, "train_time": 1.0}
        for line, of_line in values.items()
        for data, value in of_line.items()
    ]
    empty = pd.DataFrame(columns=["data"])
    return Results(pd.DataFrame(rows), empty, 0)


RESULTS = made_up(
    {
        "A": {"flags": 0.7, "yeast": 0.6, "scene": 0.5},
        "B": {"flags": 0.6, "yeast": 0.6, "scene": 0.4},
        "C": {"flags": 0.5, "yeast": 0.7, "scene": 0.3},
    }
)


def test_shares_are_means_over_the_data_sets_that_all_have():
    results = made_up(
        {"A": {"flags": 0.7, "yeast": 0.6}, "B": {"flags": 0.6, "yeast": 0.7, "scene": 0.1}}
    )
    section = Section(
        kind="shares", title="", measures=["example_f1"], columns=["at 0.5", "rule"],
        cells={"ours": ["A", "B"], "peer": [None, "B"]},
    )  # fmt: skip
    assert shares_table(results, section, "example_f1").splitlines() == [
        "| example-based F1, mean over 2 data sets | at 0.5 | rule |",
        "| --- | ---: | ---: |",
        "| ours | 0.650 | 0.650 |",
        "| peer |  | 0.650 |",
    ]


def test_results_of_tiny(tiny, tiny_store):
    results = load_results(tiny, tiny_store)
    assert results.n_missing == 0
    assert results.failures.empty
    assert len(results.table) == 2 * len(tiny.methods)
    records = {
        (key["method"], key["fold"], repr(key["params"])): record
        for record in tiny_store.read_all()
        if (key := record["key"])["inner"] is None
    }
    for row in results.table.itertuples():
        record = records[tiny.methods[row.line].method, row.fold, repr(row.params)]
        assert record["result"]["readings"][row.rule]["example_f1"] == row.example_f1
        assert record["result"]["rows"] == {"train": row.train_rows, "test": row.test_rows}
        assert record["run"]["versions"]["numpy"] in results.versions["numpy"]
        assert row.tuning_time > 0
    means = results.scores("example_f1")
    assert list(means.columns) == list(tiny.methods)
    br = results.table[results.table["line"] == "BR"]
    assert means.loc["digits-tiny", "BR"] == pytest.approx(br["example_f1"].mean())


def test_unfinished_results(tiny, tmp_path):
    results = load_results(tiny, RecordStore(tmp_path))
    assert results.n_missing == 2 * len(tiny.methods)
    assert results.table.empty
    markdown, _ = write_report(
        [(tiny, load_results(tiny, RecordStore(tmp_path)))], tmp_path / "out", "x"
    )
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
    markdown, _ = write_report([(tiny, load_results(tiny, tiny_store))], tmp_path, "x")
    assert "BR is missing" not in markdown.read_text()


def test_method_that_is_not_installed(tiny, without_xgboost_br, tmp_path):
    assert load_results(tiny, RecordStore(tmp_path)).n_missing == 2 * (len(tiny.methods) - 1)
    markdown, _ = write_report([(tiny, load_results(tiny, RecordStore(tmp_path)))], tmp_path, "x")
    assert "BR is missing: peer is not installed." in markdown.read_text()


def test_method_that_is_left_out_is_not_missing(write_config, without_xgboost_br, tmp_path):
    left_out = {"datasets": ["digits-tiny"], "methods": ["BR"], "skip": True, "reason": "none"}
    config = load_configuration(write_config(exceptions=[left_out]))
    markdown, _ = write_report(
        [(config, load_results(config, RecordStore(tmp_path)))], tmp_path, "x"
    )
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


def test_which_data_sets_ranks_are_over():
    section = Section(kind="ranks", title="", measures=["example_f1"])
    assert ranked_over(RESULTS, section) == []
    values = {"A": {"flags": 0.7, "yeast": 0.6}, "B": {"flags": 0.6}}
    assert ranked_over(made_up(values), section) == [
        "Ranks in example-based F1 are over the data sets that all lines have: flags."
    ]


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
            published="rdt-2018",
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


def test_stages_and_cumulative_times(tiny, tiny_store):
    results = load_results(tiny, tiny_store)
    k = list(results.table["line"]).index("XDCC cumulated")
    traces = results.table["traces"][k]
    assert len(traces["example_f1"]) == 2
    assert traces["example_f1"][-1] == results.table["example_f1"][k]
    first, second = traces["train_time"]
    assert 0 < first < second
    assert second == pytest.approx(results.table["train_time"][k])


def test_the_time_of_a_stage_is_its_share_of_the_wall_time():
    run = {"train_time": 6.0, "training": {"round_seconds": [1.0, 3.0]}}
    record = {"result": {"readings": {"own": {}}}, "run": run}
    assert trace(record, "own", "train_time").tolist() == [1.5, 6.0]


def test_every_named_figure_exists():
    annotation = Section.model_fields["draw"].annotation
    assert set(re.findall(r"'(\w+)'", str(annotation))) == set(FIGURES)


def test_the_guide_lists_the_kinds_of_sections():
    page = (PAPERS.parents[1] / "docs" / "guide" / "experiments.md").read_text(encoding="utf-8")
    kinds = get_args(Section.model_fields["kind"].annotation)
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.M)) == sorted(kinds)
    assert len(kinds) == 10


def test_report_of_tiny(tiny, tiny_store, tmp_path):
    markdown, page = write_report([(tiny, load_results(tiny, tiny_store))], tmp_path, "tiny")
    text, html = markdown.read_text(), page.read_text()
    assert text.startswith("# A tiny comparison")
    assert "missing" not in text
    assert "Failed" not in text
    for section in tiny.report:
        assert f"## {section.title}" in text
    figures = re.findall(r"\(figures/([^)]+)\.svg\)", text)
    assert len(figures) == 6
    assert "**Undecided**: XDCC cumulated is best in F1. A paired t-test" in text
    for name in figures:
        ElementTree.parse(tmp_path / "figures" / f"{name}.svg")
    assert html.count("<svg") == len(figures)
    assert html.count("<table>") == len(re.findall(r"^\| ---", text, re.M))
    assert "<img" not in html
    names = [name for name in re.findall(r' id="([^"]+)"', html) if name[0] not in "BDO"]
    assert len({*names}) == len(names) > 0, "all names but those of letters are of one figure"
    assert "href=" not in re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    # the same records give the same report
    write_report([(tiny, load_results(tiny, tiny_store))], tmp_path / "again", "tiny")
    assert (tmp_path / "again" / "tiny.html").read_text() == html


def test_report_in_latex(tiny, tiny_store, tmp_path):
    markdown, _, latex = write_report(
        [(tiny, load_results(tiny, tiny_store))], tmp_path, "tiny", latex=True
    )
    text, document = markdown.read_text(), latex.read_text()
    assert latex.name == "tiny.tex"
    for section in tiny.report:
        assert f"\\subsection*{{{escaped(section.title)}}}" in document
    for environment in ("tabular", "adjustbox", "center", "document"):
        opened = document.count(f"\\begin{{{environment}}}")
        assert opened == document.count(f"\\end{{{environment}}}") > 0
    assert document.count(r"\begin{tabular}") == len(re.findall(r"^\| ---", text, re.M))
    figures = re.findall(r"\\includegraphics\[max width=\\textwidth\]\{([^}]+)\}", document)
    assert figures == [f"figures/{n}.pdf" for n in re.findall(r"\(figures/([^)]+)\.svg\)", text)]
    for figure in figures:
        assert (tmp_path / figure).read_bytes().startswith(b"%PDF")
    # Every row has as many cells as its table has columns.
    for columns, rows in re.findall(
        r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", document, re.DOTALL
    ):
        for row in re.findall(r"^.*\\\\$", rows, re.M):
            assert len(re.split(r"(?<!\\) & ", row)) == len(columns)


def test_text_in_latex():
    latex = latex_of(
        "# Costs & 5 % of $x_1$\n\nSee `a_b` and **both** *kinds*:\n[all](x.md#y).\n\n"
        "- one\n- two\n\n"
        "| a | b |\n| --- | ---: |\n| p &#124; q | 1 ▲ |\n|  | χ² |\n"
    )
    body = latex[latex.index(r"\begin{document}") : latex.index(r"\end{document}")]
    assert [line for line in body.splitlines() if line] == [
        r"\begin{document}",
        r"\section*{Costs \& 5 \% of \$x\_1\$}",
        r"See \texttt{a\_b} and \textbf{both} \emph{kinds}:",
        r"\href{x.md\#y}{all}.",
        r"\begin{itemize}",
        r"\item one",
        r"\item two",
        r"\end{itemize}",
        r"\begin{center}",
        r"\begin{adjustbox}{max width=\textwidth}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a & b \\",
        r"\midrule",
        r"p $|$ q & 1 $\blacktriangle$ \\",
        r" & $\chi$$^2$ \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{adjustbox}",
        r"\end{center}",
    ]


def test_sequences_are_those_with_all_label_tests():
    rights = ([0.0, 0.0], [0.8, 0.4], [0.6, 0.6])
    table = pd.DataFrame(
        {
            "data": "yeast",
            "line": "LM 10",
            "params": [{"sigma": 0.5}, {"sigma": 1}, {"sigma": 1}],
            "traces": [{"right": right, "positive": [0.5, 1.0]} for right in rights],
        }
    )
    empty = pd.DataFrame(columns=["data"])
    section = Section(kind="figure", draw="rdt_sequences", title="", measures=["micro_f1"])
    figure = FIGURES["rdt_sequences"](Results(table, empty, 0), section)
    right, positive = (ax.images[0].get_array() for ax in figure.axes[:2])
    assert np.allclose(right.ravel(), [0.7, 0.5])
    assert np.allclose(positive.ravel(), [0.5, 1.0])
    plt.close(figure)


def test_curve_over_a_parameter():
    table = pd.DataFrame(
        {
            "data": "yeast",
            "line": "A",
            "fold": [0, 0, 1],
            "seed": 0,
            "params": [{"x": 1}, {"x": 0}, {"x": 1}],
            "micro_f1": [0.4, 0.1, 0.6],
        }
    )
    empty = pd.DataFrame(columns=["data"])
    section = Section(kind="curve", x="x", title="", measures=["micro_f1"])
    figure = curves(Results(table, empty, 0), section)
    (line,) = figure.axes[0].lines
    assert line.get_xydata().tolist() == [[1, 0.5]], "0 has one fold of two"
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
    markdown, _ = write_report([(config, load_results(config, store))], tmp_path, "x")
    assert "digits-tiny, BR, fold 0, {}: every trial failed" in markdown.read_text()


@pytest.mark.parametrize("paper", sorted(f.parent.name for f in PAPERS.glob("*/published.csv")))
def test_published_files(paper):
    rows = read_published(paper)
    assert list(rows.columns) == ["source", "table", "measure", "dataset", "method", "value"]
    assert rows["value"].notna().all()
    assert rows["source"].nunique() == 1


def test_quality_and_time_fills_the_markers_of_undominated_methods():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.6, 12)
    good = base + rng.uniform(0.1, 0.2, 12)
    quality = pd.DataFrame({"cheap": base, "good": good, "costly": base + 0.01})
    seconds = pd.DataFrame({"cheap": 0.1, "good": 1.0, "costly": 10.0}, index=quality.index)
    figure = quality_and_time(quality, seconds, "example_f1", "training")
    numbers = {text.get_text(): text.get_color() for text in figure.axes[0].texts[1:]}
    assert numbers == {"1": "white", "2": "black", "3": "white"}  # good, costly, cheap
    names = figure.axes[0].texts[0].get_text().replace("\u2007", " ").replace("\u2002", " ")
    assert names == " 1 good\n 2 costly\n 3 cheap"
    plt.close(figure)


EMPTY = pd.DataFrame(columns=["data"])


def test_decision_rules_of_measures_by_hand():
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
    return Results(pd.DataFrame(rows), EMPTY, 0)


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
        "rules": ["labels", "50 rules"],
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
    write_table(folder / "small.csv", config, load_results(config, store))
    results = read_table(folder / "small.csv", config)
    assert len(results.table) == 3 * 2 * 2
    line = bbc_cv_table(config, results, config.report[0]).splitlines()[2]
    wrong = []
    for combination in range(4):
        rows = [k for k in range(12) if k % 4 == combination]
        wrong.append(np.concatenate([results.table["traces"][k]["wrong"] for k in rows]))
        losses = (wrong[-1] > 0).mean()
        expected = np.average(
            results.table["subset_loss"][rows], weights=results.table["test_rows"][rows]
        )
        assert losses == pytest.approx(expected)
    chosen = bbc_cv((np.column_stack(wrong) > 0).astype(float), random_state=SEED)
    low, high = (100 * bound for bound in chosen.interval)
    assert f"| {100 * chosen.estimate:.2f}, {low:.2f} to {high:.2f} |" in line
    names = [f"l2 {l2}, {rule}" for l2 in (1.0, 4.0) for rule in ("labels", "50 rules")]
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
