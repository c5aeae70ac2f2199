"""Experiments: the tables and figures of the papers, from records that this package makes.

    python -m experiments list
    python -m experiments run xdcc-2020-quick
    python -m experiments report xdcc-2020-quick
    python -m experiments pack
    python -m experiments report --all
    python -m experiments report --pages

Three kinds of small file define the comparisons; to add one, you change nothing else:

- `datasets/*.py` register data sets (`DATASETS`), `methods/*.py` one method (`METHOD`) or a family
  of them (`METHODS`);
- `papers/*/*.yaml` and `studies/*/*.yaml` define what is compared on which data, and how it is
  tuned, measured and reported. The folder of a paper or study also has its tables of results and
  its report.

In `engine`, `configuration` reads and checks a file, `plan` lists the tasks that it needs, `runner`
executes those that have no record yet, each in a process of its own (`process`), and `results`
reads the `records`. Records are single files during a run; `pack` makes the tables of results of
them (`result_table`), which are kept in the repository, and moves them into one compressed file per
study. Releases have these files, and `records.csv` pins them (`pins`). `report` makes tables,
sentences and figures, all from the tables of results.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the repository."""

PAPERS = ROOT / "experiments" / "papers"
STUDIES = ROOT / "experiments" / "studies"
"""Folders of the papers and of our own studies."""

RESULTS = ROOT / "experiments" / "results"
"""Folder of reports, and of the records in its folder `records`; git ignores it."""
