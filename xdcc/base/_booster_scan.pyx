"""Reads a model of XGBoost, JSON or UBJSON, without trusting it.

The readers in XGBoost call themselves for every bracket, take memory for whatever length is
written, and walk through trees without looking at where their indices lead. This one stops at a
depth, compares every length with the bytes that are left, and checks each tree as soon as its last
byte is read; then nothing of the tree is kept. Real numbers are only looked at, never stored.

It accepts less than XGBoost does, and never more: only what XGBoost's writers write. Each key is
there once, without escapes, so that both readers find the same value under it.
"""

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

cdef enum:
    # Arrays of whole numbers of a tree, in the order of INTEGERS.
    DEFAULT_LEFT, LEFT, PARENT, RIGHT, FEATURE, SPLIT_TYPE
    CATEGORIES, CATEGORY_NODES, CATEGORY_STARTS, CATEGORY_COUNTS
    N_INTEGERS
cdef enum:
    # Arrays of real numbers, in the order of REALS.
    BASE, LEAF, GAIN, CONDITION, HESSIAN
    N_REALS

INTEGERS = (
    b"default_left", b"left_children", b"parents", b"right_children", b"split_indices",
    b"split_type", b"categories", b"categories_nodes", b"categories_segments",
    b"categories_sizes",
)
REALS = (b"base_weights", b"leaf_weights", b"loss_changes", b"split_conditions", b"sum_hessian")
cdef dict INTEGER_OF = {name: number for number, name in enumerate(INTEGERS)}
cdef dict REAL_OF = {name: number for number, name in enumerate(REALS)}
# Types of the arrays in UBJSON. XGBoost has two for features, as these are few or very many.
cdef tuple INTEGER_TYPES = (b"U", b"l", b"l", b"l", b"lL", b"U", b"l", b"l", b"L", b"L")

cdef int64_t NO_PARENT = 2147483647    # how trees with numbers in their leaves write -1
cdef int64_t DELETED = 2147483647      # the feature of a node that was pruned away
cdef int64_t MOST_CATEGORIES = 1 << 24
# XGBoost makes a set of bits of each split by categories, as long as its largest one.
cdef int64_t MOST_CATEGORY_WORDS = 1 << 26
cdef int64_t DEEPEST_TREE = 1024
cdef uint32_t LIMIT = 0x7E967699       # 1e38 as float32: no number of a tree is larger


cdef class Trees:
    """What trees of a scanned model have in common; see ``_booster_scan.pyi``."""

    cdef readonly int64_t n_trees, largest_width, smallest_width, largest_feature
    cdef int64_t category_words


cdef class _Scanner:
    cdef const unsigned char* data
    cdef int64_t position, end
    cdef int deepest
    cdef bint binary
    cdef vector[int64_t] integers[N_INTEGERS]
    cdef bint has_integers[N_INTEGERS]
    cdef int64_t n_reals[N_REALS]
    cdef vector[int64_t] queue, level
    cdef vector[char] taken

    # What both forms have in common

    cdef object model(self):
        cdef object value
        if self.end < 2 or self.data[0] != b"{":
            raise ValueError("it does not begin as a model of XGBoost does")
        self.position = 1
        if not self.binary:
            self.skip_spaces()
        self.position = 0
        value = self.value(0)
        if not self.binary:
            self.skip_spaces()
        if self.position != self.end:
            raise self.error("more than one value")
        return value

    cdef object error(self, str what):
        return ValueError(f"{what}, at byte {self.position}")

    cdef int byte(self) except -1:
        """Read a byte."""
        if self.position >= self.end:
            raise self.error("it ends too early")
        self.position += 1
        return self.data[self.position - 1]

    cdef int expect(self, unsigned char wanted) except -1:
        if self.byte() != wanted:
            self.position -= 1
            raise self.error(f"{chr(wanted)!r} was expected")
        return 0

    cdef object value(self, int depth):
        if depth > self.deepest:
            raise self.error(f"more than {self.deepest} brackets inside each other")
        return self.binary_value(depth) if self.binary else self.text_value(depth)

    cdef bytes key(self):
        cdef bytes key
        if self.binary:
            return self.binary_string()
        self.skip_spaces()
        self.expect(b'"')
        key = self.text_string()
        if b"\\" in key:
            raise self.error("an escape in a key")
        self.skip_spaces()
        self.expect(b":")
        self.skip_spaces()
        return key

    cdef bint at_end_of_object(self, bint first) except -1:
        """Tell whether an object ends here; otherwise its next key follows."""
        cdef int c
        if self.position >= self.end:
            raise self.error("it ends too early")
        if self.binary:
            if self.data[self.position] != b"}":
                return False
            self.position += 1
            return True
        self.skip_spaces()
        if first:
            if self.position < self.end and self.data[self.position] == b"}":
                self.position += 1
                return True
            return False
        c = self.byte()
        if c == b"}":
            return True
        if c != b",":
            raise self.error("',' or '}' was expected")
        return False

    cdef dict object(self, int depth):
        cdef dict found = {}
        cdef bytes key
        cdef str name
        cdef bint first = True
        while not self.at_end_of_object(first):
            first = False
            key = self.key()
            name = key.decode()
            if name in found:
                raise self.error(f"{name!r} is there twice")
            if key == b"trees" and self.position < self.end and self.data[self.position] == b"[":
                found[name] = self.trees(depth + 1)
            else:
                found[name] = self.value(depth + 1)
        return found

    # UBJSON: big-endian numbers, each behind a letter for its type

    cdef uint64_t number(self, int n_bytes) except? 77:
        cdef uint64_t bits = 0
        cdef int k
        if self.end - self.position < n_bytes:
            raise self.error("it ends too early")
        for k in range(n_bytes):
            bits = bits << 8 | self.data[self.position + k]
        self.position += n_bytes
        return bits

    cdef int64_t length(self, int64_t size) except -1:
        """Read how many things of a size in bytes follow."""
        self.expect(b"L")
        cdef int64_t n = <int64_t>self.number(8)
        if n < 0 or n > (self.end - self.position) // size:
            raise self.error(f"a length of {n}, which is more than there is")
        return n

    cdef bytes binary_string(self):
        cdef int64_t n = self.length(1)
        cdef bytes found = (<const char*>self.data)[self.position:self.position + n]
        self.position += n
        return found

    cdef object binary_value(self, int depth):
        cdef int c = self.byte()
        cdef uint32_t bits
        cdef float real
        if c == b"{":
            return self.object(depth)
        if c == b"[":
            return self.binary_list(depth)
        if c == b"S":
            return self.binary_string().decode()
        if c == b"i":
            return <int8_t>self.number(1)
        if c == b"U":
            return self.number(1)
        if c == b"I":
            return <int16_t>self.number(2)
        if c == b"l":
            return <int32_t>self.number(4)
        if c == b"L":
            return <int64_t>self.number(8)
        if c == b"d":
            bits = <uint32_t>self.number(4)
            memcpy(&real, &bits, 4)
            return real
        if c == b"Z":
            return None
        if c == b"T" or c == b"F":
            return c == b"T"
        self.position -= 1
        raise self.error("no value begins so")

    cdef object binary_list(self, int depth):
        cdef int c = self.byte()
        cdef int64_t n, k
        cdef list found = []
        if c == b"#":
            n = self.length(1)
            for k in range(n):
                found.append(self.value(depth + 1))
            return found
        if c != b"$":
            self.position -= 1
            raise self.error("a list without its length")
        c = self.byte()
        self.expect(b"#")
        size = {b"i": 1, b"U": 1, b"I": 2, b"l": 4, b"L": 8, b"d": 4, b"D": 8}.get(bytes([c]))
        if size is None:
            raise self.error("a list of an unknown type")
        n = self.length(size)
        start = self.position
        self.position += n * size
        kind = {b"U": "u", b"d": "f", b"D": "f"}.get(bytes([c]), "i")
        content = (<const char*>self.data)[start:self.position]
        return np.frombuffer(content, f">{kind}{size}")

    # JSON

    cdef int skip_spaces(self) except -1:
        cdef unsigned char c
        while self.position < self.end:
            c = self.data[self.position]
            if c != b" " and c != b"\n" and c != b"\t" and c != b"\r":
                break
            self.position += 1
        return 0

    cdef bytes text_string(self):
        """Read what is between quotation marks, the first of which was read; escapes stay."""
        cdef int64_t start = self.position
        cdef unsigned char c
        while True:
            c = self.byte()
            if c == b'"':
                return (<const char*>self.data)[start:self.position - 1]
            if c == b"\\":
                self.byte()
            elif c < 32:
                raise self.error("a control character in a string")

    cdef object text_value(self, int depth):
        cdef int64_t start
        cdef bint is_real
        cdef int c
        cdef bytes literal
        self.skip_spaces()
        c = self.byte()
        if c == b"{":
            return self.object(depth)
        if c == b"[":
            return self.text_list(depth)
        if c == b'"':
            return self.text_string().decode()
        start = self.position = self.position - 1
        if c == b"t" or c == b"f" or c == b"n":
            for word, value in ((b"true", True), (b"false", False), (b"null", None)):
                if (<const char*>self.data)[start:min(start + len(word), self.end)] == word:
                    self.position += len(word)
                    return value
            raise self.error("no value begins so")
        if c == b"N" or c == b"I" or (c == b"-" and self.is_infinite()):
            self.position += c == b"-"
            self.skip_word()
            return float("nan")
        is_real = self.skip_number(False)
        literal = (<const char*>self.data)[start:self.position]
        if is_real:
            return float(literal)
        # 64 bits have 19 digits
        if len(literal) > 20 or not -(1 << 63) <= (whole := int(literal)) < 1 << 63:
            raise self.error("a number with too many digits")
        return whole

    cdef bint at_end_of_list(self) except -1:
        """Tell whether a list of JSON ends behind an entry; otherwise the next one follows."""
        cdef int c
        self.skip_spaces()
        c = self.byte()
        if c != b"]" and c != b",":
            raise self.error("',' or ']' was expected")
        return c == b"]"

    cdef list text_list(self, int depth):
        cdef list found = []
        self.skip_spaces()
        if self.position < self.end and self.data[self.position] == b"]":
            self.position += 1
            return found
        while True:
            found.append(self.value(depth + 1))
            if self.at_end_of_list():
                return found

    cdef bint is_infinite(self) noexcept:
        """Tell whether a minus and an infinity follow."""
        return (
            self.end - self.position > 1
            and self.data[self.position] == b"-" and self.data[self.position + 1] == b"I"
        )

    cdef int skip_word(self) except -1:
        """Skip NaN or Infinity."""
        for word in (b"NaN", b"Infinity"):
            if (<const char*>self.data)[
                self.position:min(self.position + len(word), self.end)
            ] == word:
                self.position += len(word)
                return 0
        raise self.error("no value begins so")

    cdef int64_t skip_digits(self) except -1:
        cdef int64_t start = self.position
        while self.position < self.end and b"0" <= self.data[self.position] <= b"9":
            self.position += 1
        if self.position == start:
            raise self.error("a digit was expected")
        return self.position - start

    cdef bint skip_number(self, bint bounded) except -1:
        """Skip a number; tell whether it is a real one.

        A bounded one is below 1e38 in size, which is told by its digits: it need not be read.
        """
        cdef int64_t before, exponent = 0, sign = 1, n
        cdef bint is_real = False
        cdef unsigned char first
        if self.position < self.end and self.data[self.position] == b"-":
            self.position += 1
        if self.position >= self.end:
            raise self.error("it ends too early")
        first = self.data[self.position]
        before = self.skip_digits()
        if first == b"0" and before > 1:
            raise self.error("a number that begins with 0")
        if first == b"0":
            before = 0
        if self.position < self.end and self.data[self.position] == b".":
            is_real = True
            self.position += 1
            self.skip_digits()
        if self.position < self.end and self.data[self.position] in (b"e", b"E"):
            is_real = True
            self.position += 1
            if self.position < self.end and self.data[self.position] in (b"+", b"-"):
                sign = -1 if self.data[self.position] == b"-" else 1
                self.position += 1
            n = self.skip_digits()
            if n > 3:
                raise self.error("a number with too large an exponent")
            for k in range(self.position - n, self.position):
                exponent = exponent * 10 + self.data[k] - 48
        # digits before the point and the exponent: the number is below 10 to their sum
        if bounded and before + sign * exponent > 38:
            raise self.error("a number that is too large")
        return is_real

    # Trees

    cdef Trees trees(self, int depth):
        cdef Trees trees = Trees()
        cdef int64_t n = -1
        trees.largest_feature = -1
        trees.smallest_width = trees.largest_width = 0
        if depth + 2 > self.deepest:
            raise self.error(f"more than {self.deepest} brackets inside each other")
        self.expect(b"[")
        if self.binary:
            self.expect(b"#")
            n = self.length(1)
            while trees.n_trees < n:
                self.tree(trees, depth + 1)
            return trees
        self.skip_spaces()
        if self.position < self.end and self.data[self.position] == b"]":
            self.position += 1
            return trees
        while True:
            self.skip_spaces()
            self.tree(trees, depth + 1)
            if self.at_end_of_list():
                return trees

    cdef int tree(self, Trees trees, int depth) except -1:
        cdef int slot
        cdef bint first = True
        cdef bytes key
        cdef object number = None, described = None
        for slot in range(N_INTEGERS):
            self.has_integers[slot] = False
            self.integers[slot].clear()
        for slot in range(N_REALS):
            self.n_reals[slot] = -1
        self.expect(b"{")
        while not self.at_end_of_object(first):
            first = False
            key = self.key()
            if (place := INTEGER_OF.get(key)) is not None:
                slot = place
                if self.has_integers[slot]:
                    raise self.error(f"{key.decode()!r} is there twice")
                self.has_integers[slot] = True
                self.read_integers(slot)
            elif (place := REAL_OF.get(key)) is not None:
                slot = place
                if self.n_reals[slot] >= 0:
                    raise self.error(f"{key.decode()!r} is there twice")
                self.n_reals[slot] = self.skip_reals(slot != GAIN and slot != HESSIAN)
            elif key == b"id" and number is None:
                number = self.value(depth + 1)
            elif key == b"tree_param" and described is None:
                described = self.value(depth + 1)
            else:
                raise self.error(f"a tree has a second or an unknown {key.decode()!r}")
        if type(number) is not int or number != trees.n_trees:
            raise ValueError(f"tree {trees.n_trees} has the id {number!r:.60}")
        try:
            self.check_tree(trees, described)
        except ValueError as error:
            raise ValueError(f"tree {trees.n_trees}: {error}") from None
        trees.n_trees += 1
        return 0

    cdef int read_integers(self, int slot) except -1:
        cdef vector[int64_t]* found = &self.integers[slot]
        cdef int64_t n, k, size
        cdef const unsigned char* at
        cdef uint32_t four
        cdef int c
        self.expect(b"[")
        if not self.binary:
            self.read_text_integers(found)
            return 0
        self.expect(b"$")
        c = self.byte()
        if c not in INTEGER_TYPES[slot]:
            raise self.error(f"{INTEGERS[slot].decode()} is a list of another type")
        size = 1 if c == b"U" else 4 if c == b"l" else 8
        self.expect(b"#")
        n = self.length(size)
        found.resize(n)
        at = self.data + self.position
        if size == 1:
            for k in range(n):
                found[0][k] = at[k]
        elif size == 4:
            for k in range(n):
                four = (
                    <uint32_t>at[4 * k] << 24 | <uint32_t>at[4 * k + 1] << 16
                    | <uint32_t>at[4 * k + 2] << 8 | at[4 * k + 3]
                )
                found[0][k] = <int32_t>four
        else:
            for k in range(n):
                found[0][k] = <int64_t>self.number(8)
            return 0
        self.position += n * size
        return 0

    cdef int read_text_integers(self, vector[int64_t]* found) except -1:
        cdef int64_t start, value, k
        cdef bint negative
        self.skip_spaces()
        if self.position < self.end and self.data[self.position] == b"]":
            self.position += 1
            return 0
        while True:
            self.skip_spaces()
            start = self.position
            if self.skip_number(False) or self.position - start > 11:
                self.position = start
                raise self.error("a whole number of 32 bits was expected")
            negative = self.data[start] == b"-"
            value = 0
            for k in range(start + negative, self.position):
                value = 10 * value + self.data[k] - 48
            if value > <int64_t>2147483647 + negative:
                self.position = start
                raise self.error("a whole number of 32 bits was expected")
            found.push_back(-value if negative else value)
            if self.at_end_of_list():
                return 0

    cdef int64_t skip_reals(self, bint bounded) except -1:
        """Skip real numbers and return how many; bounded ones are below 1e38 in size."""
        cdef int64_t n, k, start
        cdef const unsigned char* at
        cdef uint32_t bits, broken = 0
        self.expect(b"[")
        if self.binary:
            self.expect(b"$")
            self.expect(b"d")
            self.expect(b"#")
            n = self.length(4)
            at = self.data + self.position
            if bounded:
                for k in range(n):
                    bits = (
                        <uint32_t>at[4 * k] << 24 | <uint32_t>at[4 * k + 1] << 16
                        | <uint32_t>at[4 * k + 2] << 8 | at[4 * k + 3]
                    )
                    broken |= (bits & 0x7FFFFFFF) >= LIMIT
                if broken:
                    raise self.error("a number that is not finite, or too large")
            self.position += 4 * n
            return n
        n = 0
        self.skip_spaces()
        if self.position < self.end and self.data[self.position] == b"]":
            self.position += 1
            return 0
        while True:
            self.skip_spaces()
            start = self.position
            if not bounded and self.position < self.end and (
                self.data[self.position] in (b"N", b"I") or self.is_infinite()
            ):
                self.position += self.data[self.position] == b"-"
                self.skip_word()
            elif not self.skip_number(bounded):
                self.position = start
                raise self.error("a real number was expected")
            n += 1
            if self.at_end_of_list():
                return n

    cdef int check_tree(self, Trees trees, object described) except -1:
        cdef int64_t n_nodes = self.integers[LEFT].size(), width, n_deleted
        cdef int slot
        for slot in range(N_INTEGERS):
            if not self.has_integers[slot]:
                raise ValueError(f"it has no {INTEGERS[slot].decode()}")
        for slot in range(N_REALS):
            if self.n_reals[slot] < 0 and slot != LEAF:
                raise ValueError(f"it has no {REALS[slot].decode()}")
        width = max(_whole(described, "size_leaf_vector"), 1)
        n_deleted = _whole(described, "num_deleted")
        if _whole(described, "num_nodes") != n_nodes or n_nodes == 0:
            raise ValueError(f"num_nodes is {described['num_nodes']}, of {n_nodes} left_children")
        _whole(described, "num_feature")
        for slot in (DEFAULT_LEFT, PARENT, RIGHT, FEATURE, SPLIT_TYPE):
            if self.integers[slot].size() != <size_t>n_nodes:
                raise ValueError(
                    f"it has {n_nodes} nodes and {self.integers[slot].size()} "
                    f"{INTEGERS[slot].decode()}"
                )
        for slot in (GAIN, CONDITION, HESSIAN):
            if self.n_reals[slot] != n_nodes:
                raise ValueError(
                    f"it has {n_nodes} nodes and {self.n_reals[slot]} {REALS[slot].decode()}"
                )
        if trees.n_trees == 0:
            trees.smallest_width = width
        trees.smallest_width = min(trees.smallest_width, width)
        trees.largest_width = max(trees.largest_width, width)
        self.check_nodes(trees, n_nodes, width, n_deleted)
        self.check_categories(trees, n_nodes)
        return 0

    cdef int check_nodes(
        self, Trees trees, int64_t n_nodes, int64_t width, int64_t n_deleted
    ) except -1:
        cdef const int64_t* left = self.integers[LEFT].data()
        cdef const int64_t* right = self.integers[RIGHT].data()
        cdef const int64_t* parent = self.integers[PARENT].data()
        cdef const int64_t* feature = self.integers[FEATURE].data()
        cdef const int64_t* default_left = self.integers[DEFAULT_LEFT].data()
        cdef int64_t i, k, child, n_gone = 0, n_leaves, n_taken = 0, per_node
        cdef bint gone
        cdef int slot
        if parent[0] != -1 and parent[0] != NO_PARENT:
            raise ValueError(f"parents[0] is {parent[0]}")
        for i in range(n_nodes):
            if default_left[i] != 0 and default_left[i] != 1:
                raise ValueError(f"default_left[{i}] is {default_left[i]}")
            if i > 0 and not 0 <= parent[i] < n_nodes:
                raise ValueError(f"parents[{i}] is {parent[i]}, of {n_nodes} nodes")
            gone = self.is_gone(i, width)
            if gone:
                n_gone += 1
            elif feature[i] < 0 or feature[i] == DELETED:
                raise ValueError(f"split_indices[{i}] is {feature[i]}")
            else:
                trees.largest_feature = max(trees.largest_feature, feature[i])
        if n_gone != n_deleted:
            raise ValueError(f"num_deleted is {n_deleted}, of {n_gone} deleted nodes")
        if self.is_gone(0, width):
            raise ValueError("its root is deleted")

        n_leaves = 0
        if width == 1:
            if self.n_reals[BASE] != n_nodes:
                raise ValueError(f"it has {n_nodes} nodes and {self.n_reals[BASE]} base_weights")
        else:
            n_leaves = max(self.n_reals[LEAF], 0) // width
            if n_leaves == 0 or n_leaves * width != self.n_reals[LEAF]:
                raise ValueError(
                    f"it has {self.n_reals[LEAF]} leaf_weights, for leaves of {width} values"
                )
            per_node = self.n_reals[BASE] // n_nodes
            if not 1 <= per_node <= width or per_node * n_nodes != self.n_reals[BASE]:
                raise ValueError(f"it has {n_nodes} nodes and {self.n_reals[BASE]} base_weights")
            self.taken.assign(n_leaves, 0)

        # From the root down. A child knows its parent, so no node is met twice.
        self.queue.clear()
        self.level.clear()
        self.queue.push_back(0)
        self.level.push_back(0)
        k = 0
        while k < <int64_t>self.queue.size():
            i = self.queue[k]
            if left[i] == -1:
                if width == 1:
                    if right[i] != -1:
                        raise ValueError(f"right_children[{i}] of a leaf is {right[i]}")
                elif not 0 <= right[i] < n_leaves or self.taken[right[i]]:
                    raise ValueError(
                        f"right_children[{i}], the number of a leaf, is {right[i]}, of {n_leaves}"
                    )
                else:
                    self.taken[right[i]] = 1
                    n_taken += 1
                k += 1
                continue
            if self.level[k] == DEEPEST_TREE:
                raise ValueError(f"it is deeper than {DEEPEST_TREE}")
            for slot in (LEFT, RIGHT):
                child = self.integers[slot][i]
                if not 1 <= child < n_nodes:
                    raise ValueError(
                        f"{INTEGERS[slot].decode()}[{i}] is {child}, of {n_nodes} nodes"
                    )
                if parent[child] != i or self.is_gone(child, width):
                    raise ValueError(
                        f"{INTEGERS[slot].decode()}[{i}] is {child}, whose parent is "
                        f"{parent[child]}"
                    )
                self.queue.push_back(child)
                self.level.push_back(self.level[k] + 1)
            if left[i] == right[i]:
                raise ValueError(f"both children of node {i} are {left[i]}")
            k += 1
        if <int64_t>self.queue.size() != n_nodes - n_gone:
            raise ValueError(
                f"{self.queue.size()} of its {n_nodes - n_gone} nodes hang below its root"
            )
        if n_taken != n_leaves:
            raise ValueError(f"it has leaf_weights for {n_leaves} leaves and {n_taken} leaves")
        return 0

    cdef bint is_gone(self, int64_t i, int64_t width) noexcept:
        """Tell whether a node was pruned away. Trees with vectors in their leaves are not pruned."""
        return (
            width == 1 and self.integers[FEATURE][i] == DELETED
            and self.integers[DEFAULT_LEFT][i] == 1
        )

    cdef int check_categories(self, Trees trees, int64_t n_nodes) except -1:
        cdef const int64_t* split_type = self.integers[SPLIT_TYPE].data()
        cdef const int64_t* node = self.integers[CATEGORY_NODES].data()
        cdef const int64_t* start = self.integers[CATEGORY_STARTS].data()
        cdef const int64_t* count = self.integers[CATEGORY_COUNTS].data()
        cdef const int64_t* category = self.integers[CATEGORIES].data()
        cdef int64_t n = self.integers[CATEGORY_NODES].size(), i, j, k, end = 0, largest
        cdef int64_t n_listed = self.integers[CATEGORIES].size(), n_types = 0
        for i in range(n_nodes):
            if split_type[i] != 0 and split_type[i] != 1:
                raise ValueError(f"split_type[{i}] is {split_type[i]}")
            n_types += split_type[i]
        if (
            n_types != n or self.integers[CATEGORY_STARTS].size() != <size_t>n
            or self.integers[CATEGORY_COUNTS].size() != <size_t>n
        ):
            raise ValueError(
                f"it has {n_types} splits by categories, {n} categories_nodes, "
                f"{self.integers[CATEGORY_STARTS].size()} categories_segments and "
                f"{self.integers[CATEGORY_COUNTS].size()} categories_sizes"
            )
        for j in range(n):
            if not 0 <= node[j] < n_nodes or split_type[node[j]] != 1 or (
                j > 0 and node[j] <= node[j - 1]
            ):
                raise ValueError(f"categories_nodes[{j}] is {node[j]}")
            if start[j] != end:
                raise ValueError(f"categories_segments[{j}] is {start[j]}, not {end}")
            if not 1 <= count[j] <= n_listed - end:
                raise ValueError(f"categories_sizes[{j}] is {count[j]}, of {n_listed} categories")
            largest = 0
            for k in range(end, end + count[j]):
                if not 0 <= category[k] < MOST_CATEGORIES:
                    raise ValueError(f"categories[{k}] is {category[k]}")
                largest = max(largest, category[k])
            end += count[j]
            trees.category_words += largest // 32 + 1
        if end != n_listed:
            raise ValueError(f"it has {n_listed} categories, of which {end} are of splits")
        if trees.category_words > MOST_CATEGORY_WORDS:
            raise ValueError("its categories and those before it would take too much memory")
        return 0


cdef int64_t _whole(object described, str name) except -1:
    """Read one of the numbers of a tree that XGBoost writes as strings."""
    if not isinstance(described, dict):
        raise ValueError("it has no tree_param")
    text = described.get(name)
    if not isinstance(text, str) or not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ValueError(f"{name} is {text!r:.60}")
    return int(text)


def scan(content, *, int deepest):
    """Read a model and check its trees; see ``_booster_scan.pyi``."""
    cdef const unsigned char[::1] view = content
    cdef _Scanner scanner = _Scanner()
    if view.shape[0] < 2:
        raise ValueError("it is empty")
    scanner.data = &view[0]
    scanner.end = view.shape[0]
    scanner.deepest = deepest
    scanner.binary = content[1] == b"L"[0]
    return scanner.model()
