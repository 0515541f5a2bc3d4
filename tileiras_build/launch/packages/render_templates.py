"""Renders the text files of a package from the Jinja2 templates in this folder.

The templates are C, C++ and CMake, which use braces and percent signs: an expression is ``@{…}@``, a statement ``@%…%@``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.library_manifest import LibraryManifest

if TYPE_CHECKING:
    from jinja2 import Environment

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1  # of a long long


def render(template: str, manifest: LibraryManifest, **values: object) -> str:
    """The text of ``<template>.jinja`` for one library: ``name`` is its name, ``NAME`` that in capitals."""
    values |= {"name": manifest.name, "NAME": manifest.name.upper(), "file": manifest.image, "size": manifest.size}
    return _environment().get_template(f"{template}.jinja").render(targets=" ".join(manifest.targets), **values)


@cache
def _environment() -> Environment:
    # Imported lazily: reading packages needs no templates.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        variable_start_string="@{",
        variable_end_string="}@",
        block_start_string="@%",
        block_end_string="%@",
        comment_start_string="@#",
        comment_end_string="#@",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["long_long"] = _int64_literal
    made.filters["comment"] = _comment
    return made


def _int64_literal(number: int) -> str:
    """An integer literal of C; the smallest value is an expression."""
    return f"(-{INT64_MAX}LL - 1)" if number == INT64_MIN else f"{number}LL"


def _comment(text: str) -> str:
    """Text for a C comment, without comment delimiters, trigraphs and control characters."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
