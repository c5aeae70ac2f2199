"""Runs Python with what ``develop.py --sanitize NAMES`` built: ``python sanitized.py NAMES -m …``.

The sanitizers' libraries have to be there before Python, which is built without them; for
``thread`` an OpenMP that it understands is, too (``openmp_runtime.cc``), compiled for the run.
What they find ends the process with a report.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

RUNTIME = Path(__file__).with_name("openmp_runtime.cc")

OPTIONS = {
    # Python and the libraries keep memory to the end; what is asked for in vain is None as without.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1",
    "PYTHONMALLOC": "malloc",
}


def sanitized(names: str, runtime: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python can import what was built with sanitizers.

    Parameters
    ----------
    names : str
        The sanitizers, as `develop.py` takes them: with commas between.
    runtime : Path
        Where the OpenMP for ``thread`` shall lie.
    environ : mapping
        The environment as it is; its own options go before ours.
    """
    compiler = environ.get("CXX", "g++")
    if "thread" in names.split(","):
        flags = ["-std=c++17", "-fsanitize=thread", "-O1", "-g", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, RUNTIME, "-o", runtime], check=True)
        libraries = ["libtsan.so", str(runtime)]
    else:
        libraries = ["libasan.so", "libubsan.so", "libstdc++.so"]
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in libraries
    ]
    return {**OPTIONS, **environ, "LD_PRELOAD": ":".join(found)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        environ = sanitized(sys.argv[1], Path(folder, "openmp.so"), os.environ)
        command = [sys.executable, *sys.argv[2:]]
        sys.exit(subprocess.run(command, env=environ, check=False).returncode)
