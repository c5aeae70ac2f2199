"""Says how far the compilation is, a line every 20 seconds.

Pip shows the lines if it is told to be verbose. Else it hides them, but takes each for a sign of
life: its own line then goes on.
"""

import contextlib
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

INTERVAL = 20.0  # seconds


@contextlib.contextmanager
def shown(source: Path) -> Iterator[None]:
    """Print lines on stderr while scikit-build-core builds the tree `source`."""
    ended = threading.Event()

    def tell() -> None:
        begin = time.monotonic()
        while not ended.wait(INTERVAL):
            line = f"xdcc: {state(source)} after {time.monotonic() - begin:.0f} seconds"
            print(line, file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def state(source: Path) -> str:
    """Say how many files are compiled, where Ninja's plan and its log tell."""
    for plan in source.glob("build/*/build.ninja"):
        files = re.findall(r"^build (\S+): C\w*_COMPILER__", plan.read_text(), re.MULTILINE)
        log = plan.with_name(".ninja_log")
        done = log.read_text().split("\t") if log.is_file() else []
        return f"compiled {len({*files} & {*done})} of {len(files)} files"
    return "at work"
