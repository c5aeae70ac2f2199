"""The tests: a package, so that no `tests` of a dependency is imported instead."""
