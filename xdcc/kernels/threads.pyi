def cpu_quota(process: str = "/proc/self") -> float:
    """Read how much CPU time the control groups of a process allow it.

    Parameters
    ----------
    process : str
        The process's folder in ``/proc``.

    Returns
    -------
    float
        Number of CPUs: the least quota of its group and of all groups above, in version 1 or 2 of
        control groups. Infinity if there is none, or nothing that can be read.

    Examples
    --------
    >>> cpu_quota("/nowhere")
    inf
    """
