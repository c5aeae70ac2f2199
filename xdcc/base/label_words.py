"""Words for labels: text in Y that means 1 or 0."""

_VALUES = dict.fromkeys(("yes", "y", "true", "t", "1"), 1.0)
_VALUES |= dict.fromkeys(("no", "n", "false", "f", "0"), 0.0)

LABEL_WORDS = "yes/no, y/n, true/false, t/f, 1/0"
"""The words, for messages."""


def label_of_word(text: str) -> float | None:
    """Return the label that a word means, in upper or lower case; None for other text.

    Examples
    --------
    >>> label_of_word("Yes"), label_of_word("false"), label_of_word("maybe")
    (1.0, 0.0, None)
    """
    return _VALUES.get(text.lower())
