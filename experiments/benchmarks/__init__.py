"""Comparisons that are not configurations yet."""
