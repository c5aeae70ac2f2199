"""The parts of both kinds of model files: versions, boosters, and errors."""

import json
import os
import zipfile
import zlib
from importlib.metadata import version
from typing import Any

from xdcc.base.domains import Threads
from xdcc.base.libraries import xgb
from xdcc.base.plugin import plugin_version
from xdcc.boosting.booster_file import ModelFileError, read_booster

BROKEN = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(EOFError, zipfile.BadZipFile, zlib.error),
)
"""Exceptions that libraries raise for unexpected content."""


def versions() -> dict[str, str | None]:
    """Return the versions that write a file."""
    return {"xdcc": version("xdcc"), "xgboost": xgb.__version__, "plugin": plugin_version()}


def listed(numbers: dict[str, Any]) -> str:
    """Write versions, of a file that is not trusted, as text."""
    return ", ".join(f"{name} {str(number)[:40]}" for name, number in numbers.items())[:200]


def cannot_be_read(
    path: str | os.PathLike[str], written_by: str, error: Exception
) -> ModelFileError:
    """Make the error for content that other versions or other code wrote: the digest is right."""
    what = (str(error).splitlines() or [""])[0]  # without the stack of XGBoost's errors
    return ModelFileError(
        f"{path} was written by {written_by} and cannot be read by {listed(versions())}: "
        f"{type(error).__name__}: {what}"
    )


def booster_threads(booster: "xgb.Booster") -> int:
    """Return the one setting of a booster that its file does not store."""
    return int(json.loads(booster.save_config())["learner"]["generic_param"]["nthread"])


def stored_booster(content: bytes, n_threads: int) -> "xgb.Booster":
    """Read a booster; raise a ValueError if it is not valid."""
    try:
        return read_booster(content, {"nthread": min(max(n_threads, 0), Threads.most)})
    except ModelFileError as error:
        raise ValueError(str(error)) from error  # the caller adds the file and its versions
