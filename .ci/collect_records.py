"""Collects the packed records that belong to this version, for its release.

    python .ci/collect_records.py FOLDER

`experiments/records.csv` names the files and their SHA-256. Records that have not changed are
downloaded from an earlier release, by GitHub's command line (`gh`). Those from before the releases
had any are in the history of this repository, which must be complete. New ones must have been
uploaded before: to a draft of the release, or to any other one.
"""

import csv
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PINS = Path("experiments/records.csv")


def collect(folder: Path) -> None:
    """Write the pinned files to a folder.

    Raises
    ------
    FileNotFoundError
        If a file with the right content is nowhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tags = _output("gh", "release", "list", "--json", "tagName", "--jq", ".[].tagName").split()
    with PINS.open(encoding="utf-8", newline="") as text:
        pins = list(csv.DictReader(text))
    for pin in pins:
        name, digest = pin["file"], pin["sha256"]
        found = (content for content in _contents(name, tags) if _sha256(content) == digest)
        content = next(found, None)
        if content is None:
            raise FileNotFoundError(
                f"{name} with the SHA-256 {digest} is in no release and not in the history; upload "
                "it with `gh release upload`"
            )
        (folder / name).write_bytes(content)
        print(f"found: {name}")


def _contents(name: str, tags: list[str]) -> Iterator[bytes]:
    """Yield every known content of a packed file: in the history, then in releases."""
    path = f"experiments/*/{name.removesuffix('.jsonl.gz')}/records.jsonl.gz"
    changes = _output("git", "log", "--all", "--format=", "--raw", "--no-abbrev", "--", path)
    for change in changes.splitlines():
        blob, kind = change.split()[3:5]
        if kind != "D":
            yield subprocess.check_output(["git", "cat-file", "blob", blob])
    for tag in tags:
        command = ["gh", "release", "download", tag, "--pattern", name, "--output", "-"]
        done = subprocess.run(command, capture_output=True)  # fails if the release has no such file
        if done.returncode == 0:
            yield done.stdout


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _output(*command: str) -> str:
    return subprocess.check_output(command, text=True)


if __name__ == "__main__":
    try:
        collect(Path(sys.argv[1]))
    except FileNotFoundError as error:
        sys.exit(str(error))
