"""The command line: `python -m experiments list | run | pack | report | notebooks`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from experiments import RESULTS
from experiments.engine import plan, registry
from experiments.engine.configuration import (
    SIZES,
    Configuration,
    configuration_files,
    experiment_names,
    find_configuration,
    load_configuration,
)
from experiments.engine.pins import pin_of, pins_file, read_pins, write_pins
from experiments.engine.progress import Display
from experiments.engine.records import RecordStore, StorageError, open_store
from experiments.engine.runner import RunInterruptedError, Runner
from experiments.engine.table_lines import TableError
from experiments.engine.task import check_loads
from experiments.engine.yaml_file import ConfigurationError
from experiments.report.pages import PageError, write_pages

if TYPE_CHECKING:
    from experiments.engine.results import Results

KEPT = RESULTS.parent
"""Folder of the reports that are kept in the repository."""


class DataMissingError(RuntimeError):
    """Data sets of a configuration cannot be loaded."""


class NoResultsError(RuntimeError):
    """No experiment is finished, or none was named."""


def main(args: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _parser().parse_args(args)
    console = Console(stderr=True, soft_wrap=True)
    try:
        options.command(options, console)
    except (
        registry.UnknownNameError,
        ConfigurationError,
        DataMissingError,
        NoResultsError,
        StorageError,
        RunInterruptedError,
        TableError,
        PageError,
    ) as error:
        message = error.strerror if isinstance(error, StorageError) else str(error)
        console.print(f"[red]error:[/red] {escape(message or str(error))}", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. Run the same command to continue.")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="folder of the records and reports (default: experiments/results)",
    )
    commands = parser.add_subparsers(required=True, title="commands")

    listing = commands.add_parser("list", help="configurations, data sets and methods")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="run the missing tasks of an experiment")
    run.add_argument("config", nargs="+", help="name of a configuration, or a YAML file")
    run.add_argument("-p", "--processes", type=_positive, default=2, metavar="N",
        help="number of tasks at a time (default: 2)")  # fmt: skip
    run.add_argument("--retry-failed", action="store_true",
        help="run failed tasks again")  # fmt: skip
    run.add_argument("--predictions", action="store_true",
        help="keep the predictions of the final models, as .npz files")  # fmt: skip
    run.add_argument("--dry-run", action="store_true",
        help="only show what would be done")  # fmt: skip
    run.set_defaults(command=_run)

    report = commands.add_parser("report", help="write the tables and figures of an experiment")
    report.add_argument("config", nargs="*", help="name of a configuration, or a YAML file")
    report.add_argument("--all", action="store_true",
        help="all experiments of the package that have a table of results: a report in the folder "
        "of each paper and study, and the overview README.md")  # fmt: skip
    report.add_argument("--pages", action="store_true",
        help="write the blocks of the README and of the documentation that have numbers, from the "
        "tables and the reports")  # fmt: skip
    report.add_argument("--output", type=Path, metavar="DIR",
        help="output folder (default: reports in the folder of the results; with --all and the "
        "kept results: the folder experiments)")  # fmt: skip
    report.add_argument("--name",
        help="name of the files (default: the configuration's; for several: REPORT)")  # fmt: skip
    report.add_argument("--latex", action="store_true",
        help="write a LaTeX document, too, and the figures as PDF; not with --all")  # fmt: skip
    report.set_defaults(command=_report)

    notebooks = commands.add_parser(
        "notebooks", help="execute the notebooks whose results are available, and store the outputs"
    )
    notebooks.set_defaults(command=_notebooks)

    pack = commands.add_parser(
        "pack",
        help="make the tables of results of finished experiments, and move their records into one "
        "compressed file per study",
    )
    pack.add_argument("config", nargs="*",
        help="name of a configuration, or a YAML file (default: the records of all configurations "
        "of the package, and the tables of the larger size)")  # fmt: skip
    pack.set_defaults(command=_pack)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


def _list(options: argparse.Namespace, console: Console) -> None:
    output = Console(soft_wrap=True, highlight=False)
    output.print("[bold]Configurations[/bold]")
    for name, file in configuration_files().items():
        try:
            title = escape(load_configuration(file).title)
        except ConfigurationError as error:
            title = f"[red]{escape(str(error))}[/red]"
        output.print(f"  {name:24} {title}")
    output.print("\n[bold]Data sets[/bold]")
    output.print("  " + ", ".join(registry.datasets()))
    output.print("\n[bold]Methods[/bold]")
    for name, method in registry.methods().items():
        missing = method.missing()
        note = f" [yellow](not installed: {', '.join(missing)})[/yellow]" if missing else ""
        output.print(f"  {name:24} {escape(method.title)}{note}")


def _run(options: argparse.Namespace, console: Console) -> None:
    configs = [load_configuration(find_configuration(name)) for name in options.config]
    for config in [_on_data_that_is_there(config, console) for config in configs]:
        _run_one(config, options, console)


def _run_one(config: Configuration, options: argparse.Namespace, console: Console) -> None:
    store = _store(options, console)
    for line, modules in plan.missing_methods(config).items():
        console.print(f"{line} is left out: {', '.join(modules)} is not installed", highlight=False)
    groups = plan.installed_groups(config)
    runner = Runner(
        store,
        n_processes=options.processes,
        keep_predictions=config.keep_predictions or options.predictions,
        time_limit=config.time_limit,
        retry_failed=options.retry_failed,
    )
    missing = runner.missing(groups)
    console.print(f"{config.title}: {len(missing)} tasks to do", highlight=False)
    if not missing or options.dry_run:
        return
    measure = config.tuning.measure if config.tuning else config.report_measure()
    with Display(
        config.name, groups, missing, store, measure, options.processes, console
    ) as display:
        runner.on_start, runner.on_end = display.start, display.end
        runner.run(groups)


def _on_data_that_is_there(config: Configuration, console: Console) -> Configuration:
    """Load every data set once, to find a missing one before anything is trained.

    If one is missing and the configuration names other data sets for that case, they replace all.
    """
    faults = []
    for name in config.datasets:
        try:
            check_loads(name, config.evaluation_of(name))
        except (OSError, ValueError) as error:
            faults.append(f"{name}: {error}")
    other = config.on_other_data()
    if faults and other is not None:
        console.print(
            f"{config.name} runs on {', '.join(other.datasets)} instead of its data sets, because "
            f"{len(faults)} of {len(config.datasets)} cannot be loaded:\n" + "\n".join(faults),
            highlight=False,
        )
        return other
    if faults:
        raise DataMissingError("data sets cannot be loaded:\n" + "\n".join(faults))
    return config


def _loaded(
    name: str, options: argparse.Namespace, store: RecordStore
) -> tuple[Configuration, "Results"]:
    """Read the results of a configuration: its records, or its table if some of them are missing.

    On its other data sets if only those have results.
    """
    from experiments.engine.result_table import read_table, table_file
    from experiments.engine.results import load_results

    config = load_configuration(find_configuration(name))
    results = load_results(config, store)
    if not results.n_missing:
        return config, results
    table = table_file(config.name, options.results)
    if table.exists():
        return config, read_table(table, config)
    other = config.on_other_data()
    if other is not None and results.table.empty:
        of_other = load_results(other, store)
        if not of_other.table.empty:
            return other, of_other
    return config, results


def _report(options: argparse.Namespace, console: Console) -> None:
    from experiments.report.document import write_report, write_reports

    if bool(options.config) + options.all + options.pages != 1:
        raise NoResultsError("Name configurations, or give --all, or --pages.")
    if options.pages:
        for file in write_pages():
            console.print(f"written: {file}", highlight=False)
        return
    if options.all and options.latex:
        raise NoResultsError("--latex needs the names of configurations, not --all.")
    output = options.output or options.results / "reports"
    if options.all:
        kept = options.output is None and options.results == RESULTS
        pins = read_pins(pins_file(options.results))
        files = write_reports(_finished(options.results, console), pins, KEPT if kept else output)
    else:
        store = _store(options, console)
        loaded = [_loaded(name, options, store) for name in options.config]
        default = loaded[0][0].name if len(loaded) == 1 else "REPORT"
        files = write_report(loaded, output, options.name or default, latex=options.latex)
    for file in files:
        console.print(f"written: {file}", highlight=False)


def _finished(results: Path, console: Console) -> dict[str, tuple[Configuration, "Results"]]:
    from experiments.engine.result_table import load_finished

    found = {}
    for name in experiment_names():
        try:
            found[name] = load_finished(name, results)
        except FileNotFoundError as missing:
            console.print(str(missing), highlight=False)
    if not found:
        raise NoResultsError(f"{results} has no table of results of an experiment of the package")
    return found


def _notebooks(options: argparse.Namespace, console: Console) -> None:
    from experiments.report.notebook import NOTEBOOKS, Experiment, execute_in_place, experiments_of

    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        try:
            for name in experiments_of(file):
                Experiment(name, options.results)
        except FileNotFoundError as missing:
            console.print(f"{file.name}: {missing}", highlight=False)
            continue
        execute_in_place(file)
        console.print(f"executed: {file.name}", highlight=False)


def _pack(options: argparse.Namespace, console: Console) -> None:
    names = options.config or configuration_files()
    configs = [load_configuration(find_configuration(name)) for name in names]
    store = _store(options, console)
    for file, number in store.pack(plan.records_of_studies(configs)).items():
        console.print(f"written: {file} ({number} records)", highlight=False)
    left = len(store.loose_names())
    if left:
        console.print(
            f"{left} records stay unpacked: broken, or of no named configuration", highlight=False
        )
    if not options.config:
        configs = [config for config in configs if config.name.endswith(SIZES[0])]
    _write_tables(configs, store, options.results, console)


def _write_tables(
    configs: list[Configuration], store: RecordStore, results: Path, console: Console
) -> None:
    """Write the tables of finished configurations, and the pins of their studies' records."""
    from experiments.engine.result_table import table_file, write_table
    from experiments.engine.results import load_results

    cpu_seconds: dict[str, dict[str, float]] = {}
    for config in configs:
        found = load_results(config, store, to_first_missing=True)
        if found.n_missing:
            console.print(f"{config.name}: records are missing, so no table", highlight=False)
            continue
        for file in write_table(table_file(config.name, results), config, found):
            console.print(f"written: {file}", highlight=False)
        if config.name in configuration_files():
            cpu_seconds.setdefault(config.study, {}).update(found.cpu_seconds)
    pins = read_pins(pins_file(results))
    for study, seconds in cpu_seconds.items():
        pack = store.pack_path(study)
        pins[pack.name] = pin_of(pack, seconds)
    write_pins(pins_file(results), pins)


def _store(options: argparse.Namespace, console: Console) -> RecordStore:
    said = set()

    def report_broken(message: str) -> None:
        if message not in said:
            console.print(f"[yellow]{escape(message)}[/yellow]", highlight=False)
        said.add(message)

    return open_store(options.results, report_broken)


if __name__ == "__main__":
    sys.exit(main())
