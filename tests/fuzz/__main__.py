"""``python -m tests.fuzz --minutes 10 --seed 0``: the campaign, one line a target.

Exits with 1 if there are findings. Each is printed with a command that tries its input again, if
JSON can hold it. All inputs of findings are kept as pickles in the folder that ``--keep`` names.
"""

import argparse
import os
import pickle
import sys
from pathlib import Path

from tests.fuzz.campaign import ENVIRONMENT, command, read_input, target_addresses, try_target
from tests.fuzz.target import load_target
from tests.fuzz.worker import LINES

_WIDTH = 300
"""How much of a line of a finding is printed."""


def main(arguments: list[str]) -> int:
    """Run the campaign and print what it finds."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help="all, unless named")
    parser.add_argument("--minutes", type=float, default=10, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10**9, help="of each target at most")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of findings")
    parser.add_argument("--again", metavar="INPUT", help="JSON or a file; in this process")
    parser.add_argument("--times", type=int, default=1, help="how often, with --again")
    chosen = parser.parse_args(arguments)
    addresses = target_addresses()
    names = chosen.targets or sorted(addresses)
    if unknown := set(names) - set(addresses):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(sorted(addresses))}")
    if chosen.again:
        os.environ.update(ENVIRONMENT)
        target = load_target(addresses[names[0]])
        value = read_input(chosen.again)
        print(repr(value)[:2000], flush=True)
        for _ in range(chosen.times):
            target.attempt(value)
        return 0
    n_tried = n_found = 0
    for name in names:
        seconds = 60 * chosen.minutes / len(names)
        result = try_target(addresses[name], chosen.seed, seconds, chosen.inputs)
        print(f"{name:22} {result}", flush=True)
        for number, finding in enumerate(result.findings):
            print(f"  {finding.kind} {finding.where}: {repr(finding.value)[:_WIDTH]}")
            for line in finding.text.strip().splitlines()[-LINES:]:
                print(f"    | {line[:_WIDTH]}")
            print(f"    {command(name, finding.value) or '--keep DIR keeps the input'}", flush=True)
            if chosen.keep:
                chosen.keep.mkdir(parents=True, exist_ok=True)
                kept = chosen.keep / f"{name}-{chosen.seed}-{number}.pickle"
                kept.write_bytes(pickle.dumps(finding.value))
        n_tried += result.tried
        n_found += len(result.findings)
    print(f"{'all':22} {n_tried:7} inputs, {n_found} findings")
    return int(n_found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
