"""``python -m tests.fuzz --minutes 10 --seed 0``: the campaign, one line a target.

Exits with 1 if there are findings, whose inputs are kept as pickles in the folder that ``--keep``
names and are tried again with ``--again FILE``.
"""

import argparse
import pickle
import sys
from pathlib import Path

from tests.fuzz.campaign import target_addresses, try_target
from tests.fuzz.target import load_target

_LINES, _WIDTH = 12, 300
"""How much of a finding is printed."""


def main(arguments: list[str]) -> int:
    """Run the campaign and print what it finds."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help="all, unless named")
    parser.add_argument("--minutes", type=float, default=10, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10**9, help="of each target at most")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of findings")
    parser.add_argument("--again", type=Path, help="an input that was kept, for one target")
    chosen = parser.parse_args(arguments)
    addresses = target_addresses()
    names = chosen.targets or sorted(addresses)
    if unknown := set(names) - set(addresses):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(sorted(addresses))}")
    if chosen.again:
        target = load_target(addresses[names[0]])
        value = pickle.loads(chosen.again.read_bytes())
        print(repr(value)[:2000])
        target.attempt(value)
        return 0
    n_tried = n_found = 0
    for name in names:
        seconds = 60 * chosen.minutes / len(names)
        result = try_target(addresses[name], chosen.seed, seconds, chosen.inputs)
        print(f"{name:22} {result}", flush=True)
        for number, finding in enumerate(result.findings):
            print(f"  {finding.kind} {finding.where}: {repr(finding.value)[:_WIDTH]}")
            for line in finding.text.strip().splitlines()[-_LINES:]:
                print(f"    | {line[:_WIDTH]}", flush=True)
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
