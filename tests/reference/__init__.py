"""Slow reference implementations that kernels are tested against."""
