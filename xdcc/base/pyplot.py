"""Matplotlib: needed for plots only, and imported when the first one is drawn."""

from types import ModuleType


def require_pyplot(user: str) -> ModuleType:
    """Import `matplotlib.pyplot`, or raise an error with an instruction.

    Parameters
    ----------
    user : str
        Function that needs Matplotlib; the message begins with it.

    Returns
    -------
    module
        `matplotlib.pyplot`.

    Raises
    ------
    ImportError
        If Matplotlib cannot be imported.

    Examples
    --------
    >>> require_pyplot("plot_rounds").__name__
    'matplotlib.pyplot'
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{user} needs Matplotlib, which cannot be imported ({error}). Install it with: "
            "pip install matplotlib"
        ) from error
    return pyplot
