"""The API reference: every public name is in it, and of a class what xdcc wrote.

Public is what a package names in its `__all__`. The package `xdcc` names estimators only, which
their own packages name as well. A name that the reference lacks is a warning, which ``-W`` makes an
error. What scikit-learn adds to a class is said there.
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


def _skip(app, what, name, member, skip, options):
    if what != "class":
        return None
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    return True if callable(function) and not str(module).startswith("xdcc") else None


def setup(app):
    """Leave out what other libraries document, and look for names when all pages are read."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
