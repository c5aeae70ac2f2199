"""Summaries, requirements and reports of measurements, and what other pages say of them."""

import pytest

from experiments.engine.yaml_file import ConfigurationError, checked, read_yaml
from experiments.report.pages import PageError
from experiments.speed import candidates, report, requirements, suites, tables
from experiments.speed.result_table import Measurements, read_table
from experiments.speed.summary import Cell, Summary
from tests.experiments.speed.cases import HEADER, SPEED, dense, record, verdict


def test_the_best_of_the_repeats_and_ratios():
    ours, stock = (Cell("dense", "end to end", "yeast", 1, c) for c in ("ours", "lightgbm"))
    slow = ours._replace(candidate="catboost")
    summary = Summary(
        [
            record(ours, 0, cpu_seconds=0.5),
            record(ours, 1, cpu_seconds=0.25),
            record(stock, 0, cpu_seconds=3.0),
            record(slow, 0, "longer than", 60.0),
            record(slow, 1, "skipped", why="slow"),
        ]
    )
    best = summary.best(ours)
    assert (best.value, best.spread, best.repeats) == (0.25, 1.0, 2)
    assert summary.ratio(stock, ours).value == 12
    assert tables.ratio_text(summary.ratio(slow, ours)) == "> 240×"
    assert tables.ratio_text(summary.ratio(stock, slow)) == "< 0.050×"
    assert summary.ratio(slow, slow) is None
    assert summary.ratio(slow, ours, "wall_seconds") is None
    assert summary.ratio(stock, ours._replace(data="scene")) is None
    table = tables.cost_tables(summary, "dense", "ours")
    assert "| yeast | 0.250 (+100%) | 3.00 (once), 12.0× | > 60.0, > 240× |" in table
    assert "| geometric mean |  | 12.0× | > 240× |" in table
    assert "| geometric mean |  |  |  |" in tables.cost_tables(
        Summary([record(ours, 0, "longer than", 60.0), record(stock), record(slow)]),
        "dense",
        "ours",
    )


SEVEN_RATIOS = dict(zip(suites.GROUPS["seven"], (4, 16, 64, 16, 16, 16, 16), strict=True))
"""Their geometric mean is 16, and the least is 4."""


def seven(candidate, factor=1.0):
    for name, ratio in SEVEN_RATIOS.items():
        yield dense(name, "ours", cpu_seconds=0.5)
        yield dense(name, candidate, cpu_seconds=0.5 * ratio * factor)


def test_reached_and_not_reached():
    mean = "End to end, dense: geometric mean over stock `multi_output_tree`"
    reached = verdict(mean, seven("multi_output_tree"))
    assert reached.measured == pytest.approx(16)
    assert reached.state == "reached"
    below = verdict(mean, seven("multi_output_tree", 0.7))
    assert below.measured == pytest.approx(11.2)
    assert below.state == "NOT reached"
    assert below.worst[0].label == "emotions, multi_output_tree"
    assert below.worst[1].value == pytest.approx(2.8)

    every = "End to end, dense: every data set"
    assert verdict(every, seven("multi_output_tree")).state == "incomplete"
    both = [*seven("multi_output_tree", 2), *seven("one_output_per_tree")]
    assert verdict(every, both).state == "NOT reached"
    assert verdict(every, both).measured == 4
    both = [*seven("multi_output_tree", 2), *seven("one_output_per_tree", 1.25)]
    assert verdict(every, both).state == "reached"
    assert verdict("Rounds alone: geometric mean over stock `m", both).state == "not measured"

    text = tables.requirement_table([reached, below, verdict(every, seven("multi_output_tree"))])
    assert f"| {mean} | ≥ 12× | 16.0× | reached | emotions, multi_output_tree: 4.00× |" in text
    assert "| ≥ 12× | 11.2× | **NOT reached** | emotions, multi_output_tree: 2.80× |" in text
    assert "| incomplete (7 of 14) |" in text


def test_log_loss_has_to_be_near_on_both_sides():
    what = "Training log-loss"
    for factor, state in ((1.0009, "reached"), (1.0011, "NOT reached"), (0.9989, "NOT reached")):
        records = [
            dense(name, candidate, log_loss=0.5 * (factor if candidate == "ours" else 1))
            for name in suites.GROUPS["seven"]
            for candidate in ("ours", "multi_output_tree")
        ]
        judged = verdict(what, records)
        assert judged.state == state
        assert judged.measured == pytest.approx(100 * abs(factor - 1))


def test_methods_may_cost_half_more():
    def records(slowest):
        for name in suites.GROUPS["seven"]:
            for k, method in enumerate(suites.GROUPS["split methods"]):
                seconds = {0: 1.0, 5: slowest}.get(k, 1.2)
                yield record(Cell("methods", "rounds", name, 1, method), cpu_seconds=seconds)

    assert suites.GROUPS["split methods"][0] == "sumGain"
    assert verdict("Split methods over sumGain, rounds", records(1.5)).state == "reached"
    judged = verdict("Split methods over sumGain, rounds", records(1.6))
    assert (judged.state, judged.measured) == ("NOT reached", 1.6)
    assert judged.worst[0].label == "emotions, maxAbsG"


def test_two_threads_are_compared_in_wall_time():
    def records(*wall):
        for name in suites.SUITES["threads"].data:
            for threads, seconds in zip((1, 2), wall, strict=True):
                cell = Cell("threads", "rounds", name, threads, "ours")
                yield record(cell, cpu_seconds=9.0, wall_seconds=seconds)

    assert verdict("Two threads, wall time, rounds", records(1.7, 1.0)).state == "reached"
    assert verdict("Two threads, wall time, rounds", records(1.6, 1.0)).state == "NOT reached"


def test_chains_are_counted():
    def records(n_faster, limited=0):
        for k, name in enumerate(suites.GROUPS["table 2"]):
            cell = Cell("chain", "chain", name, 1, "classifier_chain")
            yield record(cell, cpu_seconds=2.0, chain_length=6)
            outcome = "longer than" if k >= 11 - limited else "measured"
            slow = {"cpu_seconds": 2.0, "chain_length": 1}
            yield record(cell._replace(candidate="binary_relevance"), **slow)
            for candidate in ("xdcc_short", "xdcc_full", "xdcc_sketched", "xdcc_auto"):
                faster = {"cpu_seconds": 1.0 if k < n_faster else 2.0, "chain_length": 6}
                result = faster if outcome == "measured" else {}
                yield record(cell._replace(candidate=candidate), 0, outcome, 9.0, **result)

    short, full, auto = "Chain of cardinality + 2", "Full chain:", "Out-of-fold chain, auto"
    assert verdict(short, records(11)).state == "reached"
    assert verdict(short, records(10)).state == "NOT reached"
    assert verdict(full, records(9, limited=2)).state == "reached"
    assert verdict(auto, records(9, limited=2)).state == "reached"
    assert verdict(auto, records(8)).state == "NOT reached"
    assert verdict("Full chain, one sketch dimension", records(9)).state == "reached"
    judged = verdict(full, records(8))
    assert (judged.state, judged.measured) == ("NOT reached", 8)
    assert judged.worst[0].label == "enron"


def test_a_bound_on_the_wrong_side_does_not_reach():
    records = list(seven("multi_output_tree", 10))
    records[0] = dense("emotions", "ours", outcome="longer than", time_limit=0.01)
    judged = verdict("End to end, dense: geometric mean over stock `multi", records)
    assert judged.measured > 12
    assert judged.state == "NOT reached"


def test_the_whole_report(tmp_path):
    records = [*seven("multi_output_tree"), *seven("lightgbm")]
    for record_ in records:
        record_["result"]["log_loss"] = 0.125
    for axis in ("rows", "features", "labels"):
        for k, name in enumerate(suites.GROUPS[f"growing {axis}"]):
            for candidate in ("ours", "multi_output_tree"):
                cell = Cell("scaling", "end to end", name, 1, candidate)
                bounded = {"max_cached_hist_node": 32} if k == 4 else {}
                records.append(record(cell, cpu_seconds=k + 1.0, parameters=bounded))
    slow = Cell("scaling", "end to end", "synthetic-5000x100x10", 1, "one_output_per_tree")
    records.append(record(slow, 0, "longer than", 60.0))
    larger = slow._replace(data="synthetic-5000x100x30")
    records.append(record(larger, 0, "skipped", why="it would take long"))
    for threads in (1, 2):
        cell = Cell("threads", "rounds", "bibtex", threads, "ours")
        records.append(record(cell, wall_seconds=3.5 / threads))
    for k, candidate in enumerate(suites.GROUPS["chains"]):
        cell = Cell("chain", "chain", "flags", 1, candidate)
        records.append(record(cell, cpu_seconds=k + 1.0, chain_length=6 + (k > 0)))
    peak = {"additions_l1": 10e9, "additions_l2": 8e9, "read_bytes": 20e9}
    work = {"additions": 2 * 10**9, "read_bytes": 10**9}
    cell = Cell("roofline", "rounds", "bibtex", 1, "ours")
    records.append(record(cell, cpu_seconds=0.5, peak=peak, work=work))

    (file,) = report.write_reports(Measurements(HEADER, records), tmp_path / "out")
    text = file.read_text()
    assert "## Requirements that are not met\n\n**Time to quality** is in" in text
    assert "| machine | cores | 1 |" in text
    assert "| yeast | 0.500 (+0%) | 32.0 (once), 64.0× | 32.0 (once), 64.0× |" in text
    assert "| yeast | 0.125000 | 0.125000 | 0.125000 |" in text
    assert "| bibtex | rounds | ours | 3.50 (once) | 1.75 (once) | 2.00× |" in text
    costs = " | ".join(f"{6 + (k > 0)} | {k + 1}.00 (once)" for k in range(6))
    assert f"| flags | {costs} | 4.00× | 2.00× | 1.33× | 1.20× |" in text
    assert "| bibtex | 2.000 | 1.000 | 0.500 | 4.00 | 40.0% | 10.0% |" in text
    assert "- synthetic-5000x100x30, one_output_per_tree: skipped, it would take long" in text
    assert "- synthetic-5000x100x1000, multi_output_tree: `max_cached_hist_node=32`" in text
    assert "## Split methods" not in text  # not measured
    assert "{" not in text
    assert "\n\n\n" not in text


def test_every_suite_stands_in_one_report():
    templates = [(SPEED / f"{name}_template.md").read_text() for name in report.REPORTS]
    placed = [suite for template in templates for suite in report.suites_of(template)]
    assert sorted(placed) == sorted(suites.SUITES)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("phase", ["rounds"], "phase: no such key. Did you mean phases"),
        ("phases", ["round"], "phases.0: Input should be 'end to end'"),
        ("threads", 2, "threads: Input should be a valid list"),
        ("data", ["sevn"], "data: unknown data set 'sevn'"),
    ],
)
def test_faults_of_suites(key, value, message):
    file = SPEED / "suites.yaml"
    content = read_yaml(file)
    content["suites"]["dense"][key] = value
    with pytest.raises(ConfigurationError) as raised:
        checked(file, content, suites.SuiteFile)
    assert str(raised.value).startswith(f"{file}: ")
    assert f"suites.dense.{message}" in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suite": "dens"}, "Unknown suite 'dens'. Did you mean dense"),
        ({"reduce": "mean"}, "Unknown reduction 'mean'. Did you mean geometric mean"),
        ({"at_lest": 1}, "no such key. Did you mean at_least"),
        ({"at_most": 1}, "give one of at_least and at_most"),
        ({"over": None}, "Input should be a valid string"),
        ({"over": "stock"}, "Unknown candidate 'stock'"),  # a group is a list
        ({"rows": [1]}, "Input should be a valid dictionary"),
    ],
)
def test_faults_of_requirements(change, message):
    file = SPEED / "requirements.yaml"
    row = {"text": "", "suite": "dense", "over": "ours", "reduce": "min", "at_least": 1}

    def read(*rows):
        return checked(file, read_yaml(file) | {"side": list(rows)}, requirements.RequirementFile)

    assert read({"under": "ours", "rows": [row, row]}).side[1].under == "ours"
    with pytest.raises(ConfigurationError) as raised:
        read(row, {"rows": [row | change]})
    assert str(raised.value).startswith(f"{file}: side.1")
    assert message in str(raised.value)


def test_a_template_with_an_unknown_place(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "_TEMPLATES", tmp_path)
    for name in report.REPORTS:
        (tmp_path / f"{name}_template.md").write_text("## {title: dense}\n{cost_table: dense ours}")
    with pytest.raises(PageError, match=r"quality_template\.md: unknown fact cost_table"):
        report.write_reports(Measurements(HEADER, [dense("yeast", "ours")]), tmp_path)


KEPT = {
    "main": "QUALITY.md",
    "drop_in": "DROP_IN.md",
    "prediction": "PREDICTION.md",
    "outputs": "OUTPUTS.md",
    "cores": "CORES.md",
    "side": "SIDE.md",
}


@pytest.mark.parametrize("name", KEPT)
def test_the_kept_reports_are_made_from_the_kept_tables(name, tmp_path):
    report.write_reports(read_table(SPEED / "speed_results" / f"{name}.csv"), tmp_path)
    assert (tmp_path / KEPT[name]).read_text() == (SPEED / KEPT[name]).read_text()


def test_what_the_report_says_of_prediction(tmp_path):
    records = []
    for name, factor in (("inplace_predict", 10), ("compiled", 1)):
        cell = Cell("predict", "predict", "yeast", 1, name)
        found = {f"microseconds_{n}": factor * 4.0 * n for n in tables.BATCHES}
        records.append(record(cell, **found))
    summary = Summary(records)
    table = tables.latency_table(summary, "predict")
    assert "| yeast | inplace_predict | 40.0, 10.0× | 400, 10.0× |" in table
    assert "| yeast | compiled | 4.00 | 40.0 |" in table
    assert verdict("One row: `inplace_predict` over", records).measured == 10
    report.draw_latency(summary, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").exists()
    report.draw_latency(Summary([]), tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_what_the_report_says_of_time_to_quality():
    cell = Cell("quality", "to quality", "yeast", 1, "one_output_per_tree")
    best = {
        "setting": vars(candidates.Setting(0.3, 64, 0.5, True)),
        "test": 0.25,
        "setup_seconds": 1.0,
    }
    ours = cell._replace(candidate="sketched")
    given_up = cell._replace(candidate="ours")
    records = [
        record(cell, cpu_seconds=8.0, **best),
        record(ours, cpu_seconds=0.5, **best),
        record(given_up, 0, "longer than", 16.0),
    ]
    summary = Summary(records)
    table = tables.quality_table(summary, "quality")
    assert (
        "| yeast | 8.00 (0.2500; 0.3 64 half CSR) | 0.500 (0.2500; 0.3 64 half CSR) | > 16.0 |"
        in table
    )
    table = tables.ratio_table(summary, "quality", "one_output_per_tree")
    assert "| yeast | 16.0× (6.00×) | < 0.500× |" in table
    judged = verdict("To quality (one sketch dimension): every data set", records)
    assert (judged.measured, judged.found) == (16, 1)


def test_what_the_report_says_of_a_number_alone():
    cell = Cell("many_labels", "to quality", "delicious", 2, "deep")
    records = [record(cell, wall_seconds=5.5, rounds=300)]
    judged = verdict("Delicious to .0615", records)
    assert (judged.state, judged.measured) == ("reached", 5.5)
    assert "| ≤ 6 s | 5.50 s | reached | delicious: 5.50 s |" in tables.requirement_table([judged])
    table = tables.many_labels_table(Summary(records), "many_labels")
    assert "| deep | 2 | 300 | 1.00 (once) | 5.50 (once) |" in table
    cell = Cell("end", "to the end", "bibtex", 1, "auto")
    records = [record(cell, test=0.0421, rounds=30)]
    assert verdict("Log-loss at the end (auto)", records).state == "NOT reached"
    assert "| bibtex | 0.0421 (30) |" in tables.end_table(Summary(records), "end")


def test_log_loss_at_the_end_is_the_mean_over_the_seeds_that_both_have():
    cells = [Cell("end", "to the end", "yeast", 1, name) for name in ("auto", "ours")]
    records = []
    for cell, losses in zip(cells, ((0.4, 0.5, 0.9), (0.5, 0.7)), strict=True):
        for seed, loss in enumerate(losses):
            records.append(record(cell, test=loss, rounds=10 * (seed + 1)))
            records[-1]["job"]["seed"] = seed
    summary = Summary(records)
    assert summary.ratio(cells[1], cells[0], "test").value == pytest.approx(1.2 / 0.9)
    assert summary.ratio(cells[0], None, "test").value == pytest.approx(0.6)
    assert "| yeast | 0.6000 (± 0.2646, 20) | 0.6000 (± 0.1414, 15) |" in tables.end_table(
        summary, "end"
    )
