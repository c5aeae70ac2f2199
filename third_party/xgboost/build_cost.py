"""Measures what the unity build saves: ``python third_party/xgboost/build_cost.py [folder]``.

Builds the library twice from scratch with `develop.py`: as a unity build and file by file. Reports
CPU seconds of all compilers, which other load on the machine hardly affects, and wall-clock
seconds. The builds remain in the folder (default: ``build/cost``), and the second one remains
installed.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from develop import FOLDER
from staging import HERE


def cost(folder: Path, unity: str, environ: Mapping[str, str]) -> tuple[float, float]:
    """Return the CPU and wall-clock seconds of a build from scratch."""
    shutil.rmtree(folder, ignore_errors=True)
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, HERE / "develop.py", folder],
        env={**environ, "CMAKE_ARGS": f"-DCMAKE_UNITY_BUILD={unity}"},
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begin


if __name__ == "__main__":
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER.with_name("cost")
    root = named.resolve()
    plain = {name: value for name, value in os.environ.items() if "LAUNCHER" not in name}  # ccache
    (unity, wall), (ordinary, ordinary_wall) = (
        cost(root / name, switch, plain) for name, switch in [("unity", "ON"), ("ordinary", "OFF")]
    )
    print(f"unity build:   {unity:.0f} CPU seconds, {wall:.0f} wall-clock seconds")
    print(f"regular build: {ordinary:.0f} CPU seconds, {ordinary_wall:.0f} wall-clock seconds")
    print(f"the unity build takes {unity / ordinary:.0%} of the regular build's CPU time")
