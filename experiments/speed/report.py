"""Writes the reports, `QUALITY.md` with its figure and `RESULTS.md`, from measurements."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.speed.figure import draw
from experiments.speed.histogram_work import CONVENTION
from experiments.speed.requirements import (
    Requirement,
    judge,
    requirements_of_equal_rounds,
    requirements_of_quality,
)
from experiments.speed.results import Results
from experiments.speed.suites import QUALITY_SUITES, REFERENCE, SUITES
from experiments.speed.summary import Summary
from experiments.speed.tables import (
    chain_table,
    cost_tables,
    end_table,
    loss_table,
    machine_peaks,
    many_labels_table,
    markdown_table,
    memory_tables,
    pass_table,
    quality_table,
    ratio_table,
    requirement_table,
    roofline_table,
    thread_table,
)

_HERE = Path(__file__).parent
_FIGURE = "quality.png"
_COMPARED_WITH = {"methods": "sumGain", "variants": "plain"}

_TAKING_TURNS = """\
Made by `python -m experiments.speed report`; do not edit. Everything was measured side
by side on one machine: the candidates took turns on each data set, every measurement in a fresh
process after a training on next to nothing.
"""

_TIMES = """\
Times are the least of the repeats, CPU time with one thread and wall time with two. In brackets:
by how much the slowest repeat took longer. "×": how many times the reference's time that is. Peak
memory is the process's largest, less what it was before the training.
"""

_STOCK = """\
`multi_output_tree` and `one_output_per_tree`: the same library's own updater with
`binary:logistic`; `lightgbm`: one model per label on a data set that is binned once; `catboost`:
`MultiLogloss`. All: depth 6, L2 1, no minimum of Hessians in a child (LightGBM 0.001: with 0 it
fails).
"""

_OF_EQUAL_ROUNDS = f"""\
# How fast the multi-label updater is

{_TAKING_TURNS}
{_TIMES}
`ours`: `multilabel:sumGain` with the updater `grow_multilabel_hist`; `sketched`: the same with
`sketch_size=1`. {_STOCK}
256 bins (LightGBM 255, CatBoost 254 borders), learning rate 0.3. 50 rounds; 20 on enron, medical
and tmc2007-500; 5 on bibtex; 3 on synthetic data. End to end is from arrays to the trained model;
"rounds" is training on a matrix that is binned already.
"""

_OF_QUALITY = f"""\
# How long a good model takes

{_TAKING_TURNS}
Equal rounds are not equal quality. A third of the training rows is held out. What is enough is 1 %
above the least held-out log-loss of stock XGBoost with a booster per label over a grid: learning
rates .1 and .3; at most 64 or 256 bins; all or half of the columns per tree; what a file stores
sparse, dense or as CSR. Every candidate takes its fastest of the same grid, on the same held-out
rows, so all gain alike from choosing on the rows that count; test rows only say how good that model
is. Counted are CPU seconds of boosting on a matrix that is binned already, one thread, and not of
looking at held-out rows, which is done after every round, and from the 40th on a 20th of the rounds
apart. Who needs longer than the reference (CatBoost: two hundred times ours) is given up: ">".

`ours`: `multilabel:sumGain` with the updater `grow_multilabel_hist`; `sketched`: the same with
`sketch_size=1`; `grouped`: besides, `labels_per_tree`, a quarter of the labels; `auto`:
`sketch_size="auto"`, whose choice counts as training; `deep`, on Delicious: `sketch_size=2`,
`max_depth=10`, `learning_rate=0.15`, chosen on rows of its training part. {_STOCK}
The suites behind these compare equal rounds. {_TIMES}"""


@dataclass(frozen=True)
class Report:
    """One of the two files.

    Attributes
    ----------
    file, notes : str
        Names of the file, and of that with what is said of numbers that are not reached.
    introduction : str
    suites : tuple of str
    requirements : callable
    """

    file: str
    notes: str
    introduction: str
    suites: tuple[str, ...]
    requirements: Callable[[], list[Requirement]]


REPORTS = (
    Report("QUALITY.md", "quality_notes.md", _OF_QUALITY, QUALITY_SUITES, requirements_of_quality),
    Report(
        "RESULTS.md",
        "notes.md",
        _OF_EQUAL_ROUNDS,
        tuple(name for name in SUITES if name not in QUALITY_SUITES),
        requirements_of_equal_rounds,
    ),
)
"""Time to quality and scale, and the comparisons of equal rounds."""


def write_reports(results: Results, folder: Path) -> list[Path]:
    """Write each report whose suites have measurements, and the figure of the first.

    Parameters
    ----------
    results : Results
    folder : Path
        Where to.

    Returns
    -------
    list of Path
        The reports.

    Raises
    ------
    ValueError
        If there are no measurements.
    """
    if not results.records:
        raise ValueError(f"{results.file} holds no measurements")
    summary = Summary(results.records)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(summary, folder / _FIGURE)
    files = []
    for report in REPORTS:
        if any(summary.cells(name) for name in report.suites):
            file = folder / report.file
            figure = _FIGURE if drawn and "quality" in report.suites else None
            parts = _sections(report, results, summary, figure)
            file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
            files.append(file)
    return files


def _sections(report: Report, results: Results, summary: Summary, figure: str | None) -> list[str]:
    verdicts = [judge(requirement, summary) for requirement in report.requirements()]
    parts = [
        report.introduction.strip(),
        "## What must be reached",
        requirement_table(verdicts),
        "## Where a number is not reached",
    ]
    notes = _HERE / report.notes
    if notes.exists():
        parts.append(notes.read_text(encoding="utf-8").strip())
    if figure:
        parts += ["## Figure", f"![Held-out log-loss against seconds of training]({figure})"]
    parts += ["## Machine and builds", _header(results)]
    for name in report.suites:
        if summary.cells(name):
            parts += [f"## {SUITES[name].title}", *_suite(name, summary)]
    return parts


def _suite(name: str, summary: Summary) -> list[str]:
    if name in ("quality", "like_for_like"):
        return [
            "CPU seconds of boosting (test log-loss at that moment; learning rate, bins, half of "
            "the columns, CSR):",
            quality_table(summary, name),
            "How many times as long stock XGBoost with a booster per label takes (in brackets: "
            "with making the matrix and its bins):",
            ratio_table(summary, name, REFERENCE),
        ]
    if name == "end":
        return [
            "Log-loss of the test rows at the round that is best on held-out rows (that round), at "
            "learning rate .1, 256 bins and all columns:",
            end_table(summary),
        ]
    if name == "many_labels":
        return [many_labels_table(summary)]
    if name == "pass":
        return [
            "A pass adds leaf values to margins, derives gradients and projects them, once for "
            "every row and label, and does nothing else:",
            pass_table(summary),
        ]
    if name == "threads":
        return [thread_table(summary)]
    if name == "chain":
        return [
            "Training alone. The short chain has the rounded-up label cardinality plus two rounds, "
            "at most as many as there are labels. The auto chain is the package's default one with "
            '`sketch_size="auto"`: out of fold, on three folds, and it ends by itself. Dense '
            "float32 where the file is dense, CSR where it is sparse.",
            chain_table(summary),
            memory_tables(summary, name),
        ]
    if name == "roofline":
        return _roofline(summary)
    tables = [cost_tables(summary, name, _COMPARED_WITH.get(name, "ours"))]
    if name in ("dense", "csr", "scaling", "memory"):
        tables.append(memory_tables(summary, name))
    if name == "dense":
        tables += ["Training log-loss, mean over entries:", loss_table(summary)]
    return [*tables, *_remarks(name, summary)]


def _roofline(summary: Summary) -> list[str]:
    if not any(summary.results(cell) for cell in summary.cells("roofline")):
        return ["Nothing came to its end."]
    additions, read_bytes = machine_peaks(summary)
    return [
        f"Peak of one thread, measured in the same processes: {additions / 1e9:.1f} · 10⁹ "
        f"additions of floats to doubles in the first two caches, {read_bytes / 1e9:.1f} GB read "
        "from memory per second. What the histograms of the rounds need:",
        roofline_table(summary),
        CONVENTION.strip(),
    ]


def _remarks(name: str, summary: Summary) -> list[str]:
    """Say where a candidate was given something else, or was not measured, and why."""
    remarks = []
    for cell in summary.cells(name):
        for result in summary.results(cell)[:1]:
            # Workers and passes keep no parameters.
            if nodes := result.get("parameters", {}).get("max_cached_hist_node"):
                remarks.append(
                    f"{cell.data}, {cell.candidate}: `max_cached_hist_node={nodes}`, since all "
                    "nodes' histograms need more than half of the machine's memory"
                )
        for why in {r["result"]["why"] for r in summary.records(cell) if r["outcome"] == "skipped"}:
            remarks.append(f"{cell.data}, {cell.candidate}: skipped, {why}")
    return ["\n".join(f"- {remark}" for remark in remarks)] if remarks else []


def _header(results: Results) -> str:
    rows = []
    for part in ("machine", "versions", "settings"):
        rows += [[part, name, _text(value)] for name, value in results.header[part].items()]
    return markdown_table(["", "", ""], rows)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
