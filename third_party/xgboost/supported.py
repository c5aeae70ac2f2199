"""Checks that the wheel can be built here, before anything is downloaded or compiled.

Python 3.12 is not needed to import this module: it says so.
"""

import re
import subprocess
import sys
from pathlib import Path

SUPPORTED = (
    "Supported: Linux and macOS with 64 bits, Python 3.12 or newer, and GCC 10 or clang 14 or "
    "newer, with OpenMP"
)
CLONE = Path(__file__).resolve().parents[2]
GITHUB = re.compile(r"github\.com[:/]([\w-]+)/([\w.-]+?)(?:\.git)?/?$")


def find_problem() -> str:
    """Return why this Python or its platform cannot use the wheel, or an empty string."""
    problem = ""
    if sys.version_info < (3, 12):  # noqa: UP036 (frontends load this file before they check it)
        problem = f"XGBoost needs Python 3.12 or newer, not {sys.version.split()[0]}"
    elif sys.platform == "win32":
        problem = (
            "Windows is not supported: the plugin needs GCC or clang, not Visual Studio's compiler "
            "(MSVC). Use WSL, the Windows Subsystem for Linux (wsl --install; there, apt install "
            "g++)"
        )
    elif sys.maxsize < 2**32:
        problem = "this is a Python with 32 bits, and the plugin needs 64"
    return problem and f"{problem}. {SUPPORTED}. {wheels()}"


def wheels() -> str:
    """Return a sentence on how to install without a compiler.

    It names the address at which the GitHub repository that was cloned publishes its wheels
    (.github/workflows/wheels.yml).
    """
    command = ["git", "-C", str(CLONE), "config", "--get", "remote.origin.url"]
    try:
        url = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        url = ""
    origin = GITHUB.search(url)
    address = "https://{}.github.io/{}/simple".format(*origin.groups()) if origin else "<address>"
    how = f"pip install --extra-index-url {address} xdcc"
    return f"Without a compiler: {how} (wheels for Linux and macOS; see docs/start/install.md)"
