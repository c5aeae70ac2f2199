"""Vectors for functions without the GIL, in which a failed allocation is a C++ exception.

The methods of `libcpp.vector` make a Python exception of it. A `noexcept` function prints and
forgets that, and goes on with a vector that is too short. These leave the exception to
`has_memory_for`.
"""

cdef extern from "<vector>" namespace "std" nogil:
    cdef cppclass vector[T]:
        size_t size()
        bint empty()
        T& operator[](size_t)
        T& back()
        T* data()
        void push_back(T)
        void pop_back()
        void clear()
        void resize(size_t)
        void assign(size_t, T)

cdef extern from *:
    """
    #include <new>
    /* Run a task; return whether no allocation failed. */
    static inline bool HasMemoryFor(void (*task)(void*), void* data) noexcept {
      try {
        task(data);
        return true;
      } catch (std::bad_alloc const&) {
        return false;
      }
    }
    """
    bint has_memory_for "HasMemoryFor"(
        void (*task)(void* data) noexcept nogil, void* data
    ) noexcept nogil
