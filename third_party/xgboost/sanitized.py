"""Runs Python with the build of ``develop.py --sanitize``: ``python sanitized.py address -m …``.

Python itself is built without sanitizers, so their libraries must be preloaded. The first error
ends the process with a report.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SUPPRESSIONS = Path(__file__).resolve().parent / "suppressions"

LIBRARIES = {
    "address": ("libasan.so", "libubsan.so", "libstdc++.so"),
    "thread": ("libtsan.so",),
}

OPTIONS = {
    # Python and the libraries never free some memory. A failed allocation returns NULL, as usual.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"
    f":suppressions={SUPPRESSIONS}/undefined.txt",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1"
    f":suppressions={SUPPRESSIONS}/thread.txt",
    "PYTHONMALLOC": "malloc",
}


def sanitized(kind: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python can import libraries built with sanitizers.

    Parameters
    ----------
    kind : {"address", "thread"}
        ``address`` includes ``undefined``.
    environ : mapping
        The current environment. Its sanitizer options take precedence over ours.
    """
    compiler = environ.get("CXX", "g++")
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in LIBRARIES[kind]
    ]
    return {**OPTIONS, **environ, "LD_PRELOAD": ":".join(found)}


if __name__ == "__main__":
    if sys.argv[1:2] not in (["address"], ["thread"]):
        sys.exit("usage: python sanitized.py address|thread -m pytest ...")
    command = [sys.executable, *sys.argv[2:]]
    environ = sanitized(sys.argv[1], os.environ)
    sys.exit(subprocess.run(command, env=environ, check=False).returncode)
