"""Experiments: every table and figure of the papers, from records that this package makes.

    python -m experiments list
    python -m experiments run xdcc-2020-quick
    python -m experiments report xdcc-2020-quick
    python -m experiments report --all
    python -m experiments pack

Three kinds of small file say what there is to compare, and nothing else has to change when one is
added:

- `datasets/*.py` register data sets (`DATASETS`), `methods/*.py` one method (`METHOD`) or a family
  of them (`METHODS`);
- `papers/*/*.yaml` and `studies/*/*.yaml` say what is compared on what, how it is tuned, measured
  and reported; a folder for each paper and each question of ours holds its records and its report.

The way of an experiment through `engine`: `configuration` reads and checks a file, `plan` lists the
tasks that it needs, `runner` executes those that the `records` do not hold yet, each in a
process of its own, `results` reads the records, and `report` makes tables, sentences and figures of
them. Records are loose files while a run goes on; `pack` makes one compressed file per study of
them, to be kept.

`python -m` puts the working directory, with the package's sources without their compiled modules,
before what is installed; the installed package has to win.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the repository."""

PAPERS = ROOT / "experiments" / "papers"
STUDIES = ROOT / "experiments" / "studies"
"""Folders with a folder for each paper and for each question of ours."""

RESULTS = ROOT / "experiments" / "results"
"""Folder of the loose records, in its folder `records`, and of reports."""

sys.path[:] = [*(entry for entry in sys.path if entry not in ("", str(ROOT))), str(ROOT)]
