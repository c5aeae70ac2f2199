"""The reports, `docs/results/index.md` and the README say what the kept records and the speed
benchmark's `RESULTS.md` say.
"""

import re
from pathlib import Path
from statistics import geometric_mean, mean

import pytest
from matplotlib.figure import Figure

from experiments import PAPERS, STUDIES
from experiments import ROOT as REPOSITORY
from experiments.__main__ import main
from experiments.engine.result_table import load_finished
from experiments.report.claims import judge
from experiments.report.comparisons import ranks
from experiments.report.tables import published_scores, section_scores

SPEED = REPOSITORY / "experiments" / "speed" / "RESULTS.md"
RESULTS_PAGE = REPOSITORY / "docs" / "results" / "index.md"
ORDER_FREE_PAGE = REPOSITORY / "docs" / "guide" / "order_free.md"
RULES_PAGE = REPOSITORY / "docs" / "guide" / "decision_rules.md"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report that the records give now; its figures are drawn, but not rendered."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda _, file, **__: Path(file).write_text("<svg/>"))
        assert main(["report", "--all", "--output", str(folder)]) == 0
    files = [folder / "README.md", *folder.rglob("REPORT.md")]
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def table_after(text, heading):
    """Rows of the first table after a heading: name → column → cell."""
    lines = iter(text[text.index(heading) :].splitlines())
    rows = [next(line for line in lines if line.startswith("|"))]
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(line)
    header, _, *body = [
        [cell.replace("*", "").strip() for cell in row.strip("|").split("|")] for row in rows
    ]
    return {name: dict(zip(header[1:], cells, strict=True)) for name, *cells in body}


def test_report_is_made_from_the_records(report):
    kept = REPOSITORY / "experiments"
    files = {str(f.relative_to(kept)) for at in (PAPERS, STUDIES) for f in at.glob("*/REPORT.md")}
    assert files | {"README.md"} == report.keys()
    for name, text in report.items():
        assert (kept / name).read_text() == text, name


def test_the_results_page_shows_numbers_of_the_report(report):
    shown = table_after(RESULTS_PAGE.read_text(), "XDCC's Table 3")
    xdcc = report["papers/xdcc-2020/REPORT.md"]
    made = table_after(xdcc, "## Table 3: average ranks\n\nPublished ranks are over ten")
    columns = {
        "example-based F1": "example-based F1 (11 data sets)",
        "subset accuracy": "subset accuracy (11 data sets)",
        "Hamming accuracy": "Hamming accuracy (11 data sets)",
        "training time": "training time (CPU s) (11 data sets)",
    }
    assert len(shown) == 6
    for line, cells in shown.items():
        assert cells == {name: made[line][title] for name, title in columns.items()}, line


def test_which_method_shows_means_of_the_records():
    """Over the data sets that all methods but CatBoost have results of, as in its figure."""
    text = (REPOSITORY / "docs" / "start" / "which_method.md").read_text()
    shown = table_after(text, "Means over 13 benchmark data sets")
    _, results = load_finished("all-methods")
    assert len(shown) == 14
    for column, (measure, average, form) in {
        "example-based F1": ("example_f1", mean, ".3f"),
        "subset accuracy": ("subset_accuracy", mean, ".3f"),
        "Hamming accuracy": ("hamming_accuracy", mean, ".3f"),
        "training (CPU s)": ("train_time", geometric_mean, ".1f"),
    }.items():
        scores = results.scores(measure).drop(columns="CatBoost").dropna()
        assert len(scores) == 13
        made = {line: format(average(scores[line]), form) for line in shown}
        assert {line: cells[column] for line, cells in shown.items()} == made


def speed_table():
    """The least CPU seconds of ours, and how many times as long each of the others takes."""
    table = table_after(SPEED.read_text(), "## Dense input")
    return {line: numbers(cells) for line, cells in table.items()}


def numbers(cells):
    """The factor at the end of each cell, else the number at its beginning."""
    found = [
        re.search(r"([\d.]+)×$", cell) or re.match(r"([\d.]+)", cell) for cell in cells.values()
    ]
    return [number[1] for number in found if number]


def test_the_results_page_shows_numbers_of_the_speed_benchmark():
    text = RESULTS_PAGE.read_text()
    shown = table_after(text, "## Speed")
    made = speed_table()
    assert shown.keys() == made.keys()
    for line, cells in shown.items():
        for short, full in zip(numbers(cells), made[line], strict=True):
            last_digit = 10.0 ** -len(short.partition(".")[2])
            assert float(short) == pytest.approx(float(full), abs=last_digit / 2), (line, short)


def test_the_results_page_shows_times_of_boomer(report):
    shown = table_after(RESULTS_PAGE.read_text(), "### Other methods")
    made = table_after(report["papers/boomer-2020/REPORT.md"], "## Compared with mlrl-boomer")
    for cells in made.values():
        del cells["rank (6 data sets)"]
    assert shown == made


def test_the_readme_shows_means_of_the_speed_benchmark():
    text = " ".join((REPOSITORY / "README.md").read_text().split())
    sentence = (
        r"stock XGBoost takes (\d+) times as long with its multi-output trees and (\d+) times with "
        r"a booster per label, LightGBM (\d+) times, CatBoost (\d+) times"
    )
    made = speed_table()["geometric mean"]
    assert list(re.search(sentence, text).groups()) == [f"{float(cell):.0f}" for cell in made]
    worst = re.search(r"synthetic-200000x100x100, \w+: ([\d.]+)×", SPEED.read_text())[1]
    assert "100 labels stock XGBoost takes about twice as long" in text
    assert round(float(worst)) == 2


def test_the_overview_has_a_command_for_each_report(report):
    again = table_after(report["README.md"], "## Running the experiments again")
    assert {row.partition("]")[0] + "/REPORT.md" for row in again} == {
        f"[{name}" for name in report if name.endswith("REPORT.md")
    }
    for cells in again.values():
        assert re.fullmatch(r"`python -m experiments run ([a-z0-9-]+-full ?)+`", cells["command"])
        assert float(cells["CPU hours"]) > 0


def test_the_page_of_decision_rules_shows_the_league(report):
    shown = table_after(RULES_PAGE.read_text(), "## Comparison with other methods")
    made, league = {}, report["studies/league/REPORT.md"]
    for measure in ("subset accuracy", "example-based F1", "Hamming accuracy"):
        title = measure[0].upper() + measure[1:]
        for line, cells in table_after(league, f"## {title} on all data sets").items():
            made.setdefault(line.partition(" for ")[0], {})[measure] = cells["rank (13 data sets)"]
    assert shown == made


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_screen_shows_the_league(report, page):
    text = " ".join((REPOSITORY / page).read_text().split())
    league, said = report["studies/league/REPORT.md"], []
    for measure in ("example-based F1", "Hamming accuracy", "subset accuracy"):
        title = measure[0].upper() + measure[1:]
        table = table_after(league, f"## {title} on all data sets")
        ranked = {line: float(cells["rank (13 data sets)"]) for line, cells in table.items()}
        first = min(ranked, key=ranked.get)
        assert first.startswith("MultiLabelClassifier")
        said.append(f"{ranked[first]:.2f} in {measure}")
        assert re.search(rf"\b(first|1st) of {len(ranked)}\b", text)
    assert f"verage rank {', '.join(said)}" in text


def test_the_page_of_decision_rules_says_what_the_rule_leaves_of_a_lead(report):
    study, leads = report["studies/fair-league/REPORT.md"], []
    for column in ("decision rule", "own reading at 0.5"):
        for measure in ("Subset accuracy", "Example-based F1"):
            shares = table_after(study, f"## {measure}: trees, mixture and decision rule")
            lead = float(shares["single booster"][column]) - float(shares["LightGBM"][column])
            leads.append(f"{lead:.3f}".replace("0.", ".", 1))
    rule_accuracy, rule_f1, own_accuracy, own_f1 = leads
    sentence = (
        f"ahead of LightGBM by {rule_accuracy} in subset accuracy and {rule_f1} in F1; at 0.5 the "
        f"differences are {own_accuracy} and {own_f1}."
    )
    assert sentence in " ".join(RULES_PAGE.read_text().split())


FAIR = {
    measure: f"## {measure}: trees, mixture and decision rule"
    for measure in ("Example-based F1", "Subset accuracy", "Hamming accuracy")
}


def test_the_page_of_decision_rules_shows_the_fair_league(report):
    study = report["studies/fair-league/REPORT.md"]
    shares = {measure: table_after(study, title) for measure, title in FAIR.items()}
    shown = table_after(RULES_PAGE.read_text(), "Means with the rule for all:")
    assert {line.strip("`") for line in shown} == shares["Subset accuracy"].keys()
    for line, cells in shown.items():
        means = [shares[measure][line.strip("`")]["decision rule"] for measure in FAIR]
        assert list(cells.values()) == means


def test_the_page_of_decision_rules_shows_the_ranks_of_the_fair_league():
    config, results = load_finished("fair-league")
    said = {}
    for section in config.report:
        if section.kind == "scores" and section.title.endswith("on all data sets"):
            [measure] = section.measures
            scores = section_scores(results, section, measure).dropna()
            ranked = ranks(scores, higher_is_better=measure != "log_loss").mean()
            assert ranked.idxmin().startswith(("MultiLabelClassifier", "mixture"))
            said[measure] = f"({ranked.min():.2f})"
    words = " ".join(RULES_PAGE.read_text().split())
    assert (
        f"in F1 {said['example_f1']}, Hamming accuracy {said['hamming_accuracy']}, subset accuracy "
        f"{said['subset_accuracy']} and log-loss {said['log_loss']}."
    ) in words


def test_pages_say_who_is_first_on_random_divisions():
    config, results = load_finished("fair-league-divisions")
    for section in config.report:
        [measure] = section.measures
        scores = section_scores(results, section, measure).dropna()
        assert scores.shape == (5, 13)
        ranked = ranks(scores, higher_is_better=measure != "log_loss").mean()
        assert ranked.idxmin().startswith(("MultiLabelClassifier", "mixture"))
        assert all(judge(claim, results).word == "undecided" for claim in section.claims)
    rules, found = (" ".join(page.read_text().split()) for page in (RULES_PAGE, RESULTS_PAGE))
    assert "has the best average rank of thirteen lines in all four measures" in rules
    assert "On random divisions of five small data sets it has the best average rank" in found


def test_the_page_of_decision_rules_says_what_more_time_buys():
    config, results = load_finished("time-budget")
    losses = section_scores(results, config.report[0], "log_loss").dropna()
    ratios = losses.div(losses["without a budget"], axis=0)
    assert len(ratios) == 12
    budgets = ["5 seconds", "30 seconds", "120 seconds", "600 seconds"]
    means = [f"{geometric_mean(ratios[name]):.3f}".lstrip("0") for name in budgets]
    words = " ".join(RULES_PAGE.read_text().split())
    assert f"was {', '.join(means[:-1])} and {means[-1]} times as high" in words
    flags, emotions = (f"{ratios[budgets[-1]][name]:.3f}" for name in ("flags", "emotions"))
    assert f"{flags.lstrip('0')} times as high on flags and {emotions} times on emotions" in words


def test_pages_say_what_catboost_costs():
    _, results = load_finished("fair-league")
    ratios = {}
    for measure in ("train_time", "log_loss"):
        scores = results.scores(measure)[
            ["CatBoost, folds", "MultiLabelClassifier for F1"]
        ].dropna()
        assert len(scores) == 11
        ratios[measure] = geometric_mean(scores.iloc[:, 0] / scores.iloc[:, 1])
    longer, worse = f"{ratios['train_time']:.1f}", f"{ratios['log_loss']:.2f}"
    readme, page = (
        " ".join(path.read_text().split()) for path in (REPOSITORY / "README.md", RULES_PAGE)
    )
    assert f"against CatBoost, which trains {longer} times as long, in F1 only" in readme
    assert f"takes {longer} times the training time, and its log-loss is {worse} times as" in page


def test_the_readme_shows_the_fair_league(report):
    study = report["studies/fair-league/REPORT.md"]
    text = (REPOSITORY / "README.md").read_text()
    shown, made = table_after(text, "Means over"), {}
    names = {"Example-based F1": "F1", "Subset accuracy": "subset accuracy"}
    for title, name in {**names, "Hamming accuracy": "Hamming accuracy"}.items():
        heading = f"## {title}: shares with more peers"
        for line, cells in table_after(study, heading).items():
            own = cells["own reading at 0.5"] or "–"
            made.setdefault(line, {}).update({name: cells["decision rule"], f"{name} at 0.5": own})
    assert {line.strip("`"): cells for line, cells in shown.items()} == made
    first = {}
    for measure, of_line in {m: table_after(study, title) for m, title in FAIR.items()}.items():
        ranked = sorted(of_line, key=lambda line: of_line[line]["decision rule"], reverse=True)
        assert ranked[0] == "MultiLabelClassifier"
        peers = [line for line in ranked if line not in ("MultiLabelClassifier", "single booster")]
        first[measure] = [of_line[line]["decision rule"] for line in (ranked[0], peers[0])]
    words = " ".join(text.split())
    f1, accuracy, hamming = first.values()
    assert (
        f"F1 {f1[0]} (best peer {f1[1]}), subset accuracy {accuracy[0]} ({accuracy[1]}), Hamming "
        f"accuracy {hamming[0]} ({hamming[1]})"
    ) in words


def test_the_page_of_the_order_free_chain_shows_its_likelihood(report):
    shown = table_after(ORDER_FREE_PAGE.read_text(), "Log-loss of labelsets")
    study = report["studies/order-free/REPORT.md"]
    assert shown == table_after(study, "## Log-loss of whole labelsets")


def test_what_the_page_of_decision_rules_says_of_data_that_had_not_been_seen():
    seen = ["emotions", "enron", "flags", "birds", "medical"]
    found = []
    for measure in ("subset-accuracy", "example-f1", "hamming-accuracy"):
        config, results = load_finished(f"league-{measure}")
        section = config.report[0]
        scores = section_scores(results, section, section.measures[0]).dropna()
        ranked = ranks(scores.drop(index=seen), higher_is_better=True).mean()
        assert ranked.idxmin() == ranked.index[0]
        found.append(f"{ranked.iloc[0]:.2f}")
    text = RULES_PAGE.read_text()
    assert f"({', '.join(found)} on eight)" in text


def test_the_results_page_says_how_many_numbers_of_lacovac_are_reached():
    config, results = load_finished("lacovac-2016-as-published")
    near = [
        round(abs(results.scores(measure).loc[dataset, line] - value), 3) <= 0.04
        for section in config.report
        for measure in section.measures
        if measure != "log_loss"
        for (dataset, line), value in published_scores(config, section.published, measure).items()
    ]
    text = RESULTS_PAGE.read_text()
    assert f"| {sum(near)} of {len(near)} within .04 | [report]" in text


def test_the_overview_has_a_row_for_every_aim(report):
    aims = table_after(report["README.md"], "## Recommended methods")
    assert list(aims) == [
        "subset accuracy",
        "example-based F1",
        "Hamming accuracy",
        "log-loss",
        "an interpretable model",
        "the shortest time",
        "many labels",
        "joint probabilities",
    ]
    for aim in aims.values():
        assert re.fullmatch(r"\d+ data sets, \d+ methods", aim["over"])
        assert re.search(r"± 0\.\d{3}$|\(.* to .*\)$", aim["mean"])
        assert all(aim.values()), "what is not known says so"
    league = table_after(report["studies/league/REPORT.md"], "## Example-based F1 on all")
    best, scores = next(iter(league.items()))
    shown = aims["example-based F1"]
    assert shown["method"] == best
    values = [float(score) for name, score in scores.items() if not name.startswith("rank")]
    assert shown["mean"].startswith(f"example-based F1: {mean(values):.3f}")


def test_pages_say_nothing_stronger_than_the_verdicts(report):
    """What the results page says of a claim is what became of it."""
    verdicts = {}
    for line in report["README.md"].partition("## Claims and their tests")[2].splitlines():
        cells = [cell.replace("*", "").strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ["):
            verdicts.setdefault(cells[1], set()).add(cells[3])
    text = " ".join(RESULTS_PAGE.read_text().split())
    for said, claim, word in (
        ("*XDCC cumulated is best in F1*: undecided", "XDCC cumulated is best in", "undecided"),
        ("surpasses CC in subset accuracy on yeast is refuted", "on yeast XDCC", "refuted"),
        ("*ML-XGB trains fastest*: confirmed", "ML-XGB trains fastest of the", "confirmed"),
        ("faster than CC is undecided", "the whole chain trains", "undecided"),
        ("on all data sets*: undecided", "the dynamic chain is superior", "undecided"),
        ("lower micro F1 on enron is refuted", "on enron active label tests", "refuted"),
        (
            "in subset 0/1 loss*: confirmed",
            "better than single heads in subset 0/1 loss",
            "confirmed",
        ),
        ("ranks best (1.12 of four) is undecided", "heads rank best in subset", "undecided"),
        (
            "mean rank of its trees*: refuted",
            "LaCovaC has the best mean rank of the paper",
            "refuted",
        ),
        ("on most data sets*: confirmed", "MC is better than SC in exact match", "confirmed"),
        (
            "better than BR and CC on *all* of them is undecided",
            "MC is better than BR",
            "undecided",
        ),
        ("is confirmed in subset accuracy, in F1", "each method without sketches", "confirmed"),
    ):
        assert said in text
        found = [words for name, words in verdicts.items() if claim in f"{name} "]
        if claim.startswith("better than single"):
            found = [w for name, w in verdicts.items() if name.endswith(claim)]
        assert found, claim
        assert set.union(*found) == {word}, claim
