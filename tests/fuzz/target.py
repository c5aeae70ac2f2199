"""A target: inputs, what is tried with an input, and how a bad input may be refused.

Inputs that are nearly right are edits, of bytes and of nested data.
"""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, count
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st


class Different(AssertionError):
    """Two ways to compute a result disagree: always a finding."""


@dataclass(frozen=True)
class Target:
    """Code that is tried with many inputs.

    Attributes
    ----------
    inputs : strategy or callable
        Strategy for the inputs, or a function that generates them from a seed.
    attempt : callable
        Takes an input. Returns where the input is accepted.
    refusals : tuple of types of exceptions
        How an input may be refused. All else that is raised is a finding, and so is a message that
        is empty.
    """

    inputs: st.SearchStrategy[Any] | Callable[[int], Iterator[Any]]
    attempt: Callable[[Any], object]
    refusals: tuple[type[Exception], ...] = ()

    def stream(self, seed: int) -> Iterator[Any]:
        """Generate inputs without end; they are the same for the same seed."""
        if not isinstance(self.inputs, st.SearchStrategy):
            return self.inputs(seed)
        chunks = (draw(self.inputs, hash((seed, number))) for number in count())
        return chain.from_iterable(chunks)


_CHUNK = 200
"""Number of inputs that Hypothesis draws at once."""


def draw(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """Draw a chunk of inputs."""
    drawn: list[Any] = []
    choices = settings(
        max_examples=_CHUNK,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )

    def keep(value: Any) -> None:
        drawn.append(value)

    choices(seed(number)(given(strategy)(keep)))()
    return drawn


def load_target(address: str) -> Target:
    """Import a target, by ``module:name``."""
    module, _, name = address.partition(":")
    target: Target = getattr(import_module(module), name)
    return target


NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 63, 64, 255, 256, 10**4, 10**8, 2**24, 2**31 - 1, 2**31, -(2**31)),
    *(2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30),
    *(0.0, 0.5, -1.0, 1e-30, 1e30, 1e39, float("nan"), float("inf"), float("-inf")),
]
"""Boundary values."""

VALUES = [
    *NUMBERS,
    None,
    True,
    False,
    "",
    "0",
    "x",
    "-1",
    "1" * 400,
    "é\0",
    [],
    {},
    [[]],
    [0] * 100,
]
"""Values that may replace expected ones."""


def mutated_bytes(
    originals: Sequence[bytes], pieces: Sequence[bytes] = (b"\0", b"\xff")
) -> st.SearchStrategy[bytes]:
    """Some of the bytes changed, removed, repeated, exchanged, or replaced by a piece."""
    return st.builds(
        lambda seed, original: edit_bytes(random.Random(seed), original, pieces),
        st.integers(0, 2**64 - 1),
        st.sampled_from(originals),
    )


def edit_bytes(rng: random.Random, content: bytes, pieces: Sequence[bytes]) -> bytes:
    """Make one to eight edits."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice((1, 1, 2, 4, 8, 40)))
        kind = rng.randrange(8)
        if kind == 0:
            new = bytes(rng.randrange(256) for _ in range(end - at))
        elif kind == 1:
            new = b""
        elif kind == 2:
            new = content[at:end] * rng.choice((2, 3, 50))
        elif kind == 3:
            new = rng.choice(pieces) * rng.choice((1, 1, 1, 2, 300))
        elif kind == 4:
            other = rng.randrange(len(content) + 1)
            new = content[other : other + end - at]
        elif kind == 5:
            number = int(rng.choice(NUMBERS[:-3])) % 2**64
            new = struct.pack(rng.choice("<>") + "Q", number)[: end - at]
        elif kind == 6:
            new = bytes(byte ^ 1 << rng.randrange(8) for byte in content[at:end])
        else:
            return content[:at]
        content = content[:at] + new + content[end:]
    return content


def mutated_data(originals: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Nested lists and mappings with some entries changed, removed, repeated or exchanged."""
    return st.builds(
        lambda seed, original: _edit_data(random.Random(seed), original),
        st.integers(0, 2**64 - 1),
        st.sampled_from(originals),
    )


def _edit_data(rng: random.Random, data: Any) -> Any:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not isinstance(data, dict | list):
            break  # the whole was replaced
        places = list(_places(data))
        data = _with(data, rng.choice(places), rng, data)
    return data


def _places(data: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in entries:
        if isinstance(value, dict | list):
            yield from _places(value, (*path, key))
        else:
            yield (*path, key)


def _with(data: Any, path: tuple[Any, ...], rng: random.Random, whole: Any) -> Any:
    """A copy of `data` with an edit at `path`."""
    if not path:
        return _edited(data, rng, whole)
    key, rest = path[0], path[1:]
    copy = dict(data) if isinstance(data, dict) else list(data)
    if rest or rng.randrange(3):
        copy[key] = _with(data[key], rest, rng, whole)
    elif isinstance(copy, dict) and rng.randrange(2):
        copy[str(rng.choice(VALUES))] = copy.pop(key)
    else:
        del copy[key]
    return copy


def _edited(value: Any, rng: random.Random, whole: Any) -> Any:
    kind = rng.randrange(4)
    if kind == 0 and isinstance(value, int | float) and not isinstance(value, bool):
        return rng.choice((value + 1, value - 1, -value, value * 10**6, float(value), str(value)))
    if kind == 1 and isinstance(value, list):
        return rng.choice((value[::-1], value * 2, value[1:], [value], value * 30))
    if kind == 2:
        *_, found = [whole, *_entries(whole, rng)]
        return found
    return rng.choice(VALUES)


def _entries(data: Any, rng: random.Random) -> Any:
    """Walk to a random entry."""
    while isinstance(data, dict | list) and data and rng.randrange(5):
        data = rng.choice(list(data.values()) if isinstance(data, dict) else data)
        yield data
