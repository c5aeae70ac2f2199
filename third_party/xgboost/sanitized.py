"""Runs Python with what ``develop.py --sanitize`` built: ``python sanitized.py -m pytest tests``.

The sanitizers' libraries have to be there before Python, which is built without them. What they
find ends the process with a report.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

_LIBRARIES = ("libasan.so", "libubsan.so", "libstdc++.so")

OPTIONS = {
    # Python and the libraries keep memory to the end; what is asked for in vain is None as without.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
}


def sanitized(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python can import what was built with sanitizers."""
    compiler = environ.get("CXX", "g++")
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in _LIBRARIES
    ]
    return {**OPTIONS, **environ, "LD_PRELOAD": ":".join(libraries)}


if __name__ == "__main__":
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], sanitized(os.environ))
