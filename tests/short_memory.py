"""Trainings in child processes that may take little memory beyond what Python has."""

_CHILDREN = """
import os, resource, signal, sys
from pathlib import Path

import numpy as np

{setup}


def train(n_jobs, mebibytes):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.alarm(60)
    try:
        {train}
    except MemoryError as error:
        return 3 if {message!r} in str(error) else 4
    return 0


for n_jobs in (1, 2):
    for mebibytes in map(int, sys.argv[1:]):
        child = os.fork()
        if not child:
            os._exit(train(n_jobs, mebibytes))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ", flush=True)
"""


def train_with_little_memory(run_python, setup, train, message, mebibytes):
    """Return the exit codes with one thread, and those with two, one for each limit in MiB.

    0: trained; 3: a MemoryError with this message; 4: another MemoryError.
    """
    script = _CHILDREN.format(setup=setup, train=train, message=message)
    result = run_python("-W", "ignore", "-c", script, *map(str, mebibytes), seconds=300)
    assert result.stderr == ""
    codes = [int(code) for code in result.stdout.split()]
    assert len(codes) == 2 * len(mebibytes)
    return codes[: len(mebibytes)], codes[len(mebibytes) :]
