"""What all tests need before anything else is imported.

One thread unless a test asks for more: the data are small, and threads that wait for a shared
machine's cores cost more than they bring. Benchmark data are taken from ``XDCC_DATA``, else from
``../shared/data`` if that is there.
"""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

_SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
if _SHARED_DATA.is_dir():
    os.environ.setdefault("XDCC_DATA", str(_SHARED_DATA))
