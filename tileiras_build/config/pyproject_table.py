"""``[tool.tileiras]`` of a project's pyproject.toml: the project's defaults of build options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from ..core.errors import InvalidInput, Location
from .former_names import suggest_option

FILE_NAME = "pyproject.toml"
TABLE = "tileiras"
# Parsing TOML takes longer than reading all other options: most such files have no such table.
_NAMED = re.compile(rb"\btileiras(?![\w-])")


def read_table(folder: str, checks: Mapping[str, Callable[[str, str], object]]) -> dict[str, str]:
    """The values by the names of ``checks``, as text; empty without the file or without the table.

    Raises InvalidInput with the file if it is not TOML, has an unknown key, or a value that its check refuses.
    """
    try:
        with open(os.path.join(folder, FILE_NAME), "rb") as stream:
            data = stream.read()
    except OSError:
        return {}
    if not _NAMED.search(data):
        return {}
    try:
        return _values(_parse(data), checks)
    except InvalidInput as error:
        raise InvalidInput(error.id, error.message, location=Location(FILE_NAME), remedy=error.remedy) from None


def _values(found: Mapping[str, object], checks: Mapping[str, Callable[[str, str], object]]) -> dict[str, str]:
    for name in found:
        if name not in checks:
            message = f"unknown key '{name}' in [tool.{TABLE}]"
            raise InvalidInput("pyproject-key", message, remedy=suggest_option(name, checks))
    values = {name: _text(name, value) for name, value in found.items()}
    for name, value in values.items():
        checks[name](name, value)
    return values


def _parse(data: bytes) -> dict[str, object]:
    import tomllib

    try:
        found = tomllib.loads(data.decode()).get("tool", {}).get(TABLE, {})
    except (ValueError, AttributeError) as error:
        raise InvalidInput("pyproject-toml", f"invalid TOML: {error}") from None
    if isinstance(found, dict):
        return found
    raise InvalidInput("pyproject-toml", f"tool.{TABLE} must be a table", remedy=f"start it with [tool.{TABLE}]")


def _text(name: str, value: object) -> str:
    if (text := as_text(name, value)) is not None:
        return text
    remedy = "use a string, integer, boolean, or list of strings or integers"
    raise InvalidInput("pyproject-value", f"[tool.{TABLE}] {name} has an unsupported type", remedy=remedy)


def as_text(name: str, value: object) -> str | None:
    """A value of the option ``name`` in the form of the command line; None for an unsupported type."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, list | tuple) and all(
        isinstance(word, (str, int)) and not isinstance(word, bool) for word in value
    ):
        return (" " if name.endswith("_flags") else ",").join(map(str, value))
    return None
