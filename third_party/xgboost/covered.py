"""Reports the line coverage of the plugin: ``python third_party/xgboost/covered.py [folder]``.

Run it after ``develop.py --coverage`` and the tests. It prints the lines not covered in each file,
and the total coverage.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from develop import FOLDER
from staging import PLUGIN


def counts(objects: Path) -> dict[str, dict[int, int]]:
    """Return the execution counts of each file of the plugin, by line number.

    The counts of a header are summed over all files that include it.
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
    """Return the lines of the report, with the total last."""
    lines = []
    for name, of_file in sorted(found.items()):
        missed = [str(number) for number, count in sorted(of_file.items()) if count == 0]
        ran = len(of_file) - len(missed)
        lines.append(f"{ran:5} of {len(of_file):4}  {name}  {', '.join(missed)}".rstrip())
    of_all = [count for of_file in found.values() for count in of_file.values()]
    ran = sum(count > 0 for count in of_all)
    return [*lines, f"{ran} of {len(of_all)} lines covered: {100 * ran / len(of_all):.1f} %"]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER.with_name("covered")
    print("\n".join(report(counts(folder))))
