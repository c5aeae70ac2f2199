"""Prints the packages of the extras `examples` and `bench`, with the modules that tests import."""

import tomllib
from pathlib import Path

_MODULES = {
    "mlrl-boomer": "mlrl",
    "optuna-integration": "optuna",
    "scikit-multilearn-ng": "skmultilearn",
}
"""Names of modules that differ from the package's."""

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

extras = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
for requirement in extras["examples"] + extras["bench"]:
    name = requirement.partition(">=")[0]
    print(requirement, _MODULES.get(name, name))
