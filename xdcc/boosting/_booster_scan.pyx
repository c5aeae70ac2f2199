"""Reads a model of XGBoost, JSON or UBJSON, without trusting it.

The readers in XGBoost recurse at every bracket, allocate whatever length a file states, and follow
the indices of trees without checking them. This one limits the depth, compares every length with
the bytes that are left, and checks each tree as soon as its last byte is read; then it keeps
nothing of the tree. Real numbers are only looked at, never stored.

It accepts only what XGBoost's writers write, which is less than its readers accept. Each key occurs
once and without escapes, so that both readers find the same value under it.
"""

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy
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
# Types of lists in UBJSON, as NumPy spells them.
cdef dict LIST_TYPES = {
    b"i": "i1", b"U": "u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8",
}

cdef int64_t NO_PARENT = 2147483647    # how trees with numbers in their leaves write -1
cdef int64_t DELETED = 2147483647      # the feature of a node that was pruned away
cdef int64_t MOST_CATEGORIES = 1 << 24
# XGBoost makes a set of bits of each split by categories, as long as its largest one.
cdef int64_t MOST_CATEGORY_WORDS = 1 << 26
cdef int64_t DEEPEST_TREE = 1024
cdef uint32_t LIMIT = 0x7E967699       # 1e38 as float32: no number of a tree is larger
cdef uint32_t NEGATIVE_INFINITY = 0xFF800000


cdef inline uint32_t big_endian(const unsigned char* at) noexcept nogil:
    return <uint32_t>at[0] << 24 | <uint32_t>at[1] << 16 | <uint32_t>at[2] << 8 | at[3]


cdef class Trees:
    """The properties that the trees of a scanned model share; see ``_booster_scan.pyi``."""

    cdef readonly int64_t n_trees, largest_width, smallest_width, largest_feature
    cdef int64_t category_words

    def __cinit__(self):
        self.largest_feature = -1


cdef class _Scanner:
    cdef const unsigned char* data
    cdef int64_t position, end
    cdef int deepest
    cdef bint binary
    cdef vector[int64_t] integers[N_INTEGERS]
    cdef int64_t n_reals[N_REALS]
    cdef vector[int64_t] queue, level, lowest
    cdef vector[char] taken

    # Shared by both forms

    cdef object model(self):
        if self.end < 2 or self.data[0] != b"{":
            raise ValueError("it does not begin as a model of XGBoost does")
        value = self.value(0)
        if not self.binary:
            self.skip_spaces()
        if self.position != self.end:
            raise self.error("more than one value")
        return value

    cdef object error(self, str what):
        return ValueError(f"{what}, at byte {self.position}")

    cdef int peek(self) noexcept:
        """Return the next byte, -1 at the end."""
        return self.data[self.position] if self.position < self.end else -1

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

    cdef int check_depth(self, int depth) except -1:
        if depth > self.deepest:
            raise self.error(f"more than {self.deepest} brackets inside each other")
        return 0

    cdef object value(self, int depth):
        self.check_depth(depth)
        return self.binary_value(depth) if self.binary else self.text_value(depth)

    cdef bytes key(self):
        cdef bytes key
        if self.binary:
            return self.binary_string()
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
        if not self.binary:
            return self.at_end(first, b"}")
        if self.peek() != b"}":
            return False
        self.position += 1
        return True

    cdef dict object(self, int depth):
        cdef dict found = {}
        cdef bytes key
        cdef str name
        while not self.at_end_of_object(not found):
            key = self.key()
            name = key.decode()
            if name in found:
                raise self.error(f"{name!r} occurs twice")
            if key == b"trees" and self.peek() == b"[":
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
        raise self.error("not the beginning of a value")

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
        kind = LIST_TYPES.get(bytes([self.byte()]))
        self.expect(b"#")
        if kind is None:
            raise self.error("a list of an unknown type")
        dtype = np.dtype(kind)
        n = self.length(dtype.itemsize) * dtype.itemsize
        content = (<const char*>self.data)[self.position:self.position + n]
        self.position += n
        return np.frombuffer(content, dtype)

    # JSON

    cdef int skip_spaces(self) noexcept:
        while self.position < self.end and self.data[self.position] in (b" ", b"\n", b"\t", b"\r"):
            self.position += 1
        return 0

    cdef bint at_end(self, bint first, unsigned char bracket) except -1:
        """Tell whether an object or list ends here; otherwise its next entry follows."""
        cdef int c
        self.skip_spaces()
        if first and self.peek() != bracket:
            return False
        c = self.byte()
        if c == bracket:
            return True
        if c != b",":
            raise self.error(f"',' or {chr(bracket)!r} was expected")
        self.skip_spaces()
        return False

    cdef bytes text_string(self):
        """Read a string, of which the opening quotation mark has been read; escapes are kept."""
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
        cdef int64_t start = self.position
        cdef int c = self.byte()
        cdef bint is_real
        cdef bytes literal
        if c == b"{":
            return self.object(depth)
        if c == b"[":
            return self.text_list(depth)
        if c == b'"':
            return self.text_string().decode()
        self.position = start
        if self.skip_not_finite():
            return float("nan")
        if c == b"-" or b"0" <= c <= b"9":
            is_real = self.skip_number(False)
            literal = (<const char*>self.data)[start:self.position]
            if is_real:
                return float(literal)
            # 64 bits have 19 digits
            if len(literal) > 20 or not -(1 << 63) <= (whole := int(literal)) < 1 << 63:
                raise self.error("a number with too many digits")
            return whole
        for word, value in ((b"true", True), (b"false", False), (b"null", None)):
            if self.skip_word(word):
                return value
        raise self.error("not the beginning of a value")

    cdef list text_list(self, int depth):
        cdef list found = []
        while not self.at_end(not found, b"]"):
            found.append(self.value(depth + 1))
        return found

    cdef bint skip_word(self, bytes word) noexcept:
        """Skip a word if it follows; tell whether it did."""
        cdef const char* text = word
        cdef int64_t n = len(word)
        if self.end - self.position < n or memcmp(self.data + self.position, text, n) != 0:
            return False
        self.position += n
        return True

    cdef bint skip_not_finite(self) noexcept:
        """Skip NaN or an infinity if it follows; tell whether it did."""
        cdef int c = self.peek()
        return (c == b"N" or c == b"I" or c == b"-") and (
            self.skip_word(b"NaN") or self.skip_word(b"Infinity") or self.skip_word(b"-Infinity")
        )

    cdef int64_t skip_digits(self) except -1:
        cdef int64_t start = self.position
        while self.position < self.end and b"0" <= self.data[self.position] <= b"9":
            self.position += 1
        if self.position == start:
            raise self.error("a digit was expected")
        return self.position - start

    cdef bint skip_number(self, bint bounded) except -1:
        """Skip a number; tell whether it is a real one.

        A bounded one is below 1e38 in size, which its number of digits shows: it need not be read.
        """
        cdef int64_t before, exponent = 0, sign = 1, n, k
        cdef bint is_real = False
        cdef int c
        if self.peek() == b"-":
            self.position += 1
        c = self.peek()
        before = self.skip_digits()
        if c == b"0":
            if before > 1:
                raise self.error("a number that begins with 0")
            before = 0
        if self.peek() == b".":
            is_real = True
            self.position += 1
            self.skip_digits()
        c = self.peek()
        if c == b"e" or c == b"E":
            is_real = True
            self.position += 1
            c = self.peek()
            if c == b"+" or c == b"-":
                sign = -1 if c == b"-" else 1
                self.position += 1
            n = self.skip_digits()
            if n > 3:
                raise self.error("a number with too large an exponent")
            for k in range(self.position - n, self.position):
                exponent = exponent * 10 + self.data[k] - 48
        # Digits before the point plus the exponent: the number is below 10 to the power of the sum.
        if bounded and before + sign * exponent > 38:
            raise self.error("a number that is too large")
        return is_real

    # Trees

    cdef Trees trees(self, int depth):
        cdef Trees trees = Trees()
        cdef int64_t n
        self.check_depth(depth + 2)
        self.expect(b"[")
        if self.binary:
            self.expect(b"#")
            n = self.length(1)
            while trees.n_trees < n:
                self.tree(trees, depth + 1)
        else:
            while not self.at_end(trees.n_trees == 0, b"]"):
                self.tree(trees, depth + 1)
        return trees

    cdef int tree(self, Trees trees, int depth) except -1:
        cdef int slot
        cdef bytes key
        cdef object number = None, described = None
        cdef set found = set()
        for slot in range(N_INTEGERS):
            self.integers[slot].clear()
        self.n_reals[LEAF] = 0  # not there if leaves are numbers
        self.lowest.clear()
        self.expect(b"{")
        while not self.at_end_of_object(not found):
            key = self.key()
            if key in found:
                raise self.error(f"{key.decode()!r} occurs twice")
            found.add(key)
            if (place := INTEGER_OF.get(key)) is not None:
                self.read_integers(place)
            elif (place := REAL_OF.get(key)) is not None:
                slot = place
                self.n_reals[slot] = self.skip_reals(
                    slot != GAIN and slot != HESSIAN, slot == CONDITION
                )
            elif key == b"id":
                number = self.value(depth + 1)
            elif key == b"tree_param":
                described = self.value(depth + 1)
            else:
                raise self.error(f"a tree has an unknown {key.decode()!r}")
        if type(number) is not int or number != trees.n_trees:
            raise ValueError(f"tree {trees.n_trees} has the id {number!r:.60}")
        try:
            for name in INTEGERS + REALS:
                if name not in found and name != REALS[LEAF]:
                    raise ValueError(f"it has no {name.decode()}")
            self.check_tree(trees, described)
        except ValueError as error:
            raise ValueError(f"tree {trees.n_trees}: {error}") from None
        trees.n_trees += 1
        return 0

    cdef int read_integers(self, int slot) except -1:
        cdef vector[int64_t]* found = &self.integers[slot]
        cdef int64_t n, k, size
        cdef const unsigned char* at
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
                found[0][k] = <int32_t>big_endian(at + 4 * k)
        else:
            for k in range(n):
                found[0][k] = <int64_t>(
                    <uint64_t>big_endian(at + 8 * k) << 32 | big_endian(at + 8 * k + 4)
                )
        self.position += n * size
        return 0

    cdef int read_text_integers(self, vector[int64_t]* found) except -1:
        cdef int64_t start, value, k
        cdef bint negative
        while not self.at_end(found.empty(), b"]"):
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
        return 0

    cdef int64_t skip_reals(self, bint bounded, bint are_conditions) except -1:
        """Skip real numbers and return how many; bounded ones are below 1e38 in size.

        A condition may also be -inf: all values go to the right. Their positions are kept.
        """
        cdef int64_t n = 0, k, start
        cdef uint32_t number
        cdef const unsigned char* at
        cdef bint too_large = False
        self.expect(b"[")
        if self.binary:
            self.expect(b"$")
            self.expect(b"d")
            self.expect(b"#")
            n = self.length(4)
            if bounded:
                at = self.data + self.position
                for k in range(n):
                    number = big_endian(at + 4 * k)
                    if are_conditions and number == NEGATIVE_INFINITY:
                        self.lowest.push_back(k)
                    else:
                        too_large |= (number & 0x7FFFFFFF) >= LIMIT
                if too_large:
                    raise self.error("a number that is not finite, or too large")
            self.position += 4 * n
            return n
        while not self.at_end(n == 0, b"]"):
            start = self.position
            if are_conditions and self.skip_word(b"-Infinity"):
                self.lowest.push_back(n)
            elif (bounded or not self.skip_not_finite()) and not self.skip_number(bounded):
                self.position = start
                raise self.error("a real number was expected")
            n += 1
        return n

    cdef int check_tree(self, Trees trees, object described) except -1:
        cdef int64_t n_nodes = self.integers[LEFT].size(), width, n_deleted, n_gone
        cdef int slot
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
        for node in self.lowest:
            if self.integers[LEFT][node] == -1 and width == 1:
                raise ValueError(f"the value of leaf {node} is not finite")
        if trees.n_trees == 0:
            trees.smallest_width = width
        trees.smallest_width = min(trees.smallest_width, width)
        trees.largest_width = max(trees.largest_width, width)
        n_gone = self.check_nodes(trees, n_nodes, width)
        if n_gone != n_deleted:
            raise ValueError(f"num_deleted is {n_deleted}, of {n_gone} deleted nodes")
        self.check_paths(n_nodes, n_nodes - n_gone, width, self.check_leaf_weights(n_nodes, width))
        self.check_categories(trees, n_nodes)
        return 0

    cdef int64_t check_nodes(self, Trees trees, int64_t n_nodes, int64_t width) except -1:
        """Check each node by itself; return how many were pruned away."""
        cdef const int64_t* parent = self.integers[PARENT].data()
        cdef const int64_t* feature = self.integers[FEATURE].data()
        cdef const int64_t* default_left = self.integers[DEFAULT_LEFT].data()
        cdef int64_t i, n_gone = 0
        if parent[0] != -1 and parent[0] != NO_PARENT:
            raise ValueError(f"parents[0] is {parent[0]}")
        for i in range(n_nodes):
            if default_left[i] != 0 and default_left[i] != 1:
                raise ValueError(f"default_left[{i}] is {default_left[i]}")
            if i > 0 and not 0 <= parent[i] < n_nodes:
                raise ValueError(f"parents[{i}] is {parent[i]}, of {n_nodes} nodes")
            if i > 0 and self.is_gone(i, width):
                n_gone += 1
            elif feature[i] < 0 or feature[i] == DELETED:
                raise ValueError(f"split_indices[{i}] is {feature[i]}")
            else:
                trees.largest_feature = max(trees.largest_feature, feature[i])
        return n_gone

    cdef int64_t check_leaf_weights(self, int64_t n_nodes, int64_t width) except -1:
        """Check how many weights there are; return for how many leaves, if leaves are vectors."""
        cdef int64_t n_leaves = 0, per_node = self.n_reals[BASE] // n_nodes
        if width > 1:
            n_leaves = self.n_reals[LEAF] // width
            if n_leaves == 0 or n_leaves * width != self.n_reals[LEAF]:
                raise ValueError(
                    f"it has {self.n_reals[LEAF]} leaf_weights, for leaves of {width} values"
                )
        if not 1 <= per_node <= width or per_node * n_nodes != self.n_reals[BASE]:
            raise ValueError(f"it has {n_nodes} nodes and {self.n_reals[BASE]} base_weights")
        return n_leaves

    cdef int check_paths(
        self, int64_t n_nodes, int64_t n_used, int64_t width, int64_t n_leaves
    ) except -1:
        """Walk down from the root. A child knows its parent, so no node is met twice."""
        cdef const int64_t* left = self.integers[LEFT].data()
        cdef const int64_t* right = self.integers[RIGHT].data()
        cdef const int64_t* parent = self.integers[PARENT].data()
        cdef int64_t i, k = 0, child, n_taken = 0
        cdef int slot
        self.taken.assign(n_leaves, 0)
        self.queue.assign(1, 0)
        self.level.assign(1, 0)
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
        if <int64_t>self.queue.size() != n_used:
            raise ValueError(f"{self.queue.size()} of its {n_used} nodes are below its root")
        if n_taken != n_leaves:
            raise ValueError(f"it has leaf_weights for {n_leaves} leaves and {n_taken} leaves")
        return 0

    cdef bint is_gone(self, int64_t i, int64_t width) noexcept:
        """Tell whether a node was pruned away; trees with vectors in leaves are not pruned."""
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
