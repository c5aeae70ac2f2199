"""Imported by the server that workers are forked from, so that they need not import it again."""

from experiments.engine.registry import datasets, methods

methods()
datasets()
