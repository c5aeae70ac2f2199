"""Files that are whole or not there: what is written has reached the disk when it gets its name."""

import os
from pathlib import Path


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until the disk has it.

    Parameters
    ----------
    path : Path
        Where to; there must be nothing yet.
    content : bytes
        What to write.

    Raises
    ------
    OSError
        If it cannot be written: a full disk is told here, not when the file is closed.
    """
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
