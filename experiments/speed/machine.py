"""The machine and the builds that measurements come from."""

import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import xgboost

from experiments.engine.records import versions
from xdcc.base.plugin import plugin_version

_PACKAGES = (
    "xdcc",
    "xgboost",
    "lightgbm",
    "catboost",
    "treelite",
    "scikit-learn",
    "numpy",
    "scipy",
)


def describe_machine() -> dict[str, Any]:
    """Return the processor's model and caches, the cores, the memory and the operating system.

    Raises
    ------
    OSError
        If this is not Linux, which has them in /proc.
    """
    cpu_info = Path("/proc/cpuinfo")
    if not cpu_info.exists():
        raise OSError("the benchmark needs Linux, because it reads /proc")
    fields = dict(line.split(":", 1) for line in cpu_info.read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    return {
        "processor": fields.get("model name", platform.machine()),
        "vector instructions": [name for name in ("avx2", "avx512f") if name in flags],
        "caches": _caches(Path("/sys/devices/system/cpu/cpu0/cache")),
        "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": platform.platform(),
    }


def installed_versions() -> dict[str, str]:
    """Return the versions of Python, the installed packages and the plugin.

    `library` is a digest of the compiled XGBoost, which identifies the build.
    """
    installed = {name: number for name, number in versions(_PACKAGES).items() if number}
    return installed | {"plugin": plugin_version() or "none", "library": library_digest()}


def library_digest() -> str:
    """Return the beginning of the SHA-256 digest of the compiled XGBoost."""
    library = Path(xgboost.build_info()["libxgboost"])
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16]


def _caches(folder: Path) -> dict[str, str]:
    """Return the size of each of a core's caches."""
    caches = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size = (
            (index / name).read_text().strip() for name in ("level", "type", "size")
        )
        caches[f"L{level} {kind.lower()}"] = size
    return caches
