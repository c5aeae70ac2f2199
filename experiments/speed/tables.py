"""The Markdown tables of the reports; the templates call those that take a suite."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from statistics import geometric_mean, mean, stdev
from typing import Any

from experiments.report.tables import markdown_table
from experiments.speed.limits import CONVENTION
from experiments.speed.prediction import BATCHES
from experiments.speed.requirements import Verdict
from experiments.speed.suites import SUITES
from experiments.speed.summary import Best, Cell, Ratio, Summary

_MIB = 1 << 20

_CHAINS = {
    "xdcc_short": "short chain",
    "xdcc_full": "full chain",
    "xdcc_sketched": "full chain, sketched",
    "classifier_chain": "classifier chain",
    "xdcc_auto": "auto chain",
    "binary_relevance": "booster per label",
}
_PAIRS_OF_CHAINS = (
    ("xdcc_short", "classifier_chain"),
    ("xdcc_full", "classifier_chain"),
    ("xdcc_sketched", "classifier_chain"),
    ("xdcc_auto", "binary_relevance"),
)
"""Our chains, and the baselines that they are compared with."""

_LOST = 0.03  # of the time on 16 threads, from which on a part is listed


def number(value: float) -> str:
    """Return a number with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def ratio_text(ratio: Ratio | None) -> str:
    """Return a ratio, with its bound if it has one."""
    if ratio is None:
        return ""
    sign = {"": "", "at least": "> ", "at most": "< "}[ratio.bound]
    return f"{sign}{number(ratio.value)}×"


def requirement_table(verdicts: Iterable[Verdict]) -> str:
    """Return the table of requirements, measurements and verdicts."""
    rows = []
    for verdict in verdicts:
        requirement = verdict.requirement
        sign, unit = "≤" if requirement.at_most else "≥", requirement.unit
        space = "" if unit in ("×", "") else " "
        required = f"{sign} {requirement.required:g}{space}{unit}"
        measured = "" if verdict.measured is None else f"{number(verdict.measured)}{space}{unit}"
        worst = ""
        if verdict.worst is not None:
            comparison, ratio = verdict.worst
            text = ratio_text(ratio)
            if comparison.measure in ("log_loss", "test"):
                text = f"{ratio.value:.5f}"
            elif comparison.under is None:
                text = f"{number(ratio.value)}{space}{unit}"
            worst = f"{comparison.label}: {text}"
        state = f"**{verdict.state}**" if verdict.state == "NOT reached" else verdict.state
        if verdict.state == "incomplete":
            state += f" ({verdict.found} of {len(requirement.comparisons)})"
        rows.append([requirement.text, required, measured, state, worst])
    return markdown_table(["what", "required", "measured", "", "worst case"], rows, 5)


def title(summary: Summary, suite: str) -> str:
    """Return a suite's title."""
    return SUITES[suite].title


def cost_tables(summary: Summary, suite: str, reference: str) -> str:
    """Return a table of times for each phase and number of threads of a suite.

    The table has CPU seconds with one thread, and wall seconds with several, because waiting
    threads use CPU time.

    An entry is the minimum of the repeats, how much longer the slowest repeat took, and the ratio
    to the reference.
    """
    return "\n\n".join(
        f"{heading}, {'CPU' if cells[0].threads == 1 else 'wall'} seconds:\n\n"
        f"{_cost_table(summary, cells, reference)}"
        for heading, cells in _tables(summary, suite)
    )


def _cost_table(summary: Summary, cells: Sequence[Cell], reference: str) -> str:
    measure = "cpu_seconds" if cells[0].threads == 1 else "wall_seconds"

    def ratio(cell: Cell) -> Ratio | None:
        own = cell._replace(candidate=reference)
        return None if cell == own else summary.ratio(cell, own, measure)

    def entry(cell: Cell) -> str:
        return ", ".join(filter(None, [_cost(summary, cell, measure), ratio_text(ratio(cell))]))

    def mean(column: Sequence[Cell]) -> str:
        return _mean([known for cell in column if (known := ratio(cell))], len(column))

    return _grid(cells, entry, mean)


def memory_tables(summary: Summary, suite: str) -> str:
    """Return a table of peak memory in MiB for each phase and number of threads of a suite."""

    def entry(cell: Cell) -> str:
        best = summary.best(cell, "peak_bytes")
        return "" if best is None else f"{best.value / _MIB:,.1f}"

    return "\n\n".join(
        f"{heading}, peak memory above the data in MiB:\n\n{_grid(cells, entry)}"
        for heading, cells in _tables(summary, suite)
    )


def loss_table(summary: Summary, suite: str) -> str:
    """Return the training log-loss of a suite with one thread."""

    def entry(cell: Cell) -> str:
        best = summary.best(cell, "log_loss")
        return "" if best is None else f"{best.value:.6f}"

    return _grid([cell for cell in summary.cells(suite) if cell.threads == 1], entry)


def thread_table(summary: Summary, suite: str) -> str:
    """Return the wall time of a suite with one and two threads."""
    rows = []
    for one in summary.cells(suite):
        two = one._replace(threads=2)
        ratio = summary.ratio(one, two, "wall_seconds")
        if one.threads == 1 and ratio is not None:
            times = [_with_spread(summary.best(cell, "wall_seconds")) for cell in (one, two)]
            rows.append([one.data, one.phase, one.candidate, *times, ratio_text(ratio)])
    head = ["data", "phase", "candidate", "1 thread, wall s", "2 threads, wall s", "speed-up"]
    return markdown_table(head, rows, 3)


def quality_table(summary: Summary, suite: str) -> str:
    """Return the times to quality, the test log-loss at that moment, and the settings."""

    def entry(cell: Cell) -> str:
        best = summary.best(cell)
        if best is None or best.at_least:
            return _cost(summary, cell)
        result = min(summary.results(cell), key=lambda result: result["cpu_seconds"])
        return f"{number(best.value)} ({result['test']:.4f}; {_setting_text(result['setting'])})"

    return _grid(summary.cells(suite), entry)


def ratio_table(summary: Summary, suite: str, reference: str) -> str:
    """Return how many times as long the reference takes to quality as each other candidate.

    In brackets: including the time for setting up the matrix.
    """

    def with_set_up(cell: Cell) -> float:
        results = summary.results(cell)
        return min((r["cpu_seconds"] + r["setup_seconds"] for r in results), default=0.0)

    def entry(cell: Cell) -> str:
        own = cell._replace(candidate=reference)
        text = ratio_text(summary.ratio(own, cell))
        theirs, whole = with_set_up(own), with_set_up(cell)
        return f"{text} ({number(theirs / whole)}×)" if theirs and whole else text

    return _grid(summary.cells(suite), entry, without=reference)


def end_table(summary: Summary, suite: str) -> str:
    """Return the mean test log-loss at the best rounds on held-out rows.

    In brackets: its standard deviation over seeds, and the mean of the rounds.
    """

    def entry(cell: Cell) -> str:
        tests = list(summary.tests(cell).values())
        if not tests:
            return ""
        spread = f"± {stdev(tests):.4f}, " if len(tests) > 1 else ""
        rounds = mean(result["rounds"] for result in summary.results(cell))
        return f"{mean(tests):.4f} ({spread}{rounds:.0f})"

    return _grid(summary.cells(suite), entry)


def stock_table(summary: Summary, suite: str) -> str:
    """Return CPU seconds of plain trainings by ours and by the official wheel, and the ratio."""
    rows = []
    for cell in summary.cells(suite):
        for result in summary.results(cell)[:1]:
            seconds = [number(result[key]) for key in ("cpu_seconds", "official_cpu_seconds")]
            same = "differ" if result["differs"] else "equal"
            name = cell.candidate.removeprefix("stock ")
            rows.append([name, *seconds, f"{result['ratio']:.3f}", same])
    return markdown_table(["training", "CPU s", "official, CPU s", "ratio", "models"], rows)


def busy_table(summary: Summary, suite: str) -> str:
    """Return wall time by the default number of threads over that by one, by situation."""
    found = [(cell, result) for cell in summary.cells(suite) for result in summary.results(cell)]
    situations = list(dict.fromkeys(name for _, result in found for name in result["ratios"]))
    rows = []
    for cell, result in found:
        ratios = [result["ratios"].get(name) for name in situations]
        entries = ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        rows.append([cell.data, cell.candidate, *entries])
    return markdown_table(["data", "candidate", *situations], rows, 2)


def cores_table(summary: Summary, suite: str) -> str:
    """Return the speed-ups that the structure allows, beside those of real threads."""
    found = [(cell, result) for cell in summary.cells(suite) for result in summary.results(cell)]
    threads = list(dict.fromkeys(n for _, result in found for n in result["allowed"]))
    real = list(dict.fromkeys(n for _, result in found for n in result["real"]))
    rows = [
        [
            cell.data,
            cell.candidate,
            number(1e3 * result["cpu_seconds"]),
            *(f"{result['allowed'][n]:.1f}" for n in threads),
            *(f"{result['real'].get(n, math.nan):.2f}" for n in real),
            f"{result['inflation_16']:.2f}",
        ]
        for cell, result in found
    ]
    head = ["data", "stage", "ms on one", *threads, *(f"{n} real" for n in real), "CPU, 16 tasks"]
    return markdown_table(head, rows, 2)


def parts_table(summary: Summary, suite: str) -> str:
    """Return the parts of each stage that lose most time on 16 threads."""
    rows = []
    for cell in summary.cells(suite):
        for part in [part for result in summary.results(cell)[:1] for part in result["parts"]]:
            if part["lost"] >= _LOST:
                row = [cell.data, cell.candidate, part["name"], part["kind"], str(part["times"])]
                milliseconds = [number(1e3 * part[key]) for key in ("work", "seconds")]
                rows.append([*row, *milliseconds, f"{part['lost']:.0%}"])
    head = ["data", "stage", "part", "", "times", "work, ms", "on 16, ms", "lost"]
    return markdown_table(head, rows, 4)


def side_table(summary: Summary, suite: str) -> str:
    """Return wall and CPU time of several threads over those of one, by data set."""
    rows = []
    for cell in summary.cells(suite):
        for result in summary.results(cell)[:1]:
            seconds = number(result["wall_seconds"])
            ratios = [f"{result[key]:.2f}" for key in ("ratio", "cpu_ratio")]
            same = "differ" if result["differs"] else "equal"
            rows.append([cell.candidate, cell.data, seconds, *ratios, same])
    heads = ["training", "data", "one thread, s", "wall time", "CPU time", "models"]
    return markdown_table(heads, rows, 2)


def latency(summary: Summary, cell: Cell) -> dict[int, float]:
    """Return the microseconds of a call by its number of rows."""
    found = {n: summary.best(cell, f"microseconds_{n}") for n in BATCHES}
    return {n: best.value for n, best in found.items() if best is not None}


def latency_table(summary: Summary, suite: str) -> str:
    """Return the microseconds of calls, and how many times as long as ours they take."""
    rows = []
    for cell in summary.cells(suite):
        ours = latency(summary, cell._replace(candidate="compiled"))
        row = [cell.data, cell.candidate]
        for n, microseconds in latency(summary, cell).items():
            times = (
                f", {number(microseconds / ours[n])}×"
                if ours and cell.candidate != "compiled"
                else ""
            )
            row.append(number(microseconds) + times)
        rows.append(row)
    heads = [f"{n:,} row{'s' * (n > 1)}" for n in BATCHES]
    return markdown_table(["data", "candidate", *heads], rows, 2)


def many_labels_table(summary: Summary, suite: str) -> str:
    """Return rounds and seconds to the target."""
    rows = []
    for cell in summary.cells(suite):
        wall = _with_spread(summary.best(cell, "wall_seconds"))
        rounds = dict.fromkeys(str(result["rounds"]) for result in summary.results(cell))
        cpu = _cost(summary, cell)
        rows.append([cell.candidate, str(cell.threads), ", ".join(rounds), cpu, wall])
    return markdown_table(["candidate", "threads", "rounds", "CPU s", "wall s"], rows)


def pass_table(summary: Summary, suite: str) -> str:
    """Return milliseconds of a pass and of a round, and their quotient."""
    rows = []
    for cell in summary.cells(suite):
        for result in summary.results(cell)[:1]:
            one_pass, passes = 1000 * result["pass_seconds"], result["passes"]
            times = [number(one_pass), number(one_pass * passes), f"{passes:.1f}"]
            rows.append([cell.data, cell.candidate, *times])
    return markdown_table(["data", "candidate", "pass, ms", "round, ms", "passes"], rows, 2)


def chain_table(summary: Summary, suite: str) -> str:
    """Return the training times of the chains, and how many times faster XDCC is."""
    rows = []
    cells = summary.cells(suite)
    for data in dict.fromkeys(cell.data for cell in cells):
        chains = {name: cells[0]._replace(data=data, candidate=name) for name in _CHAINS}
        row = [data]
        for cell in chains.values():
            lengths = {result["chain_length"] for result in summary.results(cell)}
            row += [", ".join(map(str, lengths)), _cost(summary, cell)]
        for ours, slower in _PAIRS_OF_CHAINS:
            row.append(ratio_text(summary.ratio(chains[slower], chains[ours])))
        rows.append(row)
    head = ["data", *(text for name in _CHAINS.values() for text in (name, "CPU s"))]
    return markdown_table(
        [*head, "short: faster", "full: faster", "sketched: faster", "auto: faster"], rows
    )


def roofline(summary: Summary, suite: str) -> str:
    """Return the machine's peak, the shares of it that are reached, and what is counted."""
    if not any(summary.results(cell) for cell in summary.cells(suite)):
        return "Nothing came to its end."
    additions, read_bytes = machine_peaks(summary)
    return (
        f"Peak of one thread, measured in the same processes: {additions / 1e9:.1f} · 10⁹ "
        f"additions of floats to doubles in the first two caches, {read_bytes / 1e9:.1f} GB read "
        "from memory per second. What the histograms of the rounds need:\n\n"
        f"{roofline_table(summary)}\n\n{CONVENTION.strip()}"
    )


def roofline_table(summary: Summary) -> str:
    """Return what the histograms need, how fast they could be, and the share that is reached."""
    rows = []
    for cell in summary.cells("roofline"):
        best = summary.best(cell)
        if best is None or best.at_least:
            continue
        work, seconds = summary.results(cell)[0]["work"], best.value
        additions, read_bytes = machine_peaks(summary)
        rows.append(
            [
                cell.data,
                f"{work['additions'] / 1e9:.3f}",
                f"{work['read_bytes'] / 1e9:.3f}",
                number(seconds),
                f"{work['additions'] / seconds / 1e9:.2f}",
                f"{work['additions'] / seconds / additions:.1%}",
                f"{work['read_bytes'] / seconds / read_bytes:.1%}",
            ]
        )
    head = ["data", "10⁹ additions", "GB", "CPU s", "10⁹ additions / s"]
    return markdown_table([*head, "of the peak of additions", "of the peak of reading"], rows)


def machine_peaks(summary: Summary) -> tuple[float, float]:
    """Return the largest additions and bytes per second that the suite `roofline` measured."""
    peaks = [
        result["peak"] for cell in summary.cells("roofline") for result in summary.results(cell)
    ]
    additions = max(max(peak["additions_l1"], peak["additions_l2"]) for peak in peaks)
    return additions, max(peak["read_bytes"] for peak in peaks)


def remarks(summary: Summary, suite: str) -> str:
    """Say where a candidate was given something else, or was not measured, and why."""
    lines = []
    for cell in summary.cells(suite):
        for result in summary.results(cell)[:1]:
            # Workers and passes keep no parameters.
            if nodes := result.get("parameters", {}).get("max_cached_hist_node"):
                lines.append(
                    f"- {cell.data}, {cell.candidate}: `max_cached_hist_node={nodes}`, since all "
                    "nodes' histograms need more than half of the machine's memory"
                )
        skipped = [r for r in summary.records(cell) if r["outcome"] == "skipped"]
        for why in dict.fromkeys(record["result"]["why"] for record in skipped):
            lines.append(f"- {cell.data}, {cell.candidate}: skipped, {why}")
    return "\n".join(lines)


def _grid(
    cells: Sequence[Cell],
    entry: Callable[[Cell], str],
    mean: Callable[[Sequence[Cell]], str] | None = None,
    *,
    without: str | None = None,
) -> str:
    """Return a table with a row per data set and a column per candidate, and one of their means."""
    data = dict.fromkeys(cell.data for cell in cells)
    columns = {
        name: [cells[0]._replace(data=of, candidate=name) for of in data]
        for name in dict.fromkeys(cell.candidate for cell in cells)
        if name != without
    }
    rows = [[of, *(entry(column[k]) for column in columns.values())] for k, of in enumerate(data)]
    if mean is not None:
        rows.append(["geometric mean", *map(mean, columns.values())])
    return markdown_table(["data", *columns], rows)


def _tables(summary: Summary, suite: str) -> Iterator[tuple[str, list[Cell]]]:
    """Yield a heading, and the cells, of each phase and number of threads."""
    of = attrgetter("phase", "threads")
    for (phase, threads), cells in groupby(sorted(summary.cells(suite), key=of), of):
        yield f"{phase.capitalize()}, {threads} thread{'s' if threads > 1 else ''}", list(cells)


def _setting_text(setting: dict[str, Any]) -> str:
    half = " half" if setting["columns"] < 1 else ""
    csr = " CSR" if setting["csr"] else ""
    return f"{setting['learning_rate']:g} {setting['max_bin']}{half}{csr}"


def _cost(summary: Summary, cell: Cell, measure: str = "cpu_seconds") -> str:
    best = summary.best(cell, measure)
    if best is None:
        return ", ".join(sorted({r["outcome"] for r in summary.records(cell)}))
    return _with_spread(best)


def _with_spread(best: Best | None) -> str:
    if best is None:
        return ""
    if best.at_least:
        return f"> {number(best.value)}"
    return f"{number(best.value)} ({f'+{best.spread:.0%}' if best.repeats > 1 else 'once'})"


def _mean(ratios: Sequence[Ratio], expected: int) -> str:
    """Return the geometric mean; empty if one of the ratios is an upper bound."""
    bounds = {ratio.bound for ratio in ratios}
    if not ratios or "at most" in bounds:
        return ""
    mean = geometric_mean(ratio.value for ratio in ratios)
    note = "" if len(ratios) == expected else f" ({len(ratios)} of {expected})"
    return ratio_text(Ratio(mean, "at least" if "at least" in bounds else "")) + note
