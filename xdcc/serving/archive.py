"""The zip archive of a model file, read without trusting what it says of its sizes.

A kilobyte of a zip archive can unpack to a megabyte. So all members of an archive together are at
most `MOST_EXPANSION` times as large as the archive; :func:`pack` leaves one uncompressed that would
shrink further. The same members give the same bytes.
"""

import io
import zipfile
from collections.abc import Mapping

MOST_EXPANSION = 100
"""How much larger than the archive its members may be, all together."""


def pack(members: Mapping[str, bytes], comment: bytes) -> bytes:
    """Make an archive.

    Parameters
    ----------
    members : mapping of str to bytes
        Contents by name.
    comment : bytes
        The archive's last bytes.

    Returns
    -------
    bytes
        The archive.
    """
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                # Made by hand, an entry has a fixed date.
                archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
            archive.comment = comment
        if sum(map(len, members.values())) <= MOST_EXPANSION * len(buffer.getvalue()):
            break
    return buffer.getvalue()


class Archive:
    """An archive that is read member by member.

    Parameters
    ----------
    content : bytes
        The archive.
    max_bytes : int, optional
        How large its members may be all together, if that is less.

    Attributes
    ----------
    names : set of str
        Its members.

    Raises
    ------
    ValueError
        If two members have the same name, one is encrypted or compressed in another way than
        :func:`pack` does, or they are too large together.
    zipfile.BadZipFile
        If it is no archive.
    """

    def __init__(self, content: bytes, max_bytes: int | None = None) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        entries = self._archive.infolist()
        self.names = {entry.filename for entry in entries}
        if len(self.names) < len(entries):
            raise ValueError("two members have the same name")
        for entry in entries:
            known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if entry.flag_bits & 1 or not known:
                raise ValueError(f"{entry.filename} is encrypted or compressed in an unknown way")
        total = sum(entry.file_size for entry in entries)
        if total > MOST_EXPANSION * len(content):
            raise ValueError(
                f"its members have {total} bytes, more than {MOST_EXPANSION} times its own "
                f"{len(content)}"
            )
        if max_bytes is not None and total > max_bytes:
            raise ValueError(f"its members have {total} bytes, more than max_bytes={max_bytes}")

    def size(self, name: str) -> int:
        """Tell the size of a member in bytes, a KeyError if there is none."""
        return self._archive.getinfo(name).file_size

    def read(self, name: str) -> bytes:
        """Read a member.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        bytes
            Its content.

        Raises
        ------
        KeyError
            If there is none.
        zipfile.BadZipFile, zlib.error, EOFError
            If it is broken.
        """
        entry = self._archive.getinfo(name)
        with self._archive.open(entry) as member:
            # Not more than declared: without a number, everything is unpacked before it is cut.
            content = member.read(entry.file_size)
        if len(content) != entry.file_size:
            raise zipfile.BadZipFile(f"{name} is shorter than the archive says")
        return content
