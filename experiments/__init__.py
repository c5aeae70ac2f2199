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

The search path of `python -m` begins with the working directory, whose folder `xdcc` has sources
without their compiled modules. The installed package has to win: it is imported here, before any
other module asks for it.
"""

import sys
from importlib.util import module_from_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Folder of the repository."""

PAPERS = ROOT / "experiments" / "papers"
STUDIES = ROOT / "experiments" / "studies"
"""Folders with a folder for each paper and for each question of ours."""

RESULTS = ROOT / "experiments" / "results"
"""Folder of the loose records, in its folder `records`, and of reports."""


def _import_installed_package() -> None:
    """Import `xdcc` as `import` does, but for this folder."""
    elsewhere = [entry for entry in sys.path if Path(entry).resolve() != ROOT]
    for finder in sys.meta_path:  # an editable install has one of its own
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
