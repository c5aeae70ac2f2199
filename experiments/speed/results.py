"""The measurements of a run: records in a folder, one for each job and repeat.

A record is written after each measurement, so you can continue an interrupted run: it does not
repeat the measurements in the folder. A folder has measurements of one machine, the same builds and
the same settings (`experiments.speed.machine`).
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from experiments.engine.records import FORMAT, Record, RecordStore, make_record, record_name
from experiments.speed.suites import Job, place_of

HEADER = ("machine", "versions", "settings")
"""Parts of the header, which all measurements of a folder share."""


class Results:
    """The measurements.

    Attributes
    ----------
    store : RecordStore
        The folder.
    header : dict
        `machine`, `versions` and `settings` of all measurements.
    """

    def __init__(self, store: RecordStore, header: dict[str, Any]) -> None:
        self.store = store
        self.header = header
        self._found: dict[tuple[Job, int], dict[str, Any]] = {}

    @classmethod
    def open(cls, folder: Path, header: dict[str, Any] | None = None) -> Self:
        """Read the measurements in a folder, to add to them if a header is given.

        Raises
        ------
        FileNotFoundError
            If there are no measurements and no header.
        ValueError
            If there are other records, or the measurements come from another machine, other builds
            or other settings.
        """
        store = RecordStore(folder)
        records = list(store.read_all())
        if not records and header is None:
            raise FileNotFoundError(
                f"{folder} has no measurements: it is not the output folder of a run"
            )
        if any("job" not in record["key"] for record in records):
            raise ValueError(f"{folder} has records of other experiments: name another folder")
        results = cls(store, dict(header or _header(records[0])))
        for record in records:
            results._add_header(_header(record))
        keys = [(Job(**record["key"]["job"]), record["key"]["repeat"]) for record in records]
        for (job, repeat), record in sorted(
            zip(keys, records, strict=True), key=lambda pair: (place_of(pair[0][0]), pair[0][1])
        ):
            results._keep(job, repeat, record["result"])
        return results

    @property
    def records(self) -> list[dict[str, Any]]:
        """`job`, `repeat` (from 0), `outcome`, `time_limit` and `result` of each measurement.

        The outcome is "measured", "longer than", "ended" or "skipped", the limit is in CPU seconds.
        """
        return list(self._found.values())

    def find(self, job: Job, repeat: int) -> dict[str, Any] | None:
        """Return the record of a measurement, None if there is none."""
        return self._found.get((job, repeat))

    def measured(self, job: Job) -> dict[str, Any] | None:
        """Return the result of the first repeat, None if it did not finish."""
        record = self.find(job, 0)
        return record["result"] if record and record["outcome"] == "measured" else None

    def add(
        self, job: Job, repeat: int, outcome: str, time_limit: float, result: dict[str, Any]
    ) -> None:
        """Store a measurement, instead of an earlier one of the same job and repeat.

        Raises
        ------
        StorageError
            If it cannot be written; an earlier one stays.
        """
        found = {"outcome": outcome, "time_limit": time_limit, "result": result}
        key = {"format": FORMAT, "dataset": job.data, "method": job.candidate}
        key |= {"job": asdict(job), "repeat": repeat}
        self.store.write(record_name(key), make_record(key, found, None, self.header))
        self._keep(job, repeat, found)

    def _keep(self, job: Job, repeat: int, found: dict[str, Any]) -> None:
        self._found[job, repeat] = {"job": asdict(job), "repeat": repeat} | found

    def _add_header(self, other: dict[str, Any]) -> None:
        """Add entries that only a record has, such as the version of another package."""
        for part, values in self.header.items():
            before = other[part]
            for name in before.keys() & values.keys():
                if before[name] != values[name]:
                    raise ValueError(
                        f"{self.store.folder} was measured with {part} {name} = {before[name]!r}, "
                        f"and now it is {values[name]!r}: name another folder"
                    )
            self.header[part] = before | values


def _header(record: Record) -> dict[str, Any]:
    return {part: record["run"][part] for part in HEADER}
