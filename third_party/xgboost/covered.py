"""Tells which lines of the plugin have run: ``python third_party/xgboost/covered.py [folder]``.

After ``develop.py --coverage``, and tests of what it built. Prints a line for each file, with the
numbers of the lines that have not run, and the share of all.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from develop import FOLDER
from staging import PLUGIN


def counts(objects: Path) -> dict[str, dict[int, int]]:
    """Return for each of the plugin's files how often its lines have run, by their numbers.

    A line of a header counts as often as it ran in all files that include it.
    """
    inside = f"plugin/{PLUGIN.name}/"
    found: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for path in objects.resolve().rglob("*.gcno"):
        if inside not in path.as_posix():
            continue
        command = ["gcov", "--json-format", "--stdout", path.name]
        printed = subprocess.run(
            command, cwd=path.parent, capture_output=True, text=True, check=True
        ).stdout
        for file in json.loads(printed)["files"]:
            _, ours, name = file["file"].rpartition(inside)
            if ours:
                for line in file["lines"]:
                    found[name][line["line_number"]] += line["count"]
    return found


def report(found: dict[str, dict[int, int]]) -> list[str]:
    """Return the lines of the report, that of all files last."""
    lines = []
    for name, of_file in sorted(found.items()):
        missed = [str(number) for number, count in sorted(of_file.items()) if count == 0]
        ran = len(of_file) - len(missed)
        lines.append(f"{ran:5} of {len(of_file):4}  {name}  {', '.join(missed)}".rstrip())
    of_all = [count for of_file in found.values() for count in of_file.values()]
    ran = sum(count > 0 for count in of_all)
    return [*lines, f"{ran} of {len(of_all)} lines have run: {100 * ran / len(of_all):.1f} %"]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER.with_name("covered")
    print("\n".join(report(counts(folder))))
