"""Imports all classes whose objects model files can hold, which registers them."""

import xdcc.serving.compiled_classes
import xdcc.serving.other_classes  # noqa: F401
from xdcc.base.lazy_import import PUBLIC, import_package

for _name, _package in PUBLIC.items():
    getattr(import_package(_package), _name)
