"""A warning, which ``-W`` makes an error, for a public name that the API reference lacks.

Public is what a package names in its `__all__`. The package `xdcc` names estimators only, which
their own packages name as well.
"""

from importlib import import_module
from pkgutil import walk_packages

from sphinx.util import logging

import xdcc

logger = logging.getLogger(__name__)


def public_names():
    """Full names of all that is public."""
    for found in walk_packages(xdcc.__path__, "xdcc."):
        module = import_module(found.name)
        for name in getattr(module, "__all__", ()):
            yield f"{found.name}.{name}"


def _check(app, env):
    documented = env.domains.python_domain.objects
    for name in public_names():
        if name not in documented:
            logger.warning("%s is public and not in the API reference", name)


def setup(app):
    """Look when all pages are read."""
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
