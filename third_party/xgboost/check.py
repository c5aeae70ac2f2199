"""Checks the patch series: ``python third_party/xgboost/check.py``. CI runs it.

Stages the source tree like a build, without compiling, and prints a line per patch. Fails if a
patch does not apply exactly, does not state its reason or is not in the series, or if the series
exceeds its budget: patches must remain small hooks, with the code in the plugin. Needs the packages
listed in pyproject.toml, except CMake and Ninja.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pin import BuildError
from staging import PATCHES, changed_lines, read_series, stage

MAX_PATCHES = 5
MAX_CHANGED_LINES = 135
HEADINGS = ("Reason", "Upstream", "Drop when")


def check_series(environ: Mapping[str, str]) -> None:
    """Print the size of each patch.

    Raises
    ------
    BuildError
        If the series is invalid.
    """
    with tempfile.TemporaryDirectory(prefix="xdcc-") as work:
        stage(Path(work), environ)
    patches = read_series(PATCHES)
    if stray := sorted({path.name for path in PATCHES.glob("*.patch")} - {p.name for p in patches}):
        raise BuildError(f"{PATCHES / 'series'} does not list {', '.join(stray)}")
    total = 0
    for patch in patches:
        text = patch.read_text(encoding="utf-8")
        for heading in HEADINGS:
            if not re.search(rf"^{heading}: *\S", text, re.MULTILINE):
                raise BuildError(f"{patch.name} has no line that begins with '{heading}:'")
        count = changed_lines(patch)
        total += count
        print(f"{patch.name}: {count} changed lines")
    print(
        f"total: {len(patches)} of {MAX_PATCHES} patches, {total} of {MAX_CHANGED_LINES} changed "
        "lines; the series applies exactly"
    )
    if len(patches) > MAX_PATCHES or total > MAX_CHANGED_LINES:
        raise BuildError("the patch series exceeds its budget; move code to plugins/multilabel")


if __name__ == "__main__":
    try:
        check_series(os.environ)
    except BuildError as error:
        raise SystemExit(f"xdcc: {error}") from None
