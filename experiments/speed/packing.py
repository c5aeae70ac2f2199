"""What the repository keeps of measurements: what the reports show.

A search for the time to quality measures a curve per setting, and the figure shows one of them for
each candidate; of the parameters of a training the reports name one.
"""

from typing import Any

from experiments.speed.quality import Curve, Point, from_json
from experiments.speed.results import Results, cell_of

_NAMED = ("max_cached_hist_node",)


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
        if result.get("curves") and cell not in drawn:
            drawn.add(cell)
            curve = result["curves"][_place_of_shown(result)]
            result["curves"] = [curve | {"points": list(map(_drawn, curve["points"]))}]
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


def _drawn(values: list[Any]) -> list[Any]:
    """Return a point with what is drawn of it, held-out log-loss against CPU seconds."""
    point = Point(*values)
    seconds, loss = (float(f"{value:.5g}") for value in (point.cpu_seconds, point.held_out))
    return list(Point(point.rounds, seconds, 0, loss, 0))
