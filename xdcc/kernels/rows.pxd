"""Parallel loops over the rows of X."""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from xdcc.kernels.matrix cimport Matrix, load_row, unload_row
from xdcc.kernels.threads cimport run_loop

# Receives the data of the loop, the features of a row, its index, and a thread number as in
# `run_loop`.
ctypedef void (*RowFunction)(void* data, const float* x, int64_t row, int thread) noexcept nogil


cdef struct RowLoop:
    const Matrix* X
    RowFunction function
    void* data
    vector[float]* memory          # [n_threads] a dense copy of a sparse row


cdef inline void _call_for_row(void* data, int64_t row, int thread) noexcept nogil:
    cdef const RowLoop* loop = <const RowLoop*>data
    cdef vector[float]* memory = loop.memory + thread
    loop.function(loop.data, load_row(loop.X, memory, row), row, thread)
    unload_row(loop.X, memory, row)


cdef inline void run_rows(
    const Matrix* X, int64_t chunk, int n_threads, RowFunction function, void* data
) noexcept nogil:
    """Call a function for each row of X, in C order or CSR; see `run_loop`."""
    cdef vector[vector[float]] memory
    cdef RowLoop loop
    memory.resize(n_threads)
    loop.X = X
    loop.function = function
    loop.data = data
    loop.memory = memory.data()
    run_loop(X.n_rows, chunk, n_threads, _call_for_row, &loop)
