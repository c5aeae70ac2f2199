"""The one exception of this backend: its text is the message that the user reads."""


class BuildError(Exception):
    """Raised when the build cannot go on.

    The text is one sentence or two on one line: what is wrong, where, and what would be right.
    `backend.py` and `check.py` print it after the prefix ``xdcc:`` in place of a traceback.
    """
