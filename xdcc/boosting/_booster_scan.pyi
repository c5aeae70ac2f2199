class Trees:
    """The properties that the trees of a scanned model share, once each has been checked.

    Attributes
    ----------
    n_trees : int
        How many there are.
    largest_width : int
        Values in a leaf; 1 if a leaf is a number. 0 without trees.
    smallest_width : int
        The same, of the tree with the fewest.
    largest_feature : int
        The largest number of a feature that a tree splits on or names, -1 without trees.
    """

    n_trees: int
    largest_width: int
    smallest_width: int
    largest_feature: int

def scan(content: bytes | bytearray, *, deepest: int) -> object:
    """Read a model of XGBoost and check its trees.

    Parameters
    ----------
    content : bytes
        JSON or UBJSON, as XGBoost writes it.
    deepest : int
        How many objects and lists may be inside each other.

    Returns
    -------
    object
        Dictionaries, lists, strings, numbers, truth values, None and (from UBJSON) arrays of
        integers; `Trees` in the place of a list called ``trees``.

    Raises
    ------
    ValueError
        If it is something else, with the place where.
    """
