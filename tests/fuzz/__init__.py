"""The campaign against bad input: ``python -m tests.fuzz``; docs/internals/robustness.md says more.

As in tests/conftest.py the installed package is tested, and one thread is enough.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path[:] = [*(entry for entry in sys.path if Path(entry).resolve() != ROOT), str(ROOT)]

os.environ.setdefault("OMP_NUM_THREADS", "1")
