"""What label trees are grown from; all threads read it, none writes."""

from xdcc.kernels.categories cimport Categories
from xdcc.kernels.matrix cimport Matrix
from xdcc.lacovac._label_rows cimport LabelRows
from xdcc.lacovac._rules cimport Rules


cdef struct Training:
    Matrix X                       # dense in Fortran order, or CSR
    LabelRows Y
    Categories categories          # none: the feature is a number
    const double* nlogn            # [rows of a tree + 1]: n log2(n)
    Rules rules
