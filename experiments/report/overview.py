"""The overview of the experiments: recommended methods, and the results of all claims.

There is a row per aim, from the records that suit it best: the method with the best mean, the
methods that Wilcoxon's test with Holm's correction does not find worse, and the costs.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.engine.configuration import Configuration
from experiments.engine.measures import MEASURES
from experiments.engine.pins import Pin
from experiments.engine.records import PACK
from experiments.engine.results import Results
from experiments.report.claims import Verdict
from experiments.report.comparisons import holm, intervals, over_data_sets
from experiments.report.plots import quality_and_time, save, style
from experiments.report.tables import markdown_table
from xdcc.data.registry import DATASETS

type Finished = dict[str, tuple[Configuration, Results]]

MANY_LABELS = 100

NOT_KEPT = "not recorded"

HEAD = """# Results of the experiments

`python -m experiments report --all` writes this file; do not edit it. [How to run and extend
the experiments](../docs/guide/experiments.md).

## Recommended methods

The table shows the method with the best mean over the data sets that all compared methods have, ±
half of the 95 % interval for comparisons of methods (Cousineau and Morey's, without the differences
between data sets). "Not significantly worse": Wilcoxon's signed-rank test, with Holm's correction
for all other methods, finds no difference at .05; with few data sets it has little power. CPU
seconds are geometric means and include tuning; prediction is for the test part; memory is the peak
of the process.
"""

TAIL = """
Sources: subset accuracy, F1, Hamming accuracy, log-loss, time and the interpretable model (a single
tree) are from [the league](studies/league/REPORT.md), where each method is tuned for the measure:
the best of twelve random configurations on validation rows, with exceptions to save time that its
report names; `MultiLabelClassifier` tunes itself. Many labels are from [all
methods](studies/all-methods/REPORT.md): four random configurations, tuned for F1, on data with at
least 100 labels. Joint probabilities are from [the study of the order-free
chain](studies/order-free/REPORT.md): default parameters on small data or small parts.
"""


AGAIN = """
## Running the experiments again

Each command runs the missing tasks of a paper or study; without records, that is all of them. CPU
hours are those of the kept records, from several machines. A task that two studies share counts in
both.
"""


@dataclass(frozen=True)
class Aim:
    """An aim of a user, with the scores of the methods.

    Attributes
    ----------
    title : str
    measure : str
        In words.
    values : DataFrame of shape (n_data_sets, n_methods)
    higher_is_better : bool
    costs : sequence of DataFrame or None
        Seconds with tuning, seconds of prediction, and memory, by data set and method.
    """

    title: str
    measure: str
    values: pd.DataFrame
    higher_is_better: bool
    costs: Sequence[pd.DataFrame | None]

    def row(self) -> list[str]:
        """Return the row of the table."""
        times = self.measure.startswith("CPU")
        values = np.log(self.values.clip(lower=1e-3)) if times else self.values
        signed = values if self.higher_is_better else -values
        middle, reach = intervals(values)
        best = signed.mean().idxmax()
        others = [line for line in values if line != best]
        found = holm([over_data_sets((best, o), signed[best] - signed[o]) for o in others])
        alike = [one.names[1] for one in found if one.side == 0]
        alike.sort(key=lambda line: -signed[line].mean())
        if times:
            ends = np.exp([middle[best], middle[best] - reach[best], middle[best] + reach[best]])
            number = "{:.2f} ({:.2f} to {:.2f})".format(*ends)
        else:
            number = f"{middle[best]:.3f} ± {reach[best]:.3f}"
        costs = [
            NOT_KEPT
            if cost is None or best not in cost
            else _plain(np.exp(np.log(cost[best].clip(lower=1e-4)).mean()))
            for cost in self.costs
        ]
        where = f"{len(values)} data sets, {values.shape[1]} methods"
        return [
            self.title,
            f"**{best}**",
            f"{self.measure}: {number}",
            where,
            _listed(alike),
            *costs,
        ]


def _plain(value: float) -> str:
    if value < 0.01:
        return "< 0.01"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _again(
    folders: Mapping[str, Sequence[tuple[Configuration, Results]]], pins: Mapping[str, Pin]
) -> list[list[str]]:
    rows = []
    for folder, members in sorted(folders.items()):
        pin = pins.get(f"{folder.rpartition('/')[2]}{PACK}")
        cost = [f"{pin.tasks:,}", _plain(pin.cpu_seconds / 3600)] if pin else [NOT_KEPT, NOT_KEPT]
        names = " ".join(config.name for config, _ in members)
        rows.append(
            [f"[{folder}]({folder}/REPORT.md)", f"`python -m experiments run {names}`", *cost]
        )
    return rows


def _listed(names: Sequence[str]) -> str:
    if len(names) <= 4:
        return "; ".join(names) or "none"
    return f"{'; '.join(names[:3])} and {len(names) - 3} more"


def aims(finished: Finished) -> list[Aim]:
    """Return the aims that have records."""
    ways: Sequence[Callable[[Finished], list[Aim]]] = (_league, _others, _joint)
    return [aim for way in ways for aim in way(finished)]


def costs(results: Results, values: pd.DataFrame) -> list[pd.DataFrame]:
    """Return seconds with tuning, seconds of prediction and MiB, for the cells of `values`."""
    found = [results.scores(name) for name in ("train_time", "predict_time", "peak_memory")]
    found[0] = found[0] + results.scores("tuning_time")
    return [cost.loc[values.index, values.columns] for cost in found]


def _league(finished: Finished) -> list[Aim]:
    found = []
    for name, measure in (
        ("league-subset-accuracy", "subset_accuracy"),
        ("league-example-f1", "example_f1"),
        ("league-hamming-accuracy", "hamming_accuracy"),
        ("league-log-loss", "log_loss"),
    ):
        if name in finished:
            results, values = league_scores(finished, name, measure)
            title, higher = MEASURES[measure].title, MEASURES[measure].higher_is_better
            found.append(Aim(title, title, values, higher, costs(results, values)))
    return found


def league_scores(finished: Finished, name: str, measure: str) -> tuple[Results, pd.DataFrame]:
    """Return the results of a league, and its scores on the data sets that all methods have."""
    config, results = finished[name]
    return results, results.scores(measure)[config.report[0].lines].dropna()


def _others(finished: Finished) -> list[Aim]:
    found = []
    if "league-example-f1" in finished:
        results, values = league_scores(finished, "league-example-f1", "example_f1")
        trees = values[["LaCovaC", "LP on trees"]]
        title = MEASURES["example_f1"].title
        found.append(Aim("an interpretable model", title, trees, True, costs(results, trees)))
        seconds, *rest = costs(results, values)
        found.append(Aim("the shortest time", "CPU s", seconds, False, [seconds, *rest]))
    if "all-methods" in finished:
        results = finished["all-methods"][1]
        scores = results.scores("example_f1")
        many = [name for name in scores.index if DATASETS[name].n_labels >= MANY_LABELS]
        values = scores.loc[many].dropna(axis=1)
        title = MEASURES["example_f1"].title
        found.append(Aim("many labels", title, values, True, costs(results, values)))
    return found


def _joint(finished: Finished) -> list[Aim]:
    if "order-free" not in finished:
        return []
    config, results = finished["order-free"]
    section = config.report[0]
    measure = section.measures[0]
    values = results.scores(measure)[section.lines].loc[section.claims[0].datasets]
    values = values.replace(np.inf, np.nan).dropna()  # a mean needs finite losses
    title = MEASURES[measure].title
    return [Aim("joint probabilities", title, values, False, costs(results, values))]


def overview(
    finished: Finished,
    folders: Mapping[str, Sequence[tuple[Configuration, Results]]],
    verdicts: Sequence[tuple[str, str, Verdict]],
    pins: Mapping[str, Pin],
    output: Path,
) -> str:
    """Return the overview, and draw its figure.

    Parameters
    ----------
    finished : dict of str to (Configuration, Results)
        Experiments of the package by name, without the size.
    folders : mapping from str to sequence of (Configuration, Results)
        The same, by the folder of their report.
    verdicts : sequence of (str, str, Verdict)
        Folder of the report, title of the experiment, and the verdict on a claim.
    pins : mapping from str to Pin
        The costs of each study's records.
    output : Path
        Folder of the page.

    Returns
    -------
    str
    """
    head = ["best", "method", "mean", "over", "not significantly worse", "CPU s with tuning",
            "prediction, CPU s", "memory, MiB"]  # fmt: skip
    parts = [HEAD, markdown_table(head, [aim.row() for aim in aims(finished)], 5), TAIL]
    if "league-example-f1" in finished:
        results, values = league_scores(finished, "league-example-f1", "example_f1")
        with style():
            figure = quality_and_time(
                values, costs(results, values)[0], "example_f1", "tuning and training"
            )
        title = "F1 and CPU seconds, each method tuned for F1"
        parts.append(save(figure, output / "figures" / "quality_and_time", title))
        parts.append(
            "Bars are intervals as in the table. Filled: Wilcoxon's test, with Holm's correction, "
            "finds no faster method better."
        )
    words = Counter(verdict.word for _, _, verdict in verdicts)
    listed = ", ".join(f"{number} {word}" for word, number in sorted(words.items()))
    parts.append(
        f"## Claims and their tests\n\nOf {len(verdicts)} claims: {listed}. A claim is *confirmed* "
        "if its test finds every part of it, *refuted* if the test finds the opposite of a part, "
        "and *undecided* otherwise: there are too few data, or no difference. The reports have the "
        "tests, effects and intervals."
    )
    rows = [
        [f"[{title}]({folder}/REPORT.md)", verdict.claim.text, verdict.measure(),
         f"**{verdict.word}**", verdict.counts()]
        for folder, title, verdict in verdicts
    ]  # fmt: skip
    parts.append(markdown_table(["experiment", "claim", "metric", "result", "how often"], rows, 5))
    parts += [
        AGAIN,
        markdown_table(["", "command", "tasks", "CPU hours"], _again(folders, pins), 2),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"
