"""Reference implementations: slow, obvious NumPy versions of the kernels.

Tests compare the kernels with them. They are not installed: the documentation and
its gallery import them from the clone.
"""
