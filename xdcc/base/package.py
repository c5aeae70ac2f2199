"""Where the package lies: warnings about a user's data point to the first line outside of it."""

import os

PACKAGE = os.path.dirname(os.path.dirname(__file__))
"""The folder of the package."""
