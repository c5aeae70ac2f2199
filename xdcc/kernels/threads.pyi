def cpu_quota(process: str = "/proc/self") -> float:
    """Read the CPU quota of a process's control groups.

    Parameters
    ----------
    process : str
        Folder of the process in ``/proc``.

    Returns
    -------
    float
        Number of CPUs: the smallest quota of the control group (version 1 or 2) and its ancestors.
        Infinity if there is no quota or if it cannot be read.

    Examples
    --------
    >>> cpu_quota("/nowhere")
    inf
    """

def pretend_processors(n: int) -> None:
    """Run the loops of all kernels as if `n` processors were idle, for tests; 0: as they are."""
