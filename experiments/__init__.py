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

The search path of `python -m` begins with the working directory, whose folder `xdcc` has sources
without compiled modules. Therefore the installed package is imported here, before any other module
imports it.
"""

import sys
from importlib.util import module_from_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the repository."""

PAPERS = ROOT / "experiments" / "papers"
STUDIES = ROOT / "experiments" / "studies"
"""Folders of the papers and of our own studies."""

RESULTS = ROOT / "experiments" / "results"
"""Folder of reports, and of the records in its folder `records`; git ignores it."""


def _import_installed_package() -> None:
    """Import `xdcc` as `import` does, but not from the clone."""
    elsewhere = [entry for entry in sys.path if Path(entry).resolve() != ROOT]
    for finder in sys.meta_path:  # an editable install has its own
        spec = finder.find_spec("xdcc", elsewhere)
        if spec is not None and spec.loader is not None:
            sys.modules["xdcc"] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules["xdcc"])
            return
    raise ModuleNotFoundError(
        "xdcc is not installed here: pip install ./third_party/xgboost '.[experiments]'"
    )


if "xdcc" not in sys.modules:
    _import_installed_package()
