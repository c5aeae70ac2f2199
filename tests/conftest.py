"""Where the tests find the benchmark data: ``XDCC_DATA``, else ``../shared/data`` if it is there."""

import os
from pathlib import Path

_SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
if _SHARED_DATA.is_dir():
    os.environ.setdefault("XDCC_DATA", str(_SHARED_DATA))
