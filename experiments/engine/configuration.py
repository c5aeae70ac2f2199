"""Configurations: what an experiment compares, as a YAML file, and its checks.

`load_configuration` reads a file and checks all of it before anything is trained: keys, values,
names of data sets, methods, rules and metrics, and whether the methods accept the parameters.
An error names the file, the key in it, and what is allowed there.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from experiments import PAPERS, STUDIES
from experiments.engine import registry
from experiments.engine.evaluation import Evaluation
from experiments.engine.measures import MEASURES
from experiments.engine.registry import suggestion
from experiments.engine.yaml_file import ConfigurationError, Part, checked, read_yaml

FOLDERS = (PAPERS, STUDIES)
"""Folders whose folders hold the configurations that come with the package."""

SIZES = ("full", "quick")
"""The sizes of a configuration of the package; `full` if its file name has none."""


def _known_measure(name: str) -> str:
    if name not in MEASURES:
        raise ValueError(f"unknown metric {name!r}. {suggestion(name, MEASURES)}")
    return name


def _known_dataset(name: str) -> str:
    registry.dataset(name)
    return name


def _known_method(name: str) -> str:
    registry.method(name)
    return name


def _draws(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if not whole and value != "all":
        raise ValueError(f"{value!r} is not allowed; allowed are whole numbers from 1, and 'all'")
    return value


MeasureName = Annotated[str, AfterValidator(_known_measure)]
Draws = Annotated[Any, AfterValidator(_draws)]
DatasetName = Annotated[str, AfterValidator(_known_dataset)]
MethodName = Annotated[str, AfterValidator(_known_method)]


Figure = Literal[
    "xdcc_heat_maps", "time_against_f1", "gain_against_seconds", "loss_plane", "rdt_sequences"
]
"""Names of `experiments.report.figures.FIGURES`, which is slow to import."""


class EvaluationPart(Part):
    """Key `evaluation`; see `experiments.engine.evaluation.Evaluation`."""

    type: Literal["train_test", "first_rows", "k_fold", "repeated", "whole"]
    folds: int = Field(10, ge=2)
    assignment: Literal["stratified", "shuffled", "blocks"] = "stratified"
    rows: Literal["all", "train"] = "all"
    repeats: int = Field(1, ge=1)
    train_share: float = Field(2 / 3, gt=0, lt=1)
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _no_idle_key(self) -> Self:
        allowed = {
            "train_test": {"type", "seed"},
            "first_rows": {"type", "train_share"},
            "k_fold": {"type", "folds", "assignment", "rows", "repeats", "seed"},
            "repeated": {"type", "repeats", "train_share", "seed"},
            "whole": {"type"},
        }[self.type]
        if idle := self.model_fields_set - allowed:
            raise ValueError(
                f"{', '.join(sorted(idle))} cannot be used with type {self.type}; allowed are "
                f"{', '.join(sorted(allowed))}"
            )
        if self.assignment == "blocks" and self.repeats > 1:
            raise ValueError("blocks of rows are the same in every repeat; repeats must be 1")
        return self

    def evaluation(self) -> Evaluation:
        """Return the evaluation that this describes."""
        return Evaluation(**self.model_dump())


class Tuning(Part):
    """Key `tuning`: how parameters are chosen, using only rows of the training part."""

    measure: MeasureName  # the metric that the choice optimises
    # Number of random configurations from a method's grid, without repetition and the same for all
    # data sets; or "all".
    draws: Draws
    # Share of the training part for validation: 1/2, 1/3, 1/4 and so on.
    split: float | None = Field(None, gt=0, le=0.5)
    folds: int | None = Field(
        None, ge=2
    )  # instead of `split`: cross-validation with this number of folds
    seed: int = Field(0, ge=0)  # of the draws and of the inner folds

    @model_validator(mode="after")
    def _one_division(self) -> Self:
        if (self.split is None) == (self.folds is None):
            raise ValueError("give one of split and folds")
        if self.split is not None and abs(1 / self.split - round(1 / self.split)) > 0.02:
            raise ValueError(f"split is {self.split}; allowed are 1/2, 1/3, 1/4 and so on")
        return self

    @property
    def n_folds(self) -> int:
        """Number of folds that the training part is divided into."""
        return self.folds if self.folds is not None else round(1 / (self.split or 1))

    @property
    def used_folds(self) -> range:
        """The folds that are used for validation."""
        return range(self.n_folds if self.folds is not None else 1)


class Entry(Part):
    """A line of the tables: a method with its parameters and decision rules."""

    method: MethodName  # name in `experiments/methods`
    params: dict[str, Any] = {}  # fixed parameters, instead of the method's own
    # Values to draw from; None: the method's own grid without the names in `params`.
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] | None = None
    # Decision rules; several are tuned like a parameter. None: the method's first.
    rules: Annotated[list[str], Field(min_length=1)] | None = None
    # The line whose chosen parameters this line uses instead of its own choice, unless `params` or
    # the method's file fixes them.
    params_of: str | None = None
    tuned_for: MeasureName | None = None  # metric of its choice, instead of the tuning's
    published: str | None = None  # name of the line in the published numbers

    @model_validator(mode="after")
    def _fits_method(self) -> Self:
        method = registry.method(self.method)
        for name in self.rules or ():
            if name not in method.rules:
                raise ValueError(
                    f"{self.method} has no rule {name!r}. {suggestion(name, method.rules)}"
                )
        if twice := self.params.keys() & (self.grid or {}).keys():
            raise ValueError(f"{', '.join(sorted(twice))} is in params and in grid")
        if self.params_of is not None and (self.grid or len(self.rules or ()) > 1):
            raise ValueError("params_of cannot be combined with a grid or several rules")
        if not method.missing():
            self._build_once(method)
        return self

    def _build_once(self, method: registry.Method) -> None:
        """Build an estimator with the first values, to check the names of the parameters."""
        first = {name: values[0] for name, values in self.chosen_from().items()}
        try:
            method.build(registry.dataset("digits-tiny").load(None), 0, **self.fixed() | first)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.method} does not accept these parameters: {error}") from error

    def chosen_from(self) -> dict[str, list[Any]]:
        """Return the grid of this line."""
        if self.params_of is not None:
            return {}
        grid = registry.method(self.method).grid if self.grid is None else self.grid
        return {name: values for name, values in grid.items() if name not in self.params}

    def fixed(self) -> dict[str, Any]:
        """Return the parameters that are the same for all draws."""
        own = registry.method(self.method).params
        return {k: v for k, v in (own | self.params).items() if k not in self.chosen_from()}

    def rule_names(self) -> list[str]:
        """Return the rules to choose from."""
        return self.rules or [next(iter(registry.method(self.method).rules))]


class SpecialCase(Part):
    """Key `exceptions`: what is different on some data sets."""

    datasets: list[DatasetName]
    methods: list[str] | None = None  # lines of the tables; None: all
    params: dict[str, Any] = {}  # fixed parameters, also instead of values in a grid
    draws: int | None = Field(None, ge=1)  # number of draws
    evaluation: EvaluationPart | None = None  # another evaluation; for all methods only
    skip: bool = False  # whether these methods are left out
    reason: str  # the reason, for the report

    @model_validator(mode="after")
    def _same_parts_for_all(self) -> Self:
        if self.evaluation is not None and self.methods is not None:
            raise ValueError(
                "an exception with another evaluation applies to all methods: leave methods out"
            )
        return self


class Claim(Part):
    """A statement with the comparisons, and their test, that decide whether it holds here."""

    text: str  # the statement of the paper, such as "XDCC cumulated is best in F1"
    measure: MeasureName
    # If given, the mean rank in `measure` and these is compared.
    more_measures: list[MeasureName] = []
    # Lines of the tables; each must be better than the next.
    order: Annotated[list[str], Field(min_length=1)]
    # Instead: the first of `order` must be better than all of these.
    first_of: list[str] | None = None
    # A parameter: each of `order` must be better with the first of `values` than with the second.
    along: str | None = None
    values: Annotated[list[Any], Field(min_length=2, max_length=2)] | None = None
    # The test: Wilcoxon's over the data sets; Nemenyi's of the average ranks of these lines, after
    # Friedman's; one over the folds or rows of each data set; or one over the divisions of all.
    by: Literal["data sets", "ranks", "folds", "divisions"] = "data sets"
    of: Literal["all", "most"] = "all"  # how many of the comparisons must hold
    datasets: list[DatasetName] | None = None  # None: all

    @model_validator(mode="after")
    def _compares(self) -> Self:
        if self.first_of is None and self.along is None and len(self.order) < 2:
            raise ValueError("order needs two lines, or first_of, or along")
        if (self.along is None) != (self.values is None):
            raise ValueError("give both along and values, or neither")
        if self.more_measures and self.by in ("folds", "divisions"):
            raise ValueError(f"more_measures cannot be used with by: {self.by}")
        if self.by == "ranks" and len(self.names()) < 3:
            raise ValueError("by: ranks needs three lines")
        return self

    def measures(self) -> list[str]:
        """Return the names of `measure` and of `more_measures`."""
        return [self.measure, *self.more_measures]

    def lines(self) -> list[str]:
        """Return all lines of the comparison."""
        return list(dict.fromkeys([*self.order, *(self.first_of or ())]))

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of which the first must be better."""
        if self.values is not None:
            one, other = (f", {self.along} {value}" for value in self.values)
            return [(line + one, line + other) for line in self.order]
        if self.first_of is not None:
            return [(self.order[0], other) for other in self.first_of if other != self.order[0]]
        return list(zip(self.order, self.order[1:], strict=False))

    def names(self) -> list[str]:
        """Return the compared lines, or lines with a value."""
        return list(dict.fromkeys(name for pair in self.pairs() for name in pair))


class PublishedTable(Part):
    """Where the published numbers of a section are."""

    table: str  # number of the table
    # Our name of a metric → its published name, if they differ.
    measures: dict[MeasureName, str] = {}
    scale: float = 1.0  # factor of the published numbers (0.01 for percentages)
    tolerance: float = Field(0.02, ge=0)  # larger differences are marked


class Section(Part):
    """A table or figure of the report."""

    # `scores`: a line per method, a column per data set. `ranks`: average ranks in several
    # metrics. `critical_difference`: the diagram of Nemenyi's test. `fold_tests`: the first of
    # `lines` compared with each other line, by a paired t-test over the folds of each data set.
    # `bbc_cv`: the best of all combinations, and its loss without selection bias. `statistics`: a
    # line per data set, a column per metric. `pareto`: training time against a metric. `curve`:
    # metrics against a parameter or the stages of a prediction. `figure`: drawn by the function
    # that `draw` names. `shares`: the means of `cells`, over the data sets that all of them have.
    kind: Literal[
        "scores",
        "ranks",
        "critical_difference",
        "fold_tests",
        "bbc_cv",
        "statistics",
        "pareto",
        "curve",
        "figure",
        "shares",
    ]
    title: str
    measures: Annotated[list[MeasureName], Field(min_length=1)]
    lines: list[str] | None = None  # methods; None: all
    datasets: list[DatasetName] | None = None  # None: all
    published: PublishedTable | None = None
    x: str = "stage"  # for `curve`: a parameter, or "stage"
    draw: Figure | None = None  # for `figure`: a name in `experiments.report.figures.FIGURES`
    columns: list[str] = []  # for `shares`: heads of the columns of `cells`
    # For `shares`: a row's title → its lines, one for each column; None: an empty cell.
    cells: dict[str, list[str | None]] = {}
    claims: list[Claim] = []
    note: str | None = None  # a sentence that explains the table

    @model_validator(mode="after")
    def _says_what_to_draw(self) -> Self:
        if (self.kind == "figure") != (self.draw is not None):
            raise ValueError("a section of the kind figure, and no other, needs draw")
        if (self.kind == "shares") != bool(self.cells):
            raise ValueError("a section of the kind shares, and no other, needs cells")
        if any(len(row) != len(self.columns) for row in self.cells.values()):
            raise ValueError(f"each row of cells needs {len(self.columns)} lines, one per column")
        if self.kind == "bbc_cv" and not {*self.measures} <= {"subset_loss", "hamming_loss"}:
            raise ValueError("bbc_cv allows only the metrics subset_loss and hamming_loss")
        return self


class Configuration(Part):
    """A whole file; for `name` see `configuration_name`.

    The key `extends` names another configuration, whose keys apply unless the file has them.
    """

    name: str
    title: str  # of the report
    about: str  # what it reproduces, and the computing time
    # The paper: a folder of `experiments/papers` with a `published.csv`.
    published: str | None = None
    # Our name of a data set → its published name, if they differ.
    published_datasets: dict[str, str] = {}
    datasets: Annotated[list[DatasetName], Field(min_length=1)]
    # Data sets to use instead if the files of the benchmarks are missing.
    without_files: Annotated[list[DatasetName], Field(min_length=1)] | None = None
    evaluation: EvaluationPart
    # None: every combination of a grid is trained on the whole training part and evaluated on the
    # test part, for curves over a parameter.
    tuning: Tuning | None = None
    seeds: Annotated[list[int], Field(min_length=1)] = [0]  # of the methods
    methods: Annotated[dict[str, Entry], Field(min_length=1)]  # the lines of the tables
    exceptions: list[SpecialCase] = []
    # Whether the records of final models contain the number of wrong labels of each row, for
    # sections of the kind `bbc_cv`.
    row_losses: bool = False
    # Whether the predictions of final models are kept, as .npz files.
    keep_predictions: bool = False
    # Wall seconds after which a task is ended and recorded as failed.
    time_limit: float | None = Field(None, gt=0)
    report: list[Section] = []

    @field_validator("published")
    @classmethod
    def _published_exists(cls, name: str | None) -> str | None:
        known = {path.parent.name for path in PAPERS.glob("*/published.csv")}
        if name is not None and name not in known:
            raise ValueError(f"there are no published numbers {name!r}. {suggestion(name, known)}")
        return name

    @model_validator(mode="after")
    def _lines_exist(self) -> Self:
        def check(names: list[str] | None, where: str) -> None:
            for name in names or ():
                if name not in self.methods:
                    raise ValueError(
                        f"{where} names {name!r}, which is not a key of methods. "
                        f"{suggestion(name, self.methods)}"
                    )

        for line, entry in self.methods.items():
            if entry.params_of is None:
                continue
            check([entry.params_of], f"methods.{line}.params_of")
            if self.methods[entry.params_of].params_of is not None or self.tuning is None:
                raise ValueError(f"methods.{line}.params_of needs a tuned line")
        for number, exception in enumerate(self.exceptions):
            check(exception.methods, f"exceptions.{number}.methods")
        for number, section in enumerate(self.report):
            check(section.lines, f"report.{number}.lines")
            for row in section.cells.values():
                check([line for line in row if line], f"report.{number}.cells")
            for claim in section.claims:
                check(claim.lines(), f"report.{number}.claims")
            if section.kind == "bbc_cv" and not self._tells_rows(section):
                raise ValueError(
                    f"report.{number} needs row_losses and lines with tuned_for, without tuning"
                )
            if section.published is not None and self.published is None:
                raise ValueError(f"report.{number}.published needs the key published in the file")
        return self

    def on_other_data(self) -> "Configuration | None":
        """Return the configuration on the data sets of `without_files`; None if it has none."""
        if self.without_files is None:
            return None
        names = ", ".join(self.without_files)
        title = f"{self.title}; on {names}, because files of its data sets were missing"
        return self.model_copy(update={"datasets": self.without_files, "title": title})

    def _tells_rows(self, section: Section) -> bool:
        """Return whether a section can choose among all combinations of its lines, row by row."""
        objectives = {self.methods[line].tuned_for for line in section.lines or self.methods}
        losses = {"subset_loss", "hamming_loss"}
        return self.row_losses and self.tuning is None and objectives <= losses

    @property
    def study(self) -> str:
        """Name of the study: that of the folder, or of a user's file without the size."""
        if self.name in configuration_files():
            return configuration_files()[self.name].parent.name
        name = self.name.removesuffix("-full").removesuffix("-quick")
        return name.removesuffix("-figures")

    def evaluation_of(self, dataset: str) -> Evaluation:
        """Return the evaluation of a data set."""
        parts = [self.evaluation]
        parts += [e.evaluation for e in self.exceptions if e.evaluation and dataset in e.datasets]
        return parts[-1].evaluation()

    def report_measure(self) -> str:
        """Return the metric that a run displays: the first of the report."""
        return self.report[0].measures[0] if self.report else "example_f1"

    def exceptions_for(self, dataset: str, line: str) -> list[SpecialCase]:
        """Return the exceptions for a line of the tables on a data set."""
        return [
            e
            for e in self.exceptions
            if dataset in e.datasets and (e.methods is None or line in e.methods)
        ]


def configuration_name(file: Path) -> str:
    """Return the name of a configuration: the file's; in the package, with folder and size.

    The file `papers/xdcc-2020/figures.yaml` contains `xdcc-2020-figures-full`.
    """
    folder = file.resolve().parent
    if folder.parent not in FOLDERS:
        return file.stem
    sized = file.stem.rpartition("-")[2] in SIZES
    return f"{folder.name}-{file.stem}" + ("" if sized else f"-{SIZES[0]}")


def configuration_files() -> dict[str, Path]:
    """Return the configurations that come with the package: name → file."""
    files = [file for folder in FOLDERS for file in folder.glob("*/*.yaml")]
    return dict(sorted((configuration_name(file), file) for file in files))


def experiment_names() -> list[str]:
    """Return the names of the larger configurations, without the size."""
    size = f"-{SIZES[0]}"
    names = [name for name in configuration_files() if name.endswith(size)]
    return sorted(name.removesuffix(size) for name in names)


def find_configuration(name: str) -> Path:
    """Return the file of a configuration: a path, or a name of `configuration_files`.

    Raises
    ------
    UnknownNameError
        If it does not exist; the message suggests similar names.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise registry.UnknownNameError(f"{path} does not exist.")
        return path
    known = configuration_files()
    if name not in known:
        raise registry.UnknownNameError(
            f"Unknown configuration {name!r}. {suggestion(name, known)}"
        )
    return known[name]


def load_configuration(path: Path) -> Configuration:
    """Read and check a YAML file.

    Raises
    ------
    ConfigurationError
        If it is not valid YAML, or contains anything invalid. The message lists all errors.
    """
    content = {"name": configuration_name(path)} | _read_with_base(path)
    return checked(path, content, Configuration)


def _read_with_base(path: Path) -> dict[str, Any]:
    content = read_yaml(path)
    if "extends" not in content:
        return content
    try:
        base = find_configuration(str(content.pop("extends")))
    except registry.UnknownNameError as error:
        raise ConfigurationError(f"{path}: extends: {error}") from error
    return _read_with_base(base) | content
