"""Methods on a class's page are those that xdcc wrote; what scikit-learn adds is said there."""


def _skip(app, what, name, member, skip, options):
    if what != "class":
        return None
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    return True if callable(function) and not str(module).startswith("xdcc") else None


def setup(app):
    """Leave out what other libraries document."""
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
