"""What a target is: inputs, what is tried with one, and how a bad one may be refused."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hypothesis import strategies as st


class Different(AssertionError):
    """Two ways to one result do not agree: always a finding."""


@dataclass(frozen=True)
class Target:
    """One thing that is tried with many inputs.

    Attributes
    ----------
    inputs : strategy
        What it is tried with.
    attempt : callable
        Takes an input. Returns where the input is accepted.
    refusals : tuple of types of exceptions
        How an input may be refused. All else that is raised is a finding, and so is a message that
        is empty.
    """

    inputs: st.SearchStrategy[Any]
    attempt: Callable[[Any], object]
    refusals: tuple[type[Exception], ...] = ()


def load_target(address: str) -> Target:
    """Import a target, by ``module:name``."""
    module, _, name = address.partition(":")
    target: Target = getattr(import_module(module), name)
    return target
