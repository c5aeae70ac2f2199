"""Writes a report: Markdown with figures as SVG files, and one self-contained HTML page.

The Markdown is written first; the page is made of it, with the SVG files put in, and so is the
LaTeX document, if it is asked for.
"""

import html
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from experiments.engine import plan
from experiments.engine.configuration import Configuration, Section, find_configuration
from experiments.engine.measures import MEASURES
from experiments.engine.pins import Pin
from experiments.engine.results import Results
from experiments.report.claims import Verdict, judge
from experiments.report.figures import FIGURES
from experiments.report.latex import latex_of
from experiments.report.overview import Finished, overview
from experiments.report.plots import curves, pareto, save, style
from experiments.report.significance import bbc_cv_table, fold_tests, significance
from experiments.report.tables import (
    BETTER,
    WORSE,
    ranked_over,
    ranks_table,
    scores_table,
    shares_table,
    statistics_table,
)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1, h2, h3 {{ line-height: 1.2; margin-top: 2.2rem; }}
table {{ border-collapse: collapse; font-size: 13px; margin: 1rem 0; display: block;
  overflow-x: auto; }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap; }}
thead th {{ border-bottom: 2px solid #888; }}
tbody tr:hover {{ background: #f5f7fa; }}
figure {{ margin: 1rem 0; }}
figure svg {{ max-width: 100%; height: auto; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def write_report(
    loaded: list[tuple[Configuration, Results]],
    output: Path,
    name: str,
    *,
    latex: bool = False,
) -> list[Path]:
    """Write the report of some configurations, `<name>.md`, `<name>.html`, and maybe `<name>.tex`.

    The folder is made if it is missing; figures are in its subfolder `figures`.
    """
    text = _report(loaded, output, latex=latex)[0]
    files = _write_text(text, output, name)
    if latex:
        files.append(output / f"{name}.tex")
        files[-1].write_text(latex_of(text), encoding="utf-8")
    return files


def write_reports(finished: Finished, pins: Mapping[str, Pin], output: Path) -> list[Path]:
    """Write a report for each folder of configurations, and the overview of all of them.

    Experiments of the package are named without the size. The overview is the output's
    `README.md`, and the reports of the paper `xdcc-2020` are `REPORT.md` and `REPORT.html` in its
    subfolder `papers/xdcc-2020`.
    """
    by_folder: dict[str, list[tuple[Configuration, Results]]] = {}
    for config, results in finished.values():
        place = find_configuration(config.name).parent
        by_folder.setdefault(f"{place.parent.name}/{place.name}", []).append((config, results))
    files, verdicts = [], []
    for folder, members in by_folder.items():
        text, of_folder = _report(members, output / folder)
        files += _write_text(text, output / folder, "REPORT")
        verdicts += [(folder, title, verdict) for title, verdict in of_folder]
    page = output / "README.md"
    page.write_text(overview(finished, by_folder, verdicts, pins, output), encoding="utf-8")
    return [*files, page]


def _report(
    members: list[tuple[Configuration, Results]], output: Path, *, latex: bool = False
) -> tuple[str, list[tuple[str, Verdict]]]:
    """Return the text, and each verdict with the title of its experiment; draw the figures."""
    parts, verdicts = [], []
    for config, results in members:
        text, found = _experiment(config, results, output, latex=latex)
        parts.append(text)
        verdicts += [(config.title.partition(":")[0], verdict) for verdict in found]
    return "\n\n".join(parts) + "\n", verdicts


def _write_text(text: str, output: Path, name: str) -> list[Path]:
    output.mkdir(parents=True, exist_ok=True)
    markdown, page = output / f"{name}.md", output / f"{name}.html"
    markdown.write_text(text, encoding="utf-8")
    page.write_text(_page(text, output), encoding="utf-8")
    return [markdown, page]


def _experiment(
    config: Configuration, results: Results, output: Path, *, latex: bool
) -> tuple[str, list[Verdict]]:
    parts, verdicts = [f"# {config.title}", config.about.strip(), _how(config, results)], []
    for number, section in enumerate(config.report, start=1):
        parts.append(f"## {section.title}")
        if section.note:
            parts.append(section.note.strip())
        if results.table.empty:
            parts.append("There are no results yet.")
            continue
        file = output / "figures" / f"{config.name}-{number}"
        parts += _section(config, results, section, file, latex=latex)
        found = [judge(claim, results) for claim in section.claims]
        parts += [verdict.text() for verdict in found]
        verdicts += found
    return "\n\n".join([*parts, *_failures(results)]), verdicts


def _how(config: Configuration, results: Results) -> str:
    """Describe how the numbers were made and which are missing."""
    evaluation = config.evaluation.evaluation()
    ways = {
        "train_test": "Evaluated on the published test part, or on a stratified third of the rows "
        "if there is none.",
        "first_rows": f"Trained on the first {evaluation.train_share:.0%} of the rows, evaluated "
        "on the others.",
        "k_fold": f"Means over {evaluation.n_parts} folds"
        f"{' of the training part' if evaluation.rows == 'train' else ''} "
        f"({evaluation.assignment}).",
        "repeated": f"Means over {evaluation.n_parts} random divisions, "
        f"trained on {evaluation.train_share:.0%} of the rows.",
        "whole": "All rows, training and test part together.",
    }
    sentences = [ways[evaluation.type]]
    tuning = config.tuning
    if tuning is not None:
        draws = (
            "the full grid"
            if tuning.draws == "all"
            else f"at most {tuning.draws} random configurations"
        )
        where = (
            f"on {tuning.n_folds} inner folds"
            if tuning.folds is not None
            else f"on 1/{tuning.n_folds} of the training part"
        )
        sentences.append(
            f"Parameters: {draws} per method, chosen by {MEASURES[tuning.measure].title} {where}."
        )
    for exception in config.exceptions:
        lines = ", ".join(exception.methods or ["all methods"])
        sentences.append(f"Exception for {lines} on {', '.join(exception.datasets)}: "
                         f"{exception.reason}.")  # fmt: skip
    for line, modules in plan.missing_methods(config).items():
        if line not in set(results.table["line"]):
            sentences.append(f"{line} is missing: {', '.join(modules)} is not installed.")
    if results.n_missing:
        number = results.n_missing
        missing = "1 result is" if number == 1 else f"{number} results are"
        sentences.append(f"**{missing} still missing**: `python -m experiments run {config.name}`.")
    if any(section.published for section in config.report):
        sentences.append(
            f"Published numbers are in brackets; {BETTER} and {WORSE} mark our numbers that are "
            "better or worse by more than the tolerance."
        )
    return " ".join([*sentences, _provenance(results)])


def _provenance(results: Results) -> str:
    """List the versions that made the results."""
    listed = ", ".join(f"{name} {' and '.join(found)}" for name, found in results.versions.items())
    return f"Records by {listed}." if listed else ""


def _section(
    config: Configuration, results: Results, section: Section, file: Path, *, latex: bool
) -> list[str]:
    if section.kind == "scores":
        tables = [scores_table(config, results, section, m) for m in section.measures]
        return [*tables, *ranked_over(results, section)]
    if section.kind == "ranks":
        return [ranks_table(config, results, section), *ranked_over(results, section)]
    if section.kind == "shares":
        return [shares_table(results, section, m) for m in section.measures]
    if section.kind == "statistics":
        return [statistics_table(config, results, section)]
    if section.kind == "bbc_cv":
        return [bbc_cv_table(config, results, section)]
    if section.kind == "fold_tests":
        return [fold_tests(results, section, m) for m in section.measures]
    if section.kind == "critical_difference":
        return significance(results, section, file, latex=latex)
    return [save(draw_section(results, section), file, section.title, latex=latex)]


def draw_section(results: Results, section: Section) -> Figure:
    """Draw the figure of a section of the kind `pareto`, `curve` or `figure`."""
    general: dict[str, Callable[[Results, Section], Figure]] = {"pareto": pareto, "curve": curves}
    with style():
        return (general | FIGURES)[section.draw or section.kind](results, section)


def _failures(results: Results) -> list[str]:
    if results.failures.empty:
        return []
    lines = [
        f"- {row.data}, {row.line}, fold {row.fold}, {row.params}: {row.error}"
        for row in results.failures.itertuples()
    ]
    return ["## Failed", "\n".join(lines)]


def _page(text: str, output: Path) -> str:
    """Return the Markdown as an HTML page with its SVG files inside."""
    body = MarkdownIt("commonmark").enable("table").render(text)

    def inline(match: re.Match[str]) -> str:
        svg = (output / html.unescape(match["source"])).read_text(encoding="utf-8")
        name = Path(match["source"]).stem  # a page has several figures
        svg = re.sub(r'((?:id="|href="#|url\(#))(?=[mp]\d)', rf"\g<1>{name}-", svg)
        return f'<figure aria-label="{match["title"]}">{svg[svg.index("<svg") :]}</figure>'

    body = re.sub(r'<img src="(?P<source>[^"]+\.svg)" alt="(?P<title>[^"]*)" ?/>', inline, body)
    title = html.escape(text.partition("\n")[0].removeprefix("# "))
    return PAGE.format(title=title, body=body)
