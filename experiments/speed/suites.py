"""The suites: which candidates meet on which data, and what is timed.

`plan` turns the command line's choice into groups of jobs. The jobs of a group, all on one data
set, take turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.speed.data import check_name, synthetic_shape
from experiments.speed.job import Job, Phase, Storage
from experiments.speed.variants import VARIANTS
from xdcc.base.booster_parameters import SPLIT_METHODS

ROUNDS = {
    "emotions": 50,
    "scene": 50,
    "yeast": 50,
    "enron": 20,
    "medical": 20,
    "bibtex": 5,
    "tmc2007-500": 20,
}
"""The seven data sets of the comparison of boosters, with their boosting rounds."""

SEVEN = tuple(ROUNDS)
OTHER_ROUNDS = 20
"""Boosting rounds on a data set that is not among the seven."""

TABLE_2 = (
    "emotions",
    "scene",
    "flags",
    "yeast",
    "birds",
    "tmc2007-500",
    "genbase",
    "medical",
    "enron",
    "bibtex",
    "cal500",
)
"""The data sets of the XDCC paper's Table 2 (its TMC2007 has more features than tmc2007-500)."""

CHAIN_ROUNDS = 20
SCALING_ROUNDS = 3

SCALING_BASE = (5_000, 100, 100)
"""Rows, features and labels from which one at a time grows."""

SCALING_AXES = {
    "rows": (1_000, 5_000, 20_000, 50_000, 100_000, 200_000),
    "features": (10, 30, 100, 300, 1_000),
    "labels": (10, 30, 100, 300, 1_000),
}

STOCK = ("multi_output_tree", "one_output_per_tree")
PEERS = ("lightgbm", "catboost")
BOOSTERS = ("ours", *STOCK, *PEERS)
OURS = ("ours", "sketched", "grouped", "auto")
"""Splits found on all labels; on one direction; on one direction in a quarter of the labels; as
`sketch_size="auto"` chooses."""

REFERENCE = "one_output_per_tree"
"""Whose quality the others have to reach."""

INDEPENDENT = "independent-20000x50x30"
DELICIOUS_TARGET = 0.0615
LARGE = ("synthetic-20000x50x100", "synthetic-200000x100x100")
ONE_LABEL = "synthetic-20000x50x1"
MANY_LABELS = "synthetic-50000x50x1000"
FOR_WORKERS = "synthetic-100000x50x50"
FOR_VARIANTS = "synthetic-20000x50x20"

CHAINS = ("xdcc_short", "xdcc_full", "classifier_chain", "xdcc_auto", "binary_relevance")

PAIRS_OF_CHAINS = (
    ("xdcc_short", "classifier_chain"),
    ("xdcc_full", "classifier_chain"),
    ("xdcc_auto", "binary_relevance"),
)
"""Chains of ours, and what they are compared with."""


def scaling_points(axis: str) -> tuple[str, ...]:
    """Return the names of the synthetic data along an axis: rows, features or labels."""
    place = list(SCALING_AXES).index(axis)
    shapes = []
    for size in SCALING_AXES[axis]:
        shape = list(SCALING_BASE)
        shape[place] = size
        shapes.append("synthetic-" + "x".join(map(str, shape)))
    return tuple(shapes)


SCALING_END_POINTS = (scaling_points("rows")[-1], scaling_points("labels")[-1])
"""Sizes that are measured however long a smaller one took."""


@dataclass(frozen=True)
class Suite:
    """A comparison.

    Attributes
    ----------
    title : str
        For headings.
    data : tuple of str
    candidates : tuple of str
    phases : tuple of str
    storage : str
        See `Job`.
    threads : tuple of int, or None
        None leaves them to the command line.
    rounds : int, or None
        None is the data set's number in `ROUNDS`, for synthetic data `SCALING_ROUNDS`.
    """

    title: str
    data: tuple[str, ...]
    candidates: tuple[str, ...]
    phases: tuple[Phase, ...] = ("end to end",)
    storage: Storage = "dense"
    threads: tuple[int, ...] | None = (1,)
    rounds: int | None = None


SUITES = {
    "quality": Suite(
        "Time to quality, each at its best setting",
        (*SEVEN, INDEPENDENT),
        (REFERENCE, "multi_output_tree", *OURS, *PEERS),
        ("to quality",),
        "in parts",
    ),
    "like_for_like": Suite(
        "Time to quality, rate .1, 256 bins, all columns",
        (*SEVEN, INDEPENDENT),
        (REFERENCE, "multi_output_tree", *OURS),
        ("to quality",),
        "in parts",
    ),
    "end": Suite(
        "Quality at the end",
        (*SEVEN, INDEPENDENT),
        (REFERENCE, *OURS, *PEERS),
        ("to the end",),
        "in parts",
    ),
    "many_labels": Suite(
        f"Delicious to {DELICIOUS_TARGET}",
        ("delicious",),
        (*OURS, "deep"),
        ("to quality",),
        "published split",
        threads=(1, 2),
    ),
    "dense": Suite("Dense input", SEVEN, BOOSTERS, threads=None),
    "rounds": Suite("Boosting rounds alone", SEVEN, BOOSTERS, ("rounds",), threads=None),
    "csr": Suite(
        "CSR input, absent entries missing", SEVEN, ("ours", *STOCK), storage="csr", threads=None
    ),
    "methods": Suite("Split methods", SEVEN, SPLIT_METHODS, ("end to end", "rounds")),
    "threads": Suite(
        "Threads",
        ("tmc2007-500", "bibtex", LARGE[-1]),
        ("ours", "sketched"),
        ("end to end", "rounds"),
        threads=(1, 2),
    ),
    "large": Suite(
        "Boosting rounds on large data", LARGE, ("ours", "sketched", *STOCK), ("rounds",)
    ),
    "one_label": Suite("One label", (ONE_LABEL,), ("ours", *STOCK), ("rounds",), rounds=20),
    "scaling": Suite(
        "Synthetic data that grows",
        tuple(dict.fromkeys(name for axis in SCALING_AXES for name in scaling_points(axis))),
        ("ours", "sketched", *STOCK),
    ),
    "memory": Suite("Memory of many labels", (MANY_LABELS,), ("ours", "sketched")),
    "workers": Suite("Two workers", (FOR_WORKERS,), ("ours", "sketched", *STOCK), ("rounds",)),
    "variants": Suite(
        "What else a booster can have", (FOR_VARIANTS,), tuple(VARIANTS), ("rounds",), rounds=10
    ),
    "chain": Suite("Chains", TABLE_2, CHAINS, ("chain",), "as published", rounds=CHAIN_ROUNDS),
    "roofline": Suite("Roofline", SEVEN, ("ours",), ("rounds",)),
    "pass": Suite(
        "Rounds in passes over all rows and labels", ("delicious",), OURS[:2], ("rounds",)
    ),
}
"""Every suite by its name."""

QUALITY_SUITES = (
    "quality",
    "like_for_like",
    "end",
    "many_labels",
    "pass",
    "large",
    "one_label",
    "memory",
    "workers",
    "variants",
)
"""Those of time to quality and of scale; the others compare equal rounds."""

CANDIDATES = tuple(dict.fromkeys(name for suite in SUITES.values() for name in suite.candidates))
"""Every candidate of some suite."""


def plan(
    suites: Sequence[str],
    *,
    data: Sequence[str] | None = None,
    candidates: Sequence[str] | None = None,
    threads: Sequence[int] = (1, 2),
    rounds: int | None = None,
    seed: int = 0,
) -> list[list[Job]]:
    """Return the jobs to measure, in groups whose jobs take turns.

    Parameters
    ----------
    suites : sequence of str
        Names of suites.
    data, candidates : sequence of str, or None
        None is what each suite has. Names of data replace a suite's own; of its candidates, those
        that are named remain.
    threads : sequence of int
        For the suites that do not set them.
    rounds : int, or None
        In place of the suites' and data sets' own numbers.
    seed : int

    Returns
    -------
    list of list of Job

    Raises
    ------
    ValueError
        For an unknown suite, data set or candidate; if a suite has none of the candidates; if
        the suite `scaling` shall use data that are not synthetic.
    """
    _check_known("suite", suites, SUITES)
    _check_known("candidate", candidates or (), CANDIDATES)
    for name in data or ():
        check_name(name)
    groups = []
    for suite_name in suites:
        suite = SUITES[suite_name]
        chosen = [c for c in suite.candidates if candidates is None or c in candidates]
        if not chosen:
            raise ValueError(
                f"the suite {suite_name} has none of the candidates {', '.join(candidates or ())}; "
                f"it has {', '.join(suite.candidates)}"
            )
        for name in data or suite.data:
            if suite_name == "scaling" and synthetic_shape(name) is None:
                raise ValueError(f"the suite scaling needs synthetic data, not {name}")
            groups.append(
                [
                    Job(
                        suite_name,
                        name,
                        candidate,
                        phase,
                        suite.storage,
                        n_threads,
                        rounds or suite.rounds or _own_rounds(name),
                        seed,
                    )
                    for phase in suite.phases
                    for n_threads in suite.threads or threads
                    for candidate in chosen
                ]
            )
    return groups


def _own_rounds(name: str) -> int:
    return SCALING_ROUNDS if synthetic_shape(name) else ROUNDS.get(name, OTHER_ROUNDS)


def _check_known(what: str, names: Sequence[str], known: Sequence[str] | dict[str, Suite]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"unknown {what} {', '.join(unknown)}; known are {', '.join(known)}")
