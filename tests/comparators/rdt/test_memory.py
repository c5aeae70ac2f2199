"""Memory that is short: an error, where a failed allocation once ended the process."""

CHILDREN = """
import os, resource, signal, sys
from pathlib import Path

import numpy as np

from xdcc import RandomDecisionTreeClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(30000, 100)).astype(np.float32)
Y = (rng.random((30000, 30)) < 0.2).astype(int)
RandomDecisionTreeClassifier(n_estimators=2, n_jobs=2).fit(X[:50], Y[:50])  # imports all modules


def train(n_jobs, mebibytes):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.alarm(60)
    try:
        RandomDecisionTreeClassifier(n_estimators=20, n_jobs=n_jobs).fit(X, Y)
    except MemoryError as error:
        return 4 if "Memory did not suffice for" in str(error) else 3
    return 0


for n_jobs in (1, 2):
    for mebibytes in map(int, sys.argv[1:]):
        child = os.fork()
        if not child:
            os._exit(train(n_jobs, mebibytes))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ", flush=True)
"""


def test_a_tree_for_which_memory_does_not_suffice_is_an_error(run_python):
    sizes = [str(mebibytes) for mebibytes in (16, 24, 40, 60, 90, 600)]
    result = run_python("-W", "ignore", "-c", CHILDREN, *sizes, seconds=300)
    assert result.stderr == ""
    codes = result.stdout.split()
    assert len(codes) == 2 * len(sizes)
    assert set(codes) <= {"0", "3", "4"}
    assert "4" in codes
    assert codes[len(sizes) - 1] == codes[-1] == "0"
