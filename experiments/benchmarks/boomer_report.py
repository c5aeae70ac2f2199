"""Writes `BOOMER.md` from the records of the three BOOMER benchmarks.

`boomer_against_paper.py report` calls it. What stands before the tables is `boomer_notes.md`;
every number and every "holds" below is computed from the records.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.benchmarks.boomer_synthetic import BAYES
from experiments.benchmarks.boomer_variants import VARIANTS
from xdcc.data.registry import DATASETS

NOTES = Path(__file__).with_name("boomer_notes.md")
MEASURES = ("subset_zero_one_loss", "hamming_loss", "example_f1")
ALLOWED = {"subset_zero_one_loss": 4.0, "hamming_loss": 1.0}
"""By how many points ours may differ from the paper."""
CONVERGED = 0.01
"""A curve has converged when it stays this close to its end."""
RATIOS = ("ours / peer", "ours / peer's best", "ours / peer, processor")
PUBLISHED_NAMES = {"llog": "langlog"}


def write_report(
    records: list[dict[str, Any]],
    published: Path,
    synthetic: Path | None,
    speed: Path | None,
    to: Path,
) -> None:
    """Write the report.

    Parameters
    ----------
    records : list of dicts
        Of `boomer_against_paper.py run`.
    published : Path
        CSV file with the columns measure, dataset, method and value (percent).
    synthetic, speed : Path or None
        What `boomer_synthetic.py` and `boomer_speed.py` wrote.
    to : Path
        The report.
    """
    everything = pd.read_csv(published)
    everything["dataset"] = everything.dataset.replace(PUBLISHED_NAMES)
    paper = everything[everything.method.isin(VARIANTS)]
    tests = of_last_size(pd.DataFrame([r for r in records if r["part"] == "test"]))
    whole = sorted(
        (r for r in records if r["part"] == "whole"),
        key=lambda r: (list(DATASETS).index(r["data"]), list(VARIANTS).index(r["variant"])),
    )
    parts = [NOTES.read_text().rstrip()]
    parts += table_one(tests, paper)
    parts += sizes(tests)
    parts.append(measured_rows(everything[everything.dataset.isin(tests.data)]))
    if whole:
        parts += estimates(whole, paper)
    if synthetic is not None:
        parts += synthetic_data(json.loads(synthetic.read_text()))
    if speed is not None:
        parts += against_peer([json.loads(line) for line in speed.read_text().splitlines()])
    to.write_text("\n\n".join(parts) + "\n")


def of_last_size(tests: pd.DataFrame) -> pd.DataFrame:
    """Keep, of a data set and a variant that were run in several sizes, the last; sort them."""
    size = tests["size"].map(str)
    last = size.groupby([tests.data, tests.variant]).transform("last")
    tests = tests[size == last]
    order = [*DATASETS, *VARIANTS]
    place = tests[["data", "variant"]].apply(lambda names: names.map(order.index))
    return tests.iloc[np.lexsort((tests.split, place.variant, place.data))]


def table_one(tests: pd.DataFrame, paper: pd.DataFrame) -> Iterator[str]:
    """Table 1, ours beside the paper, and the ranks of the variants."""
    names = list(dict.fromkeys(tests.data))
    for measure in MEASURES:
        published = paper[paper.measure == measure].pivot(
            index="dataset", columns="method", values="value"
        )
        groups = tests.groupby(["data", "variant"])[measure]
        mean, deviation = (
            100 * values.unstack().reindex(index=names, columns=list(VARIANTS))
            for values in (groups.mean(), groups.std())
        )
        beside = published.loc[names, list(VARIANTS)]
        table = pd.DataFrame(
            {
                variant: [
                    cell(*numbers, ALLOWED.get(measure))
                    for numbers in zip(
                        mean[variant], deviation[variant], beside[variant], strict=True
                    )
                ]
                for variant in VARIANTS
            },
            index=names,
        )
        complete = mean.dropna().index
        if len(complete):
            ours, theirs = (
                values.loc[complete].rank(axis=1, ascending=measure != "example_f1").mean()
                for values in (mean, beside)
            )
            table.loc[f"average rank ({len(complete)} data sets)"] = [
                f"{ours[variant]:.2f} ({theirs[variant]:.2f})" for variant in VARIANTS
            ]
        title = measure.replace("_", " ").replace("zero one", "0/1")
        yield f"## Table 1: {title} in percent, ours (paper)\n\n{table.to_markdown()}"
        if measure in ALLOWED:
            yield agreement(mean - beside, ALLOWED[measure])


def cell(ours: float, deviation: float, paper: float, allowed: float | None) -> str:
    """One number beside the paper's, bold where they differ by more than is allowed."""
    if np.isnan(ours):
        return f"not run ({paper:.2f})"
    spread = "" if np.isnan(deviation) else f" ± {deviation:.2f}"
    text = f"{ours:.2f}{spread} ({paper:.2f})"
    return f"**{text}**" if allowed is not None and abs(ours - paper) > allowed else text


def agreement(difference: pd.DataFrame, allowed: float) -> str:
    """Say how many numbers agree with the paper's, and how many are better or worse."""
    values = difference.stack().dropna()
    worse, better = (values > allowed).sum(), (values < -allowed).sum()
    return (
        f"Of {len(values)} numbers, {len(values) - worse - better} are within "
        f"{allowed:g} points of the paper's, {better} are better by more and {worse} are worse by "
        "more (bold). ± is the standard deviation over the splits."
    )


def sizes(tests: pd.DataFrame) -> Iterator[str]:
    """Show what was run, what was chosen, and whether BBC-CV foresaw it."""
    rows = []
    for (name, variant), group in tests.groupby(["data", "variant"], sort=False):
        size = group["size"].iloc[0]
        measure = "hamming_loss" if variant.startswith("l.w.") else "subset_zero_one_loss"
        estimated = [estimate[measure]["estimate"] for estimate in group["bbc"]]
        rows.append(
            {
                "data": name,
                "variant": variant,
                "splits": len(group),
                "folds held out": f"{size['validated']} of {size['folds']}",
                "shrinkages": ", ".join(f"{rate:g}" for rate in size["rates"]),
                "L2 weights": ", ".join(f"{l2:g}" for l2 in size["l2"]),
                "rules": size["rules"],
                "chosen (shrinkage, L2, rules)": "; ".join(
                    f"{row.rate:g}, {row.l2:g}, {row.rules}" for row in group.itertuples()
                ),
                "BBC-CV": f"{100 * np.mean(estimated):.2f}",
                "test": f"{100 * group[measure].mean():.2f}",
                "s": f"{group.seconds.mean():.1f}",
            }
        )
    yield (
        "## What was run\n\nBBC-CV: the estimate, from the training part only, of the loss that "
        "the choice was made by (label-wise: Hamming, example-wise: subset 0/1), in percent; test: "
        "that loss on the test part. s: seconds of one training with the chosen parameters, beside "
        "other work on the machine.\n\n" + pd.DataFrame(rows).to_markdown(index=False)
    )


def measured_rows(paper: pd.DataFrame) -> str:
    """Show on how many rows the paper's subset 0/1 losses can have been measured."""
    losses = paper[paper.measure == "subset_zero_one_loss"]
    rows = []
    for name, published in losses.groupby("dataset").value:
        info = DATASETS[str(name)]
        n = info.n_train + info.n_test
        # A bootstrap sample leaves out each row with probability (1 - 1/n)^n, each two of them
        # with (1 - 2/n)^n.
        one, two = (1 - 1 / n) ** n, (1 - 2 / n) ** n
        deviation = np.sqrt(n * one + n * (n - 1) * two - (n * one) ** 2)
        found = possible_rows(published.to_numpy(), n)
        rows.append(
            {
                "data": name,
                "rows": n,
                "a third": round(n / 3),
                "possible": ", ".join(map(str, found)) or "none",
                "left out by a bootstrap sample": f"{n * one:.0f} ± {deviation:.0f}",
            }
        )
    return (
        "## On how many rows the paper measured\n\nNumbers of rows of which all published subset "
        "0/1 losses of a data set (all methods) are a whole number of rows, rounded to two "
        "decimals of a percent, beside the number of rows that a bootstrap sample leaves out "
        "(mean ± standard deviation).\n\n" + pd.DataFrame(rows).to_markdown(index=False)
    )


def possible_rows(percent: NDArray[np.float64], n_rows: int) -> list[int]:
    """Return the numbers of rows, up to all, of which each percentage is a whole number."""
    counts = np.arange(50, n_rows + 1)
    whole = np.round(percent[:, None] * counts / 100)
    # Half of the last decimal, and the rounding of the computation.
    fits = np.abs(100 * whole / counts - percent[:, None]) < 0.005 + 1e-9
    return [int(count) for count in counts[fits.all(axis=0)]]


def estimates(whole: list[dict[str, Any]], paper: pd.DataFrame) -> Iterator[str]:
    """Show the BBC-CV estimates on whole data sets, and whether the paper's numbers fit."""
    values = paper.set_index(["measure", "dataset", "method"])["value"]
    rows = []
    inside = 0
    for record in whole:
        row = {"data": record["data"], "variant": record["variant"]}
        for measure in ALLOWED:
            bbc = record["bbc"][measure]
            low, high = (100 * bound for bound in bbc["interval"])
            published = values[measure, record["data"], record["variant"]]
            inside += low <= published <= high
            text = f"{100 * bbc['estimate']:.2f}, {low:.2f} to {high:.2f} ({published:.2f})"
            row[measure.replace("_", " ")] = text
        size = record["size"]
        row["folds"] = f"{size['validated']} of {size['folds']}"
        row["pairs"] = len(size["rates"]) * len(size["l2"])
        row["rules"] = size["rules"]
        rows.append(row)
    yield (
        "## BBC-CV on whole data sets: estimate, 95 % of the bootstrap samples (paper)\n\nIn "
        f"percent. {inside} of {2 * len(rows)} published numbers are within the interval. Pairs: "
        "of shrinkage and L2 weight; rules: the largest number.\n\n"
        + pd.DataFrame(rows).to_markdown(index=False)
    )


def synthetic_data(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Section 5.1: final losses beside the best possible ones, and the paper's statements."""
    settings = dict.fromkeys((row["lines"], row["features"]) for row in rows)
    for lines, features in settings:
        same = [row for row in rows if (row["lines"], row["features"]) == (lines, features)]
        yield from with_settings(lines, features, same)


def with_settings(lines: str, features: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Report the synthetic data with some directions of the lines and some draw of features."""
    table = []
    for (name, variant), seeds in by_variant(rows).items():
        row = {"data": name, "variant": variant, "seeds": len(seeds)}
        row["shrinkages"] = ", ".join(f"{one['rate']:g}" for one in seeds)
        for measure, best in BAYES[name].items():
            column = f"{measure.replace('_', ' ')} (best possible)"
            row[column] = f"{100 * end(seeds, measure):.2f} ({100 * best:.2f})"
        row["rules until converged"] = ", ".join(str(converged(one)) for one in seeds)
        row["s"] = f"{np.mean([one['seconds'] for one in seeds]):.1f}"
        table.append(row)
    where = {"axes": "along the axes", "random": "in random directions"}[lines]
    where += {"log2": "", "all": ", all features for each condition"}[features]
    n_rules, samples = rows[0]["rules"][-1], rows[0]["samples"]
    l2 = ", ".join(f"{weight:g}" for weight in rows[0]["l2_grid"])
    rates = ", ".join(f"{rate:g}" for rate in rows[0]["rates"])
    figure = "![Hamming against subset 0/1 loss while rules are added](boomer_synthetic.png)\n\n"
    yield (
        f"## Synthetic data (section 5.1, Figure 1), lines {where}\n\n{samples} samples for "
        f"training, as many for testing, {n_rules} rules, the best of shrinkage {rates} and L2 "
        f"weight {l2} on as many for validation. Means over the seeds. Converged: the subset 0/1 "
        f"loss stays within {100 * CONVERGED:g} point of its end; the default rule counts as a "
        "rule.\n\n"
        + (figure if (lines, features) == ("axes", "log2") else "")
        + pd.DataFrame(table).to_markdown(index=False)
    )
    if len(table) == len(BAYES) * len(VARIANTS):
        yield "\n".join(
            f"- {claim}: **{'holds' if true else 'does not hold'}**"
            for claim, true in statements(rows)
        )


def by_variant(rows: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Collect the rows, one for each seed, of a data set and a variant."""
    collected: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        collected.setdefault((row["data"], row["variant"]), []).append(row)
    return collected


def end(seeds: list[dict[str, Any]], measure: str) -> float:
    """Loss after all rules, mean over the seeds."""
    return float(np.mean([row[measure][-1] for row in seeds]))


def converged(row: dict[str, Any]) -> int:
    """First number of rules from which on the subset 0/1 loss stays close to its end."""
    away = np.abs(np.array(row["subset_loss"]) - row["subset_loss"][-1]) > CONVERGED
    return row["rules"][np.flatnonzero(away)[-1] + 1] if away.any() else row["rules"][0]


def statements(rows: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Check the paper's statements on the synthetic data."""
    curves = by_variant(rows)
    independent, marginal, conditional = BAYES

    def last(data: str, variant: str, measure: str) -> float:
        return end(curves[data, variant], measure)

    def near_best(data: str, variant: str, measure: str) -> bool:
        return last(data, variant, measure) - BAYES[data][measure] <= 0.02

    yield (
        "Marginal independence: single-label heads end with smaller losses than complete heads, "
        "for both loss functions and in both measures",
        all(
            last(independent, f"{loss} single", measure)
            <= last(independent, f"{loss} multi", measure)
            for loss in ("l.w.-log", "ex.w.-log")
            for measure in BAYES[independent]
        ),
    )
    yield (
        "Marginal independence: label-wise single-label rules come within 2 points of the best "
        "possible Hamming loss, example-wise ones of the best possible subset 0/1 loss",
        near_best(independent, "l.w.-log single", "hamming_loss")
        and near_best(independent, "ex.w.-log single", "subset_loss"),
    )
    yield (
        "Strong marginal dependence: all variants end within 1 point of each other in both "
        "measures",
        all(
            np.ptp([last(marginal, variant, measure) for variant in VARIANTS]) <= 0.01
            for measure in BAYES[marginal]
        ),
    )
    n_rules = {
        variant: np.median([converged(row) for row in curves[marginal, variant]])
        for variant in VARIANTS
    }
    yield (
        "Strong marginal dependence: complete heads converge with fewer rules than single-label "
        "heads with the same loss (medians over the seeds)",
        n_rules["l.w.-log multi"] < n_rules["l.w.-log single"]
        and n_rules["ex.w.-log multi"] < n_rules["ex.w.-log single"],
    )
    yield (
        "Strong marginal dependence: single-label heads converge with fewer rules with the "
        "example-wise loss than with the label-wise one (medians over the seeds)",
        n_rules["ex.w.-log single"] < n_rules["l.w.-log single"],
    )
    yield (
        "Strong conditional dependence: both example-wise variants end with a smaller subset 0/1 "
        "loss than both label-wise ones",
        max(last(conditional, f"ex.w.-log {head}", "subset_loss") for head in ("single", "multi"))
        < min(last(conditional, f"l.w.-log {head}", "subset_loss") for head in ("single", "multi")),
    )
    yield (
        "Strong conditional dependence: both example-wise variants come within 2 points of the "
        "best possible Hamming and subset 0/1 loss",
        all(
            near_best(conditional, f"ex.w.-log {head}", measure)
            for head in ("single", "multi")
            for measure in BAYES[conditional]
        ),
    )


def against_peer(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Training times and accuracy beside mlrl-boomer."""
    runs = pd.DataFrame(rows)
    fastest = runs.groupby(["data", "variant", "threads", "who"], sort=False)
    table = fastest[["seconds", "cpu_seconds"]].min().unstack()
    ratios: list[tuple[Any, ...]] = []
    for (name, variant, threads), times in table.iterrows():
        peer, ours = times["seconds", "mlrl-boomer"], times["seconds", "xdcc"]
        # More threads can cost more than they bring; nobody would use them then.
        best = table.loc[name, variant]["seconds", "mlrl-boomer"].min()
        work = [times["cpu_seconds", who] for who in ("mlrl-boomer", "xdcc")]
        ratios.append(
            (name, variant, threads, peer, ours, *work, ours / peer, ours / best, work[1] / work[0])
        )
    measured = [f"{who}{kind}" for kind in ("", ", processor") for who in ("mlrl-boomer", "xdcc")]
    columns = ["data", "variant", "threads", *measured, *RATIOS]
    summary = pd.DataFrame(ratios, columns=columns)
    slower = ", ".join(f"{(summary[ratio] > 1).sum()} by “{ratio}”" for ratio in RATIOS)
    repeats = fastest.size()
    yield (
        f"## Training time against mlrl-boomer\n\n{runs.rules.max()} rules, best of "
        f"{repeats.min()} to {repeats.max()}, in seconds, both in turn in one process. “Best” is "
        "the peer with the better number of threads; “processor” means the processor's seconds of "
        f"all threads. Ours takes longer in these many of {len(summary)} cases: {slower}.\n\n"
        + summary.to_markdown(index=False, floatfmt=".2f")
    )
    losses = runs[runs.threads == runs.threads.min()].pivot_table(
        index=["variant", "data"], columns="who", values=["subset_zero_one_loss", "hamming_loss"]
    )
    losses = 100 * losses
    mean = losses.groupby("variant").mean()
    mean.index = pd.MultiIndex.from_product([mean.index, ["mean"]])
    table = pd.concat((losses, mean)).sort_index(level=0, sort_remaining=False)
    table.columns = [f"{measure.replace('_', ' ')}, {who}" for measure, who in table.columns]
    yield (
        "## Losses beside mlrl-boomer, in percent\n\nTraining and test part as published, the mean "
        "over the repeats' seeds.\n\n"
        + table.reset_index(names=["variant", "data"]).to_markdown(index=False, floatfmt=".2f")
    )
