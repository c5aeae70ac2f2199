"""The tests, a package by name: a dependency installs one of the same name."""
