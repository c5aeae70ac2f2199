"""Checks that the API reference is complete, and leaves out inherited members of other libraries.

A name is public if a package, or a module directly below `xdcc`, lists it in `__all__`. If the
reference lacks a public name, the build emits a warning, which ``-W`` turns into an error. Members
that scikit-learn adds to a class are not repeated.
"""

from importlib import import_module
from pkgutil import walk_packages

from sphinx.util import logging

import xdcc

logger = logging.getLogger(__name__)


def public_names():
    """Yield the full names of all public objects."""
    for found in walk_packages(xdcc.__path__, "xdcc."):
        if found.ispkg or found.name.count(".") == 1:
            for name in getattr(import_module(found.name), "__all__", ()):
                yield f"{found.name}.{name}"


def _check(app, env):
    documented = env.domains.python_domain.objects
    for name in public_names():
        if name not in documented:
            logger.warning("%s is public but missing from the API reference", name)


def _skip(app, what, name, member, skip, options):
    if what != "class":
        return None
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    return True if callable(function) and not str(module).startswith("xdcc") else None


def setup(app):
    """Connect the two hooks: skip members of other libraries, and check all pages for names."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
