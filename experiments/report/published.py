"""The numbers that the papers print, from the folders of `experiments/papers`."""

from functools import cache

import pandas as pd

from experiments import PAPERS
from experiments.engine.configuration import Configuration, PublishedTable


@cache
def read_published(name: str) -> pd.DataFrame:
    """Read a paper's published numbers: `table` (str), `measure`, `dataset`, `method`, `value`."""
    return pd.read_csv(PAPERS / name / "published.csv", dtype={"table": str})


def published_scores(
    config: Configuration, table: PublishedTable, measure: str
) -> dict[tuple[str, str], float]:
    """Return published values of a measure by its name here: (our data set, our line) → value.

    The configuration says which data sets and methods have other names in the paper; what the paper
    does not have is not there.
    """
    values = _values(config, table, table.measures.get(measure, measure))
    found = {}
    for line, entry in config.methods.items():
        for dataset in config.datasets:
            theirs = config.published_datasets.get(dataset, dataset), entry.published
            if theirs in values:
                found[dataset, line] = values[theirs] * table.scale
    return found


def published_ranks(config: Configuration, table: PublishedTable, measure: str) -> dict[str, float]:
    """Return published average ranks: our line → rank."""
    values = _values(config, table, f"average_rank_{table.measures.get(measure, measure)}")
    by_method = {method: value for (_, method), value in values.items()}
    return {
        line: by_method[entry.published]
        for line, entry in config.methods.items()
        if entry.published in by_method
    }


def _values(
    config: Configuration, table: PublishedTable, measure: str
) -> dict[tuple[str, str | None], float]:
    rows = read_published(config.published or "")
    rows = rows[(rows["table"] == table.table) & (rows["measure"] == measure)]
    return {(r.dataset, r.method): float(r.value) for r in rows.itertuples()}
