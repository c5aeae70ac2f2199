"""`Results`: the file that measurements are kept in, written after each of them.

A run that was interrupted goes on where it was: what is in the file is not measured again. All of
a file comes from one machine, the same builds and the same settings.
"""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from experiments.engine.storage import atomic
from experiments.speed.job import Job

_FORMAT = 1


class Results:
    """What has been measured.

    Attributes
    ----------
    file : Path
        The file, `results.json`.
    header : dict
        `machine`, `versions` and `settings` of all measurements.
    records : list of dict
        `job`, `repeat` (from 0), `outcome` ("measured", "longer than", "ended" or "skipped"),
        `time_limit` in CPU seconds, `written` and `result` of each.
    """

    def __init__(self, file: Path, header: dict[str, Any], records: list[dict[str, Any]]) -> None:
        self.file = file
        self.header = header
        self.records = records
        self._place = {(Job(**r["job"]), r["repeat"]): k for k, r in enumerate(records)}

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the results in a folder.

        Raises
        ------
        FileNotFoundError
            If there are none.
        ValueError
            If the file is not what a run writes.
        """
        file = folder / "results.json"
        if not file.exists():
            raise FileNotFoundError(f"{folder} holds no results.json: it is no folder of a run")
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']}, expected {_FORMAT}")
            header = {name: content[name] for name in ("machine", "versions", "settings")}
            return cls(file, header, content["measurements"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{file} is not what a run writes ({type(error).__name__}: {error}); move it away "
                "or name another folder"
            ) from error

    @classmethod
    def open(cls, folder: Path, header: dict[str, Any]) -> Self:
        """Read the results in a folder in order to add to them, or begin with none.

        Raises
        ------
        ValueError
            If the file is not what a run writes, or its measurements come from another machine,
            other builds or other settings.
        """
        if not (folder / "results.json").exists():
            return cls(folder / "results.json", header, [])
        results = cls.read(folder)
        for part, values in header.items():
            before = results.header[part]
            for name in before.keys() & values.keys():
                if before[name] != values[name]:
                    raise ValueError(
                        f"{results.file} was measured with {part} {name} = {before[name]!r}, and "
                        f"now it is {values[name]!r}: name another folder"
                    )
            results.header[part] = before | values
        return results

    def find(self, job: Job, repeat: int) -> dict[str, Any] | None:
        """Return the record of a measurement, None if there is none."""
        place = self._place.get((job, repeat))
        return None if place is None else self.records[place]

    def measured(self, job: Job) -> dict[str, Any] | None:
        """Return what the first repeat measured, None if it did not come to its end."""
        record = self.find(job, 0)
        return record["result"] if record and record["outcome"] == "measured" else None

    def add(
        self, job: Job, repeat: int, outcome: str, time_limit: float, result: dict[str, Any]
    ) -> None:
        """Keep a measurement, in the place of an earlier one of the same job and repeat."""
        record = {
            "job": asdict(job),
            "repeat": repeat,
            "outcome": outcome,
            "time_limit": time_limit,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "result": result,
        }
        place = self._place.setdefault((job, repeat), len(self.records))
        self.records[place : place + 1] = [record]
        self._write()

    def _write(self) -> None:
        lines = ",\n".join(map(json.dumps, self.records))
        head = json.dumps({"format": _FORMAT, **self.header}, indent=1).removesuffix("\n}")
        text = f'{head},\n "measurements": [\n{lines}\n]}}\n'
        with atomic(self.file) as file:
            file.write(text.encode())
