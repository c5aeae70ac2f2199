"""Runs Python with what ``develop.py --sanitize`` built: ``python sanitized.py address -m …``.

The sanitizers' libraries have to be loaded before Python, which is built without them. What they
find ends the process with a report.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

LIBRARIES = {
    "address": ("libasan.so", "libubsan.so", "libstdc++.so"),
    "thread": ("libtsan.so",),
}

OPTIONS = {
    # Python and the libraries keep memory to the end; what is asked for in vain is None as without.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1",
    "PYTHONMALLOC": "malloc",
}


def sanitized(kind: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python can import what was built with sanitizers.

    Parameters
    ----------
    kind : {"address", "thread"}
        ``address`` also for ``undefined``, which the two are built with.
    environ : mapping
        The environment as it is; its own options go before ours.
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
