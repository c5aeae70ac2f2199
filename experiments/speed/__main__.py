"""The speed benchmark: our updater and the libraries that a user could choose instead.

    python -m experiments.speed run --output results/speed
    python -m experiments.speed run --suite dense,csr --data emotions --output results/e
    python -m experiments.speed pack results/speed --to experiments/speed/speed_results/main.csv
    python -m experiments.speed report experiments/speed/speed_results/main.csv

`run` measures candidates in turns, each time in a new process: CPU seconds, wall seconds and peak
memory. It writes a record of each measurement, so you can continue an interrupted run. `pack` makes
the table of the measurements that the reports show; the repository keeps the tables. `report` makes
`QUALITY.md`, `RESULTS.md`, `DROP_IN.md`, `SIDE.md`, `PREDICTION.md`, `CORES.md` and `OUTPUTS.md`,
and their figures.

LightGBM, CatBoost and Treelite are in the extra `bench`; the data sets of `xdcc.data` are in
XDCC_DATA. The roofline needs a C++ compiler; the benchmark needs Linux.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from experiments.speed.candidates import require_packages
from experiments.speed.limits import find_compiler
from experiments.speed.machine import describe_machine, installed_versions
from experiments.speed.results import Results
from experiments.speed.run import run
from experiments.speed.suites import CANDIDATES, SUITES, plan
from experiments.speed.summary import Summary

DEFAULT_TIME_LIMIT = 900.0


def main(args: list[str] | None = None) -> None:
    """Run the benchmark with the given arguments, those of the command line by default."""
    options = _parser().parse_args(args)
    options.command(options)


def _run(options: argparse.Namespace) -> None:
    groups = plan(
        options.suite,
        data=options.data,
        candidates=options.candidates,
        threads=options.threads,
        rounds=options.rounds,
        seed=options.seed,
    )
    require_packages({job.candidate for group in groups for job in group})
    if {"roofline", "pass"} & set(options.suite):
        find_compiler()
    header = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "settings": {"rounds": options.rounds or "each data set's own", "seed": options.seed},
    }
    results = Results.open(options.output, header)
    run(groups, options.repeats, options.time_limit, results)
    summary = Summary(results.records)
    if summary.cells("roofline"):
        from experiments.speed.tables import roofline_table  # as in `_report`

        print(roofline_table(summary))
    print(f"Measurements: {options.output}")


def _pack(options: argparse.Namespace) -> None:
    from experiments.speed.result_table import Measurements, shown, write_table  # as in `_report`

    results = Results.open(options.folder)
    table = options.to or options.folder.with_name(f"{options.folder.name}.csv")
    for file in write_table(table, Measurements(results.header, shown(results.records))):
        print(f"Table: {file}")


def _report(options: argparse.Namespace) -> None:
    from experiments.speed.report import write_reports  # draws: not for the children to import
    from experiments.speed.result_table import read_table

    for file in write_reports(read_table(options.table), options.to):
        print(f"Report: {file}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.speed",
        description="Compare the speed of the multi-label updater with other libraries.",
        epilog="suites: " + "; ".join(f"{name}: {suite.title}" for name, suite in SUITES.items()),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="measure")
    runs.set_defaults(command=_run)
    add = runs.add_argument
    add("--suite", type=_names, default=list(SUITES), metavar="LIST",
        help=f"comma-separated, of {', '.join(SUITES)} (default: all)")  # fmt: skip
    add("--data", type=_names, metavar="LIST",
        help="comma-separated data sets, or synthetic-ROWSxFEATURESxLABELS, in place of the "
        "suites' own")  # fmt: skip
    add("--candidates", type=_names, metavar="LIST",
        help=f"comma-separated, of {', '.join(CANDIDATES)} (default: all)")  # fmt: skip
    add("--repeats", type=_positive(int), default=3, metavar="N",
        help="how often to measure (default: 3)")  # fmt: skip
    add("--threads", type=_threads, default=[1, 2], metavar="LIST",
        help="comma-separated, for the suites dense, rounds and csr (default: 1,2)")  # fmt: skip
    add("--rounds", type=_positive(int), metavar="N",
        help="boosting rounds (default: each data set's own; in chains 20)")  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    add("--time-limit", type=_positive(float), default=DEFAULT_TIME_LIMIT, metavar="S",
        help="CPU seconds after which a training is ended (default: 900)")  # fmt: skip
    add("--output", type=Path, required=True, metavar="DIR", help="where to write, or to go on")

    packs = commands.add_parser("pack", help="make the table of the measurements")
    packs.set_defaults(command=_pack)
    packs.add_argument("folder", type=Path, metavar="DIR", help="that a run wrote to")
    packs.add_argument("--to", type=Path, metavar="TABLE",
        help="the table, a CSV file (default: beside the folder)")  # fmt: skip

    report = commands.add_parser(
        "report",
        help="write QUALITY.md, RESULTS.md, DROP_IN.md, PREDICTION.md, CORES.md, OUTPUTS.md",
    )
    report.set_defaults(command=_report)
    report.add_argument("table", type=Path, metavar="TABLE", help="that `pack` made")
    report.add_argument("--to", type=Path, default=Path(__file__).parent, metavar="DIR",
        help="where to write (default: beside this file)")  # fmt: skip

    return parser


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _positive[T: (int, float)](number: Callable[[str], T]) -> Callable[[str], T]:
    def parse(text: str) -> T:
        try:
            value = number(text)
        except ValueError:
            value = number("0")
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
        return value

    return parse


def _threads(text: str) -> list[int]:
    return [_positive(int)(name) for name in _names(text)]


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        sys.exit(f"experiments.speed: {error}")
