"""What to say about a name that is not known: the nearest ones, or all of them."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of the known names, or all if none is near.

    Parameters
    ----------
    name : str
        What was asked for.
    known : iterable of str
        What there is.
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.6)
    near += [other for other in names if name and name in other and other not in near]
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    return f"There are: {', '.join(names)}."
