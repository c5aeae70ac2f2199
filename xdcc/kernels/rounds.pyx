"""Boosting rounds in a row without Python's lock: see ``xdcc/base/rounds.py``."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libcpp.vector cimport vector

ctypedef int (*UpdateFunction)(void* booster, int number, void* matrix) noexcept nogil
ctypedef int (*SetInfoFunction)(
    void* matrix, const char* field, const char* interface
) noexcept nogil
ctypedef int (*PredictFunction)(
    void* booster, void* matrix, const char* config, const uint64_t** shape, uint64_t* n_axes,
    const float** margins
) noexcept nogil

# NumPy's interface of bit generators (numpy/random/bitgen.h).
cdef struct BitGenerator:
    void* state
    uint64_t (*next_uint64)(void* state) noexcept nogil
    uint32_t (*next_uint32)(void* state) noexcept nogil
    double (*next_double)(void* state) noexcept nogil
    uint64_t (*next_raw)(void* state) noexcept nogil


cdef void draw_weight(
    BitGenerator* bits, double share, const float[:, ::1] weight, float[:, ::1] drawn
) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef bint is_drawn
    for i in range(weight.shape[0]):
        is_drawn = bits.next_double(bits.state) < share
        for j in range(weight.shape[1]):
            drawn[i, j] = weight[i, j] if is_drawn else <float>0


def train_rounds(
    (uintptr_t, uintptr_t, uintptr_t) functions, uintptr_t booster, uintptr_t matrix, int first,
    int end, const float[:, ::1] weight, float[:, ::1] drawn, bytes interface, list bits,
    double share, list looks, list margins, const int64_t[::1] rows, bytes config
):
    cdef UpdateFunction update = <UpdateFunction>functions[0]
    cdef SetInfoFunction set_info = <SetInfoFunction>functions[1]
    cdef PredictFunction predict = <PredictFunction>functions[2]
    cdef const char* c_interface = interface
    cdef const char* c_config = config
    cdef vector[void*] generators
    cdef vector[float*] out
    cdef vector[int] after = looks
    cdef float[:, ::1] of_look
    cdef const uint64_t* shape
    cdef uint64_t n_axes
    cdef const float* found
    cdef Py_ssize_t n_labels = 0, i, j
    cdef size_t look = 0
    cdef int number, status = 0
    for each in bits:
        generators.push_back(
            NULL if each is None else PyCapsule_GetPointer(each.capsule, "BitGenerator")
        )
    for of_look in margins:
        out.push_back(&of_look[0, 0])
        n_labels = of_look.shape[1]
    with nogil:
        for number in range(first, end):
            if generators.size() > 0 and generators[number - first] != NULL:
                draw_weight(<BitGenerator*>generators[number - first], share, weight, drawn)
                status = set_info(<void*>matrix, b"weight", c_interface)
            elif weight.shape[0] > 0 and (number == first or generators.size() > 0):
                drawn[:, :] = weight
                status = set_info(<void*>matrix, b"weight", c_interface)
            if status == 0:
                status = update(<void*>booster, number, <void*>matrix)
            if status == 0 and look < after.size() and after[look] == number + 1:
                status = predict(
                    <void*>booster, <void*>matrix, c_config, &shape, &n_axes, &found
                )
                if status == 0:
                    for i in range(rows.shape[0]):
                        for j in range(n_labels):
                            out[look][rows[i] * n_labels + j] = found[rows[i] * n_labels + j]
                look += 1
            if status != 0:
                break
    return status
