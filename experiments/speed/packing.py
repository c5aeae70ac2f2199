"""Reduces measurements to what the reports show; the repository keeps these.

A search for the time to quality measures a curve per setting, and the figure shows one of them for
each candidate of two suites; the reports name one of a training's parameters.
"""

from typing import Any

from experiments.speed.quality import Curve, Point, from_json
from experiments.speed.results import Results, cell_of

DRAWN = ("quality", "end")
"""The suites that the figure shows."""

_NAMED = ("max_cached_hist_node",)
_STEP = 1.04  # ratio of the seconds of two drawn points: two pixels of the logarithmic axis


def pack(results: Results) -> None:
    """Remove from the file of measurements what no report shows.

    Raises
    ------
    StorageError
        If the file cannot be written; the old one stays.
    """
    drawn = set()
    for record in results.records:
        cell, result = cell_of(record), record["result"]
        if "parameters" in result:
            named = {k: v for k, v in result["parameters"].items() if k in _NAMED}
            result["parameters"] = named
        if result.get("curves") and cell.suite in DRAWN and cell not in drawn:
            drawn.add(cell)
            curve = result["curves"][_place_of_shown(result)]
            result["curves"] = [curve | {"points": _drawn(curve["points"])}]
        else:
            result.pop("curves", None)
    results.write()


def shown(result: dict[str, Any]) -> Curve:
    """Return the curve of the fastest setting, or of the one that came closest to the target."""
    return from_json(result["curves"][_place_of_shown(result)])


def _place_of_shown(result: dict[str, Any]) -> int:
    curves = [from_json(curve) for curve in result["curves"]]
    if "setting" in result:
        settings = [vars(curve.setting) for curve in curves]
        return settings.index(result["setting"])
    return min(range(len(curves)), key=lambda k: curves[k].best().held_out)


def _drawn(points: list[list[Any]]) -> list[list[Any]]:
    """Return the points that are drawn, with held-out log-loss and CPU seconds only."""
    kept: list[Point] = []
    for values in points:
        point = Point(*values)
        if not kept or point.cpu_seconds >= _STEP * kept[-1].cpu_seconds or values is points[-1]:
            seconds, loss = (float(f"{n:.4g}") for n in (point.cpu_seconds, point.held_out))
            kept.append(Point(point.rounds, seconds, 0, loss, 0))
    return list(map(list, kept))
