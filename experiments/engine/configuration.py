"""Configurations: what an experiment compares, as a YAML file, and its checks.

`load_configuration` reads a file and checks all of it before anything is trained: keys, values,
names of data sets, methods, readings and measures, and whether the methods accept the parameters.
An error names the file, the key in it, and what is allowed there.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from experiments import PAPERS, STUDIES
from experiments.engine import registry
from experiments.engine.evaluation import Evaluation
from experiments.engine.measures import MEASURES
from experiments.engine.registry import suggestion

FOLDERS = (PAPERS, STUDIES)
"""Folders whose folders hold the configurations that come with the package."""

SIZES = ("full", "quick")
"""A configuration of the package is in one of these; `full` where its file does not say."""


class ConfigurationError(ValueError):
    """A configuration that cannot be used: which file, which key, and what is allowed."""


def _known_measure(name: str) -> str:
    if name not in MEASURES:
        raise ValueError(f"unknown measure {name!r}. {suggestion(name, MEASURES)}")
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


Figure = Literal["xdcc_heat_maps", "time_against_f1", "loss_plane", "rdt_sequences"]
"""Names of `experiments.report.figures.FIGURES`, which takes long to import."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EvaluationPart(_Part):
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
                f"{', '.join(sorted(idle))} has no meaning with type {self.type}; allowed are "
                f"{', '.join(sorted(allowed))}"
            )
        if self.assignment == "blocks" and self.repeats > 1:
            raise ValueError("blocks of rows are the same in every repeat; repeats has to be 1")
        return self

    def evaluation(self) -> Evaluation:
        """Return the evaluation that this describes."""
        return Evaluation(**self.model_dump())


class Tuning(_Part):
    """Key `tuning`: how parameters are chosen, on rows of the training part only."""

    measure: MeasureName  # what the choice is best in
    # Number of random draws, without repetition, from the product of a method's grid, the same on
    # all data sets; or all of it.
    draws: Draws
    # Share of the training part to measure on, 1/2, 1/3, 1/4 and so on.
    split: float | None = Field(None, gt=0, le=0.5)
    folds: int | None = Field(None, ge=2)  # instead of `split`: cross-validation with so many folds
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
        """The folds that are measured on."""
        return range(self.n_folds if self.folds is not None else 1)


class Entry(_Part):
    """A line of the tables: a method with its parameters and the readings to choose from."""

    method: MethodName  # name in `experiments/methods`
    params: dict[str, Any] = {}  # fixed parameters, in the place of the method's own
    # Values to draw from; None is the method's own grid without the names in `params`.
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] | None = None
    # Ways to predict; several are tuned like a parameter. None is the method's first.
    readings: Annotated[list[str], Field(min_length=1)] | None = None
    # Instead of a choice of its own: the line whose chosen parameters are taken over, where neither
    # `params` nor the method's file fixes them.
    params_of: str | None = None
    tuned_for: MeasureName | None = None  # measure of its choice, in the place of the tuning's
    published: str | None = None  # name of the line in the published numbers

    @model_validator(mode="after")
    def _fits_method(self) -> Self:
        method = registry.method(self.method)
        for name in self.readings or ():
            if name not in method.readings:
                raise ValueError(
                    f"{self.method} has no reading {name!r}. {suggestion(name, method.readings)}"
                )
        if twice := self.params.keys() & (self.grid or {}).keys():
            raise ValueError(f"{', '.join(sorted(twice))} stands in params and in grid")
        if self.params_of is not None and (self.grid or len(self.readings or ()) > 1):
            raise ValueError("params_of leaves nothing to choose: no grid, and one reading")
        if not method.missing():
            self._build_once(method)
        return self

    def _build_once(self, method: registry.Method) -> None:
        """Build an estimator with the first values, to see whether the names are accepted."""
        first = {name: values[0] for name, values in self.chosen_from().items()}
        try:
            method.build(registry.dataset("digits-tiny").load(None), 0, **self.fixed() | first)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.method} does not accept these parameters: {error}") from error

    def chosen_from(self) -> dict[str, list[Any]]:
        """Return the grid that holds for this line."""
        if self.params_of is not None:
            return {}
        grid = registry.method(self.method).grid if self.grid is None else self.grid
        return {name: values for name, values in grid.items() if name not in self.params}

    def fixed(self) -> dict[str, Any]:
        """Return the parameters that hold for all draws."""
        own = registry.method(self.method).params
        return {k: v for k, v in (own | self.params).items() if k not in self.chosen_from()}

    def reading_names(self) -> list[str]:
        """Return the readings to choose from."""
        return self.readings or [next(iter(registry.method(self.method).readings))]


class SpecialCase(_Part):
    """Key `exceptions`: what holds on some data sets instead."""

    datasets: list[DatasetName]
    methods: list[str] | None = None  # lines of the tables; None is all
    params: dict[str, Any] = {}  # fixed parameters; a grid of that name is not drawn from
    draws: int | None = Field(None, ge=1)  # number of draws
    evaluation: EvaluationPart | None = None  # another evaluation; for all methods only
    skip: bool = False  # whether these methods are left out there
    reason: str  # why; it stands in the report

    @model_validator(mode="after")
    def _same_parts_for_all(self) -> Self:
        if self.evaluation is not None and self.methods is not None:
            raise ValueError("another evaluation has to hold for all methods: leave methods out")
        return self


class Claim(_Part):
    """A statement, with the comparisons that decide whether it holds here, and their test."""

    text: str  # what the paper says, in a half-sentence: "XDCC cumulated is best in F1"
    measure: MeasureName
    # What is compared is the mean rank in `measure` and in these.
    more_measures: list[MeasureName] = []
    # Lines of the tables; each has to be ahead of the next.
    order: Annotated[list[str], Field(min_length=1)]
    # The first of `order` has to be ahead of all of these, instead.
    first_of: list[str] | None = None
    # A parameter: each of `order` has to be ahead of itself, with the first of `values` of it over
    # the second.
    along: str | None = None
    values: Annotated[list[Any], Field(min_length=2, max_length=2)] | None = None
    # The test: Wilcoxon's over the data sets; Nemenyi's of average ranks among these lines, after
    # Friedman's; on each data set one of its folds or rows.
    by: Literal["data sets", "ranks", "folds"] = "data sets"
    of: Literal["all", "most"] = "all"  # how many of the comparisons have to hold
    datasets: list[DatasetName] | None = None  # None is all

    @model_validator(mode="after")
    def _compares(self) -> Self:
        if self.first_of is None and self.along is None and len(self.order) < 2:
            raise ValueError("order needs two lines, or first_of, or along")
        if (self.along is None) != (self.values is None):
            raise ValueError("along and values belong together")
        if self.more_measures and self.by == "folds":
            raise ValueError("more_measures needs another test than by: folds")
        if self.by == "ranks" and len(self.names()) < 3:
            raise ValueError("by: ranks needs three lines")
        return self

    def measures(self) -> list[str]:
        """Return the names of `measure` and of `more_measures`."""
        return [self.measure, *self.more_measures]

    def lines(self) -> list[str]:
        """Return all lines that take part."""
        return list(dict.fromkeys([*self.order, *(self.first_of or ())]))

    def pairs(self) -> list[tuple[str, str]]:
        """Return what has to be ahead of what."""
        if self.values is not None:
            one, other = (f", {self.along} {value}" for value in self.values)
            return [(line + one, line + other) for line in self.order]
        if self.first_of is not None:
            return [(self.order[0], other) for other in self.first_of if other != self.order[0]]
        return list(zip(self.order, self.order[1:], strict=False))

    def names(self) -> list[str]:
        """Return what is compared: lines, or lines with a value."""
        return list(dict.fromkeys(name for pair in self.pairs() for name in pair))


class PublishedTable(_Part):
    """Where the published numbers of a section are."""

    table: str  # number of the table
    # Our name of a measure → the published one, where they differ.
    measures: dict[MeasureName, str] = {}
    scale: float = 1.0  # what a published number is multiplied with (0.01 for per cents)
    tolerance: float = Field(0.02, ge=0)  # larger differences are marked


class Section(_Part):
    """A table or figure of the report."""

    # `scores`: a line per method, a column per data set. `ranks`: average ranks in several
    # measures. `critical_difference`: the diagram of Nemenyi's test. `fold_tests`: the first of
    # `lines` beside each other one by a paired t-test over the folds of each data set. `bbc_cv`:
    # what is best of all combinations, and its loss without the bias of choosing. `statistics`: a
    # line per data set, a column per measure. `pareto`: training time against a measure. `curve`:
    # measures against a parameter or against the stages of a reading. `figure`: one that is drawn
    # by a function of its own, named in `draw`.
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
    ]
    title: str
    measures: Annotated[list[MeasureName], Field(min_length=1)]
    lines: list[str] | None = None  # the methods that take part; None is all
    datasets: list[DatasetName] | None = None  # None is all
    published: PublishedTable | None = None
    x: str = "stage"  # for `curve`: a parameter, or "stage"
    draw: Figure | None = None  # for `figure`: a name in `experiments.report.figures.FIGURES`
    claims: list[Claim] = []
    note: str | None = None  # a sentence on how the table is to be read

    @model_validator(mode="after")
    def _says_what_to_draw(self) -> Self:
        if (self.kind == "figure") != (self.draw is not None):
            raise ValueError("draw says which figure a section of the kind figure shows")
        if self.kind == "bbc_cv" and not {*self.measures} <= {"subset_loss", "hamming_loss"}:
            raise ValueError("bbc_cv has the measures subset_loss and hamming_loss only")
        return self


class Configuration(_Part):
    """A whole file; `name` is the file's, see `configuration_name`.

    With a key `extends`, the name of another configuration, that one's keys hold where the file
    has none of its own.
    """

    name: str
    title: str  # of the report
    about: str  # what it reproduces and what it costs
    # Name of the paper, a folder of `experiments/papers`, whose `published.csv` is meant.
    published: str | None = None
    # Our name of a data set → the published one, where they differ.
    published_datasets: dict[str, str] = {}
    datasets: Annotated[list[DatasetName], Field(min_length=1)]
    # Data sets that take their place where the benchmarks' files are missing.
    without_files: Annotated[list[DatasetName], Field(min_length=1)] | None = None
    evaluation: EvaluationPart
    # None: every combination of a grid is trained on the whole training part and measured on the
    # test part, for curves over a parameter.
    tuning: Tuning | None = None
    seeds: Annotated[list[int], Field(min_length=1)] = [0]  # of the methods
    methods: Annotated[dict[str, Entry], Field(min_length=1)]  # the lines of the tables
    exceptions: list[SpecialCase] = []
    # Whether the records of final models hold how many labels of each row are wrong, for sections
    # of the kind `bbc_cv`.
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
            raise ValueError(f"no published numbers {name!r}. {suggestion(name, known)}")
        return name

    @model_validator(mode="after")
    def _lines_exist(self) -> Self:
        def check(names: list[str] | None, where: str) -> None:
            for name in names or ():
                if name not in self.methods:
                    raise ValueError(
                        f"{where} names {name!r}, which is no key of methods. "
                        f"{suggestion(name, self.methods)}"
                    )

        for line, entry in self.methods.items():
            if entry.params_of is None:
                continue
            check([entry.params_of], f"methods.{line}.params_of")
            if self.methods[entry.params_of].params_of is not None or self.tuning is None:
                raise ValueError(f"methods.{line}.params_of needs a line that is tuned")
        for number, exception in enumerate(self.exceptions):
            check(exception.methods, f"exceptions.{number}.methods")
        for number, section in enumerate(self.report):
            check(section.lines, f"report.{number}.lines")
            for claim in section.claims:
                check(claim.lines(), f"report.{number}.claims")
            if section.kind == "bbc_cv" and not self._tells_rows(section):
                raise ValueError(
                    f"report.{number} needs row_losses, lines with tuned_for, and no tuning"
                )
            if section.published is not None and self.published is None:
                raise ValueError(f"report.{number}.published needs the key published of the file")
        return self

    def on_other_data(self) -> "Configuration | None":
        """Return the same on the data sets of `without_files`, if it has any."""
        if self.without_files is None:
            return None
        return self.model_copy(update={"datasets": self.without_files})

    def _tells_rows(self, section: Section) -> bool:
        """Whether a section can choose among all combinations of its lines, row by row."""
        objectives = {self.methods[line].tuned_for for line in section.lines or self.methods}
        losses = {"subset_loss", "hamming_loss"}
        return self.row_losses and self.tuning is None and objectives <= losses

    @property
    def study(self) -> str:
        """Name of what it belongs to: its folder's, of an own file its name without the size."""
        if self.name in configuration_files():
            return configuration_files()[self.name].parent.name
        name = self.name.removesuffix("-full").removesuffix("-quick")
        return name.removesuffix("-figures")

    def evaluation_of(self, dataset: str) -> Evaluation:
        """Return how a data set is divided."""
        parts = [self.evaluation]
        parts += [e.evaluation for e in self.exceptions if e.evaluation and dataset in e.datasets]
        return parts[-1].evaluation()

    def report_measure(self) -> str:
        """Return the measure that a run shows: the first of the report."""
        return self.report[0].measures[0] if self.report else "example_f1"

    def exceptions_for(self, dataset: str, line: str) -> list[SpecialCase]:
        """Return the exceptions that hold for a line of the tables on a data set."""
        return [
            e
            for e in self.exceptions
            if dataset in e.datasets and (e.methods is None or line in e.methods)
        ]


def configuration_name(file: Path) -> str:
    """Return the name of a configuration: the file's; of the package, with its folder and size.

    The file `papers/xdcc-2020/figures.yaml` holds `xdcc-2020-figures-full`.
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
        If there is none; the message names the nearest.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise registry.UnknownNameError(f"There is no file {path}.")
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
        If it is no YAML, or anything in it is not allowed; all faults are listed.
    """
    content = _read_with_base(path)
    try:
        return Configuration.model_validate({"name": configuration_name(path)} | content)
    except ValidationError as error:
        faults = [_describe(dict(fault)) for fault in error.errors()]
        raise ConfigurationError("\n".join(f"{path}: {fault}" for fault in faults)) from error


def _read_with_base(path: Path) -> dict[str, Any]:
    content = _read_yaml(path)
    if "extends" not in content:
        return content
    try:
        base = find_configuration(str(content.pop("extends")))
    except registry.UnknownNameError as error:
        raise ConfigurationError(f"{path}: extends: {error}") from error
    return _read_with_base(base) | content


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} has to hold keys and values, such as `title: ...`.")
    return content


def _describe(fault: dict[str, Any]) -> str:
    """Return the key and what is wrong with it, with the nearest allowed keys."""
    place = ".".join(str(part) for part in fault["loc"]) or "the file"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        allowed = _allowed_keys(fault["loc"][:-1])
        message = f"no such key. {suggestion(str(fault['loc'][-1]), allowed)}"
    return f"{place}: {message}"


def _allowed_keys(loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the part at a place, which is found by following the annotations."""
    parts: dict[str, type[_Part]] = {
        "evaluation": EvaluationPart,
        "tuning": Tuning,
        "methods": Entry,
        "exceptions": SpecialCase,
        "claims": Claim,
        "published": PublishedTable,
        "report": Section,
    }
    part: type[_Part] = Configuration
    for step in loc:
        part = parts.get(str(step), part)
    return list(part.model_fields)
