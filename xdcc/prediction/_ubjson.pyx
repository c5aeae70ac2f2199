"""``read_ubjson``: parts of a model in the UBJSON that XGBoost writes."""

import numpy as np

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t

_TYPES = {
    ord(marker): np.dtype(name)
    for marker, name in zip("iUIlLdD", ("i1", "u1", ">i2", ">i4", ">i8", ">f4", ">f8"), strict=True)
}


cdef class _Reader:
    """Reads or skips one value after the other, of content that XGBoost has just written."""

    cdef const uint8_t* content
    cdef int64_t at
    cdef object owner
    cdef set names

    cdef object value(self):
        """Read a value: dictionaries, lists, arrays, text and numbers."""
        cdef uint8_t marker = self.content[self.at]
        cdef dict found
        self.at += 1
        if marker == b"{":
            found = {}
            while self.content[self.at] != b"}":
                name = self.text()
                if name in self.names:
                    found[name] = self.value()
                else:
                    self.skip()
            self.at += 1
            return found
        if marker == b"[":
            return self.list()
        if marker == b"S":
            return self.text()
        if marker == b"T" or marker == b"F":
            return marker == b"T"
        if marker == b"Z":
            return None
        return self.array(marker, 1)[0].item()

    cdef object list(self):
        cdef uint8_t marker
        cdef int64_t n
        cdef list found = []
        if self.content[self.at] == b"$":  # all of one type
            marker = self.content[self.at + 1]
            self.at += 3  # the type, and the #
            n = self.whole()
            return self.array(marker, n)
        if self.content[self.at] == b"#":  # the length comes first
            self.at += 1
            n = self.whole()
            for _ in range(n):
                found.append(self.value())
            return found
        while self.content[self.at] != b"]":
            found.append(self.value())
        self.at += 1
        return found

    cdef object array(self, uint8_t marker, int64_t n):
        found = np.frombuffer(self.owner, _TYPES[marker], n, self.at)
        self.at += n * size_of(marker)
        return found

    cdef object text(self):
        cdef int64_t size = self.whole()
        self.at += size
        return PyUnicode_DecodeUTF8(<const char*>self.content + self.at - size, size, NULL)

    cdef int64_t whole(self) noexcept:
        """Read a whole number, which is the size of something."""
        cdef uint8_t marker = self.content[self.at]
        cdef int64_t found = 0
        self.at += 1
        for _ in range(size_of(marker)):
            found = found << 8 | self.content[self.at]
            self.at += 1
        return found

    cdef void skip(self) noexcept:
        """Go to the end of a value."""
        cdef uint8_t marker = self.content[self.at]
        cdef int64_t n, i
        self.at += 1
        if marker == b"{":
            while self.content[self.at] != b"}":
                n = self.whole()
                self.at += n
                self.skip()
            self.at += 1
        elif marker == b"[" and self.content[self.at] == b"$":
            marker = self.content[self.at + 1]
            self.at += 3
            n = self.whole()
            self.at += n * size_of(marker)
        elif marker == b"[" and self.content[self.at] == b"#":
            self.at += 1
            n = self.whole()
            for i in range(n):
                self.skip()
        elif marker == b"[":
            while self.content[self.at] != b"]":
                self.skip()
            self.at += 1
        elif marker == b"S":
            n = self.whole()
            self.at += n
        else:
            self.at += size_of(marker)


cdef int64_t size_of(uint8_t marker) noexcept:
    """Return the bytes of a number; 0 for constants."""
    if marker == b"i" or marker == b"U":
        return 1
    if marker == b"I":
        return 2
    if marker == b"l" or marker == b"d":
        return 4
    return 8 if marker == b"L" or marker == b"D" else 0


def read_ubjson(content, names):
    """Read a value; see ``_ubjson.pyi``."""
    cdef const uint8_t[::1] view = content
    cdef _Reader reader = _Reader()
    reader.owner, reader.names = content, set(names)
    reader.content, reader.at = &view[0], 0
    return reader.value()
