"""Reads YAML files and checks them: an error names the file, the key in it, and what is allowed.

A file, and each part of it that has keys of its own, is a class derived from `Part`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from experiments.engine.registry import suggestion


class ConfigurationError(ValueError):
    """An invalid configuration; the message names the file, the key, and what is allowed."""


class Part(BaseModel):
    """A part of a file. Unknown keys are errors, and values are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the keys and values of a file.

    Raises
    ------
    ConfigurationError
        If it is not valid YAML, or has no keys.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} must contain keys and values, such as `title: ...`.")
    return content


def checked[T: Part](path: Path, content: Mapping[str, Any], part: type[T]) -> T:
    """Return the content of a file as the class that it must fit.

    Raises
    ------
    ConfigurationError
        If it does not fit; the message lists all errors.
    """
    try:
        return part.model_validate(content)
    except ValidationError as error:
        faults = [_describe(dict(fault), part) for fault in error.errors()]
        raise ConfigurationError("\n".join(f"{path}: {fault}" for fault in faults)) from error


def _describe(fault: dict[str, Any], part: type[Part]) -> str:
    """Return the key and its error, with similar allowed keys."""
    place = ".".join(str(step) for step in fault["loc"]) or "the file"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        for step in fault["loc"][:-1]:
            if field := part.model_fields.get(str(step)):
                part = _part_in(field.annotation) or part
        message = f"no such key. {suggestion(str(fault['loc'][-1]), part.model_fields)}"
    return f"{place}: {message}"


def _part_in(annotation: Any) -> type[Part] | None:
    """Return the class of a field, or of the values in its list or dictionary."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next(filter(None, map(_part_in, get_args(annotation))), None)
