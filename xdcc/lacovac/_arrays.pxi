# How the contents of vectors become NumPy arrays; included by the kernels of this package.

ctypedef fused element:
    int8_t
    int32_t
    int64_t
    float
    double


cdef _array(const element* values, size_t size):
    """Copy of what `values` points at."""
    if element is int8_t:
        dtype = np.int8
    elif element is int32_t:
        dtype = np.int32
    elif element is int64_t:
        dtype = np.int64
    elif element is float:
        dtype = np.float32
    else:
        dtype = np.float64
    result = np.empty(size, dtype)
    cdef element[::1] view = result
    cdef size_t i
    for i in range(size):
        view[i] = values[i]
    return result
