"""Very many random edits of boosters' files are refused, or predict without a fault.

    python -m tests.fuzz.many_edits --edits 1000000 --seed 0

The target `booster_file` uses what passes in every way that there is; here a file is checked and,
if it passes, read and asked for predictions, so that there can be many more. Ten thousand at a time
are tried in a process of their own: one that dies, hangs or takes 2 GiB is a finding, and its seed
makes it again.
"""

import argparse
import random
import resource
import subprocess
import sys
from contextlib import suppress

import numpy as np
import xgboost as xgb
from tqdm import tqdm

from tests.fuzz.mutation import edit_bytes
from tests.fuzz.targets.booster_file import BOOSTERS, CODED, PIECES, X
from xdcc.base.booster_file import ModelFileError, check_booster, read_booster

EDITS_IN_A_PROCESS = 10_000
SECONDS = 600  # for these
COMMAND = ["-m", "tests.fuzz.many_edits"]
BYTES = 2 << 30  # beyond what the imports take
FILES = [file for pair in BOOSTERS for file in pair]
ROWS = np.vstack([X[:3], CODED[:3], np.full((1, X.shape[1]), np.nan, np.float32)])


def n_accepted(seed: int, edits: int) -> int:
    """Try edits in this process; return how many passed."""
    rng, accepted = random.Random(seed), 0
    for _ in range(edits):
        content = edit_bytes(rng, rng.choice(FILES), PIECES)
        try:
            check_booster(content)
            booster = read_booster(content, {"nthread": 1})
        except ModelFileError:
            continue
        accepted += 1
        with suppress(ValueError):  # numbers of features, or categories, that these rows do not fit
            booster.inplace_predict(ROWS)
            booster.predict(xgb.DMatrix(ROWS), pred_leaf=True)
    return accepted


def main(arguments: list[str]) -> int:
    """Try edits in processes; print the seeds of those that ended badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.many_edits")
    parser.add_argument("--edits", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=0, help="of the first process")
    parser.add_argument("--here", action="store_true", help="one seed, in this process")
    chosen = parser.parse_args(arguments)
    if chosen.here:
        size = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (size + BYTES, size + BYTES))
        print(n_accepted(chosen.seed, chosen.edits))
        return 0
    accepted = n_found = 0
    for first in tqdm(range(0, chosen.edits, EDITS_IN_A_PROCESS), unit="process"):
        seed = chosen.seed + first // EDITS_IN_A_PROCESS
        edits = min(EDITS_IN_A_PROCESS, chosen.edits - first)
        command = [*COMMAND, "--here", f"--seed={seed}", f"--edits={edits}"]
        try:
            done = subprocess.run(
                [sys.executable, *command], capture_output=True, text=True, timeout=SECONDS
            )
            status, text = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            status, text = f"more than {SECONDS} s", ""
        if status == 0:
            accepted += int(done.stdout)
        else:
            n_found += 1
            print(f"finding: {' '.join(command)} ended with {status}\n{text[-2000:]}", flush=True)
    print(f"{chosen.edits} edits, {accepted} accepted, {n_found} findings")
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
