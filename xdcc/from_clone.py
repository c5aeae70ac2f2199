"""The clone's folder `xdcc`, whose kernels are not compiled, when Python starts beside it.

This module is not installed.
"""

import re
import sys
from importlib.machinery import PathFinder
from importlib.metadata import distributions
from importlib.util import module_from_spec
from pathlib import Path

CLONE = Path(__file__).parents[1]


def use_installed_package() -> None:
    """Replace the module `xdcc` by the installed package, which must have the same version."""
    elsewhere = [entry for entry in sys.path if not Path(entry, "xdcc", "from_clone.py").exists()]
    spec = PathFinder.find_spec("xdcc", elsewhere)
    versions = [found.version for found in distributions(name="xdcc", path=elsewhere)]
    own = re.findall(r"\bversion: '(.+)'", (CLONE / "meson.build").read_text("utf-8"))[0]
    if spec is None or spec.loader is None or versions[:1] != [own]:
        installed = f"version {versions[0]}" if versions else "no version"
        raise ImportError(
            f"{CLONE} has the sources of xdcc {own}, but {installed} is installed in {sys.prefix}. "
            f"Run in {CLONE}: pip install ./third_party/xgboost .",
            name="xdcc",
        )
    sys.modules["xdcc"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["xdcc"])
