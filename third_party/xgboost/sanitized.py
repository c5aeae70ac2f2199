"""Runs Python with what ``develop.py --sanitize`` built: ``python sanitized.py address -m …``.

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


def sanitized(kind: str, runtime: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python can import what was built with sanitizers.

    Parameters
    ----------
    kind : {"address", "thread"}
        ``address`` also for ``undefined``, which the two are built with.
    runtime : Path
        Where the OpenMP for ``thread`` shall lie.
    environ : mapping
        The environment as it is; its own options go before ours.
    """
    compiler = environ.get("CXX", "g++")
    if kind == "thread":
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
    if sys.argv[1:2] not in (["address"], ["thread"]):
        sys.exit("usage: python sanitized.py address|thread -m pytest ...")
    with tempfile.TemporaryDirectory() as folder:
        environ = sanitized(sys.argv[1], Path(folder, "openmp.so"), os.environ)
        command = [sys.executable, *sys.argv[2:]]
        sys.exit(subprocess.run(command, env=environ, check=False).returncode)
