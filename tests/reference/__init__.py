"""Reference implementations: slow, simple NumPy versions of the kernels.

Tests compare the kernels with them. They are not installed; the documentation and its gallery
import them from a clone.
"""
