"""The tasks of a configuration, and the choice of parameters from their records.

A `Group` is a line of the tables on one pair of parts of a data set with one seed. With tuning it
has a trial per configuration and inner fold; the best configuration and rule are the final task.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from experiments.engine import registry
from experiments.engine.configuration import Configuration, Entry
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.measures import MEASURES
from experiments.engine.records import Record, RecordStore
from experiments.engine.registry import Params
from experiments.engine.task import Task


@dataclass(frozen=True)
class Choice:
    """A choice: a task on the whole training part, and the decision rule of its model."""

    task: Task
    rule: str
    score: float  # by the tuning metric, on the validation rows; NaN without tuning


@dataclass(frozen=True)
class Group:
    """A line of the tables on a data set, a pair of parts and a seed."""

    line: str
    finals: list[Task]  # a task per combination of parameters, on the whole training part
    # For each of them the tasks on the inner folds; empty lists without tuning.
    trials: list[list[Task]]
    rules: list[str]
    measure: str | None  # the metric of the choice; None: no choice, all `finals` are run
    tuned: tuple[str, ...] = ()  # names of the tuned parameters
    # The group whose chosen parameters are used; the single task in `finals` has the others.
    follows: "Group | None" = None

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.finals[0].dataset

    def tuning_tasks(self) -> list[Task]:
        """Return all trials; none if there is nothing to choose."""
        if self.follows is not None:
            return self.follows.tuning_tasks()
        if len(self.finals) == 1 and len(self.rules) == 1:
            return []
        return [task for tasks in self.trials for task in tasks]

    def tasks(self) -> list[Task]:
        """Return every task that the group may need, for any choice."""
        finals = self.finals
        if self.follows is not None:
            finals = [self._following(task, self.follows.tuned) for task in self.follows.finals]
        return [*self.tuning_tasks(), *finals]

    def choices(self, store: RecordStore) -> list[Choice] | None:
        """Return the final tasks, by the records of the trials in the store.

        With tuning there is one choice, without tuning all combinations. The list is empty if every
        trial failed; None if a record of a trial is missing.
        """
        if self.follows is not None:
            leading = self.follows.choices(store)
            if leading is None:
                return None
            finals = [self._following(choice.task, self.follows.tuned) for choice in leading]
            return [Choice(task, self.rules[0], np.nan) for task in finals]
        if self.measure is None or not self.tuning_tasks():
            return [Choice(t, r, np.nan) for t in self.finals for r in self.rules]
        records = [[store.read(task.name) for task in tasks] for tasks in self.trials]
        if any(record is None for of_draw in records for record in of_draw):
            return None
        measure = MEASURES[self.measure]
        candidates = []
        for number, rule in itertools.product(range(len(self.finals)), self.rules):
            values = [measured(r, rule, self.measure) for r in records[number] if r is not None]
            if not np.isnan(values).any():
                candidates.append(Choice(self.finals[number], rule, float(np.mean(values))))
        if not candidates:
            return []
        keys = measure.best_first(np.array([choice.score for choice in candidates]))
        return [candidates[int(np.argmin(keys))]]

    def _following(self, leading: Task, tuned: tuple[str, ...]) -> Task:
        chosen = {name: leading.params[name] for name in tuned}
        return replace(self.finals[0], params=chosen | self.finals[0].params)


def measured(record: Record, rule: str, measure: str) -> float:
    """Return a metric or a time of a record; NaN if the task failed or does not have it.

    Metrics of labels belong to the rule; those of probabilities are the same for all rules.
    """
    result = record["result"]
    if result is None:
        return np.nan
    seconds = record["run"].get(measure, np.nan)
    return result["readings"][rule].get(measure, scores_of(result, rule).get(measure, seconds))


def scores_of(result: Record, rule: str) -> dict[str, float]:
    """Return the scores of a result for a rule, including those of all rules."""
    parts = [(*name.partition("@"), value) for name, value in result["scores"].items()]
    return {measure: value for measure, at, of, value in parts if not at or of == rule}


def draws(entry: Entry, extra: Params, number: int | None, seed: int) -> list[Params]:
    """Return distinct combinations of parameters to try: the given number, or all.

    `extra` are fixed parameters of exceptions; the seed is that of the random order.
    """
    grid = {name: values for name, values in entry.chosen_from().items() if name not in extra}
    combinations = [
        entry.fixed() | extra | dict(zip(grid, values, strict=True))
        for values in itertools.product(*grid.values())
    ]
    if number is None or number >= len(combinations):
        return combinations
    order = np.random.default_rng(seed).permutation(len(combinations))[:number]
    return [combinations[k] for k in order]


def groups(config: Configuration) -> Iterator[Group]:
    """Yield the groups of a configuration, data set by data set."""
    places = [
        (dataset, evaluation, fold)
        for dataset in config.datasets
        for evaluation in [config.evaluation_of(dataset)]
        for fold in range(evaluation.n_parts)
    ]
    for (dataset, evaluation, fold), seed in itertools.product(places, config.seeds):
        made: dict[str, Group] = {}
        # a following line needs the group of its leading line
        for line in sorted(config.methods, key=lambda line: config.methods[line].params_of or ""):
            skipped = _skipped(config, dataset, line)
            follows = made.get(config.methods[line].params_of or "")
            alone = config.methods[line].params_of is not None and follows is None
            if not skipped and not alone:
                made[line] = _group(config, evaluation, dataset, fold, seed, line, follows)
        yield from (made[line] for line in config.methods if line in made)


def _skipped(config: Configuration, dataset: str, line: str) -> bool:
    return any(exception.skip for exception in config.exceptions_for(dataset, line))


def records_of_studies(configs: Iterable[Configuration]) -> dict[str, set[str]]:
    """Return the names of the records that the configurations of each study may need."""
    names: dict[str, set[str]] = {}
    for config in configs:
        asked = names.setdefault(config.study, set())
        asked.update(task.name for group in groups(config) for task in group.tasks())
    return names


def installed_groups(config: Configuration) -> list[Group]:
    """Return the groups that can be computed here; see `missing_methods`."""
    missing = missing_methods(config)

    def can_run(line: str) -> bool:
        return line not in missing and config.methods[line].params_of not in missing

    return [group for group in groups(config) if can_run(group.line)]


def _group(
    config: Configuration,
    evaluation: Evaluation,
    dataset: str,
    fold: int,
    seed: int,
    line: str,
    follows: Group | None,
) -> Group:
    entry, tuning = config.methods[line], config.tuning
    exceptions = config.exceptions_for(dataset, line)
    extra: Params = {}
    for exception in exceptions:
        extra |= exception.params
    number = None
    if tuning is not None:
        limits = [e.draws for e in exceptions if e.draws is not None]
        limits += [] if tuning.draws == "all" else [tuning.draws]
        number = min(limits, default=None)
    combinations = draws(entry, extra, number, 0 if tuning is None else tuning.seed)

    def task(params: Params, inner: Inner | None = None) -> Task:
        rows = config.row_losses and inner is None
        return Task(dataset, evaluation, fold, inner, entry.method, params, seed, rows)

    folds = []
    if tuning is not None:
        folds = [Inner(tuning.n_folds, fold, tuning.seed) for fold in tuning.used_folds]
    return Group(
        line,
        [task(params) for params in combinations],
        [[task(params, inner) for inner in folds] for params in combinations],
        entry.rule_names(),
        None if tuning is None else entry.tuned_for or tuning.measure,
        tuple(entry.chosen_from()),
        follows,
    )


def missing_methods(config: Configuration) -> dict[str, list[str]]:
    """Return the lines that cannot be computed here, with the modules that are not installed.

    A line that is left out on every data set is not included.
    """
    found = {
        line: registry.method(entry.method).missing()
        for line, entry in config.methods.items()
        if not all(_skipped(config, dataset, line) for dataset in config.datasets)
    }
    return {line: modules for line, modules in found.items() if modules}
