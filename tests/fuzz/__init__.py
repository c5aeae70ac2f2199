"""The campaign against bad input: ``python -m tests.fuzz``; docs/internals/robustness.md says more.

As in tests/conftest.py the installed package is tested.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path[:] = [*(entry for entry in sys.path if Path(entry).resolve() != ROOT), str(ROOT)]
