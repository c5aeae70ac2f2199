"""The numbers and tables that the blocks of pages show, from tables of results and reports."""

import re
from collections.abc import Callable, Mapping
from math import floor, log10
from statistics import geometric_mean

import pandas as pd

from experiments import PAPERS, ROOT, STUDIES
from experiments.engine.measures import MEASURES
from experiments.engine.result_table import load_finished
from experiments.engine.results import Results
from experiments.report.comparisons import ranks
from experiments.report.tables import markdown_table, published_scores
from experiments.speed.suites import GROUPS

SPEED = ROOT / "experiments" / "speed"
OURS = "MultiLabelClassifier"
METRICS = {"f1": "example_f1", "subset": "subset_accuracy", "hamming": "hamming_accuracy"}
SEEN = ("emotions", "enron", "flags", "birds", "medical")
"""Data sets whose test scores had been seen before the league."""

NEAR = 0.04
"""A number of the LaCovaC paper is reached if ours is as near."""

type Cells = dict[str, dict[str, str]]  # row → column → cell
type Fact = str | Callable[[str], str]


def facts() -> dict[str, Fact]:
    """Return the numbers and tables by their names; those with an argument are functions."""
    found: dict[str, Fact] = {}
    for part in (_league, _fair_league, _other_studies, _all_methods, _speed, _prediction, _served):
        found |= part()
    return found


def table_after(text: str, heading: str) -> Cells:
    """Return the first table after a heading, without the stars of bold cells.

    Raises
    ------
    ValueError
        If there is no such heading.
    """
    lines = text[text.index(heading) :].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.replace("*", "").strip() for cell in line.strip("|").split("|")])
    head, _, *body = rows
    return {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in body}


def _league() -> dict[str, Fact]:
    report = (STUDIES / "league" / "REPORT.md").read_text(encoding="utf-8")
    found: dict[str, Fact] = {}
    by_line: Cells = {}
    for short in ("subset", "f1", "hamming"):
        measure = METRICS[short]
        title = MEASURES[measure].title
        table = table_after(report, f"## {title[0].upper()}{title[1:]} on all data sets")
        for line, cells in table.items():
            name = line.partition(" for ")[0]
            by_line.setdefault(name, {})[title] = cells["rank (13 data sets)"]
        found[f"league_{short}"] = by_line[OURS][title]
        config, results = load_finished(f"league-{measure.replace('_', '-')}")
        scores = results.scores(measure)[config.report[0].lines].dropna()
        unseen = ranks(scores.drop(index=list(SEEN)), higher_is_better=True).mean()
        found[f"league_{short}_unseen"] = f"{unseen.iloc[0]:.2f}"
    found["league_methods"] = str(len(by_line))
    ordered = sorted(by_line, key=lambda line: sum(map(float, by_line[line].values())))
    rows = {line: by_line[line] for line in ordered}
    found["league_table"] = _table(f"average rank of {len(rows)}", rows)
    return found


def _fair_league() -> dict[str, Fact]:
    report = (STUDIES / "fair-league" / "REPORT.md").read_text(encoding="utf-8")
    found: dict[str, Fact] = {}
    means: Cells = {}
    more: Cells = {}
    names = {"f1": "F1", "subset": "subset accuracy", "hamming": "Hamming accuracy"}
    for short, measure in METRICS.items():
        title = MEASURES[measure].title
        heading = f"## {title[0].upper()}{title[1:]}"
        shares = table_after(report, f"{heading}: trees, mixture and decision rule")
        rule = {line: cells["decision rule"] for line, cells in shares.items()}
        own = {line: cells["own prediction at 0.5"] for line, cells in shares.items()}
        peers = [rule[line] for line in rule if line not in (OURS, "single booster")]
        found[f"fair_{short}"], found[f"fair_{short}_peer"] = rule[OURS], max(peers)
        found[f"mixture_{short}"] = _difference(rule[OURS], rule["single booster"])
        for which, scores in (("rule", rule), ("own", own)):
            lead = _difference(scores["single booster"], scores["LightGBM"])
            found[f"lead_{short}_{which}"] = lead
        for line, score in rule.items():
            means.setdefault(_code(line), {})[title] = score
        with_more = table_after(report, f"{heading}: shares with more peers")
        best = max(cells["decision rule"] for cells in with_more.values())
        for line, cells in with_more.items():
            score = cells["decision rule"]
            more.setdefault(_code(line), {}).update({
                f"{names[short]} at 0.5": cells["own prediction at 0.5"] or "–",
                names[short]: f"**{score}**" if score == best else score,
            })  # fmt: skip
    by_f1 = sorted(more, key=lambda line: more[line]["F1"].strip("*"), reverse=True)
    found["fair_more_table"] = _table("", {line: more[line] for line in by_f1})
    found["catboost_equal"] = _short(more["CatBoost"]["subset accuracy"].strip("*"))
    titles = [MEASURES[METRICS[short]].title for short in ("f1", "subset", "hamming")]
    by_f1 = sorted(means, key=lambda line: means[line][titles[0]], reverse=True)
    rows = {line: {title: means[line][title] for title in titles} for line in by_f1}
    found["fair_table"] = _table("", rows)
    config, results = load_finished("fair-league")
    for section in config.report:
        if section.kind == "scores" and section.title.endswith("on all data sets"):
            (measure,) = section.measures
            scores = results.scores(measure)[section.lines].dropna()
            ranked = ranks(scores, higher_is_better=MEASURES[measure].higher_is_better).mean()
            found[f"fair_rank_{measure}"] = f"{ranked.min():.2f}"
    for name, measure, form in (("time", "train_time", ".1f"), ("loss", "log_loss", ".2f")):
        scores = results.scores(measure)[["CatBoost, folds", f"{OURS} for F1"]].dropna()
        ratio = geometric_mean(scores.iloc[:, 0] / scores.iloc[:, 1])
        found[f"catboost_{name}"] = format(ratio, form)
    losses = results.scores("log_loss")[[f"student of {OURS} for F1", f"{OURS} for F1"]].dropna()
    ratios = losses.iloc[:, 0] / losses.iloc[:, 1]
    found["student_loss"] = f"{geometric_mean(ratios):.2f}"
    found["student_losses"] = _from_to([f"{ratio:.2f}" for ratio in ratios])
    found["student_data"] = str(len(ratios))
    return found


def _other_studies() -> dict[str, Fact]:
    config, results = load_finished("time-budget")
    losses = results.scores("log_loss")[config.report[0].lines or list(config.methods)].dropna()
    ratios = losses.div(losses["without a budget"], axis=0)

    def of_budget(argument: str) -> str:
        """Return the log-loss with a budget of seconds: the mean, or that of one data set."""
        seconds, _, data = argument.partition(" on ")
        column = ratios[f"{seconds} seconds"]
        return _short(f"{column[data] if data else geometric_mean(column):.3f}")

    order_free = (STUDIES / "order-free" / "REPORT.md").read_text(encoding="utf-8")
    xdcc = (PAPERS / "xdcc-2020" / "REPORT.md").read_text(encoding="utf-8")
    boomer = (PAPERS / "boomer-2020" / "REPORT.md").read_text(encoding="utf-8")
    times = table_after(boomer, "## Compared with mlrl-boomer")
    for cells in times.values():
        del cells["rank (6 data sets)"]
    config, results = load_finished("lacovac-2016-as-published")
    near = [
        round(abs(results.scores(measure).loc[dataset, line] - value), 3) <= NEAR
        for section in config.report
        if section.published is not None
        for measure in section.measures
        if measure != "log_loss"
        for (dataset, line), value in published_scores(config, section.published, measure).items()
    ]
    return {
        "budget_loss": of_budget,
        "encodings_table": _encodings(),
        "order_free_table": _lines_after(order_free, "## Log-loss of whole labelsets"),
        "xdcc_ranks": _ranks_of_xdcc(xdcc),
        "boomer_times": _table("training time (CPU s)", times, n_left=7),
        "lacovac_near": f"{sum(near)} of {len(near)}",
    }


def _encodings() -> str:
    """Return log-losses with encoded categories over those with sets and a penalty, by encoding."""
    _, results = load_finished("category-encodings")
    losses = results.scores("log_loss")
    ratios = losses.div(losses.pop("sets with a penalty"), axis=0)
    rows: Cells = {
        line: {table.removeprefix("categories-"): f"{ratio:.3f}" for table, ratio in column.items()}
        | {"geometric mean": f"{geometric_mean(column):.3f}"}
        for line, column in ratios.items()
    }
    return _table("", rows, n_left=1)


def _ranks_of_xdcc(report: str) -> str:
    """Return XDCC's Table 3, with the best rank of each column in bold."""
    made = table_after(report, "## Table 3: average ranks\n\nPublished ranks are over ten")
    columns = {
        "example-based F1": "example-based F1 (11 data sets)",
        "subset accuracy": "subset accuracy (11 data sets)",
        "Hamming accuracy": "Hamming accuracy (11 data sets)",
        "training time": "training time (CPU s) (11 data sets)",
    }
    rows: Cells = {
        line: {} for line in sorted(made, key=lambda line: made[line][columns["example-based F1"]])
    }
    for short, title in columns.items():
        best = min(made, key=lambda line: float(made[line][title].split()[0]))
        for line, cells in rows.items():
            number, *published = made[line][title].split()
            cells[short] = " ".join([f"**{number}**" if line == best else number, *published])
    return _table("", rows, n_left=5)


def _all_methods() -> dict[str, Fact]:
    _, results = load_finished("all-methods")
    columns = {
        measure: _means(results, measure)
        for measure in ("example_f1", "subset_accuracy", "hamming_accuracy", "train_time")
    }

    def means(line: str) -> str:
        """Return the cells of a line, with the best of each column in bold."""
        cells = []
        for measure, texts in columns.items():
            best = (max if MEASURES[measure].higher_is_better else min)(texts.values(), key=float)
            cells.append(f"**{texts[line]}**" if texts[line] == best else texts[line])
        return " | ".join(cells)

    return {"means": means}


def _means(results: Results, measure: str) -> dict[str, str]:
    """Return the mean of each line over the data sets that all but CatBoost have."""
    scores: pd.DataFrame = results.scores(measure).drop(columns="CatBoost").dropna()
    if measure == "train_time":
        return {line: f"{geometric_mean(scores[line]):.1f}" for line in scores}
    return {line: f"{scores[line].mean():.3f}" for line in scores}


def _speed() -> dict[str, Fact]:
    table = table_after((SPEED / "RESULTS.md").read_text(encoding="utf-8"), "## Dense input")
    heads = {
        "ours": "ours (CPU s)",
        "multi_output_tree": "stock `multi_output_tree`",
        "one_output_per_tree": "stock, one booster per label",
        "lightgbm": "LightGBM per label",
        "catboost": "CatBoost `MultiLogloss`",
    }
    rows: Cells = {}
    found: dict[str, Fact] = {}
    for data, cells in table.items():
        if data == "geometric mean":
            found |= {
                f"speed_{name}": f"{_number(cell):.0f}" for name, cell in cells.items() if cell
            }
            continue
        seconds = {name: _number(cell) for name, cell in cells.items()}
        ours = seconds.pop("ours")
        rows[data] = {heads["ours"]: f"{ours:.2f}"} | {
            heads[name]: f"{_two_digits(other / ours)}×" for name, other in seconds.items()
        }
    rows["geometric mean"] = {
        head: f"{found[f'speed_{name}']}×" for name, head in heads.items() if name != "ours"
    }
    found["speed_table"] = _table("data", rows, n_left=6)
    quality = (SPEED / "QUALITY.md").read_text(encoding="utf-8")
    names = {"sketched": "one sketch dimension", "auto": "auto"}
    ratios = table_after(quality, "How many times as long stock XGBoost")
    for name, told in names.items():
        over_stock = rf"To quality \({told}\): geometric mean over stock.*?\| ([\d.]+)×"
        mean = re.search(over_stock, quality)
        if mean is None:
            raise ValueError(f"QUALITY.md has no requirement about {told}")
        values = [ratios[data][name].split("×")[0] for data in GROUPS["seven"]]
        found[f"quality_{name}"] = f"{float(mean[1]):.0f}"
        found[f"quality_{name}_least"] = min(values, key=float)
        found[f"quality_{name}_most"] = max(values, key=float)
    return found


def _prediction() -> dict[str, Fact]:
    text = (SPEED / "PREDICTION.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    start = next(k for k, cells in enumerate(lines) if cells[1].strip() == "candidate")
    head = [cell.strip() for cell in lines[start]]
    found: Cells = {}
    for cells in lines[start + 2 :]:
        data, candidate, *numbers = (cell.strip() for cell in cells)
        if candidate in ("inplace_predict", "compiled"):
            found[f"{data}, {candidate}"] = dict(zip(head[2:], numbers, strict=True))
    names = [name.removesuffix(", compiled") for name in found if name.endswith(", compiled")]

    def latency(argument: str) -> str:
        """Return XGBoost's and our time of a call, and their ratio."""
        data, _, rows = argument.partition(", ")
        stock, ratio = found[f"{data}, inplace_predict"][rows].split(", ")
        ours = found[f"{data}, compiled"][rows]
        return f"{stock} µs | {ours} µs | {ratio.removesuffix('×')}"

    def factors(rows: str) -> str:
        ratios = [latency(f"{name}, {rows}").rpartition("| ")[2] for name in names]
        return _from_to([f"{float(ratio):.0f}" for ratio in ratios])

    times = [found[f"{name}, compiled"]["1 row"] for name in names]
    return {
        "latency": latency,
        "latency_factors": factors,
        "latency_times": _from_to([f"{float(time):.1f}" for time in times]),
    }


def _served() -> dict[str, Fact]:
    text = (ROOT / "docs" / "guide" / "serving.md").read_text(encoding="utf-8")
    models = table_after(text, "| model | estimator, 1 row |")
    student = models["[`distil`](#distillation) of the default, for F1"]
    mixture = models[f"`{OURS}` for F1"]
    return {"served": lambda column: f"{student[column]} instead of {mixture[column]}"}


def _table(corner: str, rows: Mapping[str, Mapping[str, str]], n_left: int = 1) -> str:
    columns = list(next(iter(rows.values())))
    body = [[name, *(cells.get(column, "") for column in columns)] for name, cells in rows.items()]
    text = markdown_table([corner, *columns], body, n_left)
    return text.replace("|  |", "| |", 1) if not corner else text


def _lines_after(text: str, heading: str) -> str:
    """Return the first table after a heading as it is."""
    lines = text[text.index(heading) :].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rest = lines[first:]
    end = next((k for k, line in enumerate(rest) if not line.startswith("|")), len(rest))
    return "\n".join(rest[:end])


def _code(line: str) -> str:
    return f"`{line}`" if line == OURS else line


def _difference(one: str, other: str) -> str:
    if not one or not other:
        return ""
    return _short(f"{float(one) - float(other):.3f}")


def _short(number: str) -> str:
    """Return a number without the zero before its point."""
    return number.replace("0.", ".", 1) if number.lstrip("-").startswith("0.") else number


def _number(cell: str) -> float:
    """Return the number at the beginning of a cell."""
    return float(re.split("[ ×]", cell)[0])


def _two_digits(value: float) -> str:
    return f"{round(value, 1 - floor(log10(value))):g}"


def _from_to(numbers: list[str]) -> str:
    ordered = sorted(numbers, key=float)
    return f"{ordered[0]} to {ordered[-1]}"
