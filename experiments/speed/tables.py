"""The Markdown tables of the report, one function per kind of suite."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from experiments.speed.requirements import Verdict
from experiments.speed.suites import CHAINS, PAIRS_OF_CHAINS
from experiments.speed.summary import Best, Cell, Ratio, Summary, geometric_mean

_MIB = 1 << 20


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Return a number with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def ratio_text(ratio: Ratio) -> str:
    """Return a ratio with its bound, if it has one."""
    sign = {"": "", "at least": "> ", "at most": "< "}[ratio.bound]
    return f"{sign}{number(ratio.value)}×"


def requirement_table(verdicts: Iterable[Verdict]) -> str:
    """Return required and measured number, and whether the one reaches the other."""
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
    return markdown_table(["what", "required", "measured", "", "worst case"], rows)


def cost_tables(summary: Summary, suite: str, reference: str) -> str:
    """Return a table of times for each phase and number of threads of a suite.

    With one thread CPU seconds; with more of them wall seconds, since threads burn CPU time while
    they wait.

    An entry is the least of the repeats, how many times the reference's that is, and by how much
    the slowest repeat took longer.
    """
    parts = []
    for (phase, threads), cells in _tables(summary.cells(suite)):
        measure = "cpu_seconds" if threads == 1 else "wall_seconds"
        candidates = list(dict.fromkeys(cell.candidate for cell in cells))
        rows = []
        ratios: dict[str, list[Ratio]] = {name: [] for name in candidates}
        for data in dict.fromkeys(cell.data for cell in cells):
            own = Cell(suite, phase, data, threads, reference)
            row = [data]
            for name in candidates:
                cell = own._replace(candidate=name)
                row.append(_cost(summary, cell, own, measure))
                if name != reference and (ratio := summary.ratio(cell, own, measure)):
                    ratios[name].append(ratio)
            rows.append(row)
        means = (_mean(ratios[name], len(rows)) for name in candidates)
        rows.append(["geometric mean", *means])
        unit = "CPU seconds" if threads == 1 else "wall seconds"
        parts.append(f"{_heading(phase, threads)}, {unit}:")
        parts.append(markdown_table(["data", *candidates], rows))
    return "\n\n".join(parts)


def memory_tables(summary: Summary, suite: str) -> str:
    """Return a table of peak memory in MiB for each phase and number of threads of a suite."""
    parts = []
    for (phase, threads), cells in _tables(summary.cells(suite)):
        candidates = list(dict.fromkeys(cell.candidate for cell in cells))
        rows = []
        for data in dict.fromkeys(cell.data for cell in cells):
            row = [data]
            for name in candidates:
                best = summary.best(Cell(suite, phase, data, threads, name), "peak_bytes")
                row.append("" if best is None else f"{best.value / _MIB:,.1f}")
            rows.append(row)
        parts.append(f"{_heading(phase, threads)}, peak memory above the data in MiB:")
        parts.append(markdown_table(["data", *candidates], rows))
    return "\n\n".join(parts)


def loss_table(summary: Summary) -> str:
    """Return the training log-loss of the suite `dense` with one thread."""
    cells = [cell for cell in summary.cells("dense") if cell.threads == 1]
    candidates = list(dict.fromkeys(cell.candidate for cell in cells))
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        row = [data]
        for name in candidates:
            best = summary.best(Cell("dense", "end to end", data, 1, name), "log_loss")
            row.append("" if best is None else f"{best.value:.6f}")
        rows.append(row)
    return markdown_table(["data", *candidates], rows)


def thread_table(summary: Summary) -> str:
    """Return the wall time of the suite `threads` with one and two threads."""
    rows = []
    for one in summary.cells("threads"):
        two = one._replace(threads=2)
        ratio = summary.ratio(one, two, "wall_seconds")
        if one.threads == 1 and ratio is not None:
            times = [_with_spread(summary.best(cell, "wall_seconds")) for cell in (one, two)]
            rows.append([one.data, one.phase, one.candidate, *times, ratio_text(ratio)])
    head = ["data", "phase", "candidate", "1 thread, wall s", "2 threads, wall s", "speed-up"]
    return markdown_table(head, rows)


def quality_table(summary: Summary, suite: str) -> str:
    """Return the times to quality, how many times as long others take, and with which settings.

    In brackets: the test log-loss at that moment.
    """
    cells = summary.cells(suite)
    candidates = list(dict.fromkeys(cell.candidate for cell in cells))
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        row = [data]
        for name in candidates:
            cell = Cell(suite, "to quality", data, 1, name)
            best = summary.best(cell)
            if best is None or best.at_least:
                row.append(_cost(summary, cell, cell, "cpu_seconds"))
                continue
            result = min(summary.results(cell), key=lambda result: result["cpu_seconds"])
            setting = setting_text(result["setting"])
            row.append(f"{number(best.value)} ({result['test']:.4f}; {setting})")
        rows.append(row)
    return markdown_table(["data", *candidates], rows)


def ratio_table(summary: Summary, suite: str, reference: str) -> str:
    """Return how many times as long the reference takes to quality as each candidate.

    With what setting up the matrix takes besides, in brackets.
    """
    cells = summary.cells(suite)
    candidates = [c for c in dict.fromkeys(cell.candidate for cell in cells) if c != reference]
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        row = [data]
        for name in candidates:
            cell = Cell(suite, "to quality", data, 1, name)
            ratio = summary.ratio(cell._replace(candidate=reference), cell)
            text = "" if ratio is None else ratio_text(ratio)
            whole = [_with_set_up(summary, c) for c in (cell._replace(candidate=reference), cell)]
            if all(whole):
                text += f" ({number(whole[0] / whole[1])}×)"
            row.append(text)
        rows.append(row)
    return markdown_table(["data", *candidates], rows)


def end_table(summary: Summary) -> str:
    """Return the test log-loss at the best round on held-out rows, and that round's number."""
    cells = summary.cells("end")
    candidates = list(dict.fromkeys(cell.candidate for cell in cells))
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        row = [data]
        for name in candidates:
            results = summary.results(Cell("end", "to the end", data, 1, name))
            row += [f"{r['test']:.4f} ({r['rounds']})" for r in results[:1]] or [""]
        rows.append(row)
    return markdown_table(["data", *candidates], rows)


def many_labels_table(summary: Summary) -> str:
    """Return rounds and seconds of Delicious to its target."""
    rows = []
    for cell in summary.cells("many_labels"):
        wall = summary.best(cell, "wall_seconds")
        rounds = {str(result["rounds"]) for result in summary.results(cell)}
        cost = _cost(summary, cell, cell, "cpu_seconds")
        rows.append(
            [cell.candidate, str(cell.threads), ", ".join(rounds), cost, _with_spread(wall)]
        )
    return markdown_table(["candidate", "threads", "rounds", "CPU s", "wall s"], rows)


def pass_table(summary: Summary) -> str:
    """Return milliseconds of a pass and of a round, and their quotient."""
    rows = []
    for cell in summary.cells("pass"):
        for result in summary.results(cell)[:1]:
            one_pass, passes = 1000 * result["pass_seconds"], result["passes"]
            times = [number(one_pass), number(one_pass * passes), f"{passes:.1f}"]
            rows.append([cell.data, cell.candidate, *times])
    return markdown_table(["data", "candidate", "pass, ms", "round, ms", "passes"], rows)


def setting_text(setting: dict[str, Any]) -> str:
    """Return a setting in a few words."""
    words = [f"{setting['learning_rate']:g}", str(setting["max_bin"])]
    if setting["columns"] < 1:
        words.append("half")
    if setting["csr"]:
        words.append("CSR")
    return " ".join(words)


def _with_set_up(summary: Summary, cell: Cell) -> float:
    return min((r["cpu_seconds"] + r["setup_seconds"] for r in summary.results(cell)), default=0.0)


def chain_table(summary: Summary) -> str:
    """Return the training times of the chains, and how many times faster XDCC is."""
    cells = summary.cells("chain")
    rows = []
    for data in dict.fromkeys(cell.data for cell in cells):
        theirs = Cell("chain", "chain", data, 1, "classifier_chain")
        row = [data]
        for name in CHAINS:
            cell = theirs._replace(candidate=name)
            lengths = {result["chain_length"] for result in summary.results(cell)}
            row += [", ".join(map(str, lengths)), _cost(summary, cell, cell, "cpu_seconds")]
        for name, slower in PAIRS_OF_CHAINS:
            ours = theirs._replace(candidate=name)
            ratio = summary.ratio(theirs._replace(candidate=slower), ours)
            row.append("" if ratio is None else ratio_text(ratio))
        rows.append(row)
    names = ["short chain", "full chain", "classifier chain", "auto chain", "booster per label"]
    head = ["data", *(text for name in names for text in (name, "CPU s"))]
    return markdown_table([*head, "short: faster", "full: faster", "auto: faster"], rows)


def roofline_table(summary: Summary) -> str:
    """Return what the histograms need, how fast they could be, and the share that is reached."""
    rows = []
    for cell in summary.cells("roofline"):
        share = roofline_share(summary, cell)
        if share is not None:
            work = summary.results(cell)[0]["work"]
            seconds, adding, reading = share
            rows.append(
                [
                    cell.data,
                    f"{work['additions'] / 1e9:.3f}",
                    f"{work['read_bytes'] / 1e9:.3f}",
                    number(seconds),
                    f"{work['additions'] / seconds / 1e9:.2f}",
                    f"{adding:.1%}",
                    f"{reading:.1%}",
                ]
            )
    head = ["data", "10⁹ additions", "GB", "CPU s", "10⁹ additions / s"]
    return markdown_table([*head, "of the peak of additions", "of the peak of reading"], rows)


def roofline_share(summary: Summary, cell: Cell) -> tuple[float, float, float] | None:
    """Return the CPU seconds of a training and the shares of the machine's peaks it reaches.

    Parameters
    ----------
    summary : Summary
    cell : Cell
        Of the suite `roofline`.

    Returns
    -------
    tuple of (seconds, share of additions, share of bytes), or None
        None if there is no measurement.
    """
    best = summary.best(cell)
    if best is None or best.at_least:
        return None
    work = summary.results(cell)[0]["work"]
    additions, read_bytes = machine_peaks(summary)
    return (
        best.value,
        work["additions"] / best.value / additions,
        work["read_bytes"] / best.value / read_bytes,
    )


def machine_peaks(summary: Summary) -> tuple[float, float]:
    """Return the largest additions and bytes per second that the suite `roofline` measured."""
    peaks = [
        result["peak"] for cell in summary.cells("roofline") for result in summary.results(cell)
    ]
    additions = max(max(peak["additions_l1"], peak["additions_l2"]) for peak in peaks)
    return additions, max(peak["read_bytes"] for peak in peaks)


def _tables(cells: Sequence[Cell]) -> list[tuple[tuple[str, int], list[Cell]]]:
    def table(cell: Cell) -> tuple[str, int]:
        return cell.phase, cell.threads

    return [(key, list(group)) for key, group in groupby(sorted(cells, key=table), key=table)]


def _heading(phase: str, threads: int) -> str:
    return f"{phase.capitalize()}, {threads} thread{'s' if threads > 1 else ''}"


def _cost(summary: Summary, cell: Cell, reference: Cell, measure: str) -> str:
    best = summary.best(cell, measure)
    if best is None:
        return ", ".join(sorted({r["outcome"] for r in summary.records(cell)}))
    ratio = None if cell == reference else summary.ratio(cell, reference, measure)
    ratio_part = "" if ratio is None else f", {ratio_text(ratio)}"
    return _with_spread(best) + ratio_part


def _with_spread(best: Best | None) -> str:
    if best is None:
        return ""
    if best.at_least:
        return f"> {number(best.value)}"
    return f"{number(best.value)} ({f'+{best.spread:.0%}' if best.repeats > 1 else 'once'})"


def _mean(ratios: Sequence[Ratio], expected: int) -> str:
    """Return the geometric mean; it has no bound to speak of where a ratio is at most so much."""
    bounds = {ratio.bound for ratio in ratios}
    if not ratios or "at most" in bounds:
        return ""
    mean = geometric_mean(ratio.value for ratio in ratios)
    note = "" if len(ratios) == expected else f" ({len(ratios)} of {expected})"
    return ratio_text(Ratio(mean, "at least" if "at least" in bounds else "")) + note
