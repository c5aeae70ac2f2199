"""The pinned upstream release, read from `upstream.toml`, and the error class of this backend."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pin:
    """An upstream release and the local version built from it."""

    name: str
    version: str
    sha256: str
    local: str

    @property
    def folder(self) -> str:
        """Name of the root folder of the source distribution."""
        return f"{self.name}-{self.version}"

    @property
    def sdist(self) -> str:
        """File name of the source distribution."""
        return f"{self.folder}.tar.gz"

    @property
    def local_version(self) -> str:
        """Version in the metadata of the wheel."""
        return f"{self.version}+{self.local}"


def read_pin(file: Path) -> Pin:
    """Read the pin from a TOML file that has exactly the fields of `Pin`."""
    return Pin(**tomllib.loads(file.read_text(encoding="utf-8")))


class BuildError(Exception):
    """Raised when the build cannot continue.

    The message is one line: what is wrong, where, and how to fix it. `backend.py` and `check.py`
    print it after the prefix ``xdcc:`` instead of a traceback.
    """
