from scipy import sparse

class HeldLabels:
    """The labels of each row in the form that kernels read, for as long as the object lives.

    Parameters
    ----------
    Y : CSR matrix of shape (n_rows, n_labels)
        Stores which labels a row has, its indices sorted.
    """

    def __init__(self, Y: sparse.csr_array) -> None: ...
